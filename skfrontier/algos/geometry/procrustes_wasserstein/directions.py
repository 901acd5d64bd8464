"""Both clouds in coordinates along their own principal directions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import null_space

from skfrontier.algos._validation import check_points


def eigen_directions(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of the covariance, largest first.

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        Points; they are **not** centred here.

    Returns
    -------
    eigenvalues : ndarray of shape (min(n_points, n_features),)
        Of ``X.T @ X / n_points``, not negative.
    V : ndarray of shape (n_features, min(n_points, n_features))
        Orthonormal columns.

    Raises
    ------
    ValueError
        If ``X`` is not a finite 2-D array with at least one row.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import eigen_directions
    >>> eigenvalues, V = eigen_directions([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> eigenvalues
    array([4.5, 0.5])
    """
    X = check_points(X, "X", min_points=1)
    return _directions(X)


def _directions(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n, n_features = X.shape
    if n_features > n:
        _, singular, rows = np.linalg.svd(X.astype(np.float64, copy=False), full_matrices=False)
        return singular**2 / n, rows.T
    covariance = (X.T @ X).astype(np.float64) / n
    values, vectors = np.linalg.eigh(covariance)
    return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])


@dataclass(frozen=True, eq=False)
class Frames:
    """Two clouds in their own axes.

    Where the axes span the space, maps between them have the determinant of the map of the input.

    Attributes
    ----------
    A, B : ndarray of shape (n_x, n_axes) and (n_y, n_axes)
        Coordinates, largest variance first. Both are complete: distances are those of the input.
    U, V : ndarray of shape (n_features, n_axes)
        Axes of X and of Y.
    x_mean, y_mean : ndarray of shape (n_features,)
        What was subtracted.
    scale : float
        What X was multiplied with.
    eigenvalues_x, eigenvalues_y : ndarray of shape (n_axes,)
        Variances along the axes, those of X before scaling.
    rank : int
        Number of leading axes in which both clouds vary.
    """

    A: np.ndarray
    B: np.ndarray
    U: np.ndarray
    V: np.ndarray
    x_mean: np.ndarray
    y_mean: np.ndarray
    scale: float
    eigenvalues_x: np.ndarray
    eigenvalues_y: np.ndarray
    rank: int


def principal_frames(X: np.ndarray, Y: np.ndarray, *, translation: bool, scaling: bool) -> Frames:
    """Centre, scale and rotate both clouds to their own axes, in their own float type."""
    n_features = X.shape[1]
    x_mean = X.mean(axis=0, dtype=np.float64) if translation else np.zeros(n_features)
    y_mean = Y.mean(axis=0, dtype=np.float64) if translation else np.zeros(n_features)
    X, Y = X - x_mean.astype(X.dtype), Y - y_mean.astype(Y.dtype)
    lam_x, U = _directions(X)
    lam_y, V = _directions(Y)
    if U.shape == V.shape == (n_features, n_features) and np.linalg.det(U) * np.linalg.det(V) < 0:
        V[:, -1] *= -1  # a proper map between the axes is then a proper map of the input
    n_axes = max(len(lam_x), len(lam_y))
    rank = max(1, min(_rank(lam_x), _rank(lam_y)))
    (lam_x, U), (lam_y, V) = _completed(lam_x, U, n_axes), _completed(lam_y, V, n_axes)
    scale = 1.0
    if scaling and lam_x.sum() > 0 and lam_y.sum() > 0:
        scale = float(np.sqrt(lam_y.sum() / lam_x.sum()))
    A = np.ascontiguousarray(X @ (scale * U).astype(X.dtype))
    B = np.ascontiguousarray(Y @ V.astype(Y.dtype))
    return Frames(A, B, U, V, x_mean, y_mean, scale, lam_x, lam_y, rank)


def _rank(eigenvalues: np.ndarray) -> int:
    return int((eigenvalues > 1e-12 * max(eigenvalues[0], np.finfo(float).tiny)).sum())


def _completed(
    eigenvalues: np.ndarray, axes: np.ndarray, n_axes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Axes without variance added, so that both clouds have the same number."""
    missing = n_axes - len(eigenvalues)
    if missing == 0:
        return eigenvalues, axes
    outside = null_space(axes.T)[:, :missing]
    return np.append(eigenvalues, np.zeros(missing)), np.hstack([axes, outside])
