"""All methods against a float64 row sweep, on harmless and hard keys."""

import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inversion_references import DIRECT, KINDS, METHODS, largest_error, matrices, row_by_row

from skfrontier.algos import (
    delta_rule_inverse_bound,
    delta_rule_matrix,
    invert_lower,
    invert_unit_lower,
)
from skfrontier.datasets import make_delta_rule_keys

SIZES = (1, 2, 3, 16, 17, 64, 100, 128)
TOLERANCE = {np.float64: 1e-13, np.float32: 1e-6}


def test_example():
    L = np.array([[0, 0, 0], [0.5, 0, 0], [0.25, 2, 0]])
    assert invert_unit_lower(L).tolist() == [[1, 0, 0], [-0.5, 1, 0], [0.75, -2, 1]]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_methods_agree_with_the_row_sweep(n, method, dtype):
    L = matrices(5, n).astype(dtype)
    T = invert_unit_lower(L, method=method)
    assert T.dtype == dtype
    assert largest_error(T, row_by_row(L)) <= TOLERANCE[dtype]
    assert not np.triu(T, 1).any()
    assert (T.diagonal(axis1=1, axis2=2) == 1).all()


@pytest.mark.parametrize("method", DIRECT)
@pytest.mark.parametrize("kind", ["correlated", "equal"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 2e-6)])
def test_direct_methods_are_safe_on_hard_keys(method, kind, dtype, tolerance):
    L = matrices(20, 128, kind=kind).astype(dtype)
    assert largest_error(invert_unit_lower(L, method=method), row_by_row(L)) <= tolerance


@pytest.mark.parametrize("n", [129, 384, 385, 600])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_matrices(n, dtype):
    L = matrices(2, n).astype(dtype)
    assert largest_error(invert_unit_lower(L), row_by_row(L)) <= TOLERANCE[dtype]


@pytest.mark.parametrize("base", [1, 3, 7, 64, 1000])
def test_any_base(base):
    L = matrices(2, 45)
    T = invert_unit_lower(L, method="recursive", base=base)
    assert largest_error(T, row_by_row(L)) <= 1e-13


@pytest.mark.parametrize("method", ["neumann", "newton"])
def test_guard_returns_the_recursive_result_and_warns_the_caller(method):
    L = matrices(3, 64, kind="correlated").astype(np.float32)
    with pytest.warns(UserWarning, match="growth_limit=4") as caught:
        T = invert_unit_lower(L, method=method)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(T, invert_unit_lower(L, method="recursive"))


@pytest.mark.parametrize("method", ["neumann", "newton"])
def test_without_guard_powers_fail(method):
    L = matrices(3, 64, kind="correlated").astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        T = invert_unit_lower(L, method=method, guard=False)
    # Newton corrects its own steps: it fails later, on equal keys.
    if method == "newton":
        L = matrices(3, 64, kind="equal").astype(np.float32)
        T = invert_unit_lower(L, method=method, guard=False)
    assert largest_error(T, row_by_row(L)) > 1


def test_guard_lets_harmless_matrices_pass():
    L = matrices(3, 64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("neumann", "newton"):
            T = invert_unit_lower(L, method=method)
            assert largest_error(T, row_by_row(L)) <= 1e-13


def test_growth_limit_is_the_users():
    L = np.tril(np.full((4, 4), 3.0), -1)
    with pytest.warns(UserWarning, match="size 18, above growth_limit=10"):
        invert_unit_lower(L, method="neumann", growth_limit=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        invert_unit_lower(L, method="newton", growth_limit=18)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_inverses_of_the_delta_rule_are_bounded(gated, kind):
    rng = np.random.default_rng(3)
    for _ in range(170):  # of 1000 cases over the parameters
        n, d = rng.integers(1, 40), rng.integers(1, 20)
        k, _, g = make_delta_rule_keys(1, n, d, kind=kind, gated=gated, random_state=rng)
        k = k * rng.uniform(0.2, 3, (1, n, 1))
        beta = rng.uniform(0, 2, (1, n)) / (k * k).sum(-1)
        if gated:
            g = g * rng.choice([0.0, 1.0, 50.0], size=g.shape)
        T = invert_unit_lower(delta_rule_matrix(k, beta, g))
        bound = delta_rule_inverse_bound(k, beta, g)
        assert (np.abs(T) <= bound * (1 + 1e-12) + 1e-13).all()


def test_bound_needs_its_condition():
    k = np.ones((3, 1))
    beta = np.full(3, 4.0)
    T = invert_unit_lower(delta_rule_matrix(k, beta))
    assert (np.abs(T) > delta_rule_inverse_bound(k, beta)).any()


@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from(METHODS))
def test_product_is_the_identity(n, seed, method):
    L = matrices(2, n, d=64, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        T = invert_unit_lower(L, method=method)
    assert largest_error((np.eye(n) + L) @ T, np.eye(n)) <= 1e-12


@given(st.integers(2, 60), st.integers(0, 2**32 - 1), st.sampled_from(DIRECT))
def test_leading_and_diagonal_blocks(n, seed, method):
    L = matrices(1, n, d=64, seed=seed)[0]
    m = n // 2
    T = invert_unit_lower(L, method=method)
    leading = invert_unit_lower(np.ascontiguousarray(L[:m, :m]), method=method)
    np.testing.assert_allclose(T[:m, :m], leading, atol=1e-13)
    L[m:, :m] = 0
    blocks = invert_unit_lower(L, method=method)
    assert not blocks[m:, :m].any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("refine", ["auto", 1])
def test_upper_entries_are_never_read(method, dtype, refine):
    L = matrices(2, 20).astype(dtype)
    dirty = L.copy()
    dirty[:, *np.triu_indices(20)] = np.nan
    np.testing.assert_array_equal(
        invert_unit_lower(dirty, method=method, refine=refine),
        invert_unit_lower(L, method=method, refine=refine),
    )


def test_batch_order_and_threads_do_not_matter():
    L = matrices(7, 20)
    T = invert_unit_lower(L)
    order = np.random.default_rng(0).permutation(7)
    np.testing.assert_array_equal(invert_unit_lower(L[order]), T[order])
    np.testing.assert_array_equal(invert_unit_lower(L, n_jobs=3), T)


def test_leading_axes_and_memory_order_are_free():
    L = matrices(6, 9).reshape(2, 3, 9, 9)
    T = invert_unit_lower(L)
    assert T.shape == L.shape
    np.testing.assert_array_equal(invert_unit_lower(np.asfortranarray(L)), T)
    np.testing.assert_array_equal(invert_unit_lower(L[:, ::2]), T[:, ::2])
    frozen = L.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(invert_unit_lower(frozen), T)
    np.testing.assert_array_equal(invert_unit_lower(L[0, 0].tolist()), T[0, 0])


@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (0, 5, 5), (2, 0, 4, 4)])
@pytest.mark.parametrize("method", METHODS)
def test_empty(shape, method):
    assert invert_unit_lower(np.empty(shape), method=method).shape == shape
    assert invert_lower(np.empty(shape), method=method).shape == shape


def test_overflow_of_a_legitimate_input_is_not_an_error():
    L = np.tril(np.full((3, 3), 1e30, np.float32), -1)
    assert np.isinf(invert_unit_lower(L)[2, 0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_general_diagonal(method, dtype):
    rng = np.random.default_rng(0)
    L = matrices(4, 33)
    A = ((np.eye(33) + L) * rng.uniform(0.5, 2, (4, 33, 1))).astype(dtype)
    A[1] *= -1
    dirty = A + np.triu(np.full((33, 33), np.nan), 1).astype(dtype)
    inverse = invert_lower(dirty, method=method)
    assert inverse.dtype == dtype
    exact = np.linalg.inv(A.astype(float))
    assert largest_error(inverse, exact) <= 4 * TOLERANCE[dtype]
    assert not np.triu(inverse, 1).any()


def test_singular_matrix_is_named():
    A = np.tile(np.eye(3), (4, 1, 1))
    A[2, 1, 1] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Matrix 2 of A is singular: diagonal entry 1"):
        invert_lower(A)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [5, 400])
def test_values_that_are_not_finite(method, value, n):
    L = np.zeros((3, n, n))
    L[1, 3, 2] = value
    with pytest.raises(ValueError, match="row 3, column 2 of matrix 1"):
        invert_unit_lower(L, method=method)
    with pytest.raises(ValueError, match="A must be finite"):
        invert_lower(L + np.eye(n), method=method)


@pytest.mark.parametrize(
    ("L", "error", "message"),
    [
        (np.zeros((2, 3)), ValueError, r"square matrices, got shape \(2, 3\)"),
        (np.zeros(3), ValueError, "at least two dimensions"),
        (np.zeros((3, 3), int), TypeError, "float16, float32 or float64, got int64"),
        (np.zeros((3, 3), complex), TypeError, "got complex128"),
        ([["a"]], TypeError, "float16, float32 or float64"),
    ],
)
def test_wrong_matrices(L, error, message):
    for function in (invert_unit_lower, invert_lower):
        with pytest.raises(error, match=message):
            function(L)


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("method", "lu", ValueError),
        ("refine", "always", ValueError),
        ("refine", 3, ValueError),
        ("refine", True, TypeError),
        ("base", 0, ValueError),
        ("base", 2.0, TypeError),
        ("guard", 1, TypeError),
        ("growth_limit", -1.0, ValueError),
        ("growth_limit", np.nan, ValueError),
        ("n_jobs", 0, ValueError),
    ],
)
def test_wrong_options(option, value, error):
    with pytest.raises(error, match=option):
        invert_unit_lower(np.zeros((2, 2)), **{option: value})


def test_numpy_calls_do_not_load_torch():
    import subprocess

    code = (
        "import sys, numpy as np; from skfrontier.algos import *;"
        "invert_unit_lower(np.zeros((2, 2))); x = np.ones((1, 2, 1, 2)) / 2;"
        "delta_rule(x, x, x, x[..., 0], method='chunk'); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
