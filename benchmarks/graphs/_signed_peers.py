"""What a user would write or take today for ``L_UU^-1``: solvers, and plain Monte Carlo."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from skfrontier.algos.graphs.propagation.exact import algebraic_multigrid
from skfrontier.algos.graphs.propagation.smoothing import signed_adjacency


class Jacobi:
    """Conjugate gradients with a diagonal preconditioner on scipy's matrix, written out."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.matrix = sparse.csr_array(sparse.diags_array(graph.degree) - signed_adjacency(graph))

    def solve(self, b: np.ndarray, rtol: float) -> np.ndarray:
        matrix, degree = self.matrix, self.graph.degree
        x, r = np.zeros_like(b), b.copy()
        p = z = r / degree
        rz, goal = r @ z, rtol * np.linalg.norm(b)
        while np.linalg.norm(r) > goal:
            q = matrix @ p
            alpha = rz / (p @ q)
            x += alpha * p
            r -= alpha * q
            z = r / degree
            rz, previous = r @ z, rz
            p = z + rz / previous * p
        return x

    def row(self, u: int, rtol: float) -> np.ndarray:
        """Row of ``Q``."""
        unit = np.zeros(self.graph.n_unlabeled)
        unit[u] = self.graph.gauge[u]
        return self.graph.boundary.T @ self.solve(unit, rtol)


class Multigrid(Jacobi):
    """Conjugate gradients with pyamg's smoothed aggregation; the hierarchy is built with the object."""

    def __init__(self, graph: Any) -> None:
        super().__init__(graph)
        self._cycle = algebraic_multigrid(graph)

    def solve(self, b: np.ndarray, rtol: float) -> np.ndarray:
        from scipy.sparse.linalg import LinearOperator, cg

        cycle = LinearOperator(self.matrix.shape, matvec=self._cycle, dtype=np.float64)
        return cg(self.matrix, b, rtol=rtol, M=cycle)[0]


def sparse_factorisation(matrix: sparse.csr_array) -> Any:
    """SuperLU in symmetric mode: scipy has no sparse Cholesky."""
    return splu(
        sparse.csc_array(matrix), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}
    )
