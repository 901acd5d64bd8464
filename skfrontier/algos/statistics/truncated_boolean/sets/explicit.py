"""A list of points, looked up by hashing."""

from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_generator
from skfrontier.algos.statistics.truncated_boolean.enumeration import ExponentialFamily
from skfrontier.algos.statistics.truncated_boolean.rows import binary_rows, dense
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet

_MAX_DENSE_NULL_SPACE = 2000


class ExplicitSet(TruncationSet):
    """A list of allowed rows.

    Parameters
    ----------
    points : array-like of shape (n_points, n_features)
        Zeros and ones; duplicates are merged.

    Raises
    ------
    ValueError
        If there is no point, or an entry is not 0 or 1.

    Notes
    -----
    Zobrist hashing: each coordinate has a random key, a row's hash is the exclusive or of the keys of its
    ones, so a changed row's hash costs one operation per changed bit. Equal hashes are always followed by
    a comparison of the rows. Mass, mean and samples sum over the points.

    Examples
    --------
    >>> from skfrontier.algos import ExplicitSet
    >>> S = ExplicitSet([[0, 0, 1], [0, 1, 1], [1, 1, 0]])
    >>> S.flips([[0, 0, 1]])
    array([[False,  True, False]])
    >>> S.mean([0.0, 0.0, 0.0]).round(4)
    array([0.3333, 0.6667, 0.6667])
    """

    def __init__(self, points: Any):
        rows = dense(binary_rows(points, "points"))
        if not rows.size:
            raise ValueError("points must hold at least one row with at least one feature.")
        self.points = np.unique(rows, axis=0)
        self.n_features = rows.shape[1]
        self._keys = _zobrist_keys(self.n_features)
        self._table = np.full(1 << (2 * len(self.points) - 1).bit_length(), -1, np.int64)
        self._hashes = _insert(self.points, self._keys, self._table)

    def __repr__(self) -> str:
        return f"ExplicitSet({len(self.points)} points, {self.n_features} features)"

    def is_exact(self, n_features: int) -> bool:
        """Always."""
        return True

    def enumerate(self, n_features: int) -> np.ndarray:
        """The points."""
        return self.points

    def null_space(self, n_features: int) -> np.ndarray | None:
        """Directions on which the points do not differ."""
        if n_features > _MAX_DENSE_NULL_SPACE:
            return None
        return ExponentialFamily(self.points).null_space()

    def find(self, X: np.ndarray) -> np.ndarray:
        """Index of each row among the points, -1 where it is none of them."""
        none = np.zeros((1, 0), np.int64)
        return _find_changed(dense(X), none, *self._lookup)[:, 0, 0]

    def neighbours(self, i: int) -> np.ndarray:
        """Index of each point's copy with coordinate ``i`` flipped, -1 where that is no point."""
        return _find_flipped(i, *self._lookup)

    @property
    def _lookup(self) -> tuple[np.ndarray, ...]:
        return self._keys, self._table, self._hashes, self.points

    def _contains(self, X: np.ndarray) -> np.ndarray:
        return self.find(X) >= 0

    def _fibre_masks(self, X: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        return _explicit_masks(X, subsets, *self._lookup)


def _zobrist_keys(n_features: int) -> np.ndarray:
    return check_generator(0).integers(1, 2**63, n_features, dtype=np.uint64)


@inner
def _hash(x, keys):
    h = np.uint64(0)
    for i in range(x.shape[0]):
        if x[i]:
            h ^= keys[i]
    return h


@njit
def _insert(points, keys, table):
    """Fill the open-addressing table (its size is a power of two) and return the hashes."""
    hashes = np.empty(points.shape[0], np.uint64)
    last = np.uint64(table.shape[0] - 1)
    for p in range(points.shape[0]):
        h = _hash(points[p], keys)
        hashes[p] = h
        slot = h & last
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        table[slot] = p
    return hashes


@inner
def _find(x, h, table, hashes, points):
    last = np.uint64(table.shape[0] - 1)
    slot = h & last
    while table[slot] >= 0:
        p = table[slot]
        if hashes[p] == h:
            same = True
            for i in range(x.shape[0]):
                if x[i] != points[p, i]:
                    same = False
                    break
            if same:
                return p
        slot = (slot + np.uint64(1)) & last
    return -1


@njit
def _find_changed(X, subsets, keys, table, hashes, points):
    """Index of the row with the coordinates of a subset set to each corner, (N, subsets, corners)."""
    size = subsets.shape[1]
    found = np.empty((X.shape[0], subsets.shape[0], 1 << size), np.int64)
    x = np.empty(X.shape[1], np.uint8)
    for t in range(X.shape[0]):
        for i in range(X.shape[1]):
            x[i] = X[t, i]
        h = _hash(x, keys)
        for e in range(subsets.shape[0]):
            for c in range(1 << size):
                changed = h
                for a in range(size):
                    i = subsets[e, a]
                    x[i] = (c >> a) & 1
                    if x[i] != X[t, i]:
                        changed ^= keys[i]
                found[t, e, c] = _find(x, changed, table, hashes, points)
            for a in range(size):
                x[subsets[e, a]] = X[t, subsets[e, a]]
    return found


@inner
def _is_hash(h, table, hashes):
    last = np.uint64(table.shape[0] - 1)
    slot = h & last
    while table[slot] >= 0:
        if hashes[table[slot]] == h:
            return True
        slot = (slot + np.uint64(1)) & last
    return False


@njit
def _find_flipped(i, keys, table, hashes, points):
    """Index of every point with coordinate i flipped; only points with a neighbour are read."""
    found = np.full(points.shape[0], -1, np.int64)
    x = np.empty(points.shape[1], np.uint8)
    for p in range(points.shape[0]):
        h = hashes[p] ^ keys[i]
        if _is_hash(h, table, hashes):
            for j in range(x.shape[0]):
                x[j] = points[p, j]
            x[i] ^= 1
            found[p] = _find(x, h, table, hashes, points)
    return found


@njit
def _explicit_masks(X, subsets, keys, table, hashes, points):
    size = subsets.shape[1]
    masks = np.empty((X.shape[0], subsets.shape[0]), np.uint16)
    x = np.empty(X.shape[1], np.uint8)
    for t in range(X.shape[0]):
        for i in range(X.shape[1]):
            x[i] = X[t, i]
        h = _hash(x, keys)
        for e in range(subsets.shape[0]):
            mask = 0
            for c in range(1 << size):
                changed = h
                for a in range(size):
                    i = subsets[e, a]
                    x[i] = (c >> a) & 1
                    if x[i] != X[t, i]:
                        changed ^= keys[i]
                if _find(x, changed, table, hashes, points) >= 0:
                    mask |= 1 << c
            for a in range(size):
                x[subsets[e, a]] = X[t, subsets[e, a]]
            masks[t, e] = mask
    return masks
