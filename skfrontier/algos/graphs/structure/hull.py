"""Which support wins at which training size: the lower convex hull of deviance over trace."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import as_numbers, check_finite, check_interval

_GAIN = 1e-9  # by how much the trace must grow from vertex to vertex


@dataclass(frozen=True)
class Hull:
    """Vertices of a lower convex hull, from the smallest trace on.

    Attributes
    ----------
    index : int64 array of shape (n_vertices,)
        Positions in the input.
    kappa : float64 array of shape (n_vertices,)
        The vertex wins for values between the next entry and its own; the first is infinite.
    """

    index: np.ndarray
    kappa: np.ndarray


def acv_hull(T: Any, D: Any, *, floor: float = 2.0) -> Hull:
    r"""Minimisers of :math:`D + \kappa T` for all :math:`\kappa` from infinity down to ``floor``.

    Parameters
    ----------
    T, D : array-like of shape (n_supports,)
        Traces and deviances.
    floor : float, default=2.0
        Least value of kappa; 2 is training on all rows.

    Returns
    -------
    Hull

    Raises
    ------
    ValueError
        If the arrays are empty, differ in length or are not finite.

    Notes
    -----
    Slopes fall strictly from vertex to vertex. O(n_supports times n_vertices).

    Examples
    --------
    >>> from skfrontier.algos import acv_hull
    >>> acv_hull([0, 1, 2, 3], [0, -30, -35, -50])
    Hull(index=array([0, 1, 3]), kappa=array([inf, 30., 10.]))
    """
    T, D = (np.atleast_1d(as_numbers(values, name)) for values, name in ((T, "T"), (D, "D")))
    if T.ndim != 1 or T.shape != D.shape or T.size == 0:
        raise ValueError(
            f"T and D must be lists of the same length, not empty; got shapes {T.shape} and {D.shape}."
        )
    T, D = T.astype(np.float64), D.astype(np.float64)
    check_finite(T, "T")
    check_finite(D, "D")
    floor = check_interval(floor, "floor", 0.0, np.inf, closed="left")
    index = np.empty(T.size, dtype=np.int64)
    kappa = np.empty(T.size)
    count = _walk_from_smallest(T, D, floor, index, kappa)
    return Hull(index[:count], kappa[:count])


@njit
def _walk_from_smallest(T, D, floor, index, kappa):
    first = 0
    for k in range(T.size):
        if T[k] < T[first] or (T[k] == T[first] and D[k] < D[first]):
            first = k
    return walk(T, D, T.size, first, floor, index, kappa)


def hull_of_nodes(
    T: np.ndarray, D: np.ndarray, counts: np.ndarray, floor: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hulls of many nodes, a row each, from their first entry on: counts, indices and kappas."""
    index, kappa = np.zeros(T.shape, dtype=np.int64), np.zeros(T.shape)
    vertices = np.zeros(counts.size, dtype=np.int64)
    _walk_all(T, D, counts, floor, vertices, index, kappa)
    return vertices, index, kappa


@njit
def _walk_all(T, D, counts, floor, vertices, index, kappa):
    for j in range(counts.size):
        vertices[j] = walk(T[j], D[j], counts[j], 0, floor, index[j], kappa[j])


@inner
def walk(T, D, size, first, floor, index, kappa):
    """Vertices from ``first`` on; ties of the slope go to the larger trace."""
    index[0], kappa[0] = first, np.inf
    count = 1
    while True:
        v = index[count - 1]
        best, steepest = -1, floor
        for k in range(size):
            if T[k] > T[v] + _GAIN:
                slope = (D[v] - D[k]) / (T[k] - T[v])
                if slope > steepest or (slope == steepest and (best < 0 or T[k] > T[best])):
                    best, steepest = k, slope
        if best < 0:
            return count
        index[count], kappa[count] = best, steepest
        count += 1
