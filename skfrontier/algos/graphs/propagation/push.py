"""Signed forward push: the part of a row of ``Q`` that needs no sampling.

For a row vector ``p0`` find ``xi`` and a small ``p`` with ``p0 L_UU^-1 = xi + p L_UU^-1``. Pushing node ``v``
moves ``p_v / d_v`` to ``xi_v`` and spreads ``p_v S_vw / d_v`` over the neighbours, where opposite signs
cancel.
"""

from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import as_numbers, check_interval
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph


def push_residual(
    graph: GroundedSignedGraph, rows: Any, *, push: float | None = 3e-3
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split unit rows ``e_u`` into a known part and a residual: ``e_u K = xi + p K``, ``K = L_UU^-1``.

    Parameters
    ----------
    graph : GroundedSignedGraph
        From :func:`build_grounded_graph`.
    rows : array-like of int
        Positions in ``graph.nodes``.
    push : float or None, default=3e-3
        A node is pushed while the absolute residual at it exceeds this times its number of
        neighbours; the node of the row always is, once. None: not at all, ``xi = 0`` and ``p = e_u``.

    Returns
    -------
    xi, p : csr_array of shape (len(rows), n_unlabeled)
        In the graph's gauge: column ``v`` is multiplied by ``gauge[v]``, row ``u`` by ``gauge[u]``.

    Raises
    ------
    ValueError
        If a row is out of range or ``push`` is not positive.

    Notes
    -----
    Proven: with ``h = L_abs^-1 d`` the sum of ``|p_v| h_v`` falls by at least ``|p_v|`` a push, so a row
    takes at most ``h_u / push`` operations, and ``|p|_1 <= 1``.

    Examples
    --------
    >>> from skfrontier.algos import build_grounded_graph, push_residual
    >>> graph = build_grounded_graph([[0, 1, 0], [1, 0, -1], [0, -1, 0]], [0])
    >>> xi, p = push_residual(graph, [0], push=0.6)
    >>> xi.toarray(), p.toarray()
    (array([[0.5, 0. ]]), array([[0. , 0.5]]))
    """
    rows = read_positions(rows, "rows", graph.n_unlabeled)
    shape = (rows.size, graph.n_unlabeled)
    if push is None:
        p = sparse.csr_array((np.ones(rows.size), rows, np.arange(rows.size + 1)), shape=shape)
        return sparse.csr_array(shape), p
    push = check_interval(push, "push", 0.0, np.inf, closed="neither")
    return push_rows(graph, rows, np.full(rows.size, push))


def push_rows(
    graph: GroundedSignedGraph, rows: np.ndarray, pushes: np.ndarray
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """:func:`push_residual` with a value of ``push`` for each row."""
    xi, p = _push_rows(
        graph.indptr, graph.code, graph.weight, graph.unit, graph.degree,
        _n_neighbors(graph).astype(np.float64), rows, pushes,
    )  # fmt: skip
    shape = (rows.size, graph.n_unlabeled)
    return sparse.csr_array(xi, shape=shape), sparse.csr_array(p, shape=shape)


def read_positions(values: Any, name: str, size: int) -> np.ndarray:
    """Return a 1-D int64 array of positions in ``0..size-1``, or raise naming the first outside."""
    positions = as_numbers(values, name)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a 1-D array of integers, got {values!r}.")
    if positions.size and (positions.min() < 0 or positions.max() >= size):
        wrong = positions[(positions < 0) | (positions >= size)][0]
        raise ValueError(f"{name} must lie in 0..{size - 1}, got {wrong}.")
    return positions.astype(np.int64)


def label_reach(graph: GroundedSignedGraph) -> np.ndarray:
    """Largest share ``|A_vl| / k_v`` of each label: no estimate of its column is beyond it."""
    if not graph.boundary.nnz:
        return np.zeros(graph.labeled.size)
    share = np.abs(graph.boundary.data) / np.repeat(graph.killing, np.diff(graph.boundary.indptr))
    reach = np.zeros(graph.labeled.size)
    np.maximum.at(reach, graph.boundary.indices, share)
    return reach


def _n_neighbors(graph: GroundedSignedGraph) -> np.ndarray:
    """Number of neighbours of each node, labels included."""
    labels = np.diff(graph.boundary.indptr)
    kills = labels if graph.unit > 0 else graph.killing > 0
    return np.maximum(np.diff(graph.indptr) - kills + labels, 1)


@njit
def _push_rows(indptr, code, weight, unit, degree, neighbors, rows, pushes):
    n = degree.size
    p, xi = np.zeros(n), np.zeros(n)
    seen, queued = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    touched = np.empty(n, dtype=np.int32)
    queue = np.empty(n, dtype=np.int32)  # a ring: no node is in it twice
    xi_rows = np.zeros(rows.size + 1, dtype=np.int64)
    p_rows = np.zeros(rows.size + 1, dtype=np.int64)
    capacity = 64 * max(1, rows.size)
    xi_index, p_index = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=np.int32)
    xi_value, p_value = np.empty(capacity), np.empty(capacity)
    for r in range(rows.size):
        n_touched = _push_one(
            indptr, code, weight, unit, degree, neighbors, pushes[r], rows[r], p, xi, seen, queued,
            touched, queue,
        )  # fmt: skip
        xi_end, p_end = xi_rows[r], p_rows[r]
        if max(xi_end, p_end) + n_touched > xi_index.size:
            extra = xi_index.size + n_touched
            xi_index, p_index = _longer(xi_index, extra), _longer(p_index, extra)
            xi_value, p_value = _longer(xi_value, extra), _longer(p_value, extra)
        for t in range(n_touched):
            v = touched[t]
            if xi[v] != 0.0:
                xi_index[xi_end], xi_value[xi_end] = v, xi[v]
                xi_end += 1
            if p[v] != 0.0:
                p_index[p_end], p_value[p_end] = v, p[v]
                p_end += 1
            p[v] = xi[v] = 0.0
            seen[v] = False
        xi_rows[r + 1], p_rows[r + 1] = xi_end, p_end
    known = (xi_value[: xi_rows[-1]].copy(), xi_index[: xi_rows[-1]].copy(), xi_rows)
    return known, (p_value[: p_rows[-1]].copy(), p_index[: p_rows[-1]].copy(), p_rows)


@inner
def _longer(array, extra):
    longer = np.empty(array.size + extra, dtype=array.dtype)
    for i in range(array.size):
        longer[i] = array[i]
    return longer


@inner
def _push_one(
    indptr, code, weight, unit, degree, neighbors, push, u, p, xi, seen, queued, touched, queue
):
    """Push from ``u`` until no residual exceeds its threshold; returns how many nodes it touched."""
    p[u] = 1.0
    seen[u] = True
    queued[u] = True
    touched[0], queue[0] = u, u
    n_touched, head, length = 1, 0, 1
    first = True
    while length > 0:
        v = queue[head]
        head = head + 1 if head + 1 < queue.size else 0
        length -= 1
        queued[v] = False
        if abs(p[v]) <= push * neighbors[v] and not first:
            continue
        first = False
        share = p[v] / degree[v]
        xi[v] += share
        p[v] = 0.0
        for i in range(indptr[v], indptr[v + 1]):
            c = code[i]
            if c < 0:
                continue
            w = c >> 1
            step = share * (unit if unit > 0.0 else weight[i])
            p[w] += step if c & 1 == 0 else -step
            if not seen[w]:
                seen[w] = True
                touched[n_touched] = w
                n_touched += 1
            if abs(p[w]) > push * neighbors[w] and not queued[w]:
                queued[w] = True
                end = head + length
                queue[end if end < queue.size else end - queue.size] = w
                length += 1
    return n_touched
