"""Scores of the rows: their sums, their second moments, and the covariance that these give."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit

from skfrontier.algos.statistics.truncated_boolean.fibre_cells import add_fibre_scores
from skfrontier.algos.statistics.truncated_boolean.flips import flip_scores
from skfrontier.algos.statistics.truncated_boolean.rows import dense_chunks

_MAX_LOGIT = 300.0  # exp of twice this neither overflows nor vanishes


def flip_score_chunks(X: Any, truncation: Any, z: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Row ranges with the scores of their flips."""
    for rows, chunk in dense_chunks(X, 24 * X.shape[1]):
        yield rows, flip_scores(chunk, truncation.flips(chunk), z)


def fibre_score_chunks(
    X: Any, truncation: Any, subsets: np.ndarray, z: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Row ranges with the summed scores of their fibres."""
    z = np.clip(z, -_MAX_LOGIT, _MAX_LOGIT)
    for rows, chunk in dense_chunks(X, 16 * X.shape[1] + 2 * len(subsets)):
        scores = np.zeros(chunk.shape)
        add_fibre_scores(chunk, truncation.fibre_masks(chunk, subsets), subsets, z, scores)
        yield rows, scores


def edge_score_chunks(
    X: Any, truncation: Any, masks: np.ndarray, z: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Row ranges with the summed scores of joint flips of the coordinates of each mask."""
    for rows, chunk in dense_chunks(X, 24 * X.shape[1]):
        scores = np.zeros(chunk.shape)
        for mask in masks:
            open_ = truncation.contains(chunk ^ mask)
            d = (2.0 * chunk - 1.0) * mask
            scores += np.where(open_, expit(-d @ z), 0.0)[:, None] * d
        yield rows, scores


def second_moment(
    chunks: Iterator[tuple[slice, np.ndarray]], n: int, weights: np.ndarray | None
) -> np.ndarray:
    """Sum of w u u^T over the rows."""
    J = np.zeros((n, n))
    for rows, U in chunks:
        J += U.T @ (U if weights is None else U * weights[rows, None])
    return J


def sandwich(H: np.ndarray, J: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Godambe's covariance H^-1 J H^-1 on the identified directions, those orthogonal to Q."""
    inverse = inverse_off(H, Q)
    return inverse @ J @ inverse


def inverse_off(H: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Inverse of H projected onto the directions orthogonal to the columns of Q."""
    if not Q.shape[1]:
        return np.linalg.pinv(H, hermitian=True)
    P = np.eye(len(H)) - Q @ Q.T
    scale = max(float(np.trace(H)) / len(H), 1e-300)
    filled = P @ H @ P + scale * (
        Q @ Q.T
    )  # the null directions are made regular, and taken out again
    return np.linalg.pinv(filled, hermitian=True) - (Q @ Q.T) / scale


def standard_errors(V: np.ndarray, identified: np.ndarray) -> np.ndarray:
    """Square roots of the diagonal; infinite where the coordinate is not identified."""
    return np.where(identified, np.sqrt(np.maximum(np.diag(V), 0.0)), np.inf)


def identified_coordinates(Q: np.ndarray) -> np.ndarray:
    """Coordinates on which no unidentified direction has a component."""
    return np.abs(Q).max(axis=1, initial=0.0) <= 1e-9
