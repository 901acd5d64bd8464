"""One damped Fast Gauss-Newton step for a linear softmax model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._validation import (
    as_numbers,
    check_choice,
    check_finite,
    check_interval,
    check_points,
)
from skfrontier.algos.optim.gauss_newton.conjugate_gradients import conjugate_gradients
from skfrontier.algos.optim.gauss_newton.curvature import DampedCurvature, Metric, Rows
from skfrontier.algos.optim.gauss_newton.margin import check_labels
from skfrontier.algos.optim.gauss_newton.problem import Design, Point, Problem

LEAST_WHITENED_MARGIN = -600.0  # exp(-m / 2) is far from overflow
MOST_CHOLESKY_ROWS = 4000
STEP_CG_TOL = 1e-10


@dataclass(frozen=True)
class FGNStep:
    """Parameters after a step.

    Attributes
    ----------
    coef : ndarray of shape (n_logits, n_features)
    intercept : ndarray of shape (n_logits,) or None
    n_cg : int
        Steps of conjugate gradients, 0 with a Cholesky factor.
    """

    coef: np.ndarray
    intercept: np.ndarray | None
    n_cg: int


def fgn_step(
    X: Any,
    y: Any,
    coef: Any,
    intercept: Any = None,
    *,
    l2: float = 0.0,
    damping: float = 1e-3,
    sample_weight: Any = None,
    method: str = "auto",
) -> FGNStep:
    """One full step of Fast Gauss-Newton: ``theta - (F + D)^-1 gradient``.

    The objective is ``sum_i omega_i loss_i + l2 / 2 ||coef||^2`` with weights ``omega`` that sum to one.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows of the model.
    y : array-like of shape (n_samples,), integer
        Classes from 0.
    coef : array-like of shape (n_classes, n_features) or (1, n_features)
        Weights before the step. One row is the logit of class 1 against class 0.
    intercept : array-like of shape (n_classes,) or (1,), or None
        None for a model without intercepts.
    l2 : float, default=0
        Ridge on the weights.
    damping : float, default=1e-3
        Positive. D is ``l2 + damping`` for the weights and ``damping``, at least 1e-8, for the
        intercepts.
    sample_weight : array-like of shape (n_samples,) or None
        Scaled to sum to one.
    method : {'auto', 'cholesky', 'cg'}, default='auto'
        How the n_samples equations are solved; 'auto' factorises up to 4000 rows.

    Returns
    -------
    FGNStep

    Raises
    ------
    ValueError
        If shapes do not fit, classes are out of range, or a parameter is not accepted.

    Notes
    -----
    F never exceeds the Gauss-Newton matrix, which is the Hessian here, and equals it for two classes
    (proven). So where probability spreads over many competitors a full step without damping is too
    long: damp, or shorten it. Where margins allow it, the system is solved in its whitened form, with
    right-hand side ``sqrt(omega_i) exp(-m_i / 2)``; for margins below -600 by the Woodbury identity,
    which cannot overflow. O(n_samples² (n_features + n_classes) + n_samples³) with Cholesky.

    References
    ----------
    Korbit and Zanon, *Fast Gauss-Newton for Multiclass Cross-Entropy*, arXiv:2605.06081.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import fgn_step
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> step = fgn_step(X, y, np.zeros((2, 1)), np.zeros(2), l2=0.1)
    >>> bool(step.coef[1, 0] > 0 > step.coef[0, 0])
    True
    """
    method = check_choice(method, "method", ("auto", "cholesky", "cg"))
    damping = check_interval(damping, "damping", 0.0, np.inf, closed="neither")
    theta, has_intercept = pack(coef, intercept)
    classes = max(2, len(theta))
    problem = make_problem(
        X, y, l2=l2, n_classes=classes, n_logits=len(theta), fit_intercept=has_intercept,
        sample_weight=sample_weight,
    )  # fmt: skip
    if theta.shape != problem.shape:
        raise ValueError(
            f"coef must have {problem.design.n_features} columns as X, got {np.shape(coef)[1]}."
        )
    point = problem.at(theta)
    factorise = method == "cholesky" or (
        method == "auto" and len(problem.labels) <= MOST_CHOLESKY_ROWS
    )
    XXt = problem.design.gram().astype(np.float64, copy=False) if factorise else None
    delta, n_cg = damped_step(point, damping, XXt, tol=STEP_CG_TOL, cg_max_iter=None)
    coef, intercept = unpack(theta + delta, has_intercept)
    return FGNStep(coef, intercept if has_intercept else None, n_cg)


def damped_step(
    point: Point, damping: float, XXt: np.ndarray | None, *, tol: float, cg_max_iter: int | None
) -> tuple[np.ndarray, int]:
    """``-(F + D)^-1 gradient`` and its number of CG steps; by Cholesky where ``X X^T`` is given."""
    metric = Metric.uniform(point, damping)
    design = point.problem.design.astype(np.float64)
    rows = Rows.at(point, design)
    inverse = metric.inverse(point.problem.shape, np.float64)
    n_cg = 0
    if XXt is not None:
        solve_rows = DampedCurvature(rows, XXt, metric).solve_rows
    else:

        def solve_rows(a: np.ndarray) -> np.ndarray:
            nonlocal n_cg
            solved = conjugate_gradients(
                lambda t: t + rows.forward(inverse * rows.adjoint(t)),
                a,
                precondition=None,
                tol=tol,
                max_iter=len(a) + 50 if cg_max_iter is None else cg_max_iter,
            )
            n_cg += solved.n_iter
            return solved.x

    if point.margin.min() > LEAST_WHITENED_MARGIN:
        return _whitened(point, rows, inverse, solve_rows), n_cg
    return _woodbury(point, rows, inverse, solve_rows), n_cg


def _whitened(point: Point, rows: Rows, inverse: np.ndarray, solve_rows: Any) -> np.ndarray:
    """``-D^-1 r + D^-1 A^T (I + A D^-1 A^T)^-1 (s + A D^-1 r)``, r the gradient of the ridge alone."""
    s = np.sqrt(point.problem.omega) * np.exp(-0.5 * point.margin)
    ridge = inverse * point.ridge_gradient()
    return inverse * rows.adjoint(solve_rows(s + rows.forward(ridge))) - ridge


def _woodbury(point: Point, rows: Rows, inverse: np.ndarray, solve_rows: Any) -> np.ndarray:
    """``-D^-1 g + D^-1 A^T (I + A D^-1 A^T)^-1 A D^-1 g``, for any gradient g."""
    scaled = inverse * point.gradient
    return inverse * rows.adjoint(solve_rows(rows.forward(scaled))) - scaled


def make_problem(
    X: Any,
    y: Any,
    *,
    l2: float,
    n_classes: int,
    n_logits: int,
    fit_intercept: bool,
    sample_weight: Any,
) -> Problem:
    """Checked problem; float32 and float64 data are not copied, sparse data become CSR."""
    X = check_rows(X)
    labels = check_labels(y, X.shape[0], n_classes)
    l2 = check_interval(l2, "l2", 0.0, np.inf, closed="left")
    omega = check_weights(sample_weight, X.shape[0])
    return Problem(Design(X, fit_intercept), labels, omega, l2, n_logits)


def check_rows(X: Any) -> Any:
    """Finite float rows, dense in C or Fortran order, or CSR."""
    if not sparse.issparse(X):
        return check_points(X, "X", min_points=1)
    X = X.tocsr()
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    check_finite(X.data, "X.data")
    return X


def check_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Weights that sum to one."""
    if sample_weight is None:
        return np.full(n_samples, 1.0 / n_samples)
    weight = as_numbers(sample_weight, "sample_weight")
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight must have shape ({n_samples},), got {weight.shape}.")
    weight = weight.astype(np.float64)
    check_finite(weight, "sample_weight")
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}.")
    total = weight.sum()
    if not total > 0:
        raise ValueError("sample_weight must not be zero for all samples.")
    return weight / total


def pack(coef: Any, intercept: Any) -> tuple[np.ndarray, bool]:
    """Weights and intercepts as one array, and whether there are intercepts."""
    W = as_numbers(coef, "coef").astype(np.float64)
    if W.ndim != 2 or len(W) == 0:
        raise ValueError(f"coef must have shape (n_logits, n_features), got {W.shape}.")
    check_finite(W, "coef")
    if intercept is None:
        return W, False
    b = as_numbers(intercept, "intercept").astype(np.float64)
    if b.shape != (len(W),):
        raise ValueError(f"intercept must have shape ({len(W)},), got {b.shape}.")
    check_finite(b, "intercept")
    return np.column_stack([W, b]), True


def unpack(theta: np.ndarray, has_intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts, which are zero where there are none."""
    if has_intercept:
        return theta[:, :-1].copy(), theta[:, -1].copy()
    return theta, np.zeros(len(theta))
