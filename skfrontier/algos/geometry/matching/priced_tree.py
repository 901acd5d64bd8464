"""A tree of boxes that finds the points with the least sum of cost and price."""

from typing import NamedTuple

import numpy as np

from skfrontier.algos._numba import inner
from skfrontier.algos.geometry.matching.costs import raised
from skfrontier.algos.geometry.matching.point_tree import box_distance, norm_distance


class PricedTree(NamedTuple):
    """A `PointTree` packed for many searches: points leaf by leaf, boxes that are tight, least prices."""

    low: np.ndarray  # (nodes, d)
    high: np.ndarray
    child: np.ndarray  # (nodes, 2)
    parent: np.ndarray
    least: np.ndarray  # price below a node
    start: np.ndarray  # of the points of a leaf
    stop: np.ndarray
    points: np.ndarray  # (d, n)
    price: np.ndarray  # (n,)
    slot: np.ndarray  # (n,)
    place: np.ndarray  # of the point in a slot
    leaf: np.ndarray  # of the point in a slot, from the `PointTree`


@inner
def priced(tree, Q, price):
    """Pack the points of a tree over ``Q`` with their prices."""
    n_nodes, d = tree.n_nodes[0], Q.shape[0]
    n = 0
    for node in range(n_nodes):
        if tree.child[node, 0] < 0:
            n += tree.held[node]
    packed = PricedTree(
        np.full((n_nodes, d), np.inf), np.full((n_nodes, d), -np.inf), tree.child,
        np.full(n_nodes, -1), np.full(n_nodes, np.inf), np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64), np.empty((d, n)), np.empty(n), np.empty(n, np.int64),
        np.empty(Q.shape[1], np.int64), tree.leaf,
    )  # fmt: skip
    n = 0
    for node in range(n_nodes - 1, -1, -1):  # children stand behind their parents
        if tree.child[node, 0] < 0:
            packed.start[node] = n
            j = tree.head[node]
            while j >= 0:
                for k in range(d):
                    x = Q[k, j]
                    packed.points[k, n] = x
                    packed.low[node, k] = min(packed.low[node, k], x)
                    packed.high[node, k] = max(packed.high[node, k], x)
                packed.price[n], packed.slot[n], packed.place[j] = price[j], j, n
                packed.least[node] = min(packed.least[node], price[j])
                n += 1
                j = tree.following[j]
            packed.stop[node] = n
            continue
        for side in range(2):
            below = tree.child[node, side]
            packed.parent[below] = node
            packed.least[node] = min(packed.least[node], packed.least[below])
            for k in range(d):
                packed.low[node, k] = min(packed.low[node, k], packed.low[below, k])
                packed.high[node, k] = max(packed.high[node, k], packed.high[below, k])
    return packed


@inner
def reprice(packed, j, price):
    """Give the point in slot j another price."""
    packed.price[packed.place[j]] = price
    node = packed.leaf[j]
    least = np.inf
    for t in range(packed.start[node], packed.stop[node]):
        least = min(least, packed.price[t])
    packed.least[node] = least
    node = packed.parent[node]
    while node >= 0:
        least = min(packed.least[packed.child[node, 0]], packed.least[packed.child[node, 1]])
        if least == packed.least[node]:
            return
        packed.least[node] = least
        node = packed.parent[node]


@inner
def least_few(code, q, power, packed, P, i, stack, bound, slots, sums):
    """Write the slots with the least sums of cost from column i and price, ascending, then -1.

    ``stack`` and ``bound`` are work arrays with an entry for each node. Returns how many points and nodes
    were looked at.
    """
    low, high, child, least = packed.low, packed.high, packed.child, packed.least
    points, price = packed.points, packed.price
    for t in range(sums.size):
        slots[t], sums[t] = -1, np.inf
    last = sums.size - 1
    stack[0], bound[0] = 0, least[0]
    top, looked = 1, 0
    while top > 0:
        top -= 1
        node = stack[top]
        if bound[top] >= sums[last]:
            continue
        looked += 1
        left = child[node, 0]
        if left < 0:
            looked += packed.stop[node] - packed.start[node]
            for t in range(packed.start[node], packed.stop[node]):
                if price[t] >= sums[last]:
                    continue
                value = raised(norm_distance(code, q, P, i, points, t), power) + price[t]
                if value < sums[last]:
                    at = last
                    while at > 0 and sums[at - 1] > value:
                        sums[at], slots[at] = sums[at - 1], slots[at - 1]
                        at -= 1
                    sums[at], slots[at] = value, packed.slot[t]
            continue
        right = child[node, 1]
        to_left = least[left] + raised(box_distance(code, q, low, high, left, P, i), power)
        to_right = least[right] + raised(box_distance(code, q, low, high, right, P, i), power)
        if to_left < to_right:  # the better one is looked at first
            left, right, to_left, to_right = right, left, to_right, to_left
        if to_left < sums[last]:
            stack[top], bound[top] = left, to_left
            top += 1
        if to_right < sums[last]:
            stack[top], bound[top] = right, to_right
            top += 1
    return looked
