"""Conjugate gradients on arrays of any shape."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CGResult:
    """Solution, number of products with the matrix, and whether the target was reached."""

    x: np.ndarray
    n_iter: int
    converged: bool


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    b: np.ndarray,
    *,
    precondition: Callable[[np.ndarray], np.ndarray] | None,
    tol: float,
    max_iter: int,
) -> CGResult:
    """Solve ``product(x) = b`` from zero until ``||r|| <= tol ||b||``; positive definite operators."""
    x = np.zeros_like(b)
    r = b.copy()
    target = tol * _norm(b)
    if _norm(r) <= target:
        return CGResult(x, 0, True)
    z = r if precondition is None else precondition(r)
    p = z.copy()
    rz = _dot(r, z)
    for iteration in range(1, max_iter + 1):
        Ap = product(p)
        curvature = _dot(p, Ap)
        if not (np.isfinite(curvature) and curvature > 0 and rz > 0):  # lost to rounding
            return CGResult(x, iteration, False)
        alpha = b.dtype.type(rz / curvature)
        x += alpha * p
        r -= alpha * Ap
        if _norm(r) <= target:
            return CGResult(x, iteration, True)
        if iteration < max_iter:
            z = r if precondition is None else precondition(r)
            previous, rz = rz, _dot(r, z)
            p *= b.dtype.type(rz / previous)
            p += z
    return CGResult(x, max_iter, False)


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.vdot(a, b))


def _norm(a: np.ndarray) -> float:
    return float(np.linalg.norm(a))
