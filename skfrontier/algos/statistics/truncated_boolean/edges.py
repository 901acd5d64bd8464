"""Joint flips of given sets of coordinates: a logistic regression without covariates."""

from typing import Any

import numpy as np
from scipy.special import expit

from skfrontier.algos.statistics.truncated_boolean.fibre_cells import Penalty
from skfrontier.algos.statistics.truncated_boolean.rows import dense_chunks


def count_edges(
    X: Any, truncation: Any, masks: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Distinct signed masks ``d = (2x - 1) mask`` of the rows whose joint flip stays in the set.

    Returns
    -------
    d : ndarray of shape (n_distinct, n_features)
    counts : ndarray of shape (n_distinct,)
    """
    found: list[np.ndarray] = [np.zeros((0, X.shape[1]), np.int8)]
    counted: list[np.ndarray] = [np.zeros(0)]
    for rows, chunk in dense_chunks(X, 4 * X.shape[1]):
        w = np.ones(len(chunk)) if weights is None else weights[rows]
        for mask in masks:
            open_ = truncation.contains(chunk ^ mask)
            d = (2 * chunk[open_].astype(np.int8) - 1) * mask.astype(np.int8)
            distinct, place = np.unique(d, axis=0, return_inverse=True)
            found.append(distinct)
            counted.append(np.bincount(place.ravel(), w[open_], len(distinct)))
    d, place = np.unique(np.concatenate(found), axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), np.concatenate(counted), len(d))
    return d[counts > 0].astype(float), counts[counts > 0]


def minimise_edges(
    d: np.ndarray, counts: np.ndarray, penalty: Penalty, *, max_iter: int, tol: float
) -> tuple[np.ndarray, int]:
    """Minimise ``sum counts softplus(-d.z)`` and the penalty by Newton steps with backtracking."""
    z = np.zeros(d.shape[1])
    scale = max(float(counts.sum()), 1.0)
    value = _value(d, counts, z, penalty)
    for step in range(max_iter):
        gradient = penalty.gradient(z) - d.T @ (counts * expit(-d @ z))
        if np.abs(gradient).max(initial=0.0) <= tol * scale:
            return z, step
        direction = np.linalg.lstsq(edge_hessian(d, counts, z, penalty), -gradient)[0]
        for halving in range(40):
            candidate = z + direction * 0.5**halving
            new_value = _value(d, counts, candidate, penalty)
            if new_value <= value + 1e-4 * 0.5**halving * (gradient @ direction) + 1e-12 * value:
                break
        z, value = candidate, new_value
    return z, max_iter


def edge_hessian(d: np.ndarray, counts: np.ndarray, z: np.ndarray, penalty: Penalty) -> np.ndarray:
    """Hessian of the loss and the penalty."""
    p = expit(d @ z)
    return (d * (counts * p * (1 - p))[:, None]).T @ d + np.diag(penalty.curvature(z))


def _value(d: np.ndarray, counts: np.ndarray, z: np.ndarray, penalty: Penalty) -> float:
    return float(counts @ np.logaddexp(0, -d @ z) + penalty.value(z))
