"""Small graphs, the dense operator, and all forests: what everything else is compared with."""

import itertools
from collections import defaultdict

import numpy as np

from skfrontier.algos import signed_laplacian


def random_signed(n, seed, negative=0.4, density=0.5):
    """Connected weighted graph with weights U(0.2, 2) and random signs."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < density, 1).astype(float)
    A[np.arange(n - 1), np.arange(1, n)] = 1.0  # a path keeps it connected
    A *= rng.uniform(0.2, 2.0, (n, n)) * np.where(rng.random((n, n)) < negative, -1.0, 1.0)
    return A + A.T


def small_cases():
    """Random graphs with 5 to 12 unlabelled nodes and three labels that reach all of them."""
    seed = 0
    while True:
        n = int(np.random.default_rng(seed).integers(5, 13)) + 3
        yield random_signed(n, seed), np.array([0, n // 2, n - 1]), seed
        seed += 1


def dense_operator(A, labeled):
    """``Q`` for all unlabelled nodes (ascending) of a graph in which all are reachable."""
    A = np.asarray(A, dtype=float)
    labeled = np.sort(np.asarray(labeled))
    inner = np.setdiff1d(np.arange(len(A)), labeled)
    L = signed_laplacian(A).toarray()
    return np.linalg.solve(L[np.ix_(inner, inner)], A[np.ix_(inner, labeled)])


def rows_of(graph, Q):
    """Rows of the dense operator in the order of ``graph.nodes``."""
    inner = np.setdiff1d(np.arange(graph.n_nodes), graph.labeled)
    return Q[np.searchsorted(inner, graph.nodes)]


def all_forests(graph, S):
    """Probability of each tuple of roots, over all rooted spanning forests of the double cover.

    ``S`` is the signed matrix between the unlabelled nodes in the graph's order and gauge. Written from the
    definition: every state is killed or points to a neighbour, and nothing may point in a circle.
    """
    n = graph.n_unlabeled
    states = [x for x in range(2 * n) if x % 2 == 0 or graph.lift[x // 2]]
    moves = []
    for x in states:
        u, s = divmod(x, 2)
        options = [(x, graph.killing[u])] if graph.killing[u] else []
        for v in np.flatnonzero(S[u]):
            options.append((2 * v + (s if S[u, v] > 0 else 1 - s), abs(S[u, v])))
        moves.append(options)
    law = defaultdict(float)
    for choice in itertools.product(*moves):
        target = dict(zip(states, (y for y, _ in choice), strict=True))
        roots = tuple(_root(target, x) if x in target else -1 for x in range(2 * n))
        if None not in roots:
            law[roots] += float(np.prod([w for _, w in choice]))
    total = sum(law.values())
    return {roots: weight / total for roots, weight in law.items()}


def _root(target, x):
    for _ in range(len(target) + 1):
        if target[x] == x:
            return x
        x = target[x]
    return None  # a circle
