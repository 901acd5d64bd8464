"""Reference clouds prepared for retrieval; clouds can be inserted and deleted at any time."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count, check_points
from skfrontier.algos.geometry.chamfer.cloud_bounds import Outline, lower_bounds, nearest_in_cloud
from skfrontier.algos.geometry.chamfer.cloud_bounds import outline as outline_of
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.scaling import (
    check_nonzero_rows,
    read_only_rows,
    row_norms,
)


@dataclass(frozen=True)
class PreparedCloud:
    """A cloud in random order, by rows and by columns, with its outline."""

    points: np.ndarray
    columns: np.ndarray
    outline: Outline


def prepare_cloud(
    points: np.ndarray, metric: Metric, n_cells: int, rng: np.random.Generator
) -> PreparedCloud:
    """Return the float64 points (unit vectors for angles) in random order, with their outline.

    The order is random so that the first points of a cloud are a sample of it.
    """
    points = points[rng.permutation(len(points))].astype(np.float64)
    if metric.angular:
        norms = np.empty(len(points))
        row_norms(read_only_rows(points), norms)
        points /= norms[:, None]
    columns = np.ascontiguousarray(points.T)
    return PreparedCloud(points, columns, outline_of(columns, metric.p, n_cells))


def point_costs(distances: np.ndarray, metric: Metric) -> np.ndarray:
    """Return what each l_p distance adds to the Chamfer sum: its power, or that of the angle over pi."""
    if metric.angular:  # the chord between unit vectors to the angle
        distances = 2.0 * np.arcsin(np.minimum(0.5 * distances, 1.0)) / np.pi
    return distances if metric.power == 1.0 else distances**metric.power


class DirectedSum:
    """Chamfer sum from ``source`` to ``target``, known for some points and bounded for the rest."""

    def __init__(self, source: PreparedCloud, target: PreparedCloud, metric: Metric, weight: float):
        self._source, self._target, self._metric = source, target, metric
        self.weight = weight
        self.size = len(source.points)
        self.n_done = 0
        self._costs = np.empty(self.size)
        self._total = 0.0
        self._rest: np.ndarray | None = None

    @property
    def costs(self) -> np.ndarray:
        """The costs of the points evaluated so far."""
        return self._costs[: self.n_done]

    @property
    def estimate(self) -> float:
        """The weighted sum, extrapolated from the points evaluated so far."""
        return self.weight * self.size * self._total / self.n_done

    @property
    def value(self) -> float:
        """The weighted sum over all points."""
        self.advance(self.size - self.n_done)
        return self.weight * float(self._costs.sum())

    @property
    def lower_bound(self) -> float:
        """A lower bound of `value`; the bounds of the single points are made on first use."""
        if self._rest is None:
            bounds = lower_bounds(self._source.columns, self._target.outline, self._metric.p)
            costs = point_costs(bounds, self._metric)
            self._rest = np.append(np.cumsum(costs[::-1])[::-1], 0.0) * (1.0 - 1e-9)
        return self.weight * (self._total + float(self._rest[self.n_done]))

    def advance(self, n_points: int) -> int:
        """Evaluate up to ``n_points`` more points; return how many."""
        first, last = self.n_done, min(self.n_done + n_points, self.size)
        if last > first:
            nearest = nearest_in_cloud(
                self._source.points[first:last], self._target.columns, self._metric.p
            )
            self._costs[first:last] = point_costs(nearest, self._metric)
            self._total += float(self._costs[first:last].sum())
            self.n_done = last
        return last - first


class CloudIndex:
    """Reference clouds for `nearest_clouds`.

    Parameters
    ----------
    n_features : int
        Number of features of every cloud.
    metric : Metric
        The distance between points, with its power.
    reduction : {'mean', 'sum'}, default='mean'
        Over the points of the cloud that is measured.
    symmetric : bool, default=False
        Whether the distance from the reference to the query is added.
    n_cells : int, default=16
        Number of balls that outline a cloud. More make better bounds at a higher price.
    """

    def __init__(
        self,
        n_features: int,
        metric: Metric,
        *,
        reduction: str = "mean",
        symmetric: bool = False,
        n_cells: int = 16,
    ):
        self.n_features = n_features
        self.metric = metric
        self.reduction = reduction
        self.symmetric = symmetric
        self.n_cells = check_count(n_cells, "n_cells")
        self._clouds: list[PreparedCloud] = []

    def __len__(self) -> int:
        return len(self._clouds)

    def insert(self, cloud: Any) -> int:
        """Append a cloud, array-like of shape (n_points, n_features), and return its number."""
        points = self.check_cloud(cloud, "cloud")
        # The order of a cloud depends on its size only: the same clouds give the same index.
        prepared = prepare_cloud(points, self.metric, self.n_cells, np.random.default_rng(0))
        self._clouds.append(prepared)
        return len(self._clouds) - 1

    def delete(self, index: int) -> None:
        """Remove a cloud; the numbers of the clouds after it fall by one."""
        number = check_count(index, "index", 0)
        if number >= len(self):
            raise ValueError(f"index must be below the number of clouds, {len(self)}; got {index}.")
        del self._clouds[number]

    def check_cloud(self, cloud: Any, name: str) -> np.ndarray:
        """Return a cloud validated: finite, not empty, with the right number of features."""
        points = check_points(cloud, name, min_points=1)
        if points.shape[1] != self.n_features:
            raise ValueError(f"{name} must have {self.n_features} features, got {points.shape[1]}.")
        if self.metric.angular:
            check_nonzero_rows(points, name)
        return points

    def sums_from(self, points: np.ndarray, rng: np.random.Generator) -> list[list[DirectedSum]]:
        """Return, per reference, the directed sums that make up its distance from ``points``."""
        query = prepare_cloud(points, self.metric, self.n_cells, rng)
        return [self._sums(query, reference) for reference in self._clouds]

    def _sums(self, query: PreparedCloud, reference: PreparedCloud) -> list[DirectedSum]:
        pairs = [(query, reference)]
        if self.symmetric:
            pairs.append((reference, query))
        return [
            DirectedSum(
                source,
                target,
                self.metric,
                1.0 / len(source.points) if self.reduction == "mean" else 1.0,
            )
            for source, target in pairs
        ]
