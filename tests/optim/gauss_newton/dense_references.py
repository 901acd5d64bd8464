"""Everything of the topic, formed densely: Jacobians, Gauss-Newton matrices, gradients."""

import numpy as np
from scipy.special import log_softmax, softmax


def random_problem(n, d, C, *, scale=1.0, seed=0):
    """Rows, labels and parameters with logits of the given scale."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    W = rng.standard_normal((C, d)) * scale / np.sqrt(d)
    b = rng.standard_normal(C) * scale * 0.3
    return X, rng.integers(0, C, n), W, b


def with_ones(X, intercept):
    return np.column_stack([X, np.ones(len(X))]) if intercept is not None else X


def logits(X, W, b):
    return X @ W.T + (0 if b is None else b)


def competitors(Z, y):
    """q: the softmax among the others, zero at the true class."""
    masked = Z.copy()
    masked[np.arange(len(Z)), y] = -np.inf
    return softmax(masked, axis=1)


def margin_jacobian(X, y, W, b):
    """Margins, and the rows grad m_i over vec of (C, d [+ 1])."""
    Z = logits(X, W, b)
    q = competitors(Z, y)
    v = np.eye(Z.shape[1])[y] - q
    masked = Z.copy()
    masked[np.arange(len(Z)), y] = -np.inf
    top = masked.max(axis=1)
    m = (Z[np.arange(len(Z)), y] - top) - np.log(np.exp(masked - top[:, None]).sum(axis=1))
    X1 = with_ones(X, b)
    return m, np.einsum("ic,ij->icj", v, X1).reshape(len(X), -1)


def fgn_matrix(X, y, W, b, omega):
    m, J = margin_jacobian(X, y, W, b)
    w = np.exp(-np.abs(m)) / (1 + np.exp(-np.abs(m))) ** 2
    return (J * (omega * w)[:, None]).T @ J


def ggn_matrix(X, W, b, omega):
    P = softmax(logits(X, W, b), axis=1)
    X1 = with_ones(X, b)
    n, C = P.shape
    full = np.zeros((C * X1.shape[1],) * 2)
    for i in range(n):
        S = np.diag(P[i]) - np.outer(P[i], P[i])
        full += omega[i] * np.kron(S, np.outer(X1[i], X1[i]))
    return full


def objective(X, y, W, b, omega, l2):
    logp = log_softmax(logits(X, W, b), axis=1)
    return -omega @ logp[np.arange(len(X)), y] + 0.5 * l2 * (W**2).sum()


def gradient(X, y, W, b, omega, l2):
    P = softmax(logits(X, W, b), axis=1)
    R = (P - np.eye(P.shape[1])[y]) * omega[:, None]
    # the entry of the true class without cancellation
    m, _ = margin_jacobian(X, y, W, b)
    e = np.exp(-np.abs(m))
    R[np.arange(len(X)), y] = -omega * np.where(m >= 0, e, 1.0) / (1 + e)
    g = R.T @ with_ones(X, b)
    g[:, : X.shape[1]] += l2 * W
    return g


def metric_diagonal(C, d, b, l2, damping):
    D = np.full((C, d + (b is not None)), l2 + damping)
    if b is not None:
        D[:, -1] = max(damping, 1e-8)
    return D.ravel()
