"""Do the rows look independent inside the set? Two tests that need flips only."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import erfc
from scipy.stats import f as f_distribution

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

    Hansen's test of the surplus moments r_i (x_j - c_ij) + r_j (x_i - c_ji), one per pair, where r_i is a
    flippable bit minus its probability and c_ij the mean of x_j over the rows in which i can be flipped:
    the estimated probabilities then do not matter to first order. The quadratic form is compared with
    Hotelling's F law, which keeps the size when the moments are many.
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
    values, vectors = np.linalg.eigh(J)
    kept = values > values[-1] * 1e-10 if count else np.zeros(0, bool)
    rank = int(kept.sum())
    if rank == 0 or total <= rank:
        return FitTest(0.0, 1.0)
    quadratic = float((((vectors[:, kept].T @ g) ** 2) / values[kept]).sum())  # at most the weight
    hotelling = quadratic / max(1 - quadratic / total, 1e-300)
    pvalue = f_distribution.sf(hotelling * (total - rank) / (total * rank), rank, total - rank)
    return FitTest(quadratic, float(pvalue))


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
