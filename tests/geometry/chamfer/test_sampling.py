"""The certified sampler: guarantee, coverage, cost, and what it does when candidates are bad."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfrontier.algos import chamfer_distance
from skfrontier.algos.geometry.chamfer import sampling
from skfrontier.algos.geometry.chamfer.betting import BettingTotal
from skfrontier.algos.geometry.chamfer.sampling import Remainder
from skfrontier.datasets import make_chamfer_pair

EPSILON, DELTA, N_SEEDS = 0.1, 0.05, 100


def outcomes(A, B, **kwargs):
    """Relative errors, and how many intervals miss the exact value, over the seeds."""
    exact = chamfer_distance(A, B, epsilon=0, **kwargs)
    errors, misses = [], 0
    for seed in range(N_SEEDS):
        value, info = chamfer_distance(
            A,
            B,
            method="sample",
            epsilon=EPSILON,
            delta=DELTA,
            random_state=seed,
            return_info=True,
            **kwargs,
        )
        assert info.ci_low <= value <= info.ci_high <= info.upper_bound * (1 + 1e-9)
        errors.append(value / exact - 1)
        misses += not info.ci_low <= exact <= info.ci_high
    return np.array(errors), misses


@pytest.mark.parametrize(
    ("kind", "d"), [("clusters", 32), ("outlier", 32), ("lowrank", 32), ("torus", 3)]
)
def test_guarantee(kind, d):
    A, B = make_chamfer_pair(kind, n=3000, n_features=d, random_state=0)
    errors, misses = outcomes(A, B)
    assert (np.abs(errors) > EPSILON).sum() <= 3
    assert misses <= 8
    assert np.sqrt((errors**2).mean()) <= 0.04


@pytest.mark.parametrize(
    ("kind", "kwargs"),
    [
        ("clusters", {"p": 1}),
        ("sparse", {"p": 1}),
        ("clusters", {"p": 1.5}),
        ("sparse", {"p": 1.37}),
        ("sphere", {"metric": "angular"}),
        ("lowrank", {"metric": "angular"}),
        ("clusters", {"metric": "sqeuclidean"}),
        ("sparse", {"power": 3.0}),
    ],
)
def test_guarantee_of_other_distances(kind, kwargs):
    A, B = make_chamfer_pair(kind, n=1500, n_features=24, random_state=0)
    errors, misses = outcomes(A, B, **kwargs)
    # 95 % coverage is proven; 5 + 2 standard errors of a proportion in 100 runs
    assert (np.abs(errors) > EPSILON).sum() <= 9
    assert misses <= 9


def test_weighted_guarantee():
    A, B = make_chamfer_pair("clusters", n=2000, n_features=16, random_state=0)
    weights = np.random.default_rng(0).pareto(1.5, 2000)
    weights[:300] = 0
    errors, misses = outcomes(A, B, weights=weights)
    assert (np.abs(errors) > EPSILON).sum() <= 9
    assert misses <= 9


def test_outliers_are_seen_and_blind_draws_miss_them():
    A, B = make_chamfer_pair("outlier", n=20_000, n_features=64, random_state=0)
    exact = chamfer_distance(A, B, epsilon=0)
    errors, n_exact, blind = [], [], []
    for seed in range(30):
        value, info = chamfer_distance(
            A, B, method="sample", epsilon=0.1, random_state=seed, return_info=True
        )
        errors.append(abs(value / exact - 1))
        n_exact.append(info.n_exact)
        value, info = chamfer_distance(
            A, B, method="uniform", epsilon=0.1, random_state=seed, return_info=True
        )
        assert info.guaranteed == (info.method == "brute")
        blind.append(abs(value / exact - 1))
    assert np.median(errors) <= 0.01
    assert max(errors) <= 0.05
    assert max(n_exact) <= 60
    assert np.median(blind) >= 0.5  # nine in ten stop, satisfied, after 200 points


def test_draws_are_in_proportion_to_the_bounds_of_unknown_terms():
    bounds = np.array([0.0, 1.0, 2.0, 3.0, 0.0, 4.0])
    remainder = Remainder(bounds.copy())
    remainder.reveal(np.array([5]), np.array([0.5]))
    counts = np.bincount(remainder.draw(60_000, np.random.default_rng(0)), minlength=6)
    expected = 60_000 * np.array([0, 1, 2, 3, 0, 0]) / 6
    assert (counts[expected == 0] == 0).all()
    chi_square = ((counts - expected)[1:4] ** 2 / expected[1:4]).sum()
    assert chi_square < 13.8  # 99.9 % of chi-square with two degrees of freedom
    assert remainder.known_sum == 0.5
    assert remainder.unknown_sum == 6.0


def test_conditional_mean_of_a_draw_is_the_total():
    rng = np.random.default_rng(0)
    terms = rng.random(50)
    bounds = terms * (1 + rng.random(50))
    remainder = Remainder(bounds.copy())
    remainder.reveal(np.arange(10), terms[:10])
    rows = remainder.draw(200_000, rng)
    z = remainder.known_sum + remainder.unknown_sum * terms[rows] / bounds[rows]
    assert abs(z.mean() - terms.sum()) < 4 * z.std() / math.sqrt(z.size)


def test_bad_candidates_are_refined_and_counted_in_one_sequence(monkeypatch):
    A, B = make_chamfer_pair("clusters", n=3000, n_features=16, random_state=0)
    exact = chamfer_distance(A, B, epsilon=0)
    true_bounds = sampling.TermEvaluator.bounds
    calls = []

    def spoilt(self, trees, window=1):
        calls.append(window)
        return true_bounds(self, trees, window) * (10 if len(calls) == 1 else 1)

    misses = refined = 0
    monkeypatch.setattr(sampling.TermEvaluator, "bounds", spoilt)
    for seed in range(60):
        calls.clear()
        value, info = chamfer_distance(
            A, B, method="sample", epsilon=0.1, random_state=seed, return_info=True
        )
        refined += len(calls) > 1
        misses += not info.ci_low <= exact <= info.ci_high
        assert abs(value / exact - 1) < 0.2
    assert refined > 30
    assert misses <= 6  # 5 % of 60, plus two standard errors


def test_stop_before_refinement_counts_recent_draws_only():
    total = BettingTotal(0.1, 0.05)
    total.update(np.full(40, 0.5), 0.0, 1.0)
    total.restart()
    assert total.n_recent == 0
    assert not total.stopped
    assert total.n_draws == 40


def test_hopeless_candidates_finish_exactly(monkeypatch):
    A, B = make_chamfer_pair("unif", n=1200, n_features=8, random_state=0)
    rng = np.random.default_rng(0)
    scramble = 1 + rng.pareto(0.3, 1200)
    true_bounds = sampling.TermEvaluator.bounds
    monkeypatch.setattr(
        sampling.TermEvaluator,
        "bounds",
        lambda self, trees, window=1: true_bounds(self, trees, window) * scramble,
    )
    value, info = chamfer_distance(
        A, B, method="sample", epsilon=0.01, random_state=0, return_info=True
    )
    assert info.method == "brute"
    assert info.ci_low == info.ci_high == value
    assert info.confidence == 1
    assert value == pytest.approx(chamfer_distance(A, B, epsilon=0), rel=1e-12)


def test_zero_weights_are_never_drawn():
    A, B = make_chamfer_pair("clusters", n=2000, n_features=16, random_state=0)
    A[:500] += 1e3  # would carry the sum
    weights = np.ones(2000)
    weights[:500] = 0
    value = chamfer_distance(A, B, weights=weights, method="sample", random_state=0)
    assert value == pytest.approx(chamfer_distance(A[500:], B, epsilon=0), rel=0.05)


def test_subset_costs_nothing():
    _, B = make_chamfer_pair("clusters", n=4000, n_features=32, random_state=0)
    value, info = chamfer_distance(B[::-3], B, method="sample", random_state=0, return_info=True)
    assert value == 0
    assert info.n_draws == 0
    assert info.method == "brute"


def test_all_terms_but_duplicates():
    A, B = make_chamfer_pair("clusters", n=3000, n_features=16, random_state=0)
    A[::2] = B[::2]
    exact = chamfer_distance(A, B, epsilon=0)
    value, info = chamfer_distance(
        A, B, method="sample", epsilon=0.05, random_state=0, return_info=True
    )
    assert value == pytest.approx(exact, rel=0.05)
    assert info.n_exact < 1000


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 60),
    st.integers(1, 10),
    st.sampled_from([1.0, 1.5, 2.0]),
    st.integers(0, 2**31),
)
def test_tiny_clouds_are_within_epsilon(n_A, n_B, d, p, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.integers(-2, 3, (n_A, d)).astype(float), rng.integers(-2, 3, (n_B, d)).astype(float)
    exact = chamfer_distance(A, B, p=p, epsilon=0)
    value, info = chamfer_distance(
        A, B, p=p, method="sample", epsilon=0.05, delta=1e-9, random_state=seed, return_info=True
    )
    assert abs(value - exact) <= 0.05 * exact + 1e-12
    assert info.ci_low <= exact * (1 + 1e-12)
    assert exact <= info.ci_high * (1 + 1e-12)


def test_same_seed_same_value_whatever_n_jobs():
    A, B = make_chamfer_pair("sparse", n=4000, n_features=20, random_state=0)
    results = [
        chamfer_distance(
            A, B, method="sample", epsilon=0.05, random_state=7, n_jobs=n_jobs, return_info=True
        )[1]
        for n_jobs in (None, 1, 2, 3)
    ]
    assert all(result == results[0] for result in results)
    other = chamfer_distance(A, B, method="sample", epsilon=0.05, random_state=8)
    assert other != results[0].value


@pytest.mark.slow
def test_memory_beyond_the_inputs():
    import tracemalloc

    A, B = make_chamfer_pair("clusters", n=500_000, n_features=32, random_state=0)
    tracemalloc.start()
    chamfer_distance(A, B, method="sample", epsilon=0.1, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 2 * (A.nbytes + B.nbytes)
