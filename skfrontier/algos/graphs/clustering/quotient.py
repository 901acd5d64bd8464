"""Quotients of a graph by a partition, and what is read from them."""

from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._numba import njit
from skfrontier.algos.graphs.clustering.graph_input import check_adjacency


def quotient(A: Any, labels: Any) -> sparse.csr_matrix:
    """Contract each block of a partition to one node.

    Parameters
    ----------
    A : sparse matrix or array of shape (n, n)
        Symmetric, non-negative. A diagonal is kept: the quotient of a quotient is one.
    labels : int array-like of shape (n,)
        Block of each vertex, ``0 .. n_blocks - 1``; vertices with label -1 are left out.

    Returns
    -------
    csr matrix of shape (n_blocks, n_blocks)
        Entry (a, b) is the weight between the blocks, entry (a, a) twice the weight inside, so that
        row sums are the volumes of the blocks.

    Raises
    ------
    ValueError
        If ``A`` is not square, symmetric and non-negative, or the labels do not fit.

    Notes
    -----
    Proven (elementary): cut, volume and conductance of a union of blocks are those of the graph; the
    eigenvalues of the quotient's normalised Laplacian are at least those of the graph, one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import quotient
    >>> path = np.diag([1.0, 1, 1], 1)
    >>> quotient(path + path.T, [0, 0, 1, 1]).toarray()
    array([[2., 1.],
           [1., 2.]])
    """
    A = check_adjacency(A, "A", keep_diagonal=True)
    labels = np.asarray(labels)
    if labels.shape != (A.shape[0],) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be integers of shape ({A.shape[0]},), got {labels.dtype} of shape "
            f"{labels.shape}."
        )
    if labels.size and labels.min() < -1:
        raise ValueError(f"labels must be -1 or more, got {labels.min()}.")
    kept = np.flatnonzero(labels >= 0)
    n_blocks = int(labels.max(initial=-1)) + 1
    P = sparse.csr_matrix(
        (np.ones(len(kept)), (kept, labels[kept])), shape=(A.shape[0], n_blocks)
    )  # fmt: skip
    return sparse.csr_matrix(P.T @ A @ P)


@njit
def block_weights(indptr, indices, data, labels, n_labels):
    """The quotient as a dense array."""
    B = np.zeros((n_labels, n_labels))
    for a in range(indptr.shape[0] - 1):
        if labels[a] >= 0:
            for i in range(indptr[a], indptr[a + 1]):
                if labels[indices[i]] >= 0:
                    B[labels[a], labels[indices[i]]] += data[i]
    return B


def conductances(B: np.ndarray) -> np.ndarray:
    """Cut over volume of each block, of a dense quotient; NaN where the volume is 0."""
    volume = B.sum(axis=1)
    known = volume > 0
    share = np.full(len(B), np.nan)
    share[known] = np.clip(1 - np.diag(B)[known] / volume[known], 0, 1)
    return share


def block_log_affinity(B: Any, mean_weight: float = 1.0) -> np.ndarray:
    """How much likelier an edge between two blocks is than by degrees alone, as a logarithm.

    Parameters
    ----------
    B : array-like of shape (k, k)
        Weights between blocks, the diagonal doubled (see `quotient`).
    mean_weight : float, default=1.0
        Weight of a typical edge: what stands in for pairs of blocks with less between them.

    Returns
    -------
    ndarray of shape (k, k)
        ``ln(max(B_rs, mean_weight) * M / (V_r V_s))`` with volumes V and total volume M; 0 where a
        block has no volume.

    Raises
    ------
    ValueError
        If ``B`` is not square or has negative or non-finite entries.

    Notes
    -----
    With it, ``sum_s w(x, s) * affinity[r, s]`` is what vertex x adds to the log likelihood of the
    degree-corrected block model with label r, up to a term that is the same for all r.

    References
    ----------
    B. Karrer, M. Newman, "Stochastic blockmodels and community structure in networks", Physical
    Review E 83 (2011) 016107.

    Examples
    --------
    >>> from skfrontier.algos import block_log_affinity
    >>> block_log_affinity([[8.0, 2.0], [2.0, 8.0]]).round(2)
    array([[ 0.47, -0.92],
           [-0.92,  0.47]])
    """
    B = np.asarray(B, np.float64)
    if B.ndim != 2 or B.shape[0] != B.shape[1]:
        raise ValueError(f"B must be square, got shape {B.shape}.")
    if not np.isfinite(B).all() or (B < 0).any():
        raise ValueError("B must be non-negative and finite.")
    volume = B.sum(axis=1)
    expected = np.outer(volume, volume)
    affinity = np.zeros_like(B)
    known = expected > 0
    affinity[known] = np.log(np.maximum(B, mean_weight)[known] * volume.sum() / expected[known])
    return affinity
