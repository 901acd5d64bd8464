"""One small cloud at a time: nearest distances by direct differences, and cheap lower bounds of them.

Everything is float64 and reads the cloud by columns, (n_features, n_points): the inner loops run
over points and fill vectors even with two or three features.
"""

from dataclasses import dataclass

import numpy as np

from skfrontier.algos._numba import njit
from skfrontier.algos.geometry.chamfer.vector_min import vector_min

# What float64 rounding of a distance may amount to, relative, with a wide margin.
SLACK = 1e-12


@dataclass(frozen=True)
class Outline:
    """What `lower_bounds` needs to know of a cloud.

    Attributes
    ----------
    low, high : ndarray of shape (n_features,)
        Its box.
    centres : ndarray of shape (n_cells, n_features)
        Points of the cloud that are far from each other.
    radii : ndarray of shape (n_cells,)
        The largest distance from each centre to a point that has no nearer centre.
    """

    low: np.ndarray
    high: np.ndarray
    centres: np.ndarray
    radii: np.ndarray


def outline(columns: np.ndarray, p: float, n_cells: int) -> Outline:
    """Return box and farthest-point cells of a cloud of at least one point."""
    n_cells = min(n_cells, columns.shape[1])
    centres, radii = np.empty((n_cells, columns.shape[0])), np.zeros(n_cells)
    _farthest_point_cells(columns, p, centres, radii)
    return Outline(columns.min(axis=1), columns.max(axis=1), centres, radii)


def lower_bounds(columns: np.ndarray, other: Outline, p: float) -> np.ndarray:
    """Return lower bounds of the l_p distance from each point to the other cloud, (n_points,)."""
    bounds = np.empty(columns.shape[1])
    _lower_bounds(columns, other.low, other.high, other.centres, other.radii, p, bounds)
    return bounds


def nearest_in_cloud(points: np.ndarray, columns: np.ndarray, p: float) -> np.ndarray:
    """Return the l_p distance from each of the ``points`` (rows) to the cloud, (n,)."""
    distances = np.empty(len(points))
    _nearest_in_cloud(points, columns, p, distances)
    return distances


# reassoc and contract are safe: sums of nonnegative terms are accurate in any order.
@njit(fastmath={"reassoc", "contract"})
def _add_coordinate(x, coordinates, p, sums):
    """Add one coordinate of the distances from ``x`` to all points of a cloud."""
    if p == 2.0:
        for j in range(sums.shape[0]):
            sums[j] += (coordinates[j] - x) * (coordinates[j] - x)
    elif p == 1.0:
        for j in range(sums.shape[0]):
            sums[j] += abs(coordinates[j] - x)
    elif p == np.inf:
        for j in range(sums.shape[0]):
            sums[j] = max(sums[j], abs(coordinates[j] - x))
    else:
        for j in range(sums.shape[0]):
            sums[j] += abs(coordinates[j] - x) ** p


@njit
def _distances(x, columns, p, distances):
    distances[:] = 0.0
    for k in range(columns.shape[0]):
        _add_coordinate(x[k], columns[k], p, distances)
    for j in range(distances.shape[0]):
        distances[j] = _root(distances[j], p)


@njit
def _root(total, p):
    if p == 2.0:
        return np.sqrt(total)
    if p == 1.0 or p == np.inf:
        return total
    return total ** (1.0 / p)


# nnan, nsz: sums of powers of finite numbers are neither NaN nor negative.
@njit(fastmath={"nnan", "nsz"})
def _nearest_in_cloud(points, columns, p, distances):
    sums = np.empty(columns.shape[1])
    for i in range(points.shape[0]):
        sums[:] = 0.0
        for k in range(columns.shape[0]):
            _add_coordinate(points[i, k], columns[k], p, sums)
        least = np.inf
        for j in range(sums.shape[0]):
            least = vector_min(least, sums[j])
        distances[i] = _root(least, p)


@njit
def _farthest_point_cells(columns, p, centres, radii):
    n = columns.shape[1]
    to_centre, nearest, cell = np.empty(n), np.full(n, np.inf), np.zeros(n, np.int64)
    chosen = 0
    for c in range(centres.shape[0]):
        for k in range(columns.shape[0]):
            centres[c, k] = columns[k, chosen]
        _distances(centres[c], columns, p, to_centre)
        for j in range(n):
            if to_centre[j] < nearest[j]:
                nearest[j] = to_centre[j]
                cell[j] = c
        chosen = int(np.argmax(nearest))
    for j in range(n):
        radii[cell[j]] = max(radii[cell[j]], nearest[j])


@njit
def _lower_bounds(columns, low, high, centres, radii, p, bounds):
    n = columns.shape[1]
    distances, to_balls = np.empty(n), np.full(n, np.inf)
    for c in range(centres.shape[0]):
        _distances(centres[c], columns, p, distances)
        for j in range(n):
            # Rounding is relative to what is subtracted.
            gap = distances[j] - radii[c] - SLACK * (distances[j] + radii[c])
            to_balls[j] = min(to_balls[j], gap)
    inside = np.empty(n)
    distances[:] = 0.0
    for k in range(columns.shape[0]):
        for j in range(n):
            inside[j] = max(low[k] - columns[k, j], columns[k, j] - high[k], 0.0)
        _add_coordinate(0.0, inside, p, distances)
    for j in range(n):
        bound = max(_root(distances[j], p) * (1.0 - SLACK), to_balls[j], 0.0)
        bounds[j] = bound if bound < np.inf else 0.0  # an overflow says nothing
