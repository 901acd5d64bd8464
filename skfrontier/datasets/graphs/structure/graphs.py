"""Graphs to hide in data."""

from collections.abc import Callable

import networkx as nx
import numpy as np

from skfrontier.algos._validation import RandomState, check_choice, check_count, check_generator


def make_graph(
    n_nodes: int, *, graph: str = "scale_free", random_state: RandomState = None
) -> np.ndarray:
    """An undirected graph of a named kind.

    Parameters
    ----------
    n_nodes : int
        Nodes, at least 2; a grid has ``floor(sqrt(n)) * (n // floor(sqrt(n)))`` of them.
    graph : str, default="scale_free"
        "chain", "grid", "hub" (stars of 10 nodes, of 20 from 400 nodes on), "erdos_renyi" (as many edges as
        nodes), "scale_free" (preferential attachment, a tree), "band" (circulant, neighbours at distance 1
        and 2), "empty", "watts_strogatz" (ring of degree 4, a fifth of the edges rewired), "block_model"
        (blocks of 10, mean degree about 4), "geometric" (points in a square, mean degree about 4).
    random_state : int, Generator, RandomState or None, default=None
        Chains, grids, hubs, bands and the empty graph are not random.

    Returns
    -------
    bool array of shape (n_nodes, n_nodes)
        Symmetric, without loops.

    Raises
    ------
    ValueError, TypeError
        If the kind is unknown or there are too few nodes.

    Examples
    --------
    >>> from skfrontier.datasets import make_graph
    >>> make_graph(4, graph="chain").sum(axis=0)
    array([1, 2, 2, 1])
    """
    p = check_count(n_nodes, "n_nodes", 2)
    check_choice(graph, "graph", tuple(_EDGES))
    rng = check_generator(random_state)
    pairs = np.array(_EDGES[graph](p, rng), dtype=np.int64).reshape(-1, 2)
    if graph == "grid":
        p = _grid_shape(p)[0] * _grid_shape(p)[1]
    adjacency = np.zeros((p, p), dtype=np.bool_)
    adjacency[pairs[:, 0], pairs[:, 1]] = adjacency[pairs[:, 1], pairs[:, 0]] = True
    np.fill_diagonal(adjacency, False)
    return adjacency


def _grid_shape(p: int) -> tuple[int, int]:
    side = int(np.sqrt(p))
    return side, p // side


def _grid(p: int, rng: np.random.Generator) -> list:
    rows, cols = _grid_shape(p)
    across = [(r * cols + c, r * cols + c + 1) for r in range(rows) for c in range(cols - 1)]
    down = [(r * cols + c, (r + 1) * cols + c) for r in range(rows - 1) for c in range(cols)]
    return across + down


def _hub(p: int, rng: np.random.Generator) -> list:
    size = 20 if p >= 400 else 10
    return [(j - j % size, j) for j in range(p) if j % size]


def _erdos_renyi(p: int, rng: np.random.Generator) -> np.ndarray:
    i, j = np.triu_indices(p, 1)
    chosen = rng.choice(i.size, min(p, i.size), replace=False)
    return np.column_stack([i[chosen], j[chosen]])


def _scale_free(p: int, rng: np.random.Generator) -> list:
    ends = [0, 1]  # every node as often as it has edges
    pairs = [(0, 1)]
    for node in range(2, p):
        target = ends[rng.integers(len(ends))]
        pairs.append((target, node))
        ends += [target, node]
    return pairs


def _geometric(p: int, rng: np.random.Generator) -> np.ndarray:
    points = rng.random((p, 2))
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    return np.argwhere(np.triu(distance < np.sqrt(4 / (np.pi * p)), 1))


def _block_model(p: int, rng: np.random.Generator) -> np.ndarray:
    block = np.arange(p) // 10
    chance = np.where(block[:, None] == block, 0.35, min(1.0, 1.0 / p))
    return np.argwhere(np.triu(rng.random((p, p)) < chance, 1))


def _watts_strogatz(p: int, rng: np.random.Generator) -> list:
    seed = int(rng.integers(2**31))
    return list(nx.watts_strogatz_graph(p, min(4, p - 1), 0.2, seed=seed).edges)


_EDGES: dict[str, Callable] = {
    "chain": lambda p, rng: [(j, j + 1) for j in range(p - 1)],
    "grid": _grid,
    "hub": _hub,
    "erdos_renyi": _erdos_renyi,
    "scale_free": _scale_free,
    "band": lambda p, rng: [(j, (j + step) % p) for step in (1, 2) for j in range(p)],
    "empty": lambda p, rng: [],
    "watts_strogatz": _watts_strogatz,
    "block_model": _block_model,
    "geometric": _geometric,
}
