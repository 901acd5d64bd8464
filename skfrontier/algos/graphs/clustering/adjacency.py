"""The graph at the vertices: sorted rows, and behind each row a list of what changed since.

Neighbours of a vertex are found in its *log*: the stretch of the row arrays that belongs to it, then a
linked list of changes, the newest first. Entries of one neighbour add up. An edge that was touched since
the rows were made has its present weight in a table too, so that looking it up never walks a list.
"""

from collections import namedtuple

import numpy as np
from scipy import sparse

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.graphs.clustering.edge_table import (
    EMPTY,
    copy_entries,
    find_slot,
    pair_key,
    slots_for,
)

# Positions in ``counters``
N_CHANGES, N_TOUCHED, STAMP, N_EDGES = range(4)

# Columns of ``vertex``: where its row begins and how long it is, entries in row and list, its newest
# change (-1: none), how many neighbours it has, and a scratch mark.
START, LENGTH, LOG_LENGTH, HEAD, N_NEIGHBORS, MARK = range(6)

# Columns of ``weight``: the degree of a vertex, all its changes ever, those up to its last vote, and the
# volume with which it counts among the vertices whose vote is open (0: settled).
DEGREE, CHANGED, VOTED, OPEN = range(4)

# The table of edges stands alone in its arrays. (A literal 0 would be compiled as a type of its own.)
FIRST = np.int64(0)

# What is left of an edge below this share of its weight is rounding, and the edge is gone.
ROUNDING = 1e-12

LogArrays = namedtuple(
    "LogArrays",
    [
        "vertex",  # (n_vertices, 6) integers
        "weight",  # (n_vertices, 4) numbers
        "row_neighbor",
        "row_weight",
        "older",  # the change before, -1 at the end of a list
        "change_neighbor",
        "change_weight",
        "keys",  # present weight of the edges that were touched
        "values",
        "counters",
    ],
)


@inner
def edge_weight(log, u, v):
    """Present weight of the edge {u, v}, 0 where there is none."""
    slot = find_slot(log.keys, FIRST, log.keys.shape[0] - 1, pair_key(u, v))
    if log.keys[slot] != EMPTY:
        return log.values[slot]
    if log.vertex[u, LENGTH] > log.vertex[v, LENGTH]:
        u, v = v, u
    low = log.vertex[u, START]
    end = low + log.vertex[u, LENGTH]
    high = end
    while low < high:
        middle = (low + high) // 2
        if log.row_neighbor[middle] < v:
            low = middle + 1
        else:
            high = middle
    if low < end and log.row_neighbor[low] == v:
        return log.row_weight[low]
    return 0.0


@njit
def edge_weights(log, us, vs):
    """`edge_weight` of many pairs."""
    weights = np.empty(us.shape[0])
    for i in range(us.shape[0]):
        weights[i] = edge_weight(log, us[i], vs[i])
    return weights


@inner
def change_edge(log, u, v, change):
    """Add ``change`` to an edge; return what was really added, and +1 / -1 for an edge made / gone."""
    before = edge_weight(log, u, v)
    after = before + change
    if after <= ROUNDING * before:
        change, after = -before, 0.0
    slot = find_slot(log.keys, FIRST, log.keys.shape[0] - 1, pair_key(u, v))
    if log.keys[slot] == EMPTY:
        log.keys[slot] = pair_key(u, v)
        log.counters[N_TOUCHED] += 1
    log.values[slot] = after
    appeared = np.int64(after > 0) - np.int64(before > 0)
    log.counters[N_EDGES] += appeared
    _append(log, u, v, change, appeared)
    _append(log, v, u, change, appeared)
    return change, appeared


@inner
def _append(log, v, neighbor, change, appeared):
    i = log.counters[N_CHANGES]
    log.counters[N_CHANGES] = i + 1
    log.older[i] = log.vertex[v, HEAD]
    log.change_neighbor[i] = neighbor
    log.change_weight[i] = change
    log.vertex[v, HEAD] = i
    log.vertex[v, LOG_LENGTH] += 1
    log.weight[v, CHANGED] += abs(change)
    log.vertex[v, N_NEIGHBORS] += appeared
    if log.vertex[v, N_NEIGHBORS] == 0:
        log.weight[v, DEGREE] = 0.0  # exactly, whatever rounding left
    else:
        log.weight[v, DEGREE] += change


@inner
def merge_log(log, v, neighbor, weight, at):
    """Write the present neighbours of ``v`` from position ``at`` on, those of its row first, in order.

    Returns the end of those from the row, and the end of all.
    """
    touched = log.counters[STAMP] + 1
    written = touched + 1
    log.counters[STAMP] = written
    mask = log.keys.shape[0] - 1
    i = log.vertex[v, HEAD]
    while i >= 0:
        log.vertex[log.change_neighbor[i], MARK] = touched
        i = log.older[i]
    for j in range(log.vertex[v, START], log.vertex[v, START] + log.vertex[v, LENGTH]):
        z = np.int64(log.row_neighbor[j])
        present = log.row_weight[j]
        if log.vertex[z, MARK] == touched:
            present = log.values[find_slot(log.keys, FIRST, mask, pair_key(v, z))]
            log.vertex[z, MARK] = written
        if present > 0:
            neighbor[at] = z
            weight[at] = present
            at += 1
    end_of_row = at
    i = log.vertex[v, HEAD]
    while i >= 0:
        z = np.int64(log.change_neighbor[i])
        if log.vertex[z, MARK] == touched:
            present = log.values[find_slot(log.keys, FIRST, mask, pair_key(v, z))]
            log.vertex[z, MARK] = written
            if present > 0:
                neighbor[at] = z
                weight[at] = present
                at += 1
        i = log.older[i]
    return end_of_row, at


@inner
def compact_if_sparse(log, v):
    """Rewrite the log of ``v`` where most of it no longer stands for a neighbour.

    Else a hub that lost nearly all of its edges would be read in full at each of its changes. The
    entries that go pay for the rewriting, and none goes twice.
    """
    n_entries = log.vertex[v, LOG_LENGTH]
    if n_entries <= 2 * log.vertex[v, N_NEIGHBORS] + 8:
        return
    neighbor = np.empty(n_entries, np.int32)
    weight = np.empty(n_entries, np.float64)
    end_of_row, end = merge_log(log, v, neighbor, weight, 0)
    for j in range(end_of_row):
        log.row_neighbor[log.vertex[v, START] + j] = neighbor[j]
        log.row_weight[log.vertex[v, START] + j] = weight[j]
    log.vertex[v, LENGTH] = end_of_row
    i = log.vertex[v, HEAD]
    last = -1
    for j in range(end_of_row, end):
        log.change_neighbor[i] = neighbor[j]
        log.change_weight[i] = weight[j]
        last = i
        i = log.older[i]
    if last < 0:
        log.vertex[v, HEAD] = -1
    else:
        log.older[last] = -1
    log.vertex[v, LOG_LENGTH] = end


@njit
def _merge_all(log, n_vertices, start, neighbor, weight):
    for v in range(n_vertices):
        merge_log(log, v, neighbor, weight, start[v])


class AdjacencyLog:
    """A graph that changes: its arrays, and how they grow.

    Parameters
    ----------
    A : csr matrix of shape (n_vertices, n_vertices)
        Symmetric, positive entries, sorted indices, no diagonal, int32 indices, float64 data.
    """

    def __init__(self, A: sparse.csr_matrix):
        n = A.shape[0]
        self.n_vertices = n
        vertex = np.zeros((n, 6), np.int64)
        vertex[:, START] = A.indptr[:-1]
        for column in (LENGTH, LOG_LENGTH, N_NEIGHBORS):
            vertex[:, column] = np.diff(A.indptr)
        vertex[:, HEAD] = -1
        weight = np.zeros((n, 4))
        weight[:, DEGREE] = np.asarray(A.sum(axis=1), np.float64).ravel()
        self.arrays = LogArrays(
            vertex=vertex,
            weight=weight,
            row_neighbor=A.indices,
            row_weight=A.data,
            older=np.empty(0, np.int64),
            change_neighbor=np.empty(0, np.int32),
            change_weight=np.empty(0, np.float64),
            keys=np.full(16, EMPTY, np.int64),
            values=np.zeros(16),
            counters=np.array([0, 0, 0, A.nnz // 2], np.int64),
        )

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.arrays.counters[N_EDGES])

    @property
    def fold_limit(self) -> int:
        """How many changes the lists may hold before rows are made anew."""
        return max(100_000, len(self.arrays.row_neighbor))

    def add_vertices(self, count: int) -> None:
        """Add isolated vertices; per-vertex arrays grow by half at a time."""
        n = self.n_vertices + count
        log = self.arrays
        if n > len(log.vertex):
            size = n + n // 2
            vertex = enlarged(log.vertex, size)
            vertex[len(log.vertex) :, HEAD] = -1
            self.arrays = log._replace(vertex=vertex, weight=enlarged(log.weight, size))
        self.n_vertices = n

    def mark_voted(self, dissenting: np.ndarray) -> float:
        """Note that all vertices have voted now, and which are not where they voted; return their volume."""
        weight = self.arrays.weight
        weight[:, VOTED] = weight[:, CHANGED]
        weight[:, OPEN] = 0
        weight[: self.n_vertices, OPEN] = np.where(dissenting, weight[: self.n_vertices, DEGREE], 0)
        return float(weight[:, OPEN].sum())

    def reserve(self, n_edges: int) -> None:
        """Make room for ``n_edges`` more changes."""
        log = self.arrays
        if log.counters[N_CHANGES] + 2 * n_edges > self.fold_limit and log.counters[N_CHANGES]:
            self.fold()
            log = self.arrays
        n_changes = int(log.counters[N_CHANGES]) + 2 * n_edges
        if n_changes > len(log.older):
            size = n_changes + n_changes // 2
            lists = ("older", "change_neighbor", "change_weight")
            self.arrays = log._replace(
                **{name: enlarged(getattr(log, name), size) for name in lists}
            )
        n_touched = int(log.counters[N_TOUCHED]) + n_edges
        if 2 * n_touched > len(log.keys):
            n_slots = slots_for(n_touched)
            keys, values = np.full(n_slots, EMPTY, np.int64), np.zeros(n_slots)
            copy_entries(log.keys, log.values, 0, len(log.keys), keys, values, 0, n_slots - 1)
            self.arrays = self.arrays._replace(keys=keys, values=values)

    def fold(self) -> sparse.csr_matrix:
        """Make the rows anew, so that all lists are empty; return the adjacency matrix (a view)."""
        n, log = self.n_vertices, self.arrays
        if log.counters[N_CHANGES] == 0:
            return _csr(log.row_weight, log.row_neighbor, self._row_ends())
        indptr, neighbor, weight = self._merged()
        log.vertex[:n, HEAD] = -1
        log.counters[N_CHANGES] = log.counters[N_TOUCHED] = 0
        log.vertex[:n, START] = indptr[:-1]
        log.vertex[:n, LENGTH] = log.vertex[:n, N_NEIGHBORS]
        log.vertex[:n, LOG_LENGTH] = log.vertex[:n, N_NEIGHBORS]
        self.arrays = log._replace(
            row_neighbor=neighbor,
            row_weight=weight,
            older=np.empty(0, np.int64),
            change_neighbor=np.empty(0, np.int32),
            change_weight=np.empty(0, np.float64),
            keys=np.full(16, EMPTY, np.int64),
            values=np.zeros(16),
        )
        matrix = _csr(weight, neighbor, indptr)
        matrix.sort_indices()
        return matrix

    def matrix(self) -> sparse.csr_matrix:
        """The adjacency matrix as a new object; nothing here changes but the scratch marks."""
        indptr, neighbor, weight = self._merged()
        matrix = _csr(weight, neighbor, indptr)
        matrix.sort_indices()
        return matrix

    def _row_ends(self) -> np.ndarray:
        indptr = np.zeros(self.n_vertices + 1, np.int64)
        np.cumsum(self.arrays.vertex[: self.n_vertices, N_NEIGHBORS], out=indptr[1:])
        return indptr

    def _merged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        indptr = self._row_ends()
        neighbor = np.empty(indptr[-1], np.int32)
        weight = np.empty(indptr[-1], np.float64)
        _merge_all(self.arrays, self.n_vertices, indptr, neighbor, weight)
        return indptr, neighbor, weight


def _csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> sparse.csr_matrix:
    """A matrix on these very arrays (the constructor may copy indices to another type)."""
    n = len(indptr) - 1
    matrix = sparse.csr_matrix((n, n), dtype=np.float64)
    matrix.data, matrix.indices = data, indices
    matrix.indptr = indptr.astype(np.int32) if indptr[-1] < 2**31 - 1 else indptr
    return matrix


def enlarged(array: np.ndarray, size: int, fill: float = 0) -> np.ndarray:
    """A copy with ``size`` rows, the new ones filled."""
    larger = np.full((size, *array.shape[1:]), fill, array.dtype)
    larger[: len(array)] = array
    return larger
