"""Sums over trees of a forest, for sparse vectors on both sides of the operator.

One forest estimates ``x' L_UU^-1 z`` for sparse ``x`` and ``z`` by
``sum of c_v x_v (-1)^s (-1)^t z_w / k(tree)`` over states ``(v, s)``, ``(w, t)`` of the same tree, where
``c_v`` is 1/2 on frustrated components (walked on both sheets) and 1 elsewhere.
"""

from skfrontier.algos._numba import inner, njit


@njit
def add_pair_products(
    forest, kills, lift, scatter, gather, ends, partner, sums, squares, tree_sum, root_killing
):
    """Add this forest's estimates of products of sparse rows, and their squares.

    The pairs of row ``i`` of ``scatter`` are ``ends[i] .. ends[i + 1]``, ``partner`` their row of
    ``gather``; both matrices are (values, columns, row ends). ``tree_sum``, zero at entry and exit, has one
    entry for each state that can be a root. With ``root_killing`` of length above 0 only roots count, and
    they count by it: the value of the root in place of the tree's mean.
    """
    x, x_index, x_rows = scatter
    z, z_index, z_rows = gather
    for i in range(ends.size - 1):
        if ends[i] == ends[i + 1]:
            continue
        for e in range(x_rows[i], x_rows[i + 1]):
            _scatter(forest, kills, lift, x_index[e], x[e], tree_sum, root_killing)
        for pair in range(ends[i], ends[i + 1]):
            j = partner[pair]
            total = 0.0
            for e in range(z_rows[j], z_rows[j + 1]):
                v = z_index[e]
                if lift[v]:
                    difference = tree_sum[forest[2 * v]] - tree_sum[forest[2 * v + 1]]
                    total += 0.5 * z[e] * difference
                else:
                    total += z[e] * tree_sum[forest[2 * v]]
            sums[pair] += total
            squares[pair] += total * total
        for e in range(x_rows[i], x_rows[i + 1]):
            v = x_index[e]
            tree_sum[forest[2 * v]] = 0.0
            if lift[v]:
                tree_sum[forest[2 * v + 1]] = 0.0


@inner
def _scatter(forest, kills, lift, v, value, tree_sum, root_killing):
    for s in range(2 if lift[v] else 1):
        root = forest[2 * v + s]
        signed = value if s == 0 else -value
        if root_killing.size == 0:
            tree_sum[root] += signed / kills[root]
        elif root == 2 * v + s:
            tree_sum[root] += signed / root_killing[v]


@njit
def group_by_tree(forest, count, first, members):
    """Sort the boundary states by their tree (counting sort).

    Afterwards the states of root ``r`` are ``members[first[r] : first[r + 1]]``.
    """
    n_states = count.size
    for x in range(n_states):
        count[x] = 0
    for x in range(n_states):
        if forest[x] >= 0:
            count[forest[x]] += 1
    first[0] = 0
    for x in range(n_states):
        first[x + 1] = first[x] + count[x]
        count[x] = first[x]
    for x in range(n_states):
        root = forest[x]
        if root >= 0:
            members[count[root]] = x
            count[root] += 1


@njit
def add_row_products(forest, kills, lift, rows, first, members, tree_sum, roots, out):
    """Add this forest's estimates of ``x' L_UU^-1`` at the boundary nodes, for sparse rows ``x``.

    ``tree_sum`` is zero at entry and exit; ``out`` has shape (n_rows, n_boundary). Returns how many numbers
    were read or written.
    """
    x, x_index, x_rows = rows
    touched = 2 * x.size
    for i in range(x_rows.size - 1):
        n_roots = 0
        for e in range(x_rows[i], x_rows[i + 1]):
            v = x_index[e]
            for s in range(2 if lift[v] else 1):
                root = forest[2 * v + s]
                if tree_sum[root] == 0.0:  # a sum that cancels is listed twice, and then is zero
                    roots[n_roots] = root
                    n_roots += 1
                tree_sum[root] += x[e] if s == 0 else -x[e]
        for r in range(n_roots):
            root = roots[r]
            share = tree_sum[root] / kills[root]
            tree_sum[root] = 0.0
            if share == 0.0:
                continue
            touched += first[root + 1] - first[root]
            for m in range(first[root], first[root + 1]):
                y = members[m]
                value = 0.5 * share if lift[y >> 1] else share
                out[i, y >> 1] += value if y & 1 == 0 else -value
    return touched
