"""Sampled values against the dense operator, in units of their standard errors."""

from itertools import islice

import numpy as np
import pytest
from signed_references import dense_operator, rows_of, small_cases

from skfrontier.algos import (
    absorbing_walk_entries,
    build_grounded_graph,
    forest_apply,
    forest_entries,
    push_residual,
)
from skfrontier.algos.graphs.propagation.pairs import PairSums
from skfrontier.algos.graphs.propagation.rows import RowSums

N_GRAPHS = 24


def pooled_z(estimate):
    """Deviations in standard errors of all entries of all graphs.

    Entries of one graph are correlated, about six of them are free: the mean of ``z**2`` over 24 graphs has a
    standard error of about 0.12.
    """
    z = []
    for A, labeled, seed in islice(small_cases(), N_GRAPHS):
        graph = build_grounded_graph(A, labeled)
        exact = rows_of(graph, dense_operator(A, labeled))
        value, stderr = estimate(graph, seed)
        certain = stderr < 1e-9
        np.testing.assert_allclose(value[certain], exact[certain], atol=1e-7)
        z.append(((value - exact)[~certain] / stderr[~certain]).ravel())
    return np.concatenate(z)


def assert_standard(z):
    assert np.abs(z).max() < 5.5
    assert 0.6 < np.mean(z**2) < 1.4


@pytest.mark.parametrize("smooth", [0, 1, 2])
def test_vectors(smooth):
    def estimate(graph, seed):
        result = forest_apply(
            graph, graph.source(np.eye(3)), n_forests=2000, batches=250, smooth=smooth,
            random_state=seed,
        )  # fmt: skip
        return result.value, result.stderr

    assert_standard(pooled_z(estimate))


@pytest.mark.parametrize("push", [None, 0.1, 3e-3])
@pytest.mark.parametrize("rao_blackwell", [True, False])
def test_entries(push, rao_blackwell):
    def estimate(graph, seed):
        shape = graph.n_unlabeled, 3
        rows, cols = np.indices(shape).reshape(2, -1)
        result = forest_entries(
            graph, rows, cols, n_forests=2000, push=push, rao_blackwell=rao_blackwell,
            random_state=seed,
        )  # fmt: skip
        raw = np.sqrt(result.variance / result.n_forests)
        return result.value.reshape(shape), raw.reshape(shape)

    assert_standard(pooled_z(estimate))


@pytest.mark.parametrize("push", [None, 0.1])
def test_rows(push):
    def estimate(graph, seed):
        sums = RowSums(graph, np.arange(graph.n_unlabeled), np.uint64(seed), push=push)
        sums.grow(125, None)
        result = sums.estimate()
        return result.value, result.stderr

    assert_standard(pooled_z(estimate))


def test_walks():
    def estimate(graph, seed):
        shape = graph.n_unlabeled, 3
        rows, cols = np.indices(shape).reshape(2, -1)
        result = absorbing_walk_entries(graph, rows, cols, n_walks=2000, random_state=seed)
        stderr = result.stderr.reshape(shape)
        exact_where_never_hit = np.where(stderr == 0, 1.0, stderr)
        return result.value.reshape(shape), exact_where_never_hit

    assert_standard(pooled_z(estimate))


def test_entries_from_either_side_agree():
    # Many pairs a row put residuals on the trees, many pairs a label put its edges there.
    A, labeled, _ = next(small_cases())
    graph = build_grounded_graph(A, labeled)
    rows, cols = np.indices((graph.n_unlabeled, 3)).reshape(2, -1)
    every = forest_entries(graph, rows, cols, push=None, random_state=0).value
    for i in range(rows.size):
        one = forest_entries(graph, rows[i : i + 1], cols[i : i + 1], push=None, random_state=0)
        assert one.value[0] == pytest.approx(every[i], abs=1e-12)


def test_rows_are_their_entries():
    A, labeled, _ = next(small_cases())
    graph = build_grounded_graph(A, labeled)
    rows, cols = np.indices((graph.n_unlabeled, 3)).reshape(2, -1)
    sums = RowSums(graph, np.arange(graph.n_unlabeled), np.uint64(5), push=0.05)
    sums.grow(3, None)
    pairs = PairSums(graph, rows, cols, np.uint64(5), push=0.05)
    pairs.grow(3, None)
    np.testing.assert_allclose(
        sums.estimate().value.ravel(), pairs.estimate().value, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("push", [0.3, 1e-2, 1e-5])
def test_push_identity(push):
    for A, labeled, _ in islice(small_cases(), 10):
        graph = build_grounded_graph(A, labeled)
        exact = rows_of(graph, dense_operator(A, labeled))
        xi, p = push_residual(graph, np.arange(graph.n_unlabeled), push=push)
        rest = p @ graph.ungauged(exact)
        np.testing.assert_allclose(graph.ungauged(xi @ graph.boundary + rest), exact, atol=1e-12)
        assert abs(p).sum(axis=1).max() <= 1 + 1e-12
