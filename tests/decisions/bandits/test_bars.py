"""Regrets that the policies must reach: means over seeds, scaled by sqrt(A T) and sqrt(S A T).

The thresholds are properties that were set before the policies were written, not fits to the
figures that come out.
"""

import numpy as np
import pytest
from families import FRESH, HARDER, NOISY, ORDINARY, n_segments
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skfrontier.algos import dynamic_regret, static_regret
from skfrontier.datasets import (
    make_bernoulli_bandit,
    make_drifting_bandit,
    make_hidden_window_bandit,
    make_model_selection_bandit,
    make_switching_bandit,
)
from skfrontier.estimators import (
    UCB1,
    CorralBandit,
    Exp3S,
    FixedShareBandit,
    SlidingWindowUCB,
    StaticDynamicBandit,
    TsallisINF,
)

T = 100_000
N_HARDER = 64


def regrets(policy, losses, means=None, n_runs=5):
    """Mean static and dynamic regret on the means over seeds 0..n_runs-1."""
    means = losses if means is None else means
    found = []
    for seed in range(n_runs):
        arms = type(policy)(**policy.get_params()).set_params(random_state=seed).run(losses).arms
        found.append((static_regret(arms, means), dynamic_regret(arms, means)))
    return np.mean(found, axis=0)


def scaled(policy, losses, means=None, n_runs=5):
    """The same over sqrt(A T) and sqrt(S A T)."""
    means = losses if means is None else means
    scale = np.sqrt(means.size)
    return regrets(policy, losses, means, n_runs) / (scale, scale * np.sqrt(n_segments(means)))


@pytest.fixture(scope="module")
def hidden():
    return make_hidden_window_bandit(T, 2, window=8, random_state=0)


@pytest.fixture(scope="module")
def switching():
    return make_switching_bandit(T, 5, 20, random_state=0)


def test_static_regret_on_hidden_windows(hidden):
    S = n_segments(hidden)
    ours = [
        scaled(StaticDynamicBandit(2, horizon=T), hidden)[0],
        scaled(StaticDynamicBandit(2, horizon=T, n_segments=S), hidden)[0],
    ]
    assert max(ours) <= 0.9
    for tracker in (FixedShareBandit, Exp3S):
        assert scaled(tracker(2, horizon=T, n_segments=S), hidden)[0] >= 15 * max(ours)


def test_dynamic_regret_on_switching_losses(switching):
    known = scaled(StaticDynamicBandit(5, horizon=T, n_segments=20), switching)[1]
    auto = scaled(StaticDynamicBandit(5, horizon=T), switching)[1]
    assert known <= 1.6
    assert auto <= 1.2
    assert auto < scaled(FixedShareBandit(5, horizon=T, n_segments=20), switching)[1]
    assert scaled(TsallisINF(5), switching)[1] >= 5 * max(auto, known)


def test_both_regrets_on_ordinary_families():
    found = {"auto": [], "known": [], "tracker": [], "static": []}
    for k in range(60):
        losses = ORDINARY[k % 4](np.random.default_rng([0, k]), 20_000)
        n, A = losses.shape
        S = n_segments(losses)
        policies = {
            "auto": StaticDynamicBandit(A, horizon=n),
            "known": StaticDynamicBandit(A, horizon=n, n_segments=S),
            "tracker": FixedShareBandit(A, horizon=n, n_segments=S),
            "static": TsallisINF(A),
        }
        for name, policy in policies.items():
            found[name].append(scaled(policy, losses, n_runs=3))
    worst = {name: np.max(values, axis=0) for name, values in found.items()}
    for name in ("auto", "known"):
        assert worst[name][0] <= 1.5
        assert worst[name][1] <= 1.8
    assert worst["tracker"][0] > 6
    assert worst["static"][1] > 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["auto", "known", "anytime"])
def test_both_regrets_on_harder_families(kind):
    found = []
    for k in range(N_HARDER):
        losses = HARDER[k % 8](np.random.default_rng([0, k]), 20_000)
        n, A = losses.shape
        S = n_segments(losses) if kind == "known" else "auto"
        horizon = None if kind == "anytime" else n
        policy = StaticDynamicBandit(A, horizon=horizon, n_segments=S)
        found.append(scaled(policy, losses, n_runs=3))
    static, dynamic = np.max(found, axis=0)
    assert static <= 2.5
    assert dynamic <= 1.8


@pytest.mark.slow
def test_both_regrets_on_noisy_harder_families():
    found = []
    for k in range(N_HARDER):
        rng = np.random.default_rng([0, k])
        means = HARDER[k % 8](rng, 20_000)
        losses = make_bernoulli_bandit(means, random_state=rng)
        found.append(scaled(StaticDynamicBandit(means.shape[1], horizon=len(means)), losses, means))
    static, dynamic = np.max(found, axis=0)
    assert static <= 3.5
    assert dynamic <= 2.0


def test_growth_with_the_horizon():
    horizons = [10_000, 32_000, 100_000, 320_000, 1_000_000]
    ours, tracker = [], []
    for n in horizons:
        losses = make_hidden_window_bandit(n, 2, window=int(0.5 * n**0.25), random_state=0)
        ours.append(regrets(StaticDynamicBandit(2, horizon=n), losses))
        S = n_segments(losses)
        tracker.append(regrets(FixedShareBandit(2, horizon=n, n_segments=S), losses, n_runs=1))
    static, dynamic = np.polyfit(np.log(horizons), np.log(ours), 1)[0]
    assert static <= 0.55
    assert dynamic <= 0.78
    assert np.polyfit(np.log(horizons), np.log(tracker), 1)[0][0] >= 0.75


def test_anytime(hidden, switching):
    assert scaled(StaticDynamicBandit(2), hidden)[0] <= 1.2
    assert scaled(StaticDynamicBandit(5), switching)[1] <= 1.6


def test_stable_noise():
    means = np.tile([0.4, 0.5, 0.5, 0.5, 0.6], (T, 1))
    losses = make_bernoulli_bandit(means, random_state=0)
    assert scaled(StaticDynamicBandit(5, horizon=T), losses, means)[0] <= 1.2


@pytest.mark.parametrize(("gap", "seed"), [(None, 0), (0.3, 1)])
def test_switching_noise(gap, seed):
    means = make_switching_bandit(T, 5, 20, gap=gap, random_state=seed)
    losses = make_bernoulli_bandit(means, random_state=seed)
    auto = scaled(StaticDynamicBandit(5, horizon=T), losses, means)[1]
    assert auto <= 0.95 * scaled(FixedShareBandit(5, horizon=T, n_segments=20), losses, means)[1]
    assert auto <= 1.05 * scaled(SlidingWindowUCB(5, horizon=T, n_segments=20), losses, means)[1]
    assert scaled(TsallisINF(5), losses, means)[1] >= 5 * auto


def test_hidden_windows_in_noise(hidden):
    losses = make_bernoulli_bandit(hidden, random_state=0)
    assert scaled(StaticDynamicBandit(2, horizon=T), losses, hidden)[0] <= 0.5


def test_noise_is_never_seen_where_there_is_none(hidden, switching):
    matrices = [hidden, switching]
    matrices += [ORDINARY[k % 4](np.random.default_rng([0, k]), 20_000) for k in range(60)]
    for losses in matrices:
        n, A = losses.shape
        auto = StaticDynamicBandit(A, horizon=n, random_state=0).run(losses)
        exact = StaticDynamicBandit(A, horizon=n, feedback="exact", random_state=0).run(losses)
        np.testing.assert_array_equal(auto.arms, exact.arms)


def test_drift():
    losses = make_drifting_bandit(T, 5, 3)
    auto = regrets(StaticDynamicBandit(5, horizon=T), losses)[1]
    assert auto <= 0.12 * regrets(TsallisINF(5), losses)[1]
    assert auto <= regrets(FixedShareBandit(5, horizon=T, n_segments=20), losses)[1]


def test_model_selection_under_drift():
    X, y = load_digits(return_X_y=True)
    models = [
        *(KNeighborsClassifier(k) for k in (1, 5, 15)),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=4, random_state=0),
        DecisionTreeClassifier(random_state=0),
        *(SGDClassifier(alpha=alpha, random_state=0) for alpha in (1e-4, 0.1)),
    ]
    losses = make_model_selection_bandit(X, y, models, random_state=0)
    n, A = losses.shape
    static, dynamic = regrets(StaticDynamicBandit(A, horizon=n), losses)
    peers = [
        TsallisINF(A),
        UCB1(A, confidence=np.sqrt(0.5)),
        CorralBandit(A, horizon=n),
        FixedShareBandit(A, horizon=n),
    ]
    assert dynamic <= 0.75 * min(regrets(peer, losses)[1] for peer in peers)
    assert static <= 0.2 * np.sqrt(A * n)


def test_static_regret_on_fresh_families():
    found = []
    for k in range(40):
        losses = FRESH[k % 10](np.random.default_rng([9, k]), 20_000)
        found.append(scaled(StaticDynamicBandit(losses.shape[1]), losses, n_runs=3)[0])
    assert max(found) <= 2.5


@pytest.mark.parametrize("parameters", [{"horizon": 20_000}, {}, {"base": "exp3ix"}], ids=str)
def test_static_regret_on_fresh_noise(parameters):
    found = []
    for k in range(15):
        means, losses = NOISY[k % 5](np.random.default_rng([9, k]), 20_000)
        policy = StaticDynamicBandit(means.shape[1], **parameters)
        found.append(scaled(policy, losses, means, n_runs=3)[0])
    assert max(found) <= 3.0
