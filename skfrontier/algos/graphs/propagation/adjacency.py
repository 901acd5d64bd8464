"""Signed adjacency matrices: reading, the check of symmetry, Laplacian, balance."""

from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._numba import njit
from skfrontier.algos._validation import as_numbers, check_choice, check_finite

_SYMMETRY_TOLERANCE = 1e-10  # of the largest absolute entry
_LARGEST_GRAPH = 2**30  # states of the lift are int32


def read_adjacency(adjacency: Any, *, symmetric: bool = True) -> sparse.csr_array:
    """Return a square adjacency as float64 CSR with sorted indices and no duplicates.

    A matrix that already is one is not copied.

    Parameters
    ----------
    adjacency : sparse matrix, array-like or networkx graph of shape (n, n)
        Of a networkx graph, node ``i`` is the i-th in its order and the edge attribute ``weight``
        (1 where there is none) is the weight. Duplicates of a COO matrix are summed.
    symmetric : bool, default=True
        Whether to refuse an asymmetric matrix.

    Raises
    ------
    ValueError
        If the matrix is not square, real, finite or symmetric.
    """
    matrix = as_csr(adjacency)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"adjacency must be square, got shape {matrix.shape}.")
    if matrix.shape[0] >= _LARGEST_GRAPH:
        raise ValueError(f"adjacency must have fewer than 2**30 nodes, got {matrix.shape[0]}.")
    with np.errstate(over="ignore", invalid="ignore"):
        total = matrix.data.sum()  # finite, nearly always: one pass without a temporary
    if not np.isfinite(total) and not np.isfinite(matrix.data).all():
        entry = int(np.flatnonzero(~np.isfinite(matrix.data))[0])
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        raise ValueError(
            f"adjacency must be finite, got {matrix.data[entry]} at "
            f"adjacency[{row}, {matrix.indices[entry]}]."
        )
    return _checked_symmetric(matrix) if symmetric else matrix


def as_csr(adjacency: Any, name: str = "adjacency") -> sparse.csr_array:
    """Return a matrix or networkx graph as float64 CSR without duplicates; the caller's is not changed."""
    if hasattr(adjacency, "nodes") and hasattr(adjacency, "adj"):
        import networkx

        adjacency = networkx.to_scipy_sparse_array(adjacency, dtype=np.float64, format="csr")
    if not sparse.issparse(adjacency):
        dense = np.asarray(as_numbers(adjacency, name))
        _check_real(dense.dtype, name)
        if dense.ndim != 2:
            raise ValueError(f"{name} must be 2-D, got {dense.ndim}-D of shape {dense.shape}.")
        check_finite(dense, name)
        return sparse.csr_array(dense.astype(np.float64, copy=False))
    _check_real(adjacency.dtype, name)
    if adjacency.ndim != 2:
        raise ValueError(f"{name} must be 2-D, got shape {adjacency.shape}.")
    if adjacency.dtype != np.float64:
        adjacency = adjacency.astype(np.float64)  # before duplicates are summed: int8 would wrap
    matrix = sparse.csr_array(adjacency)  # a CSR shares its arrays
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # the caller's matrix stays as it is
        matrix.sum_duplicates()
    return matrix


def _check_real(dtype: np.dtype, name: str) -> None:
    if dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {dtype}.")


def _checked_symmetric(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix, or its symmetric part where only entries near zero have no partner."""
    if not matrix.nnz:
        return matrix
    tolerance = _SYMMETRY_TOLERANCE * max(matrix.data.max(), -matrix.data.min())
    entry = _first_asymmetric(
        matrix.indptr.astype(np.int64, copy=False), matrix.indices, matrix.data, tolerance
    )
    if entry < 0:
        return matrix
    difference = abs(matrix - matrix.T)
    if difference.max() > tolerance:
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        column = int(matrix.indices[entry])
        raise ValueError(
            f"adjacency must be symmetric, got {matrix[row, column]} at [{row}, {column}] and "
            f"{matrix[column, row]} at [{column}, {row}]; use symmetrize_signed(A, rule=...)."
        )
    return sparse.csr_array((matrix + matrix.T) / 2)


@njit
def _first_asymmetric(indptr, indices, data, tolerance):
    """Return the first entry that does not meet its mirror image, or -1.

    Rows are walked upwards, so the mirror images of row ``v`` come in the order of its columns: one
    cursor per row finds them without a transpose.
    """
    n = indptr.size - 1
    cursor = indptr[:-1].copy()
    for u in range(n):
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            c = cursor[v]
            if c >= indptr[v + 1] or indices[c] != u or abs(data[c] - data[e]) > tolerance:
                return e
            cursor[v] = c + 1
    return -1


def symmetrize_signed(A: Any, rule: str = "sum") -> sparse.csr_array:
    """Make an undirected signed graph of a directed one.

    Parameters
    ----------
    A : sparse matrix, array-like or networkx graph of shape (n, n)
        Real weights of either sign.
    rule : {"sum", "mean", "sign"}, default="sum"
        ``A + A.T``, half of it, or its sign. Edges whose sum is zero are dropped.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, float64, without a diagonal.

    Raises
    ------
    ValueError
        If ``A`` is not a real finite square matrix, or the rule is unknown.

    Examples
    --------
    >>> from skfrontier.algos import symmetrize_signed
    >>> symmetrize_signed([[0, 1, -2], [1, 0, 0], [2, -1, 0]]).toarray()
    array([[ 0.,  2.,  0.],
           [ 2.,  0., -1.],
           [ 0., -1.,  0.]])
    """
    rule = check_choice(rule, "rule", ("sum", "mean", "sign"))
    matrix = read_adjacency(A, symmetric=False)
    total = sparse.csr_array(matrix + matrix.T)
    total.setdiag(0.0)
    total.eliminate_zeros()
    if rule == "mean":
        total.data /= 2
    elif rule == "sign":
        total.data = np.sign(total.data)
    return total


def signed_laplacian(A: Any) -> sparse.csr_array:
    """Signed Laplacian ``D - A``, where ``D`` sums absolute weights.

    Parameters
    ----------
    A : sparse matrix, array-like or networkx graph of shape (n, n)
        Symmetric; the diagonal is ignored.

    Returns
    -------
    csr_array of shape (n, n)
        Positive semidefinite; singular where a connected component is balanced.

    Raises
    ------
    ValueError
        If ``A`` is not a real finite symmetric matrix.

    References
    ----------
    J. Kunegis, S. Schmidt, A. Lommatzsch, J. Lerner, E. W. De Luca, S. Albayrak, "Spectral analysis
    of signed graphs for clustering, prediction and visualization", SDM 2010.

    Examples
    --------
    >>> from skfrontier.algos import signed_laplacian
    >>> signed_laplacian([[0, 1, -2], [1, 0, 0], [-2, 0, 0]]).toarray()
    array([[ 3., -1.,  2.],
           [-1.,  1.,  0.],
           [ 2.,  0.,  2.]])
    """
    matrix = read_adjacency(A)
    off_diagonal = matrix - sparse.diags_array(matrix.diagonal())
    degrees = np.asarray(abs(off_diagonal).sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degrees) - off_diagonal)


def is_balanced(A: Any) -> tuple[bool, np.ndarray]:
    """Whether the nodes split into two camps with positive edges inside and negative ones across.

    Parameters
    ----------
    A : sparse matrix, array-like or networkx graph of shape (n, n)
        Symmetric; the diagonal is ignored.

    Returns
    -------
    balanced : bool
        True iff every cycle has a positive product of signs.
    gauge : int8 array of shape (n,)
        The camps, +1 and -1, along a breadth-first tree; the first node of a component has +1. If
        ``balanced``, every edge has the sign ``gauge[u] * gauge[v]``.

    Raises
    ------
    ValueError
        If ``A`` is not a real finite symmetric matrix.

    Examples
    --------
    >>> from skfrontier.algos import is_balanced
    >>> is_balanced([[0, -1, 1], [-1, 0, -1], [1, -1, 0]])
    (True, array([ 1, -1,  1], dtype=int8))
    """
    matrix = read_adjacency(A)
    blocked = np.zeros(matrix.shape[0], dtype=np.bool_)
    _, gauge, balanced, _ = signed_components(
        matrix.indptr.astype(np.int64, copy=False), matrix.indices, matrix.data, blocked, blocked
    )
    return bool(balanced.all()), gauge


@njit
def signed_components(indptr, indices, data, blocked, anchored):
    """Components of the graph without the blocked nodes, their camps, and what they touch.

    Neighbours are visited in the order of their index, whatever their sign, so that flipping the signs
    around a node only flips camps.

    Returns
    -------
    component : int32 array, -1 at blocked nodes
    gauge : int8 array of +1 and -1; +1 at blocked nodes
    balanced : bool array over components
    grounded : bool array over components; whether it touches a blocked or has an anchored node
    """
    n = blocked.size
    component = np.full(n, -1, dtype=np.int32)
    gauge = np.ones(n, dtype=np.int8)
    balanced = np.ones(n, dtype=np.bool_)
    grounded = np.zeros(n, dtype=np.bool_)
    queue = np.empty(n, dtype=np.int32)
    n_components = 0
    for start in range(n):
        if blocked[start] or component[start] >= 0:
            continue
        c = n_components
        n_components += 1
        component[start] = c
        queue[0] = start
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            if anchored[u]:
                grounded[c] = True
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                if v == u or data[e] == 0.0:
                    continue
                if blocked[v]:
                    grounded[c] = True
                    continue
                camp = gauge[u] if data[e] > 0 else -gauge[u]
                if component[v] < 0:
                    component[v] = c
                    gauge[v] = camp
                    queue[tail] = v
                    tail += 1
                elif gauge[v] != camp:
                    balanced[c] = False
    return component, gauge, balanced[:n_components].copy(), grounded[:n_components].copy()
