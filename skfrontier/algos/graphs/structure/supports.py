"""Candidate neighbourhoods of a node: the supports along its lasso path, from the Gram matrix alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_count, check_interval
from skfrontier.algos.graphs.structure.gram import check_gram, check_node

_MAX_SWEEPS = 1000


@dataclass(frozen=True)
class LassoSupports:
    """Supports along a lasso path.

    Attributes
    ----------
    indptr : int64 array of shape (n_points + 1,)
        ``indices[indptr[l]:indptr[l + 1]]`` is the support at ``alphas[l]``.
    indices : int64 array
        Columns, ascending within a support.
    alphas : float64 array of shape (n_points,)
        Penalties, falling.
    truncated : bool
        Whether the path ended because the next support would have been larger than ``max_support``.
    """

    indptr: np.ndarray
    indices: np.ndarray
    alphas: np.ndarray
    truncated: bool


def lasso_supports(
    gram: Any,
    node: int,
    *,
    n_alphas: int = 40,
    eps: float = 0.05,
    max_support: int = 40,
    tol: float = 1e-5,
) -> LassoSupports:
    r"""Supports of the lasso regressions of one column on all others.

    Parameters
    ----------
    gram : array-like of shape (n_columns, n_columns)
        ``Z.T @ Z / n`` of centred columns; scale them for the penalty to treat them alike.
    node : int
        The column that is regressed.
    n_alphas : int, default=40
        Points of the path, geometric between 0.999 and ``eps`` times the least penalty of the empty support.
    eps : float, default=0.05
        End of the path, in (0, 1).
    max_support : int, default=40
        The path stops before the first larger support.
    tol : float, default=1e-5
        Largest change of a coefficient in the last sweep of coordinate descent.

    Returns
    -------
    LassoSupports

    Raises
    ------
    ValueError, TypeError
        If the matrix is not square and finite, or a parameter is outside its range.

    Notes
    -----
    Minimises :math:`\frac12 b^T G b - G_j^T b + \lambda \lVert b \rVert_1` by coordinate descent with
    covariance updates. Columns enter by the sequential strong rule; violators of the optimality conditions
    are added until there are none, so screening loses nothing. A point costs O(p s) beyond its sweeps.

    References
    ----------
    N. Meinshausen, P. Buhlmann, Annals of Statistics, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import lasso_supports
    >>> gram = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> path = lasso_supports(gram, 0, n_alphas=3)
    >>> [path.indices[a:b].tolist() for a, b in zip(path.indptr, path.indptr[1:])]
    [[1], [1], [1, 2]]
    """
    gram = check_gram(gram)
    node = check_node(node, len(gram))
    n_alphas = check_count(n_alphas, "n_alphas")
    eps = check_interval(eps, "eps", 0.0, 1.0, closed="neither")
    max_support = check_count(max_support, "max_support")
    tol = check_interval(tol, "tol", 0.0, np.inf, closed="neither")
    sizes = np.zeros(n_alphas, dtype=np.int64)
    alphas = np.zeros(n_alphas)
    supports = np.zeros((n_alphas, max_support), dtype=np.int64)
    points, truncated = lasso_path(
        gram, node, np.diagonal(gram) > 0, eps, tol, alphas, sizes, supports
    )
    lists = [np.sort(supports[point, : sizes[point]]) for point in range(points)]
    indptr = np.concatenate([[0], np.cumsum(sizes[:points])]).astype(np.int64)
    indices = np.concatenate([np.zeros(0, dtype=np.int64), *lists])
    return LassoSupports(indptr, indices, alphas[:points], bool(truncated))


@njit
def lasso_path(gram, node, usable, eps, tol, alphas, sizes, supports):
    """Fill in penalties, support sizes and supports; return how many, and whether it was cut short.

    The correlations ``q = G_j - G b`` are kept for the active columns during sweeps, and made whole between
    them.
    """
    p = gram.shape[0]
    n_alphas, max_support = supports.shape
    b = np.empty(p)
    q = np.empty(p)
    active = np.empty(p, dtype=np.int64)
    closed = np.empty(p, dtype=np.bool_)  # active, constant or the node itself
    n_active = 0
    largest = 0.0
    for k in range(p):
        b[k] = 0.0
        q[k] = gram[node, k]
        closed[k] = k == node or not usable[k]
        if not closed[k]:
            largest = max(largest, abs(q[k]))
    if largest <= 0.0 or not usable[node]:
        return 0, False
    previous = largest
    for point in range(n_alphas):
        along = point / (n_alphas - 1) if n_alphas > 1 else 0.0
        alpha = largest * 0.999 * (eps / 0.999) ** along
        n_active = admit(q, closed, active, n_active, 2.0 * alpha - previous)  # the strong rule
        before = -1
        while n_active > before:
            _sweep_until_still(gram, b, q, active, n_active, alpha, tol)
            _refresh(gram, node, b, q, active, n_active)
            before = n_active
            n_active = admit(q, closed, active, n_active, alpha * (1.0 + 1e-9))
        size = 0
        for place in range(n_active):
            if b[active[place]] != 0.0:
                if size == max_support:
                    return point, True
                supports[point, size] = active[place]
                size += 1
        alphas[point] = alpha
        sizes[point] = size
        previous = alpha
    return n_alphas, False


@inner
def admit(q, closed, active, n_active, level):
    """Make the columns active whose correlation reaches ``level``."""
    for k in range(q.size):
        if not closed[k] and abs(q[k]) >= level:
            closed[k] = True
            active[n_active] = k
            n_active += 1
    return n_active


@inner
def _sweep_until_still(gram, b, q, active, n_active, alpha, tol):
    """Coordinate descent over the active columns."""
    for _ in range(_MAX_SWEEPS):
        change = 0.0
        for place in range(n_active):
            a = active[place]
            pull = q[a] + gram[a, a] * b[a]
            new = 0.0
            if pull > alpha:
                new = (pull - alpha) / gram[a, a]
            elif pull < -alpha:
                new = (pull + alpha) / gram[a, a]
            step = new - b[a]
            if step != 0.0:
                b[a] = new
                change = max(change, abs(step))
                for other in range(n_active):
                    q[active[other]] -= step * gram[a, active[other]]
        if change < tol:
            return


@inner
def _refresh(gram, node, b, q, active, n_active):
    """Compute the correlations of all columns anew from the coefficients that are not zero."""
    for k in range(q.size):
        q[k] = gram[node, k]
    for place in range(n_active):
        a = active[place]
        if b[a] != 0.0:
            weight = b[a]
            for k in range(q.size):
                q[k] -= weight * gram[a, k]
