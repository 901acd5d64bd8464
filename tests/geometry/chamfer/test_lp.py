"""l_p kernels and the search on top of them."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skfrontier.algos.geometry.chamfer import power_sums
from skfrontier.algos.geometry.chamfer.lp import LpSearch
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.scaling import unit_scale

POWERS = [1.0, 1.25, 1.37, 1.5, 1.75, 1.93, 2.0]
STEEP = [2.5, 3.0, 40.0, np.inf]


def lp(p):
    return Metric(p, 1.0, angular=False)


def reference(A, B, p):
    A, B = A.astype(np.float64), B.astype(np.float64)
    return cdist(A, B, "chebyshev") if np.isinf(p) else cdist(A, B, "minkowski", p=p)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", POWERS + STEEP)
@pytest.mark.parametrize("d", [1, 5, 70])
def test_equals_float64_brute_force(dtype, p, d):
    rng = np.random.default_rng(d)
    A = rng.standard_normal((131, d)).astype(dtype)
    B = rng.standard_normal((2500, d)).astype(dtype)
    distances, index = LpSearch(B, lp(p)).query(A)
    expected = reference(A, B, p)
    np.testing.assert_allclose(distances, expected.min(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(index, expected.argmin(axis=1))


@pytest.mark.parametrize("p", [1.0, 1.37, 1.5])
def test_near_duplicates_far_from_the_origin(p):
    rng = np.random.default_rng(0)
    B = (rng.standard_normal((3000, 64)) + 100).astype(np.float32)
    A = (B + 1e-3 * rng.standard_normal(B.shape)).astype(np.float32)[:200]
    distances, index = LpSearch(B, lp(p)).query(A)
    np.testing.assert_allclose(distances, reference(A, B, p).min(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(index, np.arange(200))


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float32, 1e-23), (np.float32, 1e18), (np.float64, 1e-170), (np.float64, 1e150)],
)
@pytest.mark.parametrize("p", [1.0, 1.25, 1.37, 3.0])
def test_any_scale(dtype, scale, p):
    rng = np.random.default_rng(1)
    factor = unit_scale(1 / scale)
    A = rng.standard_normal((50, 20)).astype(dtype) * dtype(factor)
    B = rng.standard_normal((700, 20)).astype(dtype) * dtype(factor)
    distances, _ = LpSearch(B, lp(p)).query(A)
    expected = reference(A / dtype(factor), B / dtype(factor), p).min(axis=1)
    np.testing.assert_allclose(distances / factor, expected, rtol=1e-6)


@pytest.mark.parametrize("p", [1.0, 1.5, 1.37])
@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 2.0**100), (np.float64, 2.0**700)])
def test_queries_far_beyond_the_scale_of_the_references(p, dtype, far):
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((40, 5)).astype(dtype), rng.standard_normal((90, 5)).astype(dtype)
    A[::7] *= dtype(far)
    distances, index = LpSearch(B, lp(p)).query(A)
    expected = reference(A[::7] / dtype(far), B / dtype(far), p).min(axis=1)
    np.testing.assert_allclose(distances[::7] / far, expected, rtol=1e-6)
    near = np.arange(40) % 7 != 0
    np.testing.assert_array_equal(index[near], reference(A[near], B, p).argmin(axis=1))


@pytest.mark.parametrize("p", [1.0, 1.5, 1.37, 3.0])
def test_ties_jobs_and_pickling(p):
    rng = np.random.default_rng(3)
    A, B = rng.integers(0, 3, (2, 400, 3)).astype(np.float32)
    search = LpSearch(B, lp(p))
    distances, index = search.query(A)
    _, first = np.unique(B, axis=0, return_index=True)
    exact = distances == 0  # the same lattice point: ties by row number are ties exactly
    assert exact.any()
    assert set(index[exact]) <= set(first)
    for again in (search.query(A, n_jobs=2), pickle.loads(pickle.dumps(search)).query(A)):
        np.testing.assert_array_equal(again[0], distances)
        np.testing.assert_array_equal(again[1], index)


def test_no_queries_and_one_reference():
    for p in (1.0, 1.5, 1.37, 3.0):
        search = LpSearch(np.array([[1.0, 2.0]]), lp(p))
        assert search.query(np.empty((0, 2)))[0].shape == (0,)
        assert search.query(np.array([[2.0, 2.0]]))[0].tolist() == [1.0]


def block(dtype, n=8, m=200, d=37):
    rng = np.random.default_rng(4)
    return (
        rng.standard_normal((n, d)).astype(dtype),
        rng.standard_normal((m, d)).astype(dtype),
        np.empty((n, m), dtype),
    )


def sums(Q, P, p):
    return (np.abs(Q.astype(float)[:, None] - P.astype(float)) ** p).sum(axis=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_of_absolute_sums(dtype):
    Q, P, out = block(dtype)
    power_sums.absolute_sums(Q, P, out)
    np.testing.assert_allclose(out, sums(Q, P, 1), rtol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", power_sums.QUARTER_POWERS)
def test_kernel_of_quarter_powers(dtype, p):
    Q, P, out = block(dtype)
    power_sums.quarter_sums(Q, P, power_sums.QUARTER_POWERS[p], out)
    np.testing.assert_allclose(out, sums(Q, P, p), rtol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("p", [1.01, 1.37, 1.8, 2.0])
def test_kernel_of_polynomial_powers_over_all_exponents(p):
    exponents = np.arange(-57, 40)
    t = (2.0**exponents * np.linspace(1, 1.99, len(exponents))).astype(np.float32)[:, None]
    origin = np.zeros((1, 1), np.float32)
    out = np.empty((len(t), 1), np.float32)
    power_sums.polynomial_sums_32(t, origin, np.float32(p), out)
    exact = t.astype(float) ** float(np.float32(p))
    np.testing.assert_allclose(out, exact, rtol=power_sums.POLYNOMIAL_ERROR)
    wide = np.empty((len(t), 1))
    power_sums.polynomial_sums_64(t.astype(float), origin.astype(float), p, wide)
    np.testing.assert_allclose(wide, t.astype(float) ** p, rtol=power_sums.POLYNOMIAL_ERROR)


@pytest.mark.parametrize("p", [1.01, 1.37, 2.0])
def test_polynomial_powers_of_all_mantissas(p):
    t = np.linspace(1, 2, 4001).astype(np.float32)[:, None]
    out = np.empty((len(t), 1), np.float32)
    power_sums.polynomial_sums_32(t, np.zeros((1, 1), np.float32), np.float32(p), out)
    np.testing.assert_allclose(out, t.astype(float) ** p, rtol=power_sums.POLYNOMIAL_ERROR)
