"""Maximum likelihood on sets whose mass is known exactly."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from skfrontier.algos.statistics.truncated_boolean.enumeration import (
    ENUMERATION_LIMIT,
    ExponentialFamily,
)
from skfrontier.algos.statistics.truncated_boolean.fibre_cells import Penalty
from skfrontier.algos.statistics.truncated_boolean.scores import inverse_off
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet
from skfrontier.algos.statistics.truncated_boolean.sets.explicit import ExplicitSet

_MAX_POINTS = 100_000
_MAX_DIFFERENCES = 512  # most coordinates for which the information is differenced from the mean


class LikelihoodFit(NamedTuple):
    """Estimate, Fisher information of all rows with the penalties' curvature, and number of steps."""

    z: np.ndarray
    information: np.ndarray | None
    n_iter: int


def maximise_likelihood(
    means: np.ndarray,
    weight: float,
    truncation: TruncationSet,
    Q: np.ndarray,
    *,
    penalty: Penalty,
    max_iter: int,
    tol: float,
) -> LikelihoodFit:
    """Maximise ``weight (z.means - log Z(z)) - penalty``, orthogonally to the columns of Q.

    Newton steps where the points can be listed, else L-BFGS on the exact mean.
    """
    n = len(means)
    family = listed(truncation, n)
    if family is not None:
        z, steps = _newton(family, means, weight, Q, penalty, max_iter, tol)
        return LikelihoodFit(
            z, weight * family.covariance(z) + np.diag(penalty.curvature(z)), steps
        )

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        log_sum = truncation.log_mass(z) + np.logaddexp(0, z).sum()
        value = log_sum - z @ means + penalty.value(z) / weight
        return value, truncation.mean(z) - means + penalty.gradient(z) / weight

    found = minimize(
        objective,
        np.zeros(n),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "gtol": tol, "ftol": 1e-15, "maxcor": 30},
    )
    z = found.x - Q @ (Q.T @ found.x)
    information = None
    if n <= _MAX_DIFFERENCES:
        information = weight * _mean_slope(truncation, z) + np.diag(penalty.curvature(z))
    return LikelihoodFit(z, information, int(found.nit))


def listed(truncation: TruncationSet, n_features: int) -> ExponentialFamily | None:
    """The points of the set, where they can be listed and are few enough."""
    if isinstance(truncation, ExplicitSet):
        few = len(truncation.points) <= _MAX_POINTS
        return ExponentialFamily(truncation.points) if few else None
    if n_features > min(16, ENUMERATION_LIMIT):
        if truncation.is_exact(n_features) and type(truncation).mean is not TruncationSet.mean:
            return None  # the family has something better than a sum over 2^n points
        if n_features > ENUMERATION_LIMIT:
            return None
    return ExponentialFamily(truncation.enumerate(n_features))


def _newton(
    family: ExponentialFamily,
    means: np.ndarray,
    weight: float,
    Q: np.ndarray,
    penalty: Penalty,
    max_iter: int,
    tol: float,
) -> tuple[np.ndarray, int]:
    z = np.zeros(len(means))

    def objective(z: np.ndarray) -> float:
        log_sum = family.log_mass(z) + np.logaddexp(0, z).sum()
        return float(weight * (log_sum - z @ means) + penalty.value(z))

    value = objective(z)
    for step in range(max_iter):
        gradient = weight * (family.mean(z) - means) + penalty.gradient(z)
        gradient = gradient - Q @ (Q.T @ gradient)
        if np.abs(gradient).max(initial=0.0) <= tol * weight:
            return z, step
        H = weight * family.covariance(z) + np.diag(penalty.curvature(z))
        direction = -inverse_off(H, Q) @ gradient
        for halving in range(40):
            candidate = z + direction * 0.5**halving
            new_value = objective(candidate)
            if new_value <= value + 1e-4 * 0.5**halving * (gradient @ direction) + 1e-12 * abs(
                value
            ):
                break
        z, value = candidate, new_value
    return z, max_iter


def _mean_slope(truncation: Any, z: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Derivative of the mean, which is the covariance, by central differences."""
    slopes = np.empty((len(z), len(z)))
    for i in range(len(z)):
        shift = np.zeros(len(z))
        shift[i] = step
        slopes[i] = (truncation.mean(z + shift) - truncation.mean(z - shift)) / (2 * step)
    return (slopes + slopes.T) / 2
