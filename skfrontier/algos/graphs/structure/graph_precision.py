"""Precision of Gaussian columns on a graph, component by component."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from skfrontier.algos.graphs.structure.gram import Columns
from skfrontier.algos.graphs.structure.precision import (
    ConstrainedPrecision,
    components,
    constrained_precision,
    nodewise_precision,
)
from skfrontier.algos.graphs.structure.refit import VARIANCE_FLOOR, Regressions

_TOL = 1e-8
_MLE_NODES = 500  # of the largest component that 'auto' fits by maximum likelihood


@dataclass(frozen=True)
class GraphPrecision:
    """Precision on the scale of the data.

    Attributes
    ----------
    precision : csr_array of shape (n_nodes, n_nodes)
    covariance : csr_array of shape (n_nodes, n_nodes) or None
        None unless every component was fitted by maximum likelihood.
    unfinished : bool
        Whether maximum likelihood ended before it had converged.
    """

    precision: sparse.csr_array
    covariance: sparse.csr_array | None
    unfinished: bool

    def partial_correlations(self) -> sparse.csr_array:
        """Partial correlations of the edges, with ones on the diagonal."""
        scale = sparse.diags_array(1.0 / np.sqrt(self.precision.diagonal()))
        partial = -sparse.csr_array(scale @ self.precision @ scale)
        partial.setdiag(1.0)
        return partial


def precision_on_graph(
    columns: Columns, graph: sparse.csr_array, fits: Regressions, method: str
) -> GraphPrecision:
    """By 'mle', 'nodewise', or 'auto': the first where it is affordable and exists."""
    members_of = components(*csgraph.connected_components(graph, directed=False))
    fitted = [
        _maximum_likelihood(columns, graph, members)
        if _wants_likelihood(columns, graph, members, method)
        else None
        for members in members_of
    ]
    rest = [members for members, fit in zip(members_of, fitted, strict=True) if fit is None]
    done = [members for members, fit in zip(members_of, fitted, strict=True) if fit is not None]
    found = [fit for fit in fitted if fit is not None]
    blocks, order = [sparse.csr_array(fit.precision) for fit in found], list(done)
    if rest:
        others = np.concatenate(rest)
        blocks.append(_nodewise(columns, fits, others))
        order.append(others)
    covariance = None
    if not rest:
        covariance = _assembled([sparse.csr_array(fit.covariance) for fit in found], order)
    return GraphPrecision(
        _assembled(blocks, order), covariance, any(fit.gap > _TOL for fit in found)
    )


def _nodewise(columns: Columns, fits: Regressions, members: np.ndarray) -> sparse.csr_array:
    """Put together between columns of variance 1, so that a shift of the diagonal means the same to all."""
    scale = _scale(columns, members)
    to_unit, back = sparse.diags_array(1.0 / scale), sparse.diags_array(scale)
    coefficients = to_unit @ fits.coefficients[members][:, members] @ back
    theta = nodewise_precision(sparse.csr_array(coefficients), fits.variances[members] / scale**2)
    theta = theta.tocoo()
    theta.data /= scale[theta.row] * scale[theta.col]
    return sparse.csr_array(theta)


def _scale(columns: Columns, members: np.ndarray) -> np.ndarray:
    return np.where(columns.constant, np.sqrt(VARIANCE_FLOOR), columns.scale)[members]


def _wants_likelihood(
    columns: Columns, graph: sparse.csr_array, members: np.ndarray, method: str
) -> bool:
    if method != "auto":
        return method == "mle"
    degree = np.diff(graph.indptr)[members].max()
    return members.size <= _MLE_NODES and degree < columns.n_samples - 1


def _maximum_likelihood(
    columns: Columns, graph: sparse.csr_array, members: np.ndarray
) -> ConstrainedPrecision | None:
    """Fit of one component, or None where there is none."""
    scale = _scale(columns, members)
    if members.size == 1:
        variance = np.array([[scale[0] ** 2]])
        return ConstrainedPrecision(1.0 / variance, variance, 0, 0.0)
    correlation = columns.gram[np.ix_(members, members)].astype(np.float64)
    np.fill_diagonal(correlation, 1.0)
    fit = constrained_precision(
        (correlation + correlation.T) / 2, graph[members][:, members], tol=_TOL
    )
    try:
        np.linalg.cholesky(fit.precision)
    except np.linalg.LinAlgError:
        return None
    spread = np.outer(scale, scale)
    return ConstrainedPrecision(
        fit.precision / spread, fit.covariance * spread, fit.n_iter, fit.gap
    )


def _assembled(blocks: list, order: list) -> sparse.csr_array:
    """Block diagonal matrix in the order of the columns."""
    back = np.argsort(np.concatenate(order))
    return sparse.csr_array(
        sparse.csr_array(sparse.block_diag(blocks, format="csr"))[back][:, back]
    )
