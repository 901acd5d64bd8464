"""What people use today to choose a sparse graphical model, with the usual settings, untuned."""

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.covariance import GraphicalLassoCV, graphical_lasso
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path

from skfrontier.algos import backward_chain, lasso_supports


def graphical_lasso_cv(X: np.ndarray) -> np.ndarray:
    """scikit-learn's choice by cross-validated likelihood."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _pattern(GraphicalLassoCV().fit(_scaled(X)).precision_)


def graphical_lasso_ebic(X: np.ndarray, n_alphas: int = 12, gamma: float = 0.5) -> np.ndarray:
    """Graphical lasso, its penalty by the extended BIC of Foygel and Drton."""
    n, p = X.shape
    S = np.corrcoef(X.T)
    largest = np.abs(S - np.eye(p)).max()
    best, chosen = np.inf, np.zeros((p, p), dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alpha in np.geomspace(largest, 0.05 * largest, n_alphas):
            try:
                theta = graphical_lasso(S, alpha, max_iter=50)[1]
            except FloatingPointError:  # not positive definite; denser ones are no better
                break
            pattern = _pattern(theta)
            edges = pattern.sum() / 2
            loss = n * (np.sum(S * theta) - np.linalg.slogdet(theta)[1])
            criterion = loss + edges * (np.log(n) + 4 * gamma * np.log(p))
            if criterion < best:
                best, chosen = criterion, pattern
    return chosen


def neighbourhoods(X: np.ndarray, penalty: Callable, rule: str = "and") -> np.ndarray:
    """Supports of lasso paths, refitted, by deviance plus ``penalty(n, p)`` for each column."""
    n, p = X.shape
    Z = _scaled(X)
    gram = Z.T @ Z / n
    wanted = np.zeros((p, p), dtype=bool)
    for node in range(p):
        path = lasso_supports(gram, node)
        best = 0.0
        for start, stop in zip(path.indptr, path.indptr[1:], strict=False):
            support = path.indices[start:stop]
            if support.size:
                rss = backward_chain(gram, node, support).rss[0]
                criterion = n * np.log(max(rss, 1e-12)) + penalty(n, p) * support.size
                if criterion < best:
                    best = criterion
                    wanted[node] = False
                    wanted[node, support] = True
    return wanted & wanted.T if rule == "and" else wanted | wanted.T


def bic_and(X: np.ndarray) -> np.ndarray:
    """Both neighbourhoods by BIC."""
    return neighbourhoods(X, lambda n, p: np.log(n))


def ebic_and(X: np.ndarray) -> np.ndarray:
    """Both neighbourhoods by the extended BIC with gamma 0.5."""
    return neighbourhoods(X, lambda n, p: np.log(n) + 2 * np.log(p))


def ebic_or(X: np.ndarray) -> np.ndarray:
    """Either neighbourhood by a milder extended BIC."""
    return neighbourhoods(X, lambda n, p: np.log(n) + np.log(p), "or")


def stars(X: np.ndarray, n_subsamples: int = 20, beta: float = 0.05) -> np.ndarray:
    """Neighbourhood selection, the least penalty at which subsamples agree."""
    n, p = X.shape
    Z = _scaled(X)
    alphas = np.geomspace(np.abs(Z.T @ Z / n - np.eye(p)).max(), 0.05, 20)
    rng = np.random.default_rng(0)
    rows = min(int(10 * np.sqrt(n)), int(0.8 * n))
    frequency = np.zeros((len(alphas), p, p))
    for _ in range(n_subsamples):
        part = _scaled(X[rng.choice(n, rows, replace=False)])
        frequency += _lasso_graphs(part, alphas) / n_subsamples
    instability = (2 * frequency * (1 - frequency)).sum(axis=(1, 2)) / (p * (p - 1))
    stable = np.flatnonzero(np.maximum.accumulate(instability) <= beta)
    return _lasso_graphs(Z, alphas[: stable[-1] + 1 if stable.size else 1])[-1]


def _lasso_graphs(Z: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Graph at each penalty, an edge where either neighbourhood has it."""
    p = Z.shape[1]
    wanted = np.zeros((len(alphas), p, p), dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for node in range(p):
            others = np.delete(np.arange(p), node)
            path = lasso_path(Z[:, others], Z[:, node], alphas=alphas, precompute=True)[1]
            wanted[:, node, others] = path.T != 0
    return wanted | wanted.transpose(0, 2, 1)


def _scaled(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _pattern(theta: np.ndarray) -> np.ndarray:
    pattern = np.abs(theta) > 1e-8
    np.fill_diagonal(pattern, False)
    return pattern


def counts(found: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """F1, false and missed edges."""
    true, false, missed = (
        np.sum(pairs) / 2 for pairs in (found & truth, found & ~truth, ~found & truth)
    )
    return float(2 * true / max(2 * true + false + missed, 1)), float(false), float(missed)
