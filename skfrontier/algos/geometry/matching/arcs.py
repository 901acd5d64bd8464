"""Linked lists of arcs between points and hubs, and the shortest-path searches of the flow on them.

Arcs are undirected and listed at both ends; the roles of the ends give the direction. ``first[node]`` is the
newest arc of a node, ``following[arc]`` the next one of the same node, ``head[arc]`` the other end.
"""

import numpy as np

from skfrontier.algos._numba import inner, njit

SOURCE, SINK, HUB, DEAD = range(4)


@njit
def link_arcs(first, following, head, cost, n_arcs, left, right, price):
    """Add arcs between ``left`` and ``right``; return their new number. There must be room."""
    for k in range(left.size):
        a, b = left[k], right[k]
        head[n_arcs], cost[n_arcs], following[n_arcs] = b, price[k], first[a]
        first[a] = n_arcs
        head[n_arcs + 1], cost[n_arcs + 1], following[n_arcs + 1] = a, price[k], first[b]
        first[b] = n_arcs + 1
        n_arcs += 2
    return n_arcs


@inner
def push(keys, nodes, size, key, node):
    """Put an entry into a binary heap of ``size`` entries."""
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if keys[parent] <= key:
            break
        keys[at], nodes[at] = keys[parent], nodes[parent]
        at = parent
    keys[at], nodes[at] = key, node


@inner
def sink_last(keys, nodes, size):
    """Remove the root of a heap of ``size`` entries."""
    key, node = keys[size - 1], nodes[size - 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], nodes[at] = keys[child], nodes[child]
        at = child
    keys[at], nodes[at] = key, node


@njit
def grow_flow(a, first, following, head, cost, role, pi, link, dist, pred, done, keys, nodes):
    """Send the unit of the source ``a`` to a free sink; return popped nodes, -1 where there is no way.

    ``link`` is the node that a source sends to, or that a sink gets from; -1 where it is free.
    """
    n = role.size
    for node in range(n):
        dist[node], done[node] = np.inf, False
    best = -np.inf
    arc = first[a]
    while arc >= 0:
        if role[head[arc]] == SINK or role[head[arc]] == HUB:
            best = max(best, pi[head[arc]] - cost[arc])
        arc = following[arc]
    if best == -np.inf:
        return -1
    pi[a] = best
    dist[a], pred[a] = 0.0, -1
    push(keys, nodes, 0, 0.0, a)
    size, popped, end = 1, 0, -1
    while size > 0:
        node, base = nodes[0], keys[0]
        sink_last(keys, nodes, size)
        size -= 1
        if done[node]:
            continue
        done[node] = True
        popped += 1
        if role[node] == SINK:
            if link[node] < 0:
                end = node
                break
            back = link[node]  # the unit may be taken back, at no reduced cost
            if not done[back] and base < dist[back]:
                dist[back], pred[back] = base, node
                push(keys, nodes, size, base, back)
                size += 1
            continue
        arc = first[node]
        while arc >= 0:
            other = head[arc]
            if not done[other] and role[other] != DEAD:
                forward = role[other] == SINK or (role[node] == SOURCE and role[other] == HUB)
                backward = role[node] == HUB and role[other] == SOURCE and link[other] == node
                if forward or backward:
                    step = max(cost[arc] + pi[node] - pi[other], 0.0) if forward else 0.0
                    if base + step < dist[other]:
                        dist[other], pred[other] = base + step, node
                        push(keys, nodes, size, base + step, other)
                        size += 1
            arc = following[arc]
    if end < 0:
        return -1
    far = dist[end]
    for node in range(n):
        if done[node]:
            pi[node] += dist[node] - far
    write_path(end, a, role, link, pred, True)
    return popped


@njit
def settle_flow(b, first, following, head, cost, role, pi, link, dist, pred, done, keys, nodes):
    """Let the free sink ``b`` with negative potential take a unit that is dearer elsewhere; return pops."""
    n = role.size
    for node in range(n):
        dist[node], done[node] = np.inf, False
    best, leaves = -pi[b], b
    dist[b], pred[b] = 0.0, -1
    push(keys, nodes, 0, 0.0, b)
    size, popped = 1, 0
    while size > 0:
        node, base = nodes[0], keys[0]
        sink_last(keys, nodes, size)
        size -= 1
        if done[node]:
            continue
        if base >= best:
            break
        done[node] = True
        popped += 1
        if role[node] == SINK and link[node] >= 0 and base - pi[node] < best:
            best, leaves = base - pi[node], node
        if role[node] == SOURCE:
            if link[node] >= 0 and not done[link[node]] and base < dist[link[node]]:
                dist[link[node]], pred[link[node]] = base, node
                push(keys, nodes, size, base, link[node])
                size += 1
            continue
        arc = first[node]
        while arc >= 0:
            other = head[arc]
            if not done[other] and role[other] != DEAD:
                forward = role[other] == SOURCE or (role[other] == HUB and role[node] == SINK)
                backward = role[node] == HUB and role[other] == SINK and link[other] == node
                if forward or backward:
                    step = max(cost[arc] + pi[other] - pi[node], 0.0) if forward else 0.0
                    if base + step < dist[other]:
                        dist[other], pred[other] = base + step, node
                        push(keys, nodes, size, base + step, other)
                        size += 1
            arc = following[arc]
    for node in range(n):
        if done[node] and dist[node] < best:
            pi[node] += best - dist[node]
    if leaves != b:
        write_path(leaves, b, role, link, pred, False)
    return popped


@inner
def write_path(start, stop, role, link, pred, backwards):
    """Write the forward arcs of the path from ``start`` along ``pred`` to ``stop``.

    ``backwards``: ``pred`` leads against the flow, from the sink that is reached. Arcs that the path uses in
    reverse need nothing: their ends are written by the forward arcs beside them.
    """
    if not backwards:
        link[start] = -1
    node = start
    while node != stop:
        other = pred[node]
        tail, tip = (other, node) if backwards else (node, other)
        if role[tip] == SINK:
            link[tip] = tail
        if role[tail] == SOURCE:
            link[tail] = tip
        node = other


@njit
def sink_price(b, first, following, head, cost, role, pi, link):
    """The largest potential <= 0 that is feasible for the sink ``b``; free sources are not asked."""
    highest = 0.0
    arc = first[b]
    while arc >= 0:
        other = head[arc]
        if role[other] == HUB or (role[other] == SOURCE and link[other] >= 0):
            highest = min(highest, cost[arc] + pi[other])
        arc = following[arc]
    return highest


@njit
def partner_through(hub, wanted, first, following, head, role, link):
    """A point of the role ``wanted`` whose unit goes through ``hub``."""
    arc = first[hub]
    while arc >= 0:
        if role[head[arc]] == wanted and link[head[arc]] == hub:
            return head[arc]
        arc = following[arc]
    return -1
