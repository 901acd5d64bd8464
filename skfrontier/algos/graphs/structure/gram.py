"""The Gram matrix that all nodes share, and the standardised columns behind it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from skfrontier.algos._validation import as_numbers, check_count, check_finite
from skfrontier.algos.graphs.structure.families import BINARY, GAUSSIAN, POISSON, response

_LARGEST = 1e150  # magnitude; its square can still be summed
_WIDE = 5000  # columns from which single precision halves the largest array


@dataclass(frozen=True)
class Columns:
    """Columns of a table, ready for regressions of each on the others.

    Attributes
    ----------
    features : ndarray of shape (n_columns, n_samples)
        Each column with mean 0 and variance 1 (counts after log(1 + x)); constant ones are 0.
    responses : ndarray of shape (n_columns, n_samples)
        What is predicted: the features of Gaussian columns, 0/1, counts.
    gram : ndarray of shape (n_columns, n_columns)
    families : int64 array of shape (n_columns,)
    location, scale : float64 arrays of shape (n_columns,)
        What was subtracted, and by what was divided.
    constant : bool array of shape (n_columns,)
    """

    features: np.ndarray
    responses: np.ndarray
    gram: np.ndarray
    families: np.ndarray
    location: np.ndarray
    scale: np.ndarray
    constant: np.ndarray

    @property
    def n_samples(self) -> int:
        """Rows of the table."""
        return self.features.shape[1]

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return self.features.shape[0]


def standardised_columns(X: np.ndarray, families: np.ndarray, *, normal_scores: bool) -> Columns:
    """Centre and scale, and multiply once: O(n p^2), the only step that is quadratic in columns.

    Raises
    ------
    ValueError
        If a column does not hold values of its family.
    """
    n, p = X.shape
    dtype = np.float32 if X.dtype == np.float32 or p > _WIDE else np.float64
    features = np.empty((p, n), dtype=dtype)
    all_gaussian = bool(np.all(families == GAUSSIAN))
    responses = features if all_gaussian else np.empty((p, n), dtype=dtype)
    location, scale = np.zeros(p), np.ones(p)
    constant = np.zeros(p, dtype=np.bool_)
    for j in range(p):
        column = np.asarray(X[:, j], dtype=np.float64)
        y = column if families[j] == GAUSSIAN else response(column, families[j], f"column {j} of X")
        if normal_scores and families[j] == GAUSSIAN:
            column = to_normal_scores(column)
        feature = regressor(column, y, families[j])
        location[j], spread = moments(feature, f"column {j} of X")
        feature = feature - location[j]
        constant[j] = spread == 0.0
        if constant[j]:
            features[j] = 0.0
        else:
            scale[j] = spread
            features[j] = feature / spread
        if not all_gaussian:
            responses[j] = features[j] if families[j] == GAUSSIAN else y
    gram = features @ features.T
    gram /= n
    return Columns(features, responses, gram, families, location, scale, constant)


def moments(column: np.ndarray, name: str) -> tuple[float, float]:
    """Mean and standard deviation, which is 0 where the values differ by rounding alone.

    Raises
    ------
    ValueError
        If squares of the values would overflow, or those of their deviations vanish.
    """
    largest = float(np.abs(column).max())
    if largest < _LARGEST:
        mean = float(column.mean())
        deviation = float(np.abs(column - mean).max())
        if deviation <= 1e-13 * largest:
            return mean, 0.0
        if deviation > 1.0 / _LARGEST:
            return mean, float(np.sqrt(np.mean((column - mean) ** 2)))
    raise ValueError(
        f"{name} must have values whose squares are floating-point numbers; they reach {largest:g}. "
        "Rescale it."
    )


def regressor(column: np.ndarray, y: np.ndarray, family: int) -> np.ndarray:
    """How a column enters the regressions of others: as it is, as -1/1, or as log(1 + x)."""
    if family == BINARY:
        return 2.0 * y - 1.0
    return np.log1p(column) if family == POISSON else column


def to_normal_scores(column: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks, ties at their mean rank."""
    return special.ndtri(stats.rankdata(column) / (len(column) + 1))


def normal_scores_at(column: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Normal scores of new values among those of a sorted column."""
    below = np.searchsorted(reference, column, side="left")
    up_to = np.searchsorted(reference, column, side="right")
    n = len(reference)
    return special.ndtri(np.clip((below + up_to + 1) / 2, 1, n) / (n + 1))


def check_gram(gram: Any) -> np.ndarray:
    """Return a finite square float matrix."""
    gram = as_numbers(gram, "gram")
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or gram.dtype.kind not in "fiub":
        raise ValueError(f"gram must be a square matrix of real numbers, got shape {gram.shape}.")
    gram = np.ascontiguousarray(gram, dtype=np.float64)
    check_finite(gram, "gram")
    return gram


def check_node(node: Any, n_columns: int) -> int:
    """Return the number of a column."""
    return check_count(node, "node", 0, n_columns - 1)
