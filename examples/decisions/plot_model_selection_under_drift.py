"""
Choosing a model while the data drift
=====================================

Eight classifiers are kept warm; which of them is best changes with the noise of the data. In each
round one is tried, and only its validation error is seen. Which policy should choose?
"""

# %%
# The losses
# ----------
# Validation error of each configuration on the data of the current window, held for 500 rounds. The
# errors repeat exactly until the window rolls over.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skfrontier.algos import dynamic_regret, run_many
from skfrontier.datasets import make_model_selection_bandit
from skfrontier.estimators import (
    UCB1,
    CorralBandit,
    FixedShareBandit,
    SlidingWindowUCB,
    StaticDynamicBandit,
    TsallisINF,
)

X, y = load_digits(return_X_y=True)
models = {
    "1 neighbour": KNeighborsClassifier(1),
    "5 neighbours": KNeighborsClassifier(5),
    "15 neighbours": KNeighborsClassifier(15),
    "naive Bayes": GaussianNB(),
    "small tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "linear": SGDClassifier(alpha=1e-4, random_state=0),
    "linear, regularised": SGDClassifier(alpha=0.1, random_state=0),
}
losses = make_model_selection_bandit(X, y, models.values(), random_state=0)
T, n_models = losses.shape

# %%
# What the policy chose
# ---------------------
# The heat map shows the losses, the line the model that was tried most often in each tenth of a window.
policy = StaticDynamicBandit(n_models, horizon=T, random_state=0)
arms = policy.run(losses).arms
usual = [np.bincount(block).argmax() for block in arms.reshape(-1, 50)]
figure, axis = plt.subplots(figsize=(9, 4))
image = axis.imshow(losses[::500].T, aspect="auto", cmap="viridis", extent=(0, T, 7.5, -0.5))
axis.plot(np.arange(0, T, 50), usual, color="white", lw=0.7)
axis.set_yticks(range(n_models), models)
axis.set_xlabel("round")
figure.colorbar(image, label="validation error")
figure.tight_layout()

# %%
# Regret against other policies
# -----------------------------
policies = {
    "StaticDynamic": StaticDynamicBandit(n_models, horizon=T),
    "TsallisINF": TsallisINF(n_models),
    "UCB1": UCB1(n_models, confidence=0.5**0.5),
    "Corral": CorralBandit(n_models, horizon=T),
    "FixedShare": FixedShareBandit(n_models, horizon=T),
    "SlidingWindowUCB": SlidingWindowUCB(n_models, horizon=T),
}
regrets = run_many(policies, losses, n_repeats=3, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.5))
for name, unused in policies.items():
    played = type(unused)(**unused.get_params()).set_params(random_state=0).run(losses)
    axes[0].plot(dynamic_regret(played, losses, cumulative=True)[::50], label=name)
axes[0].set(xlabel="round / 50", ylabel="dynamic regret")
axes[0].legend(fontsize="small")
places = np.arange(len(policies))
for shift, kind in ((-0.2, "static"), (0.2, "dynamic")):
    axes[1].barh(places + shift, [r[kind].mean() for r in regrets.values()], 0.4, label=kind)
axes[1].set_yticks(places, policies)
axes[1].legend()
figure.tight_layout()

# %%
# The regrets as numbers:
for name, found in regrets.items():
    print(
        f"{name:18s} static {found['static'].mean():8.0f}  dynamic {found['dynamic'].mean():8.0f}"
    )
