"""A tree of boxes over points that come and go: nearest neighbours, and nearest free points.

Leaves are linked lists; a leaf of more than 16 points is split at the middle of its widest side. Deletions
leave boxes as they are, so the owner builds the tree anew now and then.
"""

from typing import NamedTuple

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.geometry.matching.costs import L1, L2, LINF

_LEAF = 16
_STACK = 512


class PointTree(NamedTuple):
    """Boxes ``low``, ``high`` (nodes, d), ``child`` (nodes, 2) or -1, where nodes are split, and lists."""

    low: np.ndarray
    high: np.ndarray
    child: np.ndarray
    axis: np.ndarray
    middle: np.ndarray
    head: np.ndarray
    held: np.ndarray
    n_nodes: np.ndarray  # of shape (1,)
    following: np.ndarray
    previous: np.ndarray
    leaf: np.ndarray


def new_tree(n_features: int, capacity: int) -> PointTree:
    """An empty tree with room for points in ``capacity`` slots."""
    n_nodes = capacity + 64
    tree = PointTree(
        np.full((n_nodes, n_features), np.inf), np.full((n_nodes, n_features), -np.inf),
        np.full((n_nodes, 2), -1, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64),
        np.zeros(n_nodes), np.full(n_nodes, -1, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64),
        np.ones(1, dtype=np.int64), np.full(capacity, -1, dtype=np.int64),
        np.full(capacity, -1, dtype=np.int64), np.full(capacity, -1, dtype=np.int64),
    )  # fmt: skip
    return tree


@inner
def tree_insert(tree, P, i):
    """Add column ``i`` of ``P``."""
    d = P.shape[0]
    node = 0
    while True:
        for k in range(d):
            tree.low[node, k] = min(tree.low[node, k], P[k, i])
            tree.high[node, k] = max(tree.high[node, k], P[k, i])
        if tree.child[node, 0] < 0:
            break
        node = tree.child[node, 1 if P[tree.axis[node], i] >= tree.middle[node] else 0]
    _into_leaf(tree, node, i)
    if tree.held[node] > _LEAF and tree.n_nodes[0] + 2 <= tree.head.size:
        _split(tree, P, node)


@inner
def _into_leaf(tree, node, i):
    first = tree.head[node]
    tree.following[i], tree.previous[i], tree.leaf[i] = first, -1, node
    if first >= 0:
        tree.previous[first] = i
    tree.head[node] = i
    tree.held[node] += 1


@inner
def _split(tree, P, node):
    d = P.shape[0]
    widest, axis, middle = 0.0, -1, 0.0
    for k in range(d):  # of the points themselves: boxes may be outdated
        low, high = np.inf, -np.inf
        i = tree.head[node]
        while i >= 0:
            low, high = min(low, P[k, i]), max(high, P[k, i])
            i = tree.following[i]
        if high - low > widest:
            widest, axis, middle = high - low, k, low + (high - low) / 2
            if middle <= low:
                middle = high
    if axis < 0:
        return
    left = tree.n_nodes[0]
    tree.n_nodes[0] += 2
    tree.child[node, 0], tree.child[node, 1] = left, left + 1
    tree.axis[node], tree.middle[node] = axis, middle
    i = tree.head[node]
    while i >= 0:
        following = tree.following[i]
        into = left + (1 if P[axis, i] >= middle else 0)
        for k in range(d):
            tree.low[into, k] = min(tree.low[into, k], P[k, i])
            tree.high[into, k] = max(tree.high[into, k], P[k, i])
        _into_leaf(tree, into, i)
        i = following
    tree.head[node], tree.held[node] = -1, 0


@inner
def tree_remove(tree, i):
    """Take out the point in slot ``i``."""
    before, after, node = tree.previous[i], tree.following[i], tree.leaf[i]
    if before >= 0:
        tree.following[before] = after
    else:
        tree.head[node] = after
    if after >= 0:
        tree.previous[after] = before
    tree.held[node] -= 1
    tree.leaf[i] = -1


@inner
def norm_distance(code, q, P, i, Q, j):
    """l_q distance between two columns."""
    total = 0.0
    if code == L2:
        for k in range(P.shape[0]):
            total += (P[k, i] - Q[k, j]) ** 2
        return np.sqrt(total)
    if code == L1:
        for k in range(P.shape[0]):
            total += abs(P[k, i] - Q[k, j])
        return total
    if code == LINF:
        for k in range(P.shape[0]):
            total = max(total, abs(P[k, i] - Q[k, j]))
        return total
    for k in range(P.shape[0]):
        total += abs(P[k, i] - Q[k, j]) ** q
    return total ** (1.0 / q)


@inner
def box_distance(code, q, low, high, node, P, i):
    """l_q distance from column ``i`` of ``P`` to the box of a node."""
    total = 0.0
    for k in range(P.shape[0]):
        gap = max(low[node, k] - P[k, i], P[k, i] - high[node, k], 0.0)
        if code == L2:
            total += gap * gap
        elif code == L1:
            total += gap
        elif code == LINF:
            total = max(total, gap)
        else:
            total += gap**q
    if code == L2:
        return np.sqrt(total)
    if code != LINF and code != L1:
        total = total ** (1.0 / q)
    return total


@inner
def tree_nearest(tree, Q, code, q, P, i, mate, free_only, found, far):
    """Write the nearest ``found.size`` points of the tree over ``Q``, ascending; return their number.

    ``free_only``: only those whose ``mate`` is negative.
    """
    k, n_found = found.size, 0
    stack = np.empty(_STACK, dtype=np.int64)
    bound = np.empty(_STACK)
    stack[0], bound[0] = 0, 0.0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if n_found == k and bound[top] >= far[k - 1]:
            continue
        if tree.child[node, 0] < 0:
            j = tree.head[node]
            while j >= 0:
                if not free_only or mate[j] < 0:
                    distance = norm_distance(code, q, P, i, Q, j)
                    if n_found < k or distance < far[k - 1]:
                        at = n_found if n_found < k else k - 1
                        while at > 0 and far[at - 1] > distance:
                            far[at], found[at] = far[at - 1], found[at - 1]
                            at -= 1
                        far[at], found[at] = distance, j
                        n_found = min(n_found + 1, k)
                j = tree.following[j]
            continue
        left, right = tree.child[node, 0], tree.child[node, 1]
        to_left = box_distance(code, q, tree.low, tree.high, left, P, i)
        to_right = box_distance(code, q, tree.low, tree.high, right, P, i)
        if to_left < to_right:  # the nearer one is looked at first
            stack[top], bound[top] = right, to_right
            stack[top + 1], bound[top + 1] = left, to_left
        else:
            stack[top], bound[top] = left, to_left
            stack[top + 1], bound[top + 1] = right, to_right
        top = min(top + 2, _STACK - 2)
    return n_found


@njit
def tree_fill(tree, P, slots):
    """Add the columns ``slots`` of ``P``."""
    for k in range(slots.size):
        tree_insert(tree, P, slots[k])
