"""Flips and pairs combined with optimal weights, and how much of the information a fit has used."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from skfrontier.algos._validation import as_numbers, check_interval
from skfrontier.algos.statistics.truncated_boolean.enumeration import unit_vectors
from skfrontier.algos.statistics.truncated_boolean.fibre_cells import (
    FibreCells,
    Penalty,
    cell_hessian,
    cells_of_pairs,
)
from skfrontier.algos.statistics.truncated_boolean.flips import conditional_logit
from skfrontier.algos.statistics.truncated_boolean.pairs import interacting
from skfrontier.algos.statistics.truncated_boolean.rows import (
    binary_rows,
    check_weights,
    dense_chunks,
)
from skfrontier.algos.statistics.truncated_boolean.scores import (
    fibre_score_chunks,
    flip_score_chunks,
    inverse_off,
)
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet, check_subsets


class CombinedFit(NamedTuple):
    """Estimate and covariance of `combine_moves`."""

    z: np.ndarray
    covariance: np.ndarray


class StackedMoments(NamedTuple):
    """Scores of flips and of pairs, one after the other: their sum, second moment and slope."""

    g: np.ndarray  # (2n,) sums, the penalties' gradient taken off
    J: np.ndarray  # (2n, 2n)
    H: np.ndarray  # (2n, n)
    weight: float  # of all rows


def combine_moves(
    X: Any, truncation: TruncationSet, pairs: Any, *, smoothing: float = 0.5
) -> CombinedFit:
    """Logits from flips and pairs, weighted by the inverse of their covariance.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows of the set.
    truncation : TruncationSet
        The set.
    pairs : array-like of shape (n_pairs, 2)
        Pairs of coordinates; those that only repeat flips are left out.
    smoothing : float, default=0.5
        Pseudo-flips per coordinate.

    Returns
    -------
    z : ndarray of shape (n_features,)
        The estimate.
    covariance : ndarray of shape (n_features, n_features)
        Its covariance.

    Raises
    ------
    ValueError
        If the input is invalid, or a coordinate can be flipped in no row.

    Notes
    -----
    One step from the estimate by flips with the stacked scores of flips and pairs, as in the generalised
    method of moments. Consistent whatever the weights; the weights are the inverse correlation of the
    scores with a ridge of 2 n / N, without which intervals are too short.

    References
    ----------
    .. [1] Hansen, "Large sample properties of generalized method of moments estimators", Econometrica
       1982.

    Examples
    --------
    >>> from skfrontier.algos import combine_moves, make_truncation
    >>> from skfrontier.datasets import make_truncated_boolean
    >>> S = make_truncation("random", 6, random_state=0)
    >>> X = make_truncated_boolean(2000, 6, truncation=S, random_state=0)
    >>> pairs = [(i, j) for i in range(6) for j in range(i)]
    >>> z, covariance = combine_moves(X, S, pairs)
    >>> z.shape, covariance.shape
    ((6,), (6, 6))
    """
    rows = binary_rows(X)
    n = rows.shape[1]
    pairs = check_subsets(pairs, n, size=2)
    penalty = Penalty(check_interval(smoothing, "smoothing", 0.0, np.inf, closed="left"))
    m1, m0 = truncation.flip_counts(rows)
    if not (m1 + m0).all():
        i = int(np.argmin(m1 + m0))
        raise ValueError(f"coordinate {i} can be flipped in no row; fit pairs instead.")
    z, _ = conditional_logit(m1, m0, smoothing=smoothing)
    K = truncation.pair_counts(rows, pairs)
    chosen = interacting(K)
    cells = cells_of_pairs(K[chosen], pairs[chosen])
    moments = stack_moments(rows, truncation, pairs[chosen], cells, m1 + m0, z, penalty, None)
    return one_step(moments, z, np.zeros((n, 0)))


def stack_moments(
    X: Any,
    truncation: TruncationSet,
    pairs: np.ndarray,
    cells: FibreCells,
    m: np.ndarray,
    z: np.ndarray,
    penalty: Penalty,
    weights: np.ndarray | None,
) -> StackedMoments:
    """Flip and pair scores at ``z``: ``m`` flippable rows by coordinate, ``cells`` of the pairs."""
    n = len(z)
    p = expit(z)
    touched = np.zeros(n, bool)
    touched[pairs] = True
    H1 = np.diag(m * p * (1 - p) + penalty.curvature(z))
    H2 = _dense(cell_hessian(cells.informative(), z)) + np.diag(touched * penalty.curvature(z))
    gradient = penalty.gradient(z)
    g = -np.concatenate([gradient, touched * gradient])
    J = np.zeros((2 * n, 2 * n))
    chunks = zip(
        _same_chunks(flip_score_chunks, X, len(pairs), truncation, z),
        _same_chunks(fibre_score_chunks, X, len(pairs), truncation, pairs, z),
        strict=True,
    )
    for (rows, first), (_, second) in chunks:
        U = np.hstack([first, second])
        weighted = U if weights is None else U * weights[rows, None]
        g += weighted.sum(axis=0)
        J += U.T @ weighted
    total = float(X.shape[0] if weights is None else weights.sum())
    return StackedMoments(g, J, np.vstack([H1, H2]), total)


def one_step(moments: StackedMoments, z: np.ndarray, Q: np.ndarray) -> CombinedFit:
    """The step from ``z`` that weights the moments by their inverse correlation, off the columns of Q."""
    g, J, H, weight = moments
    d = np.sqrt(np.diag(J))
    kept = d > 0
    J, H, g, d = J[np.ix_(kept, kept)], H[kept], g[kept], d[kept]
    ridged = J / np.outer(d, d) + np.eye(len(d)) * (2 * len(z) / weight)
    H = H - (H @ Q) @ Q.T
    weighted = cho_solve(cho_factor(ridged), H / d[:, None]) / d[:, None]  # W H
    B = inverse_off(H.T @ weighted, Q) @ weighted.T
    return CombinedFit(z + B @ g, B @ J @ B.T)


def estimated_efficiency(X: Any, stderr: Any, *, sample_weight: Any = None) -> float:
    """Share of the information in the data that a fit has used, from the data alone.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows, at least four per feature.
    stderr : array-like of shape (n_features,)
        Standard errors of the fit; infinite ones are left out.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row was seen.

    Returns
    -------
    float
        Trace of the variance of the maximum likelihood estimate over that of the fit, at most 1; NaN with
        fewer than four rows per feature.

    Raises
    ------
    ValueError
        If the input is invalid.

    Notes
    -----
    The rows are sufficient statistics of their exponential family, so the information of one row is their
    covariance, whatever the parameters are: no fit is needed. The factor (N - n - 2) / N takes off the bias
    of the inverse (exact for normal rows, observed for others).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import FullCube, conditional_logit, estimated_efficiency
    >>> X = np.random.default_rng(0).random((5000, 4)) < 0.3
    >>> z, stderr = conditional_logit(*FullCube().flip_counts(X))
    >>> round(estimated_efficiency(X, stderr), 2)
    1.0
    """
    rows = binary_rows(X)
    weights = check_weights(sample_weight, rows.shape[0])
    errors = as_numbers(stderr, "stderr").astype(float)
    if errors.shape != (rows.shape[1],):
        raise ValueError(f"stderr must have shape ({rows.shape[1]},), got {errors.shape}.")
    unknown = ~np.isfinite(errors)
    Q = unit_vectors(unknown)
    return information_share(
        *mean_covariance(rows, weights), float((errors[~unknown] ** 2).sum()), Q
    )


def information_share(
    weight: float,
    covariance: np.ndarray,
    trace: float,
    Q: np.ndarray,
    size: float | None = None,
) -> float:
    """Trace of the best variance, off the columns of Q, over that of a fit.

    ``size`` is the weight of the rows that the covariance comes from, where those are a part of all rows:
    the inverse of a covariance of few rows is too large by size / (size - n - 2).
    """
    n = len(covariance)
    size = weight if size is None else size
    if size < 4 * n or trace <= 0:
        return np.nan
    best = np.trace(inverse_off(covariance, Q)) * (size - n - 2) / (size * weight)
    return float(min(best / trace, 1.0))


def mean_covariance(X: Any, weights: np.ndarray | None) -> tuple[float, np.ndarray]:
    """Weight of the rows and their covariance."""
    n = X.shape[1]
    total, ones, products = 0.0, np.zeros(n), np.zeros((n, n))
    # A chunk has less than 2^24 rows: counts of bits are exact in single precision.
    precision: Any = np.float32 if weights is None else np.float64
    for rows, chunk in dense_chunks(X, 16 * n):
        part = chunk.astype(precision)
        weighted = part if weights is None else part * weights[rows, None]
        total += len(part) if weights is None else weights[rows].sum()
        ones += weighted.sum(axis=0)
        products += part.T @ weighted
    mean = ones / total
    return total, products / total - np.outer(mean, mean)


def share_from_means(weight: float, means: np.ndarray, trace: float) -> float:
    """A lower bound of the share that needs the column means only: diag(S^-1) >= 1 / diag(S)."""
    variance = np.maximum(means * (1 - means), 1e-300)
    return float(min((1 / (weight * variance)).sum() / trace, 1.0)) if trace > 0 else np.nan


def share_from_counts(weight: float, m1: np.ndarray, m0: np.ndarray, trace: float) -> float:
    """A lower bound from the counts of flips alone: the means lie between m1 / N and 1 - m0 / N."""
    return share_from_means(weight, np.clip(0.5, m1 / weight, 1 - m0 / weight), trace)


def _dense(H: Any) -> np.ndarray:
    return H if isinstance(H, np.ndarray) else H.toarray()


def _same_chunks(chunks: Any, X: Any, n_pairs: int, *args: Any) -> Any:
    """Cut both scores into the same row ranges."""
    for rows, chunk in dense_chunks(X, 64 * X.shape[1] + 2 * n_pairs):
        parts = [scores for _, scores in chunks(chunk, *args)]
        yield rows, parts[0] if len(parts) == 1 else np.concatenate(parts)
