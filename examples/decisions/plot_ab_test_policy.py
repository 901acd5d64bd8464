"""
Which policy for my A/B test?
=============================

Five page variants, one shown per visitor, clicks are the reward. This page plays four situations and
says which policy to take, then shows how to run one live and keep it safe.
"""

# %%
# Four situations
# ---------------
# Click rates are stable; drift through the week; switch when campaigns start; or are stable with a
# variant that wins for short hours only.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from skfrontier.algos import replay_evaluate
from skfrontier.datasets import (
    make_bernoulli_bandit,
    make_drifting_bandit,
    make_hidden_window_bandit,
    make_switching_bandit,
)
from skfrontier.estimators import (
    UCB1,
    FixedShareBandit,
    SlidingWindowUCB,
    StaticDynamicBandit,
    ThompsonBeta,
    TsallisINF,
)

T, n_arms = 50_000, 5
situations = {
    "stable": np.tile([0.10, 0.11, 0.12, 0.13, 0.16], (T, 1)),
    "drifting": 0.3 * (1 - make_drifting_bandit(T, n_arms, n_cycles=4)),
    "campaigns": 0.3 * make_switching_bandit(T, n_arms, 12, random_state=0),
    "short hours": 0.3 * (1 - make_hidden_window_bandit(T, n_arms, window=60, random_state=0)),
}
policies = {
    "StaticDynamicBandit": StaticDynamicBandit(n_arms, maximize=True),
    "ThompsonBeta": ThompsonBeta(n_arms, maximize=True),
    "UCB1": UCB1(n_arms, confidence=0.5**0.5, maximize=True),
    "TsallisINF": TsallisINF(n_arms, maximize=True),
    "SlidingWindowUCB": SlidingWindowUCB(n_arms, horizon=T, maximize=True),
    "FixedShareBandit": FixedShareBandit(n_arms, horizon=T, maximize=True),
}

# %%
# Clicks lost
# -----------
# Expected clicks of always showing the best variant of the moment, minus those of the policy.
lost = np.empty((len(policies), len(situations)))
for s, rates in enumerate(situations.values()):
    clicks = make_bernoulli_bandit(rates, random_state=s)
    for p, policy in enumerate(policies.values()):
        runs = []
        for seed in range(3):
            copy = type(policy)(**policy.get_params()).set_params(random_state=seed)
            arms = copy.run(clicks).arms
            runs.append((rates.max(axis=1) - rates[np.arange(T), arms]).sum())
        lost[p, s] = np.mean(runs)

figure, axis = plt.subplots(figsize=(9, 3.5))
axis.imshow(lost / lost.min(axis=0), vmin=1, vmax=6, cmap="Reds", aspect="auto")
for (p, s), value in np.ndenumerate(lost):
    axis.text(s, p, f"{value:.0f}", ha="center", va="center")
axis.set_xticks(range(len(situations)), situations)
axis.set_yticks(range(len(policies)), policies)
axis.set_title("clicks lost (colour: relative to the best of the column)")
figure.tight_layout()

# %%
# - The rates do not change: ``ThompsonBeta``. If they do after all, it is among the worst.
# - Clicks are rare and independent, changes few: ``UCB1`` with a small confidence is hard to beat, because
#   the noise hides changes from everyone for long.
# - Changes are many or large and their number is known: ``SlidingWindowUCB`` with that ``n_segments``.
# - You do not know: ``StaticDynamicBandit`` needs neither horizon nor number of changes, is second here
#   wherever something changes, and the only one that keeps both regrets small where the feedback is exact
#   (see the other pages of this section).
# - An opponent chooses the rewards: ``TsallisINF``.

# %%
# A dry run on a log
# ------------------
# If an old test showed variants uniformly at random, its log estimates what a policy would have earned.
rng = np.random.default_rng(0)
shown = rng.integers(n_arms, size=20_000)
clicked = rng.random(20_000) < situations["campaigns"][:20_000][np.arange(20_000), shown]
estimate = replay_evaluate(policies["StaticDynamicBandit"], shown, clicked, random_state=0)
print(f"{estimate.value:.3f} +- {estimate.stderr:.3f} clicks per visitor")

# %%
# Live
# ----
# ``select`` returns the variant for the next visitor, ``update`` reports the click. A saved policy goes
# on exactly where it was, also between the two calls; files hold numbers and text only.
policy = StaticDynamicBandit(n_arms, maximize=True, random_state=0)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "policy.npz"
    for visitor in range(1000):
        variant = policy.select()
        if visitor == 500:
            policy.save(path)
            policy = StaticDynamicBandit.load(path)
        policy.update(variant, float(rng.random() < situations["stable"][0][variant]))
print(policy.counts_)
