"""Distances of given pairs of rows, and the best of a few candidates for each query."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from skfrontier.algos._numba import njit
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.prefetch import prefetch_row
from skfrontier.algos.geometry.chamfer.recheck import angle_over_pi, squared_tangent
from skfrontier.algos.geometry.chamfer.scaling import row_norms

# Sums of d nonnegative terms may be taken in any order; infinities and NaN keep their meaning.
_SUM_FLAGS = {"reassoc", "contract", "nsz", "arcp"}
_L1, _P125, _L15, _P175, _L2, _ANGLE = range(6)
_CODES = {1.0: _L1, 1.25: _P125, 1.5: _L15, 1.75: _P175, 2.0: _L2}
_SAFELY_ABOVE_UNDERFLOW = 1e-20  # of a sum of scaled differences, in float32 too
_PREFETCH_AHEAD = 8  # queries
_TINY, _HUGE = 1e-280, 1e280  # squares and powers outside lose digits: rescale the difference


@dataclass(frozen=True)
class PreparedRows:
    """Query rows with the lengths that the angle needs (empty otherwise)."""

    rows: np.ndarray
    norms: np.ndarray


class PairDistance:
    """Distances between rows of queries and rows of one reference set.

    Parameters
    ----------
    B : ndarray of shape (n_B, n_features)
        Validated reference points, kept by reference.
    metric : Metric
        The distance; its power is not applied here.
    """

    def __init__(self, B: np.ndarray, metric: Metric) -> None:
        self.B = B
        self.metric = metric
        # Among candidates the nearest p with cheap powers ranks well enough; any choice is valid.
        self._rank_code = (
            _ANGLE
            if metric.angular
            else _CODES[min(_CODES, key=lambda p: abs(p - min(metric.p, 2.0)))]
        )
        self._norms_B = self._norms(B)

    def prepare(self, A: np.ndarray) -> PreparedRows:
        """Precompute what the distances need of each query row."""
        return PreparedRows(A, self._norms(A))

    def improve(
        self,
        queries: PreparedRows,
        order: np.ndarray,
        place: np.ndarray,
        reference_order: np.ndarray,
        window: int,
        scale: float,
        best: np.ndarray,
        arg: np.ndarray,
    ) -> None:
        """Try the ``window`` references on either side of ``place``; keep the best in ``arg``.

        Queries are visited in the given order, so that the references tried lie close together.
        Differences are multiplied by ``scale`` to be of order one.
        """
        _improve(
            queries.rows,
            queries.norms,
            self.B,
            self._norms_B,
            self._rank_code,
            order,
            place,
            reference_order,
            window,
            self.B.dtype.type(scale),
            best,
            arg,
        )

    def distances(
        self, queries: PreparedRows, arg: np.ndarray, n_jobs: int | None = None
    ) -> np.ndarray:
        """Distance, in float64, of each query row to its row ``arg`` of B."""
        out = np.empty(arg.size)
        Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(_distances)(
                queries.rows[rows],
                queries.norms[rows],
                self.B,
                self._norms_B,
                self.metric.p,
                arg[rows],
                out[rows],
            )
            for rows in row_chunks(arg.size, n_jobs)
        )
        return angle_over_pi(out) if self.metric.angular else out

    def upper_bounds(
        self,
        queries: PreparedRows,
        arg: np.ndarray,
        best: np.ndarray,
        scale: float,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """Bounds, from above, of the distances of the pairs that :meth:`improve` left in ``best``.

        Where the ranking was by the metric itself its rounding is bounded, and no pair is read again;
        values near the underflow are measured anew.
        """
        p = self.metric.p
        if self.metric.angular or _CODES.get(p) != self._rank_code:
            return self.distances(queries, arg, n_jobs) * (1 + self._slack(np.float64))
        bounds = (best ** (1 / p) if p != 2 else np.sqrt(best)) / scale
        bounds *= 1 + self._slack(self.B.dtype)
        small = np.flatnonzero(~((best > _SAFELY_ABOVE_UNDERFLOW) & (best < np.inf)))
        bounds[small] = self.distances(
            PreparedRows(queries.rows[small], queries.norms), arg[small]
        ) * (1 + self._slack(np.float64))
        return bounds

    def _slack(self, dtype: type | np.dtype) -> float:
        """Relative rounding error of a distance: differences, powers, and a sum of d terms."""
        return float((self.B.shape[1] + 16) * np.finfo(dtype).eps)

    def _norms(self, X: np.ndarray) -> np.ndarray:
        if not self.metric.angular:
            return np.empty(0)
        norms = np.empty(X.shape[0])
        row_norms(X, norms)
        return norms


def row_chunks(n_rows: int, n_jobs: int | None, *, longest: int | None = None) -> list[slice]:
    """Cut ``n_rows`` into equal slices: one a job, or more where one would exceed ``longest``."""
    n_chunks = effective_n_jobs(n_jobs)
    if longest is not None:
        n_chunks = max(n_chunks, -(-n_rows // longest))
    edges = np.linspace(0, n_rows, n_chunks + 1).astype(int)
    return [slice(i, j) for i, j in pairwise(edges) if i < j]


@njit(fastmath=_SUM_FLAGS)
def _rank_value(A, i, inverse_a, B, j, inverse_b, code, scale):
    """Increasing function of the distance (p-th power, or squared chord), in the rows' precision."""
    total = A[i, 0] - A[i, 0]
    if code == _L2:
        for c in range(A.shape[1]):
            t = (A[i, c] - B[j, c]) * scale
            total += t * t
    elif code == _L1:
        for c in range(A.shape[1]):
            total += abs(A[i, c] - B[j, c]) * scale
    elif code == _L15:
        for c in range(A.shape[1]):
            t = abs(A[i, c] - B[j, c]) * scale
            total += t * np.sqrt(t)
    elif code == _P125:
        for c in range(A.shape[1]):
            t = abs(A[i, c] - B[j, c]) * scale
            total += t * np.sqrt(np.sqrt(t))
    elif code == _P175:
        for c in range(A.shape[1]):
            t = abs(A[i, c] - B[j, c]) * scale
            root = np.sqrt(t)
            total += t * root * np.sqrt(root)
    else:
        chord = 0.0
        for c in range(A.shape[1]):
            u = A[i, c] * inverse_a - B[j, c] * inverse_b
            chord += u * u
        return chord
    return np.float64(total)


@njit
def _improve(A, norms_A, B, norms_B, code, order, place, reference_order, window, scale, best, arg):
    m = reference_order.size
    inverse_a = inverse_b = 1.0
    for position in range(order.size):
        ahead = position + _PREFETCH_AHEAD
        if ahead < order.size:
            prefetch_row(A, order[ahead])
            prefetch_row(B, reference_order[min(place[ahead], m - 1)])
        i = order[position]
        if norms_A.size:
            inverse_a = 1.0 / norms_A[i]
        start = max(0, place[position] - window)
        stop = min(m, place[position] + window)
        for k in range(start, stop):
            j = reference_order[k]
            if norms_B.size:
                inverse_b = 1.0 / norms_B[j]
            value = _rank_value(A, i, inverse_a, B, j, inverse_b, code, scale)
            if value < best[i] or (value == best[i] and j < arg[i]):
                best[i] = value
                arg[i] = j


@njit(fastmath=_SUM_FLAGS)
def _power_sum(A, i, B, j, p, scale):
    total = 0.0
    if p == 2.0:
        for c in range(A.shape[1]):
            t = (np.float64(A[i, c]) - np.float64(B[j, c])) * scale
            total += t * t
    elif p == 1.0:
        for c in range(A.shape[1]):
            total += abs((np.float64(A[i, c]) - np.float64(B[j, c])) * scale)
    else:
        for c in range(A.shape[1]):
            total += abs((np.float64(A[i, c]) - np.float64(B[j, c])) * scale) ** p
    return total


@njit
def _distances(A, norms_A, B, norms_B, p, arg, out):
    for i in range(arg.size):
        j = arg[i]
        if norms_A.size:
            out[i] = squared_tangent(A, i, norms_A[i], B, j, norms_B[j])
            continue
        total = _power_sum(A, i, B, j, p, 1.0)
        if _TINY < total < _HUGE:
            out[i] = total ** (1.0 / p) if p != 2.0 else np.sqrt(total)
            continue
        largest = 0.0
        for c in range(A.shape[1]):
            largest = max(largest, abs(np.float64(A[i, c]) - np.float64(B[j, c])))
        if largest == 0.0:
            out[i] = 0.0
        else:
            out[i] = largest * _power_sum(A, i, B, j, p, 1.0 / largest) ** (1.0 / p)
