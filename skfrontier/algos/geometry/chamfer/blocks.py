"""Work on blocks of rows, one after the other or in joblib threads."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed


def map_blocks(
    work: Callable[[np.ndarray], tuple[np.ndarray, ...]],
    X: np.ndarray,
    block_rows: int,
    n_jobs: Any = None,
) -> tuple[np.ndarray, ...]:
    """Apply ``work`` to consecutive blocks of rows of ``X`` and join the arrays that it returns.

    The blocks *return* their part instead of writing into a shared array: a joblib backend may run them
    in other processes.
    """
    n_rows = X.shape[0]
    if n_rows <= block_rows:
        return work(X)
    parts = [X[start : start + block_rows] for start in range(0, n_rows, block_rows)]
    if n_jobs is None or n_jobs == 1:
        results = [work(part) for part in parts]
    else:
        results = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(work)(part) for part in parts)
    return _joined(results)


def _joined(results: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    return tuple(np.concatenate(column) for column in zip(*results, strict=True))
