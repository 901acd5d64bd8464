"""Parity checks: sets without any flip."""

from typing import Any

import numpy as np

from skfrontier.algos._numba import njit
from skfrontier.algos.statistics.truncated_boolean.enumeration import cube
from skfrontier.algos.statistics.truncated_boolean.rows import binary_rows, binary_vector
from skfrontier.algos.statistics.truncated_boolean.sets.base import (
    TruncationSet,
    all_pairs,
    distinct_pairs,
)


class XorConstraints(TruncationSet):
    """Rows with ``H x = s`` modulo 2: parity bits, linear codes.

    Parameters
    ----------
    H : array-like of shape (n_checks, n_features)
        Zeros and ones; each row names the coordinates of one check.
    s : array-like of shape (n_checks,), optional
        The parities; None: all even.

    Raises
    ------
    ValueError
        If the shapes do not fit, or the checks contradict each other.

    Notes
    -----
    A coordinate that occurs in some check can never be flipped alone: two that occur in the same checks can
    be swapped or flipped together. Moves of more coordinates are given as masks (``moves`` of the
    estimator), any sum of `codewords`.

    Examples
    --------
    >>> from skfrontier.algos import XorConstraints
    >>> even = XorConstraints([[1, 1, 1]])
    >>> even.contains([[1, 1, 0], [1, 0, 0]])
    array([ True, False])
    >>> even.fibre([1, 1, 0], [0, 1])
    array([[0, 0],
           [1, 1]], dtype=uint8)
    """

    def __init__(self, H: Any, s: Any = None):
        self.H = np.ascontiguousarray(binary_rows(np.atleast_2d(H), "H"))
        n_checks, self.n_features = self.H.shape
        self.s = np.zeros(n_checks, np.uint8) if s is None else binary_vector(s, n_checks, "s")
        reduced = _row_echelon(np.column_stack([self.H, self.s]))
        if (reduced[:, -1].astype(bool) & ~reduced[:, :-1].any(axis=1)).any():
            raise ValueError("the checks H x = s contradict each other: no row satisfies them.")

    def __repr__(self) -> str:
        return f"XorConstraints({len(self.s)} checks, {self.n_features} features)"

    def codewords(self, max_weight: int = 4) -> np.ndarray:
        """Masks of at most ``max_weight`` (up to 4) coordinates whose joint flip keeps every check.

        Returns
        -------
        ndarray of shape (n_masks, n_features), dtype uint8
            Single flips, pairs, and disjoint or overlapping sums of two columns that agree.
        """
        n = self.H.shape[1]
        singles = [(i,) for i in range(n)]
        pairs = [(int(i), int(j)) for i, j in all_pairs(n)]
        sums: dict[bytes, list[tuple[int, ...]]] = {bytes(len(self.s)): [()]}
        masks = set()
        subset: tuple[int, ...]
        for subset in [*singles, *pairs]:
            key = np.bitwise_xor.reduce(self.H[:, list(subset)], axis=1).tobytes()
            for other in sums.get(key, []):
                joint = frozenset(subset) ^ frozenset(other)
                if 0 < len(joint) <= max_weight:
                    masks.add(tuple(sorted(joint)))
            sums.setdefault(key, []).append(subset)
        rows = np.zeros((len(masks), n), np.uint8)
        for row, mask in zip(rows, sorted(masks), strict=True):
            row[list(mask)] = 1
        return rows

    def _contains(self, X: np.ndarray) -> np.ndarray:
        return _keeps_parities(X, self.H, self.s)

    def _fibre_masks(self, X: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        # Which joint changes keep the parities does not depend on the row.
        changes = cube(subsets.shape[1])
        parities = changes @ self.H.T[subsets] & 1  # (subsets, corners, checks)
        return _shifted_masks(X, subsets, ~parities.any(axis=2))

    def _suggested_pairs(
        self, n_features: int, degree: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Neighbours in the order of their columns: a path through each class of equal columns."""
        _, label = np.unique(self.H, axis=1, return_inverse=True)
        label = label.ravel()  # some versions of numpy keep two dimensions
        order = np.argsort(label, kind="stable")
        equal = label[order[1:]] == label[order[:-1]]
        return distinct_pairs(np.stack([order[:-1][equal], order[1:][equal]], axis=1))


def _row_echelon(matrix: np.ndarray) -> np.ndarray:
    """Reduce the rows modulo 2."""
    reduced = matrix.copy()
    pivot = 0
    for column in range(reduced.shape[1]):
        rows = np.flatnonzero(reduced[pivot:, column]) + pivot
        if not len(rows):
            continue
        reduced[[pivot, rows[0]]] = reduced[[rows[0], pivot]]
        others = np.flatnonzero(reduced[:, column])
        reduced[others[others != pivot]] ^= reduced[pivot]
        pivot += 1
        if pivot == len(reduced):
            break
    return reduced


@njit
def _keeps_parities(X, H, s):
    inside = np.ones(X.shape[0], np.bool_)
    for t in range(X.shape[0]):
        for r in range(H.shape[0]):
            parity = s[r]
            for i in range(H.shape[1]):
                parity ^= H[r, i] & X[t, i]
            if parity:
                inside[t] = False
                break
    return inside


@njit
def _shifted_masks(X, subsets, kept):
    masks = np.empty((X.shape[0], subsets.shape[0]), np.uint16)
    for t in range(X.shape[0]):
        for e in range(subsets.shape[0]):
            here = np.int64(0)
            for a in range(subsets.shape[1]):
                here |= np.int64(X[t, subsets[e, a]]) << a
            mask = 0
            for c in range(kept.shape[1]):
                if kept[e, c ^ here]:
                    mask |= 1 << c
            masks[t, e] = mask
    return masks
