"""An order of query points in which neighbours in space are near each other in the sequence."""

import numpy as np

from skfrontier.algos._numba import njit
from skfrontier.algos.geometry.chamfer.scaling import read_only_rows

WORTHWHILE = 512  # fewer queries than this are not worth sorting


def spatial_order(X: np.ndarray) -> np.ndarray:
    """Return a permutation of the rows of ``X`` (at most 16 columns) along a Z-order curve.

    Searching a tree or a grid in this order finds most of what it reads still in cache. A key of 16
    bits is fine enough for that, and NumPy sorts 16-bit keys by radix, in linear time.
    """
    if len(X) < WORTHWHILE:
        return np.arange(len(X))
    keys = np.empty(len(X), np.uint16)
    _keys(read_only_rows(X), keys)
    return np.argsort(keys, kind="stable")


@njit
def _keys(X, keys):
    """Interleave the leading bits of each coordinate within the box, the most significant first."""
    n, d = X.shape
    n_bits = min(16 // d, 8)
    cells = 1 << n_bits
    spread = np.zeros(cells, np.int64)
    for place in range(cells):
        for bit in range(n_bits):
            spread[place] |= ((place >> bit) & 1) << (bit * d)
    low = np.full(d, np.inf)
    high = np.full(d, -np.inf)
    for i in range(n):
        for k in range(d):
            low[k] = min(low[k], X[i, k])
            high[k] = max(high[k], X[i, k])
    per_side = np.zeros(d)
    for k in range(d):
        # Halved, so that a box over the whole range of floats does not overflow.
        side = 0.5 * high[k] - 0.5 * low[k]
        if side > 0:
            per_side[k] = 0.5 * cells / side
    for i in range(n):
        key = 0
        for k in range(d):
            place = int((X[i, k] - low[k]) * per_side[k])
            key |= spread[min(max(place, 0), cells - 1)] << k
        keys[i] = key
