"""Tree and grid against float64 brute force, row numbers included."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from skfrontier.algos.geometry.chamfer.brute import BruteSearch
from skfrontier.algos.geometry.chamfer.grid import CELLS_PER_POINT, GridSearch
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.query_order import WORTHWHILE, spatial_order
from skfrontier.algos.geometry.chamfer.scaling import unit_scale
from skfrontier.algos.geometry.chamfer.tree import TreeSearch
from skfrontier.datasets import make_chamfer_pair

EUCLIDEAN = Metric(2.0, 1.0, angular=False)
ANGULAR = Metric(2.0, 1.0, angular=True)


def lp(p):
    return Metric(p, 1.0, angular=False)


def check(search, A, B, p=2.0, rtol=1e-12):
    distances, index = search.query(A)
    A, B = A.astype(np.float64), B.astype(np.float64)
    expected = cdist(A, B, "chebyshev") if np.isinf(p) else cdist(A, B, "minkowski", p=p)
    np.testing.assert_allclose(distances, expected.min(axis=1), rtol=rtol)
    np.testing.assert_array_equal(index, expected.argmin(axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1.0, 1.37, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("d", [1, 3, 6])
def test_tree_equals_brute_force(dtype, p, d):
    rng = np.random.default_rng(d)
    A = rng.standard_normal((700, d)).astype(dtype)
    B = rng.standard_normal((600, d)).astype(dtype)
    check(TreeSearch(B, lp(p)), A, B, p)


@pytest.mark.parametrize("kind", ["unif", "clusters", "lowrank", "torus"])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_grid_equals_brute_force(kind, d, dtype):
    A, B = make_chamfer_pair(kind, n=3000, n_features=d, random_state=0, dtype=dtype)
    A = A.copy()
    A[:50] *= 5  # outside the box
    A[50:60] *= 1e4
    check(GridSearch(B, EUCLIDEAN), A, B)


@pytest.mark.parametrize("make", [TreeSearch, GridSearch])
def test_ties_go_to_the_lowest_row(make):
    rng = np.random.default_rng(0)
    A, B = rng.integers(-3, 4, (2, 2500, 3)).astype(np.float64)
    check(make(B, EUCLIDEAN), A, B)
    check(make(B, EUCLIDEAN), A + 0.5, B)


@given(
    st.integers(1, 3).flatmap(
        lambda d: st.tuples(
            hnp.arrays(
                float, st.tuples(st.integers(1, 40), st.just(d)), elements=st.integers(-9, 9)
            ),
            hnp.arrays(
                float, st.tuples(st.integers(1, 40), st.just(d)), elements=st.integers(-9, 9)
            ),
        )
    )
)
@settings(deadline=None, max_examples=80)
def test_grid_and_tree_on_lattices(clouds):
    A, B = clouds
    check(GridSearch(B, EUCLIDEAN), A, B)
    check(TreeSearch(B, EUCLIDEAN), A, B)
    check(TreeSearch(B, lp(1.0)), A, B, 1.0)


@pytest.mark.parametrize("make", [TreeSearch, GridSearch])
@pytest.mark.parametrize("kind", ["equal", "line", "few", "outlier"])
def test_degenerate_references(make, kind):
    rng = np.random.default_rng(1)
    B = np.zeros((3000, 3))
    if kind == "line":
        B[:, 1] = rng.random(3000)
    elif kind == "few":
        B = rng.standard_normal((5, 3))[rng.integers(5, size=3000)]
    elif kind == "outlier":
        B = rng.random((3000, 3))
        B[17] = 1e9
    A = np.concatenate([rng.standard_normal((600, 3)), B[:200]])
    check(make(B, EUCLIDEAN), A, B)


@pytest.mark.parametrize("make", [TreeSearch, GridSearch])
@pytest.mark.parametrize("scale", [1e-170, 1e-23, 1e18, 1e150])
def test_any_scale(make, scale):
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((2, 900, 3))
    factor = unit_scale(1 / scale)
    distances, index = make(B * factor, EUCLIDEAN).query(A * factor)
    expected = cdist(A, B)
    np.testing.assert_allclose(distances / factor, expected.min(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(index, expected.argmin(axis=1))


@pytest.mark.parametrize("make", [TreeSearch, GridSearch])
def test_queries_far_beyond_the_scale_of_the_references(make):
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((2, 700, 2))
    A[::9] *= 1e200
    found, expected = make(B, EUCLIDEAN).query(A), BruteSearch(B, EUCLIDEAN).query(A)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)


@pytest.mark.parametrize("make", [TreeSearch, GridSearch])
def test_offset(make):
    rng = np.random.default_rng(4)
    A, B = rng.random((2, 2000, 3)) + 1e6
    check(make(B, EUCLIDEAN), A, B)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_tree_of_angles(d):
    rng = np.random.default_rng(d)
    A, B = rng.standard_normal((2, 900, d))
    if d == 2:
        B = np.column_stack([1 + rng.random(900), rng.random(900) - 0.5])  # some are opposite
    found, expected = TreeSearch(B, ANGULAR).query(A), BruteSearch(B, ANGULAR).query(A)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("make", [TreeSearch, GridSearch])
def test_any_n_jobs_layout_and_pickling(make):
    A, B = make_chamfer_pair("unif", n=9000, n_features=3, random_state=0)
    search = make(B, EUCLIDEAN)
    distances, index = search.query(A)
    reversed_B = np.asfortranarray(B)
    for again in (
        search.query(A, n_jobs=2),
        pickle.loads(pickle.dumps(search)).query(A),
        make(reversed_B, EUCLIDEAN).query(np.asfortranarray(A)),
    ):
        np.testing.assert_array_equal(again[0], distances)
        np.testing.assert_array_equal(again[1], index)
    assert search.query(A[:0])[0].shape == (0,)
    one = make(B[:1], EUCLIDEAN)
    np.testing.assert_allclose(one.query(A[:5])[0], cdist(A[:5], B[:1])[:, 0], rtol=1e-6)


@pytest.mark.parametrize("kind", ["unif", "torus"])
def test_grid_equals_the_default_tree(kind):
    A, B = make_chamfer_pair(kind, n=20_000, n_features=3, random_state=0, dtype="float64")
    expected, _ = cKDTree(B).query(A)
    grid = GridSearch(B, EUCLIDEAN)
    np.testing.assert_allclose(grid.query(A)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(TreeSearch(B, EUCLIDEAN).query(A)[0], expected, rtol=1e-12)
    assert grid.occupancy < 8
    assert len(grid._starts) - 1 <= CELLS_PER_POINT * len(B)


def test_occupancy_shows_clusters_that_the_cells_cannot_resolve():
    rng = np.random.default_rng(5)
    B = 1e3 * rng.random((20, 3))[rng.integers(20, size=5000)] + 1e-3 * rng.random((5000, 3))
    assert GridSearch(B, EUCLIDEAN).occupancy > 100


def test_spatial_order_is_a_permutation_that_keeps_neighbours_near():
    rng = np.random.default_rng(6)
    X = rng.random((4 * WORTHWHILE, 2))
    order = spatial_order(X)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(X)))
    steps = np.linalg.norm(np.diff(X[order], axis=0), axis=1).mean()
    assert steps < 0.2 * np.linalg.norm(np.diff(X, axis=0), axis=1).mean()
    np.testing.assert_array_equal(spatial_order(X[:10]), np.arange(10))
    constant = np.zeros((WORTHWHILE, 3))
    np.testing.assert_array_equal(spatial_order(constant), np.arange(WORTHWHILE))


def test_refused():
    B = np.zeros((3, 2))
    with pytest.raises(ValueError, match="p=40"):
        TreeSearch(B, lp(40.0))
    for metric, points in ((lp(1.0), B), (ANGULAR, B + 1), (EUCLIDEAN, np.zeros((3, 4)))):
        with pytest.raises(ValueError, match="method='grid'"):
            GridSearch(points, metric)
