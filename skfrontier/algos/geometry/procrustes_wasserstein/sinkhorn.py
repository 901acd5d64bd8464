"""Soft matchings: Sinkhorn's scaling of exp(-(cost - row minimum) / 2)."""

from dataclasses import dataclass

import numpy as np

from skfrontier.algos._numba import njit

N_SWEEPS = 8
_TINY = 1e-300  # a column far from every row: its factor stays finite


@dataclass(frozen=True, eq=False)
class AnchorPairs:
    """Pairs that are known: rows of A and of B. They take part with weight 1."""

    rows: np.ndarray
    columns: np.ndarray

    @classmethod
    def none(cls) -> "AnchorPairs":
        """No pairs."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(empty, empty)

    def __len__(self) -> int:
        return len(self.rows)


def soft_matching(
    cost: np.ndarray, *, half_scale: float, at_most: bool, anchors: AnchorPairs
) -> np.ndarray:
    """Scale ``exp(-half_scale * (cost - row minimum))`` to row sums 1, in place of ``cost``.

    Column sums become n_rows / n_columns, or at most 1 with ``at_most``. Rows and columns of anchors
    carry their pair alone.
    """
    _kernel_of_cost(cost, half_scale)
    cost[anchors.rows] = 0.0
    cost[:, anchors.columns] = 0.0
    n_rows, n_columns = cost.shape
    free_rows, free_columns = n_rows - len(anchors), n_columns - len(anchors)
    target = free_rows / max(free_columns, 1)
    right = np.ones(n_columns)
    left = 1 / np.maximum(cost @ right, _TINY)
    for _ in range(N_SWEEPS):
        sums = np.maximum(left @ cost, _TINY)
        right = np.minimum(right, 1 / sums) if at_most else target / sums
        left = 1 / np.maximum(cost @ right, _TINY)
    right[anchors.columns] = 0.0
    left[anchors.rows] = 0.0
    cost *= left[:, None]
    cost *= right
    cost[anchors.rows, anchors.columns] = 1.0
    return cost


@njit
def _kernel_of_cost(cost, half_scale):
    n_rows, n_columns = cost.shape
    for i in range(n_rows):
        least = cost[i, 0]
        for j in range(1, n_columns):
            least = min(least, cost[i, j])
        for j in range(n_columns):
            gap = half_scale * (cost[i, j] - least)
            cost[i, j] = np.exp(-gap) if gap < 700.0 else 0.0


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """All squared distances between rows, by one matrix product; not below zero."""
    cost = A @ (-2.0 * B.T)
    cost += np.einsum("ij,ij->i", A, A)[:, None]
    cost += np.einsum("ij,ij->i", B, B)
    np.maximum(cost, 0.0, out=cost)
    return cost


def matched_moments(
    P: np.ndarray, A: np.ndarray, B: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``P B``, and the weights of the rows of A and of B under the soft matching ``P``."""
    return P @ B, P.sum(axis=1), P.sum(axis=0)
