"""Single entries of ``Q``: signed push, then forests for what the push has left."""

import math
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from skfrontier.algos._validation import check_count, check_flag, check_n_jobs
from skfrontier.algos.graphs.propagation.averages import tree_kills
from skfrontier.algos.graphs.propagation.estimate import PairEstimate
from skfrontier.algos.graphs.propagation.forest import LANES, draw_forests, new_forests
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.push import (
    label_reach,
    push_residual,
    push_rows,
    read_positions,
)
from skfrontier.algos.graphs.propagation.random import base_seed, stream_seeds
from skfrontier.algos.graphs.propagation.trees import add_pair_products

BLOCK = 16  # forests that one task draws; numbers of forests are multiples of it
_Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


def forest_entries(
    graph: GroundedSignedGraph,
    rows: Any,
    cols: Any,
    *,
    n_forests: int = 64,
    push: float | None = 3e-3,
    rao_blackwell: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PairEstimate:
    """Estimate entries ``Q[rows[i], cols[i]]`` of the label propagation operator.

    Parameters
    ----------
    graph : GroundedSignedGraph
        From :func:`build_grounded_graph`.
    rows : array-like of int of shape (n_pairs,)
        Positions in ``graph.nodes``.
    cols : array-like of int of shape (n_pairs,)
        Positions in ``graph.labeled``.
    n_forests : int, default=64
        Number of forests, rounded up to a multiple of 16.
    push : float or None, default=3e-3
        How far the signed push goes before sampling, see :func:`push_residual`; None: not at all.
    rao_blackwell : bool, default=True
        False: the value of a tree's root in place of the mean over its tree, for comparison.
    random_state : int, Generator, RandomState or None, default=None
        Seed. The result is the same for any ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads (joblib).

    Returns
    -------
    PairEstimate
        Its ``stderr`` has one pseudo-draw from the row, see Notes.

    Raises
    ------
    ValueError
        If positions are out of range or differ in number.

    Notes
    -----
    Proven: unbiased, and within ``reach`` of ``push_value`` in every forest.
    Observed: entries that few forests hit would look certain by their own sample variance ``V``; the
    standard error therefore is ``sqrt((R - 1) V + V_u) / R`` with the mean ``V_u`` of ``V`` over the pairs of
    the same row that are asked together.
    Cost: the push, then for each forest its steps and, for each pair, the residual's size.

    Examples
    --------
    >>> from skfrontier.algos import build_grounded_graph, forest_entries
    >>> graph = build_grounded_graph([[0, 1, 0], [1, 0, -1], [0, -1, 0]], [0])
    >>> forest_entries(graph, [0, 1], [0, 0], random_state=0).value
    array([ 1., -1.])
    """
    n_blocks = math.ceil(check_count(n_forests, "n_forests", 2) / BLOCK)
    check_n_jobs(n_jobs)
    sums = PairSums(
        graph, rows, cols, base_seed(random_state), push=push,
        rao_blackwell=check_flag(rao_blackwell, "rao_blackwell"),
    )  # fmt: skip
    sums.grow(n_blocks, n_jobs)
    return sums.estimate()


class PairSums:
    """Sums and squares over forests of the estimates of pairs, in blocks of 16 forests.

    Parameters
    ----------
    graph : GroundedSignedGraph
    rows, cols : array-like of int of shape (n_pairs,)
        Positions in ``graph.nodes`` and ``graph.labeled``.
    base : uint64
        Seed.
    push : float, None, or float64 array over the distinct rows, ascending
    rao_blackwell : bool
    first_block : int
        Number of the first block of forests to draw.
    """

    def __init__(
        self,
        graph: GroundedSignedGraph,
        rows: Any,
        cols: Any,
        base: np.uint64,
        *,
        push: float | np.ndarray | None,
        rao_blackwell: bool = True,
        first_block: int = 0,
    ) -> None:
        self.graph, self.base, self._first_block = graph, base, first_block
        rows = read_positions(rows, "rows", graph.n_unlabeled)
        cols = read_positions(cols, "cols", graph.labeled.size)
        if rows.size != cols.size:
            raise ValueError(f"rows and cols must be as long, got {rows.size} and {cols.size}.")
        distinct, self._row = np.unique(rows, return_inverse=True)
        self._col = cols
        self._sign = graph.gauge[rows].astype(np.float64)
        if isinstance(push, np.ndarray):
            xi, p = push_rows(graph, distinct, push)
        else:
            xi, p = push_residual(graph, distinct, push=push)
        self.residual = p
        self._labels = sparse.csr_array(graph.boundary.T)
        self.push_value = _products(xi, self._labels, self._row, cols)
        norm = np.asarray(abs(p).sum(axis=1)).ravel()
        self.reach = norm[self._row] * label_reach(graph)[cols]
        self._root_killing = np.empty(0) if rao_blackwell else graph.killing
        self._arrange(scatter_rows=rao_blackwell and self._rows_first())
        self.n_blocks = 0
        self.n_steps = 0
        self._sums, self._squares = np.zeros(rows.size), np.zeros(rows.size)

    @property
    def n_forests(self) -> int:
        """Number of forests drawn so far."""
        return self.n_blocks * BLOCK

    @property
    def touched_per_forest(self) -> int:
        """Numbers that a forest reads or writes for the pairs."""
        per_partner = np.diff(self._gather[2])
        return int(2 * self._scatter[0].size + per_partner[self._partner].sum())

    def _rows_first(self) -> bool:
        """Whether to put residuals on the trees and read label edges, which costs less."""
        residual, edges = np.diff(self.residual.indptr), np.diff(self._labels.indptr)
        by_rows = 2 * residual.sum() + edges[self._col].sum()
        by_labels = 2 * edges[np.unique(self._col)].sum() + residual[self._row].sum()
        return bool(by_rows < by_labels)

    def _arrange(self, *, scatter_rows: bool) -> None:
        """Sort the pairs by the side whose values are put on the trees."""
        sides = (self.residual, self._row), (self._labels, self._col)
        (scatter, group), (gather, partner) = sides if scatter_rows else sides[::-1]
        self._order = np.argsort(group, kind="stable")
        counts = np.bincount(group, minlength=scatter.shape[0])
        self._ends = np.append(0, np.cumsum(counts))
        self._partner = partner[self._order]
        self._scatter, self._gather = as_triple(scatter), as_triple(gather)

    def grow(self, n_blocks: int, n_jobs: int | None) -> None:
        """Draw forests until there are ``n_blocks`` blocks of them."""
        finished = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(self._block)(self._first_block + block)
            for block in range(self.n_blocks, n_blocks)
        )
        for sums, squares, steps in finished:  # in the order of the blocks
            self._sums += sums
            self._squares += squares
            self.n_steps += steps
        self.n_blocks = n_blocks

    def _block(self, block: int) -> tuple[np.ndarray, np.ndarray, int]:
        graph = self.graph
        sums, squares = np.zeros(self._partner.size), np.zeros(self._partner.size)
        forests = new_forests(graph, LANES)
        kills, tree_sum = np.empty(2 * graph.n_boundary), np.zeros(2 * graph.n_boundary)
        steps = 0
        for first in range(block * BLOCK, (block + 1) * BLOCK, LANES):
            steps += draw_forests(graph, stream_seeds(self.base, first, LANES), forests)
            for forest in forests:
                tree_kills(forest, graph.killing, kills)
                add_pair_products(
                    forest, kills, graph.lift, self._scatter, self._gather, self._ends,
                    self._partner, sums, squares, tree_sum, self._root_killing,
                )  # fmt: skip
        return sums, squares, steps

    def estimate(self) -> PairEstimate:
        """The estimate from the forests drawn so far; from the push alone if there are none."""
        R = self.n_forests
        mean, variance = np.zeros_like(self._sums), np.zeros_like(self._sums)
        stderr = self.reach.copy()
        if R:
            mean[self._order] = self._sums / R
            spread = self._squares - self._sums**2 / R
            variance[self._order] = np.maximum(spread, 0.0) / (R - 1)
            stderr = np.sqrt((R - 1) * variance + self._row_variance(variance)) / R
        return PairEstimate(
            value=self._sign * (self.push_value + mean),
            stderr=stderr,
            n_forests=R,
            n_steps=self.n_steps,
            variance=variance,
            reach=self.reach,
            push_value=self._sign * self.push_value,
        )

    def _row_variance(self, variance: np.ndarray) -> np.ndarray:
        """Mean variance of the queried pairs of the same row."""
        return self.row_mean(variance)[self._row]

    def row_mean(self, values: np.ndarray) -> np.ndarray:
        """Mean over the pairs of each distinct row."""
        return np.bincount(self._row, values) / np.maximum(np.bincount(self._row), 1)


def as_triple(matrix: sparse.csr_array) -> _Triple:
    """Values, int32 columns and int64 row ends of a matrix, for kernels."""
    return (
        matrix.data,
        matrix.indices.astype(np.int32, copy=False),
        matrix.indptr.astype(np.int64, copy=False),
    )


def _products(
    left: sparse.csr_array, right: sparse.csr_array, rows: np.ndarray, cols: np.ndarray
) -> np.ndarray:
    """Inner products of row ``rows[i]`` of ``left`` and row ``cols[i]`` of ``right``."""
    if not rows.size:
        return np.zeros(0)
    product = np.empty(rows.size)
    step = 2**16
    for first in range(0, rows.size, step):
        part = slice(first, first + step)
        joint = left[rows[part]].multiply(right[cols[part]])
        product[part] = np.asarray(joint.sum(axis=1)).ravel()
    return product
