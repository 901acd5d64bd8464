"""What every policy promises: exactness, saved state, laws, errors."""

import json
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

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
    ThompsonBeta,
    TsallisINF,
)

A, T = 4, 1500
INDEX = (UCB1, SlidingWindowUCB, DiscountedUCB, MonitoredUCB, ThompsonBeta)
POLICIES = {
    "static-dynamic": lambda **k: StaticDynamicBandit(A, **k),
    "static-dynamic-exp3ix": lambda **k: StaticDynamicBandit(A, base="exp3ix", **k),
    "static-dynamic-known": lambda **k: StaticDynamicBandit(A, n_segments=30, **k),
    "static-dynamic-noisy": lambda **k: StaticDynamicBandit(A, feedback="noisy", **k),
    **{
        policy.__name__: lambda policy=policy, **k: policy(A, **k)
        for policy in (Exp3, Exp3IX, Exp3P, Exp3S, FixedShareBandit, TsallisINF, *INDEX)
    },
    "thompson-discounted": lambda **k: ThompsonBeta(A, discount=0.99, **k),
    "BanditOverBandit": lambda **k: BanditOverBandit(A, **k),
    "CorralBandit": lambda **k: CorralBandit(A, **k),
    "corral-three": lambda **k: CorralBandit(A, bases=("exp3ix", 3, 40.0), **k),
}
every_policy = pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES.keys())


@pytest.fixture(scope="module")
def losses():
    exact = make_switching_bandit(T, A, 30, random_state=0)
    noisy = make_bernoulli_bandit(make_switching_bandit(T, A, 3, random_state=1), random_state=2)
    return np.vstack([exact, noisy])


def step(policy, row):
    arm = policy.select()
    policy.update(arm, row[arm])
    return arm


def same_state(one, other):
    one, other = one.get_state(), other.get_state()
    assert one.keys() == other.keys()
    for key, value in one.items():
        np.testing.assert_array_equal(value, other[key], err_msg=key)


@every_policy
@pytest.mark.parametrize("horizon", [2 * T, None])
def test_run_equals_the_loop(make, horizon, losses):
    at_once, looped = make(horizon=horizon, random_state=3), make(horizon=horizon, random_state=3)
    first, second = at_once.run(losses[:700]), at_once.run(losses[700:])
    arms = [step(looped, row) for row in losses]
    np.testing.assert_array_equal(np.concatenate([first.arms, second.arms]), arms)
    same_state(at_once, looped)
    assert at_once.counts_.sum() == at_once.n_rounds_ == len(losses)
    assert at_once.total_loss_ == pytest.approx(losses[np.arange(len(losses)), arms].sum())


@every_policy
def test_saved_at_any_round_it_goes_on_bit_for_bit(make, losses, tmp_path):
    horizon = len(losses)
    whole = make(horizon=horizon, random_state=4)
    arms = whole.run(losses).arms
    rng = np.random.default_rng(0)
    for k, cut in enumerate(rng.integers(1, horizon, 20)):
        policy = make(horizon=horizon, random_state=4)
        policy.run(losses[:cut])
        pending = policy.select() if k % 2 else None
        path = tmp_path / "policy.npz"
        policy.save(path)
        restored = type(policy).load(path)
        if pending is not None:
            assert restored.select() == pending
        np.testing.assert_array_equal(restored.run(losses[cut:]).arms, arms[cut:])
        same_state(restored, whole)
    assert [p.name for p in tmp_path.iterdir()] == ["policy.npz"]


@every_policy
def test_pickle_clone_and_seed(make, losses):
    policy = make(random_state=np.random.RandomState(0))
    policy.run(losses[:500])
    policy.select()
    twin = pickle.loads(pickle.dumps(policy))
    np.testing.assert_array_equal(twin.run(losses[500:]).arms, policy.run(losses[500:]).arms)
    unused = clone(policy)
    with pytest.raises(NotFittedError):
        _ = unused.n_rounds_
    one, other = make(random_state=7).run(losses), make(random_state=7).run(losses)
    np.testing.assert_array_equal(one.arms, other.arms)


@every_policy
def test_the_law_is_that_of_select(make, losses):
    for cut in (0, 3, 400, 1777, 2500):
        policy = make(horizon=len(losses), random_state=5)
        policy.run(losses[:cut])
        law = policy.probabilities()
        assert law.min() >= 0
        assert law.sum() == pytest.approx(1, abs=1e-12)
        state = policy.get_state()
        counts = np.zeros(A)
        n = 3000
        for words in np.random.SeedSequence(cut).generate_state(4 * n, np.uint64).reshape(n, 4):
            f, i = state["floats"].copy(), state["integers"].copy()
            counts[policy._kernels.select(f, i, words)] += 1
        error = np.sqrt(law * (1 - law) / n)
        assert np.all(np.abs(counts / n - law) <= 4.5 * error + 1e-3)
        before = policy.get_state()
        policy.probabilities()
        for key, value in policy.get_state().items():
            np.testing.assert_array_equal(value, before[key])


@every_policy
def test_probability_of_the_played_arm(make, losses):
    policy = make(horizon=len(losses), random_state=6)
    result = policy.run(losses[:900])
    looped = make(horizon=len(losses), random_state=6)
    for row, arm, chance in zip(losses, result.arms, result.probabilities, strict=False):
        assert looped.select() == arm
        if not isinstance(policy, ThompsonBeta):
            assert looped.probabilities()[arm] == pytest.approx(chance, rel=1e-12)
        looped.update(arm, row[arm])


@every_policy
def test_constant_losses_give_no_regret_and_rewards_mirror_losses(make, losses):
    assert make(random_state=0).run(np.full((300, A), 0.25)).losses.sum() == 75
    plain = make(random_state=8).run(losses[:T])
    rewards = make(random_state=8).set_params(maximize=True, loss_range=(0.0, 1.0))
    np.testing.assert_array_equal(rewards.run(1 - losses[:T]).arms, plain.arms)


@every_policy
def test_a_refused_call_changes_nothing(make, losses):
    policy = make(horizon=T, random_state=0)
    policy.run(losses[:100])
    before = policy.get_state()
    arm = policy.select()
    for bad in (np.nan, np.inf, -0.01, 1.01):
        with pytest.raises(ValueError, match=r"loss must lie in loss_range \[0, 1\]"):
            policy.update(arm, bad)
    for bad in ("0.5", None, [0.5]):
        with pytest.raises(TypeError, match="loss must be a real number"):
            policy.update(arm, bad)
    for bad in (A, 2**70):
        with pytest.raises(ValueError, match="arm must lie in"):
            policy.update(bad, 0.5)
    with pytest.raises(TypeError, match="arm must be an integer"):
        policy.update(0.0, 0.5)
    for bad in (losses[0], losses[:, :2], losses + 1, losses * np.nan):
        with pytest.raises(ValueError, match="losses must"):
            policy.run(bad)
    if not isinstance(policy, INDEX):
        with pytest.raises(ValueError, match="arm must be the pending arm"):
            policy.update((arm + 1) % A, 0.5)
        policy.update(arm, 0.5)
        with pytest.raises(ValueError, match=r"before select\(\)"):
            policy.update(arm, 0.5)
        assert policy.n_rounds_ == 101
    else:
        policy.update((arm + 1) % A, 0.5)
        assert policy.n_rounds_ == 101
    policy.set_state(before)
    assert policy.run(losses[:0]).arms.shape == (0,)
    same_state(policy, make(horizon=T, random_state=0).set_state(before))


@every_policy
def test_edge_cases(make, losses):
    one = make(random_state=0).set_params(n_arms=1)
    assert one.run(losses[:300, :1]).arms.max() == 0
    assert one.probabilities() == pytest.approx([1.0])
    integers = make(random_state=0)
    np.testing.assert_array_equal(
        integers.run((losses[:200] > 0.5).astype(int)).arms,
        make(random_state=0).run(np.asfortranarray((losses[:200] > 0.5).astype(np.float32))).arms,
    )
    short = make(horizon=40, random_state=0)
    with pytest.warns(ConvergenceWarning, match="horizon=40"):
        short.run(losses[:41])
    short = make(horizon=40, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for row in losses[:200]:
            step(short, row)
    assert [w.category for w in caught] == [ConvergenceWarning]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_arms": 0}, ValueError, "n_arms"),
        ({"n_arms": 2.0}, TypeError, "n_arms"),
        ({"horizon": 0}, ValueError, "horizon"),
        ({"n_segments": 0.5}, ValueError, "n_segments"),
        ({"n_segments": 200, "horizon": 100}, ValueError, "n_segments"),
        ({"n_segments": "many"}, ValueError, "n_segments"),
        ({"feedback": "loud"}, ValueError, "feedback"),
        ({"base": "ucb"}, ValueError, "base"),
        ({"mix": 0.0}, ValueError, "mix"),
        ({"mix": 1.1}, ValueError, "mix"),
        ({"epoch_scale": 0.0}, ValueError, "epoch_scale"),
        ({"explore_scale": -1.0}, ValueError, "explore_scale"),
        ({"eta_scale": np.nan}, ValueError, "eta_scale"),
        ({"change_tol": -0.1}, ValueError, "change_tol"),
        ({"loss_range": (1.0, 0.0)}, ValueError, "loss_range"),
        ({"loss_range": 1.0}, ValueError, "loss_range"),
        ({"maximize": 1}, TypeError, "maximize"),
        ({"random_state": -1}, ValueError, "random_state"),
    ],
)
def test_bad_parameters_are_named_at_the_first_use(parameters, error, message):
    policy = StaticDynamicBandit(**({"n_arms": 3} | parameters))
    with pytest.raises(error, match=message):
        policy.select()


@pytest.mark.parametrize(
    "policy",
    [
        Exp3(3, eta=0.0),
        Exp3P(3, delta=1.0),
        SlidingWindowUCB(3, window=0),
        DiscountedUCB(3, discount=1.5),
        MonitoredUCB(3, window=7),
        ThompsonBeta(3, discount=0.0),
        CorralBandit(3, bases=()),
        CorralBandit(3, bases=(0.5,)),
        UCB1(3, confidence=-1.0),
    ],
)
def test_bad_parameters_of_the_baselines(policy):
    with pytest.raises(ValueError, match="must"):
        policy.probabilities()


def test_set_state_refuses_what_is_not_its_own(losses):
    policy = StaticDynamicBandit(A, random_state=0)
    policy.run(losses[:700])
    before = policy.get_state()
    pending_out = before["integers"].copy()
    pending_out[0] = 99
    for bad in (
        TsallisINF(A).get_state(),
        StaticDynamicBandit(A, mix=0.5).get_state(),
        before | {"version": 99},
        before | {"floats": before["floats"][:-1]},
        before | {"integers": pending_out},
        before | {"generator": np.zeros(4, np.uint64)},
        {"policy": "StaticDynamicBandit"},
    ):
        with pytest.raises(ValueError, match="state"):
            policy.set_state(bad)
    same_state(policy, StaticDynamicBandit(A, random_state=0).set_state(before))


def test_load_refuses_other_files(tmp_path):
    path = tmp_path / "x.npz"
    TsallisINF(3).save(path)
    with pytest.raises(ValueError, match="TsallisINF"):
        StaticDynamicBandit.load(path)
    np.savez(path, description=np.array(json.dumps({"policy": "TsallisINF"})))
    with pytest.raises(ValueError, match="not a saved policy"):
        TsallisINF.load(path)
    path.write_bytes(pickle.dumps({"policy": "TsallisINF"}))
    with pytest.raises(ValueError, match=r"."):
        TsallisINF.load(path)


def test_set_params_acts_at_reset(losses):
    policy = TsallisINF(A, random_state=0)
    policy.run(losses[:10])
    policy.set_params(n_arms=2)
    assert policy.probabilities().shape == (A,)
    assert policy.reset().probabilities().shape == (2,)


@given(
    low=st.floats(-1e3, 1e3), width=st.floats(1e-3, 1e3), seed=st.integers(0, 2**32), data=st.data()
)
@settings(max_examples=30, deadline=None)
def test_scaling_of_losses_does_not_matter(low, width, seed, data):
    unit = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=60, max_size=60)))
    unit = unit.reshape(20, 3)
    plain = StaticDynamicBandit(3, random_state=seed).run(unit)
    high = low + width
    ranged = StaticDynamicBandit(3, loss_range=(low, high), random_state=seed)
    np.testing.assert_array_equal(ranged.run(np.where(unit == 1, high, low)).arms, plain.arms)


def test_window_grows_without_horizon(losses):
    policy = SlidingWindowUCB(A)
    windows = [int(np.ceil(2 * np.sqrt(n * np.log(n) / 10))) for n in (1024, 2048)]
    reference = SlidingWindowUCB(A, window=windows[0])
    np.testing.assert_array_equal(policy.run(losses[:1024]).arms, reference.run(losses[:1024]).arms)
    policy.run(losses[1024:])
    assert len(policy.get_state()["floats"]) == (
        len(reference.get_state()["floats"]) + windows[1] - windows[0]
    )
