"""
Chamfer distance of large clouds, with error bars
=================================================

Brute force compares every pair of points. The sampler looks at a few hundred points, chosen by how
much they could matter, and stops when a confidence sequence proves its relative error. Here is how
time grows with the number of points, and what the error bars are worth where a few far points
carry the sum.
"""

# %%
# Time over size
# --------------
# Clusters in 64 dimensions. Brute force and the tree are timed on a few queries and scaled: their
# cost is linear in the number of queries.

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

from skfrontier.algos import chamfer_distance, nearest_distances
from skfrontier.datasets import make_chamfer_pair
from skfrontier.estimators import ChamferDistance

N_TIMED = 200
N_FEATURES = 64


def seconds(work):
    """CPU seconds, the fewer of two runs: other programs on the machine do not count."""
    times = []
    for _ in range(2):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def time_all_methods(n):
    A, B = make_chamfer_pair("clusters", n=n, n_features=N_FEATURES, random_state=0)
    some, scale = A[:N_TIMED], n / N_TIMED
    brute, tree = ChamferDistance(method="brute").fit(B), cKDTree(B)
    return {
        "brute force": scale * seconds(lambda: brute.query(some)),
        "scipy cKDTree": scale * seconds(lambda: tree.query(some)),
        "sampler, ε = 0.02": seconds(
            lambda: chamfer_distance(A, B, method="sample", epsilon=0.02, random_state=0)
        ),
        "sampler, ε = 0.1": seconds(
            lambda: chamfer_distance(A, B, method="sample", epsilon=0.1, random_state=0)
        ),
    }


sizes = [1_000, 3_000, 10_000, 30_000, 100_000]
with threadpool_limits(1):  # one thread each
    times = [time_all_methods(n) for n in sizes]

# %%
# Error bars where it hurts
# -------------------------
# Nearly all points of A lie on top of a point of B; a few in ten thousand are far away and carry
# almost the whole sum. Subsampling 200 points blindly misses them most of the time, and does not
# know it.

A, B = make_chamfer_pair("outlier", n=20_000, n_features=N_FEATURES, random_state=0)
exact = chamfer_distance(A, B, epsilon=0, n_jobs=-1)
seeds = range(20)


def blind(seed, n_points=200):
    """Mean, and normal 95 % interval, of uniformly drawn points, in units of the exact value."""
    chosen = np.random.default_rng(seed).choice(len(A), n_points, replace=False)
    terms = len(A) / exact * nearest_distances(A[chosen], B)
    reach = 1.96 * terms.std(ddof=1) / np.sqrt(n_points)
    return terms.mean(), terms.mean() - reach, terms.mean() + reach


def certified(seed):
    """The sampler's value and 95 % interval, in units of the exact value."""
    _, info = chamfer_distance(A, B, method="sample", random_state=seed, return_info=True)
    return info.value / exact, info.ci_low / exact, info.ci_high / exact


intervals = {
    "200 uniform points": np.array([blind(seed) for seed in seeds]),
    "sampler, ε = 0.05": np.array([certified(seed) for seed in seeds]),
}
for name, (value, low, high) in ((name, rows.T) for name, rows in intervals.items()):
    covered = ((low <= 1 + 1e-9) & (high >= 1 - 1e-9)).mean()
    error = np.median(np.abs(value - 1))
    print(f"{name}: {covered:.0%} of the intervals cover the exact value, median error {error:.2%}")

# %%
# Both in one picture
# -------------------

COLOURS = {
    "brute force": "0.25",
    "scipy cKDTree": "tab:brown",
    "sampler, ε = 0.02": "tab:cyan",
    "sampler, ε = 0.1": "tab:blue",
    "200 uniform points": "tab:red",
    "sampler, ε = 0.05": "tab:blue",
}

SMALLEST = 0.03  # lower end of the right panel: some normal intervals reach below zero

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")

for name in times[0]:
    curve = [at_size[name] for at_size in times]
    left.loglog(sizes, curve, "o-", color=COLOURS[name], label=name)
slow, fast = times[-1]["brute force"], times[-1]["sampler, ε = 0.1"]
left.annotate(
    "",
    xy=(sizes[-1], fast),
    xytext=(sizes[-1], slow),
    arrowprops={"arrowstyle": "<->", "color": "0.5"},
)
left.text(
    0.9 * sizes[-1], np.sqrt(slow * fast), f"{slow / fast:.0f} times", ha="right", va="center"
)
left.set(
    xlabel="points in each cloud", ylabel="CPU seconds", title=f"Time, {N_FEATURES} dimensions"
)
left.margins(y=0.12)
left.legend()
left.grid(alpha=0.3)

for offset, (name, rows) in zip((-0.18, 0.18), intervals.items(), strict=True):
    value, low, high = np.maximum(rows.T, SMALLEST)
    right.errorbar(
        np.array(seeds) + offset,
        value,
        yerr=[value - low, high - value],
        fmt="o",
        markersize=4,
        capsize=2,
        color=COLOURS[name],
        label=name,
    )
right.axhline(1, color="0.25", linewidth=1, linestyle="--", zorder=0)
right.set(
    xlabel="seed",
    ylabel="estimate / exact value",
    title="95 % intervals, few far points",
    xticks=list(seeds)[::5],
    yscale="log",
    ylim=(SMALLEST, 30),
)
right.legend(loc="upper right")
right.grid(alpha=0.3)
plt.show()
