"""Which solver is cheaper: operations of a step, times the steps that such problems were seen to need.

The numbers of steps are power laws fitted to measured fits (Gaussian classes, digits, hashed text; 3
to 150 classes; penalties and tolerances over orders of magnitude), the seconds those of the same fits
on one core. They are observed, not proven; only ratios count.
"""

import math
from dataclasses import dataclass

from skfrontier.algos.optim.gauss_newton.problem import Point


@dataclass(frozen=True)
class Size:
    """What the cost depends on.

    ``drop`` is the logarithm of the factor by which the first gradient has to fall, ``condition`` the
    trace of the second moments of the features over the ridge.
    """

    n: int
    d: int
    C: int
    drop: float
    condition: float

    @classmethod
    def at(cls, start: Point, tol: float) -> "Size":
        """Size of a fit from ``start``."""
        problem = start.problem
        n_features = problem.design.n_features
        moments = problem.design.mean_square(problem.omega) * n_features
        factor = start.gradient_norm / max(tol, 1e-12)
        return cls(
            len(problem.labels),
            n_features,
            problem.n_logits,
            math.log(max(factor, 1.5)),
            max(moments / problem.l2, 1.0),
        )

    def power_law(
        self, scale: float, drop: float, C: float, condition: float, n: float, d: float
    ) -> float:
        """``scale`` times powers of everything."""
        return (
            scale * self.drop**drop * self.C**C * self.condition**condition * self.n**n * self.d**d
        )


def choose_solver(start: Point, tol: float, gram_limit: int) -> str:
    """'newton' or 'lbfgs' for a fit from ``start``."""
    size = Size.at(start, tol)
    if size.n > gram_limit:
        return "lbfgs"
    return "newton" if newton_seconds(size) < lbfgs_seconds(size) else "lbfgs"


def newton_seconds(size: Size) -> float:
    """Factorisations, Gram matrices and conjugate gradients in float32, gradients in float64."""
    n, d, C = size.n, size.d, size.C
    n_outer = size.power_law(1.76, 0.43, 0.05, 0.07, -0.04, -0.03)
    n_cg = size.power_law(1.97, 0.63, 0.14, 0.05, 0.0, -0.09)
    outer = 3.5e-11 * n**3 / 3 + 2.7e-11 * n * n * C + 6.0e-11 * 4 * n * d * C + 6.9e-4
    return n_outer * outer + n_cg * (1.56e-11 * 8 * n * d * C + 1.7e-4)


def lbfgs_seconds(size: Size) -> float:
    """Gradients in float64, and the vectors that L-BFGS remembers."""
    n, d, C = size.n, size.d, size.C
    n_iter = size.power_law(0.29, 1.71, 0.28, -0.05, 0.09, -0.03)
    return n_iter * (4.8e-11 * 4 * n * d * C + 6.2e-8 * d * C + 2.5e-4)
