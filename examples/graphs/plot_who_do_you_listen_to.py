"""
Who do you listen to?
=====================

Traders on Bitcoin OTC rate each other from -10 to 10. A hundred of them are leaders whose standing is known.
Rows of the label propagation operator say which leaders decide the standing of the others, and how sure
that is.
"""

# %%
# The network
# -----------
# Ratings are summed both ways. The leaders are the hundred oldest traders (smallest numbers) that still
# have edges. Without the file a random network with good and bad traders stands in.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import RocCurveDisplay

from skfrontier.algos import leader_follower_equilibrium, symmetrize_signed
from skfrontier.datasets import (
    fetch_bitcoin_otc,
    fetch_highland_tribes,
    make_signed_communities,
)
from skfrontier.estimators import LabelPropagationOperator

try:
    ratings = fetch_bitcoin_otc(download_if_missing=False).adjacency
except OSError as error:
    print(error)
    ratings, _ = make_signed_communities(6_000, avg_degree=12, model="ba", random_state=0)
A = symmetrize_signed(ratings)
leaders = np.flatnonzero(np.diff(A.indptr) > 0)[:100]

# %%
# Three users and their leaders
# -----------------------------
# Bars are entries of the operator with 95 % intervals.
operator = LabelPropagationOperator(
    solver="multitree", tol=0.02, unreachable="zero", random_state=0
).fit(A, leaders)
others = np.setdiff1d(np.flatnonzero(operator.reachable_), leaders)
users = others[np.argsort(-np.diff(A.indptr)[others], kind="stable")[[50, 500, 1500]]]
who, _ = operator.top_leaders(users, k=8)
weight, (low, high) = operator.query(users[:, None], who, return_interval=True)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharex=True)
for axis, user, names, values, bottom, top in zip(axes, users, who, weight, low, high, strict=True):
    colors = np.where(values > 0, "tab:green", "tab:red")
    error = np.maximum([values - bottom, top - values], 0)
    axis.barh(np.arange(8), values, xerr=error, color=colors)
    axis.set_yticks(np.arange(8), [f"leader {name}" for name in names])
    axis.invert_yaxis()
    axis.set(title=f"user {user}", xlabel="contribution")
figure.tight_layout()

# %%
# Hidden standing
# ---------------
# A leader's standing is the sign of the ratings it receives. Spread over the network, it should rank the
# others by the ratings that they receive; each of those ratings is in the network too, but not their sum.
received = np.asarray(ratings.sum(axis=0)).ravel()
standing = np.where(received[leaders] >= 0, 1.0, -1.0)
x = operator.transform(standing)
rated = others[received[others] != 0]
display = RocCurveDisplay.from_predictions(received[rated] > 0, x[rated], name="others")
display.ax_.plot([0, 1], [0, 1], ":", color="gray")
display.ax_.set_title("good or bad standing, from a hundred leaders")

# %%
# Sixteen tribes come to rest
# ---------------------------
# Alliances (gray) and enmities (dashed) of highland tribes; triangles with an odd number of enmities are
# frustrated (red): their members cannot all be content. Two tribes hold on to +1 and -1, and the others
# take signed means again and again until they rest at ``Q y``.
try:
    T = fetch_highland_tribes(download_if_missing=False).adjacency.toarray()
except OSError as error:
    print(error)
    T = make_signed_communities(16, avg_degree=6, sign_noise=0.2, random_state=1)[0].toarray()
rest = leader_follower_equilibrium(T, [0, 5], [1.0, -1.0], unreachable="zero")
angle = np.linspace(0, 2 * np.pi, 16, endpoint=False)
place = np.column_stack([np.cos(angle), np.sin(angle)])
frustrated = [
    (i, j, k)
    for i in range(16)
    for j in range(i)
    for k in range(j)
    if T[i, j] * T[j, k] * T[i, k] < 0
]

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4))
values = np.zeros(16)
values[[0, 5]] = 1.0, -1.0
for axis, n_rounds in zip(axes, (0, 1, 4, 20), strict=True):
    for triangle in frustrated:
        axis.fill(*place[list(triangle)].T, color="red", alpha=0.06, linewidth=0)
    for i, j in np.argwhere(np.triu(T)):
        axis.plot(*place[[i, j]].T, "-" if T[i, j] > 0 else "--", color="gray", linewidth=0.7)
    x = values.copy()
    for _ in range(n_rounds):
        x = T @ x / np.maximum(np.abs(T).sum(axis=1), 1)
        x[[0, 5]] = 1.0, -1.0
    style = {"cmap": "coolwarm", "vmin": -1, "vmax": 1, "edgecolors": "black"}
    axis.scatter(*place.T, c=x, s=120, zorder=3, **style)
    axis.axis("off")
    axis.set_title(f"{n_rounds} rounds, {np.abs(x - rest).max():.3f} from rest")
figure.tight_layout()
