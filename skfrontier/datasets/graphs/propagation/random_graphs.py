"""Random signed graphs: communities told by signs alone, and independent signs."""

import math
from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._validation import check_choice, check_count, check_interval

_Edges = tuple[np.ndarray, np.ndarray]
COMMUNITY_MODELS = ("er", "ba", "grid")
RANDOM_MODELS = ("er", "ba", "grid", "skew")


def make_signed_communities(
    n: int = 1000,
    n_communities: int = 2,
    avg_degree: float = 20,
    sign_noise: float = 0.1,
    *,
    model: str = "er",
    weights: str | None = None,
    random_state: Any = None,
) -> tuple[sparse.csr_array, np.ndarray]:
    """Signed graph whose signs, and nothing else, tell its communities.

    Edges ignore communities; an edge is positive inside one and negative across, and then each sign is
    flipped with probability ``sign_noise``.

    Parameters
    ----------
    n : int, default=1000
        Number of nodes.
    n_communities : int, default=2
        Number of communities, of about equal size.
    avg_degree : float, default=20
        Mean degree; a grid has 4.
    sign_noise : float, default=0.1
        Share of signs that are wrong.
    model : {"er", "ba", "grid"}, default="er"
        Uniformly random edges, preferential attachment, or a square grid (``n`` must be a square).
    weights : {None, "uniform"}, default=None
        Unit absolute weights, or uniform in [0.2, 2].
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    adjacency : csr_array of shape (n, n)
        Symmetric, float64.
    communities : int64 array of shape (n,)

    Raises
    ------
    ValueError
        If a parameter is outside what is accepted.

    Examples
    --------
    >>> from skfrontier.datasets import make_signed_communities
    >>> A, y = make_signed_communities(200, n_communities=3, avg_degree=8, random_state=0)
    >>> A.shape, y.shape
    ((200, 200), (200,))
    """
    n_communities = check_count(n_communities, "n_communities")
    noise = check_interval(sign_noise, "sign_noise", 0.0, 1.0)
    rng = np.random.default_rng(random_state)
    i, j = _edges(check_choice(model, "model", COMMUNITY_MODELS), n, avg_degree, rng)
    communities = rng.permutation(np.arange(n) % n_communities)
    agree = (communities[i] == communities[j]) != (rng.random(i.size) < noise)
    return _signed(i, j, agree, n, weights, rng), communities


def make_signed_random(
    n: int = 1000,
    avg_degree: float = 10,
    negative: float = 0.15,
    *,
    model: str = "er",
    weights: str | None = None,
    random_state: Any = None,
) -> sparse.csr_array:
    """Random graph whose edges are negative independently of each other.

    Parameters
    ----------
    n : int, default=1000
        Number of nodes.
    avg_degree : float, default=10
        Mean degree (before loops and duplicates are dropped); a grid has 4.
    negative : float, default=0.15
        Probability that an edge is negative.
    model : {"er", "ba", "grid", "skew"}, default="er"
        Uniformly random edges, preferential attachment, a square grid (``n`` must be a square), or
        edges between a uniform node and node ``floor(n U**2)``.
    weights : {None, "uniform"}, default=None
        Unit absolute weights, or uniform in [0.2, 2].
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, float64.

    Raises
    ------
    ValueError
        If a parameter is outside what is accepted.

    Examples
    --------
    >>> from skfrontier.datasets import make_signed_random
    >>> A = make_signed_random(100, avg_degree=6, negative=0.0, model="ba", random_state=0)
    >>> A.shape, bool((A.data > 0).all())
    ((100, 100), True)
    """
    negative = check_interval(negative, "negative", 0.0, 1.0)
    rng = np.random.default_rng(random_state)
    i, j = _edges(check_choice(model, "model", RANDOM_MODELS), n, avg_degree, rng)
    return _signed(i, j, rng.random(i.size) >= negative, n, weights, rng)


def _edges(model: str, n: int, avg_degree: float, rng: np.random.Generator) -> _Edges:
    """Distinct undirected edges ``i < j``."""
    n = check_count(n, "n", 2)
    degree = check_interval(avg_degree, "avg_degree", 0.0, float(n), closed="right")
    i, j = _MODELS[model](n, degree, rng)
    low, high = np.minimum(i, j), np.maximum(i, j)
    key = np.unique((low * n + high)[low != high])
    return key // n, key % n


def _uniform(n: int, degree: float, rng: np.random.Generator) -> _Edges:
    count = round(n * degree / 2)
    return rng.integers(n, size=count), rng.integers(n, size=count)


def _skewed(n: int, degree: float, rng: np.random.Generator) -> _Edges:
    count = round(n * degree / 2)
    i = (n * rng.random(count)).astype(np.int64)
    return i, (n * rng.random(count) ** 2).astype(np.int64)


def _attached(n: int, degree: float, rng: np.random.Generator) -> _Edges:
    """Node ``v`` adds ``degree / 2`` edges to ends of uniformly chosen earlier edges."""
    m = max(1, round(degree / 2))
    node = np.repeat(np.arange(n), m)
    earlier = np.maximum((rng.random(n * m) * (node * m)).astype(np.int64), 0)
    # The end of an earlier edge is its node, or the target of that edge, found by following the chain.
    target = np.where(rng.random(n * m) < 0.5, node[earlier], -1 - earlier)
    target[:m] = 0
    while (unknown := np.flatnonzero(target < 0)).size:
        target[unknown] = target[-1 - target[unknown]]
    return node, target


def _grid(n: int, degree: float, rng: np.random.Generator) -> _Edges:
    side = math.isqrt(n)
    if side * side != n:
        raise ValueError(f"n must be a square number for model='grid', got {n}.")
    nodes = np.arange(n).reshape(side, side)
    i = np.concatenate([nodes[:, :-1].ravel(), nodes[:-1].ravel()])
    return i, np.concatenate([nodes[:, 1:].ravel(), nodes[1:].ravel()])


_MODELS = {"er": _uniform, "ba": _attached, "grid": _grid, "skew": _skewed}


def _signed(
    i: np.ndarray,
    j: np.ndarray,
    positive: np.ndarray,
    n: int,
    weights: str | None,
    rng: np.random.Generator,
) -> sparse.csr_array:
    if weights is not None:
        check_choice(weights, "weights", ("uniform",))
    size = rng.uniform(0.2, 2.0, i.size) if weights else np.ones(i.size)
    signed = np.where(positive, size, -size)
    half = sparse.coo_array((signed, (i.astype(np.int32), j.astype(np.int32))), shape=(n, n))
    upper = half.tocsr()
    return sparse.csr_array(upper + upper.T)
