"""What must hold for any data."""

import dense_references as dense
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfrontier.algos import fit_softmax, softmax_margin
from skfrontier.algos.optim.gauss_newton.newton import (
    NewtonDirections,
    NewtonOptions,
    backtrack,
)
from skfrontier.algos.optim.gauss_newton.step import make_problem

problems = st.tuples(
    st.integers(2, 30), st.integers(1, 12), st.integers(2, 7), st.integers(0, 10_000)
)
TIGHT = {"l2": 0.05, "tol": 1e-8, "max_iter": 500}


def draw(problem):
    n, d, C, seed = problem
    X, y, W, b = dense.random_problem(n, d, C, seed=seed)
    return X, y, W, b, C


@settings(max_examples=40, deadline=None)
@given(problems, st.floats(-1e3, 1e3))
def test_margins_do_not_see_a_common_shift(problem, shift):
    X, y, W, b, _ = draw(problem)
    Z = dense.logits(X, W, b)
    m, V = softmax_margin(Z, y)
    m2, V2 = softmax_margin(Z + shift, y)
    np.testing.assert_allclose(m, m2, atol=1e-9)
    np.testing.assert_allclose(V, V2, atol=1e-9)
    np.testing.assert_allclose(V.sum(axis=1), 0, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(problems, st.sampled_from(["newton", "fgn"]))
def test_permuted_classes_permute_the_fit(problem, solver):
    X, y, _, _, C = draw(problem)
    permutation = np.random.default_rng(problem[3]).permutation(C)
    if C == 2:
        return  # two classes have one row of weights
    y[:C] = np.arange(C)[: len(y)]
    # a class without rows has an intercept at minus infinity
    options = {**TIGHT, "fit_intercept": False, "n_classes": C, "solver": solver}
    fit = fit_softmax(X, y, **options)
    permuted = fit_softmax(X, permutation[y], **options)
    np.testing.assert_allclose(permuted.coef[permutation], fit.coef, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(problems, st.sampled_from(["newton", "fgn", "lbfgs"]))
def test_integer_weights_are_repeated_rows(problem, solver):
    X, y, _, _, C = draw(problem)
    weight = np.random.default_rng(problem[3]).integers(0, 4, len(y))
    weight[0] = 1
    options = {**TIGHT, "fit_intercept": False, "n_classes": C, "solver": solver, "tol": 1e-7}
    weighted = fit_softmax(X, y, sample_weight=weight, **options)
    repeated = fit_softmax(np.repeat(X, weight, axis=0), np.repeat(y, weight), **options)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(problems)
def test_newton_never_raises_the_objective(problem):
    X, y, W, b, C = draw(problem)
    made = make_problem(
        X, y, l2=1e-3, n_classes=C, n_logits=C, fit_intercept=True, sample_weight=None
    )
    directions = NewtonDirections(made, NewtonOptions(None, 0.0, 10, 100))
    point = made.at(np.column_stack([3 * W, b]))
    assert point.value == pytest.approx(
        dense.objective(X, y, 3 * W, b, made.omega, 1e-3), rel=1e-12
    )
    np.testing.assert_allclose(
        point.gradient, dense.gradient(X, y, 3 * W, b, made.omega, 1e-3), atol=1e-12
    )
    for _ in range(8):
        following = backtrack(point, directions.at(point))
        if following is None:
            break
        assert following.value <= point.value + 1e-15 * max(1, point.value)
        point = following


@settings(max_examples=15, deadline=None)
@given(problems)
def test_all_solvers_agree(problem):
    X, y, _, _, C = draw(problem)
    options = {**TIGHT, "n_classes": C, "fit_intercept": False}
    newton, fgn, lbfgs = (
        fit_softmax(X, y, solver=s, **options) for s in ("newton", "fgn", "lbfgs")
    )
    np.testing.assert_allclose(fgn.coef, newton.coef, atol=1e-5)
    np.testing.assert_allclose(lbfgs.coef, newton.coef, atol=1e-5)
    assert newton.converged


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_rows_than_classes(n):
    fit = fit_softmax(np.eye(n, 3), np.arange(n), l2=0.1, n_classes=5, solver="newton")
    assert fit.coef.shape == (5, 3)
    assert fit.converged


def test_read_only_strided_and_fortran_rows():
    X, y, _, _ = dense.random_problem(40, 6, 4)
    wide = np.zeros((80, 12))
    wide[::2, ::2] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    expected = fit_softmax(X, y, **TIGHT, solver="newton")
    for rows in (wide[::2, ::2], np.asfortranarray(X), frozen):
        fit = fit_softmax(rows, y, **TIGHT, solver="newton")
        np.testing.assert_allclose(fit.coef, expected.coef, atol=1e-7)
