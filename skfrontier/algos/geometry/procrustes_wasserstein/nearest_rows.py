"""Exact nearest rows of B, by a KD-tree on all axes or by blocks of matrix products.

Axes come in order of decreasing variance, which lets trees and early exits prune. Which of the two ways
is faster depends on the data: for large clouds a few queries of each are timed. Both give the exact
neighbours, so the choice changes the time alone.
"""

import time

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial import cKDTree

from skfrontier.algos._numba import njit

DENSE_ENTRIES = 9_000_000  # up to here all pairs may be looked at
_TREE_AXES = 4
_BLOCK_BYTES = 64 * 2**20
_TIMED_QUERIES = 128
_FASTEST_PRODUCTS = 1e11  # operations a second that no core exceeds by matrix products


class NearestRows:
    """Searches over the rows of one cloud, float64, axes in order of variance."""

    def __init__(self, B: np.ndarray, n_jobs: int | None = None) -> None:
        self.B = B
        self.n_jobs = n_jobs
        self._trees: dict[int, cKDTree] = {}
        self._half_norms: np.ndarray | None = None
        self._seconds_by_blocks: float | None = None

    def tree(self, n_axes: int) -> cKDTree:
        """KD-tree on the leading axes, built once."""
        n_axes = min(n_axes, self.B.shape[1])
        if n_axes not in self._trees:
            self._trees[n_axes] = cKDTree(np.ascontiguousarray(self.B[:, :n_axes]))
        return self._trees[n_axes]

    def nearest(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distance and index of the nearest row of B for each row of A."""
        n_axes = self.B.shape[1]
        if n_axes <= _TREE_AXES or (
            len(A) * len(self.B) > DENSE_ENTRIES and self._tree_is_faster(A)
        ):
            index = self._by_tree(A)
        else:
            index = self._by_blocks(A, 1)[:, 0]
        return paired_squared_distances(A, self.B, index), index

    def lists(self, A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """At least the nearest row and others near it, and a radius.

        Returns indices of shape (n, k) and, for each row, a squared distance below which every row of B
        is in its list; infinite where all rows are listed.
        """
        k = min(k, len(self.B))
        if self.B.shape[1] > _TREE_AXES and len(A) * len(self.B) <= DENSE_ENTRIES:
            index = self._by_blocks(A, k)
            radius = _largest_in_row(A, self.B, index)
        else:
            used = min(_TREE_AXES, self.B.shape[1])
            distance, index = self.tree(used).query(A[:, :used], k=k, workers=_workers(self.n_jobs))
            distance, index = distance.reshape(len(A), k), index.reshape(len(A), k).astype(np.int64)
            radius = distance[:, -1] ** 2
        if k == len(self.B):
            radius = np.full(len(A), np.inf)
        return index, radius

    def _by_tree(self, A: np.ndarray) -> np.ndarray:
        return (
            self.tree(self.B.shape[1]).query(A, workers=_workers(self.n_jobs))[1].astype(np.int64)
        )

    def _by_blocks(self, A: np.ndarray, k: int) -> np.ndarray:
        if self._half_norms is None:
            self._half_norms = 0.5 * np.einsum("ij,ij->i", self.B, self.B)
        size = max(1, _BLOCK_BYTES // (8 * len(self.B)))
        blocks = [A[i : i + size] for i in range(0, len(A), size)]
        work = (delayed(_block_nearest)(block, self.B, self._half_norms, k) for block in blocks)
        return np.concatenate(Parallel(n_jobs=self.n_jobs, prefer="threads")(work))

    def _tree_is_faster(self, A: np.ndarray) -> bool:
        """Time the tree on a few rows spread over the cloud, and products too if they could compete."""
        some = A[:: max(1, len(A) // _TIMED_QUERIES)][:_TIMED_QUERIES]
        tree = self.tree(self.B.shape[1])
        started = time.process_time()
        tree.query(some)
        by_tree = time.process_time() - started
        if by_tree * _FASTEST_PRODUCTS <= 2 * len(some) * self.B.size:
            return True
        if self._seconds_by_blocks is None:  # does not depend on where the rows lie: timed once
            started = time.process_time()
            self._by_blocks(some, 1)
            self._seconds_by_blocks = time.process_time() - started
        return by_tree <= self._seconds_by_blocks


def _block_nearest(block: np.ndarray, B: np.ndarray, half_norms: np.ndarray, k: int) -> np.ndarray:
    cost = half_norms - block @ B.T
    if k == 1:
        return cost.argmin(axis=1)[:, None]
    if k == len(B):
        return np.broadcast_to(np.arange(len(B)), cost.shape)
    return np.argpartition(cost, k - 1, axis=1)[:, :k]


def _largest_in_row(A: np.ndarray, B: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Squared distance of the farthest row listed, less what rounding in the selection may be."""
    rows = np.repeat(np.arange(len(A)), index.shape[1])
    distances = edge_squared_distances(A, B, rows, index.ravel()).reshape(index.shape)
    magnitude = np.einsum("ij,ij->i", A, A) + np.einsum("ij,ij->i", B, B).max()
    return np.maximum(distances.max(axis=1) - 1e-14 * magnitude, 0.0)


def _workers(n_jobs: int | None) -> int:
    return 1 if n_jobs is None else n_jobs


def paired_squared_distances(A: np.ndarray, B: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Squared distance of each row of A to the row of B with its index."""
    return edge_squared_distances(A, B, np.arange(len(A)), index)


@njit
def edge_squared_distances(A, B, rows, columns):
    """Squared distances of listed pairs, by differences."""
    distances = np.empty(len(rows))
    for e in range(len(rows)):
        total = 0.0
        i, j = rows[e], columns[e]
        for axis in range(A.shape[1]):
            gap = A[i, axis] - B[j, axis]
            total += gap * gap
        distances[e] = total
    return distances


@njit
def violated_edges(A, B, leading, order, rows, u, v, tolerance, limit):
    """Pairs that the dual solution forbids, of the given rows, up to ``limit`` of them.

    ``leading`` is the first axis of B in rising order and ``order`` the rows of B in that order: a
    forbidden pair is nearer than sqrt(u), in this axis too.
    """
    found_rows = np.empty(1024, np.int64)
    found_columns = np.empty(1024, np.int64)
    size = 0
    for t in range(len(rows)):
        i = rows[t]
        if u[i] <= 0.0:
            continue
        reach = np.sqrt(u[i]) * (1.0 + 1e-12)
        place = np.searchsorted(leading, A[i, 0] - reach)
        while place < len(leading) and leading[place] <= A[i, 0] + reach and size < limit:
            j = order[place]
            place += 1
            allowed = u[i] + v[j] - tolerance
            total = 0.0
            for axis in range(A.shape[1]):
                gap = A[i, axis] - B[j, axis]
                total += gap * gap
                if total >= allowed:
                    break
            if total < allowed:
                if size == len(found_rows):
                    more_rows = np.empty(2 * size, np.int64)
                    more_columns = np.empty(2 * size, np.int64)
                    for e in range(size):
                        more_rows[e] = found_rows[e]
                        more_columns[e] = found_columns[e]
                    found_rows = more_rows
                    found_columns = more_columns
                found_rows[size] = i
                found_columns[size] = j
                size += 1
    return found_rows[:size], found_columns[:size]
