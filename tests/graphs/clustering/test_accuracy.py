"""How well streams are followed, beside full spectral clustering: bars with few seeds."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from skfrontier.algos import EdgeList, quotient
from skfrontier.datasets import (
    fetch_high_school,
    fetch_primary_school,
    make_evolving_sbm,
    make_knn_stream,
    make_sbm_edges,
)
from skfrontier.estimators import DynamicSpectralClustering, UnclearGapWarning

pytestmark = pytest.mark.filterwarnings("ignore::skfrontier.estimators.UnclearGapWarning")


def full_labels(model, k):
    """Plain full spectral clustering of the graph of now."""
    plain = DynamicSpectralClustering(n_clusters=k, depth=1, refine_rate=None, random_state=0)
    return plain.fit(model.adjacency()).labels_


def school(fetch):
    try:
        return fetch(download_if_missing=False)
    except OSError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_clusters_that_are_born(depth, beta):
    stream = make_evolving_sbm(
        1500, 6, n_steps=4, n_changed=100, degree_in=60, degree_out=6, random_state=0
    )
    model = DynamicSpectralClustering(n_clusters=6, depth=depth, beta=beta, random_state=0)
    model.fit(stream.adjacency)
    for k, (edges, truth) in enumerate(stream, start=7):
        labels = model.set_params(n_clusters=k).partial_fit(edges).query()
        assert adjusted_rand_score(truth, labels) >= 0.99
        assert depth == 2 or model.last_query_["level"] > 0


@pytest.mark.parametrize(("depth", "share"), [(2, 1 / 7), (3, 1 / 20)])
def test_vertices_that_move(depth, share):
    stream = make_evolving_sbm(1000, 8, scenario="move", n_steps=20, n_changed=10, random_state=0)
    model = DynamicSpectralClustering(n_clusters=8, depth=depth, random_state=0)
    model.fit(stream.adjacency)
    levels = []
    for step in stream.steps:
        labels = model.delete(step.removed).partial_fit(step.edges).query()
        levels.append(model.last_query_["level"])
        assert adjusted_rand_score(step.labels, labels) >= 0.99
    assert levels.count(0) <= share * len(levels)


def test_number_of_clusters_is_followed():
    stream = make_evolving_sbm(
        600, 8, scenario="merge", n_steps=4, degree_in=20, degree_out=2, random_state=0
    )
    model = DynamicSpectralClustering(random_state=0).fit(stream.adjacency)
    assert model.n_clusters_ == 8
    for k, (edges, truth) in zip((7, 6, 5, 4), stream, strict=True):
        labels = model.partial_fit(edges).query()
        assert model.n_clusters_ == k
        assert adjusted_rand_score(truth, labels) >= 0.98


def weak_stream(seed):
    rng = np.random.default_rng(seed)
    first, second = (make_sbm_edges([1000] * 4, 6 / 999, 4 / 3000, rng) for _ in range(2))
    return first, np.array_split(rng.permutation(second), 48)


def test_votes_follow_a_weak_signal():
    truth, gaps = np.repeat(np.arange(4), 1000), []
    for seed in range(3):
        first, batches = weak_stream(seed)
        model = DynamicSpectralClustering(n_clusters=4, random_state=seed)
        model.fit(EdgeList(first, n_vertices=4000))
        levels = [0]
        for i, batch in enumerate(batches):
            labels = model.partial_fit(batch).query()
            levels.append(model.last_query_["level"])
            if i % 4 == 3:
                full = adjusted_rand_score(truth, full_labels(model, 4))
                gaps.append(adjusted_rand_score(truth, labels) - full)
        assert levels.count(0) <= 3
    steps = np.mean(np.reshape(gaps, (3, 12)), axis=0)
    assert steps.mean() >= 0
    assert steps.min() >= -0.03


def with_pairs(edges, n):
    pairs = n + np.arange(60).reshape(-1, 2)
    return EdgeList(np.concatenate([edges, pairs]), n_vertices=n + 60)


def test_fringe_of_a_sparse_graph_is_no_cluster():
    truth, scores = np.repeat(np.arange(4), 1000), []
    for seed in range(3):
        edges = make_sbm_edges([1000] * 4, 6 / 999, 4 / 3000, seed)
        graph = with_pairs(edges, 4000)
        model = DynamicSpectralClustering(n_clusters=4, random_state=0).fit(graph)
        scores.append(adjusted_rand_score(truth, model.labels_[:4000]))
        assert model.last_query_["regularization"] > 0
        assert DynamicSpectralClustering(random_state=0).fit(graph).n_clusters_ == 4
    assert np.mean(scores) >= 0.60


@pytest.mark.parametrize("fetch", [fetch_primary_school, fetch_high_school])
def test_dense_contacts_are_not_regularised(fetch):
    contacts = school(fetch)
    model = DynamicSpectralClustering(random_state=0).fit(EdgeList(contacts.edges))
    assert model.last_query_["regularization"] == 0
    if fetch is fetch_primary_school:
        assert model.n_clusters_ == 10


def test_votes_do_no_harm_to_unequal_sizes():
    sizes = np.array([3000, 500, 300, 200])
    truth, scores = np.repeat(np.arange(4), sizes), {0.1: [], None: []}
    for seed in range(3):
        edges = make_sbm_edges(sizes, 8 / (sizes - 1), 4 / 3000, seed)
        for rate in scores:
            model = DynamicSpectralClustering(n_clusters=4, refine_rate=rate, random_state=0)
            model.fit(EdgeList(edges, n_vertices=4000))
            scores[rate].append(adjusted_rand_score(truth, model.labels_))
    assert np.mean(scores[0.1]) >= np.mean(scores[None]) - 0.005


def test_digits_that_arrive():
    X, y = load_digits(return_X_y=True)
    gaps, finals = [], []
    for seed in range(5):
        stream = make_knn_stream(X, y, 10, batch=45, random_state=seed)
        model = DynamicSpectralClustering(n_clusters=1, random_state=seed)
        model.fit(stream.adjacency)
        for edges, truth in stream:
            k = len(np.unique(truth))
            model.set_params(n_clusters=k).partial_fit(edges, n_vertices=len(truth))
            score = adjusted_rand_score(truth, model.query())
            gaps.append(score - adjusted_rand_score(truth, full_labels(model, k)))
        finals.append(score)
    assert np.mean(gaps) >= -0.02
    assert np.mean(finals) >= 0.75


def test_a_school_day():
    contacts = school(fetch_primary_school)
    pupils = np.array(contacts.classes)[contacts.labels] != "Teachers"
    truth, start = contacts.labels[pupils], len(contacts.edges) // 5
    model = DynamicSpectralClustering(n_clusters=10, min_budget=16, random_state=0)
    model.fit(EdgeList(contacts.edges[:start], n_vertices=len(contacts.people)))
    levels, gaps = [], []
    for chunk in np.array_split(contacts.edges[start:], 60):
        score = adjusted_rand_score(truth, model.partial_fit(chunk).query()[pupils])
        levels.append(model.last_query_["level"])
        gaps.append(score - adjusted_rand_score(truth, full_labels(model, 10)[pupils]))
    assert score >= 0.98
    assert np.mean(gaps) >= -0.02
    assert levels.count(0) <= 0.12 * 60


def test_no_warning_where_the_gap_is_clear():
    stream = make_evolving_sbm(300, 4, scenario="grow", n_steps=3, n_changed=5, random_state=0)
    model = DynamicSpectralClustering(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnclearGapWarning)
        model.fit(stream.adjacency)
        for edges, _ in stream:
            model.partial_fit(edges).query()
    assert model.gap_margin_ > 0.2


def test_adversary_below_every_threshold_is_bounded_by_the_drift():
    """Each vertex gets just too few edges to leave its block, all of them across a new partition."""
    n, rng = 4000, np.random.default_rng(0)
    old, new = np.repeat(np.arange(4), 1000), rng.permutation(np.repeat(np.arange(4), 1000))
    edges = make_sbm_edges([1000] * 4, 16 / 999, 2 / 3000, rng)
    model = DynamicSpectralClustering(n_clusters=4, random_state=0)
    model.fit(EdgeList(edges, n_vertices=n))
    start = lost_volume(model.adjacency(), model.labels_)
    degree = np.asarray(model.adjacency().sum(axis=1)).ravel()
    stubs = np.repeat(np.arange(n), np.ceil(0.95 * degree).astype(int) - 1)
    parts = [rng.permutation(stubs[new[stubs] == group]) for group in range(4)]
    added = np.concatenate([part[: len(part) // 2 * 2].reshape(-1, 2) for part in parts])
    added = added[added[:, 0] != added[:, 1]]
    for batch in np.array_split(added, 20):
        model.partial_fit(batch).query()
        assert model.last_query_["level"] > 0
    assert all(level["pulled"] == 0 for level in model.levels_)
    assert adjusted_rand_score(old, model.labels_) > 0.99  # it has not seen the new partition
    drift = 2 * len(added) / degree.sum()
    now = lost_volume(model.adjacency(), model.labels_)
    assert now <= (start + drift) / (1 + drift) + 1e-12
    assert now <= lost_volume(model.adjacency(), full_labels(model, 4)) + 0.05
    # a little more, and the graph itself is clustered
    model.partial_fit(added[: int(degree.sum() * (1.001 - drift) / 2) + 1]).query()
    assert model.last_query_["level"] == 0
    assert adjusted_rand_score(new, model.labels_) > 0.9


def lost_volume(A, labels):
    """Share of the volume that leaves its cluster."""
    B = quotient(A, labels)
    return 1 - B.diagonal().sum() / B.sum()


def test_many_moves_call_for_a_full_solve():
    """From below the threshold of detection to above it: votes alone would keep the early noise."""
    truth, gaps, moved = np.repeat(np.arange(4), 1000), [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        edges = rng.permutation(make_sbm_edges([1000] * 4, 10.8 / 999, 9.2 / 3000, rng))
        half = len(edges) // 2
        model = DynamicSpectralClustering(n_clusters=4, random_state=seed)
        model.fit(EdgeList(edges[:half], n_vertices=4000))
        for i, batch in enumerate(np.array_split(edges[half:], 48)):
            score = adjusted_rand_score(truth, model.partial_fit(batch).query())
            moved.append(model.last_query_["moved"])
            if i % 6 == 5:
                gaps.append(score - adjusted_rand_score(truth, full_labels(model, 4)))
    assert max(moved) > 0.08
    assert np.mean(gaps) >= -0.01


@pytest.mark.parametrize("sizes", [(1000, 1000, 1000, 1000), (2000, 1000, 600, 400)])
def test_sparse_clusters_that_become_detectable_are_followed(sizes):
    """Ten edges a vertex, four in ten of them to other clusters: plain clustering goes from .08 to .6."""
    sizes, gaps = np.array(sizes), []
    truth = np.repeat(np.arange(4), sizes)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        edges = rng.permutation(make_sbm_edges(sizes, 5.9 / (sizes - 1), 4.1 / 3000, rng))
        half = len(edges) // 2
        model = DynamicSpectralClustering(n_clusters=4, random_state=seed)
        model.fit(EdgeList(edges[:half], n_vertices=4000))
        for i, batch in enumerate(np.array_split(edges[half:], 48)):
            score = adjusted_rand_score(truth, model.partial_fit(batch).query())
            if i % 8 == 7:
                gaps.append(score - adjusted_rand_score(truth, full_labels(model, 4)))
    assert np.mean(gaps) >= -0.01
