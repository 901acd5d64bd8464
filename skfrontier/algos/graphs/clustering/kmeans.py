"""k-means of weighted points: greedy k-means++ seeds, then Lloyd's iterations."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_count, check_generator, check_points

MAX_ITERATIONS = 50
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class KMeansResult:
    """Labels of the points, centres, and the weighted sum of squared distances to them."""

    labels: np.ndarray
    centers: np.ndarray
    cost: float


def weighted_kmeans(
    X: Any,
    weights: Any,
    n_clusters: int,
    *,
    n_init: int = 10,
    max_iter: int = MAX_ITERATIONS,
    random_state: Any = None,
) -> KMeansResult:
    """Split weighted points into clusters with a small weighted sum of squared distances.

    Greedy k-means++ tries ``2 + floor(ln(k + 1))`` points for each centre and keeps the best; Lloyd's
    iterations stop when the cost falls by less than 1e-6 of itself. The best of ``n_init`` runs counts.

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        The points.
    weights : array-like of shape (n_points,)
        Positive weights.
    n_clusters : int
        Number of clusters; no more than there are points are made.
    n_init : int, default=10
        Number of runs from new seeds.
    max_iter : int, default=50
        Most iterations of a run.
    random_state : int, Generator, RandomState or None, default=None
        Randomness of the seeds.

    Returns
    -------
    KMeansResult
        ``labels`` (n_points,), ``centers`` (n_clusters, n_features), ``cost``.

    Raises
    ------
    ValueError
        If the input is not finite, a weight is not positive, or shapes do not match.

    Notes
    -----
    Seeds of k-means++ are within O(log k) of the best cost in expectation (Arthur & Vassilvitskii); the
    greedy choice among several is better in practice. Cost O(n k p) for an iteration.

    References
    ----------
    D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.

    Examples
    --------
    >>> from skfrontier.algos import weighted_kmeans
    >>> X = [[0.0], [0.1], [5.0], [5.2]]
    >>> result = weighted_kmeans(X, [1, 1, 1, 3], 2, random_state=0)
    >>> sorted(float(c) for c in result.centers[:, 0])
    [0.05, 5.15]
    """
    points = np.ascontiguousarray(check_points(X, "X", min_points=1), np.float64)
    weights = np.ascontiguousarray(weights, np.float64)
    if weights.shape != (len(points),):
        raise ValueError(f"weights must have shape ({len(points)},), got {weights.shape}.")
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError("weights must be positive and finite.")
    k = min(check_count(n_clusters, "n_clusters"), len(points))
    n_init = check_count(n_init, "n_init")
    max_iter = check_count(max_iter, "max_iter")
    return kmeans(points, weights, k, n_init, max_iter, check_generator(random_state))


def kmeans(
    points: np.ndarray,
    weights: np.ndarray,
    k: int,
    n_init: int,
    max_iter: int,
    rng: np.random.Generator,
) -> KMeansResult:
    """`weighted_kmeans` of checked arrays."""
    state = rng.integers(0, 2**63, 1).astype(np.uint64)
    labels, centers, cost = _best_run(points, weights, k, n_init, max_iter, TOLERANCE, state)
    return KMeansResult(labels, centers, float(cost))


@inner
def uniform(state):
    """Next number of [0, 1): splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit
def _best_run(X, weights, k, n_init, max_iter, tolerance, state):
    best_labels = np.zeros(X.shape[0], np.int64)
    best_centers = np.zeros((k, X.shape[1]))
    best = np.inf
    for _ in range(n_init):
        centers = _seeds(X, weights, k, state)
        labels, cost = _lloyd(X, weights, centers, max_iter, tolerance)
        if cost < best or not np.isfinite(best):
            best, best_labels, best_centers = cost, labels, centers
    return best_labels, best_centers, best


@inner
def _squared_distance(X, i, centers, c):
    total = 0.0
    for j in range(X.shape[1]):
        total += (X[i, j] - centers[c, j]) ** 2
    return total


@inner
def _draw(mass, total, state):
    """An index with probability in proportion to ``mass``."""
    threshold = uniform(state) * total
    chosen = 0
    for i in range(mass.shape[0]):
        if mass[i] > 0:
            chosen = i
            threshold -= mass[i]
            if threshold < 0:
                break
    return chosen


@inner
def _seeds(X, weights, k, state):
    n, p = X.shape
    n_trials = 2 + int(np.log(k + 1))
    centers = np.empty((k, p))
    nearest, mass = np.empty(n), np.empty(n)
    for y in range(n):
        nearest[y] = np.inf
        mass[y] = weights[y]
    trial, kept = np.empty(n), np.empty(n)
    for c in range(k):
        total = 0.0
        for y in range(n):
            total += mass[y]
        best, chosen = np.inf, 0
        for _ in range(1 if c == 0 else n_trials):
            i = _draw(mass, total, state)
            cost = 0.0
            for y in range(n):
                trial[y] = min(nearest[y], _squared_distance(X, y, X, i))
                cost += weights[y] * trial[y]
            if cost < best:
                best, chosen = cost, i
                trial, kept = kept, trial
        for j in range(p):
            centers[c, j] = X[chosen, j]
        for y in range(n):
            nearest[y] = kept[y]
            mass[y] = weights[y] * nearest[y]
    return centers


@inner
def _lloyd(X, weights, centers, max_iter, tolerance):
    n, p = X.shape
    k = centers.shape[0]
    labels = np.zeros(n, np.int64)
    distance = np.empty(n)
    sums, mass = np.empty((k, p)), np.empty(k)
    before = np.inf
    cost = _assign(X, weights, centers, labels, distance)
    for _ in range(max_iter):
        if before - cost <= tolerance * cost:
            break
        before = cost
        for c in range(k):
            mass[c] = 0.0
            for j in range(p):
                sums[c, j] = 0.0
        for i in range(n):
            mass[labels[i]] += weights[i]
            for j in range(p):
                sums[labels[i], j] += weights[i] * X[i, j]
        for c in range(k):
            if mass[c] > 0:
                for j in range(p):
                    centers[c, j] = sums[c, j] / mass[c]
            else:  # an empty cluster begins anew at the point that costs most
                far = 0
                for i in range(n):
                    if weights[i] * distance[i] > weights[far] * distance[far]:
                        far = i
                distance[far] = 0.0
                for j in range(p):
                    centers[c, j] = X[far, j]
        cost = _assign(X, weights, centers, labels, distance)
    return labels, cost


@inner
def _assign(X, weights, centers, labels, distance):
    cost = 0.0
    for i in range(X.shape[0]):
        best = np.inf
        for c in range(centers.shape[0]):
            d = _squared_distance(X, i, centers, c)
            if d < best:
                best = d
                labels[i] = c
        distance[i] = best
        cost += weights[i] * best
    return cost
