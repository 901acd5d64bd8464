"""The whole fit of a linear softmax model by Newton, Fast Gauss-Newton or L-BFGS."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize
from tqdm import tqdm

from skfrontier.algos._validation import (
    as_numbers,
    check_choice,
    check_count,
    check_flag,
    check_interval,
)
from skfrontier.algos.optim.gauss_newton.choice import choose_solver
from skfrontier.algos.optim.gauss_newton.conjugate_gradients import conjugate_gradients
from skfrontier.algos.optim.gauss_newton.curvature import Hessian
from skfrontier.algos.optim.gauss_newton.margin import competitor_spread
from skfrontier.algos.optim.gauss_newton.newton import (
    EPS,
    NewtonDirections,
    NewtonOptions,
    backtrack,
    is_descent,
)
from skfrontier.algos.optim.gauss_newton.problem import Point, Problem
from skfrontier.algos.optim.gauss_newton.step import damped_step, make_problem, pack, unpack

SOLVERS = ("auto", "newton", "fgn", "lbfgs")
FIRST_DAMPING = 1e-3
MOST_DAMPING = 1e12


@dataclass(frozen=True)
class SoftmaxFit:
    """A fitted linear softmax model.

    Attributes
    ----------
    coef : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept : ndarray of shape (n_classes,) or (1,)
        Zero without intercepts; with three classes or more they sum to zero.
    objective : float
        ``sum_i omega_i loss_i + l2 / 2 ||coef||^2``, weights ``omega`` summing to one.
    gradient_norm : float
        Largest absolute entry of its gradient.
    n_iter : int
        Outer steps.
    n_cg : int
        Steps of conjugate gradients, each with one product with the Hessian ('newton') or with F
        ('fgn').
    solver : str
        The solver that ran.
    converged : bool
        Whether ``gradient_norm`` is at most ``tol``.
    curvature_gap : float
        ``sum_i omega_i u_i (1 - ||q_i||^2)``: trace, per unit of feature, of the curvature that F
        leaves out.
    """

    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    gradient_norm: float
    n_iter: int
    n_cg: int
    solver: str
    converged: bool
    curvature_gap: float


def fit_softmax(
    X: Any,
    y: Any,
    *,
    l2: float,
    solver: str = "auto",
    fit_intercept: bool = True,
    damping: float | str = "auto",
    max_iter: int = 100,
    tol: float = 1e-4,
    cg_max_iter: int = 200,
    gram_limit: int = 4000,
    sample_weight: Any = None,
    n_classes: int | None = None,
    coef: Any = None,
    intercept: Any = None,
    verbose: int = 0,
) -> SoftmaxFit:
    """Fit a linear softmax model: minimise ``sum_i omega_i loss_i + l2 / 2 ||coef||^2``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        float32 is computed in float32, which limits the gradient that can be reached to about 1e-6.
    y : array-like of shape (n_samples,), integer
        Classes from 0.
    l2 : float
        Ridge on the weights, not on the intercepts; positive.
    solver : {'auto', 'newton', 'fgn', 'lbfgs'}, default='auto'
        - 'newton': truncated Newton on the exact Hessian, its conjugate gradients preconditioned by
          the damped Fast Gauss-Newton matrix. For few rows, many features, many classes.
        - 'fgn': damped Fast Gauss-Newton steps, with the damping of Levenberg and Marquardt (the
          published method).
        - 'lbfgs': L-BFGS of scipy. For many rows.
        - 'auto': 'newton' where a model of the cost prefers it, else 'lbfgs'.
    fit_intercept : bool, default=True
        Whether logits have intercepts, which are not penalised.
    damping : float or 'auto', default='auto'
        D is ``l2 + damping`` for weights and ``damping``, at least 1e-8, for intercepts. 'auto': for
        'newton' a share of the curvature that F leaves out, class by class; for 'fgn' a start of 1e-3.
    max_iter : int, default=100
        Most outer steps.
    tol : float, default=1e-4
        Stop when no entry of the gradient is larger.
    cg_max_iter : int, default=200
        Most steps of conjugate gradients in an outer step.
    gram_limit : int, default=4000
        Most rows for which a matrix of n_samples² numbers is formed. 'fgn' uses conjugate gradients
        beyond it.
    sample_weight : array-like of shape (n_samples,) or None
        Scaled to sum to one.
    n_classes : int or None
        More than occur in ``y``, or None for ``max(y) + 1``.
    coef, intercept : array-like or None
        Where to start; None for zero.
    verbose : int, default=0
        Positive: a progress bar with the norm of the gradient.

    Returns
    -------
    SoftmaxFit

    Raises
    ------
    ValueError
        If a parameter is not accepted, shapes do not fit, or solver='newton' has more than
        ``gram_limit`` rows.

    Notes
    -----
    The objective is strictly convex in the weights, and 'newton' has its exact Hessian: with
    backtracking it converges from anywhere, superlinearly at the end (standard). That Fast
    Gauss-Newton is a good preconditioner is observed. Conjugate gradients run in float32, gradient and
    objective in float64, so that the optimum is the same; a float32 solve that fails is repeated in
    float64. An outer step costs ``4 n² C + n³ / 3 + 8 n d C`` operations per step of conjugate
    gradients, and the memory is ``n² + 3 n C + 4 C d`` numbers.

    References
    ----------
    Korbit and Zanon, *Fast Gauss-Newton for Multiclass Cross-Entropy*, arXiv:2605.06081.

    Examples
    --------
    >>> from skfrontier.algos import fit_softmax
    >>> from skfrontier.datasets import make_many_classes
    >>> X, y = make_many_classes(200, 100, 50, sep=0.5, random_state=0)
    >>> fit = fit_softmax(X, y, l2=0.01, solver="newton", tol=1e-8)
    >>> fit.converged, fit.coef.shape, fit.gradient_norm < 1e-8
    (True, (50, 100), True)
    """
    solver = check_choice(solver, "solver", SOLVERS)
    fit_intercept = check_flag(fit_intercept, "fit_intercept")
    l2 = check_interval(l2, "l2", 0.0, np.inf, closed="neither")
    options = NewtonOptions(
        _check_damping(damping),
        check_interval(tol, "tol", 0.0, np.inf, closed="left"),
        check_count(max_iter, "max_iter", 0),
        check_count(cg_max_iter, "cg_max_iter"),
    )
    gram_limit = check_count(gram_limit, "gram_limit", 0)
    classes = _count_classes(y, n_classes)
    problem = make_problem(
        X,
        y,
        l2=l2,
        n_classes=classes,
        n_logits=1 if classes == 2 else classes,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
    )
    start = _start(problem, coef, intercept)
    n_samples = len(problem.labels)
    if solver == "auto":
        solver = choose_solver(problem.at(start), options.tol, gram_limit)
    if solver == "newton" and n_samples > gram_limit:
        raise ValueError(
            f"solver='newton' forms a matrix of n_samples² numbers, and X has {n_samples} rows, "
            f"more than gram_limit={gram_limit}: use solver='lbfgs', or raise gram_limit."
        )
    with _progress(verbose, options.max_iter) as bar:
        if solver == "newton":
            point, n_iter, n_cg = _newton(problem.at(start), options, bar)
        elif solver == "fgn":
            point, n_iter, n_cg = _levenberg(problem.at(start), options, gram_limit, bar)
        else:
            point, n_iter = _lbfgs(problem, start, options, bar)
            n_cg = 0
    return _result(point, n_iter, n_cg, solver, options.tol)


def _newton(point: Point, options: NewtonOptions, bar: tqdm) -> tuple[Point, int, int]:
    directions = NewtonDirections(point.problem, options)
    for n_iter in range(options.max_iter):
        if point.gradient_norm <= options.tol:
            return point, n_iter, directions.n_cg
        following = backtrack(point, directions.at(point))
        if following is None:  # no decrease that float64 could show
            return point, n_iter, directions.n_cg
        point = following
        _show(bar, point)
    return point, options.max_iter, directions.n_cg


def _levenberg(
    point: Point, options: NewtonOptions, gram_limit: int, bar: tqdm
) -> tuple[Point, int, int]:
    """Fast Gauss-Newton with the damping of Levenberg and Marquardt."""
    damping = FIRST_DAMPING if options.damping is None else max(options.damping, 1e-12)
    few = len(point.problem.labels) <= gram_limit
    XXt = point.problem.design.gram().astype(np.float64, copy=False) if few else None
    n_cg = 0
    for n_iter in range(options.max_iter):
        if point.gradient_norm <= options.tol or damping > MOST_DAMPING:
            return point, n_iter, n_cg
        try:
            delta, n_inner = damped_step(
                point, damping, XXt, tol=1e-6, cg_max_iter=options.cg_max_iter
            )
        except linalg.LinAlgError:  # too little damping for float64
            damping *= 4
            continue
        n_cg += n_inner
        trial = point.problem.at(point.theta + delta)
        predicted = -0.5 * float(np.vdot(point.gradient, delta))
        rounding = 4 * EPS * abs(point.value)
        gain = (point.value - trial.value + rounding) / predicted if predicted > 0 else -1.0
        if gain > 1e-3:
            point = trial
            if gain > 0.75:
                damping = max(damping / 3, 1e-12)
            elif gain < 0.25:
                damping *= 2
        else:
            damping *= 4
        _show(bar, point)
    return point, options.max_iter, n_cg


def _lbfgs(
    problem: Problem, start: np.ndarray, options: NewtonOptions, bar: tqdm
) -> tuple[Point, int]:
    shape = start.shape

    def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        point = problem.at(flat.reshape(shape))
        return point.value, point.gradient.ravel()

    if options.max_iter == 0:
        return problem.at(start), 0
    found = optimize.minimize(
        value_and_gradient,
        start.ravel(),
        method="L-BFGS-B",
        jac=True,
        callback=lambda _: _tick(bar),
        options={
            "maxiter": options.max_iter,
            "maxfun": 15_000 + 2 * options.max_iter,
            "gtol": options.tol,
            "ftol": 0.0,
            "maxls": 50,
        },
    )
    point = problem.at(found.x.reshape(shape))
    return _polish(point, options, options.max_iter - int(found.nit), int(found.nit))


def _polish(point: Point, options: NewtonOptions, most: int, n_iter: int) -> tuple[Point, int]:
    """Newton steps where L-BFGS stopped because values no longer tell better from worse.

    A step is kept only if it makes the gradient smaller.
    """
    for _ in range(most):
        if point.gradient_norm <= options.tol:
            break
        delta = conjugate_gradients(
            Hessian(point, point.problem.design.astype(np.float64)).__matmul__,
            -point.gradient,
            precondition=None,
            tol=0.1,
            max_iter=options.cg_max_iter,
        ).x
        following = backtrack(point, delta) if is_descent(delta, point) else None
        if following is None or not following.gradient_norm < point.gradient_norm:
            break
        point, n_iter = following, n_iter + 1
    return point, n_iter


def _result(point: Point, n_iter: int, n_cg: int, solver: str, tol: float) -> SoftmaxFit:
    problem = point.problem
    coef, intercept = unpack(point.theta, problem.design.fit_intercept)
    if len(intercept) > 2:
        intercept = intercept - intercept.mean()  # softmax does not see a common shift
    spread = competitor_spread(point.V, problem.labels, problem.omega * point.u)
    return SoftmaxFit(
        coef=coef,
        intercept=intercept,
        objective=point.value,
        gradient_norm=point.gradient_norm,
        n_iter=n_iter,
        n_cg=n_cg,
        solver=solver,
        converged=point.gradient_norm <= tol,
        curvature_gap=float(spread.sum()),
    )


def _check_damping(damping: float | str) -> float | None:
    if isinstance(damping, str):
        check_choice(damping, "damping", ("auto",))
        return None
    return check_interval(damping, "damping", 0.0, np.inf, closed="left")


def _count_classes(y: Any, n_classes: int | None) -> int:
    if n_classes is not None:
        return check_count(n_classes, "n_classes", 2)
    labels = as_numbers(y, "y")
    if labels.dtype.kind not in "iu" or labels.size == 0:
        raise ValueError(f"y must hold integers, got dtype {labels.dtype}, shape {labels.shape}.")
    if int(labels.max()) < 1:
        raise ValueError("y must hold at least two classes, 0 and 1; or give n_classes.")
    return int(labels.max()) + 1


def _start(problem: Problem, coef: Any, intercept: Any) -> np.ndarray:
    if coef is None:
        return np.zeros(problem.shape)
    has_intercept = problem.design.fit_intercept
    if has_intercept and intercept is None:
        intercept = np.zeros(np.shape(coef)[:1])
    theta, _ = pack(coef, intercept if has_intercept else None)
    if theta.shape != problem.shape:
        wanted = (problem.n_logits, problem.design.n_features)
        raise ValueError(f"coef must have shape {wanted}, got {np.shape(coef)}.")
    return theta


@contextlib.contextmanager
def _progress(verbose: int, total: int) -> Iterator[tqdm]:
    with tqdm(total=total, desc="outer steps", disable=not verbose) as bar:
        yield bar


def _show(bar: tqdm, point: Point) -> None:
    if not bar.disable:
        bar.set_postfix(gradient=f"{point.gradient_norm:.1e}")
    _tick(bar)


def _tick(bar: tqdm) -> None:
    bar.update()
