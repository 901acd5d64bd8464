"""Cross-validation in closed form beside enumeration, dense formulas and refits."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structure_references import (
    FAMILIES,
    fit,
    gradients,
    loss,
    regression_data,
    with_intercept,
)

from skfrontier.algos import acv_hull, acv_score, acv_terms, leave_many_out_score


@pytest.mark.parametrize("n_train", [5, 7])
@pytest.mark.parametrize("size", [1, 2])
def test_mean_over_all_splits_of_the_one_step_update(n_train, size):
    n = 10
    X, y = regression_data("gaussian", n=n, p=size, seed=size)
    X, y = X - X.mean(axis=0), y - y.mean()
    e = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    variance = np.mean(e**2)
    g, H = -X * e[:, None] / variance, X.T @ X / variance
    values = []
    for chosen in combinations(range(n), n_train):
        training = np.isin(np.arange(n), chosen)
        step = -(n / n_train) * np.linalg.solve(H, g[training].sum(axis=0))
        n_out = n - n_train
        values.append(
            np.mean(0.5 * e[~training] ** 2 / variance)
            + g[~training].sum(axis=0) @ step / n_out
            + step @ (n_out / n * H) @ step / (2 * n_out)
        )
    kappa = 1 + n / n_train
    trace = acv_terms(X, y, range(size)).trace
    assert 0.5 + kappa * trace / (2 * n) == pytest.approx(np.mean(values), rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("support", [[], [0], [2, 0], [0, 1, 3]])
def test_terms_are_the_dense_formulas(family, support):
    X, y = regression_data(family)
    n = len(y)
    A = with_intercept(X, support)
    theta = fit(family, A, y)
    g, H = gradients(family, theta, A, y)
    whole = n / (n - 1) * np.einsum("ia,ab,ib->", g, np.linalg.inv(H), g)
    terms = acv_terms(X, y, support, family=family)
    assert terms.trace + terms.rest == pytest.approx(whole, rel=1e-5)
    deviance = 2 * loss(family, theta, A, y).sum() - (n if family == "gaussian" else 0)
    assert terms.deviance == pytest.approx(deviance, rel=1e-7)
    if not support:
        assert terms.trace == 0
    mean_loss = loss(family, theta, A, y).mean()
    for n_train in (20, n):
        excess = (n + n_train) / (2 * n_train * n) * whole
        expected = mean_loss + excess
        assert acv_score(X, y, support, n_train, family=family) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_trace_counts_columns_under_a_correct_model(family):
    traces = []
    for seed in range(30):
        X, y = regression_data(family, n=800, seed=seed)
        if family == "gaussian":
            y = 0.7 * X[:, 0] + np.random.default_rng(seed).standard_normal(len(y))
        traces.append(acv_terms(X, y, [0, 1, 2], family=family).trace)
    stderr = np.std(traces, ddof=1) / np.sqrt(len(traces))
    assert abs(np.mean(traces) - 3) < 4 * stderr + 0.05


@pytest.mark.parametrize("family", FAMILIES)
def test_leaving_one_out_by_refits_is_close(family):
    X, y = regression_data(family, n=300, seed=3)
    if family == "gaussian":  # without outliers, which a single Newton step does not follow
        y = X[:, 0] + np.random.default_rng(4).standard_normal(len(y))
    A = with_intercept(X, [0, 1])
    held_out = []
    for i in range(len(y)):
        stays = np.arange(len(y)) != i
        theta = fit(family, A[stays], y[stays])
        held_out.append(loss(family, theta, A[[i]], y[[i]])[0])
    training = loss(family, fit(family, A, y), A, y).mean()
    excess = np.mean(held_out) - training
    approximate = acv_score(X, y, [0, 1], len(y) - 1, family=family) - training
    assert approximate == pytest.approx(excess, rel=0.1)  # ten times the mean leverage


def test_brute_force_is_refitting():
    X, y = regression_data("gaussian", n=40)
    brute = leave_many_out_score(X, y, [0, 1], 20, n_splits=50, random_state=1)
    rng = np.random.default_rng(1)
    A = with_intercept(X, [0, 1])
    values = []
    for _ in range(50):
        order = rng.permutation(40)
        theta, rss = np.linalg.lstsq(A[order[:20]], y[order[:20]], rcond=None)[:2]
        variance = rss[0] / 20
        e = y[order[20:]] - A[order[20:]] @ theta
        values.append(0.5 * np.log(variance) + 0.5 * np.mean(e**2) / variance)
    assert brute.mean == pytest.approx(np.mean(values), rel=1e-10)
    assert brute.stderr == pytest.approx(np.std(values, ddof=1) / np.sqrt(50), rel=1e-10)


@pytest.mark.parametrize(("order", "tolerance"), [(1, 0.22), (2, 0.06)])
def test_gaussian_score_is_near_brute_force(order, tolerance):
    ratios = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((2000, 10))
        y = X @ np.full(10, 0.3) + rng.standard_normal(2000)
        residual = y - with_intercept(X, range(10)) @ np.linalg.lstsq(
            with_intercept(X, range(10)), y, rcond=None
        )[0]  # fmt: skip
        training = 0.5 * np.log(np.mean(residual**2)) + 0.5
        brute = leave_many_out_score(X, y, range(10), 200, random_state=seed).mean
        ratios.append([acv_score(X, y, range(10), 200, order=order) - training, brute - training])
    approximate, exact = np.mean(ratios, axis=0)
    assert abs(approximate / exact - 1) <= tolerance


def test_score_falls_with_more_training_rows():
    for family in FAMILIES:
        X, y = regression_data(family)
        scores = [acv_score(X, y, [0, 1], m, family=family) for m in (10, 20, 40, 60)]
        assert np.all(np.diff(scores) < 0)


def test_second_order_needs_rows_and_a_gaussian_response():
    X, y = regression_data("gaussian")
    assert acv_score(X, y, [0, 1], 5, order=2) == np.inf
    assert np.isfinite(acv_score(X, y, [0, 1], 6, order=2))
    with pytest.raises(ValueError, match="order must be 1"):
        acv_score(*regression_data("ising"), [0], 20, family="ising", order=2)


def test_terms_do_not_depend_on_scale_and_shift():
    X, y = regression_data("gaussian")
    before, after = acv_terms(X, y, [0, 2]), acv_terms(1e3 * X - 7, 5 * y + 2, [0, 2])
    assert after.trace == pytest.approx(before.trace, rel=1e-8)
    assert after.deviance - before.deviance == pytest.approx(len(y) * np.log(25), rel=1e-8)


def test_collinear_columns_give_finite_terms():
    X, y = regression_data("gaussian")
    doubled = np.column_stack([X, X[:, 0]])
    assert np.isfinite(acv_terms(doubled, y, [0, 4]).trace)
    exact = acv_terms(X, X[:, 1], [0, 1])
    assert exact.trace == 2
    assert np.isfinite(exact.deviance)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0.1, 50), st.floats(-1000, 0)), min_size=1, max_size=12
    ),
    st.floats(2, 100),
)  # fmt: skip
def test_hull_finds_the_minimum_at_every_kappa(points, kappa):
    T, D = np.array([(0.0, 0.0), *points]).T
    hull = acv_hull(T, D)
    assert np.all(np.diff(hull.kappa[1:]) <= 1e-9 * hull.kappa[1:-1])
    assert np.all(np.diff(T[hull.index]) > 0)
    winner = hull.index[np.flatnonzero(hull.kappa >= kappa)[-1]]
    value = D + kappa * T
    assert value[winner] <= value.min() + 1e-7 * (1 + np.abs(value).max())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 2]], [1, 2], [0], 3), "X must have at least 3"),
        ((np.ones((5, 2)), [1, 2, 3], [0], 3), "y must hold 5"),
        ((np.eye(5), np.arange(5), [9], 3), "support must lie in 0..4"),
        ((np.eye(5), np.arange(5), [1, 1], 3), "must not repeat"),
        ((np.eye(5), np.arange(5), [1], 6), "n_train must be at most 5"),
        ((np.eye(5), np.arange(5), [1, 2, 3, 4], 3), "support must have at most 3"),
        ((np.eye(5), np.ones(5), [1], 3), "y must not be constant"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        acv_score(*arguments)


def test_bad_family_and_responses_are_named():
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(ValueError, match="family must be one of"):
        acv_terms(X, X[:, 0], [1], family="gamma")
    with pytest.raises(ValueError, match="two values"):
        acv_terms(X, np.arange(20), [1], family="ising")
    with pytest.raises(ValueError, match="counts"):
        acv_terms(X, X[:, 0], [1], family="poisson")
    with pytest.raises(TypeError, match="column numbers"):
        acv_terms(X, X[:, 0], [0.5])
