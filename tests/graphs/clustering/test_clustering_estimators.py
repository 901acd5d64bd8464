"""The estimators: scikit-learn's contract, streams, names, persistence, refused calls."""

import copy
import os
import pickle
import subprocess
import sys
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.algos import EdgeList
from skfrontier.datasets import make_evolving_sbm, make_sbm_edges
from skfrontier.estimators import (
    DynamicKNNSpectralClustering,
    DynamicSpectralClustering,
    UnclearGapWarning,
)

_NO_METHOD = {"check_sparsify_coefficients": "sparsify is a parameter here, not the method"}
_GRAPHS = {
    "check_clustering": "brings 50 points with 2 features, which are no adjacency matrix",
    "check_clustering(readonly_memmap=True)": "the same",
    "check_fit_score_takes_y": "the second argument of partial_fit is weights, as edges have no y",
    "check_n_features_in_after_fitting": "gives a matrix to partial_fit, which takes edges",
    "check_estimators_partial_fit_n_features": "the same",
}


@parametrize_with_checks(
    [DynamicKNNSpectralClustering(), DynamicSpectralClustering()],
    expected_failed_checks=lambda model: (
        _NO_METHOD | _GRAPHS if isinstance(model, DynamicSpectralClustering) else _NO_METHOD
    ),
)
@pytest.mark.filterwarnings("ignore::skfrontier.estimators.UnclearGapWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def stream():
    return make_evolving_sbm(
        200, 4, scenario="grow", n_steps=12, n_changed=6, degree_out=1, random_state=0
    )


def state_of(model):
    """Everything that a call which is refused, or only looks, must leave as it is."""
    return (
        model.levels_,
        model.n_edges_,
        model.n_vertices_,
        model.n_pending_,
        model.labels_.tolist(),
        model._rng.bit_generator.state["state"]["state"],
    )


def test_stream_is_followed_at_the_coarsest_level(stream):
    model = DynamicSpectralClustering(n_clusters=4, random_state=0).fit(stream.adjacency)
    for edges, truth in stream:
        labels = model.partial_fit(edges).query()
        assert adjusted_rand_score(labels, truth) > 0.99
        np.testing.assert_array_equal(model.query(range(5)), labels[:5])
        np.testing.assert_array_equal(model.labels_, labels)
    assert model.last_query_["level"] > 0
    assert model.n_clusters_ == 4
    assert model.conductances_.max() < 0.2


def test_depth_one_without_votes_is_full_spectral_clustering(stream):
    parameters = {"n_clusters": 4, "refine_rate": None, "depth": 1, "random_state": 0}
    model = DynamicSpectralClustering(**parameters).fit(stream.adjacency)
    for edges, _ in stream:
        model.partial_fit(edges)
    labels = model.query()
    again = DynamicSpectralClustering(**parameters).fit(model.adjacency())
    assert adjusted_rand_score(labels, again.labels_) == pytest.approx(1.0, abs=0.02)
    assert model.last_query_["level"] == 0


def test_same_seed_same_labels(stream):
    def run():
        model = DynamicSpectralClustering(random_state=3).fit(stream.adjacency)
        return [model.partial_fit(edges).query() for edges, _ in stream]

    for first, second in zip(run(), run(), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("factor", [0.125, 1e-9, 1e9, 1e-99, 1e99])
def test_scaled_weights_give_the_same_labels(stream, factor):
    def run(scale):
        model = DynamicSpectralClustering(n_clusters=4, random_state=0)
        model.fit(stream.adjacency * scale)
        for edges, _ in stream:
            model.partial_fit(edges, np.full(len(edges), scale)).query()
        return model.labels_

    np.testing.assert_array_equal(run(1.0), run(factor))


def test_new_edges_inside_clusters_change_no_label(stream):
    model = DynamicSpectralClustering(n_clusters=4, random_state=0).fit(stream.adjacency)
    before = model.labels_
    rng = np.random.default_rng(0)
    for _ in range(5):
        edges = rng.integers(0, 200, (30, 2)) + 200 * rng.integers(0, 4, (30, 1))
        model.partial_fit(edges[edges[:, 0] != edges[:, 1]])
        np.testing.assert_array_equal(model.query(), before)


def test_untouched_vertices_keep_their_labels_when_a_cluster_is_born():
    stream = make_evolving_sbm(
        500, 4, scenario="new", n_steps=3, n_changed=60, degree_in=30, random_state=0
    )
    model = DynamicSpectralClustering(n_clusters=4, random_state=0).fit(stream.adjacency)
    for k, (edges, _) in enumerate(stream, start=5):
        before = model.labels_
        after = model.set_params(n_clusters=k).partial_fit(edges).query()
        untouched = np.setdiff1d(np.arange(2000), edges)
        assert np.mean(before[untouched] == after[untouched]) >= 0.99
        assert model.cluster_ids_.tolist() == list(range(k))


def test_another_number_of_clusters(stream):
    model = DynamicSpectralClustering(n_clusters=2, random_state=0).fit(stream.adjacency)
    assert model.set_params(n_clusters=4).query().max() == 3
    assert model.last_query_["level"] == 0  # blocks cannot be split
    model.set_params(n_clusters=3).query()
    assert model.last_query_["level"] == 2
    with pytest.raises(ValueError, match="fit again"):
        model.set_params(depth=2).query()


def test_clean_query_solves_nothing(stream):
    model = DynamicSpectralClustering(n_clusters=4, random_state=0).fit(stream.adjacency)
    report = model.last_query_
    before = state_of(model)
    model.query()
    model.query([1, 2])
    assert model.last_query_ == report
    assert state_of(model) == before
    model.query(full=True)
    assert model.last_query_["seconds"] != report["seconds"]


def test_looking_changes_nothing(stream):
    model = DynamicSpectralClustering(random_state=0).fit(stream.adjacency)
    model.partial_fit(stream.steps[0].edges)
    before = state_of(model)
    repr(model)
    model._repr_html_()
    for name in dir(model):
        if name.endswith("_") and not name.startswith("_"):
            getattr(model, name)
    assert state_of(model) == before


@pytest.mark.parametrize("n_steps", [0, 1, 5, 12])
def test_pickled_in_the_middle_it_continues_alike(stream, n_steps):
    model = DynamicSpectralClustering(n_clusters=4, random_state=0).fit(stream.adjacency)
    for edges, _ in list(stream)[:n_steps]:
        model.partial_fit(edges).query()
    model.partial_fit([(0, 1), (2, 3)])
    others = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for edges, _ in list(stream)[n_steps:]:
        expected = model.partial_fit(edges).query()
        for other in others:
            np.testing.assert_array_equal(other.partial_fit(edges).query(), expected)


def test_large_model_goes_to_another_process(tmp_path):
    n = 100_000
    edges = make_sbm_edges([n // 10] * 10, 8e-4, 2e-5, 0)
    batches = np.array_split(np.random.default_rng(0).permutation(edges), 40)
    model = DynamicSpectralClustering(n_clusters=10, random_state=0)
    model.fit(EdgeList(np.concatenate(batches[4:]), n_vertices=n))
    model.partial_fit(batches[0]).query()
    model.partial_fit(batches[1])
    file = tmp_path / "model.pickle"
    file.write_bytes(pickle.dumps((model, batches[2])))
    code = (
        "import pickle, sys; model, edges = pickle.load(open(sys.argv[1], 'rb'));"
        "print(hash(model.partial_fit(edges).query().tobytes()))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    run = [sys.executable, "-c", code, str(file)]
    printed = subprocess.run(run, capture_output=True, text=True, check=True, env=environment)
    expected = model.partial_fit(batches[2]).query()
    assert model.last_query_["level"] > 0
    here = subprocess.run(
        [sys.executable, "-c", "import sys; print(hash(sys.stdin.buffer.read()))"],
        input=expected.tobytes(),
        capture_output=True,
        check=True,
        env=environment,
    )
    assert printed.stdout.strip() == here.stdout.decode().strip()


# ------------------------------------------------------------------- forms of a graph
def barbell():
    """Two cliques of five with one edge between them."""
    return nx.barbell_graph(5, 0)


def same_partition(labels):
    return len(set(labels[:5])) == 1 and len(set(labels[5:])) == 1 and labels[0] != labels[5]


def test_networkx_graph_keeps_names():
    graph = nx.relabel_nodes(barbell(), {i: f"v{i}" for i in range(10)})
    model = DynamicSpectralClustering(n_clusters=2, random_state=0).fit(graph)
    assert model.nodes_ == list(graph.nodes)
    assert same_partition(model.labels_)
    model.partial_fit([("v0", "new"), ("v1", "new"), ("v2", "new")])
    assert model.nodes_[-1] == "new"
    assert model.query(["new"])[0] == model.query(["v0"])[0]
    model.delete([("v4", "v5")])
    assert model.conductances_ is not None
    assert model.query(["v4", "v5"]).tolist() == model.query(["v0", "v9"]).tolist()
    assert model.add_vertices(["lonely"]).tolist() == [11]
    assert model.query(["lonely"]).tolist() == [-1]


def test_tuples_and_integers_are_names_too():
    grid = nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(4))
    graph = nx.relabel_nodes(grid, {i: (i, "x") for i in range(8)})
    model = DynamicSpectralClustering(n_clusters=2, random_state=0).fit(graph)
    assert model.query([(0, "x")]).shape == (1,)
    numbered = nx.relabel_nodes(grid, {i: 100 + i for i in range(8)})
    model = DynamicSpectralClustering(n_clusters=2, random_state=0).fit(numbered)
    model.partial_fit(np.array([[100, 500]]))
    assert model.nodes_[-1] == 500


def test_frames_matrices_and_lists_are_one_graph():
    graph = barbell()
    pairs = np.array(graph.edges)
    frame = pd.DataFrame(pairs, columns=["source", "target"]).assign(
        weight=1.0, time=np.arange(len(pairs))[::-1]
    )
    forms = [
        graph,
        frame,
        frame.drop(columns=["weight", "time"]),
        EdgeList(pairs),
        EdgeList([(str(u), str(v)) for u, v in pairs]),
        nx.to_numpy_array(graph),
        nx.to_scipy_sparse_array(graph),
        sparse.csc_matrix(nx.to_numpy_array(graph)),
    ]
    for form in forms:
        model = DynamicSpectralClustering(n_clusters=2, random_state=0).fit(form)
        assert model.n_edges_ == graph.number_of_edges()
        names = getattr(model, "nodes_", range(10))
        order = np.argsort([int(name) for name in names])
        assert same_partition(model.labels_[order])


def test_frame_streams_grow_names_and_add_up_directions():
    frame = pd.DataFrame({"source": ["a", "b", "c"], "target": ["b", "a", "d"]})
    model = DynamicSpectralClustering(n_clusters=2, random_state=0).partial_fit(frame)
    assert model.nodes_ == ["a", "b", "c", "d"]
    assert model.n_edges_ == 2
    assert model._hierarchy.degrees().tolist() == [2, 2, 1, 1]
    assert len(set(model.query())) == 2


def test_edges_before_any_fit():
    model = DynamicSpectralClustering(n_clusters=2, random_state=0)
    model.partial_fit(np.array(barbell().edges))
    assert model.n_pending_ > 0
    with pytest.raises(AttributeError, match="first query"):
        _ = model.n_clusters_
    assert (model.labels_ == -1).all()
    assert same_partition(model.query())


def test_matrix_that_was_given_is_left_alone():
    A = sparse.csr_matrix(nx.to_numpy_array(barbell()))
    copied = A.copy()
    model = DynamicSpectralClustering(n_clusters=2, random_state=0).fit(A)
    for _ in range(30):
        model.delete([(0, 1)]).partial_fit([(0, 1)])
    model.delete([(0, 1), (0, 2), (0, 3)]).query()
    assert (copied != A).nnz == 0


# ------------------------------------------------------------------- refused calls
@pytest.fixture
def fitted(stream):
    return DynamicSpectralClustering(n_clusters=4, random_state=0).fit(stream.adjacency)


@pytest.mark.parametrize(
    ("edges", "weights", "error", "match"),
    [
        ([(0, 1)], [-1.0], ValueError, "positive"),
        ([(0, 1)], [0.0], ValueError, "positive"),
        ([(0, 1)], [np.nan], ValueError, "positive and finite"),
        ([(0, 1)], [np.inf], ValueError, "positive and finite"),
        ([(0, 1)], [1.0, 2.0], ValueError, "shape"),
        ([(0, 1)], ["heavy"], TypeError, "real numbers"),
        ([(0, 1)], [1e101], ValueError, "ratios matter"),
        ([(0, 1)], [5e-324], ValueError, "ratios matter"),
        ([(0, 1.5)], None, TypeError, "whole numbers"),
        ([(0, -1)], None, ValueError, "ids in 0"),
        ([(0, 1, 2)], None, ValueError, "shape"),
        ([(0, 2**40)], None, ValueError, "ids in 0"),
        ([("a", "b")], None, ValueError, "without names"),
        (5, None, ValueError, "pairs of vertices"),
        (np.ones((3, 3)), None, ValueError, "shape"),
    ],
)
def test_bad_edges_change_nothing(fitted, edges, weights, error, match):
    before = state_of(fitted)
    for call in (fitted.partial_fit, fitted.delete):
        with pytest.raises(error, match=match):
            call(edges, weights)
    assert state_of(fitted) == before


def test_bad_names_change_nothing():
    graph = nx.relabel_nodes(barbell(), str)
    model = DynamicSpectralClustering(n_clusters=2, random_state=0).fit(graph)
    with pytest.raises(ValueError, match="positive"):
        model.partial_fit([("new", "other")], [-1.0])
    with pytest.raises(ValueError, match="no vertex"):
        model.delete([("0", "nobody")])
    with pytest.raises(ValueError, match="no vertex"):
        model.query(["nobody"])
    with pytest.raises(ValueError, match="vertex already"):
        model.add_vertices(["0"])
    with pytest.raises(ValueError, match="list of names"):
        model.add_vertices(3)
    with pytest.raises(ValueError, match="holds its own"):
        model.partial_fit(graph, [1.0])
    for missing in (None, float("nan"), pd.NA, pd.NaT):
        with pytest.raises(ValueError, match="name two vertices"):
            model.partial_fit([("0", missing)])
    assert len(model.nodes_) == model.n_vertices_ == 10


def test_vertices_without_edges_are_kept():
    graph = nx.Graph([("x", "y")])
    graph.add_node("alone")
    fresh = DynamicSpectralClustering(n_clusters=1).partial_fit(graph)
    assert fresh.nodes_ == ["x", "y", "alone"]
    assert fresh.query(["alone", "x"]).tolist() == [-1, 0]
    later = DynamicSpectralClustering(n_clusters=1).fit(nx.path_graph(3)).partial_fit(graph)
    assert later.nodes_ == [0, 1, 2, "x", "y", "alone"]
    assert later.n_vertices_ == 6
    counted = DynamicSpectralClustering().partial_fit(EdgeList([(0, 1)], n_vertices=5))
    assert counted.n_vertices_ == 5
    assert counted.partial_fit(EdgeList([(0, 2)], n_vertices=7)).n_vertices_ == 7
    before = state_of(later)
    later.delete(graph)  # takes its edges
    assert later.n_vertices_ == 6
    assert state_of(later) != before


def test_budgets_take_no_memory_for_vertices_that_cannot_come():
    A = np.ones((6, 6)) - np.eye(6)
    for huge in ({"min_budget": 2**30}, {"budget_scale": 1e300}):
        model = DynamicSpectralClustering(n_clusters=2, random_state=0, **huge).fit(A)
        assert model.levels_[1]["budget"] <= 2**16
        assert model.partial_fit([(0, 6)]).query().shape == (7,)


def test_missing_edges_and_too_much_weight_change_nothing(fitted, stream):
    u, v = np.argwhere(sparse.triu(stream.adjacency).toarray())[0]
    lacking = np.argwhere(stream.adjacency.toarray() == 0)
    absent = lacking[lacking[:, 0] != lacking[:, 1]][0]
    before = state_of(fitted)
    with pytest.raises(ValueError, match=rf"edges\[1\] = \({absent[0]}, {absent[1]}\) is not in"):
        fitted.delete([(u, v), absent])
    with pytest.raises(ValueError, match="cannot lose 2"):
        fitted.delete([(u, v), (v, u)])
    with pytest.raises(ValueError, match=r"cannot lose 1\.5"):
        fitted.delete([(u, v)], [1.5])
    with pytest.raises(ValueError, match="not in the graph"):
        fitted.delete([(0, 10**6)])
    assert state_of(fitted) == before


def test_bad_queries(fitted):
    for vertices in ([-1], [10**6], [0.5], [[0, 1]]):
        with pytest.raises(ValueError, match="vertices must"):
            fitted.query(vertices)
    assert fitted.query([]).shape == (0,)
    with pytest.raises(TypeError, match="full"):
        fitted.query(full=1)
    for call in (lambda m: m.query(), lambda m: m.delete([(0, 1)]), lambda m: m.add_vertices(1)):
        with pytest.raises(NotFittedError):
            call(DynamicSpectralClustering())


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[0, 1.0], [0, 0]]), "symmetric"),
        (np.array([[0, -1.0], [-1, 0]]), "Negative"),
        (np.array([[0, np.nan], [np.nan, 0]]), "NaN"),
        (nx.DiGraph([(0, 1)]), "to_undirected"),
    ],
)
def test_bad_graphs(X, match):
    model = DynamicSpectralClustering()
    with pytest.raises(ValueError, match=match):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.query()


@pytest.mark.parametrize(
    "parameters",
    [
        {"depth": 0},
        {"beta": 0.0},
        {"micro_clusters": 0},
        {"sparsify": "perhaps"},
        {"regularization": "some"},
        {"regularization": -1.0},
        {"refine_rate": 0.0},
        {"n_clusters": 0},
        {"max_clusters": 1},
        {"budget_scale": 0.0},
        {"min_budget": -1},
        {"max_drift": -0.1},
        {"max_moved": -0.1},
        {"n_init": 0},
        {"eigen_tol": 1.5},
        {"sparsify_tau": 0.0},
    ],
)
def test_bad_parameters_are_named(parameters):
    name = next(iter(parameters))
    with pytest.raises((ValueError, TypeError), match=name):
        DynamicSpectralClustering(**parameters).fit(np.ones((4, 4)) - np.eye(4))


def test_self_loops_are_dropped_with_a_warning(fitted):
    with pytest.warns(UserWarning, match="1 self-loop"):
        fitted.partial_fit([(0, 0), (0, 1)])
    A = np.ones((4, 4))
    assert DynamicSpectralClustering(n_clusters=2).fit(A).n_edges_ == 6


def test_empty_things():
    model = DynamicSpectralClustering().fit(EdgeList([], n_vertices=3))
    assert model.labels_.tolist() == [-1, -1, -1]
    assert model.n_clusters_ == 0
    assert model.conductances_.shape == (0,)
    before = state_of(model)
    model.partial_fit([])
    model.delete([])
    assert state_of(model) == before
    model.partial_fit([(0, 1)])
    model.set_params(n_clusters=1)
    assert model.query().tolist() == [0, 0, -1]
    model.delete([(0, 1)])
    assert model.query().tolist() == [-1, -1, -1]
    assert model.n_clusters_ == 0
    model.partial_fit([(1, 4)])
    assert model.query().tolist() == [-1, 0, -1, -1, 0]


def test_isolated_vertices_have_no_label_until_they_get_an_edge(fitted):
    ids = fitted.add_vertices(2)
    assert fitted.query(ids).tolist() == [-1, -1]
    fitted.partial_fit([(ids[0], v) for v in range(8)])
    labels = fitted.query()
    assert labels[ids[0]] == labels[0]
    assert labels[ids[1]] == -1


def test_more_clusters_than_vertices_warns():
    with pytest.warns(ConvergenceWarning, match="n_clusters=5"):
        model = DynamicSpectralClustering(n_clusters=5).fit(np.ones((3, 3)) - np.eye(3))
    assert model.n_clusters_ == 3


def test_unclear_gap_warns_and_a_clear_one_does_not():
    ring = nx.cycle_graph(80)  # its eigenvalues have pairs of like distances
    with pytest.warns(UnclearGapWarning, match="within"):
        model = DynamicSpectralClustering(random_state=0).fit(ring)
    assert model.gap_margin_ < 0.2
    assert model.last_query_["runner_up"] != model.n_clusters_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clear = DynamicSpectralClustering(random_state=0).fit(np.kron(np.eye(4), np.ones((10, 10))))
        assert clear.n_clusters_ == 4
        assert clear.gap_margin_ > 0.5
        given = DynamicSpectralClustering(n_clusters=2).fit(ring)
        assert np.isnan(given.gap_margin_)


def test_clone_is_unfitted_and_has_the_parameters(fitted):
    other = clone(fitted)
    assert other.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        other.query()
    assert not hasattr(other, "labels_")


# ------------------------------------------------------------------- points
def test_new_points_get_their_nearest_earlier_neighbors():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = DynamicKNNSpectralClustering(n_clusters=2, n_neighbors=4, random_state=0).fit(X[:30])
    A = kneighbors_graph(X[:30], 4)
    expected = A.maximum(A.T).toarray()
    np.testing.assert_array_equal(model.adjacency().toarray(), expected)
    for low in (30, 41):
        model.partial_fit(X[low : 41 if low == 30 else 60])
    A = np.zeros((60, 60))
    A[:30, :30] = expected
    for i in range(30, 60):
        near = np.argsort(np.linalg.norm(X[:i] - X[i], axis=1))[:4]
        A[i, near] = A[near, i] = 1
    np.testing.assert_array_equal(model.adjacency().toarray(), A)


def test_points_that_arrive_are_clustered():
    X, y = make_blobs(600, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=1)
    model = DynamicKNNSpectralClustering(n_clusters=4, random_state=0)
    for low in range(0, 600, 100):
        model.partial_fit(X[low : low + 100])
        assert adjusted_rand_score(model.labels_, y[: low + 100]) > 0.9
    assert model.labels_.shape == (600,)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :1])
    assert model.labels_.shape == (600,)


def test_few_points():
    assert DynamicKNNSpectralClustering().fit([[0.0]]).labels_.tolist() == [-1]
    model = DynamicKNNSpectralClustering(n_clusters=1).fit([[0.0]]).partial_fit([[1.0]])
    assert model.labels_.tolist() == [0, 0]


def test_float32_points_stay_float32():
    X = load_digits().data[:100].astype(np.float32)
    model = DynamicKNNSpectralClustering(n_clusters=3, random_state=0).fit(X)
    assert model.partial_fit(X[:5] + 0.5)._points.dtype == np.float32


def test_points_are_the_models_own():
    X = np.random.default_rng(1).normal(size=(80, 3))
    given = X[:50].copy()
    model = DynamicKNNSpectralClustering(n_clusters=2, random_state=0).fit(given)
    same = DynamicKNNSpectralClustering(n_clusters=2, random_state=0).fit(X[:50])
    given[:] = 0
    A, B = (m.partial_fit(X[50:]).adjacency() for m in (model, same))
    assert (A != B).nnz == 0


def test_a_batch_larger_than_the_tail_has_exact_neighbors(monkeypatch):
    monkeypatch.setattr("skfrontier.estimators.graphs.clustering.points._TAIL", 7)
    X = np.random.default_rng(2).normal(size=(70, 2))
    model = DynamicKNNSpectralClustering(n_clusters=2, n_neighbors=np.int8(3), random_state=0)
    model.fit(X[:6]).partial_fit(X[6:])
    A = model.adjacency()
    for i in range(6, 70):
        near = np.argsort(np.linalg.norm(X[:i] - X[i], axis=1))[:3]
        assert set(A[i].indices[A[i].indices < i]) == set(near)


def test_refused_points_change_nothing():
    X = np.random.default_rng(3).normal(size=(40, 2))
    model = DynamicKNNSpectralClustering(n_clusters=2, random_state=0).fit(X)
    before, n_points = state_of(model), len(model._points)
    for call, match in (
        (lambda: model.partial_fit(X * 1e200), "scale"),
        (lambda: clone(model).fit(X * 1e200), "scale"),
        (
            lambda: clone(model).set_params(metric="precomputed").fit(X[:, :1] @ X[:, :1].T),
            "metric",
        ),
        (lambda: copy.copy(model).set_params(metric="cosine").partial_fit(X), "metric"),
        (lambda: model.query([0.5]), "vertices"),
        (lambda: model.query([[1]]), "vertices"),
        (lambda: model.query([40]), "vertices"),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    with pytest.raises(TypeError, match="full"):
        model.query(full=2)
    assert state_of(model) == before
    assert len(model._points) == n_points
