"""Quotients, spectral clustering of them, and their parts, against dense references."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse
from sklearn.metrics import adjusted_rand_score

from skfrontier.algos import (
    EdgeList,
    Hierarchy,
    block_log_affinity,
    eigengap,
    quotient,
    spectral_cluster_weighted,
    sz_sparsify,
    weighted_kmeans,
)
from skfrontier.algos.graphs.clustering.partition import persistent_ids, split_clusters
from skfrontier.algos.graphs.clustering.quotient import block_weights, conductances
from skfrontier.algos.graphs.clustering.spectral import bottom_eigenvectors
from skfrontier.algos.graphs.clustering.update import sweep_votes
from skfrontier.datasets import make_evolving_sbm, make_sbm_edges


def random_graph(rng, n, p=0.3):
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < p), 1)
    return A + A.T


def eigenvalues(A, ridge):
    live = A.sum(axis=1) > 0
    A, ridge = A[np.ix_(live, live)], ridge[live]
    scale = 1 / np.sqrt(A.sum(axis=1) + ridge)
    return np.linalg.eigvalsh(np.eye(len(A)) - scale[:, None] * A * scale)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 2))
def test_quotient_keeps_cuts_composes_and_interlaces(seed, tau):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 25))
    A = random_graph(rng, n)
    first = np.unique(rng.integers(0, n, n), return_inverse=True)[1]
    Q = quotient(A, first)
    second = np.unique(rng.integers(0, 4, Q.shape[0]), return_inverse=True)[1]
    composed = quotient(A, second[first]).toarray()
    np.testing.assert_allclose(quotient(Q, second).toarray(), composed, atol=1e-12)
    degree = A.sum(axis=1)
    np.testing.assert_allclose(composed.sum(axis=1), np.bincount(second[first], degree), atol=1e-12)
    for a, share in enumerate(conductances(composed)):
        inside = second[first] == a
        if degree[inside].sum() > 0:
            cut = A[np.ix_(inside, ~inside)].sum()
            assert share == pytest.approx(cut / degree[inside].sum(), abs=1e-12)
    sizes = np.bincount(first, degree > 0)
    of_quotient = eigenvalues(Q.toarray(), tau * sizes)
    of_graph = eigenvalues(A, tau * (degree > 0))
    assert (of_quotient >= of_graph[: len(of_quotient)] - 1e-8).all()


def test_quotient_leaves_out_negative_labels_and_refuses_bad_ones():
    A = np.ones((3, 3)) - np.eye(3)
    np.testing.assert_array_equal(quotient(A, [0, 0, -1]).toarray(), [[2.0]])
    for labels in ([0, 1], [0.5, 1, 1], [-2, 0, 0]):
        with pytest.raises(ValueError, match="labels"):
            quotient(A, labels)


def test_block_weights_are_the_dense_quotient():
    A = sparse.csr_matrix(random_graph(np.random.default_rng(0), 30))
    labels = np.random.default_rng(1).integers(-1, 4, 30)
    B = block_weights(A.indptr, A.indices, A.data, labels, 4)
    np.testing.assert_allclose(B, quotient(A, labels).toarray())


def test_affinity_is_the_log_of_observed_over_expected():
    B = np.array([[10.0, 1, 0], [1, 6, 2], [0, 2, 4]])
    affinity = block_log_affinity(B, 0.5)
    V, M = B.sum(axis=1), B.sum()
    assert affinity[0, 1] == pytest.approx(np.log(1 * M / (V[0] * V[1])))
    assert affinity[0, 2] == pytest.approx(np.log(0.5 * M / (V[0] * V[2])))
    empty = block_log_affinity([[2.0, 0], [0, 0]])
    assert (empty[1] == 0).all()
    with pytest.raises(ValueError, match="square"):
        block_log_affinity(np.ones((2, 3)))
    with pytest.raises(ValueError, match="non-negative"):
        block_log_affinity([[-1.0]])


def test_votes_of_a_sweep_are_the_likeliest_labels():
    rng = np.random.default_rng(0)
    A = random_graph(rng, 40, 0.2)
    labels = rng.integers(0, 3, 40)
    affinity, prior = rng.normal(size=(3, 3)), rng.normal(size=3)
    S = sparse.csr_matrix(A)
    swept = sweep_votes(S.indptr, S.indices, S.data, labels, affinity, prior)
    for x in range(40):
        weight = np.bincount(labels, A[x], minlength=3)
        if weight.sum() == 0:
            assert swept[x] == labels[x]
            continue
        score = np.where(weight > 0, affinity @ weight + prior, -np.inf)
        assert swept[x] == np.argmax(score)


# ------------------------------------------------------------------- spectral clustering
def test_embedding_and_eigenvalues_against_dense_algebra():
    rng = np.random.default_rng(0)
    A = random_graph(rng, 60)
    sizes = rng.integers(1, 4, 60)
    found = spectral_cluster_weighted(A, 3, tau=0.5, sizes=sizes, random_state=0)
    D = np.diag(A.sum(axis=1) + 0.5 * sizes)
    values, vectors = linalg.eigh(D - A, D)
    np.testing.assert_allclose(found.eigenvalues, values[:3], atol=1e-10)
    overlap = vectors[:, :3].T @ D @ found.embedding
    np.testing.assert_allclose(overlap @ overlap.T, np.eye(3), atol=1e-8)


def test_lanczos_agrees_with_dense():
    edges = make_sbm_edges([200] * 3, 0.1, 0.01, 0)
    A = EdgeList(edges, n_vertices=600).matrix()
    scale = 1 / np.sqrt(np.asarray(A.sum(axis=1)).ravel())
    rng = np.random.default_rng(0)
    values, vectors = bottom_eigenvectors(A, scale, 4, 1e-9, rng)
    np.testing.assert_allclose(values, eigenvalues(A.toarray(), np.zeros(600))[:4], atol=1e-7)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-6)


def test_no_eigenvalue_of_a_like_cluster_is_missed():
    """Eight equal clusters contracted, and 400 vertices born since, at the default accuracy."""
    stream = make_evolving_sbm(
        8000, 8, scenario="grow", n_steps=40, n_changed=10, degree_in=14, random_state=0
    )
    graph = Hierarchy(stream.adjacency, n_clusters=8, micro_clusters=2, min_budget=8)
    graph.cluster(random_state=0)
    for edges, _ in stream:
        graph.insert(edges)
    A = graph.level_matrix(1)
    live = np.asarray(A.sum(axis=1)).ravel() > 0
    A = A[live][:, live]
    exact = eigenvalues(A.toarray(), np.zeros(A.shape[0]))[:8]
    assert np.ptp(exact[1:]) < 0.02
    scale = 1 / np.sqrt(np.asarray(A.sum(axis=1)).ravel())
    for seed in range(20):
        values, _ = bottom_eigenvectors(A, scale, 8, 1e-3, np.random.default_rng(seed))
        np.testing.assert_allclose(values, exact, atol=1e-2)


@pytest.mark.parametrize("tau", [0.0, 0.3])
@pytest.mark.parametrize("k", [2, 4, 5])
def test_graph_in_pieces_has_all_its_multiple_eigenvalues(tau, k):
    """More than 400 nodes, so Lanczos, which alone would see each multiple eigenvalue once."""
    edges = make_sbm_edges([250, 250, 250, 40], 0.1, 0.0, 0)
    A = EdgeList(edges, n_vertices=790).matrix()
    degree = np.asarray(A.sum(axis=1)).ravel()
    live = degree > 0
    A, degree = A[live][:, live], degree[live]
    scale = 1 / np.sqrt(degree + tau)
    values, vectors = bottom_eigenvectors(A, scale, k, 1e-8, np.random.default_rng(0))
    exact = eigenvalues(A.toarray(), np.full(len(degree), tau))[:k]
    np.testing.assert_allclose(values, exact, atol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-6)


def test_components_are_clusters():
    edges = make_sbm_edges([300, 200, 100], 0.1, 0.0, 1)
    A = EdgeList(edges, n_vertices=600).matrix()
    truth = np.repeat([0, 1, 2], [300, 200, 100])
    found = spectral_cluster_weighted(A, random_state=0)
    assert found.n_clusters == 3
    assert adjusted_rand_score(found.labels, truth) == 1


@pytest.mark.parametrize(
    ("values", "kmin", "kmax", "n_nodes", "expected"),
    [
        ([0, 0.1, 0.5, 0.55], 2, 3, 50, 2),
        ([0, 0.1, 0.2, 0.6], 2, 3, 50, 3),
        ([0, 0.0, 0.0, 0.9], 1, 3, 50, 3),
        ([0, 0.25, 0.5, 0.75], 2, 3, 50, 2),  # ties to the smaller
        ([0, 0.01, 0.02], 2, 5, 3, 3),  # all nodes: the bulk at 1 follows
        ([0, 0.9], 2, 5, 2, 2),
        ([0.0], 2, 5, 1, 1),
    ],
)
def test_eigengap(values, kmin, kmax, n_nodes, expected):
    k, margin, _ = eigengap(values, kmin, kmax, n_nodes)
    assert k == expected
    assert 0 <= margin <= 1


def test_eigengap_says_how_clear_it_is():
    assert eigengap([0, 0.1, 0.5, 0.9], 2, 3, 9)[1:] == (pytest.approx(0.0, abs=1e-12), 3)
    assert eigengap([0, 0.0, 0.8, 0.9], 2, 3, 9)[1] == pytest.approx(1 - 0.1 / 0.8)
    with pytest.raises(ValueError, match="kmin"):
        eigengap([0, 1], 3, 2, 9)


def test_bad_input_of_spectral_clustering():
    A = np.ones((4, 4)) - np.eye(4)
    for parameters in ({"tau": -1}, {"sizes": [1]}, {"n_clusters": 0}, {"kmin": 5, "kmax": 2}):
        with pytest.raises(ValueError):
            spectral_cluster_weighted(A, **parameters)
    with pytest.raises(ValueError, match="square"):
        spectral_cluster_weighted(np.ones((2, 3)))


# ------------------------------------------------------------------- k-means
def test_kmeans_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 6])
    weights = rng.integers(1, 5, 40)
    result = weighted_kmeans(X, weights, 2, random_state=0)
    repeated = weighted_kmeans(np.repeat(X, weights, axis=0), np.ones(weights.sum()), 2)
    assert result.cost == pytest.approx(repeated.cost)
    expected = sum(
        w * np.min(((x - result.centers) ** 2).sum(axis=1)) for x, w in zip(X, weights, strict=True)
    )
    assert result.cost == pytest.approx(expected)


def test_kmeans_finds_a_cluster_of_little_weight_far_off():
    X = np.concatenate([np.zeros((50, 1)) + np.arange(50)[:, None] * 1e-3, [[100.0]]])
    result = weighted_kmeans(X, np.r_[np.ones(50), 0.01], 2, random_state=0)
    assert (result.labels == result.labels[-1]).sum() == 1


def test_kmeans_of_equal_points_and_few_points():
    assert weighted_kmeans(np.zeros((5, 2)), np.ones(5), 3, random_state=0).cost == 0
    assert len(weighted_kmeans([[0.0], [1.0]], [1, 1], 5).centers) == 2
    for weights in ([1.0], [0.0, 1.0], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="weights"):
            weighted_kmeans([[0.0], [1.0]], weights, 1)


# ------------------------------------------------------------------- sparsifier
def test_sample_is_unbiased_and_small():
    edges = make_sbm_edges([100, 100], 0.9, 0.3, 0)
    A = EdgeList(edges, n_vertices=200).matrix()
    samples = [sz_sparsify(A, 1.0, seed) for seed in range(60)]
    sizes = np.array([sample.nnz / 2 for sample in samples])
    assert sizes.mean() <= 200 * np.log(200)
    assert (samples[0] != samples[0].T).nnz == 0
    totals = np.array([sample.sum() for sample in samples])
    deviation = totals.std(ddof=1) / np.sqrt(60)
    assert abs(totals.mean() - A.sum()) < 4 * deviation


def test_coins_are_those_of_the_edge():
    edges = make_sbm_edges([150], 0.9, 0.0, 0)
    A = EdgeList(edges, n_vertices=150).matrix()
    assert (sz_sparsify(A, 1.0, 3) != sz_sparsify(A, 1.0, 3)).nnz == 0
    assert (sz_sparsify(A, 1.0, 3) != sz_sparsify(A, 1.0, 4)).nnz > 0
    assert (sz_sparsify(A, 1e6) != A).nnz == 0


def test_dense_graph_is_clustered_from_a_sample():
    edges = make_sbm_edges([250, 250], 0.9, 0.2, 0)
    graph = Hierarchy(EdgeList(edges, n_vertices=500), n_clusters=2, depth=2, sparsify=True)
    graph.cluster(random_state=0)
    truth = np.repeat([0, 1], 250)
    assert adjusted_rand_score(graph.labels(), truth) == 1
    exact = conductances(block_weights(*_parts(graph.adjacency()), graph.labels(), 2))
    np.testing.assert_allclose(graph.report.conductances, exact)


def _parts(A):
    return A.indptr, A.indices, A.data


def test_conductances_of_a_level_are_those_of_the_graph():
    edges = make_sbm_edges([100] * 3, 0.2, 0.02, 0)
    graph = Hierarchy(EdgeList(edges, n_vertices=300), n_clusters=3, depth=3, min_budget=30)
    graph.cluster(random_state=0)
    rng = np.random.default_rng(0)
    levels = set()
    for _ in range(15):
        new = rng.integers(0, 300, (25, 2))
        graph.insert(new[new[:, 0] != new[:, 1]])
        report = graph.cluster(random_state=0)
        levels.add(report.level)
        B = block_weights(*_parts(graph.adjacency()), graph.labels(), 3)
        np.testing.assert_allclose(report.conductances, conductances(B), atol=1e-12)
    assert max(levels) > 0


# ------------------------------------------------------------------- pieces and ids
def test_pieces_stay_inside_their_cluster():
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 3, 60)
    piece, owner = split_clusters(rng.normal(size=(60, 3)), np.ones(60), labels, 3, 4, rng)
    assert (piece[labels < 0] == -1).all()
    live = labels >= 0
    np.testing.assert_array_equal(owner[piece[live]], labels[live])
    assert len(owner) <= 12
    assert set(piece[live]) == set(range(len(owner)))


def test_ids_follow_the_largest_common_volume():
    previous = np.array([5, 5, 5, 2, 2, -1])
    labels = np.array([1, 1, 0, 0, 0, 2])
    ids = persistent_ids(labels, previous, np.ones(6), 3)
    assert ids.tolist() == [2, 5, 0]
    assert persistent_ids(labels, np.full(6, -1), np.ones(6), 3).tolist() == [0, 1, 2]
    heavy = persistent_ids(labels, previous, np.array([1, 1, 9, 1, 1, 1.0]), 3)
    assert heavy.tolist() == [5, 0, 1] or heavy[0] == 5
