"""For every node, the supports that win at some training size, and the directed scores that follow."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from tqdm.auto import tqdm

from skfrontier.algos._validation import (
    check_choice,
    check_n_jobs,
    check_points,
)
from skfrontier.algos.graphs.structure.candidates import SearchPlan, candidate_supports
from skfrontier.algos.graphs.structure.families import GAUSSIAN, family_codes
from skfrontier.algos.graphs.structure.gram import Columns, standardised_columns
from skfrontier.algos.graphs.structure.hull import hull_of_nodes
from skfrontier.algos.graphs.structure.terms import gaussian_terms_of_nodes, glm_terms_of_nodes

KAPPA_FLOOR = 2.0  # training on all rows
_CHUNK = 64  # nodes a task


@dataclass(frozen=True)
class NodePaths:
    """Winning supports of all nodes, each node's from the empty one on.

    Attributes
    ----------
    indptr : int64 array of shape (n_nodes + 1,)
        ``indptr[j]:indptr[j + 1]`` are the vertices of node ``j``.
    kappa, deviance, trace, rest, alpha : float64 arrays of shape (n_vertices,)
        Where the vertex begins to win; ``D`` and ``T``, both 0 for the empty support; trace of intercept and
        variance; penalty of the lasso support that it is or was eliminated from (nan for the empty one).
    support_indptr, support : int64 arrays
        Columns of each vertex.
    null_deviance : float64 array of shape (n_nodes,)
    limit : int64 array of shape (n_nodes,)
        Size of the last support of a path that was cut short, else beyond any size.
    """

    indptr: np.ndarray
    kappa: np.ndarray
    deviance: np.ndarray
    trace: np.ndarray
    rest: np.ndarray
    alpha: np.ndarray
    support_indptr: np.ndarray
    support: np.ndarray
    null_deviance: np.ndarray
    limit: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    def directed_scores(self) -> sparse.csr_array:
        """Scores ``K[j, i]``: the largest kappa at which ``i`` is in the support of ``j``."""
        sizes = np.diff(self.support_indptr)
        vertex = np.repeat(np.arange(len(sizes)), sizes)
        node = np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))[vertex]
        # kappa falls along a node's vertices, so that the first entry of a pair is its largest
        code = node * self.n_nodes + self.support
        _, first = np.unique(code, return_index=True)
        entries = (self.kappa[vertex[first]], (node[first], self.support[first]))
        return sparse.csr_array(entries, shape=(self.n_nodes, self.n_nodes))

    def winners(self, kappa: float) -> np.ndarray:
        """Vertex of each node that wins at ``kappa``."""
        node = np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))
        alive = np.bincount(node[self.kappa >= kappa], minlength=self.n_nodes)
        return self.indptr[:-1] + alive - 1

    def truncated(self, kappa: float) -> np.ndarray:
        """Nodes whose winner at ``kappa`` is as large as the largest support that was searched."""
        return np.flatnonzero(np.diff(self.support_indptr)[self.winners(kappa)] >= self.limit)


def directed_scores(
    X: Any,
    *,
    family: Any = "gaussian",
    transformation: str | None = None,
    n_alphas: int = 40,
    eps: float = 0.05,
    max_degree: int | None = None,
    tol: float = 1e-5,
    n_jobs: int | None = None,
) -> sparse.csr_array:
    """How small a training set may be for a column to still be wanted in the regression of another.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_columns)
        At least 5 rows.
    family : {"gaussian", "ising", "poisson"} or list of {"gaussian", "binary", "poisson"}, default="gaussian"
        Conditional distribution of the columns, of all or of each.
    transformation : {"npn"} or None, default=None
        Whether Gaussian columns are replaced by normal scores of their ranks.
    n_alphas, eps, tol : int, float and float, default=40, 0.05 and 1e-5
        Lasso path, see `lasso_supports`.
    max_degree : int or None, default=None
        Largest neighbourhood; None: 40. Never more than half the rows.
    n_jobs : int or None, default=None
        Threads (joblib); results do not depend on it.

    Returns
    -------
    csr_array of shape (n_columns, n_columns)
        ``K[j, i] = kappa`` means that the regression of ``j`` wants ``i`` when trained on at most
        ``n / (kappa - 1)`` rows, and nothing is stored where it never does (up to kappa 2, all rows).

    Raises
    ------
    ValueError, TypeError
        If the data or a parameter is not of the stated form.

    Notes
    -----
    Supports of a lasso path and chains eliminated backwards from them are refitted without penalty; the lower
    hull of deviance over sandwich trace gives the winner of approximate cross-validation at all training
    sizes at once. One Gram matrix serves all nodes: O(n p^2), then for each node the path and O(n s^2) for a
    dozen supports.

    Examples
    --------
    >>> from skfrontier.algos import directed_scores
    >>> from skfrontier.datasets import make_gaussian_graph
    >>> X, adjacency, _ = make_gaussian_graph(500, 10, graph="chain", random_state=0)
    >>> K = directed_scores(X).toarray()
    >>> bool(K[adjacency].min() > K[~adjacency].max())
    True
    """
    X = check_points(X, "X", min_points=5)
    codes = family_codes(family, X.shape[1])
    columns = standardised_columns(X, codes, normal_scores=wants_normal_scores(transformation))
    plan = SearchPlan(n_alphas, eps, max_degree, tol)
    return search_all_nodes(columns, plan, n_jobs=n_jobs).directed_scores()


def wants_normal_scores(transformation: Any) -> bool:
    """Whether ``transformation`` is 'npn'; None is no."""
    return (
        transformation is not None
        and check_choice(transformation, "transformation", ("npn",)) == "npn"
    )


def search_all_nodes(
    columns: Columns, plan: SearchPlan, *, n_jobs: int | None = None, verbose: int = 0
) -> NodePaths:
    """Search the nodes chunk by chunk; they are independent of each other."""
    check_n_jobs(n_jobs)
    starts = range(0, columns.n_columns, _CHUNK)
    tasks: Iterable = (
        delayed(_search_chunk)(columns, start, plan)
        for start in tqdm(starts, desc="nodes", disable=not verbose)
    )
    return _joined(Parallel(n_jobs=n_jobs, prefer="threads")(tasks))


def _search_chunk(columns: Columns, start: int, plan: SearchPlan) -> NodePaths:
    """Candidates from the Gram matrix, their exact terms from the rows, and the hull of these."""
    nodes = np.arange(start, min(start + _CHUNK, columns.n_columns))
    families = columns.families[nodes]
    found = candidate_supports(columns, nodes, plan)
    largest = found.supports.shape[2]
    terms = np.zeros((3, *found.sizes.shape))
    for family in np.unique(families):
        fill = gaussian_terms_of_nodes if family == GAUSSIAN else glm_terms_of_nodes
        mine = np.flatnonzero((families == family) & ~columns.constant[nodes])
        fill(
            columns.features, columns.responses, family, nodes, mine, found.counts, found.sizes,
            found.supports, terms,
        )  # fmt: skip
    deviance, trace, rest = terms
    null = deviance[:, 0].copy()
    deviance -= null[:, None]
    counts, index, kappa = hull_of_nodes(trace, deviance, found.counts, KAPPA_FLOOR)
    used = np.arange(largest + 1) < counts[:, None]

    def at_vertices(values: np.ndarray) -> np.ndarray:
        return np.take_along_axis(values, index, axis=1)[used]

    sizes = at_vertices(found.sizes)
    supports = np.take_along_axis(found.supports, index[:, :, None], axis=1)[used]
    return NodePaths(
        indptr=_offsets(counts),
        kappa=kappa[used],
        deviance=at_vertices(deviance),
        trace=at_vertices(trace),
        rest=at_vertices(rest),
        alpha=at_vertices(found.alphas),
        support_indptr=_offsets(sizes),
        support=supports[np.arange(largest) < sizes[:, None]],
        null_deviance=null,
        limit=np.where(found.truncated, found.last_path_size, np.iinfo(np.int64).max),
    )


def _offsets(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _joined(parts: list[NodePaths]) -> NodePaths:
    joined = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(NodePaths)
    }
    for name in ("indptr", "support_indptr"):
        joined[name] = _offsets(np.concatenate([np.diff(getattr(part, name)) for part in parts]))
    return NodePaths(**joined)
