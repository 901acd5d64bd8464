"""
A memory that changes its mind
==============================

Linear attention adds every value to its memory and can never take one back. The delta rule first looks up
what the key recalls already, and writes the difference: a fact that is told again, differently, replaces the
old one.
"""

import matplotlib.pyplot as plt
import numpy as np

from skfrontier.algos import delta_rule

# %%
# Forty facts, each a key and a value. Then half of them change, and at last all are asked for.

D, FACTS, CHANGED, MEMORIES = 64, 40, 20, 50
rng = np.random.default_rng(0)


def unit(*shape):
    x = rng.standard_normal(shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


keys, old = unit(MEMORIES, FACTS, D), unit(MEMORIES, FACTS, D)
new = unit(MEMORIES, CHANGED, D)
told = np.concatenate([keys, keys[:, :CHANGED]], axis=1)[:, :, None]
values = np.concatenate([old, new], axis=1)[:, :, None]
truth = np.concatenate([new, old[:, CHANGED:]], axis=1)

# %%
# Three memories of equal size read the same sequence. Plain linear attention is the sum of all k v^T. The
# gated memory decays a little before each token.


def recalled(state):
    """What the keys of all facts recall."""
    return keys @ state[:, 0]


strengths = np.ones(told.shape[:3])
plain = np.einsum("btk,btv->bkv", told[:, :, 0], values[:, :, 0])[:, None]
states = {
    "linear attention": plain,
    "delta rule": delta_rule(told, told, values, strengths).final_state,
    "gated delta rule": delta_rule(told, told, values, strengths, -0.01 * strengths).final_state,
}

# %%
# How near is what is recalled to the value of today, and to the one that was told first? The title counts how
# often the value of today is the nearest of all values that were ever told.

fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True)
bins = np.linspace(-0.5, 1.5, 61)
for ax, (name, state) in zip(axes, states.items(), strict=True):
    answers = recalled(state)
    today = (answers * truth).sum(-1)
    once = (answers[:, :CHANGED] * old[:, :CHANGED]).sum(-1)
    ax.hist(today.ravel(), bins, density=True, color="C0", alpha=0.7, label="value of today")
    ax.hist(
        once.ravel(), bins, density=True, color="C3", alpha=0.6, label="value that was replaced"
    )
    ever_told = np.concatenate([truth, old[:, :CHANGED]], axis=1)
    nearest = (answers @ ever_told.transpose(0, 2, 1)).argmax(-1)
    right = (nearest == np.arange(FACTS)).mean()
    ax.set(title=f"{name}\n{right:.0%} right", xlabel="inner product")
    print(
        f"{name:<17} value of today {today.mean():.2f} ± {today.std():.2f}, "
        f"replaced value {once.mean():.2f}"
    )
axes[0].legend(frameon=False, fontsize=8)
fig.tight_layout()

# %%
# How many facts fit? Orthogonal keys would allow as many as the memory has rows; random keys disturb each
# other, and the delta rule corrects what it can while it writes.

counts = (8, 16, 32, 48, 64, 96)
shares = {"linear attention": [], "delta rule": []}
for n in counts:
    k, v = unit(MEMORIES, n, D), unit(MEMORIES, n, D)
    written = delta_rule(k[:, :, None], k[:, :, None], v[:, :, None], np.ones((MEMORIES, n, 1)))
    for name, state in (
        ("linear attention", np.einsum("btk,btv->bkv", k, v)),
        ("delta rule", written.final_state[:, 0]),
    ):
        errors = np.linalg.norm(k @ state - v, axis=-1)
        shares[name].append(errors.mean())

fig, ax = plt.subplots(figsize=(5, 3.2))
for name, values_ in shares.items():
    ax.plot(counts, values_, "o-", label=name)
ax.axvline(D, color="0.7", lw=0.8)
ax.set(xlabel=f"facts in a memory of {D} rows", ylabel="mean error of recall", ylim=0)
ax.legend(frameon=False)
fig.tight_layout()
