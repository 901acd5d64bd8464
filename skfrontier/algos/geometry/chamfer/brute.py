"""Exact nearest neighbours for p = 2 and angles: one matrix product, certified and rechecked.

The squared distance is ``|q|^2 + |b|^2 - 2 q.b``, whose matrix product runs at the speed of BLAS
but loses digits by cancellation. Each entry therefore carries a bound on its own rounding error;
every reference point that the bounds cannot rule out is measured again by direct differences in
float64 on the *original* arrays. The answer is that of a float64 loop over all pairs.
"""

from typing import Any

import numpy as np
from joblib import effective_n_jobs

from skfrontier.algos._numba import njit
from skfrontier.algos.geometry.chamfer.blas_threads import single_threaded_blas
from skfrontier.algos.geometry.chamfer.blocks import map_blocks
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.recheck import (
    angle_over_pi,
    recheck_angular,
    recheck_euclidean,
)
from skfrontier.algos.geometry.chamfer.scaling import (
    read_only_rows,
    row_norms,
    unit_scale,
)
from skfrontier.algos.geometry.chamfer.vector_min import vector_min

ROWS, MOST_ROWS = 512, 4096  # queries in one matrix product: usual, and for few references
ENTRIES = 2**18  # entries of one matrix product: they stay in the second-level cache
CHUNK = 64  # entries that share one lower bound


class BruteSearch:
    """Nearest reference rows by certified matrix products; ``n_A * n_B * d`` work, any ``d``.

    Parameters
    ----------
    B : ndarray of shape (n_B, d), float32 or float64
        The reference rows, at least one, finite, nonzero where ``metric`` is angular.
    metric : Metric
        With ``p == 2``; its power is not applied.
    block_size : int, default=4096
        Most references compared at a time.
    """

    method = "brute"

    def __init__(self, B: np.ndarray, metric: Metric, block_size: int = 4096):
        self.block_size = block_size
        self.metric = metric
        self._B = read_only_rows(B)
        n, d = B.shape
        if metric.angular:
            self._B_norms = np.empty(n)
            row_norms(self._B, self._B_norms)
            self._mean = np.zeros(d)
            self._scale = 1.0
        else:
            self._mean = _finite_mean(self._B)
            peak = max(
                float(np.max(self._B.max(axis=0) - self._mean)),
                float(np.max(self._mean - self._B.min(axis=0))),
            )
            self._scale = unit_scale(peak)
        self._points, self._lengths, _ = self._prepared(self._B, 1.0)
        self._squares = self._lengths**2
        self._slope, self._bend, self._slack = _error_constants(d, B.dtype)

    def query(self, A: np.ndarray, n_jobs: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance (float64) and the row number of the nearest reference of each row."""
        distances, index, _ = self._query_counting(A, n_jobs)
        return distances, index

    def _query_counting(self, A: np.ndarray, n_jobs: Any = None) -> tuple[np.ndarray, ...]:
        one_each = max(1, -(-len(A) // effective_n_jobs(n_jobs)))
        with single_threaded_blas():
            return map_blocks(self._query_block, A, min(self._block_rows(), one_each), n_jobs)

    def _block_rows(self) -> int:
        return min(max(ROWS, ENTRIES // len(self._B)), MOST_ROWS)

    def _query_block(self, A: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the distances, the rows and the number of rechecked pairs, (1,)."""
        with single_threaded_blas():  # again: this may be another process
            return self._query_rows(read_only_rows(A))

    def _query_rows(self, A: np.ndarray) -> tuple[np.ndarray, ...]:
        queries, spread, margin, rescale = self._prepared_queries(A)
        n_rows, n_refs = len(A), len(self._B)
        n_cols = min(n_refs, self.block_size, max(ENTRIES // max(n_rows, 1), CHUNK))
        upper = np.full(n_rows, np.inf, A.dtype)
        best = np.full(n_rows, np.inf)
        index = np.zeros(n_rows, np.intp)
        candidates = np.empty((2, n_rows * n_cols), np.int32)
        products = np.empty(n_rows * n_cols, A.dtype)
        n_rechecked = 0
        for start in range(0, n_refs, n_cols):
            stop = min(start + n_cols, n_refs)
            block = products[: n_rows * (stop - start)].reshape(n_rows, stop - start)
            np.matmul(queries, self._points[start:stop].T, out=block)
            count = _scan(
                block,
                self._squares[start:stop],
                self._lengths[start:stop],
                spread,
                self._bend,
                margin,
                upper,
                candidates,
            )
            n_rechecked += count
            self._recheck(candidates, count, start, A, rescale, best, index)
        return self._distances(best, rescale), index, np.array([n_rechecked])

    def _prepared_queries(self, A: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return -2 times the prepared rows, ``spread`` and ``margin`` for `_scan`, and scales."""
        queries, lengths, rescale = self._prepared(A, -2.0)  # the factor of the product, exact
        spread = (self._slope * lengths).astype(A.dtype)
        margin = (self._slack * np.square(lengths, dtype=np.float64)).astype(A.dtype)
        return queries, spread, margin, rescale

    def _prepared(self, X: np.ndarray, factor: float) -> tuple[np.ndarray, ...]:
        """Return the rows ready for the product, their lengths, and what ``_recheck`` goes by.

        These are the norms for angles, and the scales that were applied otherwise.
        """
        points = np.empty(X.shape, X.dtype)
        lengths = np.empty(len(X), X.dtype)
        norms = np.empty(len(X))
        if self.metric.angular:
            row_norms(X, norms)
            rescale = 1.0 / norms
        else:
            rescale = np.full(len(X), self._scale)
        reach = 2.0**60 if X.dtype == np.float32 else 2.0**400
        _prepare_rows(X, self._mean, factor, reach, points, lengths, rescale)
        return points, lengths, norms if self.metric.angular else rescale

    def _recheck(self, candidates, count, start, A, rescale, best, index):
        if self.metric.angular:
            recheck_angular(
                candidates, count, start, A, self._B, rescale, self._B_norms, best, index
            )
        else:
            recheck_euclidean(candidates, count, start, A, self._B, rescale, best, index)

    def _distances(self, best: np.ndarray, rescale: np.ndarray) -> np.ndarray:
        return angle_over_pi(best) if self.metric.angular else np.sqrt(best) / rescale


def _finite_mean(B: np.ndarray) -> np.ndarray:
    """Return the float64 mean of the rows, or zero where its sum overflows (any centre is valid)."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = B.mean(axis=0, dtype=np.float64)
    return mean if np.isfinite(mean).all() else np.zeros_like(mean)


def _error_constants(d: int, dtype: np.dtype) -> tuple[float, Any, float]:
    """Return ``slope, bend, slack`` of the error bound of ``v = |b|^2 - 2 q.b``.

    In the working precision ``u`` a computed ``v`` differs from that of the exact points by at most
    ``slope |q| |b| + bend |b|^2``: 2 d u |q| |b| for the product in any order of summation, 8 u for
    centring and casting both points, the rest for forming ``v`` itself in precision ``u``. An error
    in ``|q|^2`` is shared by all references of a query and cancels. ``slack |q|^2`` covers the
    rounding of the recheck, so that whatever minimises the *rechecked* values is always a
    candidate.
    """
    u = np.finfo(dtype).eps / 2
    exact = 4 * (d + 4) * np.finfo(np.float64).eps
    return 1.01 * (2 * d + 16) * u, dtype.type(1.01 * (8 * u + exact)), 2 * exact


@njit
def _prepare_rows(X, mean, factor, reach, points, lengths, rescale):
    """Centre and scale each row into ``points * factor``; a row out of ``reach`` gets length 'huge'.

    Such a row is far away from all references on their scale. Its products would overflow: it is
    set to zero with a length for which the bounds rule nothing out, and measured directly.
    """
    for i in range(X.shape[0]):
        peak = 0.0
        for k in range(X.shape[1]):
            peak = max(peak, abs(np.float64(X[i, k]) - mean[k]))
        if peak * rescale[i] > reach:
            rescale[i] = 2.0 ** -np.floor(np.log2(peak))
            lengths[i] = reach
            for k in range(X.shape[1]):
                points[i, k] = 0
            continue
        total = 0.0
        for k in range(X.shape[1]):
            entry = (np.float64(X[i, k]) - mean[k]) * rescale[i]
            points[i, k] = entry * factor
            total += entry * entry
        lengths[i] = np.sqrt(total)


# nnan: neither products nor bounds are NaN, since all factors are bounded by ``reach``; nsz: the
# sign of a zero decides nothing. Both are what lets LLVM turn the running minima into vector
# minima.
@njit(fastmath={"nnan", "nsz", "contract"})
def _scan(products, squares, lengths, spread, bend, margin, upper, candidates):
    """List the pairs whose lower bound does not exceed the best upper bound; return their number.

    ``upper`` keeps the best upper bound of each query from one block of references to the next.
    """
    n_rows, n_cols = products.shape
    lows = np.empty((n_cols + CHUNK - 1) // CHUNK, products.dtype)
    infinity = products.dtype.type(np.inf)
    above = products.dtype.type(1) + bend
    below = products.dtype.type(1) - bend
    count = 0
    for i in range(n_rows):
        width = spread[i]
        best = upper[i]
        for c in range(lows.shape[0]):
            first = c * CHUNK
            v = products[
                i, first : first + CHUNK
            ]  # slices start at 0: no test for negative indices
            length = lengths[first : first + CHUNK]
            square = squares[first : first + CHUNK]
            low = infinity
            high = infinity
            for j in range(v.shape[0]):
                t = width * length[j]
                low = vector_min(low, v[j] - t + below * square[j])
                high = vector_min(high, v[j] + t + above * square[j])
            lows[c] = low
            best = vector_min(best, high)
        upper[i] = best
        limit = best + margin[i]
        for c in range(lows.shape[0]):
            if lows[c] <= limit:
                for j in range(c * CHUNK, min(c * CHUNK + CHUNK, n_cols)):
                    if products[i, j] - width * lengths[j] + below * squares[j] <= limit:
                        candidates[0, count] = i
                        candidates[1, count] = j
                        count += 1
    return count
