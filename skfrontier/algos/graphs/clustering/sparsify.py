"""Sampling a dense graph down to a few edges per vertex without losing its clusters."""

from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._numba import njit
from skfrontier.algos._validation import check_count, check_interval
from skfrontier.algos.graphs.clustering.graph_input import check_adjacency


def sz_sparsify(A: Any, tau: float = 3.0, seed: int = 0) -> sparse.csr_matrix:
    """Keep about ``tau n ln n`` edges of a graph, drawn so that its clusters survive.

    Each end u of an edge asks for it with probability ``min(1, tau ln(n) w / d_u)``; an edge that is
    asked for with probability p in all has weight ``w / p`` if it is kept, so that the expected matrix
    is ``A``.

    Parameters
    ----------
    A : sparse matrix or array of shape (n, n)
        Symmetric, non-negative; the diagonal is dropped.
    tau : float, default=3.0
        How many edges are kept.
    seed : int, default=0
        The coin of an edge is a hash of its ends and the seed: the same edge has the same coin in
        every call.

    Returns
    -------
    csr matrix of shape (n, n)

    Raises
    ------
    ValueError
        If ``A`` is no adjacency matrix or ``tau`` is not positive.

    Notes
    -----
    Proven (Sun & Zanetti): with ``tau = C / lambda_{k+1}`` for a constant C, conductances of the
    clusters and the gap behind lambda_{k+1} are kept up to constants, with high probability. The
    default 3 is observed to do.

    References
    ----------
    H. Sun, L. Zanetti, "Distributed graph clustering and sparsification", ACM Transactions on
    Parallel Computing 2019, arXiv:1711.01262.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import sz_sparsify
    >>> A = np.ones((500, 500)) - np.eye(500)
    >>> sz_sparsify(A, tau=1.0).nnz < A.size / 20
    True
    """
    A = check_adjacency(A, "A")
    tau = check_interval(tau, "tau", 0, np.inf, closed="neither")
    seed = check_count(seed, "seed", 0, 2**62)
    return sparsify(A, tau, seed)


def sparsify(A: sparse.csr_matrix, tau: float, seed: int) -> sparse.csr_matrix:
    """`sz_sparsify` of a checked matrix."""
    n = A.shape[0]
    degree = np.asarray(A.sum(axis=1)).ravel()
    rate = tau * np.log(max(n, 2))
    probability = np.empty(A.nnz)
    _keep_probability(A.indptr, A.indices, A.data, degree, rate, seed, probability)
    data = np.zeros_like(A.data)
    np.divide(A.data, probability, out=data, where=probability > 0)
    kept = sparse.csr_matrix((data, A.indices, A.indptr), shape=A.shape, copy=True)
    kept.eliminate_zeros()
    return kept


@njit
def _keep_probability(indptr, indices, data, degree, rate, seed, out):
    """Probability of each entry that is kept, 0 for the others."""
    for u in range(indptr.shape[0] - 1):
        for i in range(indptr[u], indptr[u + 1]):
            v = indices[i]
            p = min(1.0, rate * data[i] / degree[u])
            q = min(1.0, rate * data[i] / degree[v])
            both = p + q - p * q
            out[i] = both if _coin(min(u, v), max(u, v), seed) < both else 0.0


@njit
def _coin(u, v, seed):
    z = (np.uint64(u) << np.uint64(32)) | np.uint64(v)
    z ^= (np.uint64(seed) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
