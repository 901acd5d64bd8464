"""Regressions on a finished graph: coefficients, and how well they predict."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse, special

from skfrontier.algos.graphs.structure.elimination import RIDGE
from skfrontier.algos.graphs.structure.families import BINARY, GAUSSIAN, POISSON
from skfrontier.algos.graphs.structure.gram import Columns
from skfrontier.algos.graphs.structure.terms import fit_support

CLIP = 15.0  # of coefficients of -1/1 columns; beyond it a node is nearly separated
VARIANCE_FLOOR = 1e-12
_LEAST_RATE = 1e-12  # of a column without counts


@dataclass(frozen=True)
class Regressions:
    """Each column regressed on its neighbours, without penalty.

    Attributes
    ----------
    coefficients : csr_array of shape (n_nodes, n_nodes)
        Row ``j`` regresses ``j`` on the columns as they enter regressions: as they are, -1/1, log(1 + x).
    intercepts : float64 array of shape (n_nodes,)
    variances : float64 array of shape (n_nodes,)
        Residual variances of Gaussian columns, 1 for others.
    separated : int64 array
        Nodes whose coefficients were clipped.
    """

    coefficients: sparse.csr_array
    intercepts: np.ndarray
    variances: np.ndarray
    separated: np.ndarray

    def log_likelihood(self, features: np.ndarray, responses: np.ndarray, families: np.ndarray):
        """Mean over samples of the sum over columns of ``log p(x_j | rest)``.

        ``features`` and ``responses`` are (n_samples, n_columns), on the scale of the data.
        """
        eta = (self.coefficients @ features.T).T + self.intercepts
        total = 0.0
        gaussian, binary, counts = (families == code for code in (GAUSSIAN, BINARY, POISSON))
        if gaussian.any():
            variance = self.variances[gaussian]
            squares = (responses[:, gaussian] - eta[:, gaussian]) ** 2
            total -= np.mean(
                np.sum(0.5 * (np.log(2 * np.pi * variance) + squares / variance), axis=1)
            )
        if binary.any():
            loss = np.logaddexp(0.0, eta[:, binary]) - responses[:, binary] * eta[:, binary]
            total -= np.mean(np.sum(loss, axis=1))
        if counts.any():
            y = responses[:, counts]
            loss = np.exp(eta[:, counts]) - y * eta[:, counts] + special.gammaln(y + 1)
            total -= np.mean(np.sum(loss, axis=1))
        return float(total)


def regress_on_neighbours(columns: Columns, graph: sparse.csr_array) -> Regressions:
    """Fit all columns on their neighbours; Gaussian ones from the Gram matrix, others in O(n d^2)."""
    p = columns.n_columns
    data = np.zeros(graph.nnz)
    intercepts, variances = np.zeros(p), np.ones(p)
    separated = []
    for j in range(p):
        where = slice(graph.indptr[j], graph.indptr[j + 1])
        neighbours = graph.indices[where].astype(np.int64)
        code = int(columns.families[j])
        if code != GAUSSIAN and columns.constant[j]:
            mean = columns.responses[j, 0]  # the same everywhere
            intercepts[j] = (
                np.log(max(mean, _LEAST_RATE)) if code == POISSON else CLIP * (2 * mean - 1)
            )
            continue
        if code == GAUSSIAN:
            b, share = _least_squares(columns.gram, j, neighbours)
            b *= columns.scale[j] / columns.scale[neighbours]
            mean = columns.location[j]
            variance = share * columns.scale[j] ** 2
            variances[j] = VARIANCE_FLOOR if columns.constant[j] else variance
        else:
            theta = fit_support(columns.features, columns.responses[j], code, neighbours)[1]
            mean, b = theta[0], theta[1:] / columns.scale[neighbours]
            if code == BINARY and np.abs(b).max(initial=0.0) > CLIP:
                separated.append(j)
                b = np.clip(b, -CLIP, CLIP)
        data[where] = b
        intercepts[j] = mean - b @ columns.location[neighbours]
    coefficients = sparse.csr_array((data, graph.indices, graph.indptr), shape=(p, p))
    return Regressions(coefficients, intercepts, variances, np.array(separated, dtype=np.int64))


def _least_squares(gram: np.ndarray, node: int, support: np.ndarray) -> tuple[np.ndarray, float]:
    """Coefficients between scaled columns and the share of variance left, from the Gram matrix."""
    if support.size == 0:
        return np.zeros(0), 1.0
    inner = gram[np.ix_(support, support)].astype(np.float64)
    inner[np.diag_indices(support.size)] += RIDGE
    to_node = gram[support, node].astype(np.float64)
    b = np.linalg.solve(inner, to_node)
    left = gram[node, node] - 2 * b @ to_node + b @ inner @ b
    return b, max(float(left), VARIANCE_FLOOR)
