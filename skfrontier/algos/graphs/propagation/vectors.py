"""Solutions of ``L_UU x = b`` at all nodes from forests: batches, sweeps, and when to stop."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from skfrontier.algos._validation import as_numbers, check_count, check_finite, check_n_jobs
from skfrontier.algos.graphs.propagation.averages import BatchSums
from skfrontier.algos.graphs.propagation.errors import (
    BatchError,
    batch_error,
    max_bound,
    next_size,
    rms_bound,
)
from skfrontier.algos.graphs.propagation.estimate import ForestEstimate
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.random import base_seed
from skfrontier.algos.graphs.propagation.smoothing import smooth_in_place

N_BATCHES = 16
_FIRST_PER_BATCH = 2
_BOUNDS = {"rms": rms_bound, "max": max_bound}


def forest_apply(
    graph: GroundedSignedGraph,
    B: Any,
    *,
    n_forests: int = 64,
    smooth: int = 4,
    batches: int = N_BATCHES,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> ForestEstimate:
    """Estimate ``L_UU^-1 B`` from forests.

    Parameters
    ----------
    graph : GroundedSignedGraph
        From :func:`build_grounded_graph`.
    B : array-like of shape (n_unlabeled,) or (n_unlabeled, n_columns)
        Right-hand sides, rows in the order of ``graph.nodes``; zero where ``graph.killing`` is. For values
        ``y`` at the labels take ``graph.source(y)``. float32 is kept.
    n_forests : int, default=64
        Number of forests, rounded up to a multiple of ``batches``.
    smooth : int, default=4
        Number of Jacobi sweeps over the average of the forests.
    batches : int, default=16
        Number of batches from whose spread the standard error comes.
    random_state : int, Generator, RandomState or None, default=None
        Seed. The result is the same for any ``n_jobs`` and for any split of the columns.
    n_jobs : int or None, default=None
        Number of threads (joblib).

    Returns
    -------
    ForestEstimate
        ``value`` and ``stderr`` of the shape of ``B``.

    Raises
    ------
    ValueError
        If ``B`` has another shape, is not finite, or is not zero where no walk can end.

    Notes
    -----
    Proven: unbiased for any number of sweeps, if and only if ``B`` vanishes where nothing is killed; with
    ``|b| <= k max|y|`` no value exceeds ``max|y|``. Errors of different nodes are correlated.
    A forest costs about 2 to 5 steps a node, a sweep O(nnz).

    References
    ----------
    .. [1] Y. Y. Pilavci, P.-O. Amblard, S. Barthelme, N. Tremblay, "Graph Tikhonov regularization and
       interpolation via random spanning forests", IEEE TSIPN 2021 (HAL hal-03012192).

    Examples
    --------
    >>> from skfrontier.algos import build_grounded_graph, forest_apply
    >>> graph = build_grounded_graph([[0, 1, 0], [1, 0, -1], [0, -1, 0]], [0])
    >>> forest_apply(graph, graph.source([2.0]), random_state=0).value  # one tree: exact
    array([ 2., -2.])
    """
    per_batch = math.ceil(check_count(n_forests, "n_forests") / check_count(batches, "batches", 2))
    smooth = check_count(smooth, "smooth", 0)
    check_n_jobs(n_jobs)
    columns = _read_sources(graph, B)
    sums = BatchSums(graph, columns, batches, base_seed(random_state))
    sums.grow(per_batch, n_jobs)
    error = smoothed_error(sums, smooth)
    value, stderr = (
        ungauged_like(graph, array, np.ndim(B)) for array in (error.mean, error.stderr)
    )
    return ForestEstimate(value, np.abs(stderr), sums.n_forests, sums.n_steps)


def _read_sources(graph: GroundedSignedGraph, B: Any) -> np.ndarray:
    """Return right-hand sides as gauged rows, one for each column of ``B``."""
    values = as_numbers(B, "B")
    if values.dtype.kind not in "fiub":
        raise ValueError(f"B must hold real numbers, got dtype {values.dtype}.")
    if values.ndim not in (1, 2) or values.shape[0] != graph.n_unlabeled:
        raise ValueError(
            f"B must have shape ({graph.n_unlabeled},) or ({graph.n_unlabeled}, n_columns), got "
            f"{values.shape}."
        )
    check_finite(values, "B")
    if values[graph.n_boundary :].any():
        raise ValueError(
            "B must be zero at nodes without a label or anchor beside them (graph.killing == 0): "
            "forests are biased for other right-hand sides. Use graph.source(y)."
        )
    dtype = np.float32 if values.dtype == np.float32 else np.float64
    return gauged_columns(graph, values.astype(dtype, copy=False))


def gauged_columns(graph: GroundedSignedGraph, values: np.ndarray) -> np.ndarray:
    """Right-hand sides (n_unlabeled, ...) as contiguous rows (n_columns, n_unlabeled) in the gauge."""
    return np.ascontiguousarray(np.atleast_2d(graph.ungauged(values).T))


def ungauged_like(graph: GroundedSignedGraph, rows: np.ndarray, ndim: int) -> np.ndarray:
    """Turn rows in the gauge into columns (or the one vector) of the graph."""
    values = graph.ungauged(rows.T)
    return values[:, 0] if ndim == 1 else values


def smoothed_error(sums: BatchSums, n_sweeps: int) -> BatchError:
    """Mean of the forests after sweeps, with the spread of its batches."""
    means = sums.means()
    for batch in means:
        smooth_in_place(sums.graph, sums.columns, batch, n_sweeps)
    return batch_error(means)


def adaptive_error(
    sums: BatchSums,
    n_sweeps: int,
    *,
    tol: float,
    relative: bool,
    criterion: str,
    confidence: float,
    max_forests: int,
    n_jobs: int | None,
    report: Callable[[int], None],
) -> tuple[BatchError, float]:
    """Draw forests until the error of every column is within ``tol``, or there are ``max_forests``.

    Returns
    -------
    error : BatchError
    achieved : float
        The bound of the error by the criterion, in units of ``tol`` times ``tol``; the worst column.
    """
    per_batch = _FIRST_PER_BATCH
    most = max(1, max_forests // sums.n_batches)
    while True:
        per_batch = min(per_batch, most)
        sums.grow(per_batch, n_jobs)
        report(sums.n_forests)
        error = smoothed_error(sums, n_sweeps)
        achieved = achieved_error(error, sums.n_batches, relative, criterion, confidence)
        if achieved <= tol or per_batch == most:
            return error, achieved
        per_batch = next_size(per_batch, achieved / tol)


def achieved_error(
    error: BatchError, n_batches: int, relative: bool, criterion: str, confidence: float
) -> float:
    """Bound of the error by the criterion, of the worst column; relative to its root mean square."""
    bound = _BOUNDS[criterion](error, confidence, n_batches)
    if relative:
        size = np.sqrt(np.mean(np.square(error.mean, dtype=np.float64), axis=1))
        bound = np.divide(bound, size, out=np.where(bound > 0, np.inf, 0.0), where=size > 0)
    return float(bound.max(initial=0.0))
