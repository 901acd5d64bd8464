"""The Fast Gauss-Newton curvature F = A^T A, and products with the exact Hessian.

Row i of A is ``sqrt(omega_i w_i)`` times the gradient of margin i, which is the outer product of
``v_i`` and ``(x_i, 1)``. So ``A D^-1 A^T`` is an elementwise product of small Gram matrices, and no
matrix of the size of the parameters is ever formed.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import linalg, sparse

from skfrontier.algos._numba import njit
from skfrontier.algos._validation import as_numbers, check_points
from skfrontier.algos.optim.gauss_newton.margin import (
    competitor_spread,
    root_curvature,
    sigmoid,
)
from skfrontier.algos.optim.gauss_newton.problem import Design, Point

LEAST_INTERCEPT_METRIC = 1e-8


def fgn_gram(
    X: Any, V: Any, sqrt_w: Any, *, metric: Any, intercept_metric: Any = None
) -> np.ndarray:
    """Gram matrix ``A D^-1 A^T`` of the Fast Gauss-Newton rows of a linear softmax model.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows of the model.
    V : array-like of shape (n_samples, n_classes)
        Gradients of the margins, as `softmax_margin` returns them.
    sqrt_w : array-like of shape (n_samples,)
        ``sqrt(omega_i w_i)``: roots of example weight times curvature of the loss in the margin.
    metric : float or array-like of shape (n_classes,)
        Positive diagonal D for the weights of each class.
    intercept_metric : float, array-like of shape (n_classes,) or None
        The same for the intercepts; None where there are none.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        ``sqrt_w_i sqrt_w_j [(x_i . x_j) sum_c V_ic V_jc / metric_c + sum_c V_ic V_jc /
        intercept_metric_c]``.

    Raises
    ------
    ValueError
        If shapes do not fit, values are not finite, or a metric is not positive.

    Notes
    -----
    O(n_samples² (n_features + 2 n_classes)) operations and n_samples² numbers; the Jacobian, n_samples
    times n_features n_classes, is not formed. The Hadamard form is exact.

    References
    ----------
    Korbit and Zanon, *Fast Gauss-Newton for Multiclass Cross-Entropy*, arXiv:2605.06081.

    Examples
    --------
    >>> from skfrontier.algos import fgn_gram, softmax_margin
    >>> margin, V = softmax_margin([[0.0, 0.0], [0.0, 0.0]], [0, 1])
    >>> fgn_gram([[1.0], [2.0]], V, [0.5, 0.5], metric=1.0)
    array([[ 0.5, -1. ],
           [-1. ,  2. ]])
    """
    X = X.tocsr() if sparse.issparse(X) else check_points(X, "X")
    V = check_points(V, "V")
    root = as_numbers(sqrt_w, "sqrt_w").astype(V.dtype, copy=False)
    if not len(X) == len(V) if isinstance(X, np.ndarray) else X.shape[0] != len(V):
        raise ValueError(f"V must have {X.shape[0]} rows as X, got {len(V)}.")
    if root.shape != (len(V),) or not np.isfinite(root).all():
        raise ValueError(f"sqrt_w must be {len(V)} finite numbers, got shape {root.shape}.")
    T = _check_metric(metric, "metric", V)
    T_b = (
        None if intercept_metric is None else _check_metric(intercept_metric, "intercept_metric", V)
    )
    return row_gram(Design(X, T_b is not None).gram(), V, root, T, T_b)


def _check_metric(metric: Any, name: str, V: np.ndarray) -> np.ndarray:
    values = as_numbers(metric, name)
    if values.shape not in ((), (V.shape[1],)):
        raise ValueError(f"{name} must be a number or {V.shape[1]} of them, got {values.shape}.")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"{name} must be positive and finite.")
    return np.broadcast_to(values.astype(V.dtype), V.shape[1])


def row_gram(
    XXt: np.ndarray,
    V: np.ndarray,
    root: np.ndarray,
    metric: np.ndarray,
    intercept_metric: np.ndarray | None,
) -> np.ndarray:
    """``A D^-1 A^T`` from ``X X^T``."""
    gram = (V / metric) @ V.T
    gram *= XXt
    if intercept_metric is not None:
        gram += (V / intercept_metric) @ V.T
    gram *= root[:, None]
    gram *= root
    return cast(np.ndarray, gram)


@dataclass(frozen=True)
class Rows:
    """A: the scaled gradients of the margins at a point, in the precision of the design."""

    design: Design
    V: np.ndarray
    root: np.ndarray

    @classmethod
    def at(cls, point: Point, design: Design) -> "Rows":
        """Rows at ``point`` for the design in any precision."""
        dtype = design.X.dtype
        root = np.sqrt(point.problem.omega) * root_curvature(point.margin)
        return cls(design, point.V.astype(dtype, copy=False), root.astype(dtype, copy=False))

    def forward(self, delta: np.ndarray) -> np.ndarray:
        """``A delta``."""
        return cast(
            np.ndarray, self.root * np.einsum("ij,ij->i", self.V, self.design.forward(delta))
        )

    def adjoint(self, a: np.ndarray) -> np.ndarray:
        """``A^T a``."""
        return self.design.adjoint(self.V * (self.root * a)[:, None])


@dataclass(frozen=True)
class Metric:
    """Positive diagonal D, constant over the weights of a class: ``weights`` and ``intercepts`` are
    (K,)."""

    weights: np.ndarray
    intercepts: np.ndarray | None

    @classmethod
    def uniform(cls, point: Point, damping: float) -> "Metric":
        """``l2 + damping`` for the weights, ``damping`` for the intercepts."""
        problem = point.problem
        ones = np.ones(problem.n_logits)
        return cls(
            (problem.l2 + damping) * ones,
            max(damping, LEAST_INTERCEPT_METRIC) * ones if problem.design.fit_intercept else None,
        )

    @classmethod
    def of_dropped_term(cls, point: Point, mean_square: float, share: float) -> "Metric":
        """``l2`` plus a share of the diagonal of the curvature that F leaves out, class by class."""
        problem = point.problem
        spread = share * competitor_spread(point.V, problem.labels, problem.omega * point.u)
        return cls(
            problem.l2 + mean_square * spread,
            np.maximum(spread, LEAST_INTERCEPT_METRIC) if problem.design.fit_intercept else None,
        )

    def times(self, factor: float) -> "Metric":
        """The metric scaled."""
        return Metric(
            factor * self.weights, None if self.intercepts is None else factor * self.intercepts
        )

    def inverse(self, shape: tuple[int, int], dtype: Any) -> np.ndarray:
        """``1 / D`` in the shape of the parameters."""
        inverse = np.repeat((1.0 / self.weights).astype(dtype)[:, None], shape[1], axis=1)
        if self.intercepts is not None:
            inverse[:, -1] = 1.0 / self.intercepts
        return inverse


class DampedCurvature:
    """``F + D`` with the Cholesky factor of ``I + A D^-1 A^T``.

    Raises
    ------
    scipy.linalg.LinAlgError
        Where rounding makes the matrix indefinite in the precision of the rows.
    """

    def __init__(self, rows: Rows, XXt: np.ndarray, metric: Metric) -> None:
        dtype = rows.V.dtype
        intercepts = None if metric.intercepts is None else metric.intercepts.astype(dtype)
        gram = row_gram(XXt, rows.V, rows.root, metric.weights.astype(dtype), intercepts)
        gram.flat[:: len(gram) + 1] += 1
        self.rows = rows
        self.inverse_metric = metric.inverse((rows.V.shape[1], rows.design.n_columns), dtype)
        # The transpose of a symmetric matrix is itself, and in the order of LAPACK.
        self._factor = linalg.cho_factor(gram.T, lower=True, overwrite_a=True, check_finite=False)

    def solve_rows(self, a: np.ndarray) -> np.ndarray:
        """``(I + A D^-1 A^T)^-1 a``."""
        return cast(np.ndarray, linalg.cho_solve(self._factor, a, check_finite=False))

    def solve(self, R: np.ndarray) -> np.ndarray:
        """``(F + D)^-1 R`` (Woodbury)."""
        S = self.inverse_metric * R
        correction = self.rows.adjoint(self.solve_rows(self.rows.forward(S)))
        correction *= self.inverse_metric
        S -= correction
        return S


class Hessian:
    """Products with the exact Hessian of the objective, in the precision of the design."""

    def __init__(self, point: Point, design: Design) -> None:
        problem, dtype = point.problem, design.X.dtype
        self.design, self.l2 = design, problem.l2
        self.omega = problem.omega.astype(dtype)
        self.binary = problem.n_logits == 1
        if self.binary:
            self.P = (sigmoid(point.margin) * point.u)[:, None].astype(dtype)
        else:
            self.P = point.probabilities().astype(dtype, copy=False)

    def __matmul__(self, D: np.ndarray) -> np.ndarray:
        T = self.design.forward(D)
        if self.binary:
            T *= self.P * self.omega[:, None]
        else:
            _softmax_curvature(self.P, self.omega, T)
        product = self.design.adjoint(T)
        n = self.design.n_features
        product[:, :n] += product.dtype.type(self.l2) * D[:, :n]
        return product


@njit
def _softmax_curvature(P, omega, T):
    """Rows of T become ``omega_i (diag(p_i) - p_i p_i^T) t_i``."""
    n_samples, n_classes = P.shape
    for i in range(n_samples):
        mean = P[i, 0] * T[i, 0]
        for c in range(1, n_classes):
            mean += P[i, c] * T[i, c]
        for c in range(n_classes):
            T[i, c] = omega[i] * P[i, c] * (T[i, c] - mean)
