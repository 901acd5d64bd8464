"""The parts of the static-dynamic policy, and what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfrontier.algos.decisions.bandits.random import generator_words
from skfrontier.algos.decisions.bandits.static_dynamic import layout, policy
from skfrontier.algos.decisions.bandits.static_dynamic.histogram import enter_histogram
from skfrontier.algos.decisions.bandits.static_dynamic.meta import (
    dynamic_weight,
    meta_step,
    static_weight,
    track_probability,
)
from skfrontier.datasets import make_bernoulli_bandit, make_switching_bandit
from skfrontier.estimators import StaticDynamicBandit

PARAMETERS = {
    "n_segments": None,
    "feedback": layout.EXACT_FEEDBACK,
    "base": layout.EXP3_IX_BASE,
    "mix": 1 / 3,
    "epoch_scale": 0.5,
    "explore_scale": 0.5,
    "eta_scale": 1.0,
    "change_tol": 0.0,
}


@given(st.floats(-1e8, 1e8))
@settings(deadline=None)
def test_weights_solve_the_meta_learner(delta):
    beta, w = dynamic_weight(delta), static_weight(delta)
    assert 0 < beta < 1
    assert beta + w == pytest.approx(1, abs=1e-15)
    assert beta + dynamic_weight(-delta) == pytest.approx(1, abs=1e-15)
    assert abs(1 / beta - 1 / w + delta) <= 1e-9 * (abs(delta) + 1)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e3))
@settings(deadline=None)
def test_dynamic_weight_increases(delta, step):
    assert dynamic_weight(delta) <= dynamic_weight(delta + step) + 4e-16


@given(st.floats(-50, 50), st.floats(1, 1e5), st.floats(0.01, 1), st.floats(-100, 100))
@settings(deadline=None)
def test_the_unknown_advantage_cancels(delta, S, u, gain):
    beta, w = dynamic_weight(delta), static_weight(delta)
    p = track_probability(delta, S, u)
    assert 0 < p < 1
    z = np.array([-np.sqrt(S) * gain, (1 - p) / p * gain / (2 * u)])
    expected = -0.5 * w * np.sqrt(S) * gain
    assert np.dot([w, beta], z) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    eta = 0.7 / (np.sqrt(S) * 200)
    stepped = meta_step(delta, gain, 200.0, 0.7)
    assert stepped == pytest.approx(delta + eta * (z[1] - z[0]), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("n_segments", ["auto", None])
@pytest.mark.parametrize("S", [1, 5, 60, 400])
def test_changes_are_never_overcounted_without_noise(n_segments, S):
    for seed in range(5):
        losses = make_switching_bandit(5000, 4, S, random_state=seed)
        p = StaticDynamicBandit(
            4, horizon=5000, n_segments=n_segments or S, feedback="exact", random_state=seed
        )
        p.run(losses)
        assert p.n_changes_ <= S - 1
        assert p._i[layout.N_REVERSALS] <= S - 1
        if n_segments == "auto":
            assert p.n_segments_ <= 2 * S
        else:
            auto = StaticDynamicBandit(4, horizon=5000, n_segments=S, random_state=seed)
            auto.run(losses)
            assert not auto.noisy_
            assert auto.noisy_since_ == -1


def test_attributes_are_in_range():
    losses = make_bernoulli_bandit(make_switching_bandit(6000, 5, 10, random_state=0), 1)
    p = StaticDynamicBandit(5, horizon=6000, random_state=0)
    p.run(losses)
    assert p.noisy_
    assert 0 < p.noisy_since_ < 6000
    log = p.epoch_log_
    assert np.all((log["beta"] > 0) & (log["beta"] < 1) & (log["p_track"] > 0))
    assert np.all(log["p_track"] < 1)
    assert np.all(log["gain"][~log["tracked"]] == 0)
    assert np.all(np.diff(log["start"]) > 0)
    assert 0 < p._f[layout.RHO] <= 0.5
    assert p.static_distribution_.sum() == pytest.approx(1)
    assert p.last_seen_.shape == (5,)


@given(st.integers(0, 2**32), st.integers(1, 600))
@settings(max_examples=30, deadline=None)
def test_histograms_keep_their_form(seed, n):
    rng = np.random.default_rng(seed)
    f, i = policy.new_static_dynamic(3, 10_000, **PARAMETERS | {"feedback": 2})
    kept = []
    for t, loss in enumerate(rng.integers(0, 65, n) / 64 * (0.25 if seed % 2 else 1)):
        loss = min(1.0, loss + 0.5 * (t > n // 2))
        was_cut = enter_histogram(f, i, 1, loss)
        kept.append(loss)
        start = layout.bucket_counts(i, 1)
        counts = i[start : start + layout.LEVELS]
        total = int(i[layout.ints(i, layout.SIZES) + 1])
        assert total == np.sum(counts * 2.0 ** np.arange(layout.LEVELS))
        assert counts.max() <= layout.SLOTS
        assert total == len(kept) or was_cut
        kept = kept[-total:]
        assert f[layout.floats(i, layout.SUMS) + 1] == sum(kept)
        assert f[layout.floats(i, layout.SUM_SQUARES) + 1] == pytest.approx(np.dot(kept, kept))
        assert layout.predictions(f, i)[1] == pytest.approx(np.mean(kept))
        assert layout.view(f, i, layout.V)[1] == pytest.approx(np.var(kept), abs=1e-12)
    sizes = layout.ints(i, layout.SIZES)
    assert i[sizes] == i[sizes + 2] == 0


@pytest.mark.parametrize("feedback", ["exact", "noisy"])
def test_estimates_of_a_round_are_unbiased(feedback):
    """sum_I pi(I) chat^(I) = c: play every arm from the same state and weight what was learnt."""
    losses = make_switching_bandit(3000, 4, 30, random_state=2)
    base = StaticDynamicBandit(4, horizon=3000, feedback=feedback, random_state=1)
    checked = 0
    for t, row in enumerate(losses):
        arm = base.select()
        tracking = base._i[layout.MODE] in (layout.TRACKING, layout.NOISY_TRACKING)
        if tracking and t % 37 == 0:
            law = base.probabilities()
            expected = np.zeros(4)
            for other in range(4):
                f, i = base._f.copy(), base._i.copy()
                i[0], f[1] = other, law[other]  # pending arm and its probability
                before = layout.view(f, i, layout.L).copy()
                policy.static_dynamic_update(f, i, base._rng.copy(), other, row[other])
                learnt = layout.view(f, i, layout.L) - before
                expected += law[other] * learnt
            np.testing.assert_allclose(expected, row, atol=1e-9)
            checked += 1
        base.update(arm, row[arm])
    assert checked > 20


@pytest.mark.parametrize("feedback", [layout.EXACT_FEEDBACK, layout.NOISY_FEEDBACK])
def test_gain_is_unbiased(feedback):
    """Mean of G minus the true gain over 20 000 tracking epochs of a learner that stays uniform."""
    A, T = 3, 240
    rng = np.random.default_rng(0)
    errors = []
    arms, seen, chances = np.empty(T, np.int32), np.empty(T), np.empty(T)
    log = np.empty((T, 5))
    for seed in range(2000):
        f, i = policy.new_static_dynamic(
            A, T, **PARAMETERS | {"feedback": feedback, "eta_scale": 1e-12}
        )
        f[layout.ETA_IN] = 0.0
        length = int(i[layout.LENGTH])
        losses = make_switching_bandit(T, A, 12, random_state=rng)
        if feedback == layout.EXACT_FEEDBACK:  # the sweep holds its values: constant in every sweep
            for start in range(0, T, length):
                losses[start : start + A] = losses[start]
        _, closed = policy.static_dynamic_play(
            f, i, generator_words(seed), losses, 0.0, 1.0, arms, seen, chances, log
        )
        difference = losses.mean(axis=1) - seen
        for row in log[:closed]:
            if row[3]:
                start = int(row[0])
                errors.append(row[4] - difference[start : start + length].sum())
    errors = np.array(errors)
    assert len(errors) >= 20_000
    assert abs(errors.mean()) <= 4 * errors.std(ddof=1) / np.sqrt(len(errors))
