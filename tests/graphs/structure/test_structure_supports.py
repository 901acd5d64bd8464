"""Lasso paths beside scikit-learn, chains and precision matrices beside brute force."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import Lasso

from skfrontier.algos import backward_chain, constrained_precision, lasso_supports
from skfrontier.datasets import make_gaussian_graph


def scaled(n=200, p=15, seed=0, graph="erdos_renyi"):
    X, A, _ = make_gaussian_graph(n, p, graph=graph, random_state=seed)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return Z, Z.T @ Z / n, A


def lists(result):
    return [
        result.indices[a:b].tolist() for a, b in zip(result.indptr, result.indptr[1:], strict=False)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_supports_are_those_of_sklearn(seed):
    Z, G, _ = scaled(seed=seed)
    node = seed
    others = np.delete(np.arange(15), node)
    path = lasso_supports(G, node, n_alphas=12, tol=1e-9)
    assert path.alphas[0] == pytest.approx(0.999 * np.abs(G[node, others]).max())
    assert path.alphas[-1] == pytest.approx(0.05 * np.abs(G[node, others]).max())
    for alpha, support in zip(path.alphas, lists(path), strict=True):
        peer = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=100_000)
        coefficients = peer.fit(Z[:, others], Z[:, node]).coef_
        assert support == others[np.abs(coefficients) > 1e-9].tolist()


def test_path_stops_before_a_support_that_is_too_large():
    _, G, _ = scaled(p=30)
    path = lasso_supports(G, 0, max_support=4)
    assert path.truncated
    assert np.diff(path.indptr).max() <= 4
    whole = lasso_supports(G, 0)
    assert lists(whole)[: len(path.alphas)] == lists(path)
    assert len(lists(whole)[len(path.alphas)]) > 4


def test_uncorrelated_column_has_no_supports():
    assert lasso_supports(np.eye(4), 1).alphas.size == 0


@pytest.mark.parametrize("seed", range(5))
def test_chain_drops_the_least_useful_column(seed):
    Z, G, _ = scaled(seed=seed)
    start = [1, 3, 4, 8, 11, 2]
    chain = backward_chain(G, 0, start)
    left = sorted(start)
    for support, rss in zip(lists(chain), chain.rss, strict=True):
        assert support == left
        assert rss == pytest.approx(residual(Z, 0, left), rel=1e-7)
        if len(left) > 1:
            left = min(
                ([k for k in left if k != out] for out in left), key=lambda s: residual(Z, 0, s)
            )


def residual(Z, node, support):
    fitted = Z[:, support] @ np.linalg.lstsq(Z[:, support], Z[:, node], rcond=None)[0]
    return np.mean((Z[:, node] - fitted) ** 2)


def test_chain_survives_duplicates():
    _, G, _ = scaled()
    doubled = G[np.ix_([*range(15), 3], [*range(15), 3])]
    chain = backward_chain(doubled, 0, [3, 15, 5])
    assert np.isfinite(chain.rss).all()
    assert np.all(np.diff(chain.rss) > -1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda G: lasso_supports(G[:3], 0), "gram must be a square"),
        (lambda G: lasso_supports(G, 15), "node must be at most 14"),
        (lambda G: lasso_supports(G, 0, eps=1.0), "eps must lie in"),
        (lambda G: lasso_supports(G, 0, n_alphas=0), "n_alphas must be at least 1"),
        (lambda G: backward_chain(G, 0, []), "at least one column"),
        (lambda G: backward_chain(G, 0, [0, 1]), "must not hold the node"),
        (lambda G: lasso_supports(np.where(G > 0.99, np.nan, G), 0), "finite"),
    ],
)
def test_bad_input_is_named(call, message):
    _, G, _ = scaled()
    with pytest.raises(ValueError, match=message):
        call(G)


def test_constrained_precision_on_a_grid():
    _, S, A = scaled(n=400, p=36, graph="grid")
    fit = constrained_precision(S, A)
    off = ~A & ~np.eye(36, dtype=bool)
    assert np.all(fit.precision[off] == 0)
    assert np.abs(fit.covariance - S)[~off].max() <= 1e-8
    assert np.linalg.eigvalsh(fit.precision)[0] > 0
    assert np.abs(fit.precision @ fit.covariance - np.eye(36)).max() < 1e-6
    assert fit.n_iter < 50
    assert fit.gap <= 1e-8


def test_constrained_precision_is_the_maximum_of_the_likelihood():
    Z, _, _ = scaled(n=50, p=5)
    S = np.cov(Z.T) * np.outer(range(1, 6), range(1, 6))
    A = np.zeros((5, 5), dtype=bool)
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0), (3, 4)):
        A[i, j] = A[j, i] = True
    i, j = np.nonzero(np.triu(A | np.eye(5, dtype=bool)))

    def matrix(values):
        theta = np.zeros((5, 5))
        theta[i, j] = theta[j, i] = values
        return theta

    def loss(values):
        theta = matrix(values)
        sign, logdet = np.linalg.slogdet(theta)
        if sign <= 0 or np.linalg.eigvalsh(theta)[0] <= 0:
            return 1e10
        return np.sum(S * theta) - logdet

    start = np.diag(1 / np.diagonal(S))[i, j]
    options = {"maxiter": 40_000, "maxfev": 40_000, "xatol": 1e-9, "fatol": 1e-13}
    best = optimize.minimize(loss, start, method="Nelder-Mead", options=options)
    fit = constrained_precision(S, A)
    assert loss(fit.precision[i, j]) <= best.fun + 1e-9
    assert np.abs(fit.precision - matrix(best.x)).max() < 1e-3 * np.abs(fit.precision).max()


def test_constrained_precision_of_a_full_graph_is_the_inverse():
    _, S, _ = scaled()
    fit = constrained_precision(S, np.ones((15, 15)), max_iter=2000)
    assert np.abs(fit.precision - np.linalg.inv(S)).max() < 1e-5


@pytest.mark.parametrize(
    ("cov", "adjacency", "message"),
    [
        (np.ones((2, 3)), np.zeros((2, 2)), "cov must be square"),
        (np.diag([1.0, 0.0]), np.zeros((2, 2)), "positive diagonal"),
        (np.array([[1, 0.5], [0.1, 1]]), np.zeros((2, 2)), "cov must be symmetric"),
        (np.eye(2), np.zeros((3, 3)), "adjacency must have shape"),
        (np.eye(2), np.array([[0, 1], [0, 0]]), "adjacency must be symmetric"),
    ],
)
def test_bad_matrices_are_named(cov, adjacency, message):
    with pytest.raises(ValueError, match=message):
        constrained_precision(cov, adjacency)
