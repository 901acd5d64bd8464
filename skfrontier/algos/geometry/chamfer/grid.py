"""Exact nearest neighbours for p = 2 in at most three dimensions: uniform cells, searched in rings."""

from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.geometry.chamfer.blocks import map_blocks
from skfrontier.algos.geometry.chamfer.brute import BruteSearch
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.query_order import spatial_order
from skfrontier.algos.geometry.chamfer.scaling import mild_scale, peak_magnitude

MOST_FEATURES = 3
ROWS = 8192  # queries of one block
CELLS_PER_POINT = 8  # memory: as many cell counters (4 bytes) at most
SHRINK = 0.8  # of the side from one trial grid to the next
WANTED = 2.5  # refine until a point shares its cell with no more than this, itself included
REACH = 2.0**60  # queries beyond this multiple of the references' size are measured one by one


class GridSearch:
    """Nearest reference rows by uniform cells; a few cells a query where B has no tight clusters.

    Parameters
    ----------
    B : ndarray of shape (n_B, d), float32 or float64
        The reference rows, at least one, finite, ``d <= 3``.
    metric : Metric
        With ``p == 2`` and not angular; its power is not applied.

    Attributes
    ----------
    occupancy : float
        The mean number of references that share the cell of a reference, itself included. Large
        where the cells cannot be made fine enough for the clusters of B: use a tree there.

    Raises
    ------
    ValueError
        If the metric or the number of features is another one.
    """

    method = "grid"

    def __init__(self, B: np.ndarray, metric: Metric):
        if B.shape[1] > MOST_FEATURES or metric.p != 2.0 or metric.angular:
            kind = "metric='angular'" if metric.angular else f"p={metric.p:g}"
            raise ValueError(
                f"method='grid' accepts p=2 with at most {MOST_FEATURES} features, got {kind} with "
                f"{B.shape[1]} feature(s); use method='tree' or 'brute'."
            )
        self.metric = metric
        self._B = B
        self._scale = mild_scale(peak_magnitude(B), np.dtype(np.float32))
        points = self._in_three_dimensions(B)
        low, high = points.min(axis=0), points.max(axis=0)
        side, shape, cells, self.occupancy = _fitting_cells(points, low, high - low)
        self._starts = np.zeros(int(shape.prod()) + 1, np.int64)
        self._rows = np.empty(len(B), np.intp)
        self._points = np.empty_like(points)
        _sort_by_cell(points, cells, self._starts, self._rows, self._points)
        # Cell numbers come from rounded quotients: a point may lie this far outside its own cell.
        slack = 8 * np.finfo(np.float64).eps * float(np.abs([low, high]).max() + (high - low).max())
        self._geometry = low, high, shape, side, slack

    def query(self, A: np.ndarray, n_jobs: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance (float64) and the row number of the nearest reference of each row."""
        order = spatial_order(A)
        found, rows = map_blocks(self._query_block, A[order], ROWS, n_jobs)
        distances, index = np.empty_like(found), np.empty_like(rows)
        distances[order], index[order] = found, rows
        return distances, index

    def _query_block(self, A: np.ndarray) -> tuple[np.ndarray, ...]:
        found, rows = np.empty(len(A)), np.empty(len(A), np.intp)
        queries = self._in_three_dimensions(A)
        far = np.zeros(len(A), bool)
        if peak_magnitude(queries) > REACH:  # their squares might overflow
            far = np.abs(queries).max(axis=1) > REACH
            queries[far] = 0.0
        _search(queries, self._points, self._rows, self._starts, *self._geometry, found, rows)
        found = np.sqrt(found) / self._scale
        if far.any():
            found[far], rows[far] = BruteSearch(self._B, self.metric).query(A[far])
        return found, rows

    def _in_three_dimensions(self, X: np.ndarray) -> np.ndarray:
        """Return scaled float64 copies of the rows, with zeros for the missing coordinates."""
        points = np.zeros((len(X), 3))
        np.multiply(X, self._scale, out=points[:, : X.shape[1]])
        return points


def _fitting_cells(
    points: np.ndarray, low: np.ndarray, extent: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, float]:
    """Return side, shape, the cell of each point and the occupancy of the grid that fits ``points``.

    Starts at about two points a cell of the box and refines while the points, which may fill a
    small part of their box only, crowd in the cells and memory allows.
    """
    n = len(points)
    longest = float(extent.max())
    side = 2.0 * longest or 1.0
    while longest > 0.0 and _n_cells(extent, side * SHRINK) <= n / 2:
        side *= SHRINK
    cells = np.empty(n, np.int64)
    while True:
        shape = _shape(extent, side)
        _assign_cells(points, low, side, shape, cells)
        counts = np.bincount(cells)
        occupancy = float(np.dot(counts, counts)) / n
        finer = side * SHRINK
        if occupancy <= WANTED or longest == 0.0 or _n_cells(extent, finer) > CELLS_PER_POINT * n:
            return side, shape, cells, occupancy
        side = finer


def _shape(extent: np.ndarray, side: float) -> np.ndarray:
    return np.floor(extent / side).astype(np.int64) + 1


def _n_cells(extent: np.ndarray, side: float) -> float:
    return float(np.prod(np.floor(extent / side) + 1.0))


@njit
def _assign_cells(points, low, side, shape, cells):
    per_side = 1.0 / side
    for i in range(points.shape[0]):
        cell = 0
        for k in range(3):
            place = int((points[i, k] - low[k]) * per_side)
            cell = cell * shape[k] + min(max(place, 0), shape[k] - 1)
        cells[i] = cell


@njit
def _sort_by_cell(points, cells, starts, rows, ordered):
    """Counting sort; the points of cell ``c`` come to stand at ``starts[c] : starts[c + 1]``."""
    n_cells = starts.shape[0] - 1
    for i in range(cells.shape[0]):
        starts[cells[i]] += 1
    for c in range(1, n_cells + 1):
        starts[c] += starts[c - 1]  # the end of each cell, for now
    for i in range(cells.shape[0] - 1, -1, -1):  # backwards: rows ascend within a cell
        starts[cells[i]] -= 1
        place = starts[cells[i]]
        rows[place] = i
        for k in range(3):
            ordered[place, k] = points[i, k]


@njit
def _search(queries, points, rows, starts, low, high, shape, side, slack, found, index):
    """Visit the cells around each query ring by ring until no closer point can lie in the rest.

    A query outside the box starts from the cell of the box that is nearest to it.
    """
    nx, ny, nz = shape
    per_side = 1.0 / side
    for i in range(queries.shape[0]):
        x, y, z = queries[i]
        cx = _clipped((x - low[0]) * per_side, nx)
        cy = _clipped((y - low[1]) * per_side, ny)
        cz = _clipped((z - low[2]) * per_side, nz)
        best = np.inf
        nearest = -1
        ring = 0
        while True:
            z_first, z_last = max(cz - ring, 0), min(cz + ring, nz - 1)
            for ix in range(max(cx - ring, 0), min(cx + ring, nx - 1) + 1):
                gap_x = _gap(x, low[0], ix, side, slack)
                if gap_x > best:
                    continue
                for iy in range(max(cy - ring, 0), min(cy + ring, ny - 1) + 1):
                    gap_xy = gap_x + _gap(y, low[1], iy, side, slack)
                    if gap_xy > best:
                        continue
                    column = (ix * ny + iy) * nz
                    if abs(ix - cx) == ring or abs(iy - cy) == ring:
                        best, nearest = _nearest_of_run(
                            x, y, z, points, rows, starts, column + z_first, column + z_last,
                            best, nearest,
                        )  # fmt: skip
                        continue
                    for iz in (cz - ring, cz + ring):
                        if 0 <= iz < nz and gap_xy + _gap(z, low[2], iz, side, slack) <= best:
                            best, nearest = _nearest_of_run(
                                x, y, z, points, rows, starts, column + iz, column + iz,
                                best, nearest,
                            )  # fmt: skip
            if _rest_is_farther(x, y, z, cx, cy, cz, ring, low, high, shape, side, slack, best):
                break
            ring += 1
        found[i] = best
        index[i] = nearest


@inner
def _clipped(place, n):
    return int(min(max(place, 0.0), n - 1.0))


@inner
def _gap(x, low, cell, side, slack):
    """Squared distance along one axis from ``x`` to a cell."""
    start = low + cell * side
    gap = max(start - x, x - (start + side)) - slack
    return gap * gap if gap > 0.0 else 0.0


@inner
def _nearest_of_run(x, y, z, points, rows, starts, first, last, best, nearest):
    """Search the points of the consecutive cells ``first..last``."""
    for s in range(starts[first], starts[last + 1]):
        dx, dy, dz = points[s, 0] - x, points[s, 1] - y, points[s, 2] - z
        square = dx * dx + dy * dy + dz * dz
        if square < best or (square == best and rows[s] < nearest):
            best = square
            nearest = rows[s]
    return best, nearest


@inner
def _rest_is_farther(x, y, z, cx, cy, cz, ring, low, high, shape, side, slack, best):
    """Whether every cell beyond ``ring`` lies farther than ``best`` (or there is none).

    Such a cell is beyond one face of the cube searched; a query outside the box is at least its
    distance from the box away in the other axes.
    """
    fx = _face_gap(x, cx, ring, low[0], shape[0], side, slack)
    fy = _face_gap(y, cy, ring, low[1], shape[1], side, slack)
    fz = _face_gap(z, cz, ring, low[2], shape[2], side, slack)
    ox = _outside(x, low[0], high[0], slack)
    oy = _outside(y, low[1], high[1], slack)
    oz = _outside(z, low[2], high[2], slack)
    return min(fx + oy + oz, ox + fy + oz, ox + oy + fz) > best


@inner
def _face_gap(x, cell, ring, low, n, side, slack):
    """Squared distance along one axis to the nearer face of the searched cube with cells behind it."""
    gap = np.inf
    if cell - ring > 0:
        gap = x - (low + (cell - ring) * side)
    if cell + ring < n - 1:
        gap = min(gap, low + (cell + ring + 1) * side - x)
    gap = max(gap - slack, 0.0)
    return gap * gap


@inner
def _outside(x, low, high, slack):
    gap = max(low - x, x - high) - slack
    return gap * gap if gap > 0.0 else 0.0
