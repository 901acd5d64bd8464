"""What all bandit policies share: select, update, run and reset."""

import numbers
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state

from skfrontier.algos._validation import check_count, check_flag, check_interval
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
)
from skfrontier.estimators.decisions.bandits.saving import SavedState

_LOG_ROWS = 1024


class BaseBandit(SavedState):
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
                if closed:
                    self._log.append(log[:closed].copy())
                self._grow()
        if rounds_before <= self._i[HORIZON] < rounds_before + T:
            self._warn_of_horizon()
        return BanditResult(arms, seen, chances, maximize=bool(self._params["maximize"]))

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
        maximize = check_flag(self.maximize, "maximize")
        f, i = self._new_state(n_arms, horizon)
        self._seed = _check_seed(self.random_state)
        self._low, self._high = low, high
        self._offset, self._scale = (high, low - high) if maximize else (low, high - low)
        self._rng = generator_words(self._seed)
        self._log = []
        self._params = self._plain_params() | {"random_state": self._seed}
        self._f, self._i = f, i
        return self

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
        what = "loss" if self._scale > 0.0 else "reward"
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
        low, high = loss_range if isinstance(loss_range, tuple | list | np.ndarray) else ()
    except ValueError:
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
