"""The generators draw what they say, and contacts are read as they are."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

from skfrontier.datasets import (
    fetch_high_school,
    fetch_primary_school,
    make_evolving_sbm,
    make_knn_stream,
    make_sbm_edges,
)


def dense(edges, n):
    A = np.zeros((n, n))
    np.add.at(A, tuple(edges.T), 1)
    return A + A.T


def test_pairs_of_a_block_model_have_their_probabilities():
    sizes, n_draws = [4, 3], 4000
    total = sum(dense(make_sbm_edges(sizes, [0.7, 0.2], 0.4, seed), 7) for seed in range(n_draws))
    expected = np.full((7, 7), 0.4)
    expected[:4, :4], expected[4:, 4:] = 0.7, 0.2
    np.fill_diagonal(expected, 0)
    error = np.sqrt(expected * (1 - expected) / n_draws)
    assert (np.abs(total / n_draws - expected) <= 5 * error).all()


def test_edges_are_distinct_and_no_loops():
    edges = make_sbm_edges([300, 200], 0.6, 0.3, 0)
    assert dense(edges, 500).max() == 1
    assert (edges[:, 0] != edges[:, 1]).all()
    assert len(make_sbm_edges([5, 5], 0.0, 0.0)) == 0
    assert len(make_sbm_edges([1, 1], 1.0, 1.0)) == 1


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"sizes": [0, 5]}, "sizes"),
        ({"p_in": 1.5}, "p_in"),
        ({"p_out": -0.1}, "p_out"),
    ],
)
def test_bad_block_models(parameters, match):
    with pytest.raises(ValueError, match=match):
        make_sbm_edges(**{"sizes": [5, 5], "p_in": 0.5, "p_out": 0.1, **parameters})


@pytest.mark.parametrize("scenario", ["new", "merge", "grow", "move"])
def test_streams_are_consistent_and_repeatable(scenario):
    def make():
        return make_evolving_sbm(
            60, 4, scenario=scenario, n_steps=2, n_changed=10, noise=1e-3, random_state=5
        )

    stream, again = make(), make()
    A = stream.adjacency.toarray()
    assert (A == A.T).all()
    assert len(stream) == 2
    for step, same in zip(stream.steps, again.steps, strict=True):
        np.testing.assert_array_equal(step.edges, same.edges)
        n = len(step.labels)
        grown = np.zeros((n, n))
        grown[: len(A), : len(A)] = A
        for u, v in step.removed:
            assert grown[u, v] > 0
            grown[u, v] = grown[v, u] = 0
        A = grown + dense(step.edges, n)
        assert (np.diag(A) == 0).all()


def test_what_changes_is_what_the_scenario_says():
    new = make_evolving_sbm(100, 3, scenario="new", n_steps=3, n_changed=20, random_state=0)
    born = [np.flatnonzero(step.labels == 3 + i) for i, step in enumerate(new.steps)]
    assert [len(vertices) for vertices in born] == [20, 20, 20]
    assert len(np.unique(np.concatenate(born))) == 60
    pairs = 190 * 0.95
    assert abs(len(new.steps[0].edges) - pairs) < 5 * np.sqrt(pairs * 0.05)
    merge = make_evolving_sbm([90, 10, 10, 90], 4, scenario="merge", n_steps=1, random_state=0)
    assert np.bincount(merge.steps[0].labels).tolist() == [90, 20, 0, 90]
    move = make_evolving_sbm(50, 3, scenario="move", n_steps=1, n_changed=5, random_state=0)
    moved = np.flatnonzero(move.steps[0].labels != move.labels)
    assert len(moved) == 5
    assert np.isin(move.steps[0].removed[:, 0], moved).all()
    with pytest.raises(ValueError, match="steps instead"):
        iter(move)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"scenario": "split"}, "scenario"),
        ({"scenario": "merge", "n_steps": 3}, "n_steps"),
        ({"n_steps": 30, "n_changed": 100}, "n_changed"),
        ({"n_clusters": 1}, "n_clusters"),
        ({"density": 2}, "density"),
    ],
)
def test_bad_streams(parameters, match):
    with pytest.raises(ValueError, match=match):
        make_evolving_sbm(**{"n_per_cluster": 50, "n_clusters": 4, **parameters})


@pytest.mark.parametrize("order", ["class", "random"])
def test_neighbor_stream_ends_in_the_graph_of_neighbors(order):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] + np.random.default_rng(0).random((300, 64)) * 1e-3, y[:300]
    stream = make_knn_stream(X, y, 5, order=order, batch=70, random_state=0)
    A = np.zeros((300, 300))
    A[:70, :70] = stream.adjacency.toarray()
    for edges, labels in stream:
        assert edges.max() < len(labels)
        A += dense(edges, 300)
    expected = kneighbors_graph(X, 5)
    expected = expected.maximum(expected.T)
    assert A.sum() == expected.sum()
    np.testing.assert_array_equal(np.sort(A.sum(0)), np.sort(np.asarray(expected.sum(0)).ravel()))
    if order == "class":
        assert (np.diff(stream.steps[-1].labels) != 0).sum() == 9
    assert sparse.issparse(stream.adjacency)
    with pytest.raises(ValueError, match="y must"):
        make_knn_stream(X, y[:5])


@pytest.mark.parametrize(
    ("fetch", "n_people", "n_contacts", "n_classes"),
    [(fetch_primary_school, 242, 125_773, 11), (fetch_high_school, 180, 45_047, 5)],
)
def test_contacts(fetch, n_people, n_contacts, n_classes):
    try:
        contacts = fetch(download_if_missing=False)
    except OSError as error:
        pytest.skip(str(error))
    assert len(contacts.people) == len(contacts.labels) == n_people
    assert contacts.edges.shape == (n_contacts, 2)
    assert len(contacts.classes) == n_classes
    assert (np.diff(contacts.time) >= 0).all()
    assert set(contacts.labels) == set(range(n_classes))


def test_missing_contacts_name_the_file(tmp_path):
    with pytest.raises(OSError, match=r"Primary_School\.csv is missing"):
        fetch_primary_school(data_home=tmp_path, download_if_missing=False)
