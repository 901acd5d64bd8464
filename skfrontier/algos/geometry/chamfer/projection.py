"""Random projections of the points that the quadtrees are laid over."""

import numpy as np
from joblib import Parallel, delayed

from skfrontier.algos._numba import njit
from skfrontier.algos.geometry.chamfer.embedding import (
    apply_toeplitz,
    symmetric_stable,
    toeplitz_signs,
)
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.pairwise import PreparedRows, row_chunks

PROJECTIONS = ("auto", "gaussian", "stable", "toeplitz")

_SAMPLE = 4096  # points that centre and scale are taken from
_TOEPLITZ_BLOCK = 4096  # rows transformed at a time


def scale_to_one(spread: float, dtype: np.dtype) -> float:
    """Power of two that brings ``spread`` to order one, where neither squares nor sums overflow."""
    if spread == 0:
        return 1.0
    largest = np.finfo(dtype).maxexp - 2  # of a finite factor in this precision
    return 2.0 ** float(np.clip(-np.floor(np.log2(spread)), -largest, largest))


class Projection:
    """Centre, scale, and multiply by the random map of all trees in one pass over the points."""

    def __init__(
        self,
        B: np.ndarray,
        metric: Metric,
        kind: str,
        n_trees: int,
        n_projections: int,
        random_state: np.random.Generator,
    ) -> None:
        d = B.shape[1]
        self.random = d > n_projections
        self.n_columns = min(d, n_projections)
        self.n_columns_total = n_trees * n_projections if self.random else d
        sample = B[:: max(1, B.shape[0] // _SAMPLE)].astype(np.float64)
        self.centre = np.zeros(d) if metric.angular else sample.mean(axis=0)
        # Unit rows, which the angle uses, have size one already.
        spread = 1.0 if metric.angular else float(np.abs(sample - self.centre).max())
        self.scale = scale_to_one(spread, B.dtype)
        self.toeplitz: list[tuple[np.ndarray, np.ndarray]] = []
        self.matrix = np.eye(d)
        if self.random and kind == "toeplitz":
            self.toeplitz = [toeplitz_signs(d, n_projections, random_state) for _ in range(n_trees)]
        elif self.random and kind == "stable":
            self.matrix = symmetric_stable(metric.p, (d, self.n_columns_total), random_state)
        elif self.random:
            self.matrix = random_state.standard_normal((d, self.n_columns_total))
        self.matrix = self.matrix.astype(np.float32)

    def tree_columns(self, n_trees: int) -> list[slice]:
        """Columns of the joint projection that belong to each tree (all, where nothing is random)."""
        if not self.random:
            return [slice(0, self.n_columns)] * n_trees
        return [slice(t * self.n_columns, (t + 1) * self.n_columns) for t in range(n_trees)]

    def __call__(self, points: PreparedRows, n_jobs: int | None = None) -> np.ndarray:
        """Project the rows for all trees at once; float32 of shape (n_points, n_columns_total)."""
        X, inverse_norms = points.rows, points.inverse_norms
        out = np.empty((X.shape[0], self.n_columns_total), np.float32)
        if self.toeplitz:
            for rows in row_chunks(X.shape[0], 1, longest=_TOEPLITZ_BLOCK):
                block = (X[rows] - self.centre) * self.scale
                if inverse_norms.size:
                    block *= inverse_norms[rows, None]
                out[rows] = np.hstack([apply_toeplitz(block, *signs) for signs in self.toeplitz])
            return out
        Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(_project)(
                X[rows], inverse_norms[rows], self.centre, self.scale, self.matrix, out[rows]
            )
            for rows in row_chunks(X.shape[0], n_jobs)
        )
        return out


@njit(fastmath={"contract"})  # fused multiply-adds: these coordinates only order the points
def _project(X, inverse_norms, centre, scale, matrix, out):
    """Write ``(x / |x| - centre) * scale @ matrix``, the norm only where given, for each row.

    Equal rows get equal coordinates wherever they stand, which a blocked matrix product does not
    promise; so equal points get equal keys. Four features at a time, to load ``out`` less often.
    """
    n, d = X.shape
    whole = d - d % 4
    inverse = 1.0
    for i in range(n):
        if inverse_norms.size:
            inverse = inverse_norms[i]
        row = out[i]
        row[:] = np.float32(0.0)
        for c in range(0, whole, 4):
            x0 = np.float32((X[i, c] * inverse - centre[c]) * scale)
            x1 = np.float32((X[i, c + 1] * inverse - centre[c + 1]) * scale)
            x2 = np.float32((X[i, c + 2] * inverse - centre[c + 2]) * scale)
            x3 = np.float32((X[i, c + 3] * inverse - centre[c + 3]) * scale)
            for t in range(row.size):
                row[t] += (
                    x0 * matrix[c, t]
                    + x1 * matrix[c + 1, t]
                    + x2 * matrix[c + 2, t]
                    + x3 * matrix[c + 3, t]
                )
        for c in range(whole, d):
            x0 = np.float32((X[i, c] * inverse - centre[c]) * scale)
            for t in range(row.size):
                row[t] += x0 * matrix[c, t]
