"""
One policy for calm and storm
=============================

A cautious policy is right while nothing changes, a tracker when much does. Here both kinds of world
are played by a cautious policy (Tsallis-INF), a tracker (FixedShare, told the number of segments) and
:class:`~skfrontier.estimators.StaticDynamicBandit`, which is told nothing.
"""

# %%
# Two worlds
# ----------
# In the first, arm 0 is the best fixed arm and short windows hide in which the other arm is better.
# Looking for them costs more than they are worth: static regret punishes a tracker. In the second the
# losses switch between 20 segments: dynamic regret punishes whoever stays with one arm.
import matplotlib.pyplot as plt
import numpy as np

from skfrontier.algos import dynamic_regret, static_regret
from skfrontier.datasets import (
    WithdrawingAdversary,
    make_hidden_window_bandit,
    make_switching_bandit,
)
from skfrontier.estimators import FixedShareBandit, StaticDynamicBandit, TsallisINF

T = 100_000
worlds = {
    "hidden windows": (make_hidden_window_bandit(T, 2, window=8, random_state=0), 633),
    "switching": (make_switching_bandit(T, 5, 20, random_state=0), 20),
}

# %%
# Cumulative regret
# -----------------
# Left: against the best fixed arm. Right: against the best arm of every round. Each of the two
# specialists fails in one of the four panels; grey shows the epochs in which the policy tracked.
figure, axes = plt.subplots(2, 2, figsize=(10, 6), sharex=True)
for row, (name, (losses, n_segments)) in zip(axes, worlds.items(), strict=True):
    n_arms = losses.shape[1]
    policies = {
        "both": StaticDynamicBandit(n_arms, horizon=T, random_state=0),
        "cautious": TsallisINF(n_arms, random_state=0),
        "tracker": FixedShareBandit(n_arms, horizon=T, n_segments=n_segments, random_state=0),
    }
    for label, policy in policies.items():
        arms = policy.run(losses).arms
        row[0].plot(static_regret(arms, losses, cumulative=True)[::100], label=label)
        row[1].plot(dynamic_regret(arms, losses, cumulative=True)[::100], label=label)
    log = policies["both"].epoch_log_
    for start, tracked in zip(log["start"], log["tracked"], strict=True):
        if tracked:
            length = np.diff(log["start"][:2])[0]
            row[1].axvspan(start / 100, (start + length) / 100, color="0.93", lw=0)
    row[0].set_ylabel(name)
axes[0, 0].set_title("static regret")
axes[0, 1].set_title("dynamic regret")
axes[0, 0].legend()
for axis in axes[1]:
    axis.set_xlabel("round / 100")
figure.tight_layout()

# %%
# How it decides
# --------------
# The weight ``beta`` of dynamic regret follows what tracking gained. It falls where tracking does not
# pay and rises where it does.
figure, axis = plt.subplots(figsize=(7, 3))
for name, (losses, _) in worlds.items():
    policy = StaticDynamicBandit(losses.shape[1], horizon=T, random_state=0)
    policy.run(losses)
    axis.plot(policy.epoch_log_["start"], policy.epoch_log_["beta"], label=name)
axis.set(xlabel="round", ylabel="beta", ylim=(0, 1))
axis.legend()
figure.tight_layout()

# %%
# What no policy can do
# ---------------------
# An adversary that reacts to the arms played can take a bargain away as soon as it is found. Against
# it static and dynamic regret cannot both be small; against the same windows left alone they can.
segments = [50, 100, 200, 400]
n_rounds = 20_000
regrets = {"reacting": [], "oblivious": []}
for S in segments:
    adversary = WithdrawingAdversary(n_rounds, S, random_state=0)
    policy = StaticDynamicBandit(2, horizon=n_rounds, n_segments=S, random_state=0)
    seen = np.empty((n_rounds, 2))
    arms = np.empty(n_rounds, dtype=int)
    for t in range(n_rounds):
        seen[t] = adversary.loss_vector(t)
        arms[t] = policy.select()
        policy.update(int(arms[t]), float(seen[t, arms[t]]))
        adversary.observe(t, arms[t])
    regrets["reacting"].append((static_regret(arms, seen), dynamic_regret(arms, seen)))
    losses = adversary.oblivious_losses()
    arms = StaticDynamicBandit(2, horizon=n_rounds, n_segments=S, random_state=0).run(losses).arms
    regrets["oblivious"].append((static_regret(arms, losses), dynamic_regret(arms, losses)))

figure, axes = plt.subplots(1, 2, figsize=(9, 3))
for kind, values in regrets.items():
    static, dynamic = np.array(values).T
    axes[0].semilogx(segments, static / np.sqrt(n_rounds), "o-", label=kind)
    axes[1].semilogx(segments, dynamic / np.sqrt(np.multiply(segments, n_rounds)), "o-", label=kind)
axes[0].set(xlabel="segments S", ylabel="static regret / sqrt(T)")
axes[1].set(xlabel="segments S", ylabel="dynamic regret / sqrt(S T)")
axes[0].legend()
figure.tight_layout()
