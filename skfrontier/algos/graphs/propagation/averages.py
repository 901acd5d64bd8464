"""Values of a forest's trees: the Rao-Blackwell step, for vectors.

Given the tree of a state, its root is each of the tree's states with probability proportional to the
state's killing weight. Averaging over the root turns its value into the tree's mean

    sum of (-1)^s b_v / sum of k_v     over the states (v, s) of the tree,

and half the difference of the means on both sheets is unbiased for the solution at a node.
"""

import numpy as np
from joblib import Parallel, delayed

from skfrontier.algos._numba import njit
from skfrontier.algos.graphs.propagation.forest import LANES, draw_forests, new_forests
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.random import stream_seeds


class BatchSums:
    """Sums over forests of the solution estimates of ``L_UU x = b``, batch by batch.

    Forest ``f`` belongs to batch ``f mod n_batches``. Everything is in the graph's gauge.

    Parameters
    ----------
    graph : GroundedSignedGraph
    columns : float array of shape (n_columns, n_unlabeled)
        Right-hand sides, zero where nothing is killed. Their type is that of the sums.
    n_batches : int
    base : uint64
        Seed.
    rao_blackwell : bool
        False: each tree has the value of its root.
    """

    def __init__(
        self,
        graph: GroundedSignedGraph,
        columns: np.ndarray,
        n_batches: int,
        base: np.uint64,
        *,
        rao_blackwell: bool = True,
    ) -> None:
        self.graph, self.columns, self.base = graph, columns, base
        self.n_batches, self.rao_blackwell = n_batches, rao_blackwell
        self.per_batch = 0
        self.n_steps = 0
        self._sums = [
            np.zeros((min(LANES, n_batches - first), *columns.shape), dtype=columns.dtype)
            for first in range(0, n_batches, LANES)
        ]

    @property
    def n_forests(self) -> int:
        """Number of forests drawn so far."""
        return self.per_batch * self.n_batches

    def grow(self, per_batch: int, n_jobs: int | None) -> None:
        """Draw forests until each batch has ``per_batch`` of them."""
        rounds = range(self.per_batch, per_batch)
        finished = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_add_rounds)(
                self.graph, self.columns, self.base, self.n_batches, LANES * group, rounds, sums,
                self.rao_blackwell,
            )
            for group, sums in enumerate(self._sums)
        )  # fmt: skip
        self._sums = [sums for sums, _ in finished]
        self.n_steps += sum(steps for _, steps in finished)
        self.per_batch = per_batch

    def means(self) -> np.ndarray:
        """Batch means, shape (n_batches, n_columns, n_unlabeled)."""
        means = np.concatenate(self._sums)
        means /= self.per_batch
        return means


def _add_rounds(
    graph: GroundedSignedGraph,
    columns: np.ndarray,
    base: np.uint64,
    n_batches: int,
    first: int,
    rounds: range,
    sums: np.ndarray,
    rao_blackwell: bool,
) -> tuple[np.ndarray, int]:
    """Add one forest a round to each of the batches ``first, first + 1, ...``."""
    forests = new_forests(graph, sums.shape[0])
    kills = np.empty(2 * graph.n_boundary)
    tree_value = np.empty(2 * graph.n_boundary)
    steps = 0
    for r in rounds:
        seeds = stream_seeds(base, r * n_batches + first, sums.shape[0])
        steps += draw_forests(graph, seeds, forests)
        for forest, total in zip(forests, sums, strict=True):
            tree_kills(forest, graph.killing, kills)
            for b, out in zip(columns, total, strict=True):
                if rao_blackwell:
                    tree_means(forest, kills, b, tree_value)
                else:
                    root_values(forest, graph.killing, b, tree_value)
                add_node_values(forest, graph.lift, tree_value, out)
    return sums, steps


@njit
def tree_kills(forest, killing, kills):
    """Write the killing weight of each tree at its root's state, 0 elsewhere."""
    for x in range(kills.size):
        kills[x] = 0.0
    for x in range(kills.size):
        if forest[x] >= 0:
            kills[forest[x]] += killing[x >> 1]


@njit
def tree_means(forest, kills, b, tree_value):
    """Write the mean value of each tree at its root's state."""
    for x in range(kills.size):
        tree_value[x] = 0.0
    for x in range(kills.size):
        if forest[x] >= 0:
            tree_value[forest[x]] += b[x >> 1] if x & 1 == 0 else -b[x >> 1]
    for x in range(kills.size):
        if kills[x] > 0.0:
            tree_value[x] /= kills[x]


@njit
def root_values(forest, killing, b, tree_value):
    """Write the value of each root at its state: what the tree mean replaces."""
    for x in range(tree_value.size):
        value = b[x >> 1] / killing[x >> 1]
        tree_value[x] = value if x & 1 == 0 else -value


@njit
def add_node_values(forest, lift, tree_value, out):
    """Add the estimate of each node to ``out``."""
    for u in range(out.size):
        value = tree_value[forest[2 * u]]
        if lift[u]:
            value = 0.5 * (value - tree_value[forest[2 * u + 1]])
        out[u] += value
