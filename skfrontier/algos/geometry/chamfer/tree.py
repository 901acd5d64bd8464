"""Exact nearest neighbours in few dimensions: SciPy's kd-tree, asked in Z-order."""

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.spatial import cKDTree

from skfrontier.algos.geometry.chamfer.brute import BruteSearch
from skfrontier.algos.geometry.chamfer.lp import LpSearch
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.query_order import spatial_order
from skfrontier.algos.geometry.chamfer.scaling import (
    mild_scale,
    peak_magnitude,
    read_only_rows,
    row_norms,
)

MOST_FEATURES = 8  # the tree itself works beyond, but reads nearly all points
STEEPEST_P = 16.0  # beyond, float64 powers of ordinary differences underflow to 0
REACH = 2.0**60  # entries up to this keep their powers inside the float64 range
NEARLY_OPPOSITE = 1.99  # chords of the unit sphere beyond this say little about the angle


class TreeSearch:
    """Nearest reference rows by a kd-tree; about ``log n_B`` a query for small ``d``, any ``p``.

    Parameters
    ----------
    B : ndarray of shape (n_B, d), float32 or float64
        The reference rows, at least one, finite, nonzero where ``metric`` is angular.
    metric : Metric
        Its power is not applied. Angles are searched as chords between unit vectors.

    Raises
    ------
    ValueError
        If ``16 < p < inf``.
    """

    method = "tree"

    def __init__(self, B: np.ndarray, metric: Metric):
        if STEEPEST_P < metric.p < np.inf:
            raise ValueError(
                f"method='tree' accepts p up to {STEEPEST_P:g} and p=inf, got p={metric.p:g}; "
                "use method='brute'."
            )
        self.metric = metric
        self._B = B
        self._scale = 1.0 if metric.angular else mild_scale(peak_magnitude(B), np.dtype(np.float32))
        points = self._points(B)
        self._tree: Any = None
        self._distinct: tuple[Any, np.ndarray] | None = None
        # A leaf cannot split equal points: many copies of few points would make it a long list.
        if _repeats_itself(points):
            self._distinct = _distinct_tree(points)
        else:
            self._tree = cKDTree(points)

    def query(self, A: np.ndarray, n_jobs: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance (float64) and the row number of the nearest reference of each row."""
        distances = np.empty(len(A))
        index = np.empty(len(A), np.intp)
        if len(A) == 0:
            return distances, index
        order = spatial_order(A)
        points = self._points(A[order])
        unclear = np.zeros(len(A), bool)
        if not self.metric.angular and peak_magnitude(points) > REACH:
            unclear = np.abs(points).max(axis=1) > REACH
            points[unclear] = 0.0
        found, rows = self._nearest(points, effective_n_jobs(n_jobs))
        if self.metric.angular:
            unclear = found > NEARLY_OPPOSITE
            sums = np.linalg.norm(points + self._points(self._B[rows]), axis=1)
            found = 2.0 * np.arctan2(found, sums) / np.pi
        else:
            found /= self._scale
        distances[order], index[order] = found, rows
        if unclear.any():
            all_pairs = BruteSearch if self.metric.p == 2.0 else LpSearch
            which = order[unclear]
            distances[which], index[which] = all_pairs(self._B, self.metric).query(A[which], n_jobs)
        return distances, index

    def _points(self, X: np.ndarray) -> np.ndarray:
        if not self.metric.angular:
            return np.multiply(X, self._scale, dtype=np.float64)
        norms = np.empty(len(X))
        row_norms(read_only_rows(X), norms)
        return np.divide(X, norms[:, None], dtype=np.float64)

    def _nearest(self, points: np.ndarray, workers: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the least distances and, among equals, the lowest row numbers."""
        if self._tree is None:
            return self._nearest_distinct(points, workers)
        if self._tree.n == 1:
            found, rows = self._tree.query(points, k=[1], p=self.metric.p, workers=workers)
            return found[:, 0], rows[:, 0]
        found, rows = self._tree.query(points, k=2, p=self.metric.p, workers=workers)
        least, nearest = found[:, 0].copy(), rows[:, 0].copy()
        tied = np.flatnonzero(found[:, 1] <= least)
        if len(tied):
            least[tied], nearest[tied] = self._nearest_distinct(points[tied], workers)
        return least, nearest

    def _nearest_distinct(self, points: np.ndarray, workers: int) -> tuple[np.ndarray, np.ndarray]:
        """The same by a tree of the distinct references, so that a thousand copies count as one.

        Asks for more and more neighbours until one is farther than the nearest.
        """
        if self._distinct is None:
            self._distinct = _distinct_tree(self._tree.data)
        tree, first_rows = self._distinct
        least, lowest = np.empty(len(points)), np.empty(len(points), np.intp)
        open_rows = np.arange(len(points))
        k = 2
        while len(open_rows):
            k = min(k, tree.n)
            wanted = np.arange(1, k + 1)
            found, rows = tree.query(points[open_rows], k=wanted, p=self.metric.p, workers=workers)
            equal = found <= found[:, :1]
            least[open_rows] = found[:, 0]
            lowest[open_rows] = np.where(equal, first_rows[rows], self._B.shape[0]).min(axis=1)
            open_rows = open_rows[equal[:, -1]] if k < tree.n else open_rows[:0]
            k *= 4
        return least, lowest


def _repeats_itself(points: np.ndarray) -> bool:
    sample = points[:: max(1, len(points) // 512)]
    return len(points) > 512 and len(np.unique(sample, axis=0)) < 0.75 * len(sample)


def _distinct_tree(points: np.ndarray) -> tuple[cKDTree, np.ndarray]:
    """Return a tree of the distinct rows and the lowest row number of each."""
    distinct, first_rows = np.unique(points, axis=0, return_index=True)
    return cKDTree(distinct), first_rows
