"""
How many hares?
===============

68 snowshoe hares were caught at least once on six trapping occasions. Those that were never caught are
missing, so the mean of a column is no capture probability. Inside the set of histories with a catch, the
flips of single bits tell the probabilities, and with them how many hares there were.
"""

# %%
# Capture frequencies
# -------------------
# Most hares were caught once or twice. The bar at zero is what we want to know.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from skfrontier.datasets import load_hares
from skfrontier.estimators import TruncatedBooleanProduct

X = load_hares()
caught = np.bincount(X.sum(axis=1), minlength=7)
likelihood = TruncatedBooleanProduct("nonempty", method="mle", smoothing=0).fit(X)
estimate, stderr = likelihood.population_size()

fig, ax = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
ax.bar(range(1, 7), caught[1:], color="tab:blue", label="seen")
ax.bar(0, estimate - len(X), color="tab:orange", label="estimated, never seen")
ax.errorbar(0, estimate - len(X), yerr=1.96 * stderr, color="black", capsize=4)
ax.set(xlabel="times caught", ylabel="hares")
ax.legend()
plt.show()

# %%
# Capture probabilities
# ---------------------
# The column means are too high on every occasion. The flips use only hares that would have been seen
# without the catch in question; the maximum likelihood uses all of the information.
fits = {
    "column means": TruncatedBooleanProduct("nonempty", method="naive").fit(X),
    "flips": TruncatedBooleanProduct("nonempty", moves="flips").fit(X),
    "maximum likelihood": likelihood,
}
fig, ax = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
for k, (name, model) in enumerate(fits.items()):
    low, high = expit(model.conf_int()).T
    p = model.probabilities_
    ax.errorbar(
        np.arange(1, 7) + (k - 1) * 0.15, p, [p - low, high - p], fmt="o", capsize=3, label=name
    )
ax.set(xlabel="occasion", ylabel="probability of a catch")
ax.legend()
plt.show()

# %%
# The population
# --------------
# The number seen, divided by the probability of being seen.
for name in ("flips", "maximum likelihood"):
    size, error = fits[name].population_size()
    print(f"{name:<20}{size:6.1f} +- {1.96 * error:.1f} hares ({len(X)} were seen)")

# %%
# Can we believe it?
# ------------------
# The estimate supposes that hares are alike and that catches are independent. The test of fit asks whether
# a hare that was caught often on the other occasions is also caught more often on this one.
statistic, pvalue = fits["flips"].gof_test(X)
print(f"statistic {statistic:.2f}, p = {pvalue:.2f}")

# %%
# A positive statistic with a small p-value would say that some hares are easier to catch than others. Then
# the ones never seen are more than estimated. With 68 hares the evidence is weak, and so is the assurance.
