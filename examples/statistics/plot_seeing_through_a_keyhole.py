"""
Seeing through a keyhole
========================

400 bits, of which only rows with at least 370 ones were recorded: a set of probability 1e-79. The logits of
the bits are recovered all the same, because a row that may lose or gain a bit tells about that bit as a
coin would, however rare the set is.
"""

# %%
# What the column means say, and what the flips say
# -------------------------------------------------
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfrontier.algos import Cardinality
from skfrontier.datasets import make_truncated_boolean
from skfrontier.estimators import NotIdentifiedWarning, TruncatedBooleanProduct

S = Cardinality(min=370)
X, z, info = make_truncated_boolean(20_000, 400, truncation=S, random_state=3, return_params=True)
model = TruncatedBooleanProduct(S).fit(X)
naive = TruncatedBooleanProduct(S, method="naive").fit(X)
print(f"probability of the set: 10^{info['log_mass'] / np.log(10):.0f}")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # the draws are spent before a step is made
    sgd = TruncatedBooleanProduct(
        S, method="sgd", sgd_params={"max_draws": 200_000}, random_state=0
    ).fit(X)

fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
ax.plot(z, naive.natural_parameters_, ".", color="tab:red", label="column means")
ax.plot(z, sgd.natural_parameters_, "x", ms=4, color="tab:orange", label="SGD, out of draws")
ax.plot(z, model.natural_parameters_, ".", color="tab:blue", label="conditional")
ax.axline((0, 0), slope=1, color="black", lw=0.8)
ax.set(xlabel="true logit", ylabel="estimate")
ax.legend()
plt.show()

# %%
# More rows, smaller error
# ------------------------
# The error falls with the square root of the number of rows, as it does without truncation.
sizes = np.array([500, 1000, 2000, 5000, 10_000, 20_000])
errors = []
for N in sizes:
    part = TruncatedBooleanProduct(S, covariance="diagonal").fit(X[:N])
    errors.append(np.sqrt(np.mean((part.natural_parameters_ - z) ** 2)))

fig, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
ax.loglog(sizes, errors, "o-", label="root mean square error")
ax.loglog(sizes, errors[-1] * np.sqrt(sizes[-1] / sizes), "--", color="grey", label="slope -1/2")
ax.set(xlabel="rows", ylabel="logits")
ax.legend()
plt.show()

# %%
# What a row is worth
# -------------------
# The share of rows in which a bit can be flipped, its influence, says how many untruncated rows the data are
# worth for that bit. A fixed number of ones leaves no flips at all, but swaps: the logits are then known
# up to a constant, and the estimator says so.
slice_ = Cardinality([20])
Y, w, _ = make_truncated_boolean(5000, 100, truncation=slice_, random_state=0, return_params=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", NotIdentifiedWarning)
    swaps = TruncatedBooleanProduct(slice_, random_state=0).fit(Y)
print(caught[0].message)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(model.influence_, model.n_effective_, ".")
left.set(
    xlabel="influence", ylabel="effective number of rows", title=f"{len(X)} rows, at least 370 ones"
)
right.plot(w, swaps.natural_parameters_, ".", label="estimate")
right.axline((w.mean(), 0), slope=1, color="black", lw=0.8, label="truth minus its mean")
right.plot(
    w, 10 * swaps.null_space_[:, 0], "|", color="tab:red", label="10 x unidentified direction"
)
right.set(xlabel="true logit", title="exactly 20 of 100 ones")
right.legend()
plt.show()
