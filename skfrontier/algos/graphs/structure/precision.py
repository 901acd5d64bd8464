"""Gaussian precision matrices with a given pattern of zeros."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph, linalg

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import as_numbers, check_count, check_finite, check_interval
from skfrontier.algos.graphs.structure.cholesky import factor, solve

_LEAST_EIGENVALUE = 1e-8
_SHIFTED_EIGENVALUE = 1e-6
_DENSE = 1500  # nodes up to which all eigenvalues are computed


@dataclass(frozen=True)
class ConstrainedPrecision:
    """Maximum likelihood under zeros.

    Attributes
    ----------
    precision : float64 array of shape (n_nodes, n_nodes)
        Exactly 0 at pairs that are no edges.
    covariance : float64 array of shape (n_nodes, n_nodes)
        Its inverse; equal to the sample covariance at edges and on the diagonal.
    n_iter : int
        Sweeps over the nodes.
    gap : float
        Largest change of the covariance in the last sweep.
    """

    precision: np.ndarray
    covariance: np.ndarray
    n_iter: int
    gap: float


def constrained_precision(
    cov: Any, adjacency: Any, *, tol: float = 1e-8, max_iter: int = 200
) -> ConstrainedPrecision:
    """Gaussian maximum likelihood when the graph is known.

    Parameters
    ----------
    cov : array-like of shape (n_nodes, n_nodes)
        Sample covariance, positive diagonal.
    adjacency : bool array-like or sparse matrix of shape (n_nodes, n_nodes)
        Symmetric; the diagonal is ignored.
    tol : float, default=1e-8
        Largest change of the covariance in the last sweep, relative to the variances.
    max_iter : int, default=200
        Most sweeps.

    Returns
    -------
    ConstrainedPrecision
        ``gap`` above ``tol`` tells that ``max_iter`` was too small.

    Raises
    ------
    ValueError, TypeError
        If a matrix is not square, symmetric and finite, or a variance is not positive.

    Notes
    -----
    Regresses each node on its neighbours under the current covariance, in turn. The fit exists where
    samples outnumber the largest clique. O(d^3 + n_nodes d) for a node of degree d in a sweep.

    References
    ----------
    T. Hastie, R. Tibshirani, J. Friedman, "The Elements of Statistical Learning", 2nd ed., algorithm 17.1.

    Examples
    --------
    >>> from skfrontier.algos import constrained_precision
    >>> cov = [[1.0, 0.5, 0.4], [0.5, 1.0, 0.5], [0.4, 0.5, 1.0]]
    >>> fit = constrained_precision(cov, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> fit.covariance[0, 2].round(6), fit.precision[0, 2]
    (np.float64(0.25), np.float64(0.0))
    """
    S = as_numbers(cov, "cov").astype(np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"cov must be square, got shape {S.shape}.")
    check_finite(S, "cov")
    scale = np.sqrt(np.abs(np.diagonal(S)))
    if (np.diagonal(S) <= 0).any():
        raise ValueError("cov must have a positive diagonal.")
    if not np.allclose(S, S.T, rtol=1e-8, atol=1e-10 * float(scale.max(initial=0.0)) ** 2):
        raise ValueError("cov must be symmetric.")
    graph = check_adjacency(adjacency, len(S))
    tol = check_interval(tol, "tol", 0.0, np.inf, closed="neither")
    sweeps = check_count(max_iter, "max_iter")
    correlation = S / np.outer(scale, scale)
    W, precision = correlation.copy(), np.zeros_like(correlation)
    used, gap = _fit(correlation, graph.indptr, graph.indices, tol, sweeps, W, precision)
    return ConstrainedPrecision(
        precision / np.outer(scale, scale), W * np.outer(scale, scale), int(used), float(gap)
    )


def check_adjacency(adjacency: Any, n_nodes: int) -> sparse.csr_array:
    """Return a symmetric pattern without loops as CSR with int64 indices.

    Raises
    ------
    ValueError
        If it has another shape or is not symmetric.
    """
    if not sparse.issparse(adjacency):
        adjacency = as_numbers(adjacency, "adjacency")
    if adjacency.shape != (n_nodes, n_nodes):
        raise ValueError(f"adjacency must have shape {(n_nodes, n_nodes)}, got {adjacency.shape}.")
    graph = sparse.csr_array(adjacency != 0)
    graph.setdiag(False)
    graph.eliminate_zeros()
    if (graph != graph.T).nnz:
        raise ValueError("adjacency must be symmetric.")
    graph.sort_indices()
    graph.indptr, graph.indices = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    return graph


@njit
def _fit(S, indptr, indices, tol, max_iter, W, precision):
    """Turn ``W``, a copy of ``S``, into the covariance, and fill in the precision; unit diagonal."""
    p = S.shape[0]
    degree = 1
    for j in range(p):
        degree = max(degree, indptr[j + 1] - indptr[j])
    block = np.empty((degree, degree))
    b = np.empty(degree)
    used, gap = 0, np.inf
    while used < max_iter and gap > tol:
        gap = 0.0
        for j in range(p):
            neighbours = indices[indptr[j] : indptr[j + 1]]
            _regress_on(W, S, j, neighbours, block, b)
            for k in range(p):
                if k != j:
                    new = 0.0
                    for a in range(neighbours.size):
                        new += W[neighbours[a], k] * b[a]
                    gap = max(gap, abs(new - W[j, k]))
                    W[j, k] = new
            for k in range(p):
                W[k, j] = W[j, k]
        used += 1
    for j in range(p):
        neighbours = indices[indptr[j] : indptr[j + 1]]
        _regress_on(W, S, j, neighbours, block, b)
        variance = W[j, j]
        for a in range(neighbours.size):
            variance -= W[j, neighbours[a]] * b[a]
        precision[j, j] = 1.0 / variance
        for a in range(neighbours.size):
            precision[j, neighbours[a]] -= 0.5 * b[a] / variance
            precision[neighbours[a], j] -= 0.5 * b[a] / variance
    return used, gap


@inner
def _regress_on(W, S, j, neighbours, block, b):
    """Coefficients of ``j`` on its neighbours under covariance ``W`` into ``b``."""
    size = neighbours.size
    for a in range(size):
        b[a] = S[neighbours[a], j]
        for c in range(size):
            block[a, c] = W[neighbours[a], neighbours[c]]
    factor(block, size)
    solve(block, b, size)


def nodewise_precision(coefficients: sparse.csr_array, variances: np.ndarray) -> sparse.csr_array:
    """Precision put together from regressions ``x_j = sum_i coefficients[j, i] x_i + e_j``.

    Off the diagonal the two estimates are averaged. If the result is not positive definite, the least shift
    of the diagonal that makes it so is added.
    """
    scaled = sparse.diags_array(1.0 / variances) @ coefficients
    theta = sparse.csr_array(sparse.diags_array(1.0 / variances) - (scaled + scaled.T) * 0.5)
    least = _least_eigenvalue(theta)
    if least <= _LEAST_EIGENVALUE:
        theta = sparse.csr_array(
            theta + (_SHIFTED_EIGENVALUE - least) * sparse.eye_array(theta.shape[0])
        )
    return theta


def _least_eigenvalue(theta: sparse.csr_array) -> float:
    """Over the components: all eigenvalues of small ones, Lanczos for large ones."""
    count, label = csgraph.connected_components(theta, directed=False)
    least = np.inf
    for members in components(count, label):
        if members.size == 1:
            value = theta[int(members[0]), int(members[0])]
        elif members.size <= _DENSE:
            block = theta[members][:, members].toarray()
            value = np.linalg.eigvalsh(block)[0]
        else:
            block = theta[members][:, members]
            value = linalg.eigsh(block, k=1, which="SA", return_eigenvectors=False, tol=1e-6)[0]
        least = min(least, float(value))
    return least


def components(count: int, label: np.ndarray) -> list[np.ndarray]:
    """Members of each component."""
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])
