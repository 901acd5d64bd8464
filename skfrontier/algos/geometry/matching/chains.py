"""Ejection chains: exchanges of partners along nearest neighbours that make a matching cheaper.

A chain starts at a point a of side A that gives up its partner b0. It takes a near b, whose partner takes a
near b in its turn, and so on, until the last one closes the chain by taking b0. The prefix that saves
most is applied; every applied chain makes the matching cheaper.
"""

from typing import NamedTuple

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.geometry.matching.point_tree import (
    norm_distance,
    tree_insert,
    tree_nearest,
    tree_remove,
)

FREE, ABSENT = -1, -2
_FEW = 64  # free points that are scanned one by one


class LiveMatching(NamedTuple):
    """The matching that is reported, and the lists that chains follow."""

    mate_a: np.ndarray
    mate_b: np.ndarray
    price: np.ndarray  # of the pair of each a
    near: np.ndarray  # (a, K): near points of side B, in no order
    n_near: np.ndarray
    free_a: np.ndarray
    free_b: np.ndarray
    place_a: np.ndarray  # where a point stands in its list of free ones
    place_b: np.ndarray
    used: np.ndarray  # (b,): the last chain that used it
    queue: np.ndarray
    queued: np.ndarray
    totals: np.ndarray  # [free a, free b, chains so far, head, length of the queue, steps so far]


def new_live(capacity: int, n_candidates: int) -> LiveMatching:
    """An empty matching."""
    mate_a, mate_b, free_a, free_b, place_a, place_b, used = (
        np.full(capacity, ABSENT, dtype=np.int64) for _ in range(7)
    )
    return LiveMatching(
        mate_a=mate_a,
        mate_b=mate_b,
        price=np.zeros(capacity),
        near=np.full((capacity, n_candidates), -1, dtype=np.int32),
        n_near=np.zeros(capacity, dtype=np.int64),
        free_a=free_a,
        free_b=free_b,
        place_a=place_a,
        place_b=place_b,
        used=used,
        queue=np.empty(capacity, dtype=np.int64),
        queued=np.zeros(capacity, dtype=np.bool_),
        totals=np.zeros(6, dtype=np.int64),
    )


# Free points.


@inner
def _set_free(mate, free, place, totals, side, i):
    mate[i] = FREE
    place[i] = totals[side]
    free[totals[side]] = i
    totals[side] += 1


@inner
def _unset_free(free, place, totals, side, i):
    totals[side] -= 1
    last = free[totals[side]]
    free[place[i]], place[last] = last, place[i]
    place[i] = -1


@inner
def _free_a(live, a):
    _set_free(live.mate_a, live.free_a, live.place_a, live.totals, 0, a)


@inner
def _free_b(live, b):
    _set_free(live.mate_b, live.free_b, live.place_b, live.totals, 1, b)


@inner
def _pair(live, code, q, A, B, a, b):
    """Match a and b; where they stood free they no longer do."""
    if live.mate_a[a] == FREE:
        _unset_free(live.free_a, live.place_a, live.totals, 0, a)
    if live.mate_b[b] == FREE:
        _unset_free(live.free_b, live.place_b, live.totals, 1, b)
    live.mate_a[a], live.mate_b[b] = b, a
    live.price[a] = norm_distance(code, q, A, a, B, b)


@inner
def _enqueue(live, a):
    if not live.queued[a]:
        live.queued[a] = True
        live.queue[(live.totals[3] + live.totals[4]) % live.queue.size] = a
        live.totals[4] += 1


# Points that come and go.


@inner
def _refill(live, code, q, A, B, tree_b, a, found, far):
    n = tree_nearest(tree_b, B, code, q, A, a, live.mate_b, False, found, far)
    for k in range(n):
        live.near[a, k] = found[k]
    live.n_near[a] = n


@njit
def enter(live, code, q, A, B, tree_a, tree_b, side, slots):
    """Add points of a side, free as yet."""
    size = live.near.shape[1]
    found, far = np.empty(size, dtype=np.int64), np.empty(size)
    wide, wide_far = np.empty(2 * size, dtype=np.int64), np.empty(2 * size)
    for s in range(slots.size):
        i = slots[s]
        if side == 0:
            tree_insert(tree_a, A, i)
            _refill(live, code, q, A, B, tree_b, i, found, far)
            _free_a(live, i)
            _enqueue(live, i)
        else:
            tree_insert(tree_b, B, i)
            _free_b(live, i)
            n = tree_nearest(tree_a, A, code, q, B, i, live.mate_a, False, wide, wide_far)
            for k in range(n):
                _offer(live, code, q, A, B, wide[k], i, wide_far[k])


@inner
def _offer(live, code, q, A, B, a, b, distance):
    """Put b into the list of a, in the place of the farthest where the list is full."""
    if live.n_near[a] < live.near.shape[1]:
        live.near[a, live.n_near[a]] = b
        live.n_near[a] += 1
        return
    farthest, at = distance, -1
    for k in range(live.n_near[a]):
        other = norm_distance(code, q, A, a, B, live.near[a, k])
        if other > farthest:
            farthest, at = other, k
    if at >= 0:
        live.near[a, at] = b


@njit
def leave(live, code, q, A, B, tree_a, tree_b, side, slots):
    """Remove points of a side; their partners become free."""
    size = live.near.shape[1]
    found, far = np.empty(size, dtype=np.int64), np.empty(size)
    wide, wide_far = np.empty(2 * size, dtype=np.int64), np.empty(2 * size)
    for s in range(slots.size):
        i = slots[s]
        if side == 0:
            tree_remove(tree_a, i)
            partner = live.mate_a[i]
            if partner == FREE:
                _unset_free(live.free_a, live.place_a, live.totals, 0, i)
            else:
                _free_b(live, partner)
            live.mate_a[i], live.n_near[i] = ABSENT, 0
        else:
            tree_remove(tree_b, i)
            partner = live.mate_b[i]
            if partner == FREE:
                _unset_free(live.free_b, live.place_b, live.totals, 1, i)
            else:
                _free_a(live, partner)
                _enqueue(live, partner)
            live.mate_b[i] = ABSENT
            n = tree_nearest(tree_a, A, code, q, B, i, live.mate_a, False, wide, wide_far)
            for k in range(n):
                _withdraw(live, wide[k], i)
                if 2 * live.n_near[wide[k]] < size:
                    _refill(live, code, q, A, B, tree_b, wide[k], found, far)


@inner
def _withdraw(live, a, b):
    for k in range(live.n_near[a]):
        if live.near[a, k] == b:
            live.n_near[a] -= 1
            live.near[a, k] = live.near[a, live.n_near[a]]
            return


@njit
def pair_free(live, code, q, A, B, tree_a, tree_b):
    """Match free points with the nearest free ones of the other side, however far."""
    found, far = np.empty(1, dtype=np.int64), np.empty(1)
    while live.totals[0] > 0 and live.totals[1] > 0:
        if live.totals[0] <= live.totals[1]:
            a = live.free_a[live.totals[0] - 1]
            if live.totals[1] <= _FEW:
                b = _nearest_of(code, q, A, a, B, live.free_b, live.totals[1])
            else:
                tree_nearest(tree_b, B, code, q, A, a, live.mate_b, True, found, far)
                b = found[0]
        else:
            b = live.free_b[live.totals[1] - 1]
            if live.totals[0] <= _FEW:
                a = _nearest_of(code, q, B, b, A, live.free_a, live.totals[0])
            else:
                tree_nearest(tree_a, A, code, q, B, b, live.mate_a, True, found, far)
                a = found[0]
        _pair(live, code, q, A, B, a, b)
        _enqueue(live, a)


@inner
def _nearest_of(code, q, P, i, Q, free, n):
    least, best = np.inf, free[0]
    for k in range(n):
        distance = norm_distance(code, q, P, i, Q, free[k])
        if distance < least:
            least, best = distance, free[k]
    return best


@njit
def queue_around_free(live, code, q, A, B, tree_a, newest):
    """Queue those a that would rather have one of the ``newest`` free b."""
    size = 2 * live.near.shape[1]
    wide, far = np.empty(size, dtype=np.int64), np.empty(size)
    for k in range(max(0, live.totals[1] - newest), live.totals[1]):
        _queue_around(live, code, q, A, B, tree_a, live.free_b[k], wide, far)


@inner
def _queue_around(live, code, q, A, B, tree_a, b, wide, far):
    n = tree_nearest(tree_a, A, code, q, B, b, live.mate_a, False, wide, far)
    for k in range(n):
        if live.mate_a[wide[k]] >= 0 and far[k] < live.price[wide[k]]:
            _enqueue(live, wide[k])


# Chains.


@njit
def queue_all(live, slots):
    """Queue points of side A."""
    for k in range(slots.size):
        _enqueue(live, slots[k])


@njit
def run_chains(live, code, q, A, B, depth, most):
    """Run the chains of the queue, ``most`` at most; points that change partners queue again.

    Returns how many b became free: they are the last ones in their list.
    """
    takers, taken = np.empty(depth + 1, dtype=np.int64), np.empty(depth + 1, dtype=np.int64)
    done, freed = 0, 0
    while live.totals[4] > 0:
        a = live.queue[live.totals[3]]
        live.totals[3] = (live.totals[3] + 1) % live.queue.size
        live.totals[4] -= 1
        live.queued[a] = False
        if done >= most or live.mate_a[a] == ABSENT:
            continue
        done += 1
        length = _chain(live, code, q, A, B, a, depth, takers, taken)
        if length > 0 and _apply(live, code, q, A, B, length, takers, taken) >= 0:
            freed += 1
    return freed


@inner
def _chain(live, code, q, A, B, a0, depth, takers, taken):
    """Follow a chain; return the length of its best prefix, 0 where none saves anything."""
    b0 = live.mate_a[a0]
    live.totals[2] += 1
    stamp = live.totals[2]
    if b0 >= 0:
        live.used[b0] = stamp
    gain = live.price[a0] if b0 >= 0 else 0.0
    best, length = 1e-12 * (1 + gain), 0
    a = a0
    for step in range(depth):
        takers[step] = a
        closing, pick, kept = -np.inf, np.int64(-1), 0.0
        for k in range(live.n_near[a]):
            b = np.int64(live.near[a, k])
            e = live.mate_b[b]
            if e == ABSENT or live.used[b] == stamp:
                continue
            left = gain - norm_distance(code, q, A, a, B, b)
            if left <= 0 and (b0 >= 0 or step > 0):
                continue
            if e == FREE:
                if b0 < 0:
                    continue
                saved = left
            else:
                left += live.price[e]
                saved = left - norm_distance(code, q, A, e, B, b0) if b0 >= 0 else left
            if saved > closing:
                closing, pick, kept = saved, b, left
        if pick < 0:
            break
        live.totals[5] += 1
        taken[step] = pick
        live.used[pick] = stamp
        gain = kept
        if closing > best:
            best, length = closing, step + 1
        if live.mate_b[pick] == FREE:
            break
        a = live.mate_b[pick]
    return length


@inner
def _apply(live, code, q, A, B, length, takers, taken):
    """Exchange partners along a prefix; return the b that became free, or -1."""
    b0 = live.mate_a[takers[0]]
    last = live.mate_b[taken[length - 1]]
    for k in range(length):
        _pair(live, code, q, A, B, takers[k], taken[k])
        _enqueue(live, takers[k])
    if last == FREE:
        _free_b(live, b0)
        return b0
    if b0 >= 0:
        _pair(live, code, q, A, B, last, b0)
    else:
        _free_a(live, last)
    _enqueue(live, last)
    return -1
