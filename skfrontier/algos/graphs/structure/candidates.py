"""Candidate neighbourhoods of many nodes: lasso supports, chains from them, the best of each size."""

from dataclasses import dataclass

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.graphs.structure.elimination import eliminate, keep, regress
from skfrontier.algos.graphs.structure.hull import walk
from skfrontier.algos.graphs.structure.supports import lasso_path

_LONGEST_CHAIN = 20  # columns of the largest support that is eliminated backwards
_LEAST_RSS = 1e-12  # over n


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


def candidate_supports(
    gram: np.ndarray,
    usable: np.ndarray,
    nodes: np.ndarray,
    n_samples: int,
    slack: float,
    n_alphas: int,
    eps: float,
    tol: float,
    max_support: int,
) -> Candidates:
    """Search some nodes; only sizes on the hull down to slope ``slack`` are returned."""
    vertices = (nodes.size, max_support + 1)
    found = Candidates(
        np.zeros(nodes.size, dtype=np.int64),
        np.zeros(vertices, dtype=np.int64),
        np.zeros((*vertices, max_support), dtype=np.int64),
        np.full(vertices, np.nan),
        np.zeros(nodes.size, dtype=np.bool_),
        np.zeros(nodes.size, dtype=np.int64),
    )
    _search(
        gram, usable, nodes, int(n_samples), float(slack), int(n_alphas), float(eps), float(tol),
        found.counts, found.sizes, found.supports, found.alphas, found.truncated, found.last_path_size,
    )  # fmt: skip
    return found


@njit
def _search(
    gram, usable, nodes, n, slack, n_alphas, eps, tol,
    counts, sizes, supports, origins, truncated, last_path_size,
):  # fmt: skip
    largest = supports.shape[2]
    scratch = np.empty((3, largest, largest))
    alphas = np.empty(n_alphas)
    path_sizes = np.empty(n_alphas, dtype=np.int64)
    path = np.empty((n_alphas, largest), dtype=np.int64)
    best = np.empty(largest + 1)
    origin = np.empty(largest + 1)
    kept = np.empty((largest + 1, largest), dtype=np.int64)
    line = np.empty((3, largest + 1))
    index = np.empty(largest + 1, dtype=np.int64)
    for at in range(nodes.size):
        node = nodes[at]
        points, cut = lasso_path(gram, node, usable, eps, tol, alphas, path_sizes, path)
        best[0] = gram[node, node]
        _best_of_each_size(
            gram, node, points, alphas, path_sizes, path, best, kept, origin, scratch
        )
        counts[at] = _sizes_on_hull(best, n, slack, line, index)
        for v in range(counts[at]):
            size = np.int64(line[0, index[v]])
            sizes[at, v] = size
            origins[at, v] = origin[size]
            for a in range(size):
                supports[at, v, a] = kept[size, a]
        truncated[at] = cut
        last_path_size[at] = path_sizes[points - 1] if points > 0 else 0


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
