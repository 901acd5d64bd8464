"""Whole rows of ``Q``: residuals of the push spread over the trees' boundary nodes."""

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from skfrontier.algos.graphs.propagation.averages import tree_kills
from skfrontier.algos.graphs.propagation.estimate import ForestEstimate
from skfrontier.algos.graphs.propagation.forest import LANES, draw_forests, new_forests
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.pairs import BLOCK, as_triple
from skfrontier.algos.graphs.propagation.push import push_residual
from skfrontier.algos.graphs.propagation.random import stream_seeds
from skfrontier.algos.graphs.propagation.trees import add_row_products, group_by_tree

_ACCUMULATED = 2**25  # numbers that the accumulators of one chunk may hold


def row_chunk(graph: GroundedSignedGraph) -> int:
    """How many rows are estimated at a time; each chunk draws the same forests again."""
    return max(1, _ACCUMULATED // max(1, graph.n_boundary + 4 * graph.labeled.size))


class RowSums:
    """Sums over forests of the estimates of some rows, and squares of batches of them.

    The first 16 forests are batches of one, later batches have eight: only at the end of a batch the
    values at the boundary nodes are carried over to the labels.

    Parameters
    ----------
    graph : GroundedSignedGraph
    rows : int64 array
        Positions in ``graph.nodes``; at most ``row_chunk(graph)`` of them.
    base : uint64
        Seed.
    push : float or None
    """

    def __init__(
        self, graph: GroundedSignedGraph, rows: np.ndarray, base: np.uint64, *, push: float | None
    ) -> None:
        self.graph, self.base = graph, base
        self._sign = graph.gauge[rows].astype(np.float64)[:, None]
        xi, p = push_residual(graph, rows, push=push)
        self._residual = as_triple(p)
        self._known = (xi @ graph.boundary).toarray()
        self._near = sparse.csr_array(graph.boundary[: graph.n_boundary])
        self._sums, self._squares = np.zeros_like(self._known), np.zeros_like(self._known)
        self.n_blocks = self.n_batches = self.n_steps = self.n_touched = 0

    def grow(self, n_blocks: int, n_jobs: int | None) -> None:
        """Draw forests until there are ``n_blocks`` blocks of 16."""
        finished: Any = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(self._block)(block) for block in range(self.n_blocks, n_blocks)
        )
        for sums, squares, n_batches, steps, touched in finished:  # in the order of the blocks
            self._sums += sums
            self._squares += squares
            self.n_batches += n_batches
            self.n_steps += steps
            self.n_touched += touched
        self.n_blocks = n_blocks

    def _block(self, block: int) -> tuple[np.ndarray, np.ndarray, int, int, int]:
        graph = self.graph
        size = 1 if block == 0 else LANES
        sums, squares = np.zeros_like(self._known), np.zeros_like(self._known)
        near = np.zeros((self._known.shape[0], graph.n_boundary))
        forests = new_forests(graph, LANES)
        scratch = _TreeScratch(graph, self._residual)
        steps = touched = 0
        for first in range(block * BLOCK, (block + 1) * BLOCK, LANES):
            steps += draw_forests(graph, stream_seeds(self.base, first, LANES), forests)
            for batch in range(0, LANES, size):
                near.fill(0.0)
                for forest in forests[batch : batch + size]:
                    touched += scratch.add(forest, near)
                total = near @ self._near
                sums += total
                squares += total**2 / size
        return sums, squares, BLOCK // size, steps, touched

    @property
    def touched_per_row_and_forest(self) -> float:
        """Numbers that a row reads or writes in a forest, on average."""
        return self.n_touched / max(1, self.n_blocks * BLOCK * self._known.shape[0])

    def estimate(self) -> ForestEstimate:
        """The estimate from the forests drawn so far."""
        R = self.n_blocks * BLOCK
        spread = np.maximum(self._squares - self._sums**2 / R, 0.0)
        stderr = np.sqrt(spread / (self.n_batches - 1) / R)
        value = self._sign * (self._known + self._sums / R)
        return ForestEstimate(value, stderr, R, self.n_steps)


class _TreeScratch:
    """Working memory of one task."""

    def __init__(self, graph: GroundedSignedGraph, residual: tuple) -> None:
        n_states = 2 * graph.n_boundary
        self._graph, self._residual = graph, residual
        self._kills, self._tree_sum = np.empty(n_states), np.zeros(n_states)
        self._count, self._ends = np.empty(n_states, np.int64), np.empty(n_states + 1, np.int64)
        self._members = np.empty(n_states, dtype=np.int32)
        self._roots = np.empty(2 * int(np.diff(residual[2]).max(initial=0)), dtype=np.int32)

    def add(self, forest: np.ndarray, near: np.ndarray) -> int:
        """Add a forest's estimate at the boundary nodes; returns how many numbers it touched."""
        tree_kills(forest, self._graph.killing, self._kills)
        group_by_tree(forest, self._count, self._ends, self._members)
        return add_row_products(
            forest, self._kills, self._graph.lift, self._residual, self._ends, self._members,
            self._tree_sum, self._roots, near,
        )  # fmt: skip
