"""The betting confidence sequence: validity, stop rule, number of draws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfrontier.algos import BettingMeanCS
from skfrontier.algos.geometry.chamfer.betting import BettingTotal

DRAWS = {
    "bernoulli(.3)": (lambda rng, n: (rng.random(n) < 0.3).astype(float), 0.3),
    "bernoulli(.5)": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5),
    "beta(.05,.5)": (lambda rng, n: rng.beta(0.05, 0.5, n), 1 / 11),
    "beta(2,8)": (lambda rng, n: rng.beta(2, 8, n), 0.2),
    "beta(8,3)": (lambda rng, n: rng.beta(8, 3, n), 8 / 11),
}


def run_until_stopped(draw, rng, epsilon, delta=0.05, mean=None):
    """Feed geometric batches; return the sequence and whether it ever left out ``mean``."""
    sequence = BettingMeanCS(epsilon, delta)
    missed = False
    while not sequence.stopped:
        sequence.update(draw(rng, min(max(32, sequence.n_draws // 8), 4096)))
        low, high = sequence.bounds()
        missed |= mean is not None and not low <= mean <= high
    return sequence, missed


def log_capital(v, draws, bets, c, sign):
    """Straight transcription of the capital, sign +1 for the bet on larger means."""
    room = v if sign > 0 else 1 - v
    return sum(
        math.log(1 + sign * min(b, c / room) * (x - v)) for x, b in zip(draws, bets, strict=True)
    )


@pytest.mark.parametrize("name", ["bernoulli(.5)", "beta(.05,.5)"])
def test_mean_hardly_ever_leaves_the_bounds(name):
    draw, mean = DRAWS[name]
    rng = np.random.default_rng(0)
    missed = sum(run_until_stopped(draw, rng, 0.2, mean=mean)[1] for _ in range(1000))
    # delta plus two standard errors of a proportion of 5 % in 1000 paths
    assert missed <= 64


@pytest.mark.parametrize("epsilon", [0.1, 0.05])
@pytest.mark.parametrize("name", ["beta(2,8)", "beta(8,3)", "bernoulli(.3)"])
def test_number_of_draws_is_near_the_formula(name, epsilon):
    draw, mean = DRAWS[name]
    sample = draw(np.random.default_rng(1), 1_000_000)
    variation = sample.var() / mean**2
    log_term = math.log(2 / 0.05)
    bound = (
        1.25 * 2 * log_term * variation / epsilon**2
        + 2 * log_term / epsilon * max(1, (1 - mean) / mean)
        + 64
    )
    n_draws = [
        run_until_stopped(draw, np.random.default_rng(seed), epsilon)[0].n_draws
        for seed in range(20)
    ]
    assert np.mean(n_draws) <= bound


def test_estimate_at_the_stop_is_within_epsilon_of_both_bounds():
    sequence, _ = run_until_stopped(DRAWS["beta(2,8)"][0], np.random.default_rng(3), 0.1)
    low, high = sequence.bounds()
    assert 0.9 * high <= sequence.estimate <= 1.1 * low


def test_bounds_match_a_direct_evaluation_of_the_capital():
    rng = np.random.default_rng(0)
    draws = rng.beta(2, 3, 50)
    total = BettingTotal(0.1, 0.05)
    total.update(draws, 0.0, 1.0)
    bets = total._draws[1, :50]
    grid = np.linspace(0.001, 0.999, 999)
    target = math.log(2 / 0.05)
    kept = [
        v
        for v in grid
        if log_capital(v, draws, bets, 0.75, 1) < target
        and log_capital(v, draws, bets, 0.75, -1) < target
    ]
    low, high = total.bounds()
    assert low == pytest.approx(kept[0], abs=0.0011)
    assert high == pytest.approx(kept[-1], abs=0.0011)


def test_bets_use_earlier_draws_only():
    rng = np.random.default_rng(0)
    first, second = BettingTotal(0.1, 0.05), BettingTotal(0.1, 0.05)
    draws = rng.random(40)
    changed = np.append(draws[:39], 1 - draws[39])
    first.update(draws, 0.0, 1.0)
    second.update(changed, 0.0, 1.0)
    np.testing.assert_array_equal(first._draws[1, :40], second._draws[1, :40])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.floats(0.1, 1e6))
def test_total_is_the_mean_in_other_units(draws, scale):
    mean, total = BettingTotal(0.1, 0.05), BettingTotal(0.1, 0.05)
    mean.update(np.array(draws), 0.0, 1.0)
    total.update(scale * np.array(draws), 0.0, scale)
    np.testing.assert_allclose(
        total.bounds(), scale * np.array(mean.bounds()), rtol=1e-9, atol=1e-12 * scale
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(1, 39))
def test_bounds_only_tighten_and_batches_do_not_matter(draws, cut):
    draws = np.array(draws)
    whole, parts = BettingMeanCS(0.1, 0.05), BettingMeanCS(0.1, 0.05)
    whole.update(draws)
    parts.update(draws[:cut])
    early = parts.bounds()
    parts.update(draws[cut:])
    late = parts.bounds()
    assert early[0] <= late[0]
    assert late[1] <= early[1]
    assert whole.bounds()[0] <= late[0] + 1e-12  # more looks, never looser


def test_a_certain_floor_narrows_the_bounds():
    draws = 0.9 + 0.1 * np.random.default_rng(0).random(64)
    plain, floored = BettingTotal(0.01, 0.05), BettingTotal(0.01, 0.05)
    plain.update(draws, 0.0, 1.0)
    floored.update(draws, 0.9, 1.0)
    assert floored.bounds()[0] > plain.bounds()[0]


def test_before_the_first_draw():
    sequence = BettingMeanCS(0.1, 0.05)
    assert sequence.bounds() == (0.0, 1.0)
    assert not sequence.stopped
    assert sequence.estimate == 0.5


def test_all_zero_draws_never_stop_and_pull_the_upper_bound_down():
    sequence = BettingMeanCS(0.1, 0.05)
    sequence.update(np.zeros(2000))
    assert not sequence.stopped
    assert sequence.bounds()[0] == 0
    assert sequence.bounds()[1] < 0.02


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.5, [[0.5]], np.inf])
def test_bad_draws_change_nothing(bad):
    sequence = BettingMeanCS(0.1, 0.05)
    sequence.update([0.2, 0.4])
    before = sequence.bounds(), sequence.n_draws
    with pytest.raises(ValueError, match="x must be"):
        sequence.update(bad)
    assert (sequence.bounds(), sequence.n_draws) == before


@pytest.mark.parametrize("name", ["epsilon", "delta", "c"])
@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, np.nan])
def test_parameters_outside_the_unit_interval(name, value):
    with pytest.raises(ValueError, match=name):
        BettingMeanCS(**{"epsilon": 0.1, "delta": 0.05, name: value})
