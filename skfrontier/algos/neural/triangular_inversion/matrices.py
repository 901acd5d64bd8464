"""Stacks of square matrices: what a call may be given, as an array that kernels can read."""

import math
from typing import Any

import numpy as np

from skfrontier.algos._validation import as_numbers

FLOATS = (np.float16, np.float32, np.float64)


def check_matrices(values: Any, name: str) -> np.ndarray:
    """Return ``values`` as an array of shape (..., n, n) of a floating type; entries are not read.

    Raises
    ------
    TypeError
        If the type is not float16, float32 or float64.
    ValueError
        If the matrices are not square, or not matrices.
    """
    array = as_numbers(values, name)
    if array.dtype not in FLOATS:
        raise TypeError(
            f"{name} must be float16, float32 or float64, got {array.dtype}; "
            f"convert it: {name}.astype(float)."
        )
    check_square(array.shape, name)
    return array


def check_square(shape: tuple[int, ...], name: str) -> None:
    """Raise unless the last two sizes are equal."""
    if len(shape) < 2:
        raise ValueError(
            f"{name} must have at least two dimensions (..., n, n), got shape {tuple(shape)}."
        )
    if shape[-1] != shape[-2]:
        raise ValueError(f"{name} must hold square matrices, got shape {tuple(shape)}.")


def stacked(array: np.ndarray) -> np.ndarray:
    """View the matrices as one contiguous stack (m, n, n); a copy where memory order asks for one."""
    n = array.shape[-1]
    return np.ascontiguousarray(array).reshape(math.prod(array.shape[:-2]), n, n)


def check_lower_finite(stack: np.ndarray, name: str, *, diagonal: bool = False) -> None:
    """Raise a ValueError naming the first entry of the lower part that is NaN or infinite."""
    lower = np.tril(stack, 0 if diagonal else -1)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(lower.sum(dtype=np.float64)):
            return
    bad = np.argwhere(~np.isfinite(lower))
    if len(bad):
        matrix, i, j = (int(index) for index in bad[0])
        part = "lower part" if diagonal else "strictly lower part"
        raise ValueError(
            f"{name} must be finite in its {part}, got {lower[matrix, i, j]} in row {i}, "
            f"column {j} of matrix {matrix}."
        )
