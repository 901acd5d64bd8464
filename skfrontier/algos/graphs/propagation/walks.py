"""Absorbing random walks: the plain Monte Carlo estimate that forests replace."""

from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_count
from skfrontier.algos.graphs.propagation.estimate import ForestEstimate
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.pairs import as_triple
from skfrontier.algos.graphs.propagation.push import read_positions
from skfrontier.algos.graphs.propagation.random import (
    GOLDEN,
    base_seed,
    fraction_of,
    mixed,
    slot_of,
    stream_seeds,
)


def absorbing_walk_entries(
    graph: GroundedSignedGraph,
    rows: Any,
    cols: Any,
    *,
    n_walks: int = 100,
    random_state: Any = None,
) -> ForestEstimate:
    """Estimate entries of ``Q`` by walks from each row's node to the label where they end.

    The baseline: an estimate is the mean, over walks that end at the label, of the product of the signs on
    their way.

    Parameters
    ----------
    graph : GroundedSignedGraph
        From :func:`build_grounded_graph`, without anchors.
    rows, cols : array-like of int of shape (n_pairs,)
        Positions in ``graph.nodes`` and ``graph.labeled``.
    n_walks : int, default=100
        Walks from each distinct row.
    random_state : int, Generator, RandomState or None, default=None
        Seed.

    Returns
    -------
    ForestEstimate
        Its ``n_forests`` is the number of walks.

    Raises
    ------
    ValueError
        If positions are out of range or differ in number.

    Notes
    -----
    Proven: unbiased; the variance is about ``|Q_ul| / n_walks`` for small entries.

    Examples
    --------
    >>> from skfrontier.algos import absorbing_walk_entries, build_grounded_graph
    >>> graph = build_grounded_graph([[0, 1, 0], [1, 0, -1], [0, -1, 0]], [0])
    >>> absorbing_walk_entries(graph, [0, 1], [0, 0], random_state=0).value
    array([ 1., -1.])
    """
    n_walks = check_count(n_walks, "n_walks", 2)
    rows = read_positions(rows, "rows", graph.n_unlabeled)
    cols = read_positions(cols, "cols", graph.labeled.size)
    if rows.size != cols.size:
        raise ValueError(f"rows and cols must be as long, got {rows.size} and {cols.size}.")
    distinct, group = np.unique(rows, return_inverse=True)
    ends, n_steps = walk_ends(graph, distinct, n_walks, base_seed(random_state))
    hits = np.empty(rows.size)
    misses = np.empty(rows.size)
    for i, (row, col) in enumerate(zip(group, cols, strict=True)):
        hits[i] = np.count_nonzero(ends[row] == col + 1)
        misses[i] = np.count_nonzero(ends[row] == -col - 1)
    mean = (hits - misses) / n_walks
    variance = (hits + misses) / n_walks - mean**2
    value = graph.gauge[rows] * mean
    return ForestEstimate(value, np.sqrt(variance / (n_walks - 1)), n_walks, n_steps)


def walk_ends(
    graph: GroundedSignedGraph, rows: np.ndarray, n_walks: int, base: np.uint64
) -> tuple[np.ndarray, int]:
    """Where walks end: 1 + position of the label, negative if the product of signs is.

    Returns
    -------
    ends : int32 array of shape (len(rows), n_walks)
    n_steps : int
    """
    seeds = stream_seeds(base, 0, rows.size)
    return _walk(
        graph.indptr, graph.code, graph.threshold, graph.other, graph.killing,
        as_triple(graph.boundary), seeds, rows, n_walks,
    )  # fmt: skip


@njit
def _walk(indptr, code, threshold, other, killing, boundary, seeds, rows, n_walks):
    ends = np.empty((rows.size, n_walks), dtype=np.int32)
    steps = 0
    for i in range(rows.size):
        bits = seeds[i]
        for walk in range(n_walks):
            x = 2 * rows[i]
            while True:
                u = x >> 1
                size = np.uint64(indptr[u + 1] - indptr[u])
                bits += GOLDEN
                r = mixed(bits)
                at = indptr[u] + np.int64(slot_of(r, size))
                c = code[at]
                if threshold.size > 0 and fraction_of(r, size) >= threshold[at]:
                    c = other[at]
                steps += 1
                if c < 0:
                    break
                x = c ^ (x & 1)
            bits += GOLDEN
            ends[i, walk] = _label(boundary, x >> 1, killing[x >> 1], mixed(bits), x & 1)
    return ends, steps


@inner
def _label(boundary, u, killing, r, sheet):
    """A label beside ``u``, by weight: 1 + its position, with the sign of edge and sheet."""
    weight, label, ends = boundary
    target = float(r) * 2.0**-64 * killing
    last = ends[u + 1] - 1
    for e in range(ends[u], ends[u + 1]):
        target -= abs(weight[e])
        if target < 0.0 or e == last:
            sign = -1 if (weight[e] < 0.0) != (sheet == 1) else 1
            return sign * (1 + label[e])
    return 0
