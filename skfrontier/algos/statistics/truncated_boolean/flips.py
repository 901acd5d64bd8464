"""Single flips: given the other bits of a row that may lose or gain bit i, the bit is a plain coin.

Its probability is sigma(z_i) whatever the set, so the flippable rows give a binomial, in closed form.
"""

from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import beta

from skfrontier.algos._numba import njit
from skfrontier.algos._validation import as_numbers, check_finite, check_interval


def conditional_logit(m1: Any, m0: Any, *, smoothing: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Logits and standard errors from the counts of flippable rows.

    Parameters
    ----------
    m1, m0 : array-like of shape (n_features,)
        Flippable rows with a one, and with a zero (``flip_counts`` of a truncation set).
    smoothing : float, default=0.5
        Added to both counts. 0 is the maximum of the conditional likelihood.

    Returns
    -------
    z : ndarray of shape (n_features,)
        ``log((m1 + smoothing) / (m0 + smoothing))``; 0 where no row can be flipped.
    stderr : ndarray of shape (n_features,)
        ``sqrt(1 / (m1 + smoothing) + 1 / (m0 + smoothing))``; infinite where no row can be flipped.

    Raises
    ------
    ValueError
        If the counts are negative or not finite, or differ in shape, or smoothing is negative.

    Notes
    -----
    Proven, for every set and sample size: given which rows can be flipped, m1 is binomial with
    probability sigma(z). With ``L = log(2 n / delta)``, ``v = sigma(z) (1 - sigma(z))`` and smoothing 0,
    all coordinates with ``m = m1 + m0 >= 16 L / v`` have an error of at most ``3 sqrt(L / (m v))`` with
    probability 1 - delta (Bernstein's inequality); the mass of the set does not enter.

    References
    ----------
    .. [1] Fotakis, Kalavasis, Tzamos, "Efficient parameter estimation of truncated Boolean product
       distributions", Algorithmica 2022, arXiv:2007.02392 (the model, and the notion of fatness).

    Examples
    --------
    Two lists of 1202 people, and only those on some list are known: for the rows (1, 1), (1, 0) and
    (0, 1) the flippable counts give the classical Lincoln-Petersen estimate.

    >>> import numpy as np
    >>> from skfrontier.algos import Cardinality, conditional_logit
    >>> lists, counts = [[1, 1], [1, 0], [0, 1]], [167, 781, 254]
    >>> m1, m0 = Cardinality(min=1).flip_counts(lists, sample_weight=counts)
    >>> z, stderr = conditional_logit(m1, m0, smoothing=0)
    >>> p = 1 / (1 + np.exp(-z))
    >>> round(float(1202 / (1 - np.prod(1 - p))), 2)
    2389.87
    """
    m1, m0 = _counts(m1, m0)
    a = check_interval(smoothing, "smoothing", 0.0, np.inf, closed="left")
    seen = m1 + m0 > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(seen, np.log((m1 + a) / (m0 + a)), 0.0)
        stderr = np.where(seen, np.sqrt(1 / (m1 + a) + 1 / (m0 + a)), np.inf)
    return z, stderr


def penalised_logit(
    m1: np.ndarray, m0: np.ndarray, *, smoothing: float, l1: float, l2: float
) -> np.ndarray:
    """Minimise ``m softplus(z) - m1 z + l1 |z| + l2 z^2 / 2`` per coordinate, counts smoothed.

    With ``l1`` alone: 0 where ``|m1 - m / 2| <= l1``, else the logit of ``(m1 -+ l1) / m``.
    """
    m1, m0 = _counts(m1, m0)
    m1, m = m1 + smoothing, m1 + m0 + 2 * smoothing
    surplus = m1 - m / 2
    shrunk = m1 - np.clip(surplus, -l1, l1)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(np.abs(surplus) <= l1, 0.0, logit(shrunk / m))
    return _ridge_logit(z, shrunk, m, l2) if l2 > 0 else z


def exact_interval(m1: Any, m0: Any, level: float) -> np.ndarray:
    """Clopper-Pearson intervals of the logits, (n_features, 2); infinite where nothing bounds them."""
    m1, m0 = _counts(m1, m0)
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(m1 > 0, beta.ppf(tail, m1, m0 + 1), 0.0)
        high = np.where(m0 > 0, beta.ppf(1 - tail, m1 + 1, m0), 1.0)
    return logit(np.column_stack([low, high]))


def flip_scores(X: np.ndarray, flags: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Scores of the rows, (N, n_features): bit minus its probability, 0 where it cannot be flipped."""
    scores = np.empty(X.shape)
    _flip_scores(X, flags, expit(z), scores)
    return scores


def _counts(m1: Any, m0: Any) -> tuple[np.ndarray, np.ndarray]:
    ones = as_numbers(m1, "m1").astype(np.float64)
    zeros = as_numbers(m0, "m0").astype(np.float64)
    if ones.ndim != 1 or ones.shape != zeros.shape:
        raise ValueError(f"m1 and m0 must be 1-D of one shape, got {ones.shape} and {zeros.shape}.")
    for array, name in ((ones, "m1"), (zeros, "m0")):
        check_finite(array, name)
        if (array < 0).any():
            raise ValueError(f"{name} must not be negative, got {array.min()}.")
    return ones, zeros


def _ridge_logit(z: np.ndarray, m1: np.ndarray, m: np.ndarray, l2: float) -> np.ndarray:
    """Solve ``m sigma(z) - m1 + l2 z = 0``: the left side rises, so Newton steps are kept in a bracket."""
    target = np.clip(z, -700, 700)
    low, high = np.minimum(target, 0.0), np.maximum(target, 0.0)
    z = (low + high) / 2
    for _ in range(100):
        p = expit(z)
        slope = m * p * (1 - p) + l2
        residual = m * p - m1 + l2 * z
        low, high = np.where(residual < 0, z, low), np.where(residual > 0, z, high)
        step = z - residual / slope
        moved = np.where((step > low) & (step < high), step, (low + high) / 2)
        if np.abs(moved - z).max(initial=0.0) <= 1e-14 * (1 + np.abs(z).max(initial=0.0)):
            return moved
        z = moved
    return z


@njit
def _flip_scores(X, flags, p, scores):
    for t in range(X.shape[0]):
        for i in range(X.shape[1]):
            scores[t, i] = X[t, i] - p[i] if flags[t, i] else 0.0
