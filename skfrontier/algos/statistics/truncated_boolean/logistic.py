"""Logistic regression on the rows in which a bit can be flipped: logits that depend on other things."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit


class LogisticFit(NamedTuple):
    """Coefficients, their covariance, and whether the steps converged."""

    coef: np.ndarray
    covariance: np.ndarray
    converged: bool


def logistic_regression(
    A: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    penalised: np.ndarray,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    max_iter: int = 100,
    tol: float = 1e-8,
) -> LogisticFit:
    """Minimise the weighted logistic loss plus ``l1 |b|_1 + l2 |b|^2 / 2`` over ``penalised`` coefficients.

    Newton steps; with ``l1`` the quadratic model of each step is minimised by coordinate descent. The
    covariance is the inverse of the loss's curvature without the l1 penalty.

    ``A`` has a row for each sample, an intercept column among its columns if wanted.
    """
    b = np.zeros(A.shape[1])
    ridge, lasso = l2 * penalised, l1 * penalised
    scale = max(float(weights.sum()), 1.0)
    value, converged = _value(A, y, weights, b, ridge, lasso), False
    for _ in range(max_iter):
        p = expit(A @ b)
        gradient = A.T @ (weights * (p - y)) + ridge * b
        H = _curvature(A, weights, p, ridge)
        target = _quadratic_minimum(H, gradient, b, lasso)
        step = target - b
        gain = np.abs(H @ step).max(
            initial=0.0
        )  # small too where separable data let b grow for ever
        if gain <= tol * scale or np.abs(step).max(initial=0.0) <= tol:
            converged = True
            break
        expected = gradient @ step + lasso @ (np.abs(target) - np.abs(b))
        for halving in range(40):
            candidate = b + step * 0.5**halving
            new_value = _value(A, y, weights, candidate, ridge, lasso)
            if new_value <= value + 1e-4 * 0.5**halving * expected + 1e-12 * scale:
                break
        b, value = candidate, new_value
    H = _curvature(A, weights, expit(A @ b), ridge)
    return LogisticFit(b, np.linalg.pinv(H, hermitian=True), converged)


def _value(
    A: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    b: np.ndarray,
    ridge: np.ndarray,
    lasso: np.ndarray,
) -> float:
    scores = A @ b
    loss = weights @ (np.logaddexp(0, scores) - y * scores)
    return float(loss + ridge @ b**2 / 2 + lasso @ np.abs(b))


def _curvature(A: np.ndarray, weights: np.ndarray, p: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    return (A * (weights * p * (1 - p))[:, None]).T @ A + np.diag(ridge)


def _quadratic_minimum(
    H: np.ndarray, gradient: np.ndarray, b: np.ndarray, lasso: np.ndarray
) -> np.ndarray:
    """Minimise the quadratic model at ``b`` plus the lasso."""
    hair = np.diag(np.full(len(b), 1e-10 * max(float(np.trace(H)) / len(b), 1e-300)))
    H = H + hair  # separable data would otherwise leave the step unbounded
    if not lasso.any():
        return b - np.linalg.solve(H, gradient)
    target = b.copy()
    for _ in range(1000):
        largest = 0.0
        for i in range(len(b)):
            slope = gradient[i] + H[i] @ (target - b) - H[i, i] * target[i]
            moved = -np.sign(slope) * max(abs(slope) - lasso[i], 0.0) / H[i, i]
            largest = max(largest, abs(moved - target[i]))
            target[i] = moved
        if largest <= 1e-12 * (1 + np.abs(target).max()):
            break
    return target
