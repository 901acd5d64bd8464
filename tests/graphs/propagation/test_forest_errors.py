"""Standard errors, the stopping rule and intervals."""

import numpy as np
import pytest
from scipy import stats

from skfrontier.algos import build_grounded_graph
from skfrontier.algos.graphs.propagation.errors import batch_error, rms_bound
from skfrontier.algos.graphs.propagation.estimate import PairEstimate
from skfrontier.algos.graphs.propagation.exact import Factorisation
from skfrontier.algos.graphs.propagation.intervals import (
    bernstein_interval,
    checkpoints,
    next_checkpoint,
    student_interval,
)
from skfrontier.algos.graphs.propagation.pairs import PairSums
from skfrontier.datasets import make_signed_communities, make_signed_random
from skfrontier.estimators import LabelPropagationOperator

TOL = 0.005


def camps(seed):
    A, y = make_signed_communities(3000, 2, 20, 0.05, random_state=seed)
    labeled = np.sort(np.random.default_rng(seed).choice(3000, 60, replace=False))
    values = 2.0 * y[labeled] - 1.0
    exact = LabelPropagationOperator(solver="cg", rtol=1e-10).fit(A, labeled).transform(values)
    return A, labeled, values, exact


@pytest.mark.parametrize("smooth", [0, 4])
def test_stopping_rule(smooth):
    ratios, covered, forests = [], [], []
    for instance in range(2 if smooth == 0 else 6):
        A, labeled, values, exact = camps(instance)
        inner = np.setdiff1d(np.arange(3000), labeled)
        for seed in range(2):
            model = LabelPropagationOperator(
                solver="multitree", tol=TOL, relative=False, smooth=smooth, random_state=seed
            ).fit(A, labeled)
            x, std = model.transform(values, return_std=True)
            error = np.abs(x - exact)[inner]
            ratios.append(np.sqrt(np.mean(error**2)) / TOL)
            covered.append(np.mean(error <= stats.t.ppf(0.975, 15) * std[inner]))
            forests.append(model.n_forests_)
            assert model.achieved_ <= TOL
    if smooth == 0:
        assert max(ratios) <= 1.05
        assert 0.93 <= np.mean(covered) <= 0.97
    else:
        assert max(ratios) <= 2.0
        assert np.mean(np.array(ratios) <= 1) >= 0.75  # 0.95 of 12, minus three standard errors
        assert np.mean(forests) <= 150


def test_max_criterion_bounds_every_node():
    A, labeled, values, exact = camps(0)
    model = LabelPropagationOperator(
        solver="multitree", tol=0.05, relative=False, criterion="max", random_state=0
    ).fit(A, labeled)
    assert np.abs(model.transform(values) - exact).max() <= 0.05


@pytest.mark.parametrize("rank", [1, 5, 400])
def test_effective_dimension(rank):
    rng = np.random.default_rng(rank)
    modes = np.linalg.qr(rng.standard_normal((2000, rank)))[0]
    means = (rng.standard_normal((16, 40, rank)) @ modes.T).reshape(16, 40, 2000)
    error = batch_error(means)
    assert np.median(error.dimension) == pytest.approx(rank, rel=0.35)
    np.testing.assert_allclose(error.mean, means.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(error.stderr, means.std(axis=0, ddof=1) / 4, atol=1e-12)
    np.testing.assert_allclose(error.rms, np.sqrt((error.stderr**2).mean(axis=1)))
    actual = np.sqrt((means.mean(axis=0) ** 2).mean(axis=1))  # the truth is zero
    assert np.mean(actual <= rms_bound(error, 0.95, 16)) >= 0.85


def test_checkpoints_are_fixed_beforehand():
    assert checkpoints(20) == [1, 2, 3, 5, 8, 12, 18, 20]
    assert next_checkpoint([1, 2, 3, 5], 4) == 5
    assert next_checkpoint([1, 2, 3, 5], 9) == 5


def test_bernstein_holds_at_all_looks_at_once():
    # Bounded draws, mean watched at every checkpoint: how often does any interval miss?
    rng = np.random.default_rng(0)
    n, mean, missed = 4000, 0.05, np.zeros(4000, dtype=bool)
    draws = rng.random((16 * 18, n)) < mean
    for look, blocks in enumerate(checkpoints(18), start=1):
        part = draws[: 16 * blocks]
        estimate = PairEstimate(
            part.mean(axis=0), np.zeros(n), part.shape[0], 0, part.var(axis=0, ddof=1),
            np.full(n, 0.5), np.full(n, 0.5),
        )  # fmt: skip
        low, high = bernstein_interval(estimate, 0.8, look)
        missed |= (mean < low) | (mean > high)
        if look == 1:
            narrow, _ = bernstein_interval(estimate, 0.8)
            assert (low <= narrow).all()
    assert missed.mean() <= 0.2


@pytest.mark.parametrize("model", ["er", "ba", "skew", "grid"])
def test_coverage_of_single_pairs(model):
    A = make_signed_random(2500, 6, 0.2, model=model, random_state=1)
    rng = np.random.default_rng(2)
    graph = build_grounded_graph(A, rng.choice(2500, 125, replace=False))
    rows = np.repeat(rng.choice(graph.n_unlabeled, 400, replace=False), 10)
    cols = rng.integers(graph.labeled.size, size=rows.size)
    solve = Factorisation(graph)
    exact = graph.ungauged(solve(graph.boundary.toarray()))[rows, cols]
    covered, proven = [], []
    for seed in range(5):
        sums = PairSums(graph, rows, cols, np.uint64(seed), push=3e-3)
        sums.grow(2, None)
        estimate = sums.estimate()
        for interval, hits in ((student_interval, covered), (bernstein_interval, proven)):
            low, high = interval(estimate, 0.95)
            hits.append(np.mean((low <= exact) & (exact <= high)))
    assert np.mean(covered) >= 0.93
    assert np.mean(proven) >= 0.99
