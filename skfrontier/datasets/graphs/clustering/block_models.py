"""Graphs with planted clusters, still and evolving."""

from typing import Any

import numpy as np

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_generator,
    check_interval,
)
from skfrontier.datasets.graphs.clustering.stream import (
    NO_EDGES,
    GraphStep,
    GraphStream,
    adjacency_of,
)

SCENARIOS = ("new", "merge", "grow", "move")


def make_sbm_edges(sizes: Any, p_in: Any, p_out: float, random_state: Any = None) -> np.ndarray:
    """Edges of a stochastic block model.

    Parameters
    ----------
    sizes : int array-like of shape (k,)
        Sizes of the clusters; vertices are numbered cluster by cluster.
    p_in : float or array-like of shape (k,)
        Probability of an edge inside a cluster.
    p_out : float
        Probability of an edge between clusters.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the generator.

    Returns
    -------
    int64 array of shape (m, 2)
        Each edge once, no self-loops.

    Raises
    ------
    ValueError
        If a size or a probability is out of range.

    Notes
    -----
    Each pair of blocks has a binomial number of edges, spread evenly: exactly the model, in O(m).

    Examples
    --------
    >>> from skfrontier.datasets import make_sbm_edges
    >>> make_sbm_edges([50, 50], 1.0, 0.0, random_state=0).shape
    (2450, 2)
    """
    counts = [check_count(size, "sizes") for size in sizes]
    inner = np.broadcast_to(np.asarray(p_in, np.float64), (len(counts),))
    for p in inner:
        check_interval(float(p), "p_in", 0, 1)
    check_interval(p_out, "p_out", 0, 1)
    rng = check_generator(random_state)
    first = np.concatenate([[0], np.cumsum(counts)])
    parts = [NO_EDGES]
    for a, size in enumerate(counts):
        parts.append(first[a] + _inner_pairs(size, inner[a], rng))
        for b in range(a + 1, len(counts)):
            parts.append(_cross_pairs(size, counts[b], p_out, rng) + [first[a], first[b]])
    return np.concatenate(parts)


def make_evolving_sbm(
    n_per_cluster: Any = 1000,
    n_clusters: int = 8,
    *,
    scenario: str = "new",
    n_steps: int = 10,
    n_changed: int = 100,
    degree_in: float = 16.0,
    degree_out: float = 2.0,
    density: float = 0.95,
    noise: float = 0.0,
    random_state: Any = None,
) -> GraphStream:
    """A stochastic block model whose clusters change step by step.

    Parameters
    ----------
    n_per_cluster : int or int array-like of shape (n_clusters,), default=1000
        Sizes of the clusters at the start.
    n_clusters : int, default=8
        Their number.
    scenario : {"new", "merge", "grow", "move"}, default="new"
        - "new": ``n_changed`` random vertices, never the same, get each inner pair with probability
          ``density`` and become a cluster of their own;
        - "merge": the two smallest clusters that have not merged yet get each pair between them with
          probability ``density``;
        - "grow": ``n_changed`` new vertices, each with ``degree_in`` edges into a random cluster and
          ``degree_out`` anywhere;
        - "move": ``n_changed`` vertices lose all edges and join another cluster in the same way.
    n_steps : int, default=10
        Number of steps.
    n_changed : int, default=100
        Vertices that change in a step.
    degree_in, degree_out : float, default=16 and 2
        Expected number of neighbours in the own cluster and in all others.
    density : float, default=0.95
        Of the pairs that form a cluster.
    noise : float, default=0.0
        Probability of a pair of vertices to get an edge at random in each step.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the generator.

    Returns
    -------
    GraphStream

    Raises
    ------
    ValueError
        If a parameter is out of range, or there are too few vertices or clusters for the steps.

    References
    ----------
    S. Laenen, H. Sun, "Dynamic spectral clustering with provable approximation guarantee", ICML 2024,
    arXiv:2406.03152: scenarios "new" and "merge".

    Examples
    --------
    >>> from skfrontier.datasets import make_evolving_sbm
    >>> stream = make_evolving_sbm(100, 3, scenario="grow", n_steps=2, n_changed=5, random_state=0)
    >>> [len(labels) for _, labels in stream]
    [305, 310]
    """
    check_choice(scenario, "scenario", SCENARIOS)
    k = check_count(n_clusters, "n_clusters", 2)
    sizes = np.broadcast_to(np.asarray(n_per_cluster), (k,))
    n_steps = check_count(n_steps, "n_steps", 0)
    n_changed = check_count(n_changed, "n_changed", 1)
    check_interval(density, "density", 0, 1)
    check_interval(noise, "noise", 0, 1)
    rng = check_generator(random_state)
    n = int(sizes.sum())
    if scenario == "new" and n_steps * n_changed > n:
        raise ValueError(f"n_steps * n_changed must be at most {n}, the number of vertices.")
    if scenario == "merge" and 2 * n_steps > k:
        raise ValueError(f"n_steps must be at most {k // 2}: each step merges two clusters.")
    p_out = min(1.0, degree_out / max(n - n / k, 1))
    edges = make_sbm_edges(sizes, np.minimum(1, degree_in / np.maximum(sizes - 1, 1)), p_out, rng)
    labels = np.repeat(np.arange(k), sizes)
    evolve = {"new": _new, "merge": _merge, "grow": _grow, "move": _move}[scenario]
    steps = evolve(edges, labels, n_steps, n_changed, degree_in, degree_out, density, rng)
    if noise:
        steps = [_with_noise(step, noise, rng) for step in steps]
    return GraphStream(adjacency_of(edges, n), labels, tuple(steps))


def _new(edges, labels, n_steps, n_changed, degree_in, degree_out, density, rng):
    chosen = rng.permutation(len(labels))[: n_steps * n_changed].reshape(n_steps, n_changed)
    steps = []
    for vertices in chosen:
        labels = labels.copy()
        labels[vertices] = labels.max() + 1
        inner = vertices[_inner_pairs(n_changed, density, rng)]
        steps.append(GraphStep(inner, labels, NO_EDGES))
    return steps


def _merge(edges, labels, n_steps, n_changed, degree_in, degree_out, density, rng):
    order = np.argsort(np.bincount(labels), kind="stable")
    steps = []
    for a, b in order[: 2 * n_steps].reshape(n_steps, 2):
        left, right = np.flatnonzero(labels == a), np.flatnonzero(labels == b)
        pairs = _cross_pairs(len(left), len(right), density, rng)
        labels = np.where(labels == b, a, labels)
        cross = np.column_stack([left[pairs[:, 0]], right[pairs[:, 1]]])
        steps.append(GraphStep(cross, labels, NO_EDGES))
    return steps


def _grow(edges, labels, n_steps, n_changed, degree_in, degree_out, density, rng):
    k = labels.max() + 1
    steps = []
    for _ in range(n_steps):
        members = [np.flatnonzero(labels == c) for c in range(k)]
        born = len(labels) + np.arange(n_changed)
        cluster = rng.integers(k, size=n_changed)
        new = [
            _attach(v, members[c], len(labels), degree_in, degree_out, rng)
            for v, c in zip(born, cluster, strict=True)
        ]
        labels = np.concatenate([labels, cluster])
        steps.append(GraphStep(np.concatenate(new), labels, NO_EDGES))
    return steps


def _move(edges, labels, n_steps, n_changed, degree_in, degree_out, density, rng):
    n, k = len(labels), labels.max() + 1
    neighbors: list[set[int]] = [set() for _ in range(n)]

    def connect(pairs: np.ndarray) -> np.ndarray:
        fresh = [(u, v) for u, v in pairs.tolist() if v not in neighbors[u]]
        for u, v in fresh:
            neighbors[u].add(v)
            neighbors[v].add(u)
        return np.array(fresh, np.int64).reshape(-1, 2)

    connect(edges)
    steps = []
    for _ in range(n_steps):
        movers = rng.choice(n, n_changed, replace=False)
        gone = []
        for v in movers.tolist():
            for z in sorted(neighbors[v]):
                neighbors[z].discard(v)
                gone.append((v, z))
            neighbors[v].clear()
        labels = labels.copy()
        labels[movers] = (labels[movers] + rng.integers(1, k, n_changed)) % k
        come = []
        for v in movers.tolist():
            members = np.flatnonzero(labels == labels[v])
            wanted = _attach(v, members[members != v], n, degree_in, degree_out, rng)
            come.append(connect(wanted[wanted[:, 1] != v]))
        removed = np.array(gone, np.int64).reshape(-1, 2)
        steps.append(GraphStep(np.concatenate(come), labels, removed))
    return steps


def _attach(v, members, n_vertices, degree_in, degree_out, rng):
    """Edges of a vertex into a cluster and anywhere, no neighbour twice."""
    count = min(round(degree_in), len(members))
    inside = rng.choice(members, count, replace=False)
    anywhere = rng.integers(n_vertices, size=round(degree_out))
    ends = np.unique(np.concatenate([inside, anywhere]))
    return np.column_stack([np.full(len(ends), v), ends])


def _with_noise(step, noise, rng):
    extra = _inner_pairs(len(step.labels), noise, rng)
    return GraphStep(np.concatenate([step.edges, extra]), step.labels, step.removed)


def _inner_pairs(size, p, rng):
    """Random pairs i < j of ``range(size)``."""
    codes = _sample_codes(size * (size - 1) // 2, p, rng)
    high = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) / 2).astype(np.int64)
    high -= high * (high - 1) // 2 > codes  # rounding of the root
    high += high * (high + 1) // 2 <= codes
    return np.column_stack([codes - high * (high - 1) // 2, high])


def _cross_pairs(n_rows, n_columns, p, rng):
    """Random pairs of ``range(n_rows)`` and ``range(n_columns)``."""
    codes = _sample_codes(n_rows * n_columns, p, rng)
    return np.column_stack([codes // n_columns, codes % n_columns])


def _sample_codes(n_codes, p, rng):
    """A binomial number of distinct numbers below ``n_codes``, ascending."""
    count = int(rng.binomial(n_codes, p))
    if count > n_codes // 2:  # draw what is left out
        left_out = _distinct(n_codes, n_codes - count, rng)
        return np.setdiff1d(np.arange(n_codes), left_out, assume_unique=True)
    return _distinct(n_codes, count, rng)


def _distinct(n_codes, count, rng):
    """``count`` distinct numbers, every set of them with the same probability."""
    codes = np.unique(rng.integers(n_codes, size=count)) if count else np.empty(0, np.int64)
    while len(codes) < count:
        more = rng.integers(n_codes, size=count - len(codes))
        codes = np.unique(np.concatenate([codes, more]))
    return codes
