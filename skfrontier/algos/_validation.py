"""Checks of arrays for the functional layer, which does not depend on scikit-learn."""

import contextlib
import numbers
from typing import Any

import numpy as np
from scipy import sparse

RandomState = int | np.integer | np.random.Generator | np.random.RandomState | None


def check_points(X: Any, name: str, *, min_points: int = 0) -> np.ndarray:
    """Return ``X`` as a finite 2-D float32 or float64 array, without a copy where it is one already.

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        float32 and float64 keep their type, float16 becomes float32, integers and booleans become
        float64. Memory order, strides and write protection are kept.
    name : str
        The name of the parameter, for the error messages.
    min_points : int, default=0
        The least number of rows that is accepted.

    Returns
    -------
    ndarray of shape (n_points, n_features)

    Raises
    ------
    ValueError
        If ``X`` is sparse, masked, complex, not numeric, not 2-D, has no columns or too few rows, or
        holds NaN or infinity.
    """
    if sparse.issparse(X):
        raise ValueError(
            f"{name} is a sparse matrix; dense points are needed: use {name}.toarray(), or reduce the "
            "dimension first (e.g. sklearn.decomposition.TruncatedSVD)."
        )
    array = as_numbers(X, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, one point a row (n_points, n_features); got {array.ndim}-D of shape "
            f"{array.shape}. Use {name}.reshape(-1, 1) for points on a line."
        )
    if array.shape[1] == 0:
        raise ValueError(f"{name} must have at least one feature, got shape {array.shape}.")
    if array.shape[0] < min_points:
        raise ValueError(
            f"{name} must have at least {min_points} point(s), got shape {array.shape}."
        )
    array = array.astype(_working_dtype(array.dtype), copy=False)
    check_finite(array, name)
    return array


def as_numbers(values: Any, name: str) -> np.ndarray:
    """Return ``values`` as an array, object arrays of numbers as float64.

    Raises
    ------
    ValueError
        If they are sparse, have masked entries or are ragged. The caller checks dtype and shape.
    """
    if sparse.issparse(values):
        raise ValueError(f"{name} is a sparse matrix; use {name}.toarray().")
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries; drop or fill them first.")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from None
    if array.dtype == object:  # where this fails, the dtype tells the caller
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            array = array.astype(np.float64)
    return array


def check_finite(array: np.ndarray, name: str) -> None:
    """Raise a ValueError naming the first entry of ``array`` that is NaN or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum(dtype=np.float64)
    if np.isfinite(total):  # one pass without a temporary decides nearly every time
        return
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(f"{name} must be finite, got {array[where]} at {name}{list(where)}.")


def check_interval(
    value: Any,
    name: str,
    low: float,
    high: float,
    *,
    closed: str = "both",
) -> float:
    """Return ``value`` as a float that lies in the interval, or raise naming ``name``.

    ``closed`` is 'both', 'left', 'right' or 'neither'; NaN never passes.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number that a float can hold.") from None
    above = number >= low if closed in ("both", "left") else number > low
    below = number <= high if closed in ("both", "right") else number < high
    if not (above and below):
        left = "[" if closed in ("both", "left") else "("
        right = "]" if closed in ("both", "right") else ")"
        raise ValueError(f"{name} must lie in {left}{low:g}, {high:g}{right}, got {value!r}.")
    return number


def check_count(value: Any, name: str, minimum: int = 1, maximum: int | None = None) -> int:
    """Return ``value`` as a Python int in ``minimum..maximum``, or raise naming ``name``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}.")
    number = int(value)
    if maximum is not None and number > maximum:
        raise ValueError(f"{name} must be at most {maximum}.")
    return number


def check_flag(value: Any, name: str) -> bool:
    """Return ``value`` if it is a boolean, or raise naming ``name``."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_n_jobs(value: Any) -> None:
    """Raise unless ``value`` is a number of jobs: None, or an integer other than zero."""
    if value is None:
        return
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"n_jobs must be None or an integer, got {value!r}.")
    if value == 0:
        raise ValueError("n_jobs must not be 0; use None or 1 for one job, -1 for all processors.")


def check_choice(value: Any, name: str, accepted: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of the ``accepted`` strings, or raise naming ``name``."""
    if not isinstance(value, str) or value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, accepted))}; got {value!r}.")
    return value


def _working_dtype(dtype: np.dtype) -> type:
    return np.float32 if dtype in (np.float16, np.float32) else np.float64


def check_generator(random_state: Any) -> np.random.Generator:
    """Turn a seed, Generator, RandomState or None into a Generator; instances share their stream."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be a non-negative integer, got {random_state!r}.")
        return np.random.default_rng(int(random_state))
    raise TypeError(
        "random_state must be None, an integer, a numpy Generator or a RandomState; got "
        f"{random_state!r}."
    )
