"""Points that arrive, and their nearest neighbours among the earlier ones."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

# Points that are searched by brute force before the index is made anew, and rows that are at once.
_TAIL = 1000
_LARGEST = 1e150


class PointIndex:
    """Points in order of arrival: an index over the older ones, brute force over the newest.

    A shallow copy can be appended to without a change of the original: arrays are replaced, and rows
    written only behind those that the original has.

    Parameters
    ----------
    X : array of shape (n_points, n_features)
        The first points, which are copied.
    metric : str or callable
        That of the distances.
    """

    def __init__(self, X: np.ndarray, metric: Any):
        _check_magnitude(X)
        self.metric = metric
        self._points = X.copy()
        self._count = len(X)
        self._make_index()

    def __len__(self) -> int:
        return self._count

    @property
    def dtype(self) -> np.dtype:
        """Type of the features."""
        return self._points.dtype

    def neighbor_graph(self, n_neighbors: int) -> sparse.csr_matrix:
        """Two points are joined where either is among the nearest of the other."""
        n = len(self)
        k = min(n_neighbors, n - 1)
        if k == 0:
            return sparse.csr_matrix((n, n))
        distances, neighbors = self._index.kneighbors(n_neighbors=k)
        _check_finite(distances)
        rows = np.repeat(np.arange(n), k)
        A = sparse.csr_matrix((np.ones(n * k), (rows, neighbors.ravel())), shape=(n, n))
        return A.maximum(A.T)

    def append(self, X: np.ndarray, n_neighbors: int) -> np.ndarray:
        """Add points; return an edge from each to its nearest earlier ones, (m, 2)."""
        _check_magnitude(X)
        edges = [np.empty((0, 2), np.int64)]
        for begin in range(0, len(X), _TAIL):  # memory in proportion to the tail, not to the batch
            part = X[begin : begin + _TAIL]
            first = len(self)
            self._store(part)
            edges.append(self._edges_to_earlier(first, n_neighbors))
            if len(self) - self._n_indexed > max(_TAIL, self._n_indexed):
                self._make_index()
        return np.concatenate(edges)

    def _make_index(self) -> None:
        self._n_indexed = len(self)
        self._index = NearestNeighbors(metric=self.metric).fit(self._points[: len(self)])

    def _store(self, X: np.ndarray) -> None:
        n = len(self)
        if n + len(X) > len(self._points):
            larger = np.empty((n + len(X) + n // 2, X.shape[1]), self.dtype)
            larger[:n] = self._points[:n]
            self._points = larger
        self._points[n : n + len(X)] = X
        self._count = n + len(X)

    def _edges_to_earlier(self, first: int, n_neighbors: int) -> np.ndarray:
        """Each point from ``first`` on with its nearest earlier ones: of the index and of the tail."""
        n, n_indexed = len(self), self._n_indexed
        X, recent = self._points[first:n], self._points[n_indexed:n]
        distances, neighbors = self._index.kneighbors(X, min(n_neighbors, n_indexed))
        near = pairwise_distances(X, recent, metric=self.metric)
        _check_finite(distances)
        _check_finite(near)
        ids = np.arange(n_indexed, n)
        near[ids >= np.arange(first, n)[:, None]] = np.inf
        distances = np.concatenate([distances, near], axis=1)
        neighbors = np.concatenate([neighbors, np.broadcast_to(ids, near.shape)], axis=1)
        order = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
        rows, columns = np.nonzero(np.isfinite(np.take_along_axis(distances, order, axis=1)))
        return np.column_stack([first + rows, neighbors[rows, order[rows, columns]]])


def _check_magnitude(X: np.ndarray) -> None:
    """Refuse points whose squared distances could overflow: infinite ones are no order."""
    if float(np.abs(X).max(initial=0)) > _LARGEST:
        raise ValueError(f"X must have no entry beyond {_LARGEST:g}; scale the features.")


def _check_finite(distances: np.ndarray) -> None:
    if not np.isfinite(distances).all():
        raise ValueError("X must have finite distances between its points; scale the features.")
