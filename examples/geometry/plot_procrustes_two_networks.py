"""
Two networks, one geometry
==========================

The same digits pass through two different random layers. Each gives its own coordinates, and nobody
kept the order of the rows. Up to noise the two clouds are one cloud in two frames: the alignment finds
which row is which, without a single pair given.
"""

# %%
# Accuracy over the width of the layers
# -------------------------------------
# Wider layers agree better. The dashed line is where the information of a pair reaches 2 log n, from
# which on the true rotation would give every row.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from skfrontier.algos import (
    eigen_directions,
    exact_assignment,
    information,
    matching_accuracy,
    procrustes_wasserstein,
    rigid_map,
)
from skfrontier.datasets import make_view_pair

digits, labels = load_digits(return_X_y=True)
digits, labels = digits[:250], labels[:250]
widths = [40, 80, 160, 320, 640]


def nearest_neighbours(views, n_rounds=30):
    """Iterated closest points from the axes of both clouds, signs unknown: the usual tool."""
    A, B = (Z - Z.mean(axis=0) for Z in (views.X, views.Y))
    moved = A @ eigen_directions(A)[1] @ eigen_directions(B)[1].T
    for _ in range(n_rounds):
        nearest = cdist(moved, B).argmin(axis=1)
        moved = rigid_map(A, B[nearest]).apply(A)
    return nearest


curves = {"directions": [], "paired rows (best possible map)": [], "ICP from the axes": []}
ratios = []
for width in widths:
    views = make_view_pair(digits, kind="rff", n_random_features=width, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = procrustes_wasserstein(
            views.X, views.Y, method="directions", n_candidates=1, random_state=0
        )
    paired = rigid_map(views.X, views.Y[views.assignment])
    known = exact_assignment(paired.apply(views.X), views.Y).assignment
    residual = paired.apply(views.X) - views.Y[views.assignment]
    lam = eigen_directions(views.X - views.X.mean(axis=0))[0]
    ratios.append(information(lam, residual.var()) / np.log(len(digits)))
    for name, assignment in zip(
        curves, (found.assignment, known, nearest_neighbours(views)), strict=True
    ):
        curves[name].append(matching_accuracy(assignment, views.assignment))

# %%
# The clouds, before and after
# ----------------------------

views = make_view_pair(digits, kind="rff", n_random_features=640, random_state=0)
found = procrustes_wasserstein(views.X, views.Y, random_state=0)
moved = views.X @ found.rotation.T + found.translation
plane = eigen_directions(views.Y - views.Y.mean(axis=0))[1][:, :2]
partner_labels = np.empty(len(labels), dtype=int)
partner_labels[views.assignment] = labels

figure, (before, after, right) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for axes, cloud, title in ((before, views.X, "as they come"), (after, moved, "aligned")):
    first = (cloud - cloud.mean(axis=0)) @ plane
    second = (views.Y - views.Y.mean(axis=0)) @ plane
    axes.scatter(*first.T, c=labels, cmap="tab10", s=14, label="first network")
    axes.scatter(
        *second.T,
        c=partner_labels,
        cmap="tab10",
        s=60,
        marker="s",
        alpha=0.25,
        label="second network",
    )
    axes.set(title=title, xticks=[], yticks=[])
    axes.legend(loc="upper right", fontsize=8)
for name, curve in curves.items():
    right.semilogx(widths, curve, "o-", label=name)
enough = np.interp(2.0, ratios, np.log(widths), left=np.nan, right=np.nan)
right.axvline(np.exp(enough), color="0.4", linestyle="--", label="information = 2 log n")
right.set(xlabel="features of each layer", ylabel="share of rows matched rightly")
right.legend(fontsize=8)
right.grid(alpha=0.3)
plt.show()
