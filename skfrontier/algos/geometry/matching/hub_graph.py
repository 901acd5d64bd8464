"""A sparse graph of direct and hub arcs whose connections cost at most alpha(k, p)^p times the pairs'.

Points are sampled into levels A_0 > A_1 > ... > A_{k-1}; the bunch of a point holds those w that are nearer
than any point of the level above that of w (Thorup and Zwick 2005). Members of level 0 give direct arcs,
those of higher levels are hubs, which serve all pairs of the points around them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count, check_interval

DistanceRow = Callable[[int], np.ndarray]


def stretch_bound(k: int, p: float = 1.0) -> float:
    """Proven factor of the hub matching: its W_p cost is at most this many times the best one.

    Parameters
    ----------
    k : int
        Number of levels, at least 1.
    p : float, default=1.0
        Power of the distances, at least 1.

    Returns
    -------
    float
        ``(2^(p-1) ((k-1)^p + k^p))^(1/p)``, at most 2k; 1 for k = 1 and 2k - 1 for p = 1.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    A walk between two points that changes ends at each level stops at a common hub w, i levels up, with
    distances at most i and i + 1 times that of the points (Thorup and Zwick); convexity of the power gives
    the rest. Proven for every metric.

    References
    ----------
    M. Thorup, U. Zwick: Approximate distance oracles. J. ACM 52 (2005).

    Examples
    --------
    >>> from skfrontier.algos import stretch_bound
    >>> stretch_bound(2), round(stretch_bound(2, 2), 3)
    (3.0, 3.162)
    """
    k = check_count(k, "k")
    p = check_interval(p, "p", 1, np.inf, closed="left")
    if k == 1:
        return 1.0
    # 2 * ((((k - 1)^p + k^p) / 2)^(1/p)), scaled so that large powers do not overflow
    return float(2 * k * ((((k - 1) / k) ** p + 1) / 2) ** (1 / p))


@dataclass(frozen=True)
class Bunches:
    """Bunches of N points.

    Attributes
    ----------
    start : int64 array of shape (N + 1,)
        The bunch of point x is ``member[start[x]:start[x + 1]]``.
    member : int64 array
        Points of the bunches.
    distance : float64 array
        Distance of each member to the point of the bunch.
    level : int64 array of shape (N,)
        Highest level of each point.
    to_level : float64 array of shape (N, k + 1)
        Distance of each point to the nearest one of each level; infinite for level k.
    """

    start: np.ndarray
    member: np.ndarray
    distance: np.ndarray
    level: np.ndarray
    to_level: np.ndarray


def sample_levels(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Highest level of each of ``n`` points: each climbs with probability n^(-1/k), one at least."""
    level = np.zeros(n, dtype=np.int64)
    inside = np.arange(n)
    for i in range(1, k):
        chosen = inside[rng.random(inside.size) < n ** (-1 / k)]
        inside = chosen if chosen.size else rng.choice(inside, 1)
        level[inside] = i
    return level


def build_bunches(distances: Any, k: int, rng: np.random.Generator) -> Bunches:
    """Sample levels and build the bunch of every point.

    Parameters
    ----------
    distances : array-like of shape (N, N), or callable
        A metric, or a function that returns a row of it. Rows are asked for once or twice.
    k : int
        Number of levels.
    rng : numpy Generator
        Source of the sample.

    Returns
    -------
    Bunches
        Of expected total size at most ``k N^(1 + 1/k)`` (Thorup and Zwick).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import build_bunches
    >>> points = np.arange(50.0)
    >>> bunches = build_bunches(abs(points[:, None] - points), 2, np.random.default_rng(0))
    >>> bunches.member.size < 50**2
    True
    """
    if callable(distances):
        return bunches_from_rows(distances, len(distances(0)), k, rng)
    matrix = np.asarray(distances, dtype=np.float64)
    return bunches_from_rows(lambda i: matrix[i], len(matrix), k, rng)


def bunches_from_rows(row_of: DistanceRow, n: int, k: int, rng: np.random.Generator) -> Bunches:
    """`build_bunches` of a function that gives rows, for a known number of points."""
    level = sample_levels(n, k, rng)
    to_level = np.full((n, k + 1), np.inf)
    to_level[:, 0] = 0.0
    pivot = np.tile(np.arange(n)[:, None], (1, k))
    for w in np.flatnonzero(level > 0).tolist():
        row = row_of(w)
        for i in range(1, level[w] + 1):
            nearer = row < to_level[:, i]
            to_level[nearer, i] = row[nearer]
            pivot[nearer, i] = w
    members, lengths, found = [], [], []
    for x in range(n):
        row = row_of(x)
        inside = row < to_level[x, level + 1]
        inside[pivot[x]] = True
        chosen = np.flatnonzero(inside)
        members.append(chosen)
        found.append(row[chosen])
        lengths.append(chosen.size)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Bunches(start, np.concatenate(members), np.concatenate(found), level, to_level)
