"""Inversion by halves: [[A, 0], [C, B]] has the inverse [[A^-1, 0], [-B^-1 C A^-1, B^-1]]."""

import numpy as np

from skfrontier.algos.neural.triangular_inversion.arithmetic import product
from skfrontier.algos.neural.triangular_inversion.row_sweep import sweep


def invert_by_halves(L: np.ndarray, base: int) -> np.ndarray:
    """Inverses of I + L for a stack (m, n, n); diagonal blocks up to ``base`` by substitution.

    Half-precision blocks are swept in single precision; the products between them are in half precision.
    """
    T = np.zeros_like(L)
    _fill(L, T, base)
    return T


def _fill(L: np.ndarray, T: np.ndarray, base: int) -> None:
    n = L.shape[-1]
    if n <= base:
        T[:] = sweep(np.ascontiguousarray(L))[0]
        return
    half = base
    while 2 * half < n:
        half *= 2
    first, last = slice(None, half), slice(half, None)
    _fill(L[:, first, first], T[:, first, first], base)
    _fill(L[:, last, last], T[:, last, last], base)
    between = product(L[:, last, first], T[:, first, first])
    T[:, last, first] = -product(T[:, last, last], between)
