"""Families of tables that had no part in the choice of any constant, and a peer that counts columns."""

import numpy as np
from scipy import sparse, stats

from skfrontier.algos import acv_hull, backward_chain, lasso_supports, select_kappa
from skfrontier.datasets import make_gaussian_graph

FAMILIES = (
    "watts_strogatz",
    "block_model",
    "geometric",
    "autoregressive",
    "factor",
    "decaying band",
    "uniform margins",
    "skewed margins",
)


def table(kind: str, n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and the adjacency of their graph."""
    if kind in ("autoregressive", "factor", "decaying band"):
        return _from_precision(_PRECISIONS[kind](p), n, seed)
    graph = "erdos_renyi" if kind.endswith("margins") else kind
    X, adjacency, _ = make_gaussian_graph(n, p, graph=graph, random_state=seed)
    if kind == "uniform margins":
        X = stats.norm.cdf(X)
    if kind == "skewed margins":
        X = np.exp(0.6 * X)
    return X, adjacency


def _banded(p: int, weights: tuple) -> np.ndarray:
    W = np.eye(p)
    for step, weight in enumerate(weights, 1):
        W += weight * (np.eye(p, k=step) + np.eye(p, k=-step))
    return W


def _factor(p: int) -> np.ndarray:
    """Groups of ten columns around a factor that is observed: the first column of the group."""
    W = np.eye(p)
    for j in range(p):
        if j % 10:
            W[j, j - j % 10] = W[j - j % 10, j] = -0.3
    return W


_PRECISIONS = {
    "autoregressive": lambda p: _banded(p, (0.5, 0.25)),
    "factor": _factor,
    "decaying band": lambda p: _banded(p, (0.4, 0.25, 0.15)),
}


def _from_precision(W: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    adjacency = (W != 0) & ~np.eye(len(W), dtype=bool)
    W = W + max(0.0, 0.1 - np.linalg.eigvalsh(W)[0]) * np.eye(len(W))
    root = np.linalg.cholesky(np.linalg.inv(W))
    return np.random.default_rng(seed).standard_normal((n, len(W))) @ root.T, adjacency


def blocks(p: int, n: int) -> tuple[np.ndarray, sparse.csr_array]:
    """Blocks of 200 columns, random graphs and trees in turn."""
    parts = [
        make_gaussian_graph(
            n, min(200, p), graph=("erdos_renyi", "scale_free")[k % 2], random_state=k
        )
        for k in range(max(1, p // 200))
    ]
    truth = sparse.block_diag([sparse.csr_array(part[1]) for part in parts], format="csr")
    return np.hstack([part[0] for part in parts]), sparse.csr_array(truth)


def graph_with_counts(X: np.ndarray) -> np.ndarray:
    """The same candidates, hull, scores and level, but each column of a support counts one."""
    n, p = X.shape
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    gram = Z.T @ Z / n
    K = np.zeros((p, p))
    for node in range(p):
        supports = {0: (0.0, np.zeros(0, dtype=np.int64))}  # the best of each size
        path = lasso_supports(gram, node)
        for start, stop in zip(path.indptr, path.indptr[1:], strict=False):
            if 0 < stop - start <= 20:
                chain = backward_chain(gram, node, path.indices[start:stop])
                for a, b, rss in zip(chain.indptr, chain.indptr[1:], chain.rss, strict=False):
                    deviance = n * np.log(rss)
                    if deviance < supports.get(b - a, (np.inf,))[0]:
                        supports[b - a] = (deviance, chain.indices[a:b])
        sizes = sorted(supports)
        hull = acv_hull(sizes, [supports[size][0] for size in sizes])
        for index, kappa in zip(hull.index[1:], hull.kappa[1:], strict=True):
            support = supports[sizes[index]][1]
            K[node, support] = np.maximum(K[node, support], kappa)
    E = (K + K.T) / 2
    return select_kappa(E[np.triu_indices(p, 1)], n, p) <= E
