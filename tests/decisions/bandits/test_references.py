"""Every policy against an independent implementation in plain Python."""

import numpy as np
import pytest
import references as ref

from skfrontier.algos.decisions.bandits.random import beta_draw, generator_words, uniform
from skfrontier.algos.decisions.bandits.tsallis import tsallis_law
from skfrontier.datasets import make_bernoulli_bandit, make_switching_bandit
from skfrontier.estimators import (
    UCB1,
    BanditOverBandit,
    CorralBandit,
    DiscountedUCB,
    Exp3,
    Exp3IX,
    Exp3P,
    Exp3S,
    FixedShareBandit,
    MonitoredUCB,
    SlidingWindowUCB,
    StaticDynamicBandit,
    TsallisINF,
)

T, A = 1200, 4


@pytest.fixture(scope="module")
def exact():
    return make_switching_bandit(T, A, 30, random_state=0)


@pytest.fixture(scope="module")
def noisy():
    means = make_switching_bandit(T, A, 4, random_state=3)
    return make_bernoulli_bandit(means, random_state=1)


def test_generator_is_xoshiro256_plus_plus():
    words, reference = generator_words(7), ref.Xoshiro(7)
    assert [uniform(words) for _ in range(200)] == [reference.uniform() for _ in range(200)]


def test_beta_draws_have_their_moments():
    words = generator_words(0)
    draws = np.array([beta_draw(3.0, 1.5, words) for _ in range(20_000)])
    mean, variance = 3.0 / 4.5, 3.0 * 1.5 / (4.5**2 * 5.5)
    assert abs(draws.mean() - mean) < 4 * np.sqrt(variance / len(draws))
    assert abs(draws.var() / variance - 1) < 4 * np.sqrt(2 / len(draws))


@pytest.mark.parametrize("spread", [0.0, 1.0, 1e3, 1e7])
@pytest.mark.parametrize("guess", [0.0, -1e9, 1e9])
def test_tsallis_law_solves_its_equation(spread, guess):
    rng = np.random.default_rng(0)
    for eta in (2.0, 0.1, 0.002):
        L = spread * rng.normal(size=7)
        words = np.concatenate([L, np.empty(7)])
        x = tsallis_law(words, 7, 0, 7, eta, guess)
        q = words[7:]
        np.testing.assert_allclose(q, 4 / (eta * (words[:7] - x)) ** 2, rtol=1e-6)
        np.testing.assert_allclose(np.diff(words[:7]), np.diff(L), rtol=1e-12)
        np.testing.assert_allclose(q, ref.tsallis(L, eta), rtol=1e-6, atol=1e-14)
        assert q.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    "policy",
    [Exp3, Exp3IX, Exp3P, Exp3S, FixedShareBandit, TsallisINF],
    ids=lambda policy: policy.__name__,
)
def test_weights(policy, exact, noisy):
    # FixedShare multiplies a difference in rounding by about e^{0.015 t}: compare early rounds
    for losses in (exact[:600], noisy[:600]):
        arms = policy(A, horizon=T, random_state=5).run(losses).arms
        reference = ref.Weights(policy.__name__, A, T, 5)
        np.testing.assert_array_equal(arms, ref.play(reference, losses))


@pytest.mark.parametrize(
    "policy", [UCB1, SlidingWindowUCB, DiscountedUCB], ids=lambda policy: policy.__name__
)
def test_index_policies(policy, noisy):
    arms = policy(A, horizon=T, confidence=np.sqrt(0.5)).run(noisy).arms
    np.testing.assert_array_equal(arms, ref.play(ref.Index(policy.__name__, A, T), noisy))


def test_monitored_ucb(noisy):
    losses = np.vstack([noisy / 8, 1 - noisy / 8])  # sums are exact: ties stay ties
    arms = MonitoredUCB(A, horizon=2 * T, window=60).run(losses).arms
    reference = ref.Monitored(A, 2 * T, 60)
    np.testing.assert_array_equal(arms, ref.play(reference, losses))
    assert reference.tau > 0  # there was an alarm


def test_bandit_over_bandit(exact):
    arms = BanditOverBandit(A, horizon=T, random_state=2).run(exact).arms
    np.testing.assert_array_equal(arms, ref.play(ref.OverBandit(A, T, 2), exact))


def test_corral(exact):
    arms = CorralBandit(A, horizon=T, random_state=2).run(exact).arms
    np.testing.assert_array_equal(arms, ref.play(ref.Corral(A, T, 2), exact))


@pytest.mark.parametrize("base", ["tsallis", "exp3ix"])
@pytest.mark.parametrize("n_segments", ["auto", 30.0])
@pytest.mark.parametrize("horizon", [T, None])
@pytest.mark.parametrize("feedback", ["auto", "exact", "noisy"])
def test_static_dynamic(base, n_segments, horizon, feedback, exact, noisy):
    S = None if n_segments == "auto" else n_segments
    switched = []
    for losses in (exact, noisy):
        policy = StaticDynamicBandit(
            A,
            horizon=horizon,
            n_segments=n_segments,
            feedback=feedback,
            base=base,
            random_state=11,
        )
        arms = policy.run(losses).arms
        reference = ref.StaticDynamic(A, T, 11, S, feedback, base, anytime=horizon is None)
        np.testing.assert_array_equal(arms, ref.play(reference, losses))
        assert policy.n_changes_ == reference.n_changes
        assert policy.n_segments_ == reference.S
        # the Newton solver stops at 1e-9; the rounds amplify this
        np.testing.assert_allclose(policy.static_distribution_, reference.q, rtol=1e-3, atol=1e-6)
        switched.append(policy.noisy_)
    assert switched == {"auto": [False, True], "exact": [False] * 2, "noisy": [True] * 2}[feedback]
