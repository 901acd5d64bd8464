"""What one edge change does to the levels: entries move, vertices are pulled out, votes are held."""

from collections import namedtuple

import numpy as np

from skfrontier.algos._numba import njit
from skfrontier.algos.graphs.clustering.adjacency import (
    ROUNDING,
    change_edge,
    compact_if_sparse,
)
from skfrontier.algos.graphs.clustering.levels import (
    add_entry,
    add_volume,
    parent_of,
    set_parent,
)

# Positions in ``tally``
ENTRIES_READ, PULLS, MOVES, VOTES = range(4)

VoteArrays = namedtuple(  # noqa: PYI024 - numba knows this one
    "VoteArrays",
    [
        "rate",  # a vertex votes when this share of its degree has changed; <= 0: never
        "affinity",  # (n_labels, n_labels): log of the density between clusters over that of chance
        "changed_then",  # changes of each vertex when it voted last
        "disagrees",  # whether its last vote was lost for want of a place to move to
    ],
)


@njit
def apply_edges(us, vs, changes, position, log, levels, votes, beta, tally):
    """Apply the edge changes from ``position`` on.

    Returns
    -------
    position : int
        The first change that was not applied: all are where it is their number.
    level : int
        The level whose table has too little room for that change.
    room : int
        How much it needs.
    """
    n_levels = levels.n_nodes.shape[0] - 1
    n_labels = votes.affinity.shape[0]
    ids = np.empty((4, n_levels + 2), np.int64)
    label_weight = np.zeros(n_labels)
    block_weight = np.zeros(max(levels.n_blocks.max(), 1))
    for i in range(position, us.shape[0]):
        u, v = np.int64(us[i]), np.int64(vs[i])
        level, room = _lacks_room(log, levels, u, v)
        if level > 0:
            return i, level, room
        _begin_epochs(log, levels, u)
        _begin_epochs(log, levels, v)
        _change_levels(log, levels, u, v, changes[i], ids)
        for x in (u, v):
            _pull_if_due(log, levels, x, beta, ids, tally)
        for x in (u, v):
            _vote_if_due(log, levels, votes, x, ids, label_weight, block_weight, tally)
        for level in range(1, levels.top[0] + 1):
            if levels.n_pulled[level] > levels.budget[level]:
                levels.top[0] = level - 1
                break
    return us.shape[0], 0, 0


@njit
def _lacks_room(log, levels, u, v):
    """The first level whose table could pass half of its slots: a pull and a vote at both ends."""
    entries = log.log_length[u] + log.log_length[v] + 2
    for level in range(1, levels.top[0] + 1):
        room = 4 * min(entries, 2 * (levels.n_nodes[level] + 2)) + 8
        if 2 * (levels.n_used[level] + room) > levels.slot_mask[level] + 1:
            return level, room
    return 0, 0


@njit
def _begin_epochs(log, levels, x):
    """Note degree and changes of ``x`` where a level was made anew since it was touched last."""
    for level in range(levels.top[0]):
        if levels.stamp[x, level] != levels.epoch[level + 1]:
            levels.stamp[x, level] = levels.epoch[level + 1]
            levels.changed_then[x, level] = log.changed[x]
            levels.degree_then[x, level] = log.degree[x]
            levels.single[x, level] = 0


@njit
def _change_levels(log, levels, u, v, change, ids):
    """The change in the graph and in the matrix of each maintained level."""
    lived_u, lived_v = log.n_neighbors[u] > 0, log.n_neighbors[v] > 0
    change, _ = change_edge(log, u, v, change)
    born_u = np.int64(log.n_neighbors[u] > 0) - np.int64(lived_u)
    born_v = np.int64(log.n_neighbors[v] > 0) - np.int64(lived_v)
    a, b = u, v
    for level in range(1, levels.top[0] + 1):
        a, b = parent_of(levels, level - 1, a), parent_of(levels, level - 1, b)
        add_entry(levels, level, a, b, 2 * change if a == b else change)
        add_volume(levels, level, a, change)
        add_volume(levels, level, b, change)
        levels.n_live[levels.first_node[level] + a] += born_u
        levels.n_live[levels.first_node[level] + b] += born_v


@njit
def _pull_if_due(log, levels, x, beta, ids, tally):
    """Take ``x`` out of its block at the coarsest level that asks for it, and at all finer ones."""
    high = 0
    for level in range(levels.top[0], 0, -1):
        if levels.single[x, level - 1] == 1:
            break  # so it is at all finer levels
        changed = log.changed[x] - levels.changed_then[x, level - 1]
        if changed >= beta * levels.degree_then[x, level - 1] or log.n_neighbors[x] == 0:
            high = level
            break
    if high == 0:
        return
    low = high
    while low > 1 and levels.single[x, low - 2] == 0:
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
        levels.single[x, level - 1] = 1
        levels.n_pulled[level] += 1
    _move(log, levels, x, low, high, ids, tally)
    tally[PULLS] += 1


@njit
def _new_node(levels, level, twin):
    """An empty node of a level, with the parent of ``twin``."""
    node = levels.n_nodes[level]
    levels.n_nodes[level] = node + 1
    i = levels.first_node[level] + node
    levels.volume[i] = 0.0
    levels.peak[i] = 0.0
    levels.n_live[i] = 0
    levels.parent[i] = parent_of(levels, level, twin)
    return node


@njit
def _move(log, levels, x, low, high, ids, tally):
    """Move the row of ``x`` from node ``ids[0]`` to node ``ids[1]`` at levels low..high.

    ``x`` has no loop, so none of its neighbours is itself and each entry moves by itself.
    """
    compact_if_sparse(log, x)
    old, new = ids[0], ids[1]
    first = log.start[x]
    for i in range(first, first + log.length[x]):
        _move_entry(levels, log.row_neighbor[i], log.row_weight[i], low, high, old, new)
    i = log.head[x]
    while i >= 0:
        _move_entry(levels, log.change_neighbor[i], log.change_weight[i], low, high, old, new)
        i = log.older[i]
    tally[ENTRIES_READ] += log.log_length[x]
    lives = np.int64(log.n_neighbors[x] > 0)
    for level in range(low, high + 1):
        add_volume(levels, level, old[level], -log.degree[x])
        add_volume(levels, level, new[level], log.degree[x])
        levels.n_live[levels.first_node[level] + old[level]] -= lives
        levels.n_live[levels.first_node[level] + new[level]] += lives


@njit
def _move_entry(levels, z, weight, low, high, old, new):
    node = np.int64(z)
    for level in range(1, high + 1):
        node = parent_of(levels, level - 1, node)
        if level >= low:
            a, b = old[level], new[level]
            add_entry(levels, level, a, node, -2 * weight if node == a else -weight)
            add_entry(levels, level, b, node, 2 * weight if node == b else weight)


@njit
def _vote_if_due(log, levels, votes, x, ids, label_weight, block_weight, tally):
    """Let the neighbours of ``x`` vote on its label, and move it where they say otherwise."""
    if votes.rate <= 0 or log.n_neighbors[x] == 0:
        return
    if log.changed[x] - votes.changed_then[x] < votes.rate * log.degree[x]:
        return
    level = 1  # finest one where x is still in a block
    while level <= levels.top[0] and levels.single[x, level - 1] == 1:
        level += 1
    if level > levels.top[0]:
        return
    votes.changed_then[x] = log.changed[x]
    tally[VOTES] += 1
    node = x
    for below in range(level):
        node = parent_of(levels, below, node)
    owner = _label_above(levels, level, node)
    compact_if_sparse(log, x)
    tally[ENTRIES_READ] += log.log_length[x]
    _count_votes(log, levels, x, level, label_weight, block_weight, 1.0)
    winner = best_label(votes.affinity, label_weight, owner, ROUNDING * log.degree[x])
    target = -1
    if winner != owner:
        for block in range(levels.n_blocks[level]):
            if block_weight[block] > 0 and _label_above(levels, level, block) == winner:
                if target < 0 or block_weight[block] > block_weight[target]:
                    target = block
    _count_votes(log, levels, x, level, label_weight, block_weight, 0.0)  # zero again
    votes.disagrees[x] = winner != owner and target < 0
    if target >= 0:
        _move_to_block(log, levels, x, level, target, ids, tally)
        tally[MOVES] += 1


@njit
def _label_above(levels, level, node):
    """Label of a node of a level, -1 where it has none."""
    for above in range(level, levels.n_nodes.shape[0]):
        if node < 0:
            return node
        node = parent_of(levels, above, node)
    return node


@njit
def _count_votes(log, levels, x, level, label_weight, block_weight, factor):
    """Weight from ``x`` to each label, and to each block of a level; a factor 0 clears them."""
    first = log.start[x]
    for i in range(first, first + log.length[x]):
        _count_vote(
            levels, log.row_neighbor[i], factor * log.row_weight[i], factor, level,
            label_weight, block_weight,
        )  # fmt: skip
    i = log.head[x]
    while i >= 0:
        _count_vote(
            levels, log.change_neighbor[i], factor * log.change_weight[i], factor, level,
            label_weight, block_weight,
        )  # fmt: skip
        i = log.older[i]


@njit
def _count_vote(levels, z, weight, factor, level, label_weight, block_weight):
    node = np.int64(z)
    for below in range(level):
        node = parent_of(levels, below, node)
    if node < levels.n_blocks[level]:
        block_weight[node] = block_weight[node] * factor + weight
    label = _label_above(levels, level, node)
    if 0 <= label < label_weight.shape[0]:
        label_weight[label] = label_weight[label] * factor + weight


@njit
def best_label(affinity, label_weight, owner, least):
    """The label of largest likelihood score among those with more weight than ``least`` to the vertex.

    Ties go to the owner.
    """
    n_labels = label_weight.shape[0]
    best, best_score = owner, -np.inf
    if 0 <= owner < n_labels and label_weight[owner] > least:
        best_score = _score(affinity, label_weight, owner)
    for r in range(n_labels):
        if label_weight[r] > least and r != owner:
            score = _score(affinity, label_weight, r)
            if score > best_score:
                best, best_score = r, score
    return best


@njit
def _score(affinity, label_weight, r):
    total = 0.0
    for s in range(label_weight.shape[0]):
        if label_weight[s] > 0:
            total += label_weight[s] * affinity[r, s]
    return total


@njit
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
    while high < levels.top[0] and old_node != new_node:
        high += 1
        old[high], new[high] = old_node, new_node
        old_node, new_node = parent_of(levels, high, old_node), parent_of(levels, high, new_node)
    if high >= level:
        _move(log, levels, x, level, high, ids, tally)


@njit
def sweep_votes(indptr, indices, data, labels, affinity):
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
        after[x] = best_label(affinity, weight, labels[x], 0.0)
        for i in range(indptr[x], indptr[x + 1]):
            if labels[indices[i]] >= 0:
                weight[labels[indices[i]]] = 0.0
    return after
