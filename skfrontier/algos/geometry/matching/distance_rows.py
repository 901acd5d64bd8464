"""Rows of distances, from vectors or from a user's function."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skfrontier.algos.geometry.matching.certificate import two_transforms
from skfrontier.algos.geometry.matching.costs import Cost, cost_row, paired_costs


class VectorRows:
    """Distances of points in R^d or of indices into a matrix; points are columns."""

    def __init__(self, cost: Cost):
        self.cost = cost

    def row(self, point: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Distances from ``point`` of shape (n_features,) to the columns of ``points``."""
        row = np.empty(points.shape[1])
        column = np.ascontiguousarray(point, dtype=np.float64).reshape(-1, 1)
        points = np.ascontiguousarray(points)
        cost_row(*self.cost.distance.args, column, 0, points, row.size, row)
        return row

    def paired(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """Distances between columns of the same number."""
        result = np.empty(P.shape[1])
        paired_costs(
            *self.cost.distance.args, np.ascontiguousarray(P), np.ascontiguousarray(Q), result
        )
        return result

    def feasible(
        self, P: np.ndarray, Q: np.ndarray, v: np.ndarray, power: float, n_jobs: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Feasible potentials of columns of ``P`` and ``Q`` from any ``v`` of the latter."""
        P, Q = np.ascontiguousarray(P), np.ascontiguousarray(Q)
        return two_transforms(self.cost, P, Q, v, n_jobs=n_jobs)


class CallableRows:
    """Distances that a function computes from pairs of objects; points are columns of object numbers.

    Parameters
    ----------
    metric : callable
        ``(x, y) -> float``; with an attribute ``vectorized = True``: ``(x, list of y) -> (n,)``.
    """

    def __init__(self, metric: Callable[..., Any]):
        self.metric = metric
        self.objects: list[Any] = []

    def register(self, new: list[Any]) -> np.ndarray:
        """Keep objects; return their numbers as rows of shape (n, 1)."""
        start = len(self.objects)
        self.objects.extend(new)
        return np.arange(start, len(self.objects), dtype=np.float64)[:, None]

    def row(self, point: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Distances from the object ``point`` of shape (1,) to those in ``points`` of shape (1, n)."""
        x = self.objects[int(point[0])]
        others = [self.objects[int(i)] for i in points[0]]
        if not others:
            return np.empty(0)
        if getattr(self.metric, "vectorized", False):
            row = np.asarray(self.metric(x, others), dtype=np.float64)
            if row.shape != (len(others),):
                raise ValueError(
                    f"the vectorized metric must return shape ({len(others)},), got {row.shape}."
                )
        else:
            row = np.array([self.metric(x, y) for y in others], dtype=np.float64)
        if not (np.isfinite(row).all() and (row >= 0).all()):
            bad = row[~(np.isfinite(row) & (row >= 0))][0]
            raise ValueError(f"metric must return finite distances of at least 0, got {bad}.")
        return row

    def paired(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """Distances between columns of the same number."""
        columns = range(P.shape[1])
        return np.array([self.row(P[:, i], Q[:, i : i + 1])[0] for i in columns], dtype=np.float64)

    def feasible(
        self, P: np.ndarray, Q: np.ndarray, v: np.ndarray, power: float, n_jobs: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Feasible potentials of columns of ``P`` and ``Q`` from any ``v`` of the latter: one sweep."""
        costs = np.array([self.row(x, Q) ** power for x in P.T])
        u = (costs - v).min(axis=1)
        return u, (costs - u[:, None]).min(axis=0)
