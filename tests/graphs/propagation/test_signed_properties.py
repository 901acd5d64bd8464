"""What holds for any signed graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from signed_references import dense_operator, random_signed

from skfrontier.algos import (
    build_grounded_graph,
    forest_apply,
    is_balanced,
    push_residual,
    sample_forest,
    signed_laplacian,
    symmetrize_signed,
)
from skfrontier.estimators import LabelPropagationOperator

SEEDS = st.integers(0, 10**6)
few = settings(max_examples=25, deadline=None)


def graph_and_labels(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 30))
    A = random_signed(n, seed, negative=rng.choice([0.0, 0.2, 0.5]), density=0.3)
    labeled = np.sort(rng.choice(n, int(rng.integers(1, 5)), replace=False))
    return A, labeled, rng


def operator(solver="direct", **options):
    return LabelPropagationOperator(solver=solver, n_forests=32, random_state=0, **options)


@few
@given(SEEDS)
def test_exact_solvers_are_the_dense_operator(seed):
    A, labeled, _ = graph_and_labels(seed)
    inner = np.setdiff1d(np.arange(len(A)), labeled)
    exact = dense_operator(A, labeled)
    for solver in ("direct", "cg"):
        Q = operator(solver, rtol=1e-12).fit(A, labeled).to_dense()
        np.testing.assert_allclose(Q[inner], exact, atol=1e-10)
        np.testing.assert_array_equal(Q[labeled], np.eye(labeled.size))


@few
@given(SEEDS, st.sampled_from(["direct", "multitree"]))
def test_switching_flips_rows_and_columns(seed, solver):
    A, labeled, rng = graph_and_labels(seed)
    flip = np.where(rng.random(len(A)) < 0.5, -1.0, 1.0)
    before = operator(solver).fit(A, labeled).to_dense()
    after = operator(solver).fit(flip[:, None] * A * flip, labeled).to_dense()
    tolerance = 0 if solver == "multitree" else 1e-12  # the gauge removes the switching: bitwise
    np.testing.assert_allclose(
        after, flip[:, None] * before * flip[labeled], rtol=0, atol=tolerance
    )


@few
@given(SEEDS, st.floats(1e-6, 1e6))
def test_scale_does_not_matter(seed, c):
    A, labeled, _ = graph_and_labels(seed)
    before = operator().fit(A, labeled).to_dense()
    np.testing.assert_allclose(operator().fit(c * A, labeled).to_dense(), before, atol=1e-10)


@few
@given(SEEDS)
def test_node_numbers_do_not_matter(seed):
    A, labeled, rng = graph_and_labels(seed)
    order = rng.permutation(len(A))
    renamed = A[np.ix_(order, order)]
    new_labels = np.argsort(order)[labeled]
    before = operator().fit(A, labeled).to_dense()
    after = operator().fit(renamed, new_labels).to_dense()
    ascending = np.argsort(new_labels)
    np.testing.assert_allclose(after, before[order][:, ascending], atol=1e-10)


@few
@given(SEEDS, st.integers(0, 3))
def test_values_stay_within_the_labels(seed, smooth):
    A, labeled, rng = graph_and_labels(seed)
    Q = operator().fit(A, labeled).to_dense()
    assert abs(Q).sum(axis=1).max() <= 1 + 1e-9
    y = rng.standard_normal(labeled.size)
    x = operator("multitree", smooth=smooth).fit(A, labeled).transform(y)
    assert np.abs(x).max() <= np.abs(y).max() * (1 + 1e-12)


@few
@given(SEEDS)
def test_unsigned_rows_are_distributions_in_every_forest(seed):
    A, labeled, _ = graph_and_labels(seed)
    graph = build_grounded_graph(abs(A), labeled)
    ones = graph.source(np.ones(labeled.size))
    one_forest_a_batch = forest_apply(graph, ones, n_forests=2, batches=2, smooth=0, random_state=0)
    np.testing.assert_allclose(one_forest_a_batch.value, 1.0, atol=1e-12)
    np.testing.assert_allclose(one_forest_a_batch.stderr, 0.0, atol=1e-12)
    Q = operator().fit(abs(A), labeled).to_dense()
    assert Q.min() >= -1e-12
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, atol=1e-9)


@few
@given(SEEDS)
def test_transform_is_linear(seed):
    A, labeled, rng = graph_and_labels(seed)
    a, b = rng.standard_normal((2, labeled.size))
    model = operator("multitree").fit(A, labeled)
    both = model.transform(2.0 * a - 3.0 * b)
    np.testing.assert_allclose(both, 2 * model.transform(a) - 3 * model.transform(b), atol=1e-12)
    columns = model.transform(np.column_stack([a, b]))
    np.testing.assert_array_equal(columns[:, 0], model.transform(a))


@few
@given(SEEDS)
def test_what_cannot_matter_changes_nothing(seed):
    A, labeled, _ = graph_and_labels(seed)
    before = operator("multitree").fit(A, labeled).to_dense()
    changed = A + np.diag(np.arange(len(A)) - 3.0)
    changed[labeled[0], labeled[-1]] = changed[labeled[-1], labeled[0]] = -4.0
    np.testing.assert_array_equal(operator("multitree").fit(changed, labeled).to_dense(), before)


@few
@given(SEEDS)
def test_all_negative_bipartite_graph_is_a_gauge_of_the_positive_one(seed):
    A, labeled, _ = graph_and_labels(seed)
    side = np.arange(len(A)) % 2
    A = abs(A) * (side[:, None] != side)  # the path keeps it connected
    sign = 1.0 - 2.0 * side
    positive = operator().fit(A, labeled).to_dense()
    negative = operator().fit(-A, labeled).to_dense()
    np.testing.assert_allclose(negative, sign[:, None] * positive * sign[labeled], atol=1e-12)
    balanced, gauge = is_balanced(-A)
    assert balanced
    np.testing.assert_array_equal(gauge * gauge[0], sign * sign[0])


@few
@given(SEEDS, st.floats(1e-4, 1.0))
def test_push_never_grows_the_residual(seed, push):
    A, labeled, _ = graph_and_labels(seed)
    graph = build_grounded_graph(A, labeled)
    _, p = push_residual(graph, np.arange(graph.n_unlabeled), push=push)
    assert abs(p).sum(axis=1).max(initial=0.0) <= 1 + 1e-12


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_threads_change_nothing(n_jobs):
    A = random_signed(60, 1, density=0.1)
    labeled = np.arange(5)
    one = operator("multitree").fit(A, labeled)
    many = operator("multitree", n_jobs=n_jobs).fit(A, labeled)
    np.testing.assert_array_equal(one.to_dense(), many.to_dense())
    np.testing.assert_array_equal(one.rows(np.arange(60)), many.rows(np.arange(60)))
    u, leader = np.arange(5, 60), np.arange(55) % 5
    np.testing.assert_array_equal(one.query(u, leader), many.query(u, leader))


def test_global_random_state_is_not_touched():
    A = random_signed(20, 0)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    sample_forest(build_grounded_graph(A, [0]))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_balance():
    triangle = np.array([[0, 1, -1], [1, 0, 1], [-1, 1, 0]])
    assert not is_balanced(triangle)[0]
    assert is_balanced(-abs(np.eye(2)[::-1]))[0]


def test_laplacian_and_symmetrization():
    rng = np.random.default_rng(0)
    A = sparse.csr_array((rng.random((8, 8)) - 0.5) * (rng.random((8, 8)) < 0.4))
    total = symmetrize_signed(A).toarray()
    expected = (A + A.T).toarray() * (1 - np.eye(8))
    np.testing.assert_allclose(total, expected)
    np.testing.assert_allclose(symmetrize_signed(A, "mean").toarray(), expected / 2)
    np.testing.assert_array_equal(symmetrize_signed(A, "sign").toarray(), np.sign(expected))
    L = signed_laplacian(total).toarray()
    np.testing.assert_allclose(L, np.diag(abs(expected).sum(axis=1)) - expected)
    assert np.linalg.eigvalsh(L).min() > -1e-12
