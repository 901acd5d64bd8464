"""Alias tables: one draw, one comparison, whatever the weights."""

import numpy as np

from skfrontier.algos._numba import njit


@njit
def fill_alias_tables(indptr, code, weight, threshold, other):
    """Write the alias table of each row (Vose's method).

    Slot ``i`` of a row is kept if a fraction in [0, 1) is below ``threshold[i]``, else the draw is
    ``other[i]``. Thresholds are floats, not scaled integers, because a slot of a tiny weight would be
    rounded to probability zero, and a walk that can only end there would never end.

    Parameters
    ----------
    indptr : int64 array of shape (n + 1,)
        Where the slots of a row begin.
    code : int32 array of shape (n_slots,)
        What a slot stands for.
    weight : float64 array of shape (n_slots,)
        Positive.
    threshold : float32 array of shape (n_slots,)
        Written.
    other : int32 array of shape (n_slots,)
        Written: codes, not slots.
    """
    longest = 0
    for u in range(indptr.size - 1):
        longest = max(longest, indptr[u + 1] - indptr[u])
    share = np.empty(longest)
    small = np.empty(longest, dtype=np.int32)
    large = np.empty(longest, dtype=np.int32)
    for u in range(indptr.size - 1):
        low, size = indptr[u], indptr[u + 1] - indptr[u]
        total = 0.0
        for i in range(size):
            total += weight[low + i]
        n_small = n_large = 0
        for i in range(size):
            share[i] = weight[low + i] / total * size
            threshold[low + i] = 1.0
            other[low + i] = code[low + i]
            if share[i] < 1.0:
                small[n_small] = i
                n_small += 1
            else:
                large[n_large] = i
                n_large += 1
        while n_small > 0 and n_large > 0:
            n_small -= 1
            i, j = small[n_small], large[n_large - 1]
            threshold[low + i] = share[i]
            other[low + i] = code[low + j]
            share[j] = (share[j] + share[i]) - 1.0
            if share[j] < 1.0:
                n_large -= 1
                small[n_small] = j
                n_small += 1
