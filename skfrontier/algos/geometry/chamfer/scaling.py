"""Array views and power-of-two scales that keep sums of powers inside the floating-point range."""

import math

import numpy as np

from skfrontier.algos._numba import njit


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
    reach = 20 if dtype == np.float32 else 200
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


def check_nonzero_rows(X: np.ndarray, name: str) -> None:
    """Raise a ValueError naming the first row of ``X`` that is zero and so has no direction."""
    nonzero = X.any(axis=1)
    if not nonzero.all():
        row = int(np.argmin(nonzero))
        raise ValueError(
            f"{name} has a zero row, {name}[{row}], which has no angle to anything; drop such rows "
            "or use metric='euclidean'."
        )
