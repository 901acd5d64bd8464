"""Candidate neighbourhoods of many nodes: lasso supports, chains from them, the best of each size."""

from dataclasses import dataclass

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_choice, check_count, check_interval
from skfrontier.algos.graphs.structure.elimination import eliminate, keep, regress
from skfrontier.algos.graphs.structure.families import BINARY, GAUSSIAN
from skfrontier.algos.graphs.structure.gram import Columns
from skfrontier.algos.graphs.structure.hull import walk
from skfrontier.algos.graphs.structure.logistic_supports import logistic_path
from skfrontier.algos.graphs.structure.supports import lasso_path

_LONGEST_CHAIN = 20  # columns of the largest support that is eliminated backwards
_LEAST_RSS = 1e-12  # over n
_DEFAULT_DEGREE = 40
_SLACK_OF_GAUSSIAN = (
    1.0  # least slope of the hull by size; exact traces may differ from sizes by a factor
)
_SLACK_OF_OTHERS = 0.5  # where least squares stands in for the likelihood


@dataclass(frozen=True)
class SearchPlan:
    """How candidates are searched.

    Attributes
    ----------
    n_alphas, eps, tol : int, float, float
        As in `lasso_supports`.
    max_degree : int or None
        Largest neighbourhood; None: 40, or less where there are few rows.
    path : {"linear", "logistic"}
        Path of binary nodes; others are linear.
    """

    n_alphas: int = 40
    eps: float = 0.05
    max_degree: int | None = None
    tol: float = 1e-5
    path: str = "linear"

    def __post_init__(self) -> None:
        check_count(self.n_alphas, "n_alphas")
        check_interval(self.eps, "eps", 0.0, 1.0, closed="neither")
        check_interval(self.tol, "tol", 0.0, np.inf, closed="neither")
        check_choice(self.path, "path", ("linear", "logistic"))
        if self.max_degree is not None:
            check_count(self.max_degree, "max_degree")

    def largest_support(self, n_samples: int, n_columns: int) -> int:
        """Bound that keeps every refit determined."""
        wanted = _DEFAULT_DEGREE if self.max_degree is None else int(self.max_degree)
        return min(n_columns - 1, n_samples // 2, wanted)


@dataclass(frozen=True)
class Candidates:
    """Supports that may win, by node; the empty one first, then by size.

    Attributes
    ----------
    counts : int64 array of shape (n_nodes,)
    sizes : int64 array of shape (n_nodes, max_support + 1)
    supports : int64 array of shape (n_nodes, max_support + 1, max_support)
    alphas : float64 array of shape (n_nodes, max_support + 1)
        Penalty of the lasso support that each is or was eliminated from; nan for the empty one.
    truncated : bool array of shape (n_nodes,)
        Whether the path ended for want of space.
    last_path_size : int64 array of shape (n_nodes,)
    """

    counts: np.ndarray
    sizes: np.ndarray
    supports: np.ndarray
    alphas: np.ndarray
    truncated: np.ndarray
    last_path_size: np.ndarray


def candidate_supports(columns: Columns, nodes: np.ndarray, plan: SearchPlan) -> Candidates:
    """Search some nodes; of each size the best support, and only sizes that could win, are returned."""
    largest = plan.largest_support(columns.n_samples, columns.n_columns)
    shape = (nodes.size, int(plan.n_alphas))
    points = np.zeros(nodes.size, dtype=np.int64)
    cut = np.zeros(nodes.size, dtype=np.bool_)
    alphas, sizes = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    paths = np.zeros((*shape, largest), dtype=np.int64)
    usable = ~columns.constant
    usable_columns = (usable, float(plan.eps), float(plan.tol))
    logistic = (columns.families[nodes] == BINARY) & (plan.path == "logistic")
    _linear_paths(
        columns.gram,
        nodes,
        np.flatnonzero(~logistic),
        *usable_columns,
        points,
        cut,
        alphas,
        sizes,
        paths,
    )
    if logistic.any():
        _logistic_paths(
            columns.features, columns.responses, nodes, np.flatnonzero(logistic), *usable_columns,
            points, cut, alphas, sizes, paths,
        )  # fmt: skip
    vertices = (nodes.size, largest + 1)
    found = Candidates(
        np.zeros(nodes.size, dtype=np.int64),
        np.zeros(vertices, dtype=np.int64),
        np.zeros((*vertices, largest), dtype=np.int64),
        np.full(vertices, np.nan),
        cut,
        np.where(points > 0, sizes[np.arange(nodes.size), points - 1], 0),
    )
    slack = _SLACK_OF_GAUSSIAN if np.all(columns.families == GAUSSIAN) else _SLACK_OF_OTHERS
    _select(
        columns.gram, nodes, columns.n_samples, slack, points, alphas, sizes, paths,
        found.counts, found.sizes, found.supports, found.alphas,
    )  # fmt: skip
    return found


@njit
def _linear_paths(gram, nodes, mine, usable, eps, tol, points, cut, alphas, sizes, paths):
    for at in mine:
        points[at], cut[at] = lasso_path(
            gram, nodes[at], usable, eps, tol, alphas[at], sizes[at], paths[at]
        )


@njit
def _logistic_paths(
    features, responses, nodes, mine, usable, eps, tol, points, cut, alphas, sizes, paths
):  # fmt: skip
    for at in mine:
        points[at], cut[at] = logistic_path(
            features,
            responses[nodes[at]],
            nodes[at],
            usable,
            eps,
            tol,
            alphas[at],
            sizes[at],
            paths[at],
        )


@njit
def _select(
    gram, nodes, n, slack, points, alphas, path_sizes, paths, counts, sizes, supports, origins
):  # fmt: skip
    largest = supports.shape[2]
    scratch = np.empty((3, largest, largest))
    best = np.empty(largest + 1)
    origin = np.empty(largest + 1)
    kept = np.empty((largest + 1, largest), dtype=np.int64)
    line = np.empty((3, largest + 1))
    index = np.empty(largest + 1, dtype=np.int64)
    for at in range(nodes.size):
        node = nodes[at]
        best[0] = gram[node, node]
        _best_of_each_size(
            gram,
            node,
            points[at],
            alphas[at],
            path_sizes[at],
            paths[at],
            best,
            kept,
            origin,
            scratch,
        )
        counts[at] = _sizes_on_hull(best, n, slack, line, index)
        for v in range(counts[at]):
            size = np.int64(line[0, index[v]])
            sizes[at, v] = size
            origins[at, v] = origin[size]
            for a in range(size):
                supports[at, v, a] = kept[size, a]


@inner
def _best_of_each_size(gram, node, points, alphas, sizes, path, best, kept, origin, scratch):
    """Refit the supports of the path and the chains from them; of each size the best one stays."""
    for size in range(1, best.size):
        best[size] = np.inf
    origin[0] = np.nan
    treated = 0
    for point in range(points):
        size = sizes[point]
        if size == 0 or (point > 0 and _same_as_before(path, sizes, point)):
            continue
        if treated < size <= _LONGEST_CHAIN:
            eliminate(gram, node, path[point], size, best, kept, origin, alphas[point], scratch)
            treated = size
        else:
            rss = regress(gram, node, path[point], size, scratch)
            keep(path[point], size, rss, best, kept, origin, alphas[point])


@inner
def _same_as_before(path, sizes, point):
    """Whether a support is that of the point before; both list columns in the order of their entry."""
    same = sizes[point] == sizes[point - 1]
    for a in range(sizes[point]):
        same = same and path[point, a] == path[point - 1, a]
    return same


@inner
def _sizes_on_hull(best, n, slack, line, index):
    """Sizes that could win if traces were sizes; exact traces are computed for these alone."""
    count = 0
    for size in range(best.size):
        if size == 0 or best[size] < np.inf:
            line[0, count] = size
            line[1, count] = n * np.log(max(best[size], _LEAST_RSS))
            count += 1
    return walk(line[0], line[1], count, 0, slack, index, line[2])
