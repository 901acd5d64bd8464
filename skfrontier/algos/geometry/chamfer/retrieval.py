"""The nearest of many point clouds: exact with early abandoning, or a race of running means."""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from skfrontier.algos._validation import check_choice, check_count
from skfrontier.algos.geometry.chamfer.cloud_index import CloudIndex, DirectedSum
from skfrontier.algos.geometry.chamfer.clouds import pack_clouds

METHODS = ("exact", "race")
BLOCK = 32  # points evaluated between two decisions
RACE_DEVIATIONS = 3.5  # half-width of a running interval, in standard errors

# The directed sums of one reference: query to reference and, if symmetric, reference to query.
_Sums = list[DirectedSum]


@dataclass(frozen=True)
class NearestClouds:
    """Result of `nearest_clouds`.

    Attributes
    ----------
    distances : ndarray of shape (n_queries, k)
        Exact Chamfer distances, ascending.
    indices : ndarray of shape (n_queries, k)
        Numbers of the reference clouds; of equally distant ones the lower comes first.
    n_searches : ndarray of shape (n_queries,)
        Searches for the nearest point of a cloud that were made. Without abandoning they would be
        one per point of the query and reference (and the reverse, if symmetric).
    guaranteed : bool
        Whether these are the k nearest for certain.
    """

    distances: np.ndarray
    indices: np.ndarray
    n_searches: np.ndarray
    guaranteed: bool


def nearest_clouds(
    queries: Any,
    references: CloudIndex,
    k: int,
    *,
    method: str = "exact",
    random_state: Any = None,
    n_jobs: Any = None,
) -> NearestClouds:
    """Find the ``k`` reference clouds with the least Chamfer distance from each query cloud.

    Parameters
    ----------
    queries : sequence of array-likes, ndarray or pair (points, offsets)
        The query clouds, none of them empty: of shape (n_i, n_features), or one array of shape
        (n_queries, n_points, n_features).
    references : CloudIndex
        The prepared references, with metric and reduction.
    k : int
        How many to find, at most ``len(references)``.
    method : {'exact', 'race'}, default='exact'
        'race' compares running means and is about twice as fast, without a guarantee.
    random_state : int, Generator or None, default=None
        For the order in which the points of a query are evaluated. It moves the work only with
        'exact'.
    n_jobs : int or None, default=None
        Number of joblib threads over the queries. The result does not depend on it.

    Returns
    -------
    NearestClouds

    Raises
    ------
    ValueError
        If ``queries`` do not fit the references or ``k`` is not between 1 and their number.

    Notes
    -----
    'exact' is guaranteed: a reference is abandoned only when the part of its distance that is
    known, plus lower bounds (from its box and the balls of its farthest-point cells) for the points
    not yet evaluated, exceeds the k-th best. How much is saved depends on the data; with
    three-dimensional shapes about three quarters. 'race' drops a reference once its mean over a
    random part of the points, less 3.5 standard errors, exceeds the k-th least mean plus 3.5
    standard errors; the distances that it returns are exact, the choice is not certain. Points are
    compared directly in float64, which suits small clouds in few dimensions; for wide vectors
    `chamfer_matrix` with its matrix products can be faster although it evaluates everything.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos.geometry.chamfer.cloud_index import CloudIndex
    >>> from skfrontier.algos.geometry.chamfer.metric import Metric
    >>> from skfrontier.algos.geometry.chamfer.retrieval import nearest_clouds
    >>> references = CloudIndex(2, Metric.from_names("euclidean"))
    >>> for shift in (0.0, 1.0, 5.0):
    ...     _ = references.insert(np.array([[shift, 0.0], [shift, 1.0]]))
    >>> found = nearest_clouds([np.array([[0.9, 0.0]])], references, 2)
    >>> found.indices
    array([[1, 0]])
    >>> found.distances
    array([[0.1, 0.9]])
    """
    check_choice(method, "method", METHODS)
    k = check_count(k, "k")
    if k > len(references):
        raise ValueError(
            f"k must be at most the number of reference clouds, {len(references)}; got {k}."
        )
    clouds = pack_clouds(queries, "queries")
    points = [references.check_cloud(cloud, f"queries[{i}]") for i, cloud in enumerate(clouds)]
    rank = _rank_exactly if method == "exact" else _rank_by_race
    seeds = np.random.default_rng(random_state).integers(2**63, size=len(points))

    def find(cloud: np.ndarray, seed: int) -> tuple[list[tuple[float, int]], int]:
        sums = references.sums_from(cloud, np.random.default_rng(seed))
        ranking = rank(sums, k)
        return ranking, sum(directed.n_done for pair in sums for directed in pair)

    if n_jobs is None or n_jobs == 1:
        found = [find(cloud, seed) for cloud, seed in zip(points, seeds, strict=True)]
    else:
        found = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(find)(cloud, seed) for cloud, seed in zip(points, seeds, strict=True)
        )
    return NearestClouds(
        distances=np.array([[value for value, _ in ranking] for ranking, _ in found]),
        indices=np.array([[i for _, i in ranking] for ranking, _ in found], dtype=np.intp),
        n_searches=np.array([n_searches for _, n_searches in found]),
        guaranteed=method == "exact",
    )


def _rank_exactly(sums: list[_Sums], k: int) -> list[tuple[float, int]]:
    """Visit the references in the order of an estimate and abandon those that cannot be among the k."""
    for pair in sums:
        for directed in pair:
            directed.advance(BLOCK)
    estimates = [sum(directed.estimate for directed in pair) for pair in sums]
    worst_first: list[tuple[float, int]] = []  # heap of (-value, -number) of the best so far
    for i in np.argsort(estimates, kind="stable"):
        limit = -worst_first[0][0] if len(worst_first) == k else np.inf
        if _completed(sums[i], limit):
            entry = (-sum(directed.value for directed in sums[i]), -int(i))
            heapq.heappush(worst_first, entry)
            if len(worst_first) > k:
                heapq.heappop(worst_first)
    return sorted((-value, -i) for value, i in worst_first)


def _completed(pair: _Sums, limit: float) -> bool:
    """Evaluate block by block; False as soon as the distance is known to exceed ``limit``."""
    if limit == np.inf:
        return True
    for directed in pair:
        while directed.n_done < directed.size:
            if sum(each.lower_bound for each in pair) > limit * (1.0 + 1e-12):
                return False
            directed.advance(BLOCK)
    return True


def _rank_by_race(sums: list[_Sums], k: int) -> list[tuple[float, int]]:
    """Evaluate all references block by block and drop those whose running interval is too high."""
    alive = list(range(len(sums)))
    while len(alive) > k:
        progress = sum(directed.advance(BLOCK) for i in alive for directed in sums[i])
        if progress == 0:
            break
        estimates = np.array([sum(directed.estimate for directed in sums[i]) for i in alive])
        widths = RACE_DEVIATIONS * np.sqrt([sum(map(_variance, sums[i])) for i in alive])
        limit = np.partition(estimates + widths, k - 1)[k - 1]
        alive = [i for i, low in zip(alive, estimates - widths, strict=True) if low <= limit]
    return sorted((sum(directed.value for directed in sums[i]), i) for i in alive)[:k]


def _variance(directed: DirectedSum) -> float:
    """Squared standard error of the estimate, sampling without replacement."""
    n, size = directed.n_done, directed.size
    if n == size:
        return 0.0
    return (directed.weight * size) ** 2 * float(directed.costs.var()) / n * (1.0 - n / size)
