"""The law of the forests, against all forests of small graphs."""

import numpy as np
import pytest
from scipy import stats
from signed_references import all_forests, dense_operator, random_signed, rows_of

from skfrontier.algos import build_grounded_graph, sample_forest
from skfrontier.algos.graphs.propagation.averages import (
    add_node_values,
    root_values,
    tree_kills,
    tree_means,
)
from skfrontier.algos.graphs.propagation.forest import draw_forests, new_forests
from skfrontier.algos.graphs.propagation.random import stream_seeds
from skfrontier.algos.graphs.propagation.smoothing import signed_adjacency
from skfrontier.datasets import make_signed_random


def graph_of(signs):
    """Inner edges with given signs and uneven weights, two labels beside some nodes."""
    n = 1 + max(max(edge) for edge in signs)
    A = np.zeros((n + 2, n + 2))
    for i, ((u, v), sign) in enumerate(signs.items()):
        A[u, v] = sign * (0.5 + 0.4 * i)
    A[0, n], A[1, n + 1], A[0, n + 1] = 0.7, -1.1, 0.3
    return build_grounded_graph(A + A.T, [n, n + 1]), A + A.T


TRIANGLE = ((0, 1), (1, 2), (0, 2))
CHORDED = ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2))
CASES = {
    "frustrated triangle": dict(zip(TRIANGLE, (1, 1, -1), strict=True)),
    "balanced triangle": dict(zip(TRIANGLE, (-1, 1, -1), strict=True)),
    "chorded cycle": dict(zip(CHORDED, (1, -1, 1, 1, -1), strict=True)),
}


@pytest.mark.parametrize("name", CASES)
def test_mean_over_all_forests_is_the_operator(name):
    graph, A = graph_of(CASES[name])
    law = all_forests(graph, signed_adjacency(graph).toarray())
    exact = rows_of(graph, dense_operator(A, graph.labeled))
    kills, values = np.empty((2, 2 * graph.n_boundary))
    for estimator in ("tree", "root"):
        mean = np.zeros_like(exact)
        for roots, probability in law.items():
            forest = np.array(roots, dtype=np.int32)
            tree_kills(forest, graph.killing, kills)
            for label in range(exact.shape[1]):
                b = graph.boundary[:, [label]].toarray().ravel()
                if estimator == "tree":
                    tree_means(forest, kills, b, values)
                else:
                    root_values(forest, graph.killing, b, values)
                one = np.zeros(graph.n_unlabeled)
                add_node_values(forest, graph.lift, values, one)
                mean[:, label] += probability * graph.gauge * one
        np.testing.assert_allclose(mean, exact, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_forests_are_drawn_by_their_law(name):
    graph, _ = graph_of(CASES[name])
    law = all_forests(graph, signed_adjacency(graph).toarray())
    n_forests = 200_000
    forests = new_forests(graph, n_forests)
    draw_forests(graph, stream_seeds(np.uint64(7), 0, n_forests), forests)
    seen, counts = np.unique(forests, axis=0, return_counts=True)
    observed = dict(zip(map(tuple, seen.tolist()), counts, strict=True))
    assert set(observed) <= set(law)
    expected = np.array([n_forests * p for p in law.values()])
    found = np.array([observed.get(roots, 0) for roots in law])
    rare = expected < 10
    if rare.any():
        expected = np.append(expected[~rare], expected[rare].sum())
        found = np.append(found[~rare], found[rare].sum())
    assert stats.chisquare(found, expected).pvalue > 1e-4


@pytest.mark.parametrize("weights", [None, "uniform"])
def test_interleaved_forests_are_those_grown_alone(weights):
    A = make_signed_random(3000, 6, 0.2, model="ba", weights=weights, random_state=0)
    graph = build_grounded_graph(A, np.arange(0, 3000, 50))
    seeds = stream_seeds(np.uint64(1), 0, 9)
    together, alone = new_forests(graph, 9), new_forests(graph, 1)
    draw_forests(graph, seeds, together)
    for w in range(9):
        draw_forests(graph, seeds[w : w + 1], alone)
        np.testing.assert_array_equal(alone[0], together[w])


def test_forest_is_a_partition_into_killed_trees():
    A = make_signed_random(500, 4, 0.3, random_state=3)
    graph = build_grounded_graph(A, np.arange(25))
    forest = sample_forest(graph, random_state=0)
    used = forest >= 0
    np.testing.assert_array_equal(used[1::2], graph.lift)
    assert used[::2].all()
    np.testing.assert_array_equal(forest[forest[used]], forest[used])
    kills = np.bincount(forest[used], np.repeat(graph.killing, 2)[used])
    assert (kills[forest[used]] > 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_number_of_steps_is_the_trace(seed):
    A = random_signed(12, seed)
    graph = build_grounded_graph(A, [0, 5])
    S = signed_adjacency(graph).toarray()
    d = np.diag(graph.degree)
    expected = np.trace(np.linalg.inv(d - abs(S)) @ d)
    expected += (np.diag(np.linalg.inv(d - S) @ d))[graph.lift].sum()
    n_forests = 40_000
    forests = new_forests(graph, n_forests)
    steps = draw_forests(graph, stream_seeds(np.uint64(seed), 0, n_forests), forests)
    assert steps / n_forests == pytest.approx(expected, rel=0.01)
    assert graph.step_bound <= expected


def test_tiny_kill_weights_keep_their_ratio():
    # Two nodes, edge 1: the only tree's root is the second node in a share 3.3 / 4.3.
    A = np.zeros((4, 4))
    A[0, 1], A[0, 2], A[1, 3] = 1.0, 1e-4, 3.3e-4
    graph = build_grounded_graph(A + A.T, [2, 3])
    forests = new_forests(graph, 2000)
    draw_forests(graph, stream_seeds(np.uint64(0), 0, 2000), forests)
    share = np.mean(forests[:, 0] == 2)
    expected = 33 / 43
    assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / 2000)


def test_alias_tables_keep_small_probabilities():
    weights = np.array([1e-15, 3e-9, 0.5, 1.0, 1e-4, 2.0, 7.0])
    A = np.zeros((8, 8))
    A[0, 1:] = weights
    graph = build_grounded_graph(A + A.T, [1])
    size = weights.size
    assert graph.indptr[1] == size  # one kill slot, six neighbours
    chance = np.zeros(size)
    codes = graph.code[:size].tolist()
    for i, (threshold, other) in enumerate(
        zip(graph.threshold[:size].astype(float), graph.other[:size], strict=True)
    ):
        chance[i] += threshold / size
        chance[codes.index(other)] += (1 - threshold) / size
    np.testing.assert_allclose(chance, weights / weights.sum(), rtol=1e-6)
