"""What one edge change does to the levels: entries move, vertices are pulled out, votes are held."""

from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.graphs.clustering.adjacency import (
    CHANGED,
    DEGREE,
    HEAD,
    LENGTH,
    LOG_LENGTH,
    N_NEIGHBORS,
    OPEN,
    ROUNDING,
    START,
    VOTED,
    change_edge,
    compact_if_sparse,
)
from skfrontier.algos.graphs.clustering.levels import (
    BUDGET,
    EPOCH,
    FIRST_NODE,
    N_BLOCKS,
    N_NODES,
    N_PULLED,
    N_USED,
    SLOT_MASK,
    TOP,
    add_entry,
    add_volume,
    parent_of,
    set_parent,
)

# Positions in ``tally``
ENTRIES_READ, PULLS, MOVES, VOTES, OPEN_VOLUME = range(5)


@njit
def apply_edges(us, vs, changes, position, log, levels, affinity, prior, beta, rate, tally):
    """Apply the edge changes from ``position`` on.

    Parameters
    ----------
    us, vs, changes : arrays of shape (m,)
        Ends of the edges, and the weight added to or (negative) taken from them.
    position : int
        Where to begin.
    log, levels : LogArrays, LevelArrays
        The state, changed in place.
    affinity : array of shape (n_labels, n_labels)
        Log of the density between clusters over that of chance.
    prior : array of shape (n_labels,)
        What speaks for a label before any neighbour does.
    beta, rate : float
        A vertex leaves its block once the share ``beta`` of its degree has changed, and votes whenever
        the share ``rate`` has; no votes with a rate of 0.
    tally : array
        What is counted.

    Returns
    -------
    position : int
        The first change that was not applied: all are where it is their number.
    level : int
        The level whose table has too little room for that change.
    room : int
        How much it needs.
    """
    n_levels = levels.info.shape[0] - 1
    n_labels = affinity.shape[0]
    ids = np.empty((4, n_levels + 2), np.int64)
    label_weight = np.zeros(n_labels)
    n_blocks = 1
    for level in range(1, n_levels + 1):
        n_blocks = max(n_blocks, levels.info[level, N_BLOCKS])
    block_weight = np.zeros(n_blocks)
    for i in range(position, us.shape[0]):
        u, v = np.int64(us[i]), np.int64(vs[i])
        level, room = _lacks_room(log, levels, u, v)
        if level > 0:
            return i, level, room
        _begin_epochs(log, levels, u, beta)
        _begin_epochs(log, levels, v, beta)
        _change_levels(log, levels, u, v, changes[i], ids)
        for x in (u, v):
            _pull_if_due(log, levels, x, ids, tally)
        for x in (u, v):
            _vote_if_due(
                log, levels, affinity, prior, rate, x, ids, label_weight, block_weight, tally
            )
        for level in range(1, levels.info[0, TOP] + 1):
            if levels.info[level, N_PULLED] > levels.info[level, BUDGET]:
                levels.info[0, TOP] = level - 1
                break
    return us.shape[0], 0, 0


@inner
def _lacks_room(log, levels, u, v):
    """The first level whose table could pass half of its slots: a pull and a vote at both ends."""
    entries = log.vertex[u, LOG_LENGTH] + log.vertex[v, LOG_LENGTH] + 2
    for level in range(1, levels.info[0, TOP] + 1):
        room = 4 * min(entries, 2 * (levels.info[level, N_NODES] + 2)) + 8
        if 2 * (levels.info[level, N_USED] + room) > levels.info[level, SLOT_MASK] + 1:
            return level, room
    return 0, 0


@inner
def _begin_epochs(log, levels, x, beta):
    """Note degree and changes of ``x`` where a level was made anew since it was touched last."""
    for level in range(levels.info[0, TOP]):
        epoch = levels.info[level + 1, EPOCH]
        if levels.stamp[x, level] >> 1 != epoch:
            levels.stamp[x, level] = 2 * epoch
            levels.due[x, level] = log.weight[x, CHANGED] + beta * log.weight[x, DEGREE]


@inner
def _change_levels(log, levels, u, v, change, ids):
    """The change in the graph and in the matrix of each maintained level."""
    lived_u, lived_v = log.vertex[u, N_NEIGHBORS] > 0, log.vertex[v, N_NEIGHBORS] > 0
    change, _ = change_edge(log, u, v, change)
    born_u = np.int64(log.vertex[u, N_NEIGHBORS] > 0) - np.int64(lived_u)
    born_v = np.int64(log.vertex[v, N_NEIGHBORS] > 0) - np.int64(lived_v)
    a, b = u, v
    for level in range(1, levels.info[0, TOP] + 1):
        a, b = parent_of(levels, level - 1, a), parent_of(levels, level - 1, b)
        add_entry(levels, level, a, b, 2 * change if a == b else change)
        add_volume(levels, level, a, change)
        add_volume(levels, level, b, change)
        levels.n_live[levels.info[level, FIRST_NODE] + a] += born_u
        levels.n_live[levels.info[level, FIRST_NODE] + b] += born_v


@inner
def _pull_if_due(log, levels, x, ids, tally):
    """Take ``x`` out of its block at the coarsest level that asks for it, and at all finer ones."""
    high = 0
    for level in range(levels.info[0, TOP], 0, -1):
        if levels.stamp[x, level - 1] & 1 == 1:
            break  # so it is at all finer levels
        due = levels.due[x, level - 1]
        if log.weight[x, CHANGED] >= due or log.vertex[x, N_NEIGHBORS] == 0:
            high = level
            break
    if high == 0:
        return
    low = high
    while low > 1 and levels.stamp[x, low - 2] & 1 == 0:
        low -= 1
    old, new = ids[0], ids[1]
    below = x  # the node one level down, after the pull
    for level in range(1, low):
        below = parent_of(levels, level - 1, below)
    old_node = below
    for level in range(low, high + 1):
        old_node = parent_of(levels, level - 1, old_node)
        old[level] = old_node
        new[level] = _new_node(levels, level, old_node)
        set_parent(levels, level - 1, below, new[level])
        below = new[level]
        levels.stamp[x, level - 1] |= 1
        levels.info[level, N_PULLED] += 1
    _move(log, levels, x, low, high, ids, tally)
    tally[PULLS] += 1


@inner
def _new_node(levels, level, twin):
    """An empty node of a level, with the parent of ``twin``."""
    node = levels.info[level, N_NODES]
    levels.info[level, N_NODES] = node + 1
    i = levels.info[level, FIRST_NODE] + node
    levels.volume[i] = 0.0
    levels.peak[i] = 0.0
    levels.n_live[i] = 0
    levels.parent[i] = parent_of(levels, level, twin)
    return node


@inner
def _move(log, levels, x, low, high, ids, tally):
    """Move the row of ``x`` from node ``ids[0]`` to node ``ids[1]`` at levels low..high.

    ``x`` has no loop, so none of its neighbours is itself and each entry moves by itself.
    """
    compact_if_sparse(log, x)
    old, new = ids[0], ids[1]
    first = log.vertex[x, START]
    for i in range(first, first + log.vertex[x, LENGTH]):
        _move_entry(levels, log.row_neighbor[i], log.row_weight[i], low, high, old, new)
    i = log.vertex[x, HEAD]
    while i >= 0:
        _move_entry(levels, log.change_neighbor[i], log.change_weight[i], low, high, old, new)
        i = log.older[i]
    tally[ENTRIES_READ] += log.vertex[x, LOG_LENGTH]
    lives = np.int64(log.vertex[x, N_NEIGHBORS] > 0)
    for level in range(low, high + 1):
        add_volume(levels, level, old[level], -log.weight[x, DEGREE])
        add_volume(levels, level, new[level], log.weight[x, DEGREE])
        levels.n_live[levels.info[level, FIRST_NODE] + old[level]] -= lives
        levels.n_live[levels.info[level, FIRST_NODE] + new[level]] += lives


@inner
def _move_entry(levels, z, weight, low, high, old, new):
    node = np.int64(z)
    for level in range(1, high + 1):
        node = parent_of(levels, level - 1, node)
        if level >= low:
            a, b = old[level], new[level]
            add_entry(levels, level, a, node, -2 * weight if node == a else -weight)
            add_entry(levels, level, b, node, 2 * weight if node == b else weight)


@inner
def _vote_if_due(log, levels, affinity, prior, rate, x, ids, label_weight, block_weight, tally):
    """Let the neighbours of ``x`` vote on its label, and move it where they say otherwise."""
    level = 1  # finest one where x is still in a block
    while level <= levels.info[0, TOP] and levels.stamp[x, level - 1] & 1 == 1:
        level += 1
    if level > levels.info[0, TOP]:  # the next query clusters x by itself
        _count_open(log, x, 0.0, tally)
        return
    _count_open(log, x, log.weight[x, DEGREE], tally)
    if rate <= 0 or log.vertex[x, N_NEIGHBORS] == 0:
        return
    if log.weight[x, CHANGED] - log.weight[x, VOTED] < rate * log.weight[x, DEGREE]:
        return
    log.weight[x, VOTED] = log.weight[x, CHANGED]
    tally[VOTES] += 1
    node = x
    for below in range(level):
        node = parent_of(levels, below, node)
    owner = _label_above(levels, level, node)
    compact_if_sparse(log, x)
    tally[ENTRIES_READ] += log.vertex[x, LOG_LENGTH]
    _count_votes(log, levels, x, level, label_weight, block_weight, 1.0)
    winner = best_label(affinity, prior, label_weight, owner, ROUNDING * log.weight[x, DEGREE])
    target: Any = np.int64(-1)
    if winner != owner:
        for block in range(levels.info[level, N_BLOCKS]):
            heavier = block_weight[block] > (block_weight[target] if target >= 0 else 0.0)
            if heavier and _label_above(levels, level, block) == winner:
                target = block
    _count_votes(log, levels, x, level, label_weight, block_weight, 0.0)  # zero again
    if target >= 0:
        _move_to_block(log, levels, x, level, target, ids, tally)
        tally[MOVES] += 1
    if target >= 0 or winner == owner:
        _count_open(log, x, 0.0, tally)


@inner
def _count_open(log, x, volume, tally):
    """Count ``x`` with a volume among the vertices that changed since their vote, or dissent from it."""
    tally[OPEN_VOLUME] += volume - log.weight[x, OPEN]
    log.weight[x, OPEN] = volume


@inner
def _label_above(levels, level, node):
    """Label of a node of a level, -1 where it has none."""
    for above in range(level, levels.info.shape[0]):
        if node < 0:
            return node
        node = parent_of(levels, above, node)
    return node


@inner
def _count_votes(log, levels, x, level, label_weight, block_weight, factor):
    """Weight from ``x`` to each label, and to each block of a level; a factor 0 clears them."""
    first = log.vertex[x, START]
    for i in range(first, first + log.vertex[x, LENGTH]):
        _count_vote(
            levels, log.row_neighbor[i], factor * log.row_weight[i], factor, level,
            label_weight, block_weight,
        )  # fmt: skip
    i = log.vertex[x, HEAD]
    while i >= 0:
        _count_vote(
            levels, log.change_neighbor[i], factor * log.change_weight[i], factor, level,
            label_weight, block_weight,
        )  # fmt: skip
        i = log.older[i]


@inner
def _count_vote(levels, z, weight, factor, level, label_weight, block_weight):
    node = np.int64(z)
    for below in range(level):
        node = parent_of(levels, below, node)
    if node < levels.info[level, N_BLOCKS]:
        block_weight[node] = block_weight[node] * factor + weight
    label = _label_above(levels, level, node)
    if 0 <= label < label_weight.shape[0]:
        label_weight[label] = label_weight[label] * factor + weight


@inner
def best_label(affinity, prior, label_weight, owner, least):
    """The label of largest likelihood score among those with more weight than ``least`` to the vertex.

    Ties go to the owner.
    """
    n_labels = label_weight.shape[0]
    best, best_score = owner, -np.inf
    if 0 <= owner < n_labels and label_weight[owner] > least:
        best_score = _score(affinity, prior, label_weight, owner)
    for r in range(n_labels):
        if label_weight[r] > least and r != owner:
            score = _score(affinity, prior, label_weight, r)
            if score > best_score:
                best, best_score = r, score
    return best


@inner
def _score(affinity, prior, label_weight, r):
    total = prior[r]
    for s in range(label_weight.shape[0]):
        if label_weight[s] > 0:
            total += label_weight[s] * affinity[r, s]
    return total


@inner
def _move_to_block(log, levels, x, level, target, ids, tally):
    """Put ``x`` into a block of a level, and so into the ancestors of that block."""
    below = x
    for finer in range(level - 1):
        below = parent_of(levels, finer, below)
    old_node = parent_of(levels, level - 1, below)
    set_parent(levels, level - 1, below, target)
    new_node = target
    old, new = ids[0], ids[1]
    high = level - 1
    while high < levels.info[0, TOP] and old_node != new_node:
        high += 1
        old[high], new[high] = old_node, new_node
        old_node, new_node = parent_of(levels, high, old_node), parent_of(levels, high, new_node)
    if high >= level:
        _move(log, levels, x, level, high, ids, tally)


@njit
def sweep_votes(indptr, indices, data, labels, affinity, prior):
    """Labels after every vertex with an edge has voted once, all at the same time."""
    n_labels = affinity.shape[0]
    weight = np.zeros(n_labels)
    after = labels.copy()
    for x in range(labels.shape[0]):
        if indptr[x] == indptr[x + 1]:
            continue
        for i in range(indptr[x], indptr[x + 1]):
            if labels[indices[i]] >= 0:
                weight[labels[indices[i]]] += data[i]
        after[x] = best_label(affinity, prior, weight, labels[x], 0.0)
        for i in range(indptr[x], indptr[x + 1]):
            if labels[indices[i]] >= 0:
                weight[labels[indices[i]]] = 0.0
    return after
