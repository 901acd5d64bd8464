"""Starts of clouds too large for all pairs: nearest neighbours of a sample of rows, in trees."""

import math

import numpy as np
from scipy.spatial import cKDTree

from skfrontier.algos.geometry.procrustes_wasserstein.nearest_rows import (
    NearestRows,
    edge_squared_distances,
)
from skfrontier.algos.geometry.procrustes_wasserstein.rigid_map import polar_factor
from skfrontier.algos.geometry.procrustes_wasserstein.sign_free import AxisModel
from skfrontier.algos.geometry.procrustes_wasserstein.theory import direction_information

_HARD_ROUNDS = 4
_TREE_AXES = 4


def sample_size(n: int, n_axes: int) -> int:
    """Rows that determine the rotation well enough for one map on all rows to finish it."""
    return min(n, max(2000, 20 * n_axes))


def hard_matching_suffices(A: np.ndarray, model: AxisModel) -> bool:
    """Whether directions carry so much that nearest neighbours on few axes are mostly partners."""
    lam = (A**2).mean(axis=0)
    carried = direction_information(lam, model.variance, len(A))
    return A.shape[1] > 8 and carried >= 2 * math.log(len(A))


def refine_hard(A: np.ndarray, signs: np.ndarray, search: NearestRows) -> tuple[np.ndarray, float]:
    """Signs of all axes from neighbours on the leading ones, then neighbours on all axes.

    ``A`` holds the sampled rows. Returns the map and the median squared residual.
    """
    B, k = search.B, len(signs)
    nearest = search.tree(k).query(A[:, :k] * signs)[1]
    agreement = np.einsum("ij,ij->j", A, B[nearest])
    R = np.diag(np.where(agreement < 0, -1.0, 1.0))
    residual = np.inf
    for _ in range(_HARD_ROUNDS):
        distance, nearest = search.nearest(A @ R.T)
        residual = float(np.median(distance))
        R, _ = polar_factor(B[nearest].T @ A)
    return R, residual / A.shape[1]


def refine_soft(
    A: np.ndarray,
    signs: np.ndarray,
    search: NearestRows,
    n_neighbors: int,
    growth: float = 1.15,
    n_final: int = 4,
) -> tuple[np.ndarray, float]:
    """Dimension continuation on candidate lists; returns the map and the last temperature."""
    B, n_axes = search.B, A.shape[1]
    R, k, left = np.diag(signs), len(signs), n_final
    temperature = np.inf
    while left >= 0:
        moved = A[:, :k] @ R.T
        tree: cKDTree = search.tree(min(k, _TREE_AXES))
        n_listed = min(n_neighbors, len(B))
        lists = tree.query(moved[:, :_TREE_AXES], k=n_listed)[1].reshape(len(A), n_listed)
        rows = np.repeat(np.arange(len(A)), n_listed)
        distances = edge_squared_distances(
            moved, np.ascontiguousarray(B[:, :k]), rows, lists.ravel()
        ).reshape(lists.shape)
        least = distances.min(axis=1, keepdims=True)
        temperature = max(float(np.median(least)) / k, 1e-300)
        P = np.exp(-(distances - least) / (2 * temperature))
        P /= P.sum(axis=1, keepdims=True)
        if k == n_axes:
            left -= 1
        k = min(n_axes, max(k + 1, math.ceil(growth * k)))
        R, _ = polar_factor(np.einsum("ij,ijk->ik", P, B[lists, :k]).T @ A[:, :k])
    return R, temperature
