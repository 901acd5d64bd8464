"""Rows of zeros and ones: how they are read, weighted and cut into chunks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._validation import as_numbers, check_finite

_CHUNK_BYTES = 64 * 2**20


def binary_rows(X: Any, name: str = "X") -> Any:
    """Return ``X`` as uint8 rows of 0 and 1: a dense array, or a canonical CSR matrix.

    uint8 and boolean arrays are not copied.

    Raises
    ------
    ValueError
        If ``X`` is not two-dimensional, or holds anything but 0 and 1.
    """
    if sparse.issparse(X):
        return _binary_csr(X, name)
    array = as_numbers(X, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must be 2-D (n_samples, n_features), got shape {array.shape}.")
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    if array.dtype.kind not in "uif":
        raise ValueError(f"{name} must hold zeros and ones, got dtype {array.dtype}.")
    if array.dtype == np.uint8:
        if array.size and array.max() > 1:
            _refuse(array, name)
        return array
    return _as_uint8(array, name)


def binary_vector(values: Any, n: int, name: str) -> np.ndarray:
    """Return ``values`` as a uint8 vector of ``n`` zeros and ones."""
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {array.shape}.")
    return binary_rows(array[None], name)[0]


def check_weights(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    """Return the weights as float64, or None.

    Raises
    ------
    ValueError
        If their number is wrong, or one is negative, or not finite, or all are zero.
    """
    if sample_weight is None:
        return None
    weights = as_numbers(sample_weight, "sample_weight").astype(np.float64)
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight must have shape ({n_samples},), got {weights.shape}.")
    check_finite(weights, "sample_weight")
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(f"sample_weight must not be negative, got {weights[row]} in row {row}.")
    if not weights.any():
        raise ValueError("sample_weight must not be zero everywhere.")
    return weights


def row_slices(n_samples: int, bytes_per_row: int) -> list[slice]:
    """Consecutive row ranges of about 64 MiB each."""
    step = max(1, _CHUNK_BYTES // max(1, bytes_per_row))
    return [slice(a, min(a + step, n_samples)) for a in range(0, n_samples, step)]


def dense_chunks(X: Any, bytes_per_row: int = 0) -> Iterator[tuple[slice, np.ndarray]]:
    """Row ranges with their rows as C-contiguous uint8, sparse ones made dense chunk by chunk."""
    n_samples, n_features = X.shape
    for rows in row_slices(n_samples, max(n_features, bytes_per_row)):
        yield rows, dense(X[rows])


def dense(X: Any) -> np.ndarray:
    """C-contiguous uint8 rows."""
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)


def check_columns(X: Any, n_features: int | None, what: str) -> None:
    """Raise if the rows have another length than the set."""
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but {what} has {n_features}.")


def _as_uint8(array: np.ndarray, name: str) -> np.ndarray:
    rows = np.empty(array.shape, np.uint8)
    for chunk in row_slices(array.shape[0], array.shape[1] * array.itemsize):
        part = array[chunk]
        ones = part == 1
        if not (ones | (part == 0)).all():
            check_finite(part, name)
            _refuse(part, name)
        rows[chunk] = ones
    return rows


def _binary_csr(X: Any, name: str) -> sparse.csr_array:
    rows = sparse.csr_array(X)
    if rows.ndim != 2:
        raise ValueError(f"{name} must be 2-D (n_samples, n_features), got shape {rows.shape}.")
    if not (rows.has_canonical_format and rows.data.all()):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    if not (rows.data == 1).all():
        check_finite(np.asarray(rows.data), name)
        _refuse(rows.data, name)
    indices = rows.indices.astype(np.int32, copy=False)
    pointers = rows.indptr.astype(np.int32 if rows.nnz < 2**31 else np.int64, copy=False)
    ones = np.ones(rows.nnz, np.uint8)
    return sparse.csr_array((ones, indices, pointers), shape=rows.shape)


def _refuse(array: np.ndarray, name: str) -> None:
    value = array[(array != 0) & (array != 1)].flat[0]
    raise ValueError(
        f"{name} must hold only zeros and ones, got {value}. Set a threshold (binarize=...) to turn "
        "other numbers into bits."
    )
