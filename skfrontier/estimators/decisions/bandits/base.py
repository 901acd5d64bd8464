"""What all bandit policies share: select, update, run, saving and restoring."""

import json
import numbers
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state

from skfrontier.algos._validation import check_count, check_interval
from skfrontier.algos.decisions.bandits.loss_matrix import check_losses, loss_blocks
from skfrontier.algos.decisions.bandits.random import generator_words
from skfrontier.algos.decisions.bandits.result import BanditResult
from skfrontier.algos.decisions.bandits.rounds import (
    BUFFER_FULL,
    COUNTS,
    EPOCH_CLOSED,
    HORIZON,
    HORIZON_PASSED,
    MOST_ARMS,
    MOST_ROUNDS,
    N_ARMS,
    NOTHING_PENDING,
    PENDING,
    ROUNDS,
    TOTAL,
    PolicyKernels,
    is_header_sound,
)

_STATE_VERSION = 1
_LOG_ROWS = 1024


class BaseBandit(BaseEstimator):
    """Base class of the bandit policies.

    A policy is used live, by ``arm = policy.select()`` and ``policy.update(arm, loss)``, or on a
    matrix of known losses, by ``policy.run(losses)``; both give the same arms bit for bit.

    Parameters are stored as given and checked at the first use. ``set_params`` acts at the next
    ``reset``. Policies can be pickled and cloned (a clone is unused); ``save`` and ``load`` use a
    format that holds numbers and text only.

    Attributes
    ----------
    n_rounds_ : int
        Rounds played.
    counts_ : ndarray of shape (n_arms,)
        How often each arm was played.
    total_loss_ : float
        Sum of the observed losses (rewards if ``maximize``).
    """

    _kernels: ClassVar[PolicyKernels]
    _select_kernel: ClassVar[Callable]
    _update_kernel: ClassVar[Callable]
    _f: Any = None  # no state before the first use

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_kernels" in cls.__dict__:  # one look-up less in select and update
            cls._select_kernel = staticmethod(cls._kernels.select)
            cls._update_kernel = staticmethod(cls._kernels.update)

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Check the policy's own parameters and return the state of an unused policy."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------- playing
    def select(self) -> int:
        """Return the arm to play in this round.

        Until ``update`` is called the same arm is returned again and nothing else happens.

        Returns
        -------
        int
            The pending arm, in ``0..n_arms-1``.
        """
        if self._f is None:
            self.reset()
        return self._select_kernel(self._f, self._i, self._rng)

    def update(self, arm: int, loss: float) -> Self:
        """Learn from the loss of ``arm``.

        Parameters
        ----------
        arm : int
            The arm that was played: the pending one (index policies accept any arm).
        loss : float
            Its loss in ``loss_range``, or its reward if ``maximize``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If ``loss`` is NaN or outside ``loss_range``, if no arm is pending or if ``arm`` is not
            the pending one. The state is then as before.
        TypeError
            If ``arm`` is no integer or ``loss`` no number.

        Warns
        -----
        ConvergenceWarning
            Once, when more than ``horizon`` rounds are played.
        """
        if self._f is None:
            self.reset()
        if type(loss) is not float:
            loss = _as_loss(loss)
        if not self._low <= loss <= self._high:
            self._refuse_loss(loss)
        if type(arm) is not int:
            arm = check_count(arm, "arm", minimum=0)
        try:
            status = self._update_kernel(
                self._f, self._i, self._rng, arm, (loss - self._offset) / self._scale
            )
        except OverflowError:
            raise ValueError(self._describe_refusal(arm)) from None
        if status:
            self._attend(status, arm)
        return self

    def probabilities(self) -> np.ndarray:
        """Return the law of the arm without drawing anything.

        Returns
        -------
        ndarray of shape (n_arms,)
            If an arm is pending, the law it was drawn from. Otherwise the law of the next
            ``select``, all coins included; one-hot for index policies.
        """
        if self._f is None:
            self.reset()
        law = np.empty(self._i[N_ARMS])
        self._kernels.law(self._f, self._i, law)
        return law

    def run(self, losses: Any) -> BanditResult:
        """Play one round for each row of a loss matrix, from the current state on.

        Parameters
        ----------
        losses : array-like of shape (T, n_arms)
            Losses in ``loss_range`` (rewards if ``maximize``). A pending arm is played in the
            first row. C-contiguous float64 is used without a copy, anything else is converted in
            small blocks.

        Returns
        -------
        BanditResult
            Arms, their losses and the probabilities with which they were drawn.

        Raises
        ------
        ValueError
            If ``losses`` is not 2-D with ``n_arms`` columns, or not all within ``loss_range``. No
            round is played then.
        """
        if self._f is None:
            self.reset()
        losses = check_losses(losses, n_arms=int(self._i[N_ARMS]), low=self._low, high=self._high)
        rounds_before = self.n_rounds_
        T = len(losses)
        arms = np.empty(T, dtype=np.int32)
        seen = np.empty(T)
        chances = np.empty(T)
        log = np.empty((_LOG_ROWS, 5))
        done = 0
        for block in loss_blocks(losses):
            start, end = done, done + len(block)
            while done < end:
                played, closed = self._kernels.play(
                    self._f,
                    self._i,
                    self._rng,
                    block[done - start :],
                    self._offset,
                    self._scale,
                    arms[done:end],
                    seen[done:end],
                    chances[done:end],
                    log,
                )
                done += played
                self._log.append(log[:closed].copy())
                self._grow()
        if rounds_before <= self._i[HORIZON] < rounds_before + T:
            self._warn_of_horizon()
        return BanditResult(arms, seen, chances)

    def reset(self) -> Self:
        """Forget everything and start anew with the current parameters.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If a parameter is not accepted; the message names it.
        """
        n_arms = check_count(self.n_arms, "n_arms", maximum=MOST_ARMS)
        horizon = self.horizon
        if horizon is not None:
            horizon = check_count(horizon, "horizon", maximum=MOST_ROUNDS)
        low, high = _check_range(self.loss_range)
        if not isinstance(self.maximize, bool | np.bool_):
            raise TypeError(f"maximize must be True or False, got {self.maximize!r}.")
        f, i = self._new_state(n_arms, horizon)
        self._seed = _check_seed(self.random_state)
        self._set_scale(low, high)
        self._rng = generator_words(self._seed)
        self._log: list[np.ndarray] = []
        self._f, self._i = f, i
        return self

    def _set_scale(self, low: float, high: float) -> None:
        self._low, self._high = low, high
        self._offset = high if self.maximize else low
        self._scale = low - high if self.maximize else high - low

    def _attend(self, status: int, arm: int) -> None:
        """Do what a kernel cannot: refuse, log, grow, warn."""
        if status < 0:
            raise ValueError(self._describe_refusal(arm, nothing_pending=status == NOTHING_PENDING))
        if status & EPOCH_CLOSED:
            self._log.append(self._closed_epoch())
        if status & BUFFER_FULL:
            self._grow()
        if status & HORIZON_PASSED:
            self._warn_of_horizon()

    def _grow(self) -> None:
        if self._kernels.grow is not None:
            self._f, self._i = self._kernels.grow(self._f, self._i)

    def _closed_epoch(self) -> np.ndarray:
        raise NotImplementedError

    def _describe_refusal(self, arm: int, nothing_pending: bool = False) -> str:
        if nothing_pending:
            return f"update(arm={arm}) came before select(): no arm is pending."
        pending = int(self._i[PENDING])
        n_arms = int(self._i[N_ARMS])
        if 0 <= arm < n_arms:
            return f"arm must be the pending arm {pending} (from select()), got {arm}."
        return f"arm must lie in 0..{n_arms - 1}, got {arm}."

    def _refuse_loss(self, loss: float) -> None:
        what = "reward" if self.maximize else "loss"
        raise ValueError(
            f"{what} must lie in loss_range [{self._low:g}, {self._high:g}], got {loss!r}."
        )

    def _warn_of_horizon(self) -> None:
        warnings.warn(
            f"More than horizon={self._i[HORIZON]} rounds were played; {type(self).__name__} "
            "goes on in stages of doubling length. Give a longer horizon, or horizon=None.",
            ConvergenceWarning,
            stacklevel=3,
        )

    # ------------------------------------------------------------------------------ attributes
    def __sklearn_is_fitted__(self) -> bool:
        return self._f is not None

    def _used(self, name: str) -> None:
        if self._f is None:
            raise NotFittedError(
                f"{type(self).__name__}.{name} exists after the first select, update or run."
            )

    @property
    def n_rounds_(self) -> int:
        """Rounds played."""
        self._used("n_rounds_")
        return int(self._i[ROUNDS])

    @property
    def counts_(self) -> np.ndarray:
        """How often each arm was played, shape (n_arms,)."""
        self._used("counts_")
        return self._i[COUNTS : COUNTS + self._i[N_ARMS]].copy()

    @property
    def total_loss_(self) -> float:
        """Sum of the observed losses (rewards if ``maximize``)."""
        self._used("total_loss_")
        return float(self._f[TOTAL] * self._scale + self._offset * self._i[ROUNDS])

    # --------------------------------------------------------------------------- save, restore
    def get_state(self) -> dict[str, Any]:
        """Return everything that the policy knows, as plain numbers, text and arrays.

        Returns
        -------
        dict
            ``policy`` and ``version`` (what can read it), ``params`` (all parameters;
            ``random_state`` is the seed in use), ``seed``, ``floats``, ``integers``, ``generator``
            and ``epochs`` (copies of the state).
        """
        if self._f is None:
            self.reset()
        return {
            "policy": type(self).__name__,
            "version": _STATE_VERSION,
            "params": self._plain_params() | {"random_state": self._seed},
            "seed": self._seed,
            "floats": self._f.copy(),
            "integers": self._i.copy(),
            "generator": self._rng.copy(),
            "epochs": self._epochs(),
        }

    def set_state(self, state: dict[str, Any]) -> Self:
        """Continue from a state that ``get_state`` of an equal policy returned.

        Parameters
        ----------
        state : dict
            The state. Its parameters must equal this policy's, ``random_state`` excepted.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the state is another policy's, another version's, has other parameters or is
            damaged. This policy is then as before.
        """
        fresh = type(self)(**self.get_params(deep=False))
        fresh.set_params(random_state=0)
        fresh.reset()
        f, i, rng, epochs, seed = fresh._read_state(state)
        self._set_scale(fresh._low, fresh._high)
        self._seed, self._rng, self._log = seed, rng, [epochs]
        self._f, self._i = f, i
        return self

    def _read_state(self, state: dict[str, Any]) -> tuple[Any, ...]:
        """Return copies of the parts of ``state`` after checking that this policy can use them."""
        missing = {"policy", "version", "params", "seed", "floats", "integers"} - set(state)
        missing |= {"generator", "epochs"} - set(state)
        if missing:
            raise ValueError(f"state lacks {', '.join(sorted(missing))}.")
        if state["policy"] != type(self).__name__:
            raise ValueError(
                f"state belongs to {state['policy']!r}, this policy is {type(self).__name__!r}."
            )
        if state["version"] != _STATE_VERSION:
            raise ValueError(
                f"state has version {state['version']!r}, this release reads {_STATE_VERSION}."
            )
        own = self._plain_params()
        for name in sorted(own.keys() | dict(state["params"]).keys()):
            given = state["params"].get(name)
            if name != "random_state" and given != own.get(name):
                raise ValueError(
                    f"state has {name}={given!r}, this policy {name}={own.get(name)!r}."
                )
        f = np.array(state["floats"])
        i = np.array(state["integers"])
        rng = np.array(state["generator"])
        epochs = np.array(state["epochs"])
        if not (
            (f.dtype, i.dtype, rng.dtype) == (np.float64, np.int64, np.uint64)
            and f.ndim == i.ndim == 1
            and rng.shape == (4,)
            and rng.any()
            and epochs.shape == (len(epochs), 5)
            and len(i) >= COUNTS + self.n_arms
            and is_header_sound(i, self.n_arms)
            and self._fits(f, i)
        ):
            raise ValueError("state is damaged: its arrays cannot belong to this policy.")
        return f, i, rng, epochs, int(state["seed"])

    def _fits(self, f: np.ndarray, i: np.ndarray) -> bool:
        """Whether vectors of a saved state have the lengths and the indices of this policy's."""
        same_length = len(f) == len(self._f) and len(i) == len(self._i)
        grows = self._kernels.grow is not None
        return (same_length or grows) and self._kernels.is_sound(f, i)

    def _epochs(self) -> np.ndarray:
        """Return the log, of shape (n_epochs, 5)."""
        return np.concatenate([np.empty((0, 5)), *(np.atleast_2d(rows) for rows in self._log)])

    def _plain_params(self) -> dict[str, Any]:
        """Parameters as JSON would return them."""
        params = {k: _plain(v) for k, v in self.get_params(deep=False).items()}
        if not isinstance(params["random_state"], int):
            params["random_state"] = None
        return params

    def save(self, path: str | os.PathLike) -> None:
        """Write the state to an ``.npz`` file that holds numbers and text, no code.

        The file is written beside its place and moved there in one step: a crash leaves the old
        file whole.

        Parameters
        ----------
        path : path-like
            Where to write; no suffix is appended.
        """
        state = self.get_state()
        arrays: dict[str, Any] = {k: v for k, v in state.items() if isinstance(v, np.ndarray)}
        text = json.dumps({k: v for k, v in state.items() if k not in arrays})
        target = Path(path)
        handle, scratch = tempfile.mkstemp(dir=target.parent, prefix=target.name)
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, description=np.array(text), **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(scratch, target)
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Return the policy that ``save`` wrote; it continues bit for bit.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        policy
            A policy of this class with the saved parameters and state.

        Raises
        ------
        ValueError
            If the file was saved by another class or version or is damaged.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                state = json.loads(str(file["description"])) | {
                    name: file[name] for name in ("floats", "integers", "generator", "epochs")
                }
            params = {k: tuple(v) if isinstance(v, list) else v for k, v in state["params"].items()}
        except (KeyError, AttributeError, TypeError, EOFError, json.JSONDecodeError) as error:
            raise ValueError(f"{os.fspath(path)!r} is not a saved policy: {error}.") from error
        if state.get("policy") != cls.__name__:
            raise ValueError(
                f"{os.fspath(path)!r} holds a {state.get('policy')!r}, not a {cls.__name__!r}."
            )
        try:
            policy = cls(**params)
        except TypeError as error:
            raise ValueError(f"{os.fspath(path)!r} has unknown parameters: {error}.") from error
        return policy.set_state(state)


def check_segments(value: Any, horizon: int | None, name: str = "n_segments") -> float:
    """Return a number of segments that fits the horizon."""
    high = float(MOST_ROUNDS if horizon is None else horizon)
    return check_interval(value, name, 1.0, high, closed="both")


def _as_loss(loss: Any) -> float:
    if not isinstance(loss, numbers.Real | np.bool_):
        raise TypeError(f"loss must be a real number, got {loss!r}.")
    try:
        return float(loss)
    except OverflowError:
        raise ValueError(
            "loss must lie in loss_range, got a number too large for a float."
        ) from None


def _check_range(loss_range: Any) -> tuple[float, float]:
    try:
        low, high = loss_range
    except (TypeError, ValueError):
        raise ValueError(f"loss_range must be a pair (low, high), got {loss_range!r}.") from None
    low = check_interval(low, "loss_range[0]", -np.inf, np.inf, closed="neither")
    high = check_interval(high, "loss_range[1]", low, np.inf, closed="neither")
    if not np.isfinite(high - low):
        raise ValueError(f"loss_range must have a finite width, got {loss_range!r}.")
    return low, high


def _check_seed(random_state: Any) -> int:
    """Return an integer seed: the one given, or one 32-bit word drawn from the generator given."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return check_count(random_state, "random_state", minimum=0)
    return int(check_random_state(random_state).randint(0, 2**32, dtype=np.uint64))


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON would: numpy scalars as numbers, tuples as lists."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value
