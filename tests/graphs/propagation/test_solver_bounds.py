"""Intervals of entries from solvers: what their residuals say for certain."""

import numpy as np
import pytest

from skfrontier.algos import build_grounded_graph
from skfrontier.algos.graphs.propagation.exact import ConjugateGradients, multiply
from skfrontier.algos.graphs.propagation.plan import PropagationPlan
from skfrontier.algos.graphs.propagation.residuals import absorption_times
from skfrontier.algos.graphs.propagation.solve import solve_pairs, solve_rows
from skfrontier.datasets import make_signed_random
from skfrontier.estimators import LabelPropagationOperator

N, ROUNDING = 3_000, 1e-13


@pytest.fixture(scope="module")
def graph():
    A = make_signed_random(N, 8, 0.2, model="ba", weights="uniform", random_state=0)
    return A, np.sort(np.random.default_rng(1).choice(N, 40, replace=False))


@pytest.fixture(scope="module")
def dense(graph):
    return LabelPropagationOperator(solver="cg", rtol=1e-14).fit(*graph).to_dense()


@pytest.mark.parametrize("rtol", [0.3, 1e-2, 1e-5])
@pytest.mark.parametrize("shape", [(20, 40), (300, 10)], ids=["by rows", "by columns"])
def test_interval_of_a_loose_solver_holds_the_entry(graph, dense, rtol, shape):
    A, labeled = graph
    u = np.setdiff1d(np.arange(N), labeled)[: shape[0]]
    labels = labeled[: shape[1]]
    model = LabelPropagationOperator(solver="cg", rtol=rtol).fit(A, labeled)
    value, (low, high) = model.query(u[:, None], labels, return_interval=True)
    exact = dense[u, : shape[1]]
    assert (
        np.abs(value - exact).max() > 1e-9
    )  # the solver is loose, and its interval is not a point
    assert (low - ROUNDING <= exact).all()
    assert (exact <= high + ROUNDING).all()
    assert (low - ROUNDING <= value).all()
    assert (value <= high + ROUNDING).all()


def test_automatic_choice_gives_honest_intervals(graph, dense):
    A, labeled = graph
    u = np.setdiff1d(np.arange(N), labeled)[:60]
    model = LabelPropagationOperator(random_state=0).fit(A, labeled)
    value, std, (low, high) = model.query(
        u[:, None], labeled[:20], return_std=True, return_interval=True
    )
    exact = dense[u, :20]
    assert model.solver_ == "cg"  # else this test sees forests only
    assert ((low <= exact) & (exact <= high)).all()
    assert (std == 0).all()
    np.testing.assert_allclose(
        value, exact, atol=1e-7
    )  # errors asked for: nothing is stopped early


def test_only_a_bare_question_is_solved_loosely(graph):
    built = build_grounded_graph(*graph)
    rows = np.repeat(np.arange(30), 40)
    cols = np.tile(np.arange(40), 30)
    plan = PropagationPlan(tol=1e-3)
    loose = solve_pairs(built, rows, cols, plan, np.uint64(0), errors=False)
    tight = solve_pairs(built, rows, cols, plan, np.uint64(0), errors=True)
    assert loose.solver == tight.solver == "cg"
    difference = np.linalg.norm(loose.value - tight.value)
    assert 1e-6 * np.linalg.norm(tight.value) < difference < 1e-3 * np.linalg.norm(tight.value)
    assert loose.low is None
    whole = solve_rows(built, np.arange(30), plan, np.uint64(0), errors=True)
    np.testing.assert_allclose(whole.value.ravel(), tight.value, atol=1e-7)


def test_absorption_times_bound_the_mean_number_of_steps(graph):
    built = build_grounded_graph(*graph)
    bound = absorption_times(built)
    # L_abs h = d, with every sign made positive
    A, labeled = graph
    unsigned = build_grounded_graph(abs(A), labeled)
    h = ConjugateGradients(unsigned, 1e-13)(unsigned.degree)
    np.testing.assert_allclose(multiply(unsigned, h), unsigned.degree, rtol=1e-6)
    assert (bound >= h * (1 - 1e-9)).all()
    assert (bound <= 1.5 * h).all()
