"""Starts by enumeration: all signs of a few leading axes, ranked by how well the clouds then overlap."""

from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count, check_generator, check_points
from skfrontier.algos.geometry.procrustes_wasserstein.nearest_rows import NearestRows
from skfrontier.algos.geometry.procrustes_wasserstein.sinkhorn import squared_distances

LARGEST_K = 12
_QUERIES = 2000
_BANDWIDTH_ROWS = 200
_LARGE_QUERIES = 500
_LARGE_MARGIN = 1.5


def sign_candidates(
    A: Any, B: Any, *, n_directions: int, n_candidates: int, random_state: Any
) -> list[tuple[int, np.ndarray]]:
    """The best sign vectors of the leading axes, by kernel correlation.

    Parameters
    ----------
    A, B : array-like of shape (n_a, n_axes) and (n_b, n_axes)
        Coordinates along the eigenvectors of each cloud, largest eigenvalue first, centred.
    n_directions : int
        Number of leading axes whose signs are enumerated, at most 12.
    n_candidates : int
        How many to return.
    random_state : int, Generator, RandomState or None
        Seed of the rows that are compared.

    Returns
    -------
    list of (int, ndarray of shape (n_directions, n_directions))
        The number of axes, and the diagonal map of signs from A to B, best first.

    Raises
    ------
    ValueError
        If the arrays do not fit together or a number is out of range.

    References
    ----------
    .. [1] Tsin, Kanade, "A correlation-based approach to robust point set registration", ECCV 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import sign_candidates
    >>> A = np.random.default_rng(0).exponential(size=(300, 2)) * [2.0, 1.0]
    >>> (k, signs), *_ = sign_candidates(
    ...     A, A * [1, -1], n_directions=2, n_candidates=1, random_state=0
    ... )
    >>> np.diag(signs)
    array([ 1., -1.])
    """
    A, B = check_points(A, "A", min_points=2), check_points(B, "B", min_points=2)
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"A and B must have the same axes, got {A.shape[1]} and {B.shape[1]}.")
    k = check_count(n_directions, "n_directions", 1, min(LARGEST_K, A.shape[1]))
    count = check_count(n_candidates, "n_candidates")
    rng = check_generator(random_state)
    return ranked_signs(A.astype(np.float64), B.astype(np.float64), [k], count, rng, proper=None)


def ranked_signs(
    A: np.ndarray,
    B: np.ndarray,
    directions: list[int],
    n_candidates: int,
    rng: np.random.Generator,
    *,
    proper: float | None,
) -> list[tuple[int, np.ndarray]]:
    """Rankings at each number of axes and bandwidth, interleaved; extensions of a ranked one dropped.

    ``proper`` is the determinant of the change of axes, where only proper rotations may come.
    """
    queries = rng.permutation(len(A))[:_QUERIES]
    rankings = [
        ranking
        for k in directions
        for ranking in _rankings(A[queries, :k], B[:, :k], _sign_vectors(k, A.shape[1], proper))
    ]
    chosen: list[np.ndarray] = []
    for place in range(max(map(len, rankings))):
        for ranking in rankings:
            if place < len(ranking) and not any(
                np.array_equal(s[: len(ranking[place])], ranking[place][: len(s)]) for s in chosen
            ):
                chosen.append(ranking[place])
    return [(len(s), np.diag(s)) for s in chosen[:n_candidates]]


def _sign_vectors(k: int, n_axes: int, proper: float | None) -> np.ndarray:
    bits = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
    signs = 1.0 - 2.0 * bits
    if proper is not None and k == n_axes:
        signs = signs[signs.prod(axis=1) * proper > 0]
    return signs


def _rankings(A: np.ndarray, B: np.ndarray, signs: np.ndarray) -> list[np.ndarray]:
    """Sign vectors, best first, at a narrow and at a wide bandwidth."""
    width = neighbour_scale(B)
    scores = np.zeros((2, len(signs)))
    for place, s in enumerate(signs):
        kernel = squared_distances(A * s, B)
        kernel *= -1 / (8 * width)
        np.exp(kernel, out=kernel)
        scores[1, place] = kernel.sum()
        kernel **= 4
        scores[0, place] = kernel.sum()
    return [signs[np.argsort(-score, kind="stable")] for score in scores]


def neighbour_scale(B: np.ndarray, rng: np.random.Generator | None = None) -> float:
    """Median squared distance of a row to the second nearest other row, of rows drawn or evenly spaced."""
    if rng is None:
        some = B[:: max(1, len(B) // _BANDWIDTH_ROWS)][:_BANDWIDTH_ROWS]
    else:
        some = B[rng.permutation(len(B))[:_BANDWIDTH_ROWS]]
    distances = squared_distances(some, B)
    near = np.partition(distances, min(2, len(B) - 1), axis=1)[:, min(2, len(B) - 1)]
    return max(float(np.median(near)), 1e-300)


def signs_by_neighbours(
    A: np.ndarray, B: np.ndarray, k: int, rng: np.random.Generator, *, proper: float | None
) -> list[np.ndarray]:
    """For large clouds: sign vectors whose median nearest-neighbour distance is near the least."""
    search = NearestRows(np.ascontiguousarray(B[:, :k]))
    some = A[rng.permutation(len(A))[:_LARGE_QUERIES], :k]
    signs = _sign_vectors(k, A.shape[1], proper)
    distances = np.array([np.median(search.nearest(some * s)[0]) for s in signs])
    order = np.argsort(distances, kind="stable")
    near = distances[order] <= _LARGE_MARGIN**2 * distances[order[0]]
    return list(signs[order[near]])
