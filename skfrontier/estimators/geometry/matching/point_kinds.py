"""What points are: vectors, indices into a matrix of distances, or objects of a user's metric."""

from typing import Any

import numpy as np

from skfrontier.algos._validation import as_numbers, check_interval, check_points
from skfrontier.algos.geometry.matching.costs import Cost, matrix_cost, vector_cost
from skfrontier.algos.geometry.matching.distance_rows import CallableRows, VectorRows


class VectorPoints:
    """Points in R^d."""

    def __init__(self, cost: Cost, metric: str):
        self.cost, self.metric = cost, metric
        self.rows = VectorRows(cost)
        self.n_features: int | None = None

    def checked(self, points: Any, name: str) -> np.ndarray:
        """Points as a float64 array of shape (n, d)."""
        if np.size(points) == 0 and self.n_features is not None and np.ndim(points) < 2:
            return np.empty((0, self.n_features))
        array = check_points(points, name).astype(np.float64, copy=False)
        if self.n_features is not None and array.shape[1] != self.n_features:
            raise ValueError(
                f"{name} must have {self.n_features} features as the points before, got {array.shape[1]}."
            )
        return array

    def stored(self, checked: np.ndarray) -> np.ndarray:
        """What the engine keeps of them."""
        return checked

    def given(self, stored: np.ndarray) -> np.ndarray:
        """Points as the user gave them, from those that the engine keeps."""
        return stored


class IndexPoints(VectorPoints):
    """Points that are indices into a matrix of distances."""

    def checked(self, points: Any, name: str) -> np.ndarray:
        """Indices as a float64 array of shape (n, 1)."""
        array = as_numbers(points, name)
        if array.size == 0:
            return np.empty((0, 1))
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(
                f"{name} must hold integer indices into metric_params['D'], of shape (n,) or (n, 1); got "
                f"dtype {array.dtype} and shape {array.shape}."
            )
        n = len(self.cost.matrix)
        outside = array[(array < 0) | (array >= n)]
        if outside.size:
            raise ValueError(f"{name} must lie in 0..{n - 1}, got {outside[0]}.")
        return array.astype(np.float64)[:, None]

    def given(self, stored: np.ndarray) -> np.ndarray:
        """Indices."""
        return stored[:, 0].astype(np.int64)


class ObjectPoints:
    """Any objects, with a metric that is a function."""

    def __init__(self, metric: Any, power: float):
        self.cost = matrix_cost(np.zeros((1, 1)), power)
        self.rows = CallableRows(metric)
        self.n_features: int | None = None

    def checked(self, points: Any, name: str) -> list[Any]:
        """Objects as a list."""
        if isinstance(points, str) or not hasattr(points, "__iter__"):
            raise ValueError(f"{name} must be a sequence of points, got {type(points).__name__}.")
        return list(points)

    def stored(self, checked: list[Any]) -> np.ndarray:
        """Numbers of the objects, of shape (n, 1)."""
        return self.rows.register(checked)

    def given(self, stored: np.ndarray) -> list[Any]:
        """The objects."""
        return [self.rows.objects[int(i)] for i in stored[:, 0]]


def point_kind(metric: Any, metric_params: dict | None, p: float):
    """Return the kind of points that a metric takes.

    Raises
    ------
    ValueError
        If the metric is not known or its parameters are not what it takes.
    """
    power = check_interval(p, "p", 1, np.inf, closed="left")
    params = {} if metric_params is None else dict(metric_params)
    if callable(metric):
        return ObjectPoints(metric, power)
    if not isinstance(metric, str):
        raise ValueError(f"metric must be a string or a callable, got {metric!r}.")
    if metric == "precomputed":
        if set(params) != {"D"}:
            raise ValueError("metric='precomputed' needs metric_params={'D': matrix of distances}.")
        return IndexPoints(matrix_cost(checked_matrix(params["D"]), power), metric)
    allowed = {"p"} if metric == "minkowski" else set()
    if set(params) - allowed:
        raise ValueError(
            f"metric_params of {metric!r} must be among {sorted(allowed)}, got {sorted(params)}."
        )
    return VectorPoints(vector_cost(metric, power, params.get("p")), metric)


def checked_matrix(D: Any) -> np.ndarray:
    """A square, symmetric matrix of distances with a zero diagonal."""
    D = np.ascontiguousarray(check_points(D, "metric_params['D']"), dtype=np.float64)
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"metric_params['D'] must be square, got shape {D.shape}.")
    if D.size and D.min() < 0:
        raise ValueError(f"metric_params['D'] must not be negative, got {D.min()}.")
    if np.diag(D).any():
        raise ValueError("metric_params['D'] must have a zero diagonal.")
    if not np.allclose(D, D.T, rtol=1e-8, atol=1e-8):
        raise ValueError("metric_params['D'] must be symmetric.")
    return D
