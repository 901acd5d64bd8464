"""An unknown set: the distinct rows that were seen, corrected for having been seen."""

from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_interval
from skfrontier.algos.statistics.truncated_boolean.rows import (
    binary_rows,
    check_weights,
    dense,
)
from skfrontier.algos.statistics.truncated_boolean.sets.explicit import ExplicitSet

_MIN_INFORMATION = 1e-10


def support_conditional_fit(
    X: Any, sample_weight: Any = None, *, smoothing: float = 0.5, l2: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Logits where the truncation set is not known.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Zeros and ones.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row was seen, integers.
    smoothing : float, default=0.5
        Pseudo-flips per coordinate that has information.
    l2 : float, default=0.0
        Ridge penalty.

    Returns
    -------
    z : ndarray of shape (n_features,)
        Logits; 0 where the data say nothing.
    stderr : ndarray of shape (n_features,)
        Standard errors; infinite where the data say nothing.

    Raises
    ------
    ValueError
        If the data are not zeros and ones, or weights are no integers.

    Notes
    -----
    Two rows that differ in coordinate i only and were seen c and m - c times: c is binomial with
    probability sigma(z_i), given that both were seen, hence 0 < c < m. The likelihood of all such pairs is
    concave in z_i; pairs seen once each carry no information. Unbiased score for every set and sample
    size (elementary); that the bias of the estimate is small is observed.

    Examples
    --------
    >>> from skfrontier.algos import support_conditional_fit
    >>> z, stderr = support_conditional_fit([[0, 0], [1, 0]], sample_weight=[100, 300])
    >>> z.round(2), stderr.round(2)
    (array([1.1, 0. ]), array([0.12,  inf]))
    """
    rows = binary_rows(X)
    weights = check_weights(sample_weight, rows.shape[0])
    smoothing = check_interval(smoothing, "smoothing", 0.0, np.inf, closed="left")
    l2 = check_interval(l2, "l2", 0.0, np.inf, closed="left")
    if weights is None:
        weights = np.ones(rows.shape[0])
    if (weights != np.floor(weights)).any():
        raise ValueError("sample_weight must hold integers where the set is unknown.")
    kept = weights > 0
    support, counts = distinct_rows(dense(rows[kept]), weights[kept])
    n = rows.shape[1]
    z, stderr = np.zeros(n), np.full(n, np.inf)
    for i in range(n):
        ones, totals = _neighbour_counts(support, counts, i)
        if not len(totals):
            continue
        m, how_many = np.unique(totals, return_counts=True)
        z[i], information = _solve(m, how_many, float(ones.sum()), smoothing, l2)
        if information < _MIN_INFORMATION:
            z[i] = 0.0
        else:
            stderr[i] = information**-0.5
    return z, stderr


def distinct_rows(X: np.ndarray, weights: np.ndarray) -> tuple[ExplicitSet, np.ndarray]:
    """The distinct rows as a set, and the weight of each."""
    support = ExplicitSet(X)
    return support, np.bincount(support.find(X), weights, len(support.points))


def _neighbour_counts(
    support: ExplicitSet, counts: np.ndarray, i: int
) -> tuple[np.ndarray, np.ndarray]:
    """For all pairs of seen rows that differ in ``i``: count of the one with the bit, and of both."""
    partner = support.neighbours(i)
    upper = np.flatnonzero((partner >= 0) & (support.points[:, i] == 1))
    return counts[upper], counts[upper] + counts[partner[upper]]


@njit
def truncated_binomial(m, theta):
    """Mean and variance of a binomial of m with logit theta, given that it is neither 0 nor m.

    The formulas cancel for probabilities above 1/2, so the smaller of the two outcomes is taken and
    mirrored.
    """
    small = -abs(theta)
    p = np.exp(small) / (1 + np.exp(small))
    log_q = -np.log1p(np.exp(small))
    q = np.exp(log_q)
    p_m = p**m  # for the smaller outcome, p <= 1/2
    norm = -np.expm1(m * log_q) - p_m
    if m < 2 or norm <= 0:
        return m / 2, 0.0
    mean = (m * p - m * p_m) / norm
    square = (m * p * q + m * m * p * p - m * m * p_m) / norm
    variance = max(square - mean * mean, 0.0)
    return (m - mean if theta > 0 else mean), variance


@inner
def _score(m, how_many, theta):
    mean = 0.0
    variance = 0.0
    for a in range(m.shape[0]):
        mu, var = truncated_binomial(m[a], theta)
        mean += how_many[a] * mu
        variance += how_many[a] * var
    return mean, variance


@njit
def _solve(m, how_many, ones, smoothing, l2):
    """Root of the falling score: Newton steps, kept in a bracket."""
    low, high = -40.0, 40.0
    theta = 0.0
    for _ in range(200):
        mean, variance = _score(m, how_many, theta)
        p = 1 / (1 + np.exp(-theta))
        score = ones - mean - smoothing * (2 * p - 1) - l2 * theta
        if score > 0:
            low = theta
        else:
            high = theta
        slope = variance + 2 * smoothing * p * (1 - p) + l2
        moved = theta + score / slope if slope > 0 else high + 1
        if not low < moved < high:
            moved = (low + high) / 2
        if abs(moved - theta) <= 1e-12 * (1 + abs(theta)):
            break
        theta = moved
    return theta, _score(m, how_many, theta)[1]
