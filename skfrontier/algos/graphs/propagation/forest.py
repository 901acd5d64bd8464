"""Wilson's algorithm on the double cover of a signed graph.

State ``2 u + s`` is node ``u`` on sheet ``s``. Positive edges stay on their sheet, negative ones change it:
with ``code = 2 v + (edge is negative)`` the neighbour's state is ``code ^ s``. From each state not yet in
the forest a walk goes on until it is killed, at a slot with code -1, or meets the forest; its loops are
erased by keeping only the last exit from each state.

A forest is one int32 array over states: a root's number where the state belongs to a tree, ``-2 - next``
on the walk under way, -1 where no walk has been.
"""

from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.random import (
    GOLDEN,
    base_seed,
    fraction_of,
    mixed,
    slot_of,
    stream_seeds,
)

LANES = 8  # forests that one kernel call grows in turn
_STEPS_PER_NODE, _STEPS_AT_LEAST = 10_000, 10**8
_STEPS_BETWEEN_CHECKS = 2**20


def sample_forest(graph: GroundedSignedGraph, *, random_state: Any = None) -> np.ndarray:
    """Draw a spanning forest of the double cover, rooted where its walks are killed.

    Parameters
    ----------
    graph : GroundedSignedGraph
        From :func:`build_grounded_graph`.
    random_state : int, Generator, RandomState or None, default=None
        Seed.

    Returns
    -------
    int32 array of shape (2 * n_unlabeled,)
        The root state of each state ``2 u + s``; -1 where the state is unused, because the component of
        ``u`` is balanced and one sheet is enough.

    Raises
    ------
    RuntimeError
        If walks are so long (tiny killing weights) that a solver should be used instead.

    Notes
    -----
    Proven (Wilson 1996): a forest has probability proportional to the product of its edge weights and of
    the killing weights of its roots. The expected number of steps is the trace of ``diag(d) L_abs^-1``,
    plus on frustrated components that of ``diag(d) L_UU^-1`` [2]_.

    References
    ----------
    .. [1] D. B. Wilson, "Generating random spanning trees more quickly than the cover time", STOC 1996.
    .. [2] P. Marchal, "Loop-erased random walks, spanning trees and Hamiltonian cycles", Electronic
       Communications in Probability, 2000.

    Examples
    --------
    >>> from skfrontier.algos import build_grounded_graph, sample_forest
    >>> graph = build_grounded_graph([[0, 1, 0], [1, 0, -1], [0, -1, 0]], [0])
    >>> sample_forest(graph, random_state=0)  # one root: the node next to the label
    array([ 0, -1,  0, -1], dtype=int32)
    """
    forests = new_forests(graph, 1)
    draw_forests(graph, stream_seeds(base_seed(random_state), 0, 1), forests)
    return forests[0]


def new_forests(graph: GroundedSignedGraph, count: int) -> np.ndarray:
    """Room for ``count`` forests."""
    return np.empty((count, 2 * graph.n_unlabeled), dtype=np.int32)


def draw_forests(graph: GroundedSignedGraph, seeds: np.ndarray, forests: np.ndarray) -> int:
    """Fill ``forests``, one for each seed, and return the number of steps taken.

    Each forest depends on its own seed only, however many are grown in turn.
    """
    limit = max(_STEPS_AT_LEAST, _STEPS_PER_NODE * graph.n_unlabeled)
    steps = grow_forests(
        graph.indptr, graph.code, graph.threshold, graph.other, graph.lift, seeds, forests, limit
    )
    if steps < 0:
        raise RuntimeError(
            f"a forest took more than {limit} steps: the labels' weights are tiny beside the others. "
            "Use solver='cg' or solver='direct'."
        )
    return steps


@njit
def grow_forests(indptr, code, threshold, other, lift, seeds, forests, limit):
    """Grow forests in turn, one step of each at a time; -1 if one takes more than ``limit`` steps.

    A step reads three places that are in no cache: the row of a node, a slot, the state behind it. The
    stages below read the same place for all forests, so that the waiting times overlap.
    """
    n_lanes, n_states = forests.shape
    weighted = threshold.size > 0
    bits = seeds.copy()
    start = np.full(n_lanes, -1, dtype=np.int64)
    here = np.empty(n_lanes, dtype=np.int64)
    slot = np.empty(n_lanes, dtype=np.int64)
    fraction = np.empty(n_lanes)
    there = np.empty(n_lanes, dtype=np.int64)
    found = np.empty(n_lanes, dtype=np.int64)
    active = np.empty(n_lanes, dtype=np.int64)
    n_active = 0
    for w in range(n_lanes):
        for x in range(n_states):
            forests[w, x] = -1
        if _next_start(forests, lift, start, w):
            here[w] = start[w]
            active[n_active] = w
            n_active += 1
    steps = 0
    rounds = 0
    while n_active > 0:
        rounds += 1
        if rounds % _STEPS_BETWEEN_CHECKS == 0 and rounds > limit:
            return -1
        steps += n_active
        for a in range(n_active):
            w = active[a]
            u = here[w] >> 1
            low = indptr[u]
            size = np.uint64(indptr[u + 1] - low)
            bits[w] += GOLDEN
            r = mixed(bits[w])
            slot[w] = low + np.int64(slot_of(r, size))
            fraction[w] = fraction_of(r, size)
        for a in range(n_active):
            w = active[a]
            c = code[slot[w]]
            if weighted and fraction[w] >= threshold[slot[w]]:
                c = other[slot[w]]
            there[w] = -1 if c < 0 else c ^ (here[w] & 1)
        for a in range(n_active):
            w = active[a]
            found[w] = forests[w, max(there[w], 0)]
        a = 0
        while a < n_active:
            w = active[a]
            x, y = here[w], there[w]
            if y >= 0 and found[w] < 0:
                forests[w, x] = -2 - y
                here[w] = y
                a += 1
                continue
            root = x if y < 0 else found[w]
            forests[w, x] = root
            _join(forests, w, start[w], root)
            if _next_start(forests, lift, start, w):
                here[w] = start[w]
                a += 1
            else:
                n_active -= 1
                active[a] = active[n_active]
    return steps


@inner
def _join(forests, w, start, root):
    """Follow the last exits from the start of a walk, and put the path into the root's tree."""
    x = start
    exit = forests[w, x]
    while exit < 0:
        forests[w, x] = root
        x = -2 - exit
        exit = forests[w, x]


@inner
def _next_start(forests, lift, start, w):
    """Move to the next state outside the forest; False where there is none."""
    x = start[w] + 1
    while x < forests.shape[1]:
        if forests[w, x] < 0 and (x & 1 == 0 or lift[x >> 1]):
            start[w] = x
            return True
        x += 1
    start[w] = x
    return False
