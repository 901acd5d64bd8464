"""The certified error of an inverse holds, and says something."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inversion_references import KINDS, largest_error, matrices, row_by_row

from skfrontier.algos import invert_unit_lower, triangular_inverse_report


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_bound_holds_and_is_near(kind, dtype):
    L = matrices(10, 64, kind=kind).astype(dtype)
    T = invert_unit_lower(L)
    errors = np.abs(T - row_by_row(L)).max(axis=(1, 2))
    report = triangular_inverse_report(L, T)
    assert (errors <= report.forward_bound + 1e-13).all()
    assert (report.forward_bound <= 100 * errors + 1e-12).all()
    np.testing.assert_allclose(report.inverse_max, 1, atol=0.05)


@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.floats(0, 0.5))
def test_bound_holds_in_exact_arithmetic(n, seed, spoil):
    rng = np.random.default_rng(seed)
    L = np.tril(rng.normal(size=(n, n)), -1)
    T = np.tril(invert_unit_lower(L) + spoil * rng.normal(size=(n, n)))
    exact = exact_inverse(L)
    error = max(
        (abs(Fraction(T[i, j]) - exact[i][j]) for i in range(n) for j in range(n)), default=0
    )
    bound = triangular_inverse_report(L, T).forward_bound
    assert np.isinf(bound) or error <= Fraction(float(bound))


def exact_inverse(L):
    """Inverse of I + L in fractions."""
    n = len(L)
    T = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i):
            T[i][j] = -sum((Fraction(L[i, k]) * T[k][j] for k in range(j, i)), Fraction(0))
    return T


def test_growth_of_powers():
    L = np.tril(np.full((4, 4), 3.0), -1)
    report = triangular_inverse_report(L, invert_unit_lower(L))
    assert report.power_growth == 18
    hard = matrices(2, 64, kind="equal")
    growth = triangular_inverse_report(hard, invert_unit_lower(hard)).power_growth
    assert (growth > 1e15).all()
    assert largest_error(invert_unit_lower(hard), row_by_row(hard)) < 1e-13


def test_wrong_diagonal_certifies_less_and_at_last_nothing():
    L = np.zeros((2, 3, 3))
    T = np.stack([np.eye(3) * 1.5, np.eye(3) * 2.5])
    report = triangular_inverse_report(L, T)
    assert report.forward_bound[0] >= 0.5
    assert np.isfinite(report.forward_bound[0])
    assert np.isinf(report.forward_bound[1])
    np.testing.assert_array_equal(report.residual, [0.5, 1.5])


def test_shapes():
    L = matrices(6, 5).reshape(2, 3, 5, 5)
    assert triangular_inverse_report(L, invert_unit_lower(L)).residual.shape == (2, 3)
    assert triangular_inverse_report(L[0, 0], L[0, 0]).residual.shape == ()
    assert triangular_inverse_report(np.empty((2, 0, 0)), np.empty((2, 0, 0))).residual.shape == (
        2,
    )


def test_wrong_input():
    L = np.zeros((3, 3))
    with pytest.raises(ValueError, match="one shape"):
        triangular_inverse_report(L, np.eye(2))
    with pytest.raises(ValueError, match="above the diagonal"):
        triangular_inverse_report(L, np.ones((3, 3)))
    with pytest.raises(ValueError, match="T must be finite"):
        triangular_inverse_report(L, np.diag([1, np.nan, 1]))
    with pytest.raises(TypeError, match="T must be float16"):
        triangular_inverse_report(L, np.eye(3, dtype=int))


@pytest.mark.parametrize("size", [1e160, 1e300])
def test_overflow_certifies_nothing(size):
    L = np.tril(np.full((6, 6), size), -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = triangular_inverse_report(L, np.eye(6))
    assert report.forward_bound == np.inf
    assert report.residual == size
