"""Exact nearest neighbours in l_p, p != 2: vector kernels as a filter, float64 recheck.

Direct differences lose no digits, so the working precision (float32 for float32 input) already
gives every power sum to a small *relative* error. Only the few references within that error of the
least sum are measured again in float64 on the original arrays.
"""

from typing import Any

import numpy as np

from skfrontier.algos._numba import njit
from skfrontier.algos.geometry.chamfer.blocks import map_blocks
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.power_sums import (
    POLYNOMIAL_ERROR,
    QUARTER_POWERS,
    ROOT_ULPS,
    absolute_sums,
    polynomial_sums_32,
    polynomial_sums_64,
    quarter_sums,
)
from skfrontier.algos.geometry.chamfer.recheck import recheck_power
from skfrontier.algos.geometry.chamfer.scaling import (
    mild_scale,
    peak_magnitude,
    read_only_rows,
    unit_scale,
)
from skfrontier.algos.geometry.chamfer.vector_min import vector_min

ROWS, MOST_ROWS = 64, 4096  # queries of one block: usual, and for few references
ENTRIES = 2**17  # power sums of one block
CHUNK = 64  # sums that share one minimum


class LpSearch:
    """Nearest reference rows in l_p by a loop over all pairs, for any ``p >= 1`` and any ``d``.

    Parameters
    ----------
    B : ndarray of shape (n_B, d), float32 or float64
        The reference rows, at least one, finite.
    metric : Metric
        Not angular; its power is not applied. Made for ``p != 2``; ``p > 2`` and infinity are
        valid.
    block_size : int, default=4096
        Most references compared at a time.
    """

    method = "brute"

    def __init__(self, B: np.ndarray, metric: Metric, block_size: int = 4096):
        self.block_size = block_size
        self.metric = metric
        self._B = read_only_rows(B)
        self._peak = peak_magnitude(B)
        self._scale = mild_scale(self._peak, B.dtype)
        self._points = (
            self._B if self._scale == 1.0 else read_only_rows(B * B.dtype.type(self._scale))
        )

    def query(self, A: np.ndarray, n_jobs: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance (float64) and the row number of the nearest reference of each row."""
        work = self._query_block if self.metric.p <= 2.0 else self._query_steep
        block_rows = min(max(ROWS, ENTRIES // len(self._B)), MOST_ROWS)
        distances, index = map_blocks(work, A, block_rows, n_jobs)
        return distances, index

    def _query_block(self, A: np.ndarray) -> tuple[np.ndarray, ...]:
        A = read_only_rows(A)
        p = self.metric.p
        n_rows, n_refs = len(A), len(self._B)
        queries, rescale, far = self._prepared(A)
        n_cols = min(n_refs, self.block_size, max(ENTRIES // max(n_rows, 1), CHUNK))
        sums = np.empty((len(queries), n_cols), A.dtype)
        candidates = np.empty((2, n_rows * n_cols), np.int32)
        factor, floor = _tolerance(p, A.shape[1], A.dtype)
        least = np.full(n_rows, np.inf, A.dtype)
        floors = np.where(far, np.inf, floor).astype(A.dtype)
        best = np.full(n_rows, np.inf)
        index = np.zeros(n_rows, np.intp)
        for start in range(0, n_refs, n_cols):
            width = min(n_cols, n_refs - start)
            _fill_sums(queries, self._points[start : start + width], p, sums)
            count = _scan(sums, n_rows, width, factor, floors, least, candidates)
            recheck_power(candidates, count, start, A, self._B, p, rescale, best, index)
        return best ** (1.0 / p) / rescale, index

    def _prepared(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return scaled queries (rows padded to 4), scales of the recheck, and which rows are far.

        The sums of a row that is far from all references on their scale would overflow: it is set
        to zero here and measured directly, on its own scale.
        """
        queries = np.zeros((-(-len(A) // 4) * 4, A.shape[1]), A.dtype)
        rescale = np.full(len(A), self._scale)
        far = np.zeros(len(A), bool)
        peak = peak_magnitude(A)
        reach = 2.0**40 if A.dtype == np.float32 else 2.0**400
        if peak * self._scale > reach:
            peaks = np.abs(A).max(axis=1)
            far = peaks * self._scale > reach
            rescale[far] = [unit_scale(float(value)) for value in peaks[far]]
        near = ~far
        queries[: len(A)][near] = A[near] * A.dtype.type(self._scale)
        return queries, rescale, far

    def _query_steep(self, A: np.ndarray) -> tuple[np.ndarray, ...]:
        A = read_only_rows(A)
        distances = np.empty(len(A))
        index = np.empty(len(A), np.intp)
        _steep(A, self._B, self.metric.p, distances, index)
        return distances, index


def _tolerance(p: float, d: int, dtype: np.dtype) -> tuple[Any, float]:
    """Return the factor and the floor of the least sum up to which a reference is a candidate.

    The factor covers twice the relative error of a sum, plus the rounding of the recheck itself.
    Sums below the floor may have lost everything to underflow.
    """
    eps = float(np.finfo(dtype).eps)
    by_roots = p == 1.0 or p in QUARTER_POWERS
    power_error = ROOT_ULPS * eps if by_roots else POLYNOMIAL_ERROR
    exact = 2 * (d + 8) * float(np.finfo(np.float64).eps)
    floor = d * (2.0**-100 if dtype == np.float32 else 2.0**-960)
    return dtype.type(1 + 2 * (power_error + (d + 8) * eps / 2) + exact + eps), floor


def _fill_sums(queries: np.ndarray, points: np.ndarray, p: float, sums: np.ndarray) -> None:
    if p == 1.0:
        absolute_sums(queries, points, sums)
    elif p in QUARTER_POWERS:
        quarter_sums(queries, points, QUARTER_POWERS[p], sums)
    elif queries.dtype == np.float32:
        polynomial_sums_32(queries, points, np.float32(p), sums)
    else:
        polynomial_sums_64(queries, points, p, sums)


# nnan, nsz: sums of powers of bounded numbers are neither NaN nor negative.
@njit(fastmath={"nnan", "nsz"})
def _scan(sums, n_rows, n_cols, factor, floors, least, candidates):
    """List the pairs whose sum is within the tolerance of the least; return their number.

    ``least`` keeps the least sum of each query from one block of references to the next.
    """
    lows = np.empty((n_cols + CHUNK - 1) // CHUNK, sums.dtype)
    infinity = sums.dtype.type(np.inf)
    count = 0
    for i in range(n_rows):
        best = least[i]
        for c in range(lows.shape[0]):
            row = sums[i, c * CHUNK : min(c * CHUNK + CHUNK, n_cols)]
            low = infinity
            for j in range(row.shape[0]):
                low = vector_min(low, row[j])
            lows[c] = low
            best = vector_min(best, low)
        least[i] = best
        limit = max(best * factor, floors[i])
        for c in range(lows.shape[0]):
            if lows[c] <= limit:
                for j in range(c * CHUNK, min(c * CHUNK + CHUNK, n_cols)):
                    if sums[i, j] <= limit:
                        candidates[0, count] = i
                        candidates[1, count] = j
                        count += 1
    return count


@njit
def _steep(A, B, p, distances, index):
    """Search for p > 2 and infinity in float64: each sum relative to its largest term, so no p overflows.

    The largest term alone is a lower bound of the distance, which rules out most references.
    """
    for i in range(A.shape[0]):
        best = np.inf
        nearest = 0
        for j in range(B.shape[0]):
            peak = 0.0
            for k in range(A.shape[1]):
                peak = max(peak, abs(np.float64(A[i, k]) - np.float64(B[j, k])))
            if peak >= best:
                continue
            distance = peak
            if peak > 0.0 and p != np.inf:
                total = 0.0
                for k in range(A.shape[1]):
                    total += (abs(np.float64(A[i, k]) - np.float64(B[j, k])) / peak) ** p
                distance = peak * total ** (1.0 / p)
            if distance < best:
                best = distance
                nearest = j
        distances[i] = best
        index[i] = nearest
