"""What holds for any table."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skfrontier.algos import directed_scores, expected_false_edges, select_kappa
from skfrontier.algos.graphs.structure.candidates import SearchPlan, candidate_supports
from skfrontier.algos.graphs.structure.families import family_codes
from skfrontier.algos.graphs.structure.gram import standardised_columns
from skfrontier.algos.graphs.structure.node_paths import search_all_nodes
from skfrontier.algos.graphs.structure.symmetrise import edge_score_matrix
from skfrontier.algos.graphs.structure.terms import fit_support
from skfrontier.datasets import make_gaussian_graph, make_ising, make_mixed_tree
from skfrontier.estimators import GraphACV

MANY = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
KINDS = ("chain", "hub", "erdos_renyi", "scale_free", "band", "empty")


@st.composite
def tables(draw):
    n = draw(st.integers(20, 120))
    p = draw(st.integers(5, 14))
    kind = draw(st.sampled_from(KINDS))
    df = draw(st.sampled_from([None, 3.0]))
    return make_gaussian_graph(n, p, graph=kind, df=df, random_state=draw(st.integers(0, 10**6)))[0]


@MANY
@given(tables(), st.integers(0, 10**6))
def test_columns_and_rows_have_no_order(X, seed):
    rng = np.random.default_rng(seed)
    columns, rows = rng.permutation(X.shape[1]), rng.permutation(len(X))
    K = directed_scores(X).toarray()
    turned = directed_scores(X[rows][:, columns]).toarray()
    # the path stops within its tolerance; a support may come or go where it ends
    same = np.isclose(turned, K[np.ix_(columns, columns)], rtol=1e-6, atol=1e-9)
    assert same.mean() > 0.98


@MANY
@given(tables(), st.integers(0, 10**6))
def test_units_do_not_matter(X, seed):
    rng = np.random.default_rng(seed)
    a = rng.uniform(0.1, 10, X.shape[1]) * rng.choice([-1, 1], X.shape[1])
    K = directed_scores(X).toarray()
    other = directed_scores(X * a + rng.uniform(-5, 5, X.shape[1])).toarray()
    same = np.isclose(other, K, rtol=1e-6, atol=1e-9)
    assert same.mean() > 0.98


@MANY
@given(tables())
def test_doubled_rows_scale_the_scores(X):
    n = len(X)
    K = directed_scores(X, max_degree=4).toarray()
    twice = directed_scores(np.vstack([X, X]), max_degree=4).toarray()
    both = (K > 0) & (twice > 0)
    assert np.allclose(twice[both], K[both] * (2 * n - 1) / (n - 1), rtol=1e-6)
    assert np.all(twice[~both] < 2 * (2 * n - 1) / (n - 1) * (1 + 1e-6))


def family_tables():
    yield make_gaussian_graph(150, 12, df=4, random_state=0)[0], "gaussian"
    yield make_ising(200, 9, random_state=0)[0].astype(float), "ising"
    yield make_mixed_tree(150, ["poisson"] * 10, random_state=0)[0], "poisson"
    mixed = ["gaussian", "binary", "poisson"] * 3
    yield make_mixed_tree(150, mixed, random_state=0)[0], mixed


@pytest.mark.parametrize(("X", "family"), list(family_tables()))
def test_the_hull_is_the_minimum_over_the_candidates(X, family):
    columns = standardised_columns(X, family_codes(family, X.shape[1]), normal_scores=False)
    plan = SearchPlan()
    nodes = np.arange(columns.n_columns)
    found = candidate_supports(columns, nodes, plan)
    paths = search_all_nodes(columns, plan)
    for j in nodes:
        supports = [found.supports[j, v, : found.sizes[j, v]] for v in range(found.counts[j])]
        terms = [
            fit_support(columns.features, columns.responses[j], int(columns.families[j]), s)[0]
            for s in supports
        ]
        D, T = np.array(terms).T[:2]
        assert np.all(T >= 0)
        assert T[0] == 0
        D = D - D[0]
        mine = slice(paths.indptr[j], paths.indptr[j + 1])
        assert np.all(np.diff(paths.kappa[mine]) < 0)
        for kappa in (2.0, 3.7, 9.1, 40.0):
            winner = paths.winners(kappa)[j]
            value = paths.deviance[winner] + kappa * paths.trace[winner]
            assert value == pytest.approx((D + kappa * T).min(), rel=1e-6, abs=1e-6)


def test_directed_score_is_the_largest_kappa_of_a_column():
    X, _, _ = make_gaussian_graph(200, 12, random_state=3)
    columns = standardised_columns(X, family_codes("gaussian", 12), normal_scores=False)
    paths = search_all_nodes(columns, SearchPlan())
    expected = np.zeros((12, 12))
    for j in range(12):
        for v in range(paths.indptr[j], paths.indptr[j + 1]):
            support = paths.support[paths.support_indptr[v] : paths.support_indptr[v + 1]]
            expected[j, support] = np.maximum(expected[j, support], paths.kappa[v])
    assert np.array_equal(paths.directed_scores().toarray(), expected)


def test_blocks_of_the_sample_are_not_joined():
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(2):
        Z = rng.standard_normal((80, 6)) @ (np.eye(6) + 0.4)
        parts.append(Z - Z.mean(axis=0))
    basis = np.linalg.qr(np.hstack([np.ones((80, 1)), parts[0], parts[1]]))[0]
    second = basis[:, 7:] @ rng.standard_normal((6, 6))
    model = GraphACV(n_train=80).fit(np.hstack([parts[0], second]))
    assert not model.adjacency_[:6, 6:].any()
    assert model.adjacency_[:6, :6].any()


@MANY
@given(tables(), st.sampled_from(["mean", "and", "or"]))
def test_scores_of_rules_are_ordered_and_symmetric(X, rule):
    K = directed_scores(X)
    E = edge_score_matrix(K, rule)
    assert (E != E.T).nnz == 0
    low, high = edge_score_matrix(K, "and").toarray(), edge_score_matrix(K, "or").toarray()
    assert np.all(low <= E.toarray())
    assert np.all(E.toarray() <= high)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(0, 300), max_size=40),
    st.integers(5, 5000),
    st.integers(2, 3000),
    st.sampled_from(["gaussian", "ising"]),
    st.sampled_from(["mean", "and", "or"]),
)
def test_chosen_level_is_a_score_that_is_trusted(scores, n, p, family, rule):
    kappa = select_kappa(scores, n, p, family=family, rule=rule)
    if np.isinf(kappa):
        return
    assert kappa in scores
    found = np.sum(np.array(scores) >= kappa)
    false = expected_false_edges(kappa, n, p, family=family, rule=rule)
    assert false <= 0.25 * found
    assert false + np.sqrt(np.log(n) * min(false, 1)) < found


def test_ties_enter_together():
    assert select_kappa([50.0] * 5 + [40.0] * 3, 500, 20) == 40.0
    assert select_kappa([9.0] * 5, 500, 100) == np.inf


def test_scores_in_a_gap_are_all_taken():
    rng = np.random.default_rng(0)
    signal, noise = rng.uniform(60, 200, 30), rng.uniform(7, 9, 20)
    assert select_kappa(np.concatenate([noise, signal]), 1000, 50) == signal.min()


@pytest.mark.parametrize("family", ["gaussian", "ising"])
def test_expected_false_edges_fall_and_match_a_simulation_of_one_test(family):
    kappa = np.linspace(0, 60, 100)
    false = expected_false_edges(kappa, 50, 10, family=family)
    assert false[0] == pytest.approx(45)
    assert np.all(np.diff(false) < 0)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 20_000, 50))
    x, y = (z - z.mean(axis=1, keepdims=True) for z in (x, y))
    r2 = (x * y).sum(axis=1) ** 2 / ((x**2).sum(axis=1) * (y**2).sum(axis=1))
    share = np.mean(-50 * np.log1p(-r2) > 6)
    expected = expected_false_edges(6.0, 50, 10) / 45
    assert abs(share - expected) < 5 * np.sqrt(expected / 20_000) + 0.1 * expected
