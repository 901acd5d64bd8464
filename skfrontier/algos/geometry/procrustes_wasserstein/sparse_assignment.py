"""Assignment on a sparse graph by shortest augmenting paths, with the dual solution that proves it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import as_numbers, check_count, check_finite


@dataclass(frozen=True, eq=False)
class SparseAssignment:
    """A cheapest assignment of rows to columns along listed edges.

    Attributes
    ----------
    row_to_col : ndarray of shape (n_rows,), int64
        Column of each row; -1 where no augmenting path was left.
    u, v : ndarray of shape (n_rows,) and (n_cols,)
        Dual solution: ``cost >= u + v`` on listed edges, with equality on matched ones; ``v <= 0``, and 0
        on free columns. It proves the assignment of the matched rows optimal.
    n_failed : int
        Number of rows without a column.
    """

    row_to_col: np.ndarray
    u: np.ndarray
    v: np.ndarray
    n_failed: int


def sparse_assignment(
    cost: Any, indices: Any, n_cols: int, *, indptr: Any = None
) -> SparseAssignment:
    """The cheapest assignment along the listed edges, by shortest augmenting paths.

    Parameters
    ----------
    cost : array-like of shape (n_rows, n_candidates), or (n_edges,) with ``indptr``
        Costs of the edges.
    indices : array-like of the same shape, int
        Column of each edge. A column may stand in a row several times; the cheapest counts.
    n_cols : int
        Number of columns.
    indptr : array-like of shape (n_rows + 1,) or None, default=None
        Where the edges of each row begin, for rows of different length (CSR).

    Returns
    -------
    SparseAssignment

    Raises
    ------
    ValueError, TypeError
        If the arrays do not fit together, or a cost is not finite.

    Notes
    -----
    Proven exact [1]_: rows are matched where a matching of all earlier matched rows and this one exists,
    at the least cost for these rows. Ties go to the lowest column. Rows beyond the greedy start cost a
    Dijkstra search each that touches only what it reaches; nothing is quadratic in the sizes.

    References
    ----------
    .. [1] Jonker, Volgenant, "A shortest augmenting path algorithm for dense and sparse linear
       assignment problems", Computing 38 (1987).

    Examples
    --------
    >>> from skfrontier.algos import sparse_assignment
    >>> sparse_assignment([[1.0, 4.0], [1.5, 2.0]], [[0, 1], [0, 1]], 2).row_to_col
    array([0, 1])
    """
    costs, columns = as_numbers(cost, "cost"), as_numbers(indices, "indices")
    n_cols = check_count(n_cols, "n_cols")
    if columns.dtype.kind not in "iu":
        raise TypeError(f"indices must hold integers, got dtype {columns.dtype}.")
    if costs.dtype.kind not in "fiub":
        raise ValueError(f"cost must hold real numbers, got dtype {costs.dtype}.")
    if costs.shape != columns.shape or costs.ndim != (2 if indptr is None else 1):
        raise ValueError(
            "cost and indices must have one shape, 2-D without indptr and 1-D with it; got "
            f"{costs.shape} and {columns.shape}."
        )
    costs = costs.astype(np.float64)
    check_finite(costs, "cost")
    if columns.size and (columns.min() < 0 or columns.max() >= n_cols):
        raise ValueError(f"indices must lie in 0..{n_cols - 1}.")
    starts = _row_starts(indptr, costs.shape)
    return solve_edges(starts, columns.astype(np.int64).ravel(), costs.ravel(), n_cols)


def _row_starts(indptr: Any, shape: tuple[int, ...]) -> np.ndarray:
    if indptr is None:
        return np.arange(shape[0] + 1, dtype=np.int64) * shape[1]
    starts = as_numbers(indptr, "indptr")
    if starts.dtype.kind not in "iu":
        raise TypeError(f"indptr must hold integers, got dtype {starts.dtype}.")
    starts = starts.astype(np.int64)
    if (
        starts.ndim != 1
        or len(starts) < 1
        or starts[0] != 0
        or starts[-1] != shape[0]
        or (np.diff(starts) < 0).any()
    ):
        raise ValueError(f"indptr must rise from 0 to the number of edges, {shape[0]}.")
    return starts


def solve_edges(
    indptr: np.ndarray, columns: np.ndarray, costs: np.ndarray, n_cols: int
) -> SparseAssignment:
    """`sparse_assignment` on checked CSR arrays, in any order within rows; they are put in order in place."""
    _sort_rows(indptr, columns, costs)
    row_to_col, u, v = _augment_all(indptr, columns, costs, n_cols)
    return SparseAssignment(row_to_col, u, v, int((row_to_col < 0).sum()))


@njit
def _sort_rows(indptr, columns, costs):
    """Shell's sort of each row by cost, ties by column: most rows are short or in order already."""
    for i in range(len(indptr) - 1):
        first, end = indptr[i], indptr[i + 1]
        gap = 1
        while 3 * gap + 1 < end - first:
            gap = 3 * gap + 1
        while gap > 0:
            for e in range(first + gap, end):
                cost, column = costs[e], columns[e]
                place = e
                while place - gap >= first:
                    before = place - gap
                    if costs[before] < cost or (
                        costs[before] == cost and columns[before] <= column
                    ):
                        break
                    costs[place] = costs[before]
                    columns[place] = columns[before]
                    place = before
                costs[place] = cost
                columns[place] = column
            gap //= 3


@njit
def _augment_all(indptr, columns, costs, n_cols):
    n_rows = len(indptr) - 1
    row_to_col = np.full(n_rows, -1, np.int64)
    mate = np.full(n_cols, -1, np.int64)
    u = np.zeros(n_rows)
    v = np.zeros(n_cols)
    for i in range(n_rows):
        if indptr[i] < indptr[i + 1]:
            u[i] = costs[indptr[i]]
            j = columns[indptr[i]]
            if mate[j] < 0:
                mate[j] = i
                row_to_col[i] = j
    distance = np.full(n_cols, np.inf)
    parent = np.full(n_cols, -1, np.int64)
    popped = np.zeros(n_cols, np.bool_)
    touched = np.empty(n_cols, np.int64)
    keys = np.empty(64)
    items = np.empty(64, np.int64)
    for s in range(n_rows):
        if row_to_col[s] >= 0 or indptr[s] == indptr[s + 1]:
            continue
        n_touched = 0
        size = 0
        bound = np.inf  # the nearest free column seen: what lies beyond is not queued
        sink = -1
        row = s
        base = 0.0
        while True:
            for e in range(indptr[row], indptr[row + 1]):
                if base + costs[e] - u[row] > bound:
                    break  # costs rise and v <= 0: the rest lies farther
                j = columns[e]
                reached = base + max(0.0, costs[e] - u[row] - v[j])
                if popped[j] or reached >= distance[j] or reached > bound:
                    continue
                if distance[j] == np.inf:
                    touched[n_touched] = j
                    n_touched += 1
                distance[j] = reached
                parent[j] = row
                if mate[j] < 0:
                    bound = min(bound, reached)
                if size == len(keys):
                    keys, items = _doubled(keys, items)
                size = _push(keys, items, size, reached, j)
            row = -1
            while size > 0:
                base = keys[0]
                j = items[0]
                size = _pop(keys, items, size)
                if popped[j] or base > distance[j]:
                    continue
                popped[j] = True
                if mate[j] < 0:
                    sink = j
                else:
                    row = mate[j]
                break
            if sink >= 0 or row < 0:
                break
        if sink >= 0:
            u[s] += base
            for t in range(n_touched):
                j = touched[t]
                if popped[j] and j != sink:
                    u[mate[j]] += base - distance[j]
                    v[j] -= base - distance[j]
            j = sink
            while j >= 0:
                i = parent[j]
                before = row_to_col[i]
                row_to_col[i] = j
                mate[j] = i
                j = before
        for t in range(n_touched):
            j = touched[t]
            distance[j] = np.inf
            popped[j] = False
    return row_to_col, u, v


@inner
def _doubled(keys, items):
    more_keys = np.empty(2 * len(keys))
    more_items = np.empty(2 * len(items), np.int64)
    for t in range(len(keys)):
        more_keys[t] = keys[t]
        more_items[t] = items[t]
    return more_keys, more_items


@inner
def _push(keys, items, size, key, item):
    """Binary heap, smallest key first, ties by the lower item."""
    place = size
    while place > 0:
        up = (place - 1) // 2
        if keys[up] < key or (keys[up] == key and items[up] <= item):
            break
        keys[place] = keys[up]
        items[place] = items[up]
        place = up
    keys[place] = key
    items[place] = item
    return size + 1


@inner
def _pop(keys, items, size):
    size -= 1
    key = keys[size]
    item = items[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            keys[other] < keys[child]
            or (keys[other] == keys[child] and items[other] < items[child])
        ):
            child = other
        if key < keys[child] or (key == keys[child] and item <= items[child]):
            break
        keys[place] = keys[child]
        items[place] = items[child]
        place = child
    keys[place] = key
    items[place] = item
    return size
