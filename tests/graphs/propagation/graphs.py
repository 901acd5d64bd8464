"""Small graphs, and the dense operator that everything is compared with."""

import numpy as np

from skfrontier.algos import signed_laplacian


def random_signed(n, seed, negative=0.4, density=0.5):
    """Connected weighted graph with weights U(0.2, 2) and random signs."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < density, 1).astype(float)
    A[np.arange(n - 1), np.arange(1, n)] = 1.0  # a path keeps it connected
    A *= rng.uniform(0.2, 2.0, (n, n)) * np.where(rng.random((n, n)) < negative, -1.0, 1.0)
    return A + A.T


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
