"""
Ballots with a limit
====================

Voters may approve at most 16 candidates, and at least one. Who would approve more is cut off, so the share
of ballots that name a candidate is not how popular the candidate is. The ballots are the vectors with 1 to 16
ones; a candidate's popularity is the probability of an approval *before* the limit.

The data are the nominations of validators on the Polkadot network (PrefLib 00060), where an earlier call of
``fetch_preflib_nominations(2429)`` has downloaded them; otherwise ballots drawn from a model of that shape.
"""

# %%
# The ballots
# -----------
# The limit is felt: one ballot in a few is full.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from skfrontier.algos import Cardinality
from skfrontier.datasets import fetch_preflib_nominations, make_truncated_boolean
from skfrontier.estimators import TruncatedBooleanProduct

limit = Cardinality(min=1, max=16)
try:
    data = fetch_preflib_nominations(2429, download_if_missing=False)
    ballots, counts, source = data["ballots"], data["counts"], data["title"]
except OSError:
    z = np.random.default_rng(0).normal(-4.5, 1.2, 921)
    ballots = make_truncated_boolean(18_000, 921, truncation=limit, z=z, random_state=0)
    counts, source = np.ones(len(ballots), dtype=int), "drawn from a model"

lengths = np.asarray(ballots.sum(axis=1, dtype=np.int64)).ravel()
fig, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.bar(np.arange(1, 17), np.bincount(lengths, counts, minlength=17)[1:17])
ax.set(
    xlabel="approvals on the ballot", ylabel="ballots", title=f"{counts.sum()} ballots, {source}"
)
plt.show()

# %%
# Popularity before the limit
# ---------------------------
# A full ballot cannot gain an approval: in it the missing ones say nothing, and they are not counted.
model = TruncatedBooleanProduct(limit, covariance="diagonal", random_state=0)
model.fit(ballots, sample_weight=counts)
naive = TruncatedBooleanProduct(limit, method="naive").fit(ballots, sample_weight=counts)

low, high = expit(model.conf_int()).T
fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
p = model.probabilities_
ax.errorbar(naive.probabilities_, p, [p - low, high - p], fmt=".", elinewidth=0.6)
ax.axline((0.01, 0.01), (0.02, 0.02), color="black", lw=0.8)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="share of the ballots",
    ylabel="probability before the limit",
)
plt.show()
print(f"method: {model.moves_}, share of the information used: at least {model.efficiency_:.2f}")
print(f"smallest influence: {model.influence_.min():.2f}")

# %%
# Do voters choose independently?
# -------------------------------
# The model says that approvals are independent before the limit, and on ballots drawn from it the test finds
# nothing. A large positive statistic says that some voters approve many candidates and others few: the
# popularity is then that of an average voter, and its standard errors are too short.
statistic, pvalue = model.gof_test(ballots, sample_weight=counts)
print(f"statistic {statistic:.1f}, p = {pvalue:.2g}")
