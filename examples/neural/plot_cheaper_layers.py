"""
Cheaper layers, same outputs
============================

A layer Y = X W is made cheaper by a static part of low rank, and by a correction of its output that is
computed from the rows at hand. How much does the correction help? That depends on where the rows come from.

The rows are patches of the two photographs that come with scikit-learn, in windows of 196; each window
is a group. The layer is one of random features, a stand-in for the first layer of a network.
"""

# %%
# Without Pillow, which reads the photographs, groups near subspaces of their own take their place.

import importlib.util

import matplotlib.pyplot as plt
import numpy as np

from skfrontier.datasets import load_photo_patches, make_group_subspace
from skfrontier.estimators import OutputResidualApproximator

if importlib.util.find_spec("PIL"):
    windows = load_photo_patches()
else:
    print("Pillow is missing: synthetic groups in place of photographs.")
    windows = make_group_subspace(30, 196, 192, 8, noise=0.1, random_state=0)
n_inputs = windows.shape[-1]
rng = np.random.default_rng(0)
directions = rng.normal(size=(n_inputs, 256))
features = np.maximum(windows @ directions / windows.std() / np.sqrt(n_inputs), 0)
W = rng.normal(size=(256, 256)) / 16
size = windows.shape[1]


def rows(groups):
    """Groups below each other."""
    return groups.reshape(-1, groups.shape[-1])


def relative_error(model, X):
    """True error of the output."""
    return np.linalg.norm(model.transform(X) - X @ W) / np.linalg.norm(X @ W)


# %%
# Calibrate on every other window of both photographs and try the rest; then calibrate on the first
# photograph only and try the second.

laws = {
    "same law": (rows(features[::2]), rows(features[1::2])),
    "shifted: the other photograph": (rows(features[:15:2]), rows(features[16::2])),
}
kinds = {
    "svd": {"structure": "svd", "dynamic_rank": 0},
    "whitened": {"structure": "whitened", "dynamic_rank": 0},
    "chosen split, hedge 0.1": {"structure": "whitened"},
    "chosen split, hedge 0": {"structure": "whitened", "hedge": 0.0},
}
budgets = [0.1, 0.15, 0.25, 0.4]
common = {"weight": W, "group_size": size, "n_probes": 16, "random_state": 0}
models = {}
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), sharey=True)
for axis, (law, (calibration, fresh)) in zip(axes, laws.items(), strict=True):
    for name, options in kinds.items():
        fitted = [
            OutputResidualApproximator(budget=b, **common, **options).fit(calibration)
            for b in budgets
        ]
        models[law, name] = fitted
        axis.plot(budgets, [relative_error(m, fresh) for m in fitted], "o-", label=name)
    axis.set(title=law, xlabel="share of the arithmetic", yscale="log")
axes[0].set_ylabel("relative error of the output")
axes[1].legend()
fig.tight_layout()

# %%
# The static part whitened by the calibration rows is hard to beat on rows like those. It is when the
# rows change that the correction earns what the hedge has paid for.
#
# At equal arithmetic
# -------------------
#
# Each error with the ranks that the layer has, and what its own probes say without looking at the true
# product.


def table(law, budget):
    """Every kind of layer at one budget."""
    print(f"{law}, budget {budget:g}")
    for name in kinds:
        model = models[law, name][budgets.index(budget)]
        true = relative_error(model, laws[law][1])
        print(
            f"  {name:<25} ranks {model.rank_:>2} + {model.dynamic_rank_:<2}  error {true:.4f}"
            f"  estimated {model.error_:.4f}  stored {stored(model):.2f}"
        )


def stored(model):
    """Numbers the layer keeps, over those of the dense weight."""
    count = model.factors_.left.size + model.factors_.right.size
    if model.dynamic_rank_:
        count += model.residual_.size + model.sketch_.size
    return count / W.size


for law in laws:
    table(law, 0.15)

# %%
# At equal memory
# ---------------
#
# The correction needs the residual weight, which is as large as the weight: it saves arithmetic, not
# storage. A static layer that may store as much has a rank at which nothing is lost to speak of, but
# then costs as much as the dense one. Where memory is what is short, take a static part and leave the
# correction.

law = "shifted: the other photograph"
calibration, fresh = laws[law]
corrected = models[law, "chosen split, hedge 0.1"][1]
for budget in (0.15, min(stored(corrected), 1.0)):
    static = OutputResidualApproximator(budget=budget, **common, **kinds["whitened"]).fit(
        calibration
    )
    print(
        f"whitened of rank {static.rank_:>3}: error {relative_error(static, fresh):.4f}, "
        f"multiply-adds {static.cost_ratio_:.2f}, stored {stored(static):.2f}"
    )
print(
    f"corrected, ranks {corrected.rank_} + {corrected.dynamic_rank_}: "
    f"error {relative_error(corrected, fresh):.4f}, "
    f"multiply-adds {corrected.cost_ratio_:.2f}, stored {stored(corrected):.2f}"
)

# %%
# Rank on demand
# --------------
#
# With ``dynamic_rank="adaptive"`` each group takes as many columns as its own probes ask for. The price
# then varies with the group, and rises where the static part no longer fits.

for law, (calibration, fresh) in laws.items():
    model = OutputResidualApproximator(budget=0.15, dynamic_rank="adaptive", **common).fit(
        calibration
    )
    error = relative_error(model, fresh)
    print(f"{law}: error {error:.4f} for {model.transform_cost_ratio_:.2f} of the arithmetic")
