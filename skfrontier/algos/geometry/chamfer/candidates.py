"""Near neighbours by randomly shifted quadtrees, walked in Z-order.

Points are projected to a few dimensions and a random grid hierarchy is laid over them; the bits of the
cell coordinates, interleaved level by level, sort the points so that the member of B that shares the
smallest cell with a point stands next to it. Two independent shifts suffice: the expected distance to
the better of the two is within a constant of the true one per coordinate, with no logarithm.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import (
    RandomState,
    check_choice,
    check_count,
    check_generator,
)
from skfrontier.algos.geometry.chamfer.exact import check_pair
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.pairwise import PairDistance, PreparedRows
from skfrontier.algos.geometry.chamfer.projection import PROJECTIONS, Projection
from skfrontier.algos.geometry.chamfer.radix import sort_keys

_WORD_BITS = 64
_MAX_AXIS_BITS = 31
_BOX_SAMPLE = 20_000  # points from which the box of the root cell is laid
_TAIL = 0.001  # share of the projected points on either side that a heavy-tailed box leaves out
_MARGIN = 16.0  # of the inner range, by which the box of light-tailed projections may stretch


def zorder_candidates(
    A: Any,
    B: Any,
    *,
    p: float = 2.0,
    n_trees: int = 2,
    n_projections: int = 8,
    window: int = 1,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find for each point of A a near point of B in O((n_A + n_B) d) time.

    Parameters
    ----------
    A : array-like of shape (n_A, n_features)
        Query points.
    B : array-like of shape (n_B, n_features)
        Reference points, at least one.
    p : float, default=2.0
        The norm, in [1, 2].
    n_trees : int, default=2
        Number of independent shifted quadtrees.
    n_projections : int, default=8
        Number of random projections that a tree is laid over (all features when there are fewer).
    window : int, default=1
        How many neighbours in Z-order are looked at on either side.
    random_state : int, Generator or None, default=None
        Seed of projections and shifts.

    Returns
    -------
    index : intp array of shape (n_A,)
        Row of B of the candidate.
    dist : float64 array of shape (n_A,)
        Its l_p distance: an upper bound of the distance to the nearest point.

    Raises
    ------
    ValueError
        If B is empty, the numbers of features differ, ``p`` lies outside [1, 2], a count is below 1,
        or the points are not finite 2-D arrays.

    Notes
    -----
    Proven (l_1, all features kept): the sum of the distances is O(log n) times the sum of the nearest
    distances. With few projections the ratio is small in practice but has no worst-case bound.
    Memory O((n_A + n_B) n_trees n_projections) beyond the inputs.

    References
    ----------
    .. [1] Bakshi, Indyk, Jayaram, Silwal, Waingarten, "A near-linear time algorithm for the Chamfer
       distance", NeurIPS 2023, arXiv:2307.03043.
    .. [2] Feng, Indyk, "Even faster algorithm for the Chamfer distance", ICALP 2025,
       arXiv:2505.08957 (two shifted quadtrees).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import zorder_candidates
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.random((1000, 3)), rng.random((2000, 3))
    >>> index, dist = zorder_candidates(A, B, random_state=0)
    >>> bool(np.allclose(dist, np.linalg.norm(A - B[index], axis=1)))
    True
    """
    metric = Metric.from_names(p=p)
    check_sampling_metric(metric)
    A, B = check_pair(A, B, metric)
    if len(B) == 0:
        raise ValueError("B must have at least 1 point(s), got none.")
    trees = ZOrderTrees(
        B,
        metric,
        n_trees=check_count(n_trees, "n_trees"),
        n_projections=check_count(n_projections, "n_projections"),
        random_state=check_generator(random_state),
    )
    index, dist = trees.query(A, window=check_count(window, "window"))
    return index.astype(np.intp), dist


def check_sampling_metric(metric: Metric) -> None:
    """Raise unless the norm is one that stable projections exist for."""
    if not 1 <= metric.p <= 2:
        raise ValueError(
            f"p={metric.p:g} is for exact values only; sampling needs 1 <= p <= 2. Use an exact method "
            "of chamfer_distance (epsilon=0)."
        )


@dataclass(frozen=True)
class _RootCell:
    """Where the grid of a tree lies, and how finely it is cut."""

    origin: np.ndarray  # the shifted corner, per axis
    cells_per_unit: float
    axis_bits: int
    n_words: int


@dataclass(frozen=True)
class _Tree:
    """One shifted quadtree over B: its cells, and the keys of B in order."""

    columns: slice  # of the joint projection
    root: _RootCell
    order: np.ndarray
    high: np.ndarray
    low: np.ndarray


class ZOrderTrees:
    """Shifted quadtrees over B, kept so that later queries pay for their own points only.

    Parameters
    ----------
    B : ndarray of shape (n_B, n_features), float32 or float64
        Validated reference points; kept by reference.
    metric : Metric
        With 1 <= p <= 2.
    n_trees, n_projections : int
        Number of trees, and of projections a tree.
    random_state : Generator
        Source of projections and shifts.
    projection : str, default='auto'
        'gaussian', 'stable' (p-stable), 'toeplitz' (Gaussian-like, by FFT), or 'auto': gaussian for
        p = 2, stable below.
    """

    def __init__(
        self,
        B: np.ndarray,
        metric: Metric,
        *,
        n_trees: int,
        n_projections: int,
        random_state: np.random.Generator,
        projection: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        check_choice(projection, "projection", PROJECTIONS)
        if projection == "auto":
            projection = "gaussian" if metric.p == 2 else "stable"
        self.metric = metric
        self.pairs = PairDistance(B, metric)
        self._n_projections = n_projections
        self._projection_kind = projection
        self.projection = Projection(B, metric, projection, n_trees, n_projections, random_state)
        heavy_tailed = projection == "stable" and metric.p < 2 and self.projection.random
        projected = self.projection(self.pairs.prepare(B), n_jobs)
        # Shifts are drawn here, in order: the result must not depend on who finishes first.
        shifts = random_state.random((n_trees, self.projection.n_columns))
        self.trees = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(_grow_tree)(projected, columns, heavy_tailed, shift)
            for columns, shift in zip(self.projection.tree_columns(n_trees), shifts, strict=True)
        )

    def query(
        self, A: np.ndarray, *, window: int = 1, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the row of B of the best candidate of each point of A, and its distance."""
        prepared = self.pairs.prepare(A)
        arg, _ = self._search(prepared, window, n_jobs)
        return arg, self.pairs.distances(prepared, arg, n_jobs)

    def bounds(self, A: np.ndarray, *, window: int = 1, n_jobs: int | None = None) -> np.ndarray:
        """Upper bounds of the distances to the nearest points, a little above the candidates'."""
        prepared = self.pairs.prepare(A)
        arg, best = self._search(prepared, window, n_jobs)
        return self.pairs.upper_bounds(prepared, arg, best, self.projection.scale, n_jobs)

    def _search(
        self, prepared: PreparedRows, window: int, n_jobs: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        projected = self.projection(prepared, n_jobs)
        found = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(self._search_tree)(tree, prepared, projected, window) for tree in self.trees
        )
        best, arg = found[0]
        for other_best, other_arg in found[1:]:
            better = (other_best < best) | ((other_best == best) & (other_arg < arg))
            np.copyto(best, other_best, where=better)
            np.copyto(arg, other_arg, where=better)
        return arg, best

    def another(
        self, n_trees: int, random_state: np.random.Generator, *, n_jobs: int | None = None
    ) -> "ZOrderTrees":
        """Grow more trees over the same points, with projections and shifts of their own."""
        return ZOrderTrees(
            self.pairs.B,
            self.metric,
            n_trees=n_trees,
            n_projections=self._n_projections,
            random_state=random_state,
            projection=self._projection_kind,
            n_jobs=n_jobs,
        )

    def _search_tree(
        self, tree: _Tree, prepared: PreparedRows, projected: np.ndarray, window: int
    ) -> tuple[np.ndarray, np.ndarray]:
        order, high, low = sort_keys(*_zorder_keys(projected[:, tree.columns], tree.root))
        place = _merge(high, low, tree.high, tree.low)
        best = np.full(order.size, np.inf)
        arg = np.zeros(order.size, tree.order.dtype)
        scale = self.projection.scale
        self.pairs.improve(prepared, order, place, tree.order, window, scale, best, arg)
        return best, arg


def _grow_tree(
    projected: np.ndarray, columns: slice, heavy_tailed: bool, shift: np.ndarray
) -> _Tree:
    """Lay a shifted root cell over the projected B and sort B by its keys."""
    mine = projected[:, columns]
    k = mine.shape[1]
    n_words = 1 if k <= 3 else 2
    axis_bits = max(1, min(_MAX_AXIS_BITS, _WORD_BITS * n_words // k))
    corner, side = _root_box(mine, heavy_tailed)
    root = _RootCell(
        (corner - side * shift).astype(np.float32),
        2.0**axis_bits / (2 * side),  # the root is twice the box, so that no shift leaves it
        axis_bits,
        n_words,
    )
    return _Tree(columns, root, *sort_keys(*_zorder_keys(mine, root)))


def _root_box(projected: np.ndarray, heavy_tailed: bool) -> tuple[np.ndarray, float]:
    """Corner and side of the box. A few far points must not use up the bits: they are clipped."""
    sample = projected[:: max(1, projected.shape[0] // _BOX_SAMPLE)].astype(np.float64)
    low, high = np.quantile(sample, [_TAIL, 1 - _TAIL], axis=0)
    margin = 0.0 if heavy_tailed else _MARGIN * (high - low).max()
    low = np.maximum(low - margin, projected.min(axis=0))
    high = np.minimum(high + margin, projected.max(axis=0))
    side = float((high - low).max())
    return low, side if 0 < side < np.inf else 1.0


def _zorder_keys(projected: np.ndarray, root: _RootCell) -> tuple[np.ndarray, np.ndarray]:
    """Interleave the cell coordinates into one or two 64-bit words, most significant level first."""
    n, k = projected.shape
    high = np.empty(n, np.uint64)
    low = np.empty(n if root.n_words == 2 else 0, np.uint64)
    cells = np.float32(root.cells_per_unit)
    if k == 8 and root.axis_bits == 16:
        _interleave_8x16(projected, root.origin, cells, high, low)
    else:
        _interleave(projected, root.origin, cells, root.axis_bits, high, low)
    return high, low


@inner
def _cell(value, origin, cells_per_unit, limit):
    """Cell coordinate, clipped into the root; NaN (an overflow) goes to the first cell."""
    position = (value - origin) * cells_per_unit
    if not position > 0:
        return np.uint64(0)
    return np.uint64(limit) if position >= limit else np.uint64(position)


@njit
def _interleave(projected, origin, cells_per_unit, axis_bits, high, low):
    n, k = projected.shape
    limit = (np.int64(1) << axis_bits) - 1
    coordinates = np.empty(k, np.uint64)
    for i in range(n):
        for axis in range(k):
            coordinates[axis] = _cell(projected[i, axis], origin[axis], cells_per_unit, limit)
        first, second = np.uint64(0), np.uint64(0)
        place = 0
        for level in range(axis_bits):
            for axis in range(k):
                bit = (coordinates[axis] >> np.uint64(axis_bits - 1 - level)) & np.uint64(1)
                if place < 64:
                    first |= bit << np.uint64(63 - place)
                else:
                    second |= bit << np.uint64(127 - place)
                place += 1
        high[i] = first
        if low.size:
            low[i] = second


@njit
def _interleave_8x16(projected, origin, cells_per_unit, high, low):
    """Eight axes of sixteen bits: each word is one transposed 8 x 8 bit matrix."""
    for i in range(projected.shape[0]):
        first, second = np.uint64(0), np.uint64(0)
        for axis in range(8):
            cell = _cell(projected[i, axis], origin[axis], cells_per_unit, 65535)
            first = (first << np.uint64(8)) | (cell >> np.uint64(8))
            second = (second << np.uint64(8)) | (cell & np.uint64(255))
        high[i] = _transpose_bits(first)
        low[i] = _transpose_bits(second)


@inner
def _transpose_bits(x):
    """Transpose an 8 x 8 bit matrix, rows in bytes, by three masked swaps."""
    t = (x ^ (x >> np.uint64(7))) & np.uint64(0x00AA00AA00AA00AA)
    x = x ^ t ^ (t << np.uint64(7))
    t = (x ^ (x >> np.uint64(14))) & np.uint64(0x0000CCCC0000CCCC)
    x = x ^ t ^ (t << np.uint64(14))
    t = (x ^ (x >> np.uint64(28))) & np.uint64(0x00000000F0F0F0F0)
    return x ^ t ^ (t << np.uint64(28))


@njit
def _merge(high, low, reference_high, reference_low):
    """For each sorted query key: how many sorted reference keys are smaller."""
    n, m = high.size, reference_high.size
    place = np.empty(n, np.int64)
    j = 0
    for i in range(n):
        while j < m and (
            reference_high[j] < high[i]
            or (reference_high[j] == high[i] and low.size > 0 and reference_low[j] < low[i])
        ):
            j += 1
        place[i] = j
    return place
