"""Lower bounds of matching costs from dual potentials, and the result that carries them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from skfrontier.algos._numba import njit
from skfrontier.algos._validation import check_points
from skfrontier.algos.geometry.matching.costs import Cost, cost_row, vector_cost


@dataclass(frozen=True)
class MatchingResult:
    """A matching, its cost, and how far from the cheapest one it can be.

    Attributes
    ----------
    ids_a, ids_b : ndarray of shape (m,)
        The pairs, sorted by ``ids_a`` where ids can be compared.
    distances : float64 array of shape (m,)
        Distance of each pair.
    cost : float
        Sum of ``distances ** p``.
    lower_bound : float
        No matching of the same points is cheaper.
    gap : float
        ``cost / lower_bound - 1``: the matching is at most this much dearer than the cheapest one.
    method : str
        What computed it.
    guarantee : float or None
        Proven factor of ``cost ** (1 / p)`` over the best, where the method has one.
    """

    ids_a: np.ndarray
    ids_b: np.ndarray
    distances: np.ndarray
    cost: float
    lower_bound: float
    gap: float
    method: str
    guarantee: float | None


def relative_gap(cost: float, lower_bound: float) -> float:
    """``cost / lower_bound - 1``; 0 where both are 0, infinite where only the bound is."""
    if lower_bound > 0:
        return max(cost / lower_bound - 1, 0.0)
    return 0.0 if cost <= 0 else np.inf


def matching_lower_bound(u: Any, v: Any) -> float:
    """Least cost of any matching that pairs every point of the smaller side, from dual potentials.

    Parameters
    ----------
    u, v : array-like of shape (n_a,) and (n_b,)
        Potentials with ``u[i] + v[j] <= c(i, j)`` for all pairs, of any sign.

    Returns
    -------
    float
        At least 0, because costs are not negative.

    Raises
    ------
    ValueError
        If the potentials are not finite or not one-dimensional.

    Notes
    -----
    With ``len(u) <= len(v)`` the bound is the sum of u and of the ``len(u)`` smallest entries of v: a
    matching uses all of the one side and so many distinct points of the other. It costs O(n).

    Examples
    --------
    >>> from skfrontier.algos import matching_lower_bound
    >>> matching_lower_bound([1.0, 2.0], [0.0, -0.5, 0.0])
    2.5
    """
    u, v = (
        check_points(np.reshape(values, (-1, 1)) if np.ndim(values) == 1 else values, name)
        for values, name in ((u, "u"), (v, "v"))
    )
    return max(dual_value(u[:, 0].astype(np.float64), v[:, 0].astype(np.float64)), 0.0)


def dual_value(u: np.ndarray, v: np.ndarray) -> float:
    """The bound of `matching_lower_bound` without the checks, of either sign."""
    if len(u) > len(v):
        u, v = v, u
    if not len(u):
        return 0.0
    smallest = v if len(u) == len(v) else np.partition(v, len(u) - 1)[: len(u)]
    return float(u.sum() + smallest.sum())


def c_transform(
    X: Any,
    Y: Any,
    v: Any,
    *,
    p: float = 1.0,
    metric: str = "euclidean",
    q: float | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """The largest potentials u with ``u[i] + v[j] <= distance(X[i], Y[j]) ** p``.

    Parameters
    ----------
    X, Y : array-like of shape (n_x, n_features) and (n_y, n_features)
        Points; there must be one at least in ``Y``.
    v : array-like of shape (n_y,)
        Potentials of ``Y``.
    p : float, default=1.0
        Power of the distance, at least 1.
    metric : str, default='euclidean'
        'euclidean', 'manhattan', 'chebyshev', 'minkowski' or 'sqeuclidean' (with p=1).
    q : float or None, default=None
        The norm of 'minkowski'.
    n_jobs : int or None, default=None
        Threads, as in joblib.

    Returns
    -------
    float64 array of shape (n_x,)

    Raises
    ------
    ValueError
        If shapes do not agree or a parameter is out of range.

    Notes
    -----
    Two transforms, of v and then of the result, turn any v into feasible potentials that are at least as
    large, at 2 n_x n_y distances and O(n) memory.

    Examples
    --------
    >>> from skfrontier.algos import c_transform
    >>> c_transform([[0.0], [3.0]], [[1.0], [4.0]], [0.0, 0.0])
    array([1., 1.])
    """
    X, Y = check_points(X, "X"), check_points(Y, "Y", min_points=1)
    v = check_points(np.reshape(v, (-1, 1)), "v")[:, 0].astype(np.float64)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X and Y must have the same number of features, got {X.shape[1]} and {Y.shape[1]}."
        )
    if len(v) != len(Y):
        raise ValueError(f"v must have one entry for each of the {len(Y)} rows of Y, got {len(v)}.")
    P, Q = (np.ascontiguousarray(Z.T, dtype=np.float64) for Z in (X, Y))
    return transform(vector_cost(metric, p, q), P, Q, v, n_jobs=n_jobs)[0]


def transform(
    cost: Cost, P: np.ndarray, Q: np.ndarray, v: np.ndarray, *, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """``min_j c(i, j) - v[j]`` of the columns of ``P`` and ``Q``, and the j that attains it."""
    n = P.shape[1]
    u, best = np.empty(n), np.empty(n, dtype=np.int64)
    blocks = [(start, min(start + 512, n)) for start in range(0, n, 512)]
    Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_transform_rows)(*cost.args, P, Q, v, start, stop, u, best)
        for start, stop in blocks
    )
    return u, best


@njit
def _transform_rows(code, q, power, matrix, P, Q, v, start, stop, u, best):
    n = Q.shape[1]
    row = np.empty(n)
    for i in range(start, stop):
        cost_row(code, q, power, matrix, P, i, Q, n, row)
        least, at = np.inf, -1
        for j in range(n):
            if row[j] - v[j] < least:
                least, at = row[j] - v[j], j
        u[i], best[i] = least, at


def two_transforms(
    cost: Cost, P: np.ndarray, Q: np.ndarray, v: np.ndarray, *, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Feasible potentials (u, v) from any v."""
    u = transform(cost, P, Q, v, n_jobs=n_jobs)[0]
    return u, transform(cost.swapped, Q, P, u, n_jobs=n_jobs)[0]
