"""A start without directions: the convex relaxation of matching the two Gram matrices."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from skfrontier.algos._validation import check_count, check_points
from skfrontier.algos.geometry.procrustes_wasserstein.rigid_map import polar_factor


def frank_wolfe_start(X: Any, Y: Any, n_iter: int = 50) -> np.ndarray:
    """Rotation from the convex relaxation of matching Gram matrices, by Frank and Wolfe's method.

    Parameters
    ----------
    X, Y : array-like of shape (n_x, n_features) and (n_y, n_features)
        Centred clouds.
    n_iter : int, default=50
        Steps; each solves a dense assignment.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Orthogonal map of X to Y.

    Raises
    ------
    ValueError
        If the arrays do not fit together or ``n_iter`` is below 1.

    Notes
    -----
    Minimises ``||P K_X - K_Y P||_F^2`` over doubly stochastic P [1]_ [2]_. Where the
    clouds differ in size, rows of the larger one may stay empty. O(n^2 n_features + n^3) a step.

    References
    ----------
    .. [1] Grave, Joulin, Berthet, "Unsupervised alignment of embeddings with Wasserstein Procrustes",
       AISTATS 2019, arXiv:1805.11222.
    .. [2] Even, Ganassali, Maier, Massoulie, "Aligning embeddings and geometric random graphs",
       NeurIPS 2024, arXiv:2405.14532.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import frank_wolfe_start
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) * [3.0, 1.0]
    >>> X -= X.mean(axis=0)
    >>> Q = frank_wolfe_start(X, X[::-1] @ [[0.0, 1.0], [-1.0, 0.0]])
    >>> np.allclose(Q @ Q.T, np.eye(2))
    True
    """
    X, Y = check_points(X, "X", min_points=1), check_points(Y, "Y", min_points=1)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X and Y must have the same number of features, got {X.shape[1]} and {Y.shape[1]}."
        )
    n_iter = check_count(n_iter, "n_iter")
    X, Y = X.astype(np.float64), Y.astype(np.float64)
    P = _relaxed_matching(X, Y, n_iter)
    return polar_factor(Y.T @ P @ X)[0]


def _relaxed_matching(X: np.ndarray, Y: np.ndarray, n_iter: int) -> np.ndarray:
    """P of shape (n_y, n_x): rows of Y to rows of X."""
    n_x, n_y = len(X), len(Y)
    P = np.full((n_y, n_x), 1 / max(n_x, n_y))
    second_x, second_y = X.T @ X, Y.T @ Y
    difference = _commutator(P, X, Y)
    for _ in range(n_iter):
        PX, YP = P @ X, Y.T @ P
        gradient = PX @ second_x @ X.T + Y @ (second_y @ YP) - 2 * Y @ ((YP @ X) @ X.T)
        vertex = _vertex(gradient)
        step = _commutator(vertex, X, Y) - difference
        curvature = float((step**2).sum())
        slope = float((step * difference).sum())
        if curvature <= 0 or slope >= 0:
            break
        length = min(1.0, -slope / curvature)
        P += length * (vertex - P)
        difference += length * step
    return P


def _commutator(P: np.ndarray, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (P @ X) @ X.T - Y @ (Y.T @ P)


def _vertex(gradient: np.ndarray) -> np.ndarray:
    """The matching of least inner product with the gradient."""
    rows, columns = linear_sum_assignment(gradient)
    vertex = np.zeros_like(gradient)
    vertex[rows, columns] = 1.0
    return vertex
