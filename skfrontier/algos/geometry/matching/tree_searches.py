"""The searches of `searches` where a tree finds the next point, row by row.

A scanned row enters a heap with its best point only, and is asked again when that one has been reached. What
a row has found is remembered: potentials do not change during a search, so only what has been reached is
to be skipped.
"""

from typing import NamedTuple

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.geometry.matching.point_tree import tree_insert, tree_remove
from skfrontier.algos.geometry.matching.priced_tree import least_few, priced, reprice
from skfrontier.algos.geometry.matching.searches import augment, release

_FEW = 4  # points that a row asks for at once


class Frontier(NamedTuple):
    """Scanned rows, what each has found, and a heap of them by the best that has not been reached."""

    keys: np.ndarray
    rows: np.ndarray
    point: np.ndarray  # of a row
    base: np.ndarray  # what is added to the sums of a row
    at: np.ndarray  # how many of the found points of a row have been passed
    found: np.ndarray  # (rows, few)
    sums: np.ndarray
    stack: np.ndarray  # work arrays of a search in the tree
    bound: np.ndarray
    slots: np.ndarray
    values: np.ndarray


@njit
def move_in_tree(tree, P, leaving, coming):
    """Take slots out of a tree over ``P``, and put slots in."""
    for t in range(leaving.size):
        tree_remove(tree, leaving[t])
    for t in range(coming.size):
        tree_insert(tree, P, coming[t])


@inner
def _push(keys, rows, n, key, row):
    at = n
    while at > 0 and keys[(at - 1) // 2] > key:
        keys[at], rows[at] = keys[(at - 1) // 2], rows[(at - 1) // 2]
        at = (at - 1) // 2
    keys[at], rows[at] = key, row


@inner
def _replace_top(keys, rows, n, key, row):
    """Put another entry in the place of the least one of a heap of n."""
    at = 0
    while 2 * at + 1 < n:
        below = 2 * at + 1
        if below + 1 < n and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[at], rows[at] = keys[below], rows[below]
        at = below
    keys[at], rows[at] = key, row


@inner
def _new_frontier(packed):
    size, n_nodes = packed.slot.size + 1, packed.least.size
    return Frontier(
        np.empty(size), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size),
        np.full(size, _FEW), np.empty((size, _FEW), np.int64), np.empty((size, _FEW)),
        np.empty(n_nodes, np.int64), np.empty(n_nodes), np.empty(_FEW, np.int64), np.empty(_FEW),
    )  # fmt: skip


@inner
def _least_of(code, q, power, packed, reached, P, frontier, row, work):
    """The key of a row: for points that have not been reached; infinite where there is none."""
    found, sums, at = frontier.found, frontier.sums, frontier.at
    while True:
        if at[row] == _FEW:
            work[1] += least_few(
                code, q, power, packed, P, frontier.point[row], frontier.stack, frontier.bound,
                frontier.slots, frontier.values,
            )  # fmt: skip
            for t in range(_FEW):
                found[row, t], sums[row, t] = frontier.slots[t], frontier.values[t]
            at[row] = 0
        j = found[row, at[row]]
        if j < 0:
            return np.inf
        if not reached[j]:
            return frontier.base[row] + sums[row, at[row]]
        at[row] += 1


@inner
def _scan(code, q, power, packed, reached, P, frontier, n_rows, i, base, work):
    """Scan column i of ``P`` as one more row; return the row whose best point is the next to be reached."""
    keys, rows = frontier.keys, frontier.rows
    frontier.point[n_rows], frontier.base[n_rows] = i, base
    key = _least_of(code, q, power, packed, reached, P, frontier, n_rows, work)
    _push(keys, rows, n_rows, key, n_rows)
    while True:
        row = rows[0]
        key = _least_of(code, q, power, packed, reached, P, frontier, row, work)
        if key <= keys[0]:
            return row
        _replace_top(keys, rows, n_rows + 1, key, row)


@njit
def grow_in_tree(x, code, q, power, matrix, X, Y, tree, u, v, mate_x, mate_y, price, work):
    """`grow` without a limit, over a tree of the live points of ``Y``; add to ``work`` rows and looks."""
    packed = priced(tree, Y, -v)
    frontier = _new_frontier(packed)
    reached, pred = np.zeros(v.size, np.bool_), np.empty(v.size, np.int64)
    seen, seen_at = np.empty(v.size, np.int64), np.empty(v.size)
    u[x] = 0.0
    current, offset, n_seen = x, 0.0, 0
    while True:
        row = _scan(code, q, power, packed, reached, X, frontier, n_seen, current, offset, work)
        nearest, y = frontier.keys[0], frontier.found[row, frontier.at[row]]
        pred[y] = frontier.point[row]
        if mate_y[y] < 0:
            break
        seen[n_seen], seen_at[n_seen] = y, nearest
        n_seen += 1
        reached[y] = True
        reprice(packed, y, np.inf)
        current = mate_y[y]
        offset = nearest - u[current]
    augment(x, y, nearest, n_seen, code, q, power, matrix, X, Y, u, v, mate_x, mate_y, price, pred,
            seen, seen_at)  # fmt: skip
    work[0] += n_seen + 1


@njit
def settle_in_tree(y0, code, q, power, matrix, X, Y, tree, u, v, mate_x, mate_y, price, work):
    """`settle` without a limit, over a tree of the live points of ``X``; add to ``work`` rows and looks."""
    packed = priced(tree, X, -u)
    frontier = _new_frontier(packed)
    reached, pred = np.zeros(u.size, np.bool_), np.empty(u.size, np.int64)
    seen, seen_at = np.empty(u.size, np.int64), np.empty(u.size)
    best, leaves = -v[y0], y0
    current, offset, n_seen = y0, -v[y0], 0
    while True:
        row = _scan(code, q, power, packed, reached, Y, frontier, n_seen, current, offset, work)
        nearest = frontier.keys[0]
        if nearest >= best:
            break
        x = frontier.found[row, frontier.at[row]]
        pred[x] = frontier.point[row]
        seen[n_seen], seen_at[n_seen] = x, nearest
        n_seen += 1
        reached[x] = True
        reprice(packed, x, np.inf)
        current = mate_x[x]
        offset = nearest - v[current]
        if offset < best:
            best, leaves = offset, current
    release(y0, leaves, best, n_seen, code, q, power, matrix, X, Y, u, v, mate_x, mate_y, price,
            pred, seen, seen_at)  # fmt: skip
    work[0] += n_seen + 1
