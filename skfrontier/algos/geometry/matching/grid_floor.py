"""Matching inside the cells of a randomly shifted hierarchy of grids, kept under insertions and deletions.

Points enter at the finest level. Inside a cell points of the two sides are matched with each other, the
surplus goes to the parent cell. A change of one point changes one leftover a level at most.
Nodes are ``2 * slot + side``.
"""

from typing import NamedTuple

import numpy as np

from skfrontier.algos._numba import inner, njit


class GridFloor(NamedTuple):
    """Cells of nodes by level, stacks of leftovers, mates, and a hash table of cells."""

    cell: np.ndarray  # (nodes, levels)
    above: np.ndarray  # (nodes, levels): next older leftover of the cell, or -1
    below: np.ndarray  # (nodes, levels): next newer one, or -1
    left_over: np.ndarray  # (nodes, levels) bool
    mate: np.ndarray  # (nodes,)
    newest: np.ndarray  # (cells,): newest leftover, or -1
    held: np.ndarray  # (cells,): points inside
    key: np.ndarray  # (cells,): fingerprint of level and coordinates
    table: np.ndarray  # hash table of cell numbers, -1 where empty
    vacant: np.ndarray  # stack of unused cells
    totals: np.ndarray  # [unused cells, most level changes of an operation]


def new_floor(n_nodes: int, n_levels: int) -> GridFloor:
    """An empty floor."""
    n_cells = n_nodes * n_levels
    size = 1 << int(np.ceil(np.log2(2 * n_cells + 2)))
    return GridFloor(
        np.full((n_nodes, n_levels), -1, dtype=np.int32),
        np.full((n_nodes, n_levels), -1, dtype=np.int32),
        np.full((n_nodes, n_levels), -1, dtype=np.int32),
        np.zeros((n_nodes, n_levels), dtype=np.bool_),
        np.full(n_nodes, -1, dtype=np.int64),
        np.full(n_cells, -1, dtype=np.int32),
        np.zeros(n_cells, dtype=np.int32),
        np.zeros(n_cells, dtype=np.uint64),
        np.full(size, -1, dtype=np.int32),
        np.arange(n_cells, dtype=np.int32)[::-1].copy(),
        np.array([n_cells, 0], dtype=np.int64),
    )


@inner
def _mixed(value, more):
    """64-bit mixing of two words, the finalizer of splitmix64."""
    x = (np.uint64(value) ^ np.uint64(more)) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner
def _find(floor, key):
    """Place of a key in the table, or the empty place where it belongs."""
    last = np.uint64(floor.table.size - 1)
    at = key & last
    while floor.table[at] >= 0 and floor.key[floor.table[at]] != key:
        at = (at + np.uint64(1)) & last
    return at


@inner
def _enter_cells(floor, node, coordinates, shift):
    """Find or make the cells of a node at all levels, from its coordinates at the finest."""
    levels = floor.cell.shape[1]
    for i in range(levels):
        key = _mixed(np.uint64(i), np.uint64(0))
        for k in range(coordinates.size):
            word = coordinates[k] >> np.int64(shift * (levels - 1 - i))
            key = _mixed(key, np.uint64(word))
        at = _find(floor, key)
        if floor.table[at] < 0:
            floor.totals[0] -= 1
            fresh = floor.vacant[floor.totals[0]]
            floor.table[at], floor.key[fresh] = fresh, key
            floor.newest[fresh], floor.held[fresh] = -1, 0
        floor.cell[node, i] = floor.table[at]
        floor.held[floor.table[at]] += 1


@inner
def _leave_cells(floor, node):
    last = np.uint64(floor.table.size - 1)
    for i in range(floor.cell.shape[1]):
        cell = floor.cell[node, i]
        floor.held[cell] -= 1
        if floor.held[cell] > 0:
            continue
        hole = _find(floor, floor.key[cell])
        floor.vacant[floor.totals[0]] = cell
        floor.totals[0] += 1
        at = hole
        while True:  # close the gap: what follows may have been pushed on by what left
            at = (at + np.uint64(1)) & last
            if floor.table[at] < 0:
                break
            home = floor.key[floor.table[at]] & last
            if ((at - home) & last) >= ((at - hole) & last):
                floor.table[hole] = floor.table[at]
                hole = at
        floor.table[hole] = -1


@inner
def _push(floor, node, i):
    cell = floor.cell[node, i]
    older = floor.newest[cell]
    floor.above[node, i], floor.below[node, i] = older, -1
    if older >= 0:
        floor.below[older, i] = node
    floor.newest[cell] = node
    floor.left_over[node, i] = True


@inner
def _pull(floor, node, i):
    older, newer = floor.above[node, i], floor.below[node, i]
    if newer >= 0:
        floor.above[newer, i] = older
    else:
        floor.newest[floor.cell[node, i]] = older
    if older >= 0:
        floor.below[older, i] = newer
    floor.left_over[node, i] = False


@inner
def _run(floor, node, inserting):
    """Carry a change from the finest level to the coarsest."""
    levels = floor.cell.shape[1]
    first, second = np.empty(levels + 1, dtype=np.int64), np.empty(levels + 1, dtype=np.int64)
    n_pairs = 0  # written at the end: until then mates are those of before
    changes = 0
    i = levels - 1
    while i >= 0:
        newest = floor.newest[floor.cell[node, i]]
        changes += 1
        if inserting:
            if newest >= 0 and (newest ^ node) & 1:
                _pull(floor, newest, i)
                first[n_pairs], second[n_pairs] = node, newest
                n_pairs += 1
                node, inserting = np.int64(newest), False
            else:
                _push(floor, node, i)
        elif floor.left_over[node, i]:
            _pull(floor, node, i)
        else:
            partner = floor.mate[node]
            if newest >= 0 and (newest ^ node) & 1 == 0:
                _pull(floor, newest, i)
                first[n_pairs], second[n_pairs] = newest, partner
                n_pairs += 1
                node = np.int64(newest)
            else:
                floor.mate[partner] = -1
                _push(floor, partner, i)
                node, inserting = partner, True
        i -= 1
    for k in range(n_pairs):
        floor.mate[first[k]], floor.mate[second[k]] = second[k], first[k]
    floor.totals[1] = max(floor.totals[1], changes)


@njit
def floor_fill(floor, nodes, coordinates, shift):
    """Add nodes; ``coordinates`` has their finest cells as rows, levels are ``shift`` bits apart."""
    for k in range(nodes.size):
        _enter_cells(floor, nodes[k], coordinates[k], shift)
        floor.mate[nodes[k]] = -1
        _run(floor, nodes[k], True)


@njit
def floor_clear(floor, nodes):
    """Take nodes out."""
    for k in range(nodes.size):
        _run(floor, nodes[k], False)
        floor.mate[nodes[k]] = -1
        _leave_cells(floor, nodes[k])
