"""Pairs of coordinates: swaps, double flips and flips at once."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import as_numbers, check_count, check_finite, check_interval
from skfrontier.algos.statistics.truncated_boolean.fibre_cells import (
    Penalty,
    cell_hessian,
    cells_of_pairs,
    minimise_cells,
)
from skfrontier.algos.statistics.truncated_boolean.sets.base import check_subsets


class PairFit(NamedTuple):
    """Minimiser, Hessian and number of steps of `pair_conditional_fit`."""

    z: np.ndarray
    H: Any
    n_iter: int


def pair_conditional_fit(
    K: Any,
    pairs: Any,
    n_features: int,
    *,
    smoothing: float = 0.5,
    l2: float = 0.0,
    max_iter: int = 500,
    tol: float = 1e-8,
) -> PairFit:
    """Logits from counts of pairs, by maximum conditional likelihood.

    Parameters
    ----------
    K : array-like of shape (n_pairs, 16, 4)
        ``pair_counts`` of a truncation set.
    pairs : array-like of shape (n_pairs, 2)
        The pairs.
    n_features : int
        Number of coordinates.
    smoothing : float, default=0.5
        Pseudo-flips added to every coordinate; with 0 the minimiser may be at infinity.
    l2 : float, default=0.0
        Ridge penalty ``l2 / 2 |z|^2``.
    max_iter : int, default=500
        Most Newton steps.
    tol : float, default=1e-8
        Largest gradient, per unit of weight, at which to stop.

    Returns
    -------
    z : ndarray of shape (n_features,)
        The minimiser, without its components along the null space (`move_null_space`).
    H : ndarray or CSR array of shape (n_features, n_features)
        Hessian of the summed loss with the curvature of the penalties; sparse beyond 2048 features.
    n_iter : int
        Number of steps.

    Raises
    ------
    ValueError
        If shapes do not fit or an entry is negative or not finite.

    Notes
    -----
    A composite likelihood whose score has mean zero at the truth for every set. Standard errors need the
    variance of the rows' scores as well: H alone counts a flip once per partner.

    References
    ----------
    .. [1] Varin, Reid, Firth, "An overview of composite likelihood methods", Statistica Sinica 2011.

    Examples
    --------
    On rows with exactly one 1 only swaps are open, and differences of logits are seen:

    >>> import numpy as np
    >>> from skfrontier.algos import Cardinality, pair_conditional_fit
    >>> X, weights = np.eye(3, dtype=int), [10, 20, 40]
    >>> pairs = [[0, 1], [1, 2], [0, 2]]
    >>> K = Cardinality([1]).pair_counts(X, pairs, weights)
    >>> z, H, n_iter = pair_conditional_fit(K, pairs, 3, smoothing=1e-9)
    >>> np.exp(z - z[0]).round(4)
    array([1., 2., 4.])
    """
    K, pairs, n = _checked_counts(K, pairs, n_features)
    smoothing = check_interval(smoothing, "smoothing", 0.0, np.inf, closed="left")
    penalty = Penalty(smoothing, check_interval(l2, "l2", 0.0, np.inf, closed="left"))
    cells = cells_of_pairs(K, pairs).informative()
    z, steps = minimise_cells(
        cells,
        np.zeros(n),
        penalty,
        max_iter=check_count(max_iter, "max_iter"),
        tol=check_interval(tol, "tol", 0.0, np.inf, closed="neither"),
    )
    Q = move_null_space(K, pairs, n)
    z = z - Q @ (Q.T @ z)
    return PairFit(z, add_diagonal(cell_hessian(cells, z), penalty.curvature(z)), steps)


def move_null_space(K: Any, pairs: Any, n_features: int) -> np.ndarray:
    """Directions that the observed moves of pairs leave unidentified.

    Parameters
    ----------
    K : array-like of shape (n_pairs, 16, 4)
        ``pair_counts`` of a truncation set.
    pairs : array-like of shape (n_pairs, 2)
        The pairs.
    n_features : int
        Number of coordinates.

    Returns
    -------
    ndarray of shape (n_features, q)
        Orthonormal columns with equal absolute entries on their supports.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Notes
    -----
    A flip identifies its coordinate, a swap the difference and a double flip the sum of two. Coordinates
    are united with signs, and a component with a flip or a cycle of contradicting signs is identified:
    the rank of a signed graph (Zaslavsky 1982), in nearly linear time.

    References
    ----------
    .. [1] Zaslavsky, "Signed graphs", Discrete Applied Mathematics 1982.

    Examples
    --------
    >>> from skfrontier.algos import Cardinality, move_null_space
    >>> pairs = [[0, 1], [1, 2]]
    >>> K = Cardinality([1]).pair_counts([[1, 0, 0], [0, 0, 1]], pairs)
    >>> move_null_space(K, pairs, 3).round(3).T
    array([[0.577, 0.577, 0.577]])
    """
    K, pairs, n = _checked_counts(K, pairs, n_features)
    e, masks = np.nonzero(K.sum(axis=2))
    parent, sign, full = _signed_components(pairs[e], masks.astype(np.int64), n)
    roots = np.flatnonzero((parent == np.arange(n)) & ~full)
    Q = np.zeros((n, len(roots)))
    for column, root in enumerate(roots):
        members = parent == root
        Q[members, column] = sign[members] / np.sqrt(members.sum())
    return Q


def interacting(K: np.ndarray) -> np.ndarray:
    """Which pairs say more than flips: some observed mask of allowed corners is no product."""
    product = np.zeros(16, bool)
    for first in range(4):
        for second in range(4):
            mask = sum(1 << c for c in range(4) if first >> (c & 1) & 1 and second >> (c >> 1) & 1)
            product[mask] = True
    return (K.sum(axis=2)[:, ~product] > 0).any(axis=1)


def add_diagonal(H: Any, diagonal: np.ndarray) -> Any:
    """``H + diag(diagonal)``, sparse where ``H`` is."""
    if isinstance(H, np.ndarray):
        return H + np.diag(diagonal)
    return (H + sparse.diags_array(diagonal)).tocsr()


def _checked_counts(K: Any, pairs: Any, n_features: Any) -> tuple[np.ndarray, np.ndarray, int]:
    n = check_count(n_features, "n_features")
    counts = as_numbers(K, "K").astype(np.float64)
    pairs = check_subsets(np.asarray(pairs).reshape(-1, 2), n, size=2)
    if counts.shape != (len(pairs), 16, 4):
        raise ValueError(f"K must have shape ({len(pairs)}, 16, 4), got {counts.shape}.")
    check_finite(counts, "K")
    if (counts < 0).any():
        raise ValueError("K must not hold negative counts.")
    return counts, pairs, n


@inner
def _root(parent, sign, i):
    """Root of ``i`` and its sign relative to it, paths compressed."""
    root = i
    s = 1
    while parent[root] != root:
        s *= sign[root]
        root = parent[root]
    total = s
    while parent[i] != i:
        following = parent[i]
        old = sign[i]
        parent[i] = root
        sign[i] = s
        s *= old
        i = following
    return root, total


@inner
def _unite(parent, sign, full, i, j, relation):
    """Record v_i = relation * v_j."""
    a, s = _root(parent, sign, i)
    b, r = _root(parent, sign, j)
    if a == b:
        if s * r != relation:
            full[a] = True
        return
    parent[a] = b
    sign[a] = s * r * relation
    full[b] |= full[a]


@njit
def _signed_components(pairs, masks, n):
    parent = np.arange(n)
    sign = np.ones(n, np.int64)
    full = np.zeros(n, np.bool_)
    for e in range(pairs.shape[0]):
        i, j, mask = pairs[e, 0], pairs[e, 1], masks[e]
        if mask & 3 == 3 or mask & 12 == 12:  # corners that differ in i alone
            full[_root(parent, sign, i)[0]] = True
        if mask & 5 == 5 or mask & 10 == 10:
            full[_root(parent, sign, j)[0]] = True
        if mask & 6 == 6:
            _unite(parent, sign, full, i, j, 1)
        if mask & 9 == 9:
            _unite(parent, sign, full, i, j, -1)
    for i in range(n):
        _root(parent, sign, i)
    return parent, sign, full
