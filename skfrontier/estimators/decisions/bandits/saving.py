"""The state of a policy as plain numbers and text: returned, restored, saved, loaded."""

import json
import numbers
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from skfrontier.algos._validation import check_count
from skfrontier.algos.decisions.bandits.rounds import (
    CHANCE,
    COUNTS,
    HORIZON,
    PolicyKernels,
    is_header_sound,
)

_STATE_VERSION = 1
_ARRAYS = {"floats": np.float64, "integers": np.int64, "generator": np.uint64, "epochs": np.float64}


class SavedState(BaseEstimator):
    """The part of the policies that saves and restores them."""

    _kernels: ClassVar[PolicyKernels]
    _f: Any = None  # no state before the first use
    _i: Any
    _rng: np.ndarray
    _seed: int
    _log: list[np.ndarray]  # closed epochs, in blocks of rows or single rows
    _params: dict[str, Any]  # as they were at the last reset, in plain form
    _low: float
    _high: float
    _offset: float
    _scale: float

    def reset(self) -> Self:
        """Forget everything and start anew with the current parameters."""
        raise NotImplementedError

    def get_state(self) -> dict[str, Any]:
        """Return everything that the policy knows, as plain numbers, text and arrays.

        Returns
        -------
        dict
            ``policy`` and ``version`` (what can read it), ``params`` (all parameters in use;
            ``random_state`` is the seed in use), ``seed``, ``floats``, ``integers``, ``generator``
            and ``epochs`` (copies of the state).
        """
        if self._f is None:
            self.reset()
        return {
            "policy": type(self).__name__,
            "version": _STATE_VERSION,
            "params": _plain(self._params),
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
        TypeError
            If ``state`` is no dict.
        ValueError
            If the state is another policy's, another version's, has other parameters or is
            damaged. This policy is then as before.
        """
        f, i, rng, epochs = self._check_state(state, self._plain_params())
        fresh = type(self)(**self.get_params(deep=False)).set_params(random_state=0).reset()
        if not fresh._fits(f, i):
            raise ValueError("state is damaged: its arrays cannot belong to this policy.")
        self._low, self._high = fresh._low, fresh._high
        self._offset, self._scale = fresh._offset, fresh._scale
        self._seed, self._rng, self._log = int(state["seed"]), rng, [epochs]
        self._params = fresh._params | {"random_state": self._seed}
        self._f, self._i = f, i
        return self

    @staticmethod
    def _check_arrays(state: Mapping) -> list[np.ndarray]:
        """Return copies of the four arrays after a check of their types and shapes."""
        arrays = [state[name] for name in _ARRAYS]
        if not all(
            isinstance(array, np.ndarray) and array.dtype == dtype
            for array, dtype in zip(arrays, _ARRAYS.values(), strict=True)
        ):
            raise ValueError("state is damaged: its arrays have other types.")
        f, i, rng, epochs = arrays
        if not (
            f.ndim == i.ndim == 1
            and rng.shape == (4,)
            and rng.any()
            and epochs.ndim == 2
            and epochs.shape[1] == 5
            and np.isfinite(epochs).all()
        ):
            raise ValueError("state is damaged: its arrays have other shapes or values.")
        return [array.copy() for array in arrays]

    def _check_state(self, state: Any, own: dict[str, Any]) -> list[np.ndarray]:
        """Return the arrays after the checks that need no second policy, and no memory for one."""
        if not isinstance(state, Mapping):
            raise TypeError(f"state must be a dict from get_state(), got {type(state).__name__}.")
        missing = {"policy", "version", "params", "seed", *_ARRAYS} - set(state)
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
        if not isinstance(state["params"], Mapping):
            raise ValueError("state is damaged: its params are no dict.")
        given = _plain(dict(state["params"]))
        for name in sorted(own.keys() | given.keys(), key=str):
            if name != "random_state" and given.get(name) != own.get(name):
                raise ValueError(
                    f"state has {name}={given.get(name)!r}, this policy {name}={own.get(name)!r}."
                )
        try:
            check_count(state["seed"], "seed", minimum=0)
        except (TypeError, ValueError) as error:
            raise ValueError(f"state is damaged: {error}") from None
        arrays = self._check_arrays(state)
        f, i = arrays[:2]
        n_arms = check_count(own["n_arms"], "n_arms")
        horizon = -1 if own["horizon"] is None else check_count(own["horizon"], "horizon")
        window = own.get("window")
        if not (
            len(i) >= COUNTS + n_arms
            and i[HORIZON] == horizon
            and (window is None or len(f) >= window)
            and is_header_sound(i, n_arms)
        ):
            raise ValueError("state is damaged: its arrays cannot belong to this policy.")
        return arrays

    def _fits(self, f: np.ndarray, i: np.ndarray) -> bool:
        """Whether vectors of a saved state have lengths, indices and numbers like this policy's."""
        same_length = len(f) == len(self._f) and len(i) == len(self._i)
        if not (same_length or (self._kernels.grow is not None and len(f) >= len(self._f))):
            return False
        undefined = np.flatnonzero(np.isnan(f))
        known = np.append(np.flatnonzero(np.isnan(self._f)), CHANCE)
        if np.isinf(f).any() or not np.isin(undefined, known).all():
            return False
        return self._kernels.is_sound(f, i)

    def _epochs(self) -> np.ndarray:
        """Return the log, of shape (n_epochs, 5)."""
        return np.concatenate([np.empty((0, 5)), *(np.atleast_2d(rows) for rows in self._log)])

    def _plain_params(self) -> dict[str, Any]:
        """Parameters as JSON would return them."""
        return _plain(self.get_params(deep=False) | {"random_state": None})

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
        arrays: dict[str, Any] = {name: state.pop(name) for name in _ARRAYS}
        text = json.dumps(state)
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
        OSError
            If the file cannot be opened.
        ValueError
            If the file was saved by another class or version or is damaged.
        """
        name = os.fspath(path)
        with open(path, "rb") as file:
            try:
                with np.load(file, allow_pickle=False) as content:
                    state = json.loads(str(content["description"])) | {
                        array: content[array] for array in _ARRAYS
                    }
                params = {
                    k: tuple(v) if isinstance(v, list) else v for k, v in state["params"].items()
                }
            except Exception as error:  # damaged archives raise errors of a dozen types
                raise ValueError(f"{name!r} is not a saved policy or damaged: {error}.") from error
        if state.get("policy") != cls.__name__:
            raise ValueError(f"{name!r} holds a {state.get('policy')!r}, not a {cls.__name__!r}.")
        try:
            return cls(**params).set_state(state)
        except TypeError as error:
            raise ValueError(f"{name!r} is damaged or has other parameters: {error}.") from error


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON would: Python numbers, lists and dicts."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(v) for v in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return str(value) if isinstance(value, str) else value
