"""Inverses from the powers of L, which vanish from the n-th on. Their sizes decide whether to trust them.

Both methods pass through L, L^2, L^4, ... Their errors are about the unit roundoff times the largest
entry of these, which may be huge where the inverse itself is small.
"""

import numpy as np

from skfrontier.algos.neural.triangular_inversion.arithmetic import product


def n_doublings(n: int) -> int:
    """Least t with 2^t >= n."""
    return max(n - 1, 0).bit_length()


def invert_by_doubling(L: np.ndarray) -> tuple[np.ndarray, float]:
    """(I - L)(I + L^2)(I + L^4)..., and the largest entry of the powers."""
    n = L.shape[-1]
    power = -np.tril(L, -1)
    T = np.eye(n, dtype=L.dtype) + power
    growth = _largest(power)
    for _ in range(1, n_doublings(n)):
        power = product(power, power)
        growth = _greater(growth, _largest(power))
        T = T + product(T, power)
    return np.tril(T), growth


def invert_by_newton(L: np.ndarray) -> tuple[np.ndarray, float]:
    """X <- X (I + R), R = I - (I + L) X, from X = I - L; and the largest entry of L and all R.

    R is the next power of L in exact arithmetic: L^2, L^4, ... So the growth comes for free.
    """
    n = L.shape[-1]
    identity = np.eye(n, dtype=L.dtype)
    lower = np.tril(L, -1)
    X = identity - lower
    growth = _largest(lower)
    for _ in range(1, n_doublings(n)):
        residual = identity - X - product(lower, X)
        growth = _greater(growth, _largest(residual))
        X = X + product(X, residual)
    return np.tril(X), growth


def power_growth(L: np.ndarray) -> np.ndarray:
    """Largest entry of L, L^2, L^4, ... for each matrix of a float64 stack (m, n, n)."""
    power = np.tril(L, -1)
    growth = np.abs(power).max(axis=(1, 2), initial=0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(1, n_doublings(L.shape[-1])):
            power = power @ power
            largest = np.abs(power).max(axis=(1, 2), initial=0.0)
            growth = np.maximum(growth, np.where(np.isnan(largest), np.inf, largest))
    return growth


def _largest(matrices: np.ndarray) -> float:
    return float(np.abs(matrices).max(initial=0.0))


def _greater(a: float, b: float) -> float:
    """The greater of two numbers, NaN if one is."""
    return float(np.maximum(a, b))
