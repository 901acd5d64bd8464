"""Solving ``L_UU x = b`` without sampling: factorisations, and conjugate gradients."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg, splu

from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.smoothing import laplacian_product, signed_adjacency

DENSE_UP_TO = 2000  # unlabelled nodes
_MAX_ITERATIONS = 10_000
Solver = Callable[[np.ndarray], np.ndarray]


class Factorisation:
    """Factorise once: dense Cholesky for small graphs, a sparse factorisation beyond.

    On scale-free graphs fill-in makes the sparse one hopeless above some ten thousand nodes.
    """

    worst_residual = 0.0

    def __init__(self, graph: GroundedSignedGraph) -> None:
        matrix = sparse.diags_array(graph.degree) - signed_adjacency(graph)
        self._solve: Solver
        if graph.n_unlabeled <= DENSE_UP_TO:
            factor = linalg.cho_factor(matrix.toarray())
            self._solve = lambda b: linalg.cho_solve(factor, b)
        else:
            self._solve = splu(
                sparse.csc_array(matrix),
                permc_spec="MMD_AT_PLUS_A",
                options={"SymmetricMode": True},
            ).solve

    def __call__(self, b: np.ndarray) -> np.ndarray:
        """Solve for one right-hand side, or several as columns, in the gauge."""
        return self._solve(b.astype(np.float64, copy=False))


class ConjugateGradients:
    """Preconditioned conjugate gradients, one right-hand side at a time.

    Parameters
    ----------
    graph : GroundedSignedGraph
    rtol : float
        Stops at ``|r| <= rtol |b|`` (Euclidean norms).
    preconditioner : {"jacobi", "amg"}
        "amg" needs pyamg.

    Attributes
    ----------
    n_iterations : int
        Of the latest solve.
    worst_residual : float
        Largest ``|r| / |b|`` of the solves that did not reach ``rtol``; 0 if all did.
    """

    def __init__(
        self, graph: GroundedSignedGraph, rtol: float, preconditioner: str = "jacobi"
    ) -> None:
        n = graph.n_unlabeled
        self._graph, self._rtol = graph, rtol
        self._operator = LinearOperator(
            (n, n), matvec=lambda z: multiply(graph, z), dtype=np.float64
        )
        self._preconditioner = LinearOperator(
            (n, n), matvec=_PRECONDITIONERS[preconditioner](graph), dtype=np.float64
        )
        self.n_iterations = 0
        self.worst_residual = 0.0

    def __call__(self, b: np.ndarray) -> np.ndarray:
        """Solve for one right-hand side in the gauge."""
        self.n_iterations = 0
        _, exponent = math.frexp(np.abs(b).max(initial=0.0))
        b = np.ldexp(
            b.astype(np.float64, copy=False), -exponent
        )  # squares neither vanish nor overflow
        x, failure = cg(
            self._operator, b, rtol=self._rtol, atol=0.0, maxiter=_MAX_ITERATIONS,
            M=self._preconditioner, callback=self._count,
        )  # fmt: skip
        if failure:
            residual = np.linalg.norm(b - multiply(self._graph, x)) / np.linalg.norm(b)
            self.worst_residual = max(self.worst_residual, float(residual))
        return np.ldexp(x, exponent)

    def _count(self, _: Any) -> None:
        self.n_iterations += 1


def multiply(graph: GroundedSignedGraph, z: np.ndarray) -> np.ndarray:
    """``L_UU z`` in the gauge."""
    out = np.empty(z.size)
    laplacian_product(
        graph.indptr, graph.code, graph.weight, graph.unit, graph.degree, np.ravel(z), out
    )
    return out


def jacobi(graph: GroundedSignedGraph) -> Solver:
    """Divide by the degrees."""
    return lambda r: np.ravel(r) / graph.degree


def algebraic_multigrid(graph: GroundedSignedGraph) -> Solver:
    """One cycle of algebraic multigrid on an M-matrix: the graph if it is balanced, else its lift.

    Raises
    ------
    ImportError
        If pyamg is not installed.
    """
    try:
        import pyamg
    except ImportError as error:
        raise ImportError('preconditioner="amg" needs pyamg: pip install pyamg.') from error
    S = signed_adjacency(graph)
    if not graph.lift.any():
        hierarchy = pyamg.smoothed_aggregation_solver(
            sparse.csr_matrix(sparse.diags_array(graph.degree) - S)
        )
        cycle = hierarchy.aspreconditioner()
        return lambda r: cycle @ np.ravel(r)
    positive, negative = S.maximum(0), (-S).maximum(0)
    lifted = sparse.block_array([[positive, negative], [negative, positive]])
    degree = np.tile(graph.degree, 2)
    hierarchy = pyamg.smoothed_aggregation_solver(
        sparse.csr_matrix(sparse.diags_array(degree) - lifted)
    )
    cycle = hierarchy.aspreconditioner()
    n = graph.n_unlabeled

    def odd_part(r: np.ndarray) -> np.ndarray:
        x = cycle @ np.concatenate([np.ravel(r), -np.ravel(r)])
        return (x[:n] - x[n:]) / 2

    return odd_part


_PRECONDITIONERS = {"jacobi": jacobi, "amg": algebraic_multigrid}


def exact_solver(
    graph: GroundedSignedGraph, name: str, rtol: float, preconditioner: str
) -> Factorisation | ConjugateGradients:
    """The solver 'direct' or 'cg'."""
    if name == "direct":
        return Factorisation(graph)
    return ConjugateGradients(graph, rtol, preconditioner)
