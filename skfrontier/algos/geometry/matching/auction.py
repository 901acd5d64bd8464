"""Auctions whose bidders look for their best object in a tree of boxes.

The price of the object y is ``price[y]``; the bidder x wants the y with the least ``c(x, y) + price[y]``. An
auction with step ``eps`` ends with every bidder within ``eps`` of what it wants, so the cost of its pairs is
within eps a pair of what the prices prove.
"""

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.geometry.matching.point_tree import norm_distance
from skfrontier.algos.geometry.matching.priced_tree import least_few, priced, reprice


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
    least_few(code, q, 1.0, packed, X, x, stack, bound, slots, sums)
    for t in range(near.shape[1]):
        near[x, t] = slots[t]
    beyond[x] = sums[near.shape[1]]
    return slots[0], sums[0], sums[1]


@njit
def find_values(code, q, X, tree, Y, price, near, beyond, bidders, value):
    """Write the least sum of distance and price of each of the ``bidders``."""
    packed = priced(tree, Y, price)
    stack, bound = np.empty(packed.least.size, np.int64), np.empty(packed.least.size)
    slots, sums = np.empty(near.shape[1] + 1, np.int64), np.empty(near.shape[1] + 1)
    for t in range(bidders.size):
        x = bidders[t]
        value[x] = _wanted(
            code, q, packed, X, x, Y, price, near, beyond, stack, bound, slots, sums
        )[1]


@njit
def find_prices(code, q, Y, tree, X, value, objects, price):
    """Write the least price of each of the ``objects`` that keeps the ``value`` of every bidder."""
    packed = priced(tree, X, -value)
    stack, bound = np.empty(packed.least.size, np.int64), np.empty(packed.least.size)
    slots, sums = np.empty(1, np.int64), np.empty(1)
    for t in range(objects.size):
        least_few(code, q, 1.0, packed, Y, objects[t], stack, bound, slots, sums)
        price[objects[t]] = -sums[0]


@njit
def auction(code, q, X, tree, Y, price, near, beyond, owner, owned, free, n_free, eps, most):
    """Let the ``free`` bidders bid until none is left, or ``most`` times; return those left.

    Who loses an object bids next: prices then rise where they must, one after the other.
    """
    packed = priced(tree, Y, price)
    stack, bound = np.empty(packed.least.size, np.int64), np.empty(packed.least.size)
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
        reprice(packed, y, price[y])
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
    packed = priced(tree, X, key)
    stack, bound = np.empty(packed.least.size, np.int64), np.empty(packed.least.size)
    slots, sums = np.empty(2, np.int64), np.empty(2)
    for _ in range(most):
        if n_free == 0:
            break
        n_free -= 1
        y = free[n_free]
        least_few(code, q, 1.0, packed, Y, y, stack, bound, slots, sums)
        x, saved = slots[0], -sums[0]
        if saved - eps <= floor:
            price[y] = floor
            continue
        drop = min(saved - floor, sums[1] - sums[0] + eps)
        price[y] = saved - drop
        key[x] += drop
        reprice(packed, x, key[x])
        left = owned[x]
        owner[left] = -1
        owner[y], owned[x] = x, y
        if price[left] > floor:
            free[n_free] = left
            n_free += 1
    return n_free
