"""Logistic regression on the rows in which a bit can be flipped: logits that depend on other things."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

_ROUNDING = 1e-12  # columns that vary less than this share of their size are constant
_FLAT = 1e-11  # eigenvalues of the scaled curvature below this tell nothing
_SEPARATED = (
    1e7  # variance of a standardised coefficient per unit of weight that only 0 or 1 leads to
)


class LogisticFit(NamedTuple):
    """Coefficients, their standard errors (infinite where not identified), and whether they are final.

    ``converged`` is False where steps were too few, and where a coefficient grows without bound.
    """

    coef: np.ndarray
    stderr: np.ndarray
    converged: bool


class _Columns(NamedTuple):
    """Standardised columns: those of the input are ``centre + scale * values``."""

    values: np.ndarray
    centre: np.ndarray
    scale: np.ndarray


def logistic_regression(
    A: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    *,
    intercept: int | None,
    l1: float = 0.0,
    l2: float = 0.0,
    max_iter: int = 100,
    tol: float = 1e-8,
) -> LogisticFit:
    """Minimise the weighted logistic loss plus ``l1 |b|_1 + l2 |b|^2 / 2`` over all but the intercept.

    Newton steps; with ``l1`` the quadratic model of each step is minimised by coordinate descent. The
    standard errors come from the curvature without the l1 penalty. Columns are standardised first
    (centred only if there is an intercept to make up for it) and the penalties with them: years,
    incomes and shares then need no care, and ``tol`` means the same for all of them.

    ``A`` has a row for each sample; its column ``intercept`` is constant.
    """
    columns = _standardised(A, weights, intercept)
    b, H, converged = _minimise(columns, y, weights, intercept, l1, l2, max_iter, tol)
    stderr, separated = _standard_errors(columns, H, float(weights.sum()), intercept)
    coef = b / columns.scale
    if intercept is not None:
        coef[intercept] -= coef @ columns.centre
    return LogisticFit(coef, stderr, converged and not separated)


def _standardised(A: np.ndarray, weights: np.ndarray, intercept: int | None) -> _Columns:
    p = A.shape[1]
    if not weights.any():
        return _Columns(A, np.zeros(p), np.ones(p))
    shares = weights / weights.sum()
    centre = np.zeros(p) if intercept is None else shares @ A
    if intercept is not None:
        centre[intercept] = 0.0
    values = A - centre
    spread = np.abs(values).max(axis=0)
    constant = spread <= _ROUNDING * np.abs(A).max(axis=0)
    values[:, constant] = 0.0
    spread[constant] = 1.0
    values /= spread  # before squares are taken, which might overflow
    deviation = np.sqrt(shares @ values**2)
    deviation[deviation == 0] = 1.0
    if intercept is not None:
        spread[intercept] = deviation[intercept] = 1.0
    return _Columns(values / deviation, centre, spread * deviation)


def _minimise(
    columns: _Columns,
    y: np.ndarray,
    weights: np.ndarray,
    intercept: int | None,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Minimiser in standardised coefficients, curvature there, and whether the steps ended."""
    A, _, scale = columns
    with np.errstate(over="ignore"):
        ridge, lasso = (np.minimum(size, 1e100) for size in (l2 / scale / scale, l1 / scale))
    if intercept is not None:
        ridge[intercept] = lasso[intercept] = 0.0
    b = np.zeros(A.shape[1])
    total = max(float(weights.sum()), 1.0)
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
        if gain <= tol * total or np.abs(step).max(initial=0.0) <= tol:
            converged = True
            break
        expected = gradient @ step + lasso @ (np.abs(target) - np.abs(b))
        for halving in range(40):
            candidate = b + step * 0.5**halving
            new_value = _value(A, y, weights, candidate, ridge, lasso)
            if new_value <= value + 1e-4 * 0.5**halving * expected + 1e-12 * total:
                break
        b, value = candidate, new_value
    return b, _curvature(A, weights, expit(A @ b), ridge), converged


def _standard_errors(
    columns: _Columns, H: np.ndarray, weight: float, intercept: int | None
) -> tuple[np.ndarray, bool]:
    """Standard errors of the coefficients of the input, and whether some grow without bound.

    A direction in which the scaled curvature vanishes changes no probability: every coefficient on
    which it has a component is unidentified.
    """
    d = np.sqrt(np.diag(H))
    known = d > 0
    d = np.where(known, d, 1.0)
    values, vectors = np.linalg.eigh(H / np.outer(d, d))
    seen = values > _FLAT * max(values.max(initial=0.0), 1e-300)
    back = np.diag(1 / columns.scale)  # from standardised coefficients to those of the input
    if intercept is not None:
        back[intercept] -= columns.centre / columns.scale
    roots = back @ (vectors[:, seen] / d[:, None] / np.sqrt(values[seen]))
    flat = vectors[:, ~seen] / d[:, None]
    # A component that only rounding leaves is none.
    touched = np.abs(back @ flat) > 1e-8 * (np.abs(back) @ np.abs(flat))
    touched &= np.abs(back @ flat) > 1e-9 * np.abs(back).max(axis=1, initial=0.0)[:, None]
    stderr = np.where(touched.any(axis=1), np.inf, np.hypot.reduce(roots, axis=1, initial=0.0))
    variances = (vectors[:, seen] ** 2 / values[seen]).sum(axis=1) / d**2
    return stderr, bool((variances[known] * weight > _SEPARATED).any())


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
    # A hair more of each curvature: separable data and equal columns leave the step unbounded else.
    H = H + np.diag(1e-12 * np.diag(H) + max(float(np.diag(H).max(initial=0.0)) * 1e-14, 1e-300))
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
