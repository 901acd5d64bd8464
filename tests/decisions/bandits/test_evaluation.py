"""Comparing policies and evaluating them on logs."""

import numpy as np
import pytest

from skfrontier.algos import replay_evaluate, run_many
from skfrontier.datasets import make_switching_bandit
from skfrontier.estimators import UCB1, FixedShareBandit, StaticDynamicBandit, TsallisINF


def test_run_many_does_not_depend_on_n_jobs():
    losses = make_switching_bandit(2000, 3, 5, random_state=0)
    policies = {"both": StaticDynamicBandit(3), "tracker": FixedShareBandit(3, horizon=2000)}
    one = run_many(policies, losses, n_repeats=4, random_state=1, n_jobs=1)
    two = run_many(policies, losses, n_repeats=4, random_state=1, n_jobs=2)
    for name in policies:
        for kind in ("static", "dynamic"):
            np.testing.assert_array_equal(one[name][kind], two[name][kind])
    assert len(set(one["both"]["dynamic"])) == 4  # seeds differ
    assert not hasattr(policies["both"], "_seed")  # copies were played


def test_run_many_with_rewards():
    losses = make_switching_bandit(1000, 3, 5, random_state=0)
    plain = run_many({"p": TsallisINF(3)}, losses, random_state=0)
    rewards = run_many({"p": TsallisINF(3, maximize=True)}, 1 - losses, random_state=0)
    for kind in ("static", "dynamic"):
        np.testing.assert_allclose(plain["p"][kind], rewards["p"][kind], atol=1e-9)


@pytest.fixture(scope="module")
def log():
    rng = np.random.default_rng(0)
    n = 60_000
    law = np.array([0.5, 0.3, 0.2])
    arms = rng.choice(3, n, p=law)
    losses = (rng.random(n) < np.array([0.2, 0.5, 0.7])[arms]).astype(float)
    return arms, losses, law[arms]


@pytest.mark.parametrize("method", ["ips", "snips"])
def test_frozen_policies_are_estimated_without_bias(log, method):
    arms, losses, propensities = log
    policy = TsallisINF(3, random_state=0)
    policy.run(np.tile([0.2, 0.5, 0.7], (40, 1)))
    truth = policy.probabilities() @ [0.2, 0.5, 0.7]
    result = replay_evaluate(policy, arms, losses, propensities=propensities, method=method)
    assert abs(result.value - truth) < 4 * result.stderr
    assert result.n_used == len(arms)
    assert policy.n_rounds_ == 40


@pytest.mark.parametrize("uniform", [True, False])
def test_replay_matches_play(log, uniform):
    arms, losses, propensities = log
    if uniform:
        rng = np.random.default_rng(1)
        arms = rng.integers(3, size=len(arms))
        losses = (rng.random(len(arms)) < np.array([0.2, 0.5, 0.7])[arms]).astype(float)
        propensities = None
    result = replay_evaluate(UCB1(3), arms, losses, propensities=propensities, random_state=0)
    rate = 1 / 3 if uniform else 0.2
    assert abs(result.n_used - rate * len(arms)) < 4 * np.sqrt(rate * len(arms))
    matrix = (np.random.default_rng(2).random((result.n_used, 3)) < [0.2, 0.5, 0.7]).astype(float)
    played = UCB1(3).run(matrix).losses
    error = np.hypot(result.stderr, played.std() / np.sqrt(len(played)))
    assert abs(result.value - played.mean()) < 5 * error


def test_an_event_that_is_not_kept_changes_nothing():
    policy = StaticDynamicBandit(2, random_state=0)
    arm = policy.select()
    state = policy.get_state()
    result = replay_evaluate(policy, [1 - arm] * 50, [0.5] * 50, method="ips")
    assert result.n_used == 50
    for key, value in policy.get_state().items():
        np.testing.assert_array_equal(value, state[key])


def test_empty_logs():
    result = replay_evaluate(UCB1(2), np.array([], dtype=int), [])
    assert result.n_used == 0
    assert np.isnan(result.value)
    assert np.isnan(replay_evaluate(UCB1(2), [0], [0.5]).stderr)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"arms": [0, 5]}, "arms must be integers in 0..1"),
        ({"losses": [0.5]}, "same length"),
        ({"losses": [0.5, np.nan]}, "losses must be finite"),
        ({"propensities": [0.5, 0.0]}, "propensities"),
        ({"method": "dr"}, "method must be one of"),
    ],
)
def test_bad_logs(changed, message):
    good = {"arms": [0, 1], "losses": [0.5, 0.5], "propensities": [0.5, 0.5], "method": "ips"}
    call = good | changed
    with pytest.raises(ValueError, match=message):
        replay_evaluate(UCB1(2), call.pop("arms"), call.pop("losses"), **call)
