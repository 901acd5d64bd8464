"""What an alignment is worth: distance of clouds, share of right rows, angle between maps."""

import math
from typing import Any

import numpy as np

from skfrontier.algos._validation import as_numbers, check_points
from skfrontier.algos.geometry.procrustes_wasserstein.solve import procrustes_wasserstein


def procrustes_wasserstein_distance(X: Any, Y: Any, **options: Any) -> float:
    """Root mean squared distance of two clouds after the best matching and rigid map.

    Parameters
    ----------
    X, Y : array-like of shape (n_x, n_features) and (n_y, n_features)
        Clouds of at least two points.
    **options
        As in `procrustes_wasserstein`.

    Returns
    -------
    float
        In the units of the data; 0 if and only if the clouds are congruent.

    Raises
    ------
    ValueError, TypeError
        As `procrustes_wasserstein`.

    Notes
    -----
    The value is an upper bound of the distance, which it attains where the best map was found. For
    clouds of one size, a lower bound is the Euclidean distance of their sorted singular values over
    sqrt(n), by von Neumann's trace inequality.

    Examples
    --------
    >>> from skfrontier.algos import procrustes_wasserstein_distance
    >>> square, turned = [[0, 0], [2, 0], [2, 1], [0, 3]], [[0, 0], [0, 2], [-1, 2], [-3, 0]]
    >>> round(procrustes_wasserstein_distance(square, turned), 6)
    0.0
    """
    return math.sqrt(procrustes_wasserstein(X, Y, **options).cost)


def matching_accuracy(assignment: Any, truth: Any) -> float:
    """Share of rows with the right partner, among those that have one.

    Parameters
    ----------
    assignment, truth : array-like of shape (n,), int
        Partners found and true; -1 for none.

    Returns
    -------
    float
        Between 0 and 1; NaN where no row has a partner.

    Raises
    ------
    ValueError
        If the arrays differ in shape.

    Examples
    --------
    >>> from skfrontier.algos import matching_accuracy
    >>> matching_accuracy([2, 0, 1, 3], [2, 1, 0, -1]) == 1 / 3
    True
    """
    found, true = as_numbers(assignment, "assignment"), as_numbers(truth, "truth")
    if found.shape != true.shape or found.ndim != 1:
        raise ValueError(
            f"assignment and truth must have one shape (n,); got {found.shape} and {true.shape}."
        )
    known = true >= 0
    return float((found[known] == true[known]).mean()) if known.any() else float("nan")


def rotation_error_degrees(Q1: Any, Q2: Any) -> float:
    """Largest angle by which two orthogonal maps turn a vector apart.

    Parameters
    ----------
    Q1, Q2 : array-like of shape (n_features, n_features)
        Orthogonal matrices.

    Returns
    -------
    float
        Degrees, between 0 and 180.

    Raises
    ------
    ValueError
        If they are not square matrices of one shape.

    Examples
    --------
    >>> from skfrontier.algos import rotation_error_degrees
    >>> round(rotation_error_degrees([[1, 0], [0, 1]], [[0, -1], [1, 0]]), 6)
    90.0
    """
    first, second = check_points(Q1, "Q1", min_points=1), check_points(Q2, "Q2", min_points=1)
    if first.shape != second.shape or first.shape[0] != first.shape[1]:
        raise ValueError(
            f"Q1 and Q2 must be square and of one shape; got {first.shape} and {second.shape}."
        )
    # |Q1 - Q2| stretches a vector by 2 sin(angle / 2), exact for small angles as arccos is not.
    stretch = float(np.linalg.norm(first.astype(np.float64) - second, 2))
    return math.degrees(2 * math.asin(min(1.0, stretch / 2)))
