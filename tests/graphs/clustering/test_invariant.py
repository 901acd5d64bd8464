"""The master invariant: every maintained level is the exact quotient of the graph, after any call."""

import numpy as np
import pytest
from scipy import sparse

from skfrontier.algos import Hierarchy


def check_levels(graph, dense, tolerance):
    """Every maintained level is P'AP with its volumes, and its size."""
    np.testing.assert_allclose(graph.adjacency().toarray(), dense, rtol=0, atol=tolerance)
    np.testing.assert_allclose(graph.degrees(), dense.sum(axis=1), rtol=0, atol=tolerance)
    assert graph.n_edges == np.count_nonzero(dense) // 2
    for level in range(1, graph.n_maintained + 1):
        of = graph.level_map(level)
        assert of.min() >= 0
        n_nodes = graph.level_matrix(level).shape[0]
        P = np.zeros((len(dense), n_nodes))
        P[np.arange(len(dense)), of] = 1
        expected = P.T @ dense @ P
        np.testing.assert_allclose(
            graph.level_matrix(level).toarray(), expected, rtol=0, atol=tolerance
        )
        np.testing.assert_allclose(
            graph.level_volumes(level), expected.sum(axis=1), rtol=0, atol=tolerance
        )
        live = P.T @ (dense.sum(axis=1) > 0)
        np.testing.assert_array_equal(graph._levels.n_live(level), live)


def check_labels(graph, dense):
    """After a query exactly the isolated vertices have no label."""
    np.testing.assert_array_equal(graph.labels() < 0, dense.sum(axis=1) == 0)


def random_stream(seed, n_calls=40):
    """Play a random stream; the largest error would raise."""
    rng = np.random.default_rng(seed)
    integers = seed % 2 == 0
    n = int(rng.integers(5, 40))
    dense = np.triu(rng.random((n, n)) < 0.2, 1) * 1.0
    if not integers:
        dense *= rng.random((n, n)) * 3 + 1e-3
    dense = dense + dense.T
    graph = Hierarchy(
        sparse.csr_matrix(dense),
        n_clusters=None if seed % 3 == 0 else int(rng.integers(2, 6)),
        depth=int(rng.integers(2, 5)),
        beta=float(rng.choice([0.2, 0.5, 1, 2])),
        refine_rate=[None, 0.1, 0.25][int(rng.integers(3))],
        min_budget=int(rng.integers(2, 13)),
        micro_clusters=int(rng.integers(1, 5)),
        max_clusters=8,
        max_drift=float(rng.choice([1.0, 100.0])),
    )
    tolerance = 0 if integers else 1e-9
    graph.cluster(random_state=rng)
    check_labels(graph, dense)
    for _ in range(n_calls):
        kind = rng.choice(
            ["insert", "delete", "isolate", "grow", "query"], p=[0.35, 0.2, 0.1, 0.05, 0.3]
        )
        if kind == "insert":
            m = int(rng.integers(1, 6))
            edges = rng.integers(0, min(len(dense) + 2, 60), (m, 2))
            edges = edges[edges[:, 0] != edges[:, 1]]
            weights = (
                rng.integers(1, 4, len(edges)) * 1.0 if integers else rng.random(len(edges)) + 1e-3
            )
            grown = max(len(dense), edges.max(initial=0) + 1)
            dense = np.pad(dense, (0, grown - len(dense)))
            for (u, v), w in zip(edges, weights, strict=True):
                dense[u, v] += w
                dense[v, u] += w
            graph.insert(edges, weights)
        elif kind == "grow" and len(dense) < 58:
            graph.add_vertices(2)
            dense = np.pad(dense, (0, 2))
        elif kind in ("delete", "isolate"):
            edges = np.argwhere(np.triu(dense) > 0)
            if len(edges) == 0:
                continue
            if kind == "isolate":
                x = rng.choice(edges.ravel())
                edges = edges[(edges == x).any(axis=1)]
            else:
                edges = rng.permutation(edges)[: int(rng.integers(1, 8))]
            if kind == "delete" and rng.random() < 0.5:
                weights = dense[tuple(edges.T)]
                weights = np.ceil(weights / 2) if integers else weights / 2
                graph.delete(edges, weights)
            else:
                weights = dense[tuple(edges.T)]
                graph.delete(edges)
            for (u, v), w in zip(edges, weights, strict=True):
                dense[u, v] -= w
                dense[v, u] -= w
            dense[dense < 1e-12] = 0
        elif kind == "query":
            graph.cluster(full=bool(rng.random() < 0.1), random_state=rng)
            check_labels(graph, dense)
        check_levels(graph, dense, tolerance)
    return graph


@pytest.mark.parametrize("seed", range(40))
def test_levels_are_exact_quotients_after_every_call(seed):
    random_stream(seed)
