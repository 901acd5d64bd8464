"""Stable sort of 128-bit Z-order keys: radix on the high word, then the runs that it left equal."""

import numpy as np

from skfrontier.algos._numba import njit

_DIGIT_BITS = 8
_N_DIGITS = 64 // _DIGIT_BITS
_N_BUCKETS = 1 << _DIGIT_BITS
_SHORT_RUN = 200  # up to here insertion sort beats another radix sort


def sort_keys(high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort keys ``(high, low, row)`` lexicographically.

    Parameters
    ----------
    high, low : uint64 arrays of shape (n,)
        More and less significant words. ``low`` may be empty: keys of one word.

    Returns
    -------
    order : uint32 (int64 from 2**31 rows) array of shape (n,)
        The row of each place; equal keys keep the order of their rows.
    sorted_high, sorted_low : uint64 arrays
        The words in that order.

    Notes
    -----
    O(n) passes over the keys; digits that are the same in all keys are skipped. The order depends on
    the keys alone, on every machine.
    """
    index_dtype = np.uint32 if high.size < 2**31 else np.int64
    sorted_high = high.copy()
    order = np.arange(high.size, dtype=index_dtype)
    _radix_sort(sorted_high, order, np.empty_like(sorted_high), np.empty_like(order))
    if low.size:
        _sort_equal_runs(sorted_high, low, order)
        low = low[order]
    return order, sorted_high, low


@njit
def _radix_sort(keys, order, spare_keys, spare_order):
    """Least significant digit first; sorts ``keys`` and moves ``order`` along, both in place."""
    n = keys.size
    counts = np.zeros((_N_DIGITS, _N_BUCKETS), np.int64)
    for i in range(n):
        key = keys[i]
        for digit in range(_N_DIGITS):
            counts[digit, (key >> np.uint64(_DIGIT_BITS * digit)) & np.uint64(_N_BUCKETS - 1)] += 1
    source, target = keys, spare_keys
    source_order, target_order = order, spare_order
    n_passes = 0
    for digit in range(_N_DIGITS):
        count = counts[digit]
        shift = np.uint64(_DIGIT_BITS * digit)
        if n == 0 or count[(keys[0] >> shift) & np.uint64(_N_BUCKETS - 1)] == n:
            continue  # a constant digit orders nothing
        start = np.zeros(_N_BUCKETS, np.int64)
        for bucket in range(1, _N_BUCKETS):
            start[bucket] = start[bucket - 1] + count[bucket - 1]
        for i in range(n):
            key = source[i]
            bucket = (key >> shift) & np.uint64(_N_BUCKETS - 1)
            place = start[bucket]
            start[bucket] = place + 1
            target[place] = key
            target_order[place] = source_order[i]
        source, target = target, source
        source_order, target_order = target_order, source_order
        n_passes += 1
    if n_passes % 2 == 1:
        for i in range(n):
            keys[i] = spare_keys[i]
            order[i] = spare_order[i]


@njit
def _sort_equal_runs(high, low, order):
    """Sort each run of equal ``high`` words by (low word, row); rows come in ascending."""
    n = high.size
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and high[stop] == high[start]:
            stop += 1
        if stop - start > _SHORT_RUN:
            run = order[start:stop]
            words = np.empty(run.size, np.uint64)
            for i in range(run.size):
                words[i] = low[run[i]]
            _radix_sort(words, run, np.empty_like(words), np.empty_like(run))
        elif stop - start > 1:
            for i in range(start + 1, stop):
                row = order[i]
                word = low[row]
                j = i - 1
                while j >= start and low[order[j]] > word:
                    order[j + 1] = order[j]
                    j -= 1
                order[j + 1] = row
        start = stop
