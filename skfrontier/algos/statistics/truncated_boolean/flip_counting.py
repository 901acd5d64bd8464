"""Counting flips over chunks of rows in threads, within the budget of a membership function."""

from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np

from skfrontier.algos.statistics.truncated_boolean.rows import row_slices
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet
from skfrontier.algos.statistics.truncated_boolean.sets.oracle import MembershipOracle


@dataclass(frozen=True)
class FlipCounts:
    """Counts of flippable rows, and how many rows were asked for each coordinate."""

    m1: np.ndarray
    m0: np.ndarray
    weight: float  # of all rows
    asked: (
        float  # weight of the rows asked for each coordinate; less only for an oracle over budget
    )

    @property
    def complete(self) -> bool:
        """Whether all rows were asked."""
        return self.asked == self.weight


def count_flips(
    X: Any,
    truncation: TruncationSet,
    weights: np.ndarray | None,
    *,
    max_oracle_calls: int,
    n_jobs: int | None,
    rng: np.random.Generator,
) -> FlipCounts:
    """Count over row chunks in threads; an oracle over budget is asked about a subset of the rows.

    That subset is drawn for every coordinate anew and without looking at the rows, which leaves the counts
    binomial.
    """
    n_samples, n = X.shape
    total = float(n_samples if weights is None else weights.sum())
    if isinstance(truncation, MembershipOracle) and n_samples * n > max_oracle_calls:
        size = max(1, max_oracle_calls // n)
        m1, m0 = _ask_subsets(X, truncation, weights, size, rng)
        return FlipCounts(m1, m0, total, total * size / n_samples)
    slices = row_slices(n_samples, n)
    if len(slices) == 1:
        m1, m0 = truncation._flip_counts(X, weights)
    else:
        parts = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
            joblib.delayed(truncation._flip_counts)(
                X[rows], None if weights is None else weights[rows]
            )
            for rows in slices
        )
        m1, m0 = sum(p[0] for p in parts), sum(p[1] for p in parts)
    return FlipCounts(m1, m0, total, total)


def _ask_subsets(
    X: Any,
    truncation: TruncationSet,
    weights: np.ndarray | None,
    size: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    n = X.shape[1]
    m1, m0 = np.zeros(n), np.zeros(n)
    for i in range(n):
        rows = np.sort(rng.choice(X.shape[0], size, replace=False))
        chunk = X[rows] if isinstance(X, np.ndarray) else X[rows].toarray()
        flipped = chunk.copy()
        flipped[:, i] ^= 1
        w = (np.ones(size) if weights is None else weights[rows]) * truncation.contains(flipped)
        m1[i], m0[i] = w @ chunk[:, i], w @ (1 - chunk[:, i].astype(float))
    return (m1, m0) if weights is not None else (m1.astype(np.int64), m0.astype(np.int64))
