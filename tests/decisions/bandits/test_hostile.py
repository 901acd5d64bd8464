"""Unusual parameters, losses, states and files: each works or is refused by name."""

import numpy as np
import pytest

from skfrontier.datasets import make_switching_bandit
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
    ThompsonBeta,
    TsallisINF,
)

POLICIES = (
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
    ThompsonBeta,
    TsallisINF,
)
every_policy = pytest.mark.parametrize("policy_class", POLICIES)
NUMPY_INTEGERS = [np.dtype(code).type for code in "bBhHiIlLqQ"]


@every_policy
@pytest.mark.parametrize("integer", NUMPY_INTEGERS)
def test_numpy_integers_count_as_their_values(policy_class, integer):
    n_arms = 120 if np.iinfo(integer).max < 200 else 200
    losses = make_switching_bandit(60, n_arms, 3, random_state=0)
    narrow = policy_class(integer(n_arms), horizon=integer(100), random_state=0)
    plain = policy_class(n_arms, horizon=100, random_state=0)
    np.testing.assert_array_equal(narrow.run(losses).arms, plain.run(losses).arms)
    one, other = narrow.get_state(), plain.get_state()
    for key in ("floats", "integers"):
        np.testing.assert_array_equal(one[key], other[key])


@every_policy
@pytest.mark.parametrize("horizon", [None, 150])
@pytest.mark.filterwarnings("ignore:More than horizon")
def test_restored_in_a_later_stage(policy_class, horizon, tmp_path):
    losses = make_switching_bandit(4500, 3, 5, random_state=0)
    policy = policy_class(3, horizon=horizon, random_state=1)
    if policy_class in (DiscountedUCB, FixedShareBandit):
        policy.set_params(n_segments=2)
    for cut in (150, 1024, 1025, 2200, 4096):
        policy.run(losses[policy.n_rounds_ : cut] if cut > 150 else losses[:cut])
        policy.save(tmp_path / "policy")
        restored = policy_class.load(tmp_path / "policy")
        twin = policy_class(**policy.get_params()).set_state(policy.get_state())
        expected = policy.run(losses[cut : cut + 1]).arms
        np.testing.assert_array_equal(restored.run(losses[cut : cut + 1]).arms, expected)
        np.testing.assert_array_equal(twin.run(losses[cut : cut + 1]).arms, expected)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"n_arms": 10**20}, "n_arms"),
        ({"horizon": 2**63}, "horizon"),
        ({"horizon": 10**400}, "horizon"),
        ({"loss_range": (-1e308, 1e308)}, "loss_range"),
        ({"loss_range": (0, 10**400)}, "loss_range"),
    ],
)
@every_policy
def test_numbers_too_large_are_refused_by_name(policy_class, parameters, name):
    with pytest.raises(ValueError, match=name):
        policy_class(**({"n_arms": 3} | parameters)).select()


@every_policy
def test_losses_too_large_are_refused_by_name(policy_class):
    policy = policy_class(3, random_state=0)
    arm = policy.select()
    with pytest.raises(ValueError, match="loss must lie in loss_range"):
        policy.update(arm, 10**400)
    policy.update(arm, 1)


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        *((kind(2, confidence=np.inf), "confidence") for kind in (UCB1, DiscountedUCB)),
        *((kind(2, confidence=np.inf), "confidence") for kind in (SlidingWindowUCB, MonitoredUCB)),
        *((kind(2, n_segments=np.inf), "n_segments") for kind in (Exp3S, FixedShareBandit)),
        *((kind(2, n_segments=np.inf), "n_segments") for kind in (MonitoredUCB, DiscountedUCB)),
        (StaticDynamicBandit(2, n_segments=np.inf), "n_segments"),
        (StaticDynamicBandit(2, eta_scale=1e160), "eta_scale"),
        (SlidingWindowUCB(2, window=2**63), "window"),
        (MonitoredUCB(2, window=2**63), "window"),
    ],
)
def test_parameters_without_sense_are_refused(policy, name):
    with pytest.raises(ValueError, match=name):
        policy.select()


@pytest.mark.parametrize(
    "policy",
    [
        StaticDynamicBandit(2, epoch_scale=1e30, random_state=0),
        StaticDynamicBandit(2, epoch_scale=1e308, horizon=500, random_state=0),
        StaticDynamicBandit(2, explore_scale=1e308, random_state=0),
        StaticDynamicBandit(2, eta_scale=1e6, random_state=0),
        StaticDynamicBandit(2, mix=1e-300, random_state=0),
        Exp3P(2, delta=5e-324, random_state=0),
        Exp3(2, eta=1e308, random_state=0),
        Exp3IX(2, eta=1e308, random_state=0),
        UCB1(2, confidence=1e308),
        DiscountedUCB(2, discount=1e-300),
        Exp3S(2, n_segments=1e15, random_state=0),
    ],
)
def test_extreme_parameters_keep_a_law(policy):
    losses = make_switching_bandit(400, 2, 20, random_state=0)
    for row in losses:
        law = policy.probabilities()
        assert np.all(law >= 0)
        assert law.sum() == pytest.approx(1)
        arm = policy.select()
        policy.update(arm, row[arm])
