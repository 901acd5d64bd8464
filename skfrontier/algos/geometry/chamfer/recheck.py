"""Listed pairs measured by direct differences in float64; the least of each query is kept.

All three kernels go through ``candidates[:, :count]`` (query row, reference row less ``start``) and
replace ``best`` and ``index`` only by something strictly smaller: with candidates in ascending
order of reference, ties keep the lowest row number.
"""

import numpy as np

from skfrontier.algos._numba import njit

# reassoc, contract: the order of a sum of squares may change (its error bound holds for any order),
# which lets the loop over the features use vector instructions.
_SUMS = {"reassoc", "contract", "nsz"}


@njit(fastmath=_SUMS)
def recheck_euclidean(candidates, count, start, A, B, rescale, best, index):
    """``best`` holds squared distances times ``rescale[i]**2``."""
    for c in range(count):
        i = candidates[0, c]
        j = candidates[1, c] + start
        scale = rescale[i]
        total = 0.0
        for k in range(A.shape[1]):
            difference = (np.float64(A[i, k]) - np.float64(B[j, k])) * scale
            total += difference * difference
        if total < best[i]:
            best[i] = total
            index[i] = j


@njit(fastmath=_SUMS)
def recheck_power(candidates, count, start, A, B, p, rescale, best, index):
    """``best`` holds ``sum |a - b|**p`` times ``rescale[i]**p``."""
    for c in range(count):
        i = candidates[0, c]
        j = candidates[1, c] + start
        scale = rescale[i]
        total = 0.0
        if p == 1.0:
            for k in range(A.shape[1]):
                total += abs((np.float64(A[i, k]) - np.float64(B[j, k])) * scale)
        else:
            for k in range(A.shape[1]):
                total += abs((np.float64(A[i, k]) - np.float64(B[j, k])) * scale) ** p
        if total < best[i]:
            best[i] = total
            index[i] = j


@njit(fastmath=_SUMS)
def squared_tangent(A, i, A_norm, B, j, B_norm):
    """Return ``(|u - v| / |u + v|)**2`` of the unit rows, the squared tangent of half the angle.

    The ratio grows with the angle and keeps its digits at both ends, where ``|u - v|`` is flat
    (near pi) and a cosine is flat too (near 0). Equal rows give zero, opposite rows infinity.
    """
    near = 0.0
    far = 0.0
    for k in range(A.shape[1]):
        u = A[i, k] / A_norm
        v = B[j, k] / B_norm
        near += (u - v) * (u - v)
        far += (u + v) * (u + v)
    return near / far


@njit
def recheck_angular(candidates, count, start, A, B, A_norms, B_norms, best, index):
    """``best`` holds the squared tangent of half the angle."""
    for c in range(count):
        i = candidates[0, c]
        j = candidates[1, c] + start
        ratio = squared_tangent(A, i, A_norms[i], B, j, B_norms[j])
        if ratio < best[i]:
            best[i] = ratio
            index[i] = j


def angle_over_pi(squared_tangent: np.ndarray) -> np.ndarray:
    """Return the angle over pi, in [0, 1], whose half has this squared tangent."""
    return 2.0 * np.arctan(np.sqrt(squared_tangent)) / np.pi
