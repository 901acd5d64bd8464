"""GraphACV: what it sets, what it refuses, what survives."""

import pickle
from itertools import pairwise

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skfrontier.algos import acv_score, directed_scores, expected_false_edges
from skfrontier.datasets import make_gaussian_graph, make_ising, make_mixed_tree
from skfrontier.estimators import EdgePathDisplay, GraphACV, GraphDisplay


@pytest.fixture(scope="module")
def data():
    return make_gaussian_graph(400, 25, graph="erdos_renyi", random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return GraphACV().fit(data[0])


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def test_graph_edges_and_scores_agree(model):
    A, E, K = model.adjacency_, model.score_matrix_.toarray(), model.directed_scores_.toarray()
    assert (A == A.T).all()
    assert not A.diagonal().any()
    i, j = model.edges_.T
    assert (i < j).all()
    assert A[i, j].all()
    assert A.sum() == 2 * len(model.edges_)
    assert np.allclose(E[i, j], model.edge_scores_)
    assert np.all(np.diff(model.edge_scores_) <= 0)
    assert np.allclose(np.where((K + K.T) / 2 >= 2, (K + K.T) / 2, 0), E)
    assert ((model.kappa_ <= E) == A).all()
    assert model.n_train_ == pytest.approx(400 / (model.kappa_ - 1))
    assert model.expected_false_edges_ == expected_false_edges(model.kappa_, 400, 25)
    assert (model.directed_scores_ != directed_scores(make_data())).nnz == 0


def make_data():
    return make_gaussian_graph(400, 25, graph="erdos_renyi", random_state=0)[0]


@pytest.mark.parametrize(("rule", "combine"), [("and", np.minimum), ("or", np.maximum)])
def test_other_rules(data, model, rule, combine):
    K = model.directed_scores_.toarray()
    fitted = GraphACV(rule=rule).fit(data[0])
    E = combine(K, K.T)
    assert np.allclose(fitted.score_matrix_.toarray(), np.where(E >= 2, E, 0))
    assert (fitted.adjacency_ == (fitted.kappa_ <= E)).all()


def test_cv_errors_are_the_scores_of_the_chosen_supports(data):
    X = 3 * data[0] + 1
    model = GraphACV(n_train=50).fit(X)
    K = model.directed_scores_.toarray()
    for j in range(25):
        support = np.flatnonzero(K[j] >= model.kappa_)
        expected = acv_score(X, X[:, j], support, 50)
        others = support.size == 0
        assert np.isnan(model.alphas_[j]) == others
        assert model.cv_errors_[j] == pytest.approx(expected, rel=1e-8)


def test_cv_errors_of_an_ising_model():
    X, _, _ = make_ising(500, 9, random_state=0)
    model = GraphACV(family="ising", n_train=50).fit(X)
    K = model.directed_scores_.toarray()
    for j in range(9):
        support = np.flatnonzero(K[j] >= model.kappa_)
        expected = acv_score(X, X[:, j], support, 50, family="ising")
        assert model.cv_errors_[j] == pytest.approx(expected, rel=1e-6)


def test_refits_are_least_squares_on_the_graph(data, model):
    X = data[0]
    for j in (0, 3, 11):
        neighbours = np.flatnonzero(model.adjacency_[j])
        A = np.column_stack([np.ones(400), X[:, neighbours]])
        b = np.linalg.lstsq(A, X[:, j], rcond=None)[0]
        assert model.intercepts_[j] == pytest.approx(b[0], abs=1e-8)
        assert np.allclose(model.coefficients_[j, neighbours], b[1:], atol=1e-8)


@pytest.mark.parametrize("precision", ["auto", "mle", "nodewise"])
def test_precision(data, precision):
    X, A, theta = data
    model = GraphACV(precision=precision).fit(X * np.arange(1, 26))
    P = model.precision_
    assert (P == P.T).all()
    assert np.linalg.eigvalsh(P)[0] > 0
    assert ((np.abs(P) > 0) == (model.adjacency_ | np.eye(25, dtype=bool))).all()
    assert np.allclose(model.location_, (X * np.arange(1, 26)).mean(axis=0))
    scale = np.sqrt(np.diagonal(P))
    off = ~np.eye(25, dtype=bool)
    assert np.allclose(model.partial_correlations_[off], (-P / np.outer(scale, scale))[off])
    true = -theta / np.sqrt(np.outer(np.diagonal(theta), np.diagonal(theta)))
    edges = model.adjacency_ & A
    assert np.abs(model.partial_correlations_ - true)[edges].max() < 5 / np.sqrt(400)
    assert hasattr(model, "covariance_") == (precision != "nodewise")
    if precision != "nodewise":
        assert np.allclose(model.covariance_ @ P, np.eye(25), atol=1e-6)
        S = np.cov((X * np.arange(1, 26)).T, ddof=0)
        on = model.adjacency_ | np.eye(25, dtype=bool)
        assert np.allclose(model.covariance_[on], S[on], rtol=1e-6, atol=1e-6 * S.max())


def test_large_components_are_fitted_node_by_node(monkeypatch, data):
    module = "skfrontier.algos.graphs.structure.graph_precision._MLE_NODES"
    monkeypatch.setattr(module, 3)
    model = GraphACV().fit(data[0])
    assert not hasattr(model, "covariance_")
    assert np.linalg.eigvalsh(model.precision_)[0] > 0


def test_sparse_output_is_the_same(data, model):
    other = GraphACV(sparse_output=True).fit(data[0])
    for name in ("adjacency_", "precision_", "partial_correlations_", "coefficients_"):
        assert sparse.issparse(getattr(other, name))
        assert np.array_equal(getattr(other, name).toarray(), getattr(model, name))
    assert sparse.issparse(other.graph_at("bic"))


def test_ising_model_recovers_weights_and_coding_does_not_matter():
    X, A, W = make_ising(4000, 9, graph="grid", field=0.2, random_state=0)
    model = GraphACV(family="ising").fit(X)
    assert (model.adjacency_ == A).all()
    assert np.abs(model.interaction_ - W).max() < 6 / np.sqrt(4000)
    assert np.abs(model.field_ - 0.2).max() < 6 / np.sqrt(4000)
    other = GraphACV(family="ising").fit((X + 1) // 2)
    assert np.array_equal(other.interaction_, model.interaction_)
    assert model.score(X) == other.score((X + 1) // 2)
    flipped = X.copy()
    flipped[:, 4] *= -1
    sign = np.where(np.arange(9) == 4, -1, 1)
    turned = GraphACV(family="ising").fit(flipped)
    assert np.allclose(turned.interaction_, model.interaction_ * np.outer(sign, sign), atol=1e-8)
    assert not hasattr(model, "precision_")


@pytest.mark.parametrize("families", [["poisson"] * 12, ["gaussian", "binary", "poisson"] * 4])
def test_counts_and_mixed_columns(families):
    X, A = make_mixed_tree(1500, families, random_state=1)
    model = GraphACV(family=families).fit(X)
    assert (model.adjacency_ == A).all()
    empty = GraphACV(family=families, n_train=1e-3).fit(X)
    assert not empty.adjacency_.any()
    assert model.score(X) > empty.score(X)


def test_score_is_the_pseudo_likelihood(data, model):
    X = data[0]
    total = 0.0
    for j in range(25):
        e = X[:, j] - model.intercepts_[j] - X @ model.coefficients_[j]
        total -= 0.5 * np.log(2 * np.pi * np.mean(e**2)) + 0.5
    assert model.score(X) == pytest.approx(total, rel=1e-9)


def test_normal_scores_do_not_see_increasing_maps(data):
    X = data[0]
    model, other = (GraphACV(transformation="npn").fit(table) for table in (X, np.exp(X) + X**3))
    assert np.array_equal(model.edge_scores_, other.edge_scores_)
    assert model.score(X) == pytest.approx(other.score(np.exp(X) + X**3))
    assert np.isfinite(model.score(10 * X))


def test_graph_at_is_nested_and_needs_no_refit(data, model):
    graphs = [model.graph_at(n) for n in (400, 0.5, "bic", "ebic", "strict", 10, 1)]
    for larger, smaller in pairwise(graphs):
        assert not (smaller & ~larger).any()
    assert (model.graph_at("auto") == model.adjacency_).all()
    for n_train in (57, 0.25, "bic"):
        assert (GraphACV(n_train=n_train).fit(data[0]).adjacency_ == model.graph_at(n_train)).all()


def test_edge_path_counts_edges(model):
    kappa, n_edges, false = model.edge_path()
    assert np.all(np.diff(kappa) < 0)
    assert np.all(np.diff(n_edges) > 0)
    assert np.all(np.diff(false) > 0)
    at = np.flatnonzero(kappa == model.kappa_)[0]
    assert n_edges[at] == len(model.edges_)
    assert false[at] == model.expected_false_edges_


def test_networkx_graph_and_names(data):
    frame = pd.DataFrame(data[0], columns=[f"gene {j}" for j in range(25)])
    model = GraphACV().fit(frame)
    graph = model.to_networkx()
    assert list(model.feature_names_in_) == list(frame.columns)
    assert set(graph) == set(frame.columns)
    i, j = model.edges_[0]
    facts = graph.edges[f"gene {i}", f"gene {j}"]
    assert facts["score"] == model.edge_scores_[0]
    assert facts["weight"] == model.partial_correlations_[i, j]
    assert graph.number_of_edges() == len(model.edges_)
    assert nx.number_of_selfloops(graph) == 0


def test_displays(model):
    plt = pytest.importorskip("matplotlib.pyplot")
    display = EdgePathDisplay.from_estimator(model)
    assert len(display.lines_) == 3
    ax = plt.figure().subplots()
    drawn = GraphDisplay.from_estimator(model, ax=ax)
    assert drawn.ax_ is ax
    assert len(drawn.pos_) == 25
    empty = GraphACV(n_train=1e-3).fit(np.random.default_rng(0).standard_normal((50, 4)))
    GraphDisplay.from_estimator(empty, with_labels=False)
    EdgePathDisplay.from_estimator(empty)
    plt.close("all")


def test_pickle_and_clone(model, data):
    again = pickle.loads(pickle.dumps(model))
    assert again.score(data[0]) == model.score(data[0])
    assert (again.graph_at("bic") == model.graph_at("bic")).all()
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"n_jobs": 2, "backend": "loky"}])
def test_jobs_do_not_change_results(options):
    X, _, _ = make_gaussian_graph(100, 150, random_state=1)
    expected = GraphACV().fit(X)
    n_jobs = options.pop("n_jobs")
    with joblib.parallel_config(**options) if options else joblib.parallel_config("threading"):
        got = GraphACV(n_jobs=n_jobs).fit(X)
    assert np.array_equal(got.edge_scores_, expected.edge_scores_)
    assert (got.directed_scores_ != expected.directed_scores_).nnz == 0


def test_single_precision_is_kept_and_close(data):
    single = GraphACV().fit(data[0].astype(np.float32))
    double = GraphACV().fit(data[0])
    assert (single.adjacency_ == double.adjacency_).all()
    assert np.allclose(single.edge_scores_, double.edge_scores_, rtol=1e-3)


def test_constant_column_is_isolated(data):
    X = data[0].copy()
    X[:, 7] = 4.2
    with pytest.warns(UserWarning, match=r"columns \[7\] are constant"):
        model = GraphACV().fit(X)
    assert not model.adjacency_[7].any()
    assert np.isfinite(model.precision_).all()
    assert np.isfinite(model.cv_errors_).all()
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize(("family", "value"), [("ising", 1), ("poisson", 3), ("poisson", 0)])
def test_constant_columns_of_other_families(family, value):
    if family == "ising":
        X = make_ising(200, 4, random_state=0)[0]
    else:
        X = make_mixed_tree(200, ["poisson"] * 4, random_state=0)[0]
    X[:, 2] = value
    with pytest.warns(UserWarning, match="constant"):
        model = GraphACV(family=family).fit(X)
    assert not model.adjacency_[2].any()
    assert np.isfinite(model.score(X))


def test_copies_are_joined(data):
    X = np.column_stack([data[0], data[0][:, 3]])
    model = GraphACV().fit(X)
    assert model.adjacency_[3, 25]
    assert np.isfinite(model.edge_scores_).all()
    assert np.isfinite(model.precision_).all()


def test_separated_binary_columns_are_clipped():
    X = make_ising(300, 5, random_state=0)[0]
    X = np.column_stack([X, X[:, 2]])
    with pytest.warns(UserWarning, match="nearly determined"):
        model = GraphACV(family="ising").fit(X)
    assert np.abs(model.interaction_).max() <= 7.5
    assert np.isfinite(model.edge_scores_).all()


def test_small_max_degree_warns():
    X, _, _ = make_gaussian_graph(500, 20, graph="hub", random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_degree"):
        model = GraphACV(max_degree=2).fit(X)
    K = model.directed_scores_.toarray()
    assert {0, 10} & set(model.truncated_nodes_.tolist())  # the hubs
    chosen = (K[model.truncated_nodes_] >= model.kappa_).sum(axis=1)
    assert np.all((chosen >= 1) & (chosen <= 2))  # a path may jump over a size
    assert not GraphACV(max_degree=15).fit(X).truncated_nodes_.size


def test_no_relations_give_an_empty_graph():
    X = np.random.default_rng(0).standard_normal((200, 10))
    model = GraphACV().fit(X)
    assert model.kappa_ == np.inf
    assert model.n_train_ == 0
    assert model.edges_.shape == (0, 2)
    assert model.expected_false_edges_ == 0
    assert np.allclose(model.precision_, np.diag(1 / X.var(axis=0)))
    assert np.isnan(model.alphas_).all()


def test_few_rows_and_many_columns():
    X = np.random.default_rng(0).standard_normal((6, 30))
    model = GraphACV().fit(X)
    assert np.isfinite(model.precision_).all()
    assert GraphACV().fit(X[:, :2]).adjacency_.shape == (2, 2)


def test_order_strides_and_protection_do_not_matter(data, model):
    wide = np.zeros((400, 50))
    wide[:, ::2] = data[0]
    fortran = np.asfortranarray(data[0])
    fortran.flags.writeable = False
    for X in (wide[:, ::2], fortran):
        assert np.array_equal(GraphACV().fit(X).edge_scores_, model.edge_scores_)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_train": 0.0}, ValueError, "n_train must be 'auto'"),
        ({"n_train": 1.5}, ValueError, "n_train must be"),
        ({"n_train": 401}, ValueError, "n_train must be"),
        ({"n_train": 0}, ValueError, "n_train must be"),
        ({"n_train": True}, ValueError, "n_train must be"),
        ({"n_train": "aic"}, ValueError, "n_train must be"),
        ({"n_train": np.nan}, ValueError, "n_train must be"),
        ({"rule": "both"}, ValueError, "rule must be one of"),
        ({"family": "gamma"}, ValueError, "family must be"),
        ({"family": ["gaussian"]}, ValueError, "family has 1 names"),
        ({"family": ["gaussian"] * 24 + ["beta"]}, ValueError, "beta"),
        ({"family": 3}, ValueError, "family must be"),
        ({"family": "ising"}, ValueError, "column 0 of X must hold two values"),
        ({"family": "poisson"}, ValueError, "column 0 of X must hold counts"),
        ({"path": "lars"}, ValueError, "path must be one of"),
        ({"transformation": "log"}, ValueError, "transformation must be one of"),
        ({"precision": "glasso"}, ValueError, "precision must be one of"),
        ({"max_degree": 0}, ValueError, "max_degree must be at least 1"),
        ({"n_alphas": 2.5}, TypeError, "n_alphas must be an integer"),
        ({"eps": 0}, ValueError, "eps must lie in"),
        ({"tol": -1.0}, ValueError, "tol must lie in"),
        ({"sparse_output": 1}, TypeError, "sparse_output must be True or False"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
    ],
)
def test_bad_parameters_are_named_and_leave_the_model(data, parameters, error, message):
    model = GraphACV().fit(data[0][:, :10])
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    model.set_params(**parameters)
    with pytest.raises(error, match=message):
        model.fit(data[0])
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((4, 3)), "minimum of 5"),
        (np.ones((9, 1)), "minimum of 2"),
        (np.full((9, 3), np.nan), "NaN"),
        (np.ones(9), "2D"),
    ],
)
def test_bad_data_is_named(X, message):
    with pytest.raises(ValueError, match=message):
        GraphACV().fit(X)


def test_graph_at_and_score_check_their_input(model):
    with pytest.raises(ValueError, match="n_train must be"):
        model.graph_at("loo")
    with pytest.raises(ValueError, match="features"):
        model.score(np.ones((5, 3)))


def test_another_family_drops_what_the_first_one_set(data):
    model = GraphACV().fit(data[0])
    model.set_params(family="ising").fit(np.where(data[0] > 0, 1, -1))
    assert not hasattr(model, "precision_")
    assert hasattr(model, "interaction_")
