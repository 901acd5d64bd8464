"""Checks of loss matrices, and passes over them in blocks that the kernels can read."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from skfrontier.algos._validation import as_numbers, check_finite

_BLOCK_BYTES = 2**20


def check_losses(
    losses: Any,
    *,
    n_arms: int | None = None,
    low: float = -np.inf,
    high: float = np.inf,
    min_rounds: int = 0,
) -> np.ndarray:
    """Return ``losses`` as a real 2-D array (not copied) whose entries lie in [low, high].

    Raises
    ------
    ValueError
        If it is sparse, masked, ragged or not numeric, is not 2-D with ``n_arms`` columns (at least
        one), has fewer than ``min_rounds`` rows, or an entry is NaN, infinite or out of range.
    """
    losses = as_numbers(losses, "losses")
    if losses.dtype.kind not in "fiub":
        raise ValueError(f"losses must hold real numbers, got dtype {losses.dtype}.")
    if losses.ndim != 2:
        raise ValueError(f"losses must be 2-D (T, n_arms), got shape {losses.shape}.")
    if losses.shape[1] == 0 or (n_arms is not None and losses.shape[1] != n_arms):
        wanted = "at least one column" if n_arms is None else f"n_arms={n_arms} columns"
        raise ValueError(f"losses must have {wanted}, got shape {losses.shape}.")
    if len(losses) < min_rounds:
        raise ValueError(f"losses must have at least {min_rounds} row(s), got {losses.shape}.")
    if len(losses) == 0:
        return losses
    least, largest = float(losses.min()), float(losses.max())  # as update compares its loss
    if not (np.isfinite(least) and np.isfinite(largest)):
        check_finite(losses, "losses")
    for extreme in (least, largest):
        if not low <= extreme <= high:
            raise ValueError(f"losses must lie in loss_range [{low:g}, {high:g}], got {extreme!r}.")
    return losses


def loss_blocks(losses: np.ndarray) -> Iterator[np.ndarray]:
    """Yield ``losses`` as C-contiguous writable float64 blocks of rows, itself if it is one."""
    flags = losses.flags
    if losses.dtype == np.float64 and flags.c_contiguous and flags.aligned and flags.writeable:
        yield losses
        return
    rows = max(1, _BLOCK_BYTES // (8 * losses.shape[1]))
    for start in range(0, len(losses), rows):
        yield np.array(losses[start : start + rows], dtype=np.float64, order="C")
