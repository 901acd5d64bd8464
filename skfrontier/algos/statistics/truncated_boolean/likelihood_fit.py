"""Maximum likelihood in the form of the other fits."""

from typing import Any

import numpy as np

from skfrontier.algos.statistics.truncated_boolean.combination import mean_covariance
from skfrontier.algos.statistics.truncated_boolean.conditional_fit import (
    FitOptions,
    TruncatedFit,
    column_means,
)
from skfrontier.algos.statistics.truncated_boolean.maximum_likelihood import (
    listed,
    maximise_likelihood,
)
from skfrontier.algos.statistics.truncated_boolean.scores import (
    identified_coordinates,
    inverse_off,
    standard_errors,
)
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet


def fit_likelihood(
    X: Any, truncation: TruncationSet, weights: np.ndarray | None, options: FitOptions
) -> TruncatedFit:
    """Maximum likelihood, with standard errors from the Fisher information.

    Raises
    ------
    ValueError
        If the set has no exact mean, or an l1 penalty is asked for.
    """
    n = X.shape[1]
    if not truncation.is_exact(n):
        raise ValueError(
            f"method='mle' needs the exact mean of the set, which {truncation!r} with {n} features does not "
            "have; FullCube, Cardinality, ExplicitSet, Halfspaces with one row of integers, and every set of "
            "at most 20 features do. Use method='conditional'."
        )
    if options.l1 > 0:
        raise ValueError("method='mle' does not take l1; use method='conditional'.")
    family = listed(truncation, n)
    Q = family.null_space() if family is not None else truncation.null_space(n)
    if Q is None:
        Q = np.zeros((n, 0))
    total = float(X.shape[0] if weights is None else weights.sum())
    fit = maximise_likelihood(
        column_means(X, weights),
        total,
        truncation,
        Q,
        penalty=options.penalty,
        max_iter=options.max_iter,
        tol=options.tol,
    )
    information = fit.information
    if information is None:  # too many features to difference the mean: the data's own covariance
        information = total * mean_covariance(X, weights)[1]
    V = inverse_off(information, Q)
    stderr = standard_errors(V, identified_coordinates(Q))
    covariance = V if options.full_covariance(n) else None
    no_pairs = np.zeros((0, 2), np.int64)
    ended = fit.n_iter < options.max_iter
    return TruncatedFit(fit.z, stderr, covariance, Q, "mle", no_pairs, 1.0, fit.n_iter, ended)
