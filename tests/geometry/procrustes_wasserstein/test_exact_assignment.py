"""The exact matching and its certificate, beside scipy on all pairs."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from skfrontier.algos import exact_assignment, sparse_assignment
from skfrontier.algos.geometry.procrustes_wasserstein.nearest_rows import NearestRows

# the package's attribute of this name is the function
matching = importlib.import_module(
    "skfrontier.algos.geometry.procrustes_wasserstein.exact_assignment"
)


def cheapest(cost, price=None):
    """Least cost by scipy; with a price, rows may stay unmatched at it."""
    if price is not None:
        cost = np.hstack([np.minimum(cost, price), np.full((len(cost), len(cost)), price)])
    rows, columns = linear_sum_assignment(cost)
    return cost[rows, columns].sum()


def assert_optimal(result, X, Y, price=None):
    """Cost by scipy's, dual values feasible for *all* pairs, and equal to the cost in sum."""
    cost = cdist(X, Y, "sqeuclidean")
    best = cheapest(cost, price)
    matched = result.assignment >= 0
    total = result.cost + (0 if price is None else price * (~matched).sum())
    scale = max(1.0, cost.max())
    assert result.certified
    assert total == pytest.approx(best, rel=1e-9, abs=1e-12 * scale)
    assert len(np.unique(result.assignment[matched])) == matched.sum()
    assert (cost - result.u[:, None] - result.v).min() > -1e-10 * scale
    assert result.u.sum() + result.v.sum() == pytest.approx(best, rel=1e-8, abs=1e-9 * scale)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 60), m=st.integers(1, 60), kind=st.integers(0, 3)
)
def test_equals_scipy(seed, n, m, kind):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 9))
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    if kind == 1:  # duplicates and ties
        X, Y = X.round(), Y.round()
    elif kind == 2 and n <= m:  # nearly aligned
        Y[:n] = X + 0.1 * rng.normal(size=X.shape)
    price = float(rng.uniform(0.01, 4)) if kind == 3 else None
    k = int(rng.integers(1, 20))
    assert_optimal(exact_assignment(X, Y, n_neighbors=k, outlier_cost=price), X, Y, price)


@pytest.mark.parametrize("price", [None, 0.3])
@pytest.mark.parametrize("shape", [(150, 150), (100, 160), (160, 100)])
def test_dense_way_gives_the_same_certificate(shape, price):
    rng = np.random.default_rng(sum(shape))
    X, Y = rng.normal(size=(shape[0], 3)), rng.normal(size=(shape[1], 3))
    assert_optimal(matching.match_densely(X, Y, price), X, Y, price)


def test_certificate_needs_the_pairs_that_lists_leave_out():
    # Rows crowd round one column: lists of two know too little, and edges must be added.
    rng = np.random.default_rng(3)
    X = 0.01 * rng.normal(size=(30, 2))
    Y = np.vstack([0.01 * rng.normal(size=(5, 2)), rng.normal(size=(40, 2)) + 3])
    assert_optimal(exact_assignment(X, Y, n_neighbors=2), X, Y)


def test_without_a_certificate_it_says_so(monkeypatch):
    monkeypatch.setattr(matching, "DENSE_ENTRIES", 0)
    monkeypatch.setattr(matching, "_EDGES_PER_ROW", 1)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 5
    with pytest.warns(UserWarning, match="align them first"):
        result = exact_assignment(X, Y, n_neighbors=2)
    assert not result.certified
    np.testing.assert_array_equal(np.sort(result.assignment), np.arange(40))
    assert result.cost >= cheapest(cdist(X, Y, "sqeuclidean")) * (1 - 1e-12)


def test_search_by_tree_and_by_products_agree(monkeypatch):
    rng = np.random.default_rng(0)
    B = rng.normal(size=(400, 7)) * 2.0 ** -np.arange(7)
    A = B[rng.permutation(400)[:300]] + 0.05 * rng.normal(size=(300, 7))
    search = NearestRows(B)
    expected = cdist(A, B, "sqeuclidean")
    for index in (search._by_tree(A), search._by_blocks(A, 1)[:, 0]):
        np.testing.assert_array_equal(index, expected.argmin(axis=1))
    monkeypatch.setattr(
        "skfrontier.algos.geometry.procrustes_wasserstein.nearest_rows.DENSE_ENTRIES", 0
    )
    for faster in (True, False):  # whichever the clock prefers, the neighbours are the same
        monkeypatch.setattr(NearestRows, "_tree_is_faster", lambda self, A, faster=faster: faster)
        np.testing.assert_array_equal(NearestRows(B).nearest(A)[1], expected.argmin(axis=1))


@pytest.mark.parametrize("large", [True, False])
def test_radius_of_lists_is_valid(large, monkeypatch):
    if large:
        monkeypatch.setattr(
            "skfrontier.algos.geometry.procrustes_wasserstein.nearest_rows.DENSE_ENTRIES", 0
        )
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(50, 6)), rng.normal(size=(80, 6))
    index, radius = NearestRows(B).lists(A, 5)
    distances = cdist(A, B, "sqeuclidean")
    for i in range(50):
        unlisted = np.setdiff1d(np.arange(80), index[i])
        assert distances[i, unlisted].min() >= radius[i] * (1 - 1e-12)
    assert np.isinf(NearestRows(B).lists(A, 80)[1]).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), m=st.integers(1, 14))
def test_sparse_assignment_of_all_columns(seed, n, m):
    rng = np.random.default_rng(seed)
    n, m = min(n, m), max(n, m)
    cost = rng.integers(-3, rng.choice([2, 10, 1000]), size=(n, m)).astype(float)
    result = sparse_assignment(cost, np.tile(np.arange(m), (n, 1)), m)
    assert result.n_failed == 0
    assert cost[np.arange(n), result.row_to_col].sum() == cheapest(cost)
    assert (cost - result.u[:, None] - result.v >= -1e-9).all()
    assert (result.v <= 0).all()
    assert (result.v[np.setdiff1d(np.arange(m), result.row_to_col)] == 0).all()


def test_rows_without_a_path_are_counted():
    result = sparse_assignment([1.0, 2.0, 1.0], [0, 0, 1], 3, indptr=[0, 1, 2, 3])
    np.testing.assert_array_equal(result.row_to_col, [0, -1, 1])
    assert result.n_failed == 1


def test_sparse_graph_beside_scipy():
    rng = np.random.default_rng(0)
    n, big = 60, 1e6
    listed = rng.random((n, n)) < 0.15
    listed[np.arange(n), rng.permutation(n)] = True
    cost = np.where(listed, rng.random((n, n)), big)
    indptr = np.r_[0, listed.sum(axis=1).cumsum()]
    result = sparse_assignment(cost[listed], np.nonzero(listed)[1], n, indptr=indptr)
    assert result.n_failed == 0
    assert cost[np.arange(n), result.row_to_col].sum() == pytest.approx(cheapest(cost), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        (([[1.0]], [[0.0]], 1), TypeError, "indices"),
        (([[1.0]], [[2]], 1), ValueError, "indices"),
        (([[np.nan]], [[0]], 1), ValueError, "cost"),
        (([[1.0, 2.0]], [[0]], 1), ValueError, "one shape"),
        (([[1.0]], [[0]], 0), ValueError, "n_cols"),
    ],
)
def test_bad_graphs(arguments, error, named):
    with pytest.raises(error, match=named):
        sparse_assignment(*arguments)


def test_bad_row_starts():
    for indptr in ([0, 2], [1, 1], [0.0, 1.0]):
        with pytest.raises((ValueError, TypeError), match="indptr"):
            sparse_assignment([1.0], [0], 1, indptr=indptr)


@pytest.mark.parametrize(
    ("X", "Y", "options", "named"),
    [
        (np.zeros((2, 2)), np.zeros((2, 3)), {}, "features"),
        (np.zeros(2), np.zeros((2, 3)), {}, "X must be 2-D"),
        (np.zeros((2, 3)), np.zeros((0, 3)), {}, "Y must have"),
        (np.zeros((2, 2)), np.zeros((2, 2)), {"outlier_cost": 0}, "outlier_cost"),
        (np.zeros((2, 2)), np.zeros((2, 2)), {"n_neighbors": 0}, "n_neighbors"),
        (np.zeros((2, 2)), np.zeros((2, 2)), {"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_clouds(X, Y, options, named):
    with pytest.raises(ValueError, match=named):
        exact_assignment(X, Y, **options)


@pytest.mark.parametrize("unit", [1e-150, 1e-60, 1e-8, 1e-6, 1e60, 1e140])
@pytest.mark.parametrize("outlier_quantile", [None, 0.1])
def test_the_unit_of_length_does_not_matter(unit, outlier_quantile):
    rng = np.random.default_rng(0)
    for n_x, n_y, d in ((50, 50, 3), (40, 70, 5), (60, 60, 1)):
        X, Y = unit * rng.normal(size=(n_x, d)), unit * rng.normal(size=(n_y, d))
        cost = cdist(X, Y, "sqeuclidean")
        price = None if outlier_quantile is None else float(np.quantile(cost, outlier_quantile))
        result = exact_assignment(X, Y, n_neighbors=2, outlier_cost=price)
        assert result.certified
        offered = cost if price is None else np.hstack([cost, np.full((n_x, n_x), price)])
        best = offered[linear_sum_assignment(offered)].sum()
        total = result.cost + (price or 0.0) * (result.assignment < 0).sum()
        assert total == pytest.approx(best, rel=1e-9, abs=0)
        reduced = cost - result.u[:, None] - result.v
        assert reduced.min() >= -1e-10 * cost.max()


def test_rows_of_any_length_are_put_in_order():
    rng = np.random.default_rng(0)
    lengths = np.array([0, 1, 2, 5, 40, 300])
    indptr = np.append(0, np.cumsum(lengths))
    costs = rng.integers(0, 9, size=indptr[-1]).astype(float)
    columns = rng.permutation(indptr[-1]).astype(np.int64)
    expected = np.lexsort((columns, costs, np.repeat(np.arange(6), lengths)))
    wanted = columns[expected], costs[expected]
    kernels = importlib.import_module(
        "skfrontier.algos.geometry.procrustes_wasserstein.sparse_assignment"
    )
    kernels._sort_rows(indptr, columns, costs)
    np.testing.assert_array_equal(columns, wanted[0])
    np.testing.assert_array_equal(costs, wanted[1])
