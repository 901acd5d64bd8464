"""The public exact function: values, choice of method, properties, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.spatial.distance import cdist

from skfrontier.algos.geometry.chamfer.brute import BruteSearch
from skfrontier.algos.geometry.chamfer.exact import (
    GRID_LEAST_POINTS,
    exact_cost,
    nearest_distances,
    prepare_search,
)
from skfrontier.algos.geometry.chamfer.grid import GridSearch
from skfrontier.algos.geometry.chamfer.lp import LpSearch
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.tree import TreeSearch

finite = st.floats(-100, 100, width=32)


def clouds(n_clouds, elements=finite):
    return st.integers(1, 5).flatmap(
        lambda d: st.tuples(
            *[
                hnp.arrays(float, st.tuples(st.integers(1, 20), st.just(d)), elements=elements)
                for _ in range(n_clouds)
            ]
        )
    )


@pytest.mark.parametrize("method", ["auto", "brute", "tree", "grid"])
@pytest.mark.parametrize(
    ("names", "scipy_name", "power"),
    [
        ({}, "euclidean", 1),
        ({"metric": "sqeuclidean"}, "euclidean", 2),
        ({"metric": "manhattan"}, "cityblock", 1),
        ({"p": np.inf}, "chebyshev", 1),
    ],
)
def test_metrics_and_methods(method, names, scipy_name, power):
    if method == "grid" and scipy_name != "euclidean":
        pytest.skip("the grid is for p = 2")
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 400, 3))
    distances, index = nearest_distances(A, B, method=method, return_index=True, **names)
    expected = cdist(A, B, scipy_name) ** power
    np.testing.assert_allclose(distances, expected.min(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(index, expected.argmin(axis=1))


def test_angular():
    A = np.array([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]])
    np.testing.assert_allclose(
        nearest_distances(A, [[5.0, 0.0], [5.0, 5.0]], metric="angular"), [0.0, 0.25, 0.75]
    )


def test_mixed_dtypes_and_integers():
    A = np.array([[0, 3]])
    B = np.array([[4, 0]], np.float32)
    assert nearest_distances(A, B).tolist() == [5.0]
    assert nearest_distances(A.astype(np.float16), B.astype(np.float16)).dtype == np.float64


def test_auto_takes_the_cheapest():
    rng = np.random.default_rng(1)
    metric = Metric(2.0, 1.0, angular=False)
    assert isinstance(prepare_search(rng.random((5000, 3)), metric), GridSearch)
    assert isinstance(prepare_search(rng.random((50, 3)), metric), BruteSearch)
    assert isinstance(prepare_search(rng.random((5000, 50)), metric), BruteSearch)
    assert isinstance(prepare_search(rng.random((50_000, 4)), metric), TreeSearch)
    assert isinstance(prepare_search(rng.random((50, 9)), Metric(1.0, 1.0, False)), LpSearch)
    assert isinstance(
        prepare_search(rng.random((50_000, 2)), Metric(np.inf, 1.0, False)), TreeSearch
    )
    tight = 1e3 * rng.random((9, 3))[rng.integers(9, size=20_000)] + 1e-4 * rng.random((20_000, 3))
    assert isinstance(prepare_search(tight, metric), TreeSearch)


def test_cost_formula():
    euclidean, other = Metric(2.0, 1.0, angular=False), Metric(1.37, 1.0, angular=False)
    assert exact_cost(10, 1e5, 3, euclidean) == exact_cost(10, 1e5, 3, euclidean, "grid")
    assert exact_cost(10, 1e5, 9, euclidean) == exact_cost(10, 1e5, 9, euclidean, "brute")
    assert exact_cost(10, 1e5, 9, euclidean, "tree") == np.inf
    assert exact_cost(10, GRID_LEAST_POINTS - 1, 3, euclidean, "grid") == np.inf
    assert exact_cost(10, 1e5, 3, other, "grid") == np.inf
    assert exact_cost(20, 1e5, 64, other) == 2 * exact_cost(10, 1e5, 64, other)
    assert exact_cost(10, 1e5, 64, other) > exact_cost(10, 1e5, 64, euclidean)


@given(clouds(3))
@settings(deadline=None, max_examples=50)
def test_more_references_never_are_farther(three):
    A, B, C = three
    with_both = nearest_distances(A, np.concatenate([B, C]))
    assert (with_both <= nearest_distances(A, B)).all()
    np.testing.assert_array_equal(
        with_both, np.minimum(nearest_distances(A, B), nearest_distances(A, C))
    )


@given(clouds(2), st.sampled_from([1.0, 1.5, 1.37, 2.0]))
@settings(deadline=None, max_examples=50)
def test_subset_is_at_distance_zero(two, p):
    A, B = two
    assert not nearest_distances(A, np.concatenate([B, A]), p=p).any()


@given(clouds(2, st.integers(-50, 50)), st.sampled_from([1.0, 1.37, 2.0]), st.integers(-20, 20))
@settings(deadline=None, max_examples=50)
def test_scaling_and_translation(two, p, exponent):
    A, B = two
    distances = nearest_distances(A, B, p=p)
    factor = 2.0**exponent
    np.testing.assert_allclose(nearest_distances(A * factor, B * factor, p=p), distances * factor)
    np.testing.assert_allclose(nearest_distances(A + 77, B + 77, p=p), distances)


@given(clouds(2))
@settings(deadline=None, max_examples=30)
def test_distances_fall_as_p_rises(two):
    A, B = two
    by_p = np.array([nearest_distances(A, B, p=p) for p in (1.0, 1.25, 1.6, 2.0, 3.0, np.inf)])
    assert (np.diff(by_p, axis=0) <= 1e-12 * by_p[:-1]).all()


@pytest.mark.parametrize("metric", ["euclidean", "angular"])
def test_rotation_changes_nothing(metric):
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((2, 300, 5))
    Q, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    np.testing.assert_allclose(
        nearest_distances(A @ Q, B @ Q, metric=metric),
        nearest_distances(A, B, metric=metric),
        rtol=1e-9,
    )


def test_no_queries():
    assert nearest_distances(np.empty((0, 3)), np.ones((4, 3))).shape == (0,)
    assert nearest_distances(np.empty((0, 3)), np.empty((0, 3))).shape == (0,)


def test_constant_columns_and_equal_points():
    A, B = np.ones((5000, 3)), np.ones((5000, 3))
    for method in ("auto", "brute", "tree", "grid"):
        distances, index = nearest_distances(A, B, method=method, return_index=True)
        assert not distances.any()
        assert not index.any()


@pytest.mark.filterwarnings("error")
def test_overflow_is_not_silent():
    from skfrontier.algos.geometry.chamfer.metric import OverflowWarning

    A, B = np.full((3, 2), 1e200), np.zeros((3, 2))
    np.testing.assert_allclose(nearest_distances(A, B), np.sqrt(2) * 1e200)
    with pytest.warns(OverflowWarning):
        assert np.isinf(nearest_distances(A, B, metric="sqeuclidean")).all()


@pytest.mark.parametrize(
    ("A", "B", "options", "message"),
    [
        ([1.0, 2.0], [[1.0]], {}, "A must be 2-D"),
        ([[1.0]], [[1.0, 2.0]], {}, "same number of features"),
        ([[np.nan]], [[1.0]], {}, "A must be finite"),
        ([[1.0]], [[np.inf]], {}, "B must be finite"),
        ([[1.0j]], [[1.0]], {}, "real numbers"),
        (sparse.csr_matrix([[1.0]]), [[1.0]], {}, "sparse"),
        ([[1.0]], np.empty((0, 1)), {}, "B must have at least 1"),
        ([[1.0]], [[1.0]], {"p": 0.5}, "p must lie"),
        ([[1.0]], [[1.0]], {"p": np.nan}, "p must lie"),
        ([[1.0]], [[1.0]], {"metric": "cosine"}, "metric must be one of"),
        ([[1.0]], [[1.0]], {"method": "fast"}, "method must be one of"),
        ([[1.0]], [[1.0]], {"method": "grid", "p": 1}, "method='grid'"),
        ([[1.0], [0.0]], [[1.0]], {"metric": "angular"}, r"A\[1\]"),
    ],
)
def test_bad_input(A, B, options, message):
    with pytest.raises(ValueError, match=message):
        nearest_distances(A, B, **options)
