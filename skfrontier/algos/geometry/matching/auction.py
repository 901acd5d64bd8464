"""Auctions whose bidders look for their best object in a tree of boxes.

The price of the object y is ``price[y]``; the bidder x wants the y with the least ``c(x, y) + price[y]``. An
auction with step ``eps`` ends with every bidder within ``eps`` of what it wants, so the cost of its pairs is
within eps a pair of what the prices prove.
"""

from typing import NamedTuple

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.geometry.matching.point_tree import box_distance, norm_distance

_STACK = 512


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
def _priced(tree, Q, price):
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
def _reprice(packed, j, price):
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
def _least_few(code, q, packed, P, i, stack, bound, slots, sums):
    """Write the slots with the least sums of distance from column i and price, ascending, then -1."""
    low, high, child, least = packed.low, packed.high, packed.child, packed.least
    points, price = packed.points, packed.price
    for t in range(sums.size):
        slots[t], sums[t] = -1, np.inf
    last = sums.size - 1
    stack[0], bound[0] = 0, least[0]
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if bound[top] >= sums[last]:
            continue
        left = child[node, 0]
        if left < 0:
            for t in range(packed.start[node], packed.stop[node]):
                if price[t] >= sums[last]:
                    continue
                value = norm_distance(code, q, P, i, points, t) + price[t]
                if value < sums[last]:
                    at = last
                    while at > 0 and sums[at - 1] > value:
                        sums[at], slots[at] = sums[at - 1], slots[at - 1]
                        at -= 1
                    sums[at], slots[at] = value, packed.slot[t]
            continue
        right = child[node, 1]
        to_left = least[left] + box_distance(code, q, low, high, left, P, i)
        to_right = least[right] + box_distance(code, q, low, high, right, P, i)
        if to_left < to_right:  # the better one is looked at first
            left, right, to_left, to_right = right, left, to_right, to_left
        if to_left < sums[last]:
            stack[top], bound[top] = left, to_left
            top += 1
        if to_right < sums[last]:
            stack[top], bound[top] = right, to_right
            top += 1
        top = min(top, _STACK - 2)


@inner
def _wanted(code, q, packed, X, x, Y, price, near, beyond, stack, bound, slots, sums):
    """The object that x wants, what it costs in all, and what the second best does.

    Prices rise, so what was not among the few best of the last search still costs at least ``beyond[x]``: a
    new search is due only when two of the few no longer cost less.
    """
    y, first, second = -1, np.inf, np.inf
    for t in range(near.shape[1]):
        j = near[x, t]
        if j >= 0 and price[j] < second:
            value = norm_distance(code, q, X, x, Y, j) + price[j]
            if value < first:
                y, first, second = j, value, first
            elif value < second:
                second = value
    if second <= beyond[x]:
        return y, first, second
    _least_few(code, q, packed, X, x, stack, bound, slots, sums)
    for t in range(near.shape[1]):
        near[x, t] = slots[t]
    beyond[x] = sums[near.shape[1]]
    return slots[0], sums[0], sums[1]


@njit
def find_values(code, q, X, tree, Y, price, near, beyond, bidders, value):
    """Write the least sum of distance and price of each of the ``bidders``."""
    packed = _priced(tree, Y, price)
    stack, bound = np.empty(_STACK, np.int64), np.empty(_STACK)
    slots, sums = np.empty(near.shape[1] + 1, np.int64), np.empty(near.shape[1] + 1)
    for t in range(bidders.size):
        x = bidders[t]
        value[x] = _wanted(
            code, q, packed, X, x, Y, price, near, beyond, stack, bound, slots, sums
        )[1]


@njit
def find_prices(code, q, Y, tree, X, value, objects, price):
    """Write the least price of each of the ``objects`` that keeps the ``value`` of every bidder."""
    packed = _priced(tree, X, -value)
    stack, bound = np.empty(_STACK, np.int64), np.empty(_STACK)
    slots, sums = np.empty(1, np.int64), np.empty(1)
    for t in range(objects.size):
        _least_few(code, q, packed, Y, objects[t], stack, bound, slots, sums)
        price[objects[t]] = -sums[0]


@njit
def auction(code, q, X, tree, Y, price, near, beyond, owner, owned, free, n_free, eps, most):
    """Let the ``free`` bidders bid until none is left, or ``most`` times; return those left.

    Who loses an object bids next: prices then rise where they must, one after the other.
    """
    packed = _priced(tree, Y, price)
    stack, bound = np.empty(_STACK, np.int64), np.empty(_STACK)
    slots, sums = np.empty(near.shape[1] + 1, np.int64), np.empty(near.shape[1] + 1)
    for _ in range(most):
        if n_free == 0:
            break
        x = free[n_free - 1]
        y, first, second = _wanted(
            code, q, packed, X, x, Y, price, near, beyond, stack, bound, slots, sums
        )
        if second == np.inf:  # the only object
            second = first
        price[y] += second - first + eps
        _reprice(packed, y, price[y])
        loser = owner[y]
        owner[y], owned[x] = x, y
        if loser >= 0:
            owned[loser] = -1
            free[n_free - 1] = loser
        else:
            n_free -= 1
    return n_free


@njit
def reverse_auction(code, q, tree, X, key, Y, price, owner, owned, free, n_free, floor, eps, most):
    """Let the ``free`` objects, dearer than ``floor``, court bidders; return those left.

    ``-key[x]`` is what x pays in all for what it owns. An object falls to the floor, or takes the bidder that
    saves most by it.
    """
    packed = _priced(tree, X, key)
    stack, bound = np.empty(_STACK, np.int64), np.empty(_STACK)
    slots, sums = np.empty(2, np.int64), np.empty(2)
    for _ in range(most):
        if n_free == 0:
            break
        n_free -= 1
        y = free[n_free]
        _least_few(code, q, packed, Y, y, stack, bound, slots, sums)
        x, saved = slots[0], -sums[0]
        if saved - eps <= floor:
            price[y] = floor
            continue
        drop = min(saved - floor, sums[1] - sums[0] + eps)
        price[y] = saved - drop
        key[x] += drop
        _reprice(packed, x, key[x])
        left = owned[x]
        owner[left] = -1
        owner[y], owned[x] = x, y
        if price[left] > floor:
            free[n_free] = left
            n_free += 1
    return n_free
