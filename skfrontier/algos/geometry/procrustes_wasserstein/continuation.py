"""Refinement of a start on few axes: more axes enter round by round while the matching stays soft."""

import math
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count, check_generator, check_interval, check_points
from skfrontier.algos.geometry.procrustes_wasserstein.enumeration import neighbour_scale
from skfrontier.algos.geometry.procrustes_wasserstein.rigid_map import polar_factor
from skfrontier.algos.geometry.procrustes_wasserstein.sinkhorn import (
    AnchorPairs,
    soft_matching,
    squared_distances,
)


def soft_continuation(
    A: Any,
    B: Any,
    R0: Any,
    k: int,
    *,
    growth: float = 1.15,
    n_final: int = 4,
    random_state: Any = None,
) -> tuple[np.ndarray, float]:
    """Extend a map of the leading ``k`` axes to all axes, by soft matching of growing dimension.

    Parameters
    ----------
    A, B : array-like of shape (n_a, n_axes) and (n_b, n_axes)
        Coordinates along the eigenvectors of each cloud, largest eigenvalue first, centred.
    R0 : array-like of shape (k, k)
        Orthogonal map of the leading axes of A to those of B.
    k : int
        Number of leading axes.
    growth : float, default=1.15
        Factor by which the number of axes grows in a round, above 1.
    n_final : int, default=4
        Rounds on all axes.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the rows from which the first temperature is taken.

    Returns
    -------
    rotation : ndarray of shape (n_axes, n_axes)
        Orthogonal map.
    temperature : float
        Residual variance of a coordinate under the last soft matching.

    Raises
    ------
    ValueError
        If the arrays do not fit together, or a number is out of range.

    Notes
    -----
    Observed, not proven. O(n_a n_b n_axes) a round. An axis that enters gets its sign, and its mixing with
    the others, from the matching on the axes before it.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import soft_continuation
    >>> A = np.random.default_rng(0).normal(size=(300, 3)) * [3.0, 2.0, 1.0]
    >>> R, temperature = soft_continuation(A, A * [1, -1, -1], [[1.0, 0.0], [0.0, -1.0]], 2)
    >>> np.diag(R).round(6)
    array([ 1., -1., -1.])
    """
    A, B = check_points(A, "A", min_points=2), check_points(B, "B", min_points=2)
    R = check_points(R0, "R0")
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"A and B must have the same axes, got {A.shape[1]} and {B.shape[1]}.")
    k = check_count(k, "k", 1, A.shape[1])
    if R.shape != (k, k):
        raise ValueError(f"R0 must have shape ({k}, {k}), got {R.shape}.")
    growth = check_interval(growth, "growth", 1, np.inf, closed="neither")
    n_final = check_count(n_final, "n_final", 0)
    A, B = A.astype(np.float64), B.astype(np.float64)
    temperature = neighbour_scale(B[:, :k], check_generator(random_state)) / k
    return continued(A, B, R.astype(np.float64), temperature, AnchorPairs.none(), growth, n_final)


def continued(
    A: np.ndarray,
    B: np.ndarray,
    R: np.ndarray,
    temperature: float,
    anchors: AnchorPairs,
    growth: float = 1.15,
    n_final: int = 4,
) -> tuple[np.ndarray, float]:
    """`soft_continuation` on checked input, with anchors, from a given temperature."""
    n_axes = A.shape[1]
    k, left = len(R), n_final
    while left >= 0:
        P = np.zeros(0)
        for _ in range(2):
            distances = squared_distances(A[:, :k] @ R.T, B[:, :k])
            P = soft_matching(
                distances.copy(), half_scale=0.5 / temperature, at_most=False, anchors=anchors
            )
            residual = np.einsum("ij,ij->", P, distances) / (P.sum() * k)
            temperature = float(np.clip(residual, temperature / 2, 2 * temperature))
            temperature = max(temperature, 1e-300)
        if k == n_axes:
            left -= 1
        k = min(n_axes, max(k + 1, math.ceil(growth * k)))
        R, _ = polar_factor((P @ B[:, :k]).T @ A[:, :k])
    return R, temperature
