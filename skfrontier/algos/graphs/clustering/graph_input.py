"""Graphs and edge lists as users bring them, checked and brought into one form."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._validation import check_count

_ASYMMETRY = 1e-10
# Products of two volumes must neither overflow nor vanish.
_SMALLEST, _LARGEST = 1e-100, 1e100
MAX_VERTICES = 2**31 - 2


@dataclass(frozen=True, eq=False)
class EdgeList:
    """An undirected graph as a list of edges.

    Parameters
    ----------
    edges : int array-like of shape (n_edges, 2)
        Ends of each edge. Repeated edges add up, self-loops are dropped with a warning.
    weights : array-like of shape (n_edges,) or None, default=None
        Positive weights; None: 1 each.
    n_vertices : int or None, default=None
        Number of vertices; None: the largest end plus one.

    Examples
    --------
    >>> from skfrontier.algos import EdgeList
    >>> EdgeList([(0, 1), (1, 2)], n_vertices=4).matrix().shape
    (4, 4)
    """

    edges: Any
    weights: Any = None
    n_vertices: int | None = None

    def matrix(self) -> sparse.csr_matrix:
        """The adjacency matrix.

        Returns
        -------
        csr matrix of shape (n_vertices, n_vertices)

        Raises
        ------
        ValueError, TypeError
            As `check_edges`.
        """
        edges, weights = check_edges(self.edges, self.weights)
        n = vertex_count(edges, self.n_vertices)
        u, v = edges.T
        both = np.concatenate([u, v]), np.concatenate([v, u])
        A = sparse.coo_matrix((np.concatenate([weights, weights]), both), shape=(n, n))
        return canonical(A.tocsr())


@dataclass(frozen=True, eq=False)
class AdjacencyMatrix:
    """A graph as a matrix that was called ``name`` by whoever brought it."""

    A: Any
    name: str = "A"

    def matrix(self) -> sparse.csr_matrix:
        """The matrix, checked by `check_adjacency`."""
        return check_adjacency(self.A, self.name)


def check_edges(edges: Any, weights: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return edges as int64 (m, 2) and weights as float64 (m,), without self-loops.

    Raises
    ------
    TypeError
        If the ends are not whole numbers.
    ValueError
        If shapes are wrong, an end is negative or too large, or a weight is not positive and finite.
    """
    array = np.asarray(edges)
    if array.size == 0 and array.ndim <= 2:
        array = np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"edges must have shape (n_edges, 2), got {array.shape}.")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all() or (array != np.floor(array)).any():
            raise TypeError("edges must hold whole numbers, the ids of vertices.")
    elif array.dtype.kind not in "iu":
        raise TypeError(f"edges must hold integers, got dtype {array.dtype}.")
    if array.size and (array.min() < 0 or array.max() > MAX_VERTICES):
        raise ValueError(
            f"edges must hold ids in 0..{MAX_VERTICES}, got {array.min()}..{array.max()}."
        )
    ids = array.astype(np.int64, copy=False)
    if weights is None:
        strengths = np.ones(len(ids))
    else:
        strengths = check_weights(weights, len(ids))
    loops = ids[:, 0] == ids[:, 1]
    if loops.any():
        warnings.warn(
            f"{int(loops.sum())} self-loop(s) are dropped: they bind a vertex to no cluster.",
            UserWarning,
            stacklevel=3,
        )
        ids, strengths = ids[~loops], strengths[~loops]
    return ids, strengths


def check_weights(weights: Any, n_edges: int) -> np.ndarray:
    """Return weights as float64 of shape (n_edges,), all positive and finite."""
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("weights must be real numbers.") from None
    if array.shape != (n_edges,):
        raise ValueError(
            f"weights must have shape ({n_edges},), one for each edge; got {array.shape}."
        )
    if not np.isfinite(array).all() or (array <= 0).any():
        raise ValueError("weights must be positive and finite.")
    _check_magnitude(array, "weights")
    return array


def _check_magnitude(weights: np.ndarray, name: str) -> None:
    """Refuse positive weights whose products leave the range of float64."""
    if weights.size and (weights.min() < _SMALLEST or weights.max() > _LARGEST):
        raise ValueError(
            f"{name} must have weights in {_SMALLEST:g}..{_LARGEST:g}, got {weights.min():g}.."
            f"{weights.max():g}; only their ratios matter, so scale them."
        )


def vertex_count(edges: np.ndarray, n_vertices: Any = None) -> int:
    """Number of vertices of an edge list, not below what is given."""
    least = int(edges.max(initial=-1)) + 1
    if n_vertices is None:
        return least
    count = check_count(n_vertices, "n_vertices", 0, MAX_VERTICES)
    if count < least:
        raise ValueError(f"n_vertices={count} is too small: edges has the vertex {least - 1}.")
    return count


def check_adjacency(A: Any, name: str, *, keep_diagonal: bool = False) -> sparse.csr_matrix:
    """Return an adjacency matrix as a new csr matrix of float64 with int32 indices.

    Raises
    ------
    ValueError
        If it is not square, symmetric (to 1e-10 of the largest entry), finite and non-negative.
    """
    if not sparse.issparse(A):
        A = np.asarray(A)
        if A.ndim != 2 or A.dtype.kind not in "biuf":
            raise ValueError(f"{name} must be a 2-D array of numbers, got {A.dtype}, {A.shape}.")
    if A.shape[0] != A.shape[1]:
        raise ValueError(
            f"{name} must be a square adjacency matrix, got shape {A.shape}; for features use "
            "DynamicKNNSpectralClustering."
        )
    matrix = sparse.csr_matrix(A, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{name} must be finite.")
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(
            f"Negative values in data: {name} must have none, got {matrix.data.min()}."
        )
    _check_magnitude(matrix.data[matrix.data > 0], name)
    difference = matrix - matrix.T
    if difference.nnz and abs(difference.data).max() > _ASYMMETRY * matrix.data.max():
        raise ValueError(
            f"{name} must be symmetric: the graph is undirected. Use {name} + {name}.T to forget "
            "directions."
        )
    if difference.nnz and abs(difference.data).max() > 0:
        matrix = (matrix + matrix.T) * 0.5
    return canonical(matrix, keep_diagonal=keep_diagonal)


def canonical(matrix: sparse.csr_matrix, *, keep_diagonal: bool = False) -> sparse.csr_matrix:
    """Sorted, without zeros and (unless it is kept) diagonal; int32 indices."""
    if not keep_diagonal and matrix.diagonal().any():
        matrix.setdiag(0)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.indices = matrix.indices.astype(np.int32, copy=False)
    return matrix
