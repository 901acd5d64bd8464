"""Certified matrix products against float64 brute force."""

import pickle

import numpy as np
import pytest
import threadpoolctl
from scipy.spatial.distance import cdist

from skfrontier.algos.geometry.chamfer.brute import CHUNK, BruteSearch, _scan
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.recheck import angle_over_pi
from skfrontier.algos.geometry.chamfer.scaling import check_directions, row_norms, unit_scale

EUCLIDEAN = Metric(2.0, 1.0, angular=False)
ANGULAR = Metric(2.0, 1.0, angular=True)
TOLERANCE = {np.float32: 1e-6, np.float64: 1e-12}


def reference(A, B, metric=EUCLIDEAN):
    A, B = A.astype(np.float64), B.astype(np.float64)
    if not metric.angular:
        return cdist(A, B)
    u = A / np.linalg.norm(A, axis=1, keepdims=True)
    v = B / np.linalg.norm(B, axis=1, keepdims=True)
    return 2 * np.arctan2(cdist(u, v), cdist(u, -v)) / np.pi


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", [EUCLIDEAN, ANGULAR], ids=["euclidean", "angular"])
@pytest.mark.parametrize("d", [1, 2, 17, 130])
def test_equals_float64_brute_force(dtype, metric, d):
    rng = np.random.default_rng(d)
    A = rng.standard_normal((1100, d)).astype(dtype)
    B = rng.standard_normal((2300, d)).astype(dtype)
    distances, index = BruteSearch(B, metric).query(A)
    expected = reference(A, B, metric)
    np.testing.assert_allclose(distances, expected.min(axis=1), rtol=TOLERANCE[dtype], atol=1e-15)
    if d > 1:  # on a line all angles are 0 or 1
        np.testing.assert_array_equal(index, expected.argmin(axis=1))


def test_near_duplicates_far_from_the_origin():
    rng = np.random.default_rng(0)
    B = (rng.standard_normal((3000, 64)) + 100).astype(np.float32)
    A = (B + 1e-3 * rng.standard_normal(B.shape)).astype(np.float32)
    distances, index = BruteSearch(B, EUCLIDEAN).query(A)
    np.testing.assert_allclose(distances, reference(A, B).min(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(index, np.arange(3000))


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float32, 1e-23), (np.float32, 1e18), (np.float64, 1e-170), (np.float64, 1e150)],
)
@pytest.mark.parametrize("metric", [EUCLIDEAN, ANGULAR], ids=["euclidean", "angular"])
def test_any_scale(dtype, scale, metric):
    rng = np.random.default_rng(1)
    power_of_two = unit_scale(1 / scale)
    A = (rng.standard_normal((200, 20)) * power_of_two).astype(dtype)
    B = (rng.standard_normal((700, 20)) * power_of_two).astype(dtype)
    distances, _ = BruteSearch(B, metric).query(A)
    expected = reference(A / dtype(power_of_two), B / dtype(power_of_two), metric).min(axis=1)
    if not metric.angular:
        distances = distances / power_of_two
    np.testing.assert_allclose(distances, expected, rtol=TOLERANCE[dtype])


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 1e30), (np.float64, 1e200)])
def test_queries_far_beyond_the_scale_of_the_references(dtype, far):
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((40, 5)).astype(dtype), rng.standard_normal((90, 5)).astype(dtype)
    A[::7] *= dtype(far)
    distances, index = BruteSearch(B, EUCLIDEAN).query(A)
    expected = reference(A[::7] / dtype(far), B / dtype(far)).min(axis=1) * far
    np.testing.assert_allclose(distances[::7], expected, rtol=1e-6)
    near = np.arange(40) % 7 != 0
    np.testing.assert_array_equal(index[near], reference(A[near], B).argmin(axis=1))


def test_one_huge_reference_costs_few_rechecks():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((3000, 64)).astype(np.float32)
    B = rng.standard_normal((3000, 64)).astype(np.float32)
    B[7] *= 1e4
    search = BruteSearch(B, EUCLIDEAN)
    distances, _, rechecks = search._query_counting(A)
    assert rechecks.sum() <= 20 * len(A)
    np.testing.assert_allclose(distances, reference(A, B).min(axis=1), rtol=1e-12)


def test_small_and_opposite_angles_keep_their_digits():
    angles = np.array([0.0, 6.8e-9, 1e-6, 1e-3, 1.0, np.pi - 1e-6, np.pi])
    A = np.column_stack([np.cos(angles), np.sin(angles)])
    A[-1] = [-1.0, 0.0]
    distances, _ = BruteSearch(np.array([[1.0, 0.0]]), ANGULAR).query(A)
    np.testing.assert_allclose(distances, angles / np.pi, rtol=1e-9)


def test_ties_go_to_the_lowest_row():
    rng = np.random.default_rng(4)
    A, B = rng.integers(0, 3, (2, 1500, 3)).astype(np.float64)
    _, index = BruteSearch(B, EUCLIDEAN).query(A)
    np.testing.assert_array_equal(index, reference(A, B).argmin(axis=1))


def test_all_references_equal():
    B = np.full((5000, 4), 3.0, np.float32)
    distances, index = BruteSearch(B, EUCLIDEAN).query(np.ones((600, 4), np.float32))
    np.testing.assert_array_equal(distances, 4.0)
    np.testing.assert_array_equal(index, 0)


@pytest.mark.parametrize("metric", [EUCLIDEAN, ANGULAR], ids=["euclidean", "angular"])
def test_same_values_for_any_n_jobs_batch_and_after_pickling(metric):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((1500, 9)).astype(np.float32)
    B = rng.standard_normal((3000, 9)).astype(np.float32)
    search = BruteSearch(B, metric)
    distances, index = search.query(A)
    for again in (search.query(A, n_jobs=2), pickle.loads(pickle.dumps(search)).query(A)):
        np.testing.assert_array_equal(again[0], distances)
        np.testing.assert_array_equal(again[1], index)
    np.testing.assert_array_equal(search.query(A[100:132])[0], distances[100:132])


@pytest.mark.parametrize("view", ["fortran", "negative", "read-only", "strided"])
def test_memory_layout_does_not_matter_and_inputs_stay(view, tmp_path):
    rng = np.random.default_rng(6)
    A, B = rng.standard_normal((300, 6)), rng.standard_normal((500, 6))
    expected = BruteSearch(B, EUCLIDEAN).query(A)

    def changed(X, name):
        if view == "fortran":
            return np.asfortranarray(X)
        if view == "negative":
            return X[::-1].copy()[::-1]
        if view == "strided":
            return np.repeat(X, 2, axis=1)[:, ::2]
        np.save(tmp_path / name, X)
        return np.load(tmp_path / name, mmap_mode="r")

    A_view, B_view = changed(A, "A.npy"), changed(B, "B.npy")
    found = BruteSearch(B_view, EUCLIDEAN).query(A_view)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(A_view, A)
    np.testing.assert_array_equal(B_view, B)


def test_no_queries_and_one_reference():
    search = BruteSearch(np.array([[1.0, 2.0]]), EUCLIDEAN)
    distances, index = search.query(np.empty((0, 2)))
    assert distances.shape == index.shape == (0,)
    assert index.dtype == np.intp
    np.testing.assert_allclose(search.query(np.array([[4.0, 6.0]]))[0], 5.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scan_lists_what_the_bounds_cannot_rule_out(dtype):
    rng = np.random.default_rng(7)
    n, m = 5, 3 * CHUNK + 11
    products = rng.standard_normal((n, m)).astype(dtype)
    squares, lengths = rng.random((2, m)).astype(dtype)
    spread, margin = rng.random((2, n)).astype(dtype) / dtype(8)
    bend = dtype(0.01)
    upper = np.full(n, np.inf, dtype)
    candidates = np.empty((2, n * m), np.int32)
    count = _scan(products, squares, lengths, spread, bend, margin, upper, candidates)
    middle = products.astype(float) + squares
    width = spread[:, None] * lengths + bend * squares
    limit = (middle + width).min(axis=1)
    np.testing.assert_allclose(upper, limit, rtol=1e-6)
    expected = np.nonzero(middle - width <= (limit + margin)[:, None])
    np.testing.assert_array_equal(candidates[:, :count], expected)


def test_row_norms_do_not_overflow():
    X = np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]])
    norms = np.empty(3)
    row_norms(X, norms)
    np.testing.assert_allclose(norms, [5e200, 5e-200, 0.0], rtol=1e-15)


def test_zero_rows_are_named():
    with pytest.raises(ValueError, match=r"B\[2\]"):
        check_directions(np.array([[1.0], [2.0], [0.0]]), "B")


def test_angle_of_an_infinite_tangent():
    np.testing.assert_array_equal(angle_over_pi(np.array([0.0, 1.0, np.inf])), [0.0, 0.5, 1.0])


def test_blas_threads_are_limited_inside_and_restored(monkeypatch):
    def n_threads():
        numpys = [lib for lib in threadpoolctl.threadpool_info() if "numpy" in lib["filepath"]]
        return {lib["num_threads"] for lib in numpys if lib["user_api"] == "blas"}

    before = n_threads()
    if not before:
        pytest.skip("the BLAS of this numpy is not one that threadpoolctl finds beside it")
    seen = []
    query_rows = BruteSearch._query_rows

    def watched(self, A):
        seen.append(n_threads())
        return query_rows(self, A)

    monkeypatch.setattr(BruteSearch, "_query_rows", watched)
    points = np.random.default_rng(0).standard_normal((2000, 8))
    BruteSearch(points, EUCLIDEAN).query(points, n_jobs=3)
    assert len(seen) > 2
    assert all(counts == {1} for counts in seen)
    assert n_threads() == before
