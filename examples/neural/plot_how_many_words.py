"""
How many words at once?
=======================

A masked-diffusion model predicts all masked positions at once. How many of its predictions may be committed
together? Three rules answer from the sorted confidences alone; one of them proves its answer.
"""

# %%
# The profile of one step
# -----------------------
# Deficits are one minus the confidences. The certificate is the lower bound on the probability of the
# committed tokens less the upper bound on that of any others, and must stay positive.
import matplotlib.pyplot as plt
import numpy as np

from skfrontier.algos import (
    decode_masked,
    factor_commit,
    frechet_commit,
    threshold_commit,
    token_confidence,
)
from skfrontier.datasets import make_template_sequences

model = make_template_sequences(3, 64, 20, random_state=4)
with np.errstate(divide="ignore"):
    found = token_confidence(np.log(model.marginals([-1] * 64)))
d = np.sort(found.deficit)
n = np.arange(1, len(d) + 1)
certificate = 1 - np.cumsum(d) - d
factor = 1 - (n + 1) * d

fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.plot(n, d, ".", color="gray", label="sorted deficits")
ax.plot(n, certificate, label="certificate (Fréchet)")
ax.plot(n, factor, label="factor rule, 1 - (n + 1) d")
ax.axhline(0, color="black", lw=0.8)
ax.axhline(0.1, color="gray", ls=":", label="threshold 0.9")
for name, result in (
    ("Fréchet", frechet_commit(deficits=found.deficit)),
    ("factor", factor_commit(deficits=found.deficit)),
    ("threshold", threshold_commit(deficits=found.deficit)),
):
    print(f"{name:<10} commits {result.n_commit:2d}, certified: {result.certified}")
ax.set(xlabel="positions committed", ylim=(-1, 1.05), xlim=(0, 40))
ax.legend()
plt.show()

# %%
# Speed against exactness
# -----------------------
# Whole decodes of many models. Exact means: the same tokens as one position at a time in the same order.


def one_at_a_time(model, order):
    x = np.full(len(order), -1)
    for j in order:
        x[j] = model.marginals(x)[j].argmax()
    return x


models = [make_template_sequences(3, 64, 20, random_state=seed) for seed in range(12)]
rules = [("top_k", {"k": k}, f"top {k}") for k in (1, 8, 16)]
rules += [("threshold", {"threshold": t}, f"threshold {t}") for t in (0.9, 0.6, 0.5)]
rules += [("factor", {}, "factor"), ("frechet", {}, "Fréchet")]
rules += [("frechet", {"runner_up": True}, "Fréchet, runners-up")]

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for rule, parameters, label in rules:
    results = [decode_masked(m.marginals, 64, rule=rule, rule_params=parameters) for m in models]
    speed = np.mean([64 / r.n_steps for r in results])
    pairs = zip(models, results, strict=True)
    exact = np.mean([(one_at_a_time(m, r.order) == r.tokens).all() for m, r in pairs])
    certified = all(r.all_certified for r in results)
    ax.plot(speed, exact, "o" if certified else "x", label=label)
ax.set(xlabel="tokens a step", ylabel="share of exact decodes", title="circles: always certified")
ax.legend(fontsize="small")
plt.show()
