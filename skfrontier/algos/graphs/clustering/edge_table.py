"""Open-addressing tables from a pair of ids to a weight, several of them in one array.

A table is a stretch of ``keys`` and ``values`` that begins at ``first`` and has a power of two of slots.
The key of the unordered pair ``{a, b}`` is ``min << 32 | max``; an empty slot holds ``EMPTY``. Collisions
go to the next slot, and no more than half of the slots are ever in use.
"""

import numpy as np

from skfrontier.algos._numba import inner, njit

EMPTY = -1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@inner
def pair_key(a, b):
    """The key of the unordered pair."""
    if a > b:
        return (np.int64(b) << 32) | np.int64(a)
    return (np.int64(a) << 32) | np.int64(b)


@inner
def find_slot(keys, first, mask, key):
    """Where ``key`` is, or the empty slot where it belongs."""
    i = np.int64((np.uint64(key) * _GOLDEN) >> _HALF) & mask
    while keys[first + i] != key and keys[first + i] != EMPTY:
        i = (i + 1) & mask
    return first + i


@njit
def copy_entries(keys, values, first, n_slots, new_keys, new_values, new_first, new_mask):
    """Put the entries of one table into another, empty one; return how many there are."""
    n_used = 0
    for i in range(first, first + n_slots):
        if keys[i] != EMPTY:
            slot = find_slot(new_keys, new_first, new_mask, keys[i])
            new_keys[slot] = keys[i]
            new_values[slot] = values[i]
            n_used += 1
    return n_used


def slots_for(n_entries: int) -> int:
    """Number of slots with which a table of ``n_entries`` can still double: a power of two."""
    return 1 << max(4, int(4 * n_entries - 1).bit_length())
