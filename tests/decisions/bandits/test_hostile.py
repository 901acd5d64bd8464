"""Unusual parameters, losses, states and files: each works or is refused by name."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from skfrontier.algos import regret_report, replay_evaluate, run_many, static_regret
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


@every_policy
@pytest.mark.parametrize("edge", [0.1, 0.7])
def test_float32_losses_at_the_edge_are_judged_alike(policy_class, edge):
    losses = np.full((3, 2), np.float32(edge))
    by_run = policy_class(2, loss_range=(-1, edge), random_state=0)
    by_update = policy_class(2, loss_range=(-1, edge), random_state=0)
    if float(np.float32(edge)) <= edge:
        by_run.run(losses)
        for row in losses:
            arm = by_update.select()
            by_update.update(arm, row[arm])
        assert by_run.total_loss_ == by_update.total_loss_
        return
    with pytest.raises(ValueError, match="loss_range"):
        by_run.run(losses)
    with pytest.raises(ValueError, match="loss_range"):
        by_update.update(by_update.select(), losses[0, 0])


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        (np.ma.masked_greater(np.array([[0.1, 0.9]]), 0.5), "masked"),
        (sparse.csr_matrix(np.eye(2)), "sparse"),
        (sparse.csr_array(np.eye(2)), "sparse"),
        ([[0.1, 0.2], [0.3]], "rectangular"),
        ([["a", "b"]], "real numbers"),
        (np.array([[0.1, None]], dtype=object), "losses"),
        (np.array([[0.1, {}]], dtype=object), "real numbers"),
        (np.array([[1j, 0]]), "real numbers"),
    ],
)
def test_losses_that_are_no_matrix_of_numbers(losses, message):
    with pytest.raises(ValueError, match=message):
        TsallisINF(2).run(losses)
    with pytest.raises(ValueError, match=message):
        static_regret([0] * (losses.shape[0] if hasattr(losses, "shape") else 1), losses)


def test_object_and_unmasked_losses_are_converted():
    plain = make_switching_bandit(50, 2, 5, random_state=0)
    expected = TsallisINF(2, random_state=0).run(plain).arms
    for losses in (plain.astype(object), np.ma.array(plain), plain.tolist()):
        np.testing.assert_array_equal(TsallisINF(2, random_state=0).run(losses).arms, expected)


@pytest.mark.parametrize("method", ["rejection", "ips", "snips"])
def test_replay_of_unusual_logs(method):
    for empty in ([], np.array([]), np.array([], dtype=np.uint8)):
        assert replay_evaluate(UCB1(2), empty, [], method=method).n_used == 0
    for bad in ([0.5, 1.5], [0.5, -0.5], np.ma.masked_greater([0.1, 0.9], 0.5), [0.5, "a"]):
        with pytest.raises(ValueError, match="losses"):
            replay_evaluate(UCB1(2), [0, 1], bad, method=method)
    assert replay_evaluate(UCB1(2, loss_range=(-1, 2)), [0, 1], [1.5, -1], method=method).n_used
    for bad in (UCB1, None, "ucb"):
        with pytest.raises(TypeError, match="policy must be a bandit policy"):
            replay_evaluate(bad, [0, 1], [0.5, 0.5], method=method)


def test_a_frozen_policy_is_evaluated_with_the_parameters_in_use():
    policy = UCB1(2)
    policy.select()
    policy.set_params(n_arms=5, loss_range=(0, 9))
    assert replay_evaluate(policy, [0, 1], [0.5, 0.5], method="ips").n_used == 1
    for arms, losses in (([0, 4], [0.5, 0.5]), ([0, 1], [0.5, 5])):
        with pytest.raises(ValueError, match="must"):
            replay_evaluate(policy, arms, losses, method="ips")


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"policies": {"p": "ucb"}}, "policies"),
        ({"policies": {"p": UCB1}}, "policies"),
        ({"policies": [UCB1(2)]}, "policies"),
        ({"n_jobs": "x"}, "n_jobs"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_repeats": 1.5}, "n_repeats"),
    ],
)
def test_run_many_names_what_it_refuses(changed, name):
    call = {"policies": {"p": UCB1(2)}, "losses": np.zeros((3, 2))} | changed
    with pytest.raises((TypeError, ValueError), match=name):
        run_many(**call)


def test_regret_report_takes_one_number_of_segments():
    losses = [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    one, many = (regret_report([0, 1, 1], losses, n_segments=s) for s in (2, (2,)))
    assert one == many


def test_runs_without_closed_epochs_leave_no_trace_in_the_log():
    policy = StaticDynamicBandit(3, horizon=10**6, random_state=0)
    for _ in range(20):
        policy.run(np.zeros((1, 3)))
    assert policy._log == []


def test_exp3s_shares_the_total_before_the_step():
    n_arms, horizon, n_segments = 3, 50, 4
    policy = Exp3S(n_arms, horizon=horizon, n_segments=n_segments, random_state=0)
    arm = policy.select()
    policy.update(arm, 0.0)
    budget = n_segments * np.log(n_arms * horizon) + np.e
    gamma = min(1.0, np.sqrt(n_arms * budget / ((np.e - 1) * horizon)))
    weights = np.full(n_arms, 1 / n_arms)
    weights[arm] *= np.exp(gamma * n_arms / n_arms)  # the gain estimate is n_arms
    weights += np.e / (n_arms * horizon)
    law = (1 - gamma) * weights / weights.sum() + gamma / n_arms
    np.testing.assert_allclose(policy.probabilities(), law, rtol=1e-12)
