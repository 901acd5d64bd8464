"""Products with the signed adjacency of the unlabelled nodes, and Jacobi sweeps made of them."""

import numpy as np
from scipy import sparse

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph


def smooth_in_place(
    graph: GroundedSignedGraph, columns: np.ndarray, values: np.ndarray, n_sweeps: int
) -> None:
    """Replace each row ``z`` of ``values`` by ``n_sweeps`` sweeps ``z <- (b + S z) / d``.

    What is left of an error after a sweep is its product with ``S / d``, so that an unbiased estimate
    stays unbiased and ``max |z| <= max |y|`` is kept.
    """
    if n_sweeps == 0:
        return
    other = np.empty_like(values[0])
    for b, z in zip(columns, values, strict=True):
        for _ in range(n_sweeps):
            jacobi_sweep(
                graph.indptr, graph.code, graph.weight, graph.unit, graph.degree, b, z, other
            )
            z[:] = other


@njit
def jacobi_sweep(indptr, code, weight, unit, degree, b, z, out):
    """Write ``(b + S z) / d``."""
    for u in range(degree.size):
        out[u] = (b[u] + _row_product(indptr, code, weight, unit, z, u)) / degree[u]


@njit
def laplacian_product(indptr, code, weight, unit, degree, z, out):
    """Write ``L_UU z``."""
    for u in range(degree.size):
        out[u] = degree[u] * z[u] - _row_product(indptr, code, weight, unit, z, u)


@inner
def _row_product(indptr, code, weight, unit, z, u):
    total = 0.0
    if unit > 0.0:
        for i in range(indptr[u], indptr[u + 1]):
            c = code[i]
            if c >= 0:
                total += z[c >> 1] if c & 1 == 0 else -z[c >> 1]
        return unit * total
    for i in range(indptr[u], indptr[u + 1]):
        c = code[i]
        if c >= 0:
            total += weight[i] * (z[c >> 1] if c & 1 == 0 else -z[c >> 1])
    return total


def signed_adjacency(graph: GroundedSignedGraph) -> sparse.csr_array:
    """``S`` in the gauge, as a matrix of shape (n_unlabeled, n_unlabeled)."""
    inner = graph.code >= 0
    code = graph.code[inner]
    size = graph.weight[inner] if graph.unit == 0 else graph.unit
    rows = np.append(0, np.cumsum(inner))[graph.indptr]
    shape = (graph.n_unlabeled, graph.n_unlabeled)
    return sparse.csr_array((np.where(code & 1, -size, size), code >> 1, rows), shape=shape)
