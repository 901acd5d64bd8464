"""Truncated Newton on the exact Hessian, preconditioned by the damped Fast Gauss-Newton curvature."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from skfrontier.algos.optim.gauss_newton.conjugate_gradients import CGResult, conjugate_gradients
from skfrontier.algos.optim.gauss_newton.curvature import DampedCurvature, Hessian, Metric, Rows
from skfrontier.algos.optim.gauss_newton.problem import Design, Point, Problem

DROPPED_SHARE = 0.3  # of the diagonal that F leaves out, in the metric
SUFFICIENT_DECREASE = 1e-4
MOST_HALVINGS = 40
MOST_METRICS = 40  # each ten times the last; rounding needs a few, an overflow has no end
LEAST_SINGLE_WORK = 1_000_000  # n d C from which float32 saves time
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class NewtonOptions:
    """``damping`` is None for the metric of the dropped term."""

    damping: float | None
    tol: float
    max_iter: int
    cg_max_iter: int


class DirectionSolver:
    """Newton directions in one precision; ``X X^T`` is formed once."""

    def __init__(self, problem: Problem, dtype: type, options: NewtonOptions) -> None:
        self.design: Design = problem.design.astype(dtype)
        self.dtype, self.options = dtype, options
        self.XXt = self.design.gram()
        self.mean_square = problem.design.mean_square(problem.omega)

    def solve(self, point: Point) -> CGResult:
        """Approximately ``-Hessian^-1 gradient``; may raise LinAlgError in float32."""
        gradient = point.gradient
        norm = float(np.linalg.norm(gradient))
        hessian = Hessian(point, self.design)
        result = conjugate_gradients(
            hessian.__matmul__,
            (gradient / -norm).astype(self.dtype),  # of unit length: float32 holds it at any scale
            precondition=self._damped_curvature(point).solve,
            tol=min(0.5, max(1e-4, math.sqrt(norm))),
            max_iter=self.options.cg_max_iter,
        )
        return CGResult(result.x.astype(np.float64) * norm, result.n_iter, result.converged)

    def _damped_curvature(self, point: Point) -> DampedCurvature:
        if self.options.damping is None:
            metric = Metric.of_dropped_term(point, self.mean_square, DROPPED_SHARE)
        else:
            metric = Metric.uniform(point, self.options.damping)
        rows = Rows.at(point, self.design)
        for _ in range(MOST_METRICS):
            try:
                return DampedCurvature(rows, self.XXt, metric)
            except linalg.LinAlgError:
                if self.dtype is np.float32:
                    break
                metric = metric.times(10.0)  # any positive metric is a valid preconditioner
        raise linalg.LinAlgError("A damped Gram matrix is not positive definite.")


class NewtonDirections:
    """Directions from float32, and from float64 wherever float32 fails."""

    def __init__(self, problem: Problem, options: NewtonOptions) -> None:
        self.problem, self.options = problem, options
        self.n_cg = 0
        work = len(problem.labels) * problem.shape[0] * problem.shape[1]
        # One conjugate gradient step solves the binary system, whose Gram matrix needs float64.
        single = problem.n_logits > 1 and work >= LEAST_SINGLE_WORK
        self._single = DirectionSolver(problem, np.float32, options) if single else None
        self._double: DirectionSolver | None = None

    def at(self, point: Point) -> np.ndarray:
        """A descent direction at ``point``."""
        if self._single is not None:
            result = self._try_single(self._single, point)
            if result is not None:
                return result.x
        if self._double is None:
            self._double = DirectionSolver(self.problem, np.float64, self.options)
        try:
            result = self._double.solve(point)
        except linalg.LinAlgError:  # the Gram matrix overflows
            return -point.gradient
        self.n_cg += result.n_iter
        if is_descent(result.x, point):
            return result.x
        return -point.gradient  # nothing better is left within rounding

    def _try_single(self, solver: DirectionSolver, point: Point) -> CGResult | None:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                result = solver.solve(point)
        except linalg.LinAlgError:
            return None
        self.n_cg += result.n_iter
        if result.converged and is_descent(result.x, point):
            return result
        return None


def is_descent(direction: np.ndarray, point: Point) -> bool:
    """Whether the objective falls along ``direction``, which is finite."""
    return bool(np.isfinite(direction).all()) and float(np.vdot(point.gradient, direction)) < 0


def backtrack(point: Point, direction: np.ndarray) -> Point | None:
    """The first of the points at 1, 1/2, 1/4, ... that decreases the objective enough (Armijo)."""
    slope = float(np.vdot(point.gradient, direction))
    rounding = 4 * EPS * abs(point.value)
    t = 1.0
    for _ in range(MOST_HALVINGS):
        trial = point.problem.at(point.theta + t * direction)
        if trial.value <= point.value + SUFFICIENT_DECREASE * t * slope + rounding:
            return trial
        t *= 0.5
    return None
