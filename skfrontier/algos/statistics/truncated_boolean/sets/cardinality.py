"""Rows with an allowed number of ones."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_count
from skfrontier.algos.statistics.truncated_boolean.packed_bits import (
    PackedBits,
    masked_counts,
    pack_flags,
)
from skfrontier.algos.statistics.truncated_boolean.poisson_binomial import (
    cardinality_moments,
    cardinality_sample,
)
from skfrontier.algos.statistics.truncated_boolean.rows import dense_chunks
from skfrontier.algos.statistics.truncated_boolean.sets.base import (
    TruncationSet,
    not_sparse,
    zero_counts,
)


class Cardinality(TruncationSet):
    """Rows whose number of ones is allowed: non-empty baskets, ballots with at most ten approvals.

    Parameters
    ----------
    counts : iterable of int, optional
        The allowed numbers of ones. Give this, or a range.
    min, max : int, optional
        The smallest and the largest allowed number of ones.

    Raises
    ------
    ValueError
        If nothing is allowed, or both a list and a range are given.

    Notes
    -----
    Counting flips reads every entry once, O(N n), or O(nnz) for CSR. Mass, mean and samples are exact
    in O(n^1.5) (`cardinality_moments`).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import Cardinality
    >>> nonempty = Cardinality(min=1)
    >>> nonempty.contains([[0, 0], [0, 1]])
    array([False,  True])
    >>> nonempty.flips([[0, 1], [1, 1]])
    array([[ True, False],
           [ True,  True]])
    >>> round(float(np.exp(nonempty.log_mass([0.0, 0.0]))), 6)
    0.75
    """

    def __init__(self, counts: Any = None, *, min: int | None = None, max: int | None = None):
        if counts is not None and (min is not None or max is not None):
            raise ValueError("give either counts or min and max, not both.")
        if counts is None:
            self.min = 0 if min is None else check_count(min, "min", 0)
            self.max = None if max is None else check_count(max, "max", 0)
            self.counts: frozenset[int] | None = None
            if self.max is not None and self.max < self.min:
                raise ValueError(f"min must not exceed max, got {self.min} and {self.max}.")
            return
        if isinstance(counts, str) or not isinstance(counts, Iterable):
            raise TypeError(
                f"counts must be a list of numbers of ones, as in Cardinality([3, 5]), got {counts!r}; for a "
                "range give min and max."
            )
        self.counts = frozenset(check_count(k, "counts", 0) for k in counts)
        if not self.counts:
            raise ValueError("counts must not be empty: no row would be allowed.")
        self.min, self.max = builtin_range(self.counts)

    def __repr__(self) -> str:
        if self.counts is not None:
            return f"Cardinality({sorted(self.counts)})"
        return f"Cardinality(min={self.min}, max={self.max})"

    def allowed(self, n_features: int) -> np.ndarray:
        """Whether k ones are allowed, for k = 0..n_features.

        Raises
        ------
        ValueError
            If no row of this length is allowed.
        """
        k = np.arange(n_features + 1)
        if self.counts is not None:
            mask = np.isin(k, list(self.counts))
        else:
            mask = (k >= self.min) & (k <= (n_features if self.max is None else self.max))
        if not mask.any():
            raise ValueError(f"{self!r} allows no row with {n_features} features.")
        return mask

    def is_exact(self, n_features: int) -> bool:
        """Always."""
        return True

    def log_mass(self, z: Any) -> float:
        """Log-probability of the set under the product law, see `cardinality_moments`."""
        return cardinality_moments(z, self.allowed(len(z)))[0]

    def mean(self, z: Any) -> np.ndarray:
        """Mean of the restricted law, see `cardinality_moments`."""
        return cardinality_moments(z, self.allowed(len(z)))[1]

    def sample_exact(self, z: Any, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Independent rows of the restricted law, see `cardinality_sample`."""
        return cardinality_sample(z, self.allowed(len(z)), n_samples, random_state)

    def null_space(self, n_features: int) -> np.ndarray:
        """The constant vector where only one count is allowed, everything for 0 or all ones."""
        counts = np.flatnonzero(self.allowed(n_features))
        inner = (counts > 0) & (counts < n_features)
        if inner.any() and len(counts) == 1:
            return np.full((n_features, 1), n_features**-0.5)
        if inner.any():
            return np.zeros((n_features, 0))
        if len(counts) == 1:
            return np.eye(n_features)
        # {0, n}: only the sum of z is seen.
        q, _ = np.linalg.qr(np.eye(n_features) - 1 / n_features)
        return q[:, : n_features - 1]

    def _contains(self, X: np.ndarray) -> np.ndarray:
        return self.allowed(X.shape[1])[X.sum(axis=1, dtype=np.int64)]

    def contains(self, X: Any) -> np.ndarray:
        """Whether each row has an allowed number of ones."""
        if isinstance(X, PackedBits):
            return self.allowed(X.shape[1])[X.row_sums]
        rows = self._rows(X)
        return self.allowed(rows.shape[1])[row_sums(rows)]

    def _flips(self, X: np.ndarray) -> np.ndarray:
        up, down = self._moves(X.shape[1])
        sums = row_sums(X)
        return np.where(X, down[sums][:, None], up[sums][:, None])

    def _fibre_masks(self, X: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        n, t = X.shape[1], subsets.shape[1]
        ones = np.array([bin(c).count("1") for c in range(1 << t)])
        allowed = np.concatenate([self.allowed(n), np.zeros(t, bool)])
        table = (allowed[np.arange(n + 1)[:, None] + ones] << np.arange(1 << t)).sum(axis=1)
        return _masks_from_rest(X, subsets, table.astype(np.uint16))

    def _flip_counts(self, X: Any, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        up, down = self._moves(X.shape[1])
        if not_sparse(X):
            m1, m0 = zero_counts(X.shape[1], weights)
            for rows, chunk in dense_chunks(X):
                if weights is None:
                    _count_cardinality(chunk, up, down, m1, m0)
                else:
                    _count_weighted(chunk, weights[rows], up, down, m1, m0)
            return m1, m0
        sums = row_sums(X)
        w = np.ones(X.shape[0], np.int64) if weights is None else weights
        ups, downs = w * up[sums], w * down[sums]
        ones_down = _column_sums(X.indptr, X.indices, downs, X.shape[1])
        ones_up = _column_sums(X.indptr, X.indices, ups, X.shape[1])
        return ones_down, ups.sum() - ones_up

    def _packed_flip_counts(
        self, X: PackedBits, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        if sample_weight is not None:
            raise TypeError("PackedBits cannot be counted with sample_weight; pass the rows.")
        up, down = self._moves(X.shape[1])
        ups = up[X.row_sums]
        m1 = masked_counts(X.planes, pack_flags(down[X.row_sums]))
        return m1, np.count_nonzero(ups) - masked_counts(X.planes, pack_flags(ups))

    def _moves(self, n_features: int) -> tuple[np.ndarray, np.ndarray]:
        """Whether a row with k ones may gain one, and lose one."""
        allowed = self.allowed(n_features)
        up = np.concatenate([allowed[1:], [False]])
        return up, np.concatenate([[False], allowed[:-1]])


def builtin_range(counts: frozenset[int]) -> tuple[int, int]:
    """Smallest and largest count (the constructor's arguments hide the functions of that name)."""
    return min(counts), max(counts)


def row_sums(X: Any) -> np.ndarray:
    """Number of ones of every row, of dense or CSR rows."""
    if not_sparse(X):
        sums = [_row_sums(chunk) for _, chunk in dense_chunks(X)]
        return np.concatenate(sums) if sums else np.zeros(0, np.int64)
    return np.diff(X.indptr).astype(np.int64)


@njit
def _row_sums(X):
    sums = np.zeros(X.shape[0], np.int64)
    for t in range(X.shape[0]):
        total = 0
        for i in range(X.shape[1]):
            total += X[t, i]
        sums[t] = total
    return sums


@njit
def _count_cardinality(X, up, down, m1, m0):
    """Add the rows to the counters; both are sums of rows, by which of their moves are open.

    Rows are added in uint8, which the compiler turns into the widest vector instructions, and carried
    over before 255 of them could overflow.
    """
    n = X.shape[1]
    both = np.zeros(n, np.uint8)
    only_up = np.zeros(n, np.uint8)
    only_down = np.zeros(n, np.uint8)
    n_up = 0
    pending = 0
    for t in range(X.shape[0]):
        k = 0
        for i in range(n):
            k += X[t, i]
        n_up += up[k]
        if up[k] and down[k]:
            for i in range(n):
                both[i] += X[t, i]
        elif up[k]:
            for i in range(n):
                only_up[i] += X[t, i]
        elif down[k]:
            for i in range(n):
                only_down[i] += X[t, i]
        pending += 1
        if pending == 255:
            _carry(both, only_up, only_down, m1, m0)
            pending = 0
    _carry(both, only_up, only_down, m1, m0)
    for i in range(n):
        m0[i] += n_up


@inner
def _carry(both, only_up, only_down, m1, m0):
    for i in range(both.shape[0]):
        m1[i] += np.int64(both[i]) + np.int64(only_down[i])
        m0[i] -= np.int64(both[i]) + np.int64(only_up[i])
        both[i] = 0
        only_up[i] = 0
        only_down[i] = 0


@njit
def _count_weighted(X, weights, up, down, m1, m0):
    for t in range(X.shape[0]):
        k = 0
        for i in range(X.shape[1]):
            k += X[t, i]
        w1 = weights[t] if down[k] else 0.0
        w0 = weights[t] if up[k] else 0.0
        for i in range(X.shape[1]):
            m1[i] += w1 * X[t, i]
            m0[i] += w0 * (1 - X[t, i])


@njit
def _column_sums(pointers, indices, row_weights, n_features):
    sums = np.zeros(n_features, row_weights.dtype)
    for t in range(pointers.shape[0] - 1):
        w = row_weights[t]
        if w:
            for a in range(pointers[t], pointers[t + 1]):
                sums[indices[a]] += w
    return sums


@njit
def _masks_from_rest(X, subsets, table):
    """The mask depends only on the number of ones outside of the subset."""
    masks = np.empty((X.shape[0], subsets.shape[0]), np.uint16)
    for t in range(X.shape[0]):
        k = 0
        for i in range(X.shape[1]):
            k += X[t, i]
        for e in range(subsets.shape[0]):
            rest = k
            for a in range(subsets.shape[1]):
                rest -= X[t, subsets[e, a]]
            masks[t, e] = table[rest]
    return masks
