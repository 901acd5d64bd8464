"""The two searches that repair an optimal matching: `grow` and `settle`.

X is the smaller side, Y the larger. The potentials satisfy u_x + v_y <= c(x, y) for all pairs and v <= 0;
in an optimal state matched pairs are tight and free y have v = 0. A search that may scan only ``limit`` rows
keeps the first of these: the bound stays true, the matching is near the best.
"""

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.geometry.matching.costs import cost_row, pair_cost


@njit
def grow(x, limit, code, q, power, matrix, X, Y, n, alive, u, v, mate_x, mate_y, price, dist, opened,
         row, pred, seen, seen_at):  # fmt: skip
    """Match the free ``x`` by a cheapest augmenting path; return the number of rows scanned.

    ``price[x]`` is the cost of the pair of x. ``dist``, ``opened``, ``row``, ``pred``, ``seen`` and
    ``seen_at`` are work arrays of at least ``n`` entries.
    """
    for j in range(n):
        dist[j] = np.inf
        opened[j] = v[j] if alive[j] else -np.inf
    u[x] = 0.0
    current, base, n_seen, n_rows = x, 0.0, 0, 0
    while True:
        cost_row(code, q, power, matrix, X, current, Y, n, row)
        n_rows += 1
        shift = base - u[current]
        nearest, end = np.inf, -1
        for j in range(n):
            through = row[j] - opened[j] + shift  # infinite where y has been scanned
            if through < dist[j]:
                dist[j] = through
                pred[j] = current
            if dist[j] <= nearest and (
                dist[j] < nearest or (mate_y[j] < 0 and dist[j] < np.inf)
            ):  # a free y wins a tie
                nearest, end = dist[j], j
        if mate_y[end] < 0:
            break
        if n_rows == limit:
            best = np.inf
            for j in range(n):
                if mate_y[j] < 0 and dist[j] < best:
                    best, end = dist[j], j
            break
        seen[n_seen], seen_at[n_seen] = end, nearest
        n_seen += 1
        opened[end], dist[end] = -np.inf, np.inf
        current, base = mate_y[end], nearest

    augment(x, end, nearest, n_seen, code, q, power, matrix, X, Y, u, v, mate_x, mate_y, price, pred,
            seen, seen_at)  # fmt: skip
    return n_rows


@inner
def augment(x, end, nearest, n_seen, code, q, power, matrix, X, Y, u, v, mate_x, mate_y, price, pred,
            seen, seen_at):  # fmt: skip
    """Move the potentials of what a search from ``x`` has seen, and match along the path to ``end``."""
    u[x] += nearest
    for k in range(n_seen):
        v[seen[k]] -= nearest - seen_at[k]
        u[mate_y[seen[k]]] += nearest - seen_at[k]
    y = end
    while True:
        along = pred[y]
        before = mate_x[along]
        mate_x[along], mate_y[y] = y, along
        price[along] = pair_cost(code, q, power, matrix, X, along, Y, y)
        if along == x:
            return
        y = before


@njit
def settle(y0, limit, code, q, power, matrix, X, Y, n, alive, u, v, mate_x, mate_y, price, dist, opened,
           row, pred, seen, seen_at):  # fmt: skip
    """Give the free ``y0`` with v < 0 its place, or raise its v to 0; return the number of rows scanned.

    All x must be matched. ``n`` and ``alive`` are of X here, ``code`` is that of pairs (y, x).
    """
    for i in range(n):
        dist[i] = np.inf
        opened[i] = u[i] if alive[i] else -np.inf
    best, leaves = -v[y0], y0
    current, base, n_seen, n_rows = y0, 0.0, 0, 0
    while True:
        cost_row(code, q, power, matrix, Y, current, X, n, row)
        n_rows += 1
        shift = base - v[current]
        nearest, end = np.inf, -1
        for i in range(n):
            through = row[i] - opened[i] + shift
            if through < dist[i]:
                dist[i] = through
                pred[i] = current
            if dist[i] < nearest:
                nearest, end = dist[i], i
        if nearest >= best:
            nearest = best
            break
        if n_rows == limit:
            break
        seen[n_seen], seen_at[n_seen] = end, nearest
        n_seen += 1
        opened[end], dist[end] = -np.inf, np.inf
        current, base = mate_x[end], nearest
        if nearest - v[current] < best:
            best, leaves = nearest - v[current], current

    release(y0, leaves, nearest, n_seen, code, q, power, matrix, X, Y, u, v, mate_x, mate_y, price,
            pred, seen, seen_at)  # fmt: skip
    return n_rows


@inner
def release(y0, leaves, nearest, n_seen, code, q, power, matrix, X, Y, u, v, mate_x, mate_y, price,
            pred, seen, seen_at):  # fmt: skip
    """Move the potentials of what a search from ``y0`` has seen, and let the path end where y leaves."""
    v[y0] += nearest
    for k in range(n_seen):
        change = nearest - seen_at[k]
        if change > 0:
            u[seen[k]] -= change
            v[mate_x[seen[k]]] += change
    x = mate_y[leaves]
    mate_y[leaves] = -1
    while x >= 0:
        y = pred[x]
        following = mate_y[y]  # read before it is overwritten; -1 at y0
        mate_x[x], mate_y[y] = y, x
        price[x] = pair_cost(code, q, power, matrix, Y, y, X, x)
        x = following if y != y0 else -1


@njit
def highest_price(y, code, q, power, matrix, X, Y, n, alive, u, mate_x, row):
    """The largest v <= 0 that is feasible for y and all matched x."""
    cost_row(code, q, power, matrix, Y, y, X, n, row)
    highest = 0.0
    for i in range(n):
        if alive[i] and mate_x[i] >= 0:
            highest = min(highest, row[i] - u[i])
    return highest


@njit
def greedy_start(code, q, power, matrix, X, Y, n_x, n_y, alive_x, alive_y, u, v, mate_x, mate_y,
                 price, row):  # fmt: skip
    """Give every free x its best u for the present v, and a free y where one is tight."""
    for x in range(n_x):
        if not alive_x[x] or mate_x[x] >= 0:
            continue
        cost_row(code, q, power, matrix, X, x, Y, n_y, row)
        least, best = np.inf, -1
        for y in range(n_y):
            if alive_y[y] and row[y] - v[y] < least:
                least, best = row[y] - v[y], y
        u[x] = least
        if mate_y[best] < 0:
            mate_x[x], mate_y[best] = best, x
            price[x] = row[best]
