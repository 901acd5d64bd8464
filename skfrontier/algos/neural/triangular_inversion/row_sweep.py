"""Substitution: the rows of the inverse from the first to the last, four earlier rows at a time."""

import itertools
import math
from typing import Any

import joblib
import numpy as np

from skfrontier.algos._numba import njit

# Sums may be reordered and multiplications fused with additions. NaN and infinity keep their meaning: the
# sum that the sweep returns tells whether there were any.
_REORDER = {"reassoc", "contract", "nsz"}


def sweep(L: np.ndarray, n_jobs: Any = None) -> tuple[np.ndarray, bool]:
    """Inverses of I + L for a stack (m, n, n), and whether all their entries are finite.

    Only the strictly lower part of ``L`` is read. Half precision is swept in single precision and rounded
    once.
    """
    if L.dtype == np.float16:
        T, finite = sweep(L.astype(np.float32), n_jobs)
        return T.astype(np.float16), finite
    T = np.empty_like(L)
    L = L[:]
    # one compilation, and the same rounding, for write-protected input too
    L.flags.writeable = False
    jobs = joblib.effective_n_jobs(n_jobs)
    if jobs == 1:
        return T, math.isfinite(_invert_rows(L, T))
    slabs = np.linspace(0, len(L), jobs + 1).astype(int)
    totals = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
        joblib.delayed(_invert_rows)(L[low:high], T[low:high])
        for low, high in itertools.pairwise(slabs)
    )
    return T, math.isfinite(sum(totals))


@njit(fastmath=_REORDER)
def _invert_rows(L, T):
    """Fill ``T`` with the inverses and return the sum of all entries, NaN or infinite if one is.

    Row i is e_i - sum over k < i of L_ik T_k, and row k ends at its diagonal.
    """
    total = 0.0
    for matrix in range(L.shape[0]):
        total += _invert_one(L[matrix], T[matrix])
    return total


@njit(fastmath=_REORDER)
def _invert_one(L, T):
    n = L.shape[0]
    total = L.dtype.type(0)
    for i in range(n):
        row = T[i]
        for j in range(n):
            row[j] = 0
        k = 0
        while k + 4 <= i:
            a0, a1, a2, a3 = L[i, k], L[i, k + 1], L[i, k + 2], L[i, k + 3]
            t0, t1, t2, t3 = T[k], T[k + 1], T[k + 2], T[k + 3]
            for j in range(k + 4):
                row[j] -= a0 * t0[j] + a1 * t1[j] + a2 * t2[j] + a3 * t3[j]
            k += 4
        while k < i:
            a0, t0 = L[i, k], T[k]
            for j in range(k + 1):
                row[j] -= a0 * t0[j]
            k += 1
        row[i] = 1
        for j in range(i):
            total += row[j]
    return np.float64(total)
