"""How the estimators of this topic read rows, sets and parameters."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, validate_data

from skfrontier.algos._validation import check_interval
from skfrontier.algos.statistics.truncated_boolean.packed_bits import PackedBits
from skfrontier.algos.statistics.truncated_boolean.rows import binary_rows, check_weights
from skfrontier.algos.statistics.truncated_boolean.sets import TruncationSet


@contextlib.contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Take back every attribute that a failing call has set."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def read_rows(estimator: BaseEstimator, X: Any, binarize: Any, *, reset: bool) -> Any:
    """Validate a table of zeros and ones, or of numbers to be compared with ``binarize``."""
    if isinstance(X, PackedBits):
        raise TypeError("estimators do not take PackedBits; pass the rows.")
    if np.ma.is_masked(X):
        raise ValueError("X has masked entries; drop or fill them first.")
    table = validate_data(estimator, X, accept_sparse="csr", reset=reset)
    if binarize is None:
        return binary_rows(table)
    threshold = check_interval(binarize, "binarize", -np.inf, np.inf)
    if sparse.issparse(table):
        if threshold < 0:
            table = table.toarray()
        else:
            return binary_rows((table > threshold).astype(np.uint8))
    return (table > threshold).view(np.uint8)


def read_weights(sample_weight: Any, rows: Any) -> np.ndarray | None:
    """Validate the weights of rows; None stays None."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
    return check_weights(weights, rows.shape[0])


def refuse_outside(truncation: TruncationSet, rows: Any) -> None:
    """Raise if a row lies outside the set."""
    outside = np.flatnonzero(~truncation.contains(rows))
    if len(outside):
        raise ValueError(
            f"{len(outside)} of {rows.shape[0]} rows are outside the truncation set "
            f"(first: row {outside[0]}): {truncation!r}."
        )
