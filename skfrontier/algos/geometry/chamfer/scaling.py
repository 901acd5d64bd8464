"""Array views and power-of-two scales that keep sums of powers inside the floating-point range."""

import math

import numpy as np

from skfrontier.algos._numba import njit

# Powers of two within which squares, cubes and their sums are far from overflow and underflow.
_MILD_EXPONENT = {np.dtype(np.float32): 20, np.dtype(np.float64): 200}


def read_only_rows(X: np.ndarray) -> np.ndarray:
    """Return a C-contiguous, write-protected view of ``X`` (a copy only where it is not contiguous).

    Kernels are compiled once per array *type*, and memory order and write protection belong to the
    type: one spelling for all inputs keeps every kernel to one compilation per dtype.
    """
    view = np.ascontiguousarray(X).view(np.ndarray)
    if view.flags.writeable:
        view = view[:]
        view.flags.writeable = False
    return view


def peak_magnitude(X: np.ndarray) -> float:
    """Return the largest absolute entry of ``X``, without a temporary of its size; 0 if empty."""
    if X.size == 0:
        return 0.0
    return max(float(X.max()), -float(X.min()))


def unit_scale(peak: float) -> float:
    """Return the power of two that brings ``peak`` into [1, 2); 1 for a peak of 0.

    Multiplying by a power of two is exact, so it changes no comparison between distances.
    """
    if peak == 0.0 or not math.isfinite(peak):
        return 1.0
    exponent = math.frexp(peak)[1] - 1
    return math.ldexp(1.0, min(-exponent, 1023))


def mild_scale(peak: float, dtype: np.dtype) -> float:
    """Return 1 where ``peak`` is harmless in ``dtype`` arithmetic, else ``unit_scale(peak)``.

    With a scale of 1 no scaled copy of the data is needed.
    """
    reach = _MILD_EXPONENT[dtype]
    if peak == 0.0 or 2.0**-reach <= peak <= 2.0**reach:
        return 1.0
    return unit_scale(peak)


@njit
def row_norms(X, out):
    """Write the l_2 norm of each row, safe from overflow and underflow, in float64."""
    for i in range(X.shape[0]):
        peak = 0.0
        for k in range(X.shape[1]):
            peak = max(peak, abs(np.float64(X[i, k])))
        total = 0.0
        if peak > 0.0:
            for k in range(X.shape[1]):
                entry = X[i, k] / peak
                total += entry * entry
        out[i] = peak * np.sqrt(total)


def check_directions(X: np.ndarray, name: str) -> np.ndarray:
    """Return rows that have the directions of ``X`` and lengths whose squares are in range.

    ``X`` itself where none of its rows is extreme; else a copy with those rows multiplied by powers of
    two, which changes no angle.

    Raises
    ------
    ValueError
        If a row is zero and so has no direction; the message names the first one.
    """
    peaks = np.maximum(X.max(axis=1, initial=0), -X.min(axis=1, initial=0))
    if not peaks.all():
        row = int(np.argmin(peaks))
        raise ValueError(
            f"{name} has a zero row, {name}[{row}], which has no angle to anything; drop such rows "
            "or use metric='euclidean'."
        )
    reach = _MILD_EXPONENT[X.dtype]
    extreme = np.flatnonzero((peaks < 2.0**-reach) | (peaks > 2.0**reach))
    if extreme.size:
        X = X.copy()
        X[extreme] = np.ldexp(X[extreme], -np.frexp(peaks[extreme])[1][:, None])
    return X
