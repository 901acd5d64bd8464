"""Backward elimination: from one support down to a single column, each time without the least useful."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.graphs.structure.cholesky import factor, invert
from skfrontier.algos.graphs.structure.gram import check_gram, check_node

RIDGE = 1e-10  # added to the diagonal of the Gram matrix of a support


@dataclass(frozen=True)
class BackwardChain:
    """Nested supports, the largest first.

    Attributes
    ----------
    indptr : int64 array of shape (n_supports + 1,)
        ``indices[indptr[l]:indptr[l + 1]]`` is the l-th support.
    indices : int64 array
        Columns, ascending within a support.
    rss : float64 array of shape (n_supports,)
        Residual sum of squares over n of each support's least squares fit.
    """

    indptr: np.ndarray
    indices: np.ndarray
    rss: np.ndarray


def backward_chain(gram: Any, node: int, support: Any) -> BackwardChain:
    """Drop the column whose loss costs least, refit, and repeat down to one column.

    Parameters
    ----------
    gram : array-like of shape (n_columns, n_columns)
        ``Z.T @ Z / n`` of centred columns.
    node : int
        The column that is regressed.
    support : array-like of int
        Columns to start from, not empty, without ``node``.

    Returns
    -------
    BackwardChain

    Raises
    ------
    ValueError, TypeError
        If the support is empty, repeats a column, holds ``node`` or a column that does not exist.

    Notes
    -----
    Column ``a`` is worth ``b_a^2 / (G_SS^-1)_aa``, exactly what its loss adds to RSS/n. The inverse is
    downdated, so that a chain costs O(s^3). It is what frees selection from the lasso's irrepresentability
    condition: the lasso path only has to contain the true neighbourhood in some support.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import backward_chain
    >>> gram = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> chain = backward_chain(gram, 0, [1, 2])
    >>> chain.indices[chain.indptr[1]:], chain.rss.round(3)
    (array([1]), array([0.638, 0.64 ]))
    """
    gram = check_gram(gram)
    node = check_node(node, len(gram))
    start = check_support(support, len(gram), node)
    size = start.size
    if size == 0:
        raise ValueError("support must hold at least one column.")
    best = np.full(size + 1, np.inf)
    kept = np.zeros((size + 1, size), dtype=np.int64)
    _chain(gram, node, start, size, best, kept, np.zeros(size + 1), 0.0)
    lists = [np.sort(kept[s, :s]) for s in range(size, 0, -1)]
    indptr = np.concatenate([[0], np.cumsum(np.arange(size, 0, -1))]).astype(np.int64)
    return BackwardChain(indptr, np.concatenate(lists), best[:0:-1])


def check_support(support: Any, n_columns: int, node: int | None = None) -> np.ndarray:
    """Return distinct column numbers as int64, without ``node``."""
    columns = np.atleast_1d(np.asarray(support))
    if columns.size == 0:
        return np.zeros(0, dtype=np.int64)
    if columns.ndim != 1 or columns.dtype.kind not in "iu":
        raise TypeError(f"support must be a list of column numbers, got {support!r}.")
    if columns.min() < 0 or columns.max() >= n_columns:
        raise ValueError(f"support must lie in 0..{n_columns - 1}, got {support!r}.")
    if len(np.unique(columns)) != len(columns):
        raise ValueError(f"support must not repeat a column, got {support!r}.")
    if node is not None and node in columns:
        raise ValueError(f"support must not hold the node {node} itself.")
    return columns.astype(np.int64)


@njit
def _chain(gram, node, support, size, best, kept, origin, alpha):
    scratch = np.empty((3, size, size))
    eliminate(gram, node, support, size, best, kept, origin, alpha, scratch)


@inner
def eliminate(gram, node, support, size, best, kept, origin, alpha, scratch):
    """Walk the chain from ``support``; of each size keep the best support seen in any chain.

    ``best[s]`` is RSS/n of ``kept[s, :s]``, and ``origin[s]`` the penalty of the path where its chain began.
    """
    left = np.empty(size, dtype=np.int64)
    for a in range(size):
        left[a] = support[a]
    rss = regress(gram, node, left, size, scratch)
    inverse, b = scratch[1], scratch[2, 0]
    while True:
        keep(left, size, rss, best, kept, origin, alpha)
        if size == 1:
            return
        weakest, least = 0, np.inf
        for a in range(size):
            worth = b[a] * b[a] / inverse[a, a]
            if worth < least:
                weakest, least = a, worth
        rss += least
        size -= 1
        _drop(inverse, b, left, weakest, size)


@inner
def keep(support, size, rss, best, kept, origin, alpha):
    """Remember a support if it is the best of its size."""
    if rss < best[size]:
        best[size] = rss
        origin[size] = alpha
        for a in range(size):
            kept[size, a] = support[a]


@inner
def regress(gram, node, support, size, scratch):
    """Least squares of ``node`` on a support: inverse and coefficients into ``scratch``, RSS/n returned."""
    factored, inverse, b = scratch[0], scratch[1], scratch[2, 0]
    for a in range(size):
        for c in range(size):
            factored[a, c] = gram[support[a], support[c]]
        factored[a, a] += RIDGE
    factor(factored, size)
    invert(factored, inverse, b, size)
    rss = 1.0 * gram[node, node]
    for a in range(size):
        b[a] = 0.0
        for c in range(size):
            b[a] += inverse[a, c] * gram[node, support[c]]
        rss -= b[a] * gram[node, support[a]]
    return rss


@inner
def _drop(inverse, b, left, out, last):
    """Take column ``out`` from the regression; the column in place ``last`` moves into its place."""
    pivot = inverse[out, out]
    for a in range(last + 1):
        if a != out:
            share = inverse[a, out] / pivot
            b[a] -= share * b[out]
            for c in range(last + 1):
                if c != out:
                    inverse[a, c] -= share * inverse[out, c]
    left[out], b[out] = left[last], b[last]
    for a in range(last + 1):
        inverse[a, out] = inverse[a, last]
    for a in range(last):
        inverse[out, a] = inverse[last, a]
    inverse[out, out] = inverse[last, last]
