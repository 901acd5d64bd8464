"""Unusual parameters, losses, states and files: each works or is refused by name."""

from fractions import Fraction

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


@every_policy
def test_set_params_between_rounds_waits_for_the_reset(policy_class, tmp_path):
    losses = make_switching_bandit(300, 3, 5, random_state=0)
    policy = policy_class(3, horizon=300, random_state=1)
    policy.run(losses[:100])
    before = policy.get_state()
    policy.set_params(n_arms=7, horizon=None, maximize=True, loss_range=(0, 5), random_state=9)
    after = policy.get_state()
    for key, value in before.items():
        np.testing.assert_array_equal(value, after[key], err_msg=key)
    with pytest.raises(ValueError, match=r"loss must lie in loss_range \[0, 1\]"):
        policy.update(policy.select(), 2.0)
    policy.save(tmp_path / "policy")
    restored = policy_class.load(tmp_path / "policy")
    assert restored.n_arms == 3
    expected = policy.run(losses[100:]).arms
    np.testing.assert_array_equal(restored.run(losses[100:]).arms, expected)
    with pytest.raises(ValueError, match="state has"):
        policy.set_state(before)  # it must fit the parameters of the next reset
    assert policy.reset().probabilities().shape == (7,)


def test_a_restored_state_brings_its_parameters():
    state = TsallisINF(3, loss_range=(0, 2), random_state=0).get_state()
    policy = TsallisINF(3, random_state=1)
    policy.select()
    policy.set_params(loss_range=(0, 2)).set_state(state)
    assert policy.get_state()["params"] == state["params"]
    policy.update(policy.select(), 2.0)


@every_policy
def test_damaged_files_are_refused(policy_class, tmp_path):
    path = tmp_path / "policy"
    policy = policy_class(3, horizon=300, random_state=1)
    policy.run(make_switching_bandit(200, 3, 5, random_state=0))
    policy.save(path)
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 25).astype(int):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="policy"):
            policy_class.load(path)
    rng = np.random.default_rng(0)
    for _ in range(40):
        flipped = bytearray(whole)
        for place in rng.integers(len(whole), size=int(rng.integers(1, 4))):
            flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:
            restored = policy_class.load(path)
        except ValueError:
            continue
        for key, value in policy.get_state().items():  # the flip met a word that nobody reads
            np.testing.assert_array_equal(value, restored.get_state()[key])
    with pytest.raises(FileNotFoundError):
        policy_class.load(tmp_path / "missing")


@every_policy
def test_damaged_states_are_refused(policy_class):
    policy = policy_class(3, random_state=1)
    policy.run(make_switching_bandit(200, 3, 5, random_state=0))
    state = policy.get_state()
    nan, inf = state["floats"].copy(), state["floats"].copy()
    nan[0], inf[-1] = np.nan, np.inf
    for changed in (
        {"floats": nan},
        {"floats": inf},
        {"floats": state["floats"].astype(np.float32)},
        {"floats": None},
        {"seed": -1},
        {"seed": 0.5},
        {"seed": "0"},
        {"epochs": np.zeros((1, 5), np.float32)},
        {"epochs": np.float64(0)},
        {"epochs": np.full((1, 5), np.nan)},
        {"params": None},
        {"integers": state["integers"][:5]},
    ):
        with pytest.raises(ValueError, match="state"):
            policy.set_state(state | changed)
    for bad in (None, 3, "state", [1]):
        with pytest.raises(TypeError, match="state must be a dict"):
            policy.set_state(bad)
    for key, value in policy.get_state().items():
        np.testing.assert_array_equal(value, state[key])


def test_a_damaged_law_is_refused():
    for policy_class in (Exp3, TsallisINF, StaticDynamicBandit, BanditOverBandit, CorralBandit):
        state = policy_class(3, random_state=1).get_state()
        floats = state["floats"].copy()
        floats[np.isclose(floats, 1 / 3, rtol=1e-15)] = 0.9
        with pytest.raises(ValueError, match="damaged"):
            policy_class(3).set_state(state | {"floats": floats})


def test_a_state_that_claims_many_arms_needs_no_memory():
    state = TsallisINF(3).get_state()
    state["params"]["n_arms"] = 2**31 - 1
    with pytest.raises(ValueError, match="damaged"):
        TsallisINF(2**31 - 1).set_state(state)


@pytest.mark.parametrize(
    "policy",
    [
        Exp3(3, loss_range=np.array([0, 1])),
        Exp3(3, loss_range=[0, Fraction(3, 2)], eta=Fraction(1, 3)),
        Exp3(np.int8(3), horizon=np.uint16(9), eta=np.float32(0.1), maximize=np.bool_(True)),
        CorralBandit(3, bases=np.array([2.0, 4.0])),
        CorralBandit(3, bases=["exp3ix", np.float32(3)]),
        MonitoredUCB(3, window=np.int16(8), confidence=np.longdouble(1)),
    ],
)
def test_what_is_accepted_can_be_saved(policy, tmp_path):
    policy.set_params(random_state=0).select()
    policy.save(tmp_path / "policy")
    restored = type(policy).load(tmp_path / "policy")
    assert restored.select() == policy.select()
    assert restored.get_state()["params"] == policy.get_state()["params"]


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (CorralBandit(3, bases={2, 4}), "bases"),
        (CorralBandit(3, bases=(s for s in (2, 4))), "bases"),
        (CorralBandit(3, bases="exp3ix"), "bases"),
        (CorralBandit(3, bases=5), "bases"),
        (CorralBandit(3, bases=("exp3",)), "bases"),
        (Exp3(3, loss_range={0, 1}), "loss_range"),
        (Exp3(3, loss_range="01"), "loss_range"),
        (Exp3(3, loss_range=np.zeros((2, 2))), "loss_range"),
    ],
)
def test_what_cannot_be_saved_is_refused(policy, name):
    with pytest.raises((TypeError, ValueError), match=name):
        policy.select()
