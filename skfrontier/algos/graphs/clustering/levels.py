"""The contraction levels as flat arrays: nodes, their parents one level up, and the quotient matrices.

Level 0 is the graph. Level l = 1..n_levels is a quotient of level l - 1; the parent of a node of the last
level is its label. Nodes of level l stand from ``first_node[l]`` on, its matrix in the table that begins
at ``first_slot[l]``: the entry {a, b} once, the diagonal entry twice the weight inside the block, so that
degrees are volumes.
"""

from collections import namedtuple

import numpy as np
from scipy import sparse

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.graphs.clustering.adjacency import ROUNDING, enlarged
from skfrontier.algos.graphs.clustering.edge_table import (
    EMPTY,
    find_slot,
    pair_key,
    slots_for,
)

# Columns of ``info``, by level. A level's nodes stand from FIRST_NODE on; the first N_BLOCKS of its
# N_NODES were made by the contraction, those after them are single vertices, of which BUDGET more may
# come. TOP, in row 0, is the coarsest level that is maintained.
(
    FIRST_NODE,
    N_NODES,
    N_BLOCKS,
    N_PULLED,
    BUDGET,
    EPOCH,
    FIRST_SLOT,
    SLOT_MASK,
    N_USED,
    TOP,
) = range(10)

LevelArrays = namedtuple(
    "LevelArrays",
    [
        "info",  # (n_levels + 1, 10) integers
        "vertex_parent",  # (n_vertices,) node of level 1, or label where there are no levels; -1: none
        "parent",  # nodes of all levels >= 1, flat; so are the next three
        "volume",
        "peak",  # largest volume so far: what rounding is measured by
        "n_live",  # vertices with an edge
        "keys",
        "values",
        # by vertex and level (column l - 1)
        "stamp",  # 2 * epoch in which ``due`` was noted, + 1 where the vertex is single
        "due",  # sum of its changes at which the vertex leaves its block
    ],
)


@inner
def add_entry(levels, level, a, b, weight):
    """Add to the entry {a, b} of the matrix of a level."""
    key = pair_key(a, b)
    slot = find_slot(
        levels.keys, levels.info[level, FIRST_SLOT], levels.info[level, SLOT_MASK], key
    )
    if levels.keys[slot] == EMPTY:
        levels.keys[slot] = key
        levels.values[slot] = weight
        levels.info[level, N_USED] += 1
    else:
        levels.values[slot] += weight


@inner
def add_volume(levels, level, a, weight):
    """Add to the volume of a node."""
    i = levels.info[level, FIRST_NODE] + a
    levels.volume[i] += weight
    if levels.volume[i] > levels.peak[i]:
        levels.peak[i] = levels.volume[i]


@inner
def parent_of(levels, level, a):
    """The node one level up."""
    if level == 0:
        return np.int64(levels.vertex_parent[a])
    return np.int64(levels.parent[levels.info[level, FIRST_NODE] + a])


@inner
def set_parent(levels, level, a, node):
    """Write the node one level up."""
    if level == 0:
        levels.vertex_parent[a] = node
    else:
        levels.parent[levels.info[level, FIRST_NODE] + a] = node


@njit
def _contract(levels, level, row, indptr, indices, data, block):
    """Add the quotient of a matrix to a level, from ``row`` on; return the row with no room for it."""
    n_slots = levels.info[level, SLOT_MASK] + 1
    for a in range(row, indptr.shape[0] - 1):
        row_length = min(indptr[a + 1] - indptr[a], levels.info[level, N_NODES])
        if 2 * (levels.info[level, N_USED] + row_length) > n_slots:
            return a
        for i in range(indptr[a], indptr[a + 1]):
            b = indices[i]
            if b < a:
                continue
            weight = data[i]
            if b > a and block[a] == block[b]:
                weight *= 2
            add_entry(levels, level, block[a], block[b], weight)
    return indptr.shape[0] - 1


@njit
def _collect(levels, level, low, high, weight):
    """Entries that are more than rounding, both of whose nodes live; return their number."""
    node = levels.info[level, FIRST_NODE]
    first = levels.info[level, FIRST_SLOT]
    count = 0
    for slot in range(first, first + levels.info[level, SLOT_MASK] + 1):
        if levels.keys[slot] == EMPTY:
            continue
        a = levels.keys[slot] >> 32
        b = levels.keys[slot] & 0xFFFFFFFF
        if levels.n_live[node + a] == 0 or levels.n_live[node + b] == 0:
            continue
        smallest = ROUNDING * max(levels.peak[node + a], levels.peak[node + b])
        if abs(levels.values[slot]) <= smallest:
            continue
        low[count] = a
        high[count] = b
        weight[count] = levels.values[slot]
        count += 1
    return count


@njit
def _count_entries(levels, level):
    """Number of entries of a level that are not exactly zero."""
    first = levels.info[level, FIRST_SLOT]
    count = 0
    for slot in range(first, first + levels.info[level, SLOT_MASK] + 1):
        if levels.keys[slot] != EMPTY and levels.values[slot] != 0:
            count += 1
    return count


@njit
def _refill(levels, level, low, high, weight, count):
    """Empty the table of a level and put the entries in."""
    first = levels.info[level, FIRST_SLOT]
    for slot in range(first, first + levels.info[level, SLOT_MASK] + 1):
        levels.keys[slot] = EMPTY
    levels.info[level, N_USED] = 0
    for i in range(count):
        add_entry(levels, level, low[i], high[i], weight[i])


class Levels:
    """The levels over a graph: how their arrays are made, grown and read."""

    def __init__(self, n_levels: int, n_vertices: int):
        self.n_levels = n_levels
        info = np.zeros((n_levels + 1, 10), np.int64)
        info[:, SLOT_MASK] = -1
        self.arrays = LevelArrays(
            info=info,
            vertex_parent=np.full(n_vertices, -1, np.int32),
            parent=np.empty(0, np.int32),
            volume=np.empty(0),
            peak=np.empty(0),
            n_live=np.empty(0, np.int64),
            keys=np.empty(0, np.int64),
            values=np.empty(0),
            stamp=np.zeros((n_vertices, n_levels), np.int32),
            due=np.zeros((n_vertices, n_levels)),
        )
        self._node_room = np.zeros(n_levels + 1, np.int64)
        self._slot_room = np.zeros(n_levels + 1, np.int64)
        self._slots_taken = 0

    @property
    def top(self) -> int:
        """The coarsest level that is maintained."""
        return int(self.arrays.info[0, TOP])

    def add_vertices(self, first: int, count: int) -> None:
        """Make vertices ``first ..`` single nodes of each maintained level."""
        levels = self.arrays
        n = first + count
        if n > len(levels.vertex_parent):
            size = n + n // 2
            names = ("vertex_parent", "stamp", "due")
            self.arrays = levels = levels._replace(
                **{name: enlarged(getattr(levels, name), size) for name in names}
            )
        levels.vertex_parent[first:n] = -1
        below = np.arange(first, n)
        for level in range(1, self.top + 1):
            levels.info[level, N_PULLED] += count
            if levels.info[level, N_PULLED] > levels.info[level, BUDGET]:
                levels.info[0, TOP] = level - 1
                break
            nodes = np.arange(levels.info[level, N_NODES], levels.info[level, N_NODES] + count)
            if level == 1:
                levels.vertex_parent[below] = nodes
            else:
                levels.parent[levels.info[level - 1, FIRST_NODE] + below] = nodes
            at = levels.info[level, FIRST_NODE] + nodes
            levels.parent[at] = -1
            levels.volume[at] = levels.peak[at] = 0
            levels.n_live[at] = 0
            levels.info[level, N_NODES] += count
            levels.stamp[first:n, level - 1] = 2 * levels.info[level, EPOCH] + 1
            below = nodes

    def ancestors(self, nodes: np.ndarray, low: int, high: int) -> np.ndarray:
        """Where nodes of level ``low`` are at level ``high`` (n_levels + 1: labels); -1 for none."""
        for level in range(low, high):
            known = nodes >= 0
            if known.all():
                nodes = self._parents(level, nodes)
            else:
                above = np.full(len(nodes), -1, np.int64)
                above[known] = self._parents(level, nodes[known])
                nodes = above
        return nodes

    def _parents(self, level: int, nodes: np.ndarray) -> np.ndarray:
        if level == 0:
            return self.arrays.vertex_parent[nodes]
        return self.arrays.parent[self.arrays.info[level, FIRST_NODE] + nodes]

    def matrix(self, level: int) -> sparse.csr_matrix:
        """The quotient matrix of a maintained level, symmetric, rows of dead nodes empty."""
        low, high, weight = self._entries(level)
        n = int(self.arrays.info[level, N_NODES])
        off = low != high
        rows = np.concatenate([low, high[off]])
        columns = np.concatenate([high, low[off]])
        data = np.concatenate([weight, weight[off]])
        return sparse.csr_matrix((data, (rows, columns)), shape=(n, n))

    def volumes(self, level: int) -> np.ndarray:
        """Volume of each node of a level (a view)."""
        return self._nodes(self.arrays.volume, level)

    def n_live(self, level: int) -> np.ndarray:
        """Number of vertices with an edge in each node of a level (a view)."""
        return self._nodes(self.arrays.n_live, level)

    def n_entries(self, level: int) -> int:
        """Number of entries of the matrix of a level, those above the diagonal once."""
        return int(_count_entries(self.arrays, level))

    def relabel(self, labels: np.ndarray) -> None:
        """Write the labels of the nodes of the last level."""
        if self.n_levels == 0:
            self.arrays.vertex_parent[: len(labels)] = labels
        else:
            self._nodes(self.arrays.parent, self.n_levels)[:] = labels

    def contract(
        self,
        level: int,
        A: sparse.csr_matrix,
        n_live: np.ndarray,
        block: np.ndarray,
        label: np.ndarray,
        budgets: np.ndarray,
    ) -> None:
        """Make the levels above ``level``, whose matrix is ``A``, from a partition of its nodes.

        Parameters
        ----------
        level : int
            Smaller than ``n_levels``.
        A : csr matrix
            Matrix of the level.
        n_live : array
            Live vertices in each node of the level.
        block : int array
            New parent of each node, 0 .. n_blocks - 1.
        label : int array of shape (n_blocks,)
            Labels of the new nodes.
        budgets : int array of shape (n_levels + 1,)
            How many single vertices each level may get.
        """
        n_blocks, new = len(label), level + 1
        volume = np.bincount(block, np.asarray(A.sum(axis=1)).ravel(), minlength=n_blocks)
        live = np.bincount(block, n_live, minlength=n_blocks).astype(np.int64)
        room = n_blocks + budgets + 4
        if np.any(room[new:] > self._node_room[new:]):
            self._enlarge_nodes(np.maximum(room, self._node_room))
        levels = self.arrays
        if level == 0:
            levels.vertex_parent[: len(block)] = block
        else:
            self._nodes(levels.parent, level)[:] = block
        for above in range(new, self.n_levels + 1):
            levels.info[above, N_NODES] = levels.info[above, N_BLOCKS] = n_blocks
            levels.info[above, N_PULLED] = 0
            levels.info[above, BUDGET] = budgets[above]
            levels.info[above, EPOCH] += 1
            self._nodes(levels.volume, above)[:] = volume
            self._nodes(levels.peak, above)[:] = volume
            self._nodes(levels.n_live, above)[:] = live
            self._nodes(levels.parent, above)[:] = np.arange(n_blocks)
        self._nodes(levels.parent, self.n_levels)[:] = label
        self._empty_table(new, min(A.nnz, n_blocks * (n_blocks + 1) // 2, 4 * n_blocks) + 8)
        row = 0
        while True:
            row = _contract(self.arrays, new, row, A.indptr, A.indices, A.data, block)
            if row == A.shape[0]:
                break
            self.make_room(new, int(min(A.indptr[row + 1] - A.indptr[row], n_blocks)))
        entries = self._entries(new)
        for above in range(new + 1, self.n_levels + 1):
            self._empty_table(above, len(entries[0]) + 8)
            _refill(self.arrays, above, *entries, len(entries[0]))
        levels.info[0, TOP] = self.n_levels

    def make_room(self, level: int, n_more: int) -> None:
        """Rebuild the table of a level so that it has room for ``n_more`` entries; zeros are dropped."""
        entries = self._entries(level)
        self._empty_table(level, len(entries[0]) + n_more)
        _refill(self.arrays, level, *entries, len(entries[0]))

    def _entries(self, level: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = int(self.arrays.info[level, N_USED])
        low, high, weight = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
        count = _collect(self.arrays, level, low, high, weight)
        return low[:count], high[:count], weight[:count]

    def _nodes(self, flat: np.ndarray, level: int) -> np.ndarray:
        first = self.arrays.info[level, FIRST_NODE]
        return flat[first : first + self.arrays.info[level, N_NODES]]

    def _enlarge_nodes(self, room: np.ndarray) -> None:
        old = self.arrays
        room = room + room // 2
        room[0] = 0
        first = np.cumsum(room) - room
        flat = ("parent", "volume", "peak", "n_live")
        grown = {name: np.zeros(room.sum(), getattr(old, name).dtype) for name in flat}
        for level in range(1, self.n_levels + 1):
            for name in flat:
                values = self._nodes(getattr(old, name), level)
                grown[name][first[level] : first[level] + len(values)] = values
        old.info[:, FIRST_NODE] = first
        self.arrays = old._replace(**grown)
        self._node_room = room

    def _empty_table(self, level: int, n_entries: int) -> None:
        """Give a level an empty table: in its old place where that is large enough, else a new one."""
        n_slots = slots_for(n_entries)
        levels = self.arrays
        if n_slots > self._slot_room[level]:
            self._slot_room[level] = 0  # what was there is given up
            if self._slots_taken + n_slots > len(levels.keys):
                self._move_tables(n_slots)
                levels = self.arrays
            levels.info[level, FIRST_SLOT] = self._slots_taken
            self._slot_room[level] = n_slots
            self._slots_taken += n_slots
        first = levels.info[level, FIRST_SLOT]
        levels.keys[first : first + n_slots] = EMPTY
        levels.info[level, SLOT_MASK] = n_slots - 1
        levels.info[level, N_USED] = 0

    def _move_tables(self, n_slots: int) -> None:
        """Move all tables into new arrays with twice the room that they need."""
        old = self.arrays
        size = 2 * (int(self._slot_room.sum()) + n_slots)
        keys, values = np.full(size, EMPTY, np.int64), np.zeros(size)
        self._slots_taken = 0
        for level in range(1, self.n_levels + 1):
            room = int(self._slot_room[level])
            first = int(old.info[level, FIRST_SLOT])
            keys[self._slots_taken : self._slots_taken + room] = old.keys[first : first + room]
            values[self._slots_taken : self._slots_taken + room] = old.values[first : first + room]
            old.info[level, FIRST_SLOT] = self._slots_taken
            self._slots_taken += room
        self.arrays = old._replace(keys=keys, values=values)

    def forget(self, level: int) -> None:
        """No labels for the nodes of a level, none of which lives; the levels above are given up."""
        if level == 0:
            self.arrays.vertex_parent[:] = -1
        else:
            self._nodes(self.arrays.parent, level)[:] = -1
        self.arrays.info[0, TOP] = level
