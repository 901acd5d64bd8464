"""Standard errors of correlated nodes, and how many forests a requested error needs."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

_MAX_DIMENSION = 1e6
_SLACK, _LEAST_GROWTH, _MOST_GROWTH = 1.05, 1.3, 4.0
_CHUNK = 2**18  # nodes at a time: no temporary of the size of all batch means


@dataclass(frozen=True)
class BatchError:
    """What the spread of batch means says about their mean.

    Attributes
    ----------
    mean, stderr : ndarray of shape (n_columns, n)
    rms : ndarray of shape (n_columns,)
        Root mean square of ``stderr`` over the nodes.
    dimension : ndarray of shape (n_columns,)
        Effective number of independent errors among the nodes (Satterthwaite).
    """

    mean: np.ndarray
    stderr: np.ndarray
    rms: np.ndarray
    dimension: np.ndarray


def batch_error(means: np.ndarray) -> BatchError:
    """Mean of batch means of shape (n_batches, n_columns, n), its error and the error's dimension."""
    n_batches, n_columns, n = means.shape
    mean = np.empty(means.shape[1:], dtype=means.dtype)
    stderr = np.empty_like(mean)
    rms, dimension = np.zeros(n_columns), np.ones(n_columns)
    for c in range(n_columns):
        gram = np.zeros((n_batches, n_batches))
        for first in range(0, n, _CHUNK):
            part = slice(first, first + _CHUNK)
            batch = means[:, c, part]
            mean[c, part] = batch.mean(axis=0, dtype=np.float64)
            deviation = (batch - mean[c, part]).astype(np.float64)
            squares = np.einsum("bi,bi->i", deviation, deviation)
            stderr[c, part] = np.sqrt(squares / (n_batches * (n_batches - 1)))
            gram += deviation @ deviation.T
        gram /= (n_batches - 1) * max(n, 1)
        rms[c] = math.sqrt(np.trace(gram) / n_batches)
        dimension[c] = _effective_dimension(gram)
    return BatchError(mean, stderr, rms, dimension)


def _effective_dimension(gram: np.ndarray) -> float:
    """``tr(C)^2 / tr(C^2)`` of the nodes' covariance, both estimated from the batches' Gram matrix."""
    free = gram.shape[0] - 1
    if free < 2:
        return 1.0
    trace = float(np.trace(gram))
    square = free**2 / ((free - 1) * (free + 2)) * (float((gram**2).sum()) - trace**2 / free)
    if square <= 0:
        return _MAX_DIMENSION if trace > 0 else 1.0
    return float(np.clip(trace**2 / square, 1.0, _MAX_DIMENSION))


def rms_bound(error: BatchError, confidence: float, n_batches: int) -> np.ndarray:
    """What the root mean square error of each column stays below, with about this confidence.

    The mean square error over its estimate is taken for F distributed with the effective dimension
    (Satterthwaite's approximation: observed, not proven).
    """
    quantile = stats.f.ppf(confidence, error.dimension, (n_batches - 1) * error.dimension)
    quantile = np.nan_to_num(quantile)  # of a confidence near 0 the quantile underflows
    return error.rms * np.sqrt(quantile)


def max_bound(error: BatchError, confidence: float, n_batches: int) -> np.ndarray:
    """What the largest error of each column stays below: Bonferroni over nodes, Student's t."""
    n = error.stderr.shape[1]
    quantile = stats.t.ppf(1 - (1 - confidence) / (2 * n), n_batches - 1)
    return quantile * error.stderr.max(axis=1, initial=0.0)


def next_size(size: int, achieved_over_tol: float) -> int:
    """Number of forests to go on to: what the error asks for, within limits."""
    growth = _SLACK * achieved_over_tol**2
    return math.ceil(size * min(max(growth, _LEAST_GROWTH), _MOST_GROWTH))
