"""Dense and brute-force versions of what the library computes in closed form."""

import numpy as np
from scipy import optimize

FAMILIES = ("gaussian", "ising", "poisson")


def regression_data(family, n=60, p=4, seed=0):
    """Rows with a true effect of the first and the last column."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3) + rng.standard_normal(p)
    eta = 0.7 * X[:, 0] - 0.5 * X[:, -1]
    if family == "gaussian":
        return X, eta + rng.standard_t(5, n)
    if family == "ising":
        return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    return X, rng.poisson(np.exp(0.5 * eta)).astype(float)


def loss(family, theta, A, y):
    """Loss of each row; the Gaussian one has its log variance last."""
    if family == "gaussian":
        e = y - A @ theta[:-1]
        return 0.5 * theta[-1] + 0.5 * e**2 * np.exp(-theta[-1])
    eta = A @ theta
    return (np.logaddexp(0, eta) if family == "ising" else np.exp(eta)) - y * eta


def gradients(family, theta, A, y):
    """Gradient of each row's loss, and the sum of Hessians."""
    if family == "gaussian":
        precision = np.exp(-theta[-1])
        e = y - A @ theta[:-1]
        g = np.column_stack([-A * (e * precision)[:, None], 0.5 - 0.5 * e**2 * precision])
        cross = A.T @ e * precision
        H = np.block([
            [A.T @ A * precision, cross[:, None]],
            [cross[None, :], np.array([[0.5 * (e**2).sum() * precision]])],
        ])  # fmt: skip
        return g, H
    eta = A @ theta
    mu = 1 / (1 + np.exp(-eta)) if family == "ising" else np.exp(eta)
    w = mu * (1 - mu) if family == "ising" else mu
    return A * (mu - y)[:, None], A.T @ (w[:, None] * A)


def fit(family, A, y):
    """Minimiser by a generic optimiser, polished by Newton steps."""
    start = np.zeros(A.shape[1] + (family == "gaussian"))
    found = optimize.minimize(lambda t: loss(family, t, A, y).sum(), start, method="BFGS").x
    for _ in range(20):
        g, H = gradients(family, found, A, y)
        found = found - np.linalg.solve(H, g.sum(axis=0))
    return found


def with_intercept(X, support):
    """Design matrix."""
    return np.column_stack([np.ones(len(X)), X[:, support]])
