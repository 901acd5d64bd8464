"""Do the rows look independent inside the set? Two tests that need flips only."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import erfc
from scipy.stats import ncx2

from skfrontier.algos._numba import njit
from skfrontier.algos.statistics.truncated_boolean.rows import dense_chunks
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet


class FitTest(NamedTuple):
    """Statistic and p-value."""

    statistic: float
    pvalue: float


def row_sum_test(
    X: Any, truncation: TruncationSet, m1: np.ndarray, m0: np.ndarray, weights: np.ndarray | None
) -> FitTest:
    """Does a flippable bit depend on the number of the other ones? Standard normal if not."""
    means = _other_means(X, truncation, m1 + m0, weights)
    p = m1 / np.maximum(m1 + m0, 1e-300)
    total, square = 0.0, 0.0
    for rows, chunk in dense_chunks(X, 8 * X.shape[1]):
        g = _row_products(chunk, truncation.flips(chunk), p, means)
        w = 1.0 if weights is None else weights[rows]
        total += float((w * g).sum())
        square += float((w * g * g).sum())
    statistic = total / np.sqrt(square) if square > 0 else 0.0
    return FitTest(float(statistic), float(erfc(abs(statistic) / np.sqrt(2))))


def pair_test(
    X: Any,
    truncation: TruncationSet,
    m1: np.ndarray,
    m0: np.ndarray,
    pairs: np.ndarray,
    weights: np.ndarray | None,
) -> FitTest:
    """Test whether a flippable bit depends on one other bit, for any of the pairs.

    One surplus moment per pair, r_i (x_j - c_ij) + r_j (x_i - c_ji), where r_i is a flippable bit minus its
    probability and c_ij the mean of x_j over the rows in which i can be flipped: the estimated
    probabilities then do not matter to first order. The statistic adds the squares of the standardised
    moments; its law is that of a weighted sum of squared normals, the weights being the eigenvalues of
    their correlation. (The quadratic form with the inverse covariance rejects too often: with 45 moments
    and 500 rows in 8 % of the cases instead of 5 %.)
    """
    m = m1 + m0
    p = m1 / np.maximum(m, 1e-300)
    centres = _pair_centres(X, truncation, m, weights, pairs)
    count = len(pairs)
    g, J, total = np.zeros(count), np.zeros((count, count)), 0.0
    for rows, chunk in dense_chunks(X, 8 * count + 8 * X.shape[1]):
        G = _pair_products(chunk, truncation.flips(chunk), p, pairs, centres)
        weighted = G if weights is None else G * weights[rows, None]
        total += float(len(chunk) if weights is None else weights[rows].sum())
        g += weighted.sum(axis=0)
        J += G.T @ weighted
    kept = np.diag(J) > 0
    if not kept.any():
        return FitTest(0.0, 1.0)
    d = np.diag(J)[kept]
    statistic = float((g[kept] ** 2 / d).sum())
    eigenvalues = _shrunk_eigenvalues(J[np.ix_(kept, kept)] / np.sqrt(np.outer(d, d)), total)
    return FitTest(statistic, weighted_chi_square_tail(statistic, eigenvalues))


def _shrunk_eigenvalues(correlation: np.ndarray, size: float) -> np.ndarray:
    """Eigenvalues of a correlation, less the spread that comes from estimating it on ``size`` rows."""
    r = len(correlation)
    squares = (correlation**2).sum() - r
    share = max(0.0, 1 - r * (r - 1) / size / squares) ** 0.5 if squares > 0 else 0.0
    return 1 + share * (np.linalg.eigvalsh(correlation) - 1)


def weighted_chi_square_tail(value: float, weights: np.ndarray) -> float:
    """P(sum_k weights_k chi^2_1 > value), by the chi-square law with the same first four cumulants.

    References
    ----------
    .. [1] Liu, Tang, Zhang, "A new chi-square approximation to the distribution of non-negative definite
       quadratic forms in non-central normal variables", Computational Statistics and Data Analysis 2009.
    """
    c1, c2, c3, c4 = ((weights**k).sum() for k in (1, 2, 3, 4))
    skewness, kurtosis = c3 / c2**1.5, c4 / c2**2
    if skewness**2 > kurtosis:
        a = 1 / (skewness - np.sqrt(skewness**2 - kurtosis))
        shift = skewness * a**3 - a**2
    else:
        a, shift = 1 / skewness, 0.0
    degrees = a**2 - 2 * shift
    standardised = (value - c1) / np.sqrt(2 * c2)
    return float(ncx2.sf(standardised * np.sqrt(2) * a + degrees + shift, degrees, shift))


def _other_means(
    X: Any, truncation: TruncationSet, m: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """Mean number of the other ones, over the rows in which each coordinate can be flipped."""
    sums = np.zeros(X.shape[1])
    for rows, chunk in dense_chunks(X, X.shape[1]):
        flags = truncation.flips(chunk)
        others = chunk.sum(axis=1, dtype=np.int64)[:, None] - chunk
        if weights is None:
            sums += np.where(flags, others, 0).sum(axis=0)
        else:
            sums += weights[rows] @ np.where(flags, others, 0)
    return sums / np.maximum(m, 1e-300)


def _pair_centres(
    X: Any, truncation: TruncationSet, m: np.ndarray, weights: np.ndarray | None, pairs: np.ndarray
) -> np.ndarray:
    """Mean of x_j where i can be flipped, and of x_i where j can, (n_pairs, 2)."""
    sums = np.zeros((len(pairs), 2))
    for rows, chunk in dense_chunks(X, X.shape[1]):
        w = np.ones(len(chunk)) if weights is None else weights[rows]
        _add_pair_sums(chunk, truncation.flips(chunk), w, pairs, sums)
    return sums / np.maximum(m[pairs], 1e-300)


@njit
def _row_products(X, flags, p, means):
    g = np.zeros(X.shape[0])
    for t in range(X.shape[0]):
        ones = 0
        for i in range(X.shape[1]):
            ones += X[t, i]
        for i in range(X.shape[1]):
            if flags[t, i]:
                g[t] += (X[t, i] - p[i]) * (ones - X[t, i] - means[i])
    return g


@njit
def _add_pair_sums(X, flags, weights, pairs, sums):
    for t in range(X.shape[0]):
        for e in range(pairs.shape[0]):
            i, j = pairs[e, 0], pairs[e, 1]
            if flags[t, i]:
                sums[e, 0] += weights[t] * X[t, j]
            if flags[t, j]:
                sums[e, 1] += weights[t] * X[t, i]


@njit
def _pair_products(X, flags, p, pairs, centres):
    G = np.zeros((X.shape[0], pairs.shape[0]))
    for t in range(X.shape[0]):
        for e in range(pairs.shape[0]):
            i, j = pairs[e, 0], pairs[e, 1]
            if flags[t, i]:
                G[t, e] += (X[t, i] - p[i]) * (X[t, j] - centres[e, 0])
            if flags[t, j]:
                G[t, e] += (X[t, j] - p[j]) * (X[t, i] - centres[e, 1])
    return G
