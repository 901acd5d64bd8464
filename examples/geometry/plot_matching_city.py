"""
A ride-hailing desk
===================

Riders and free cars come and go. After every change we want the cheapest assignment of all riders, with
proof, and without solving it anew.
"""

# %%
# A day in a city
# ---------------
# Real trips where the file can be had: a drop-off leaves a free car, a pickup is a rider. Otherwise a
# generator with a dense centre and quarters that are busy at different hours. There are 5 % more cars.
import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from skfrontier.datasets import fetch_nyc_taxi, make_dynamic_matching
from skfrontier.estimators import DynamicMatching

n_riders, n_cars, n_changes = 400, 420, 150
try:
    trips = fetch_nyc_taxi(2000, download_if_missing=False)
    riders, cars = trips.pickup[:n_riders], trips.dropoff[:n_cars]
    new_riders = trips.pickup[n_riders : n_riders + n_changes]
    new_cars = trips.dropoff[n_cars : n_cars + n_changes]
    unit = "km"
except OSError as error:
    print(f"a generated city instead: {error}")
    riders, cars, ops = make_dynamic_matching(
        n_riders, n_cars, n_updates=2 * n_changes, model="city", random_state=0
    )
    new_riders, new_cars = (
        np.array([op.value for op in ops if op.kind == "insert" and op.side == side])
        for side in "ab"
    )
    unit = "city sides"

# %%
# Follow the changes
# ------------------
# Each step a rider and a car leave, and new ones come. The exact engine proves its answer; with at most four
# rows a search the answer is near, and the bound says how near.
DynamicMatching(method="anytime", max_scans=4).fit(riders[:20], cars[:20])  # kernels compile
exact = DynamicMatching(method="exact").fit(riders, cars)
quick = DynamicMatching(method="anytime", max_scans=4).fit(riders, cars)
costs, bounds, seconds = [], [], []
for step in range(n_changes):
    change = {
        "delete_a": [step], "delete_b": [step],
        "insert_a": new_riders[step : step + 1], "insert_b": new_cars[step : step + 1],
    }  # fmt: skip
    times = [time.perf_counter()]
    for model in (exact, quick):
        model.update(**change)
        times.append(time.perf_counter())
    matrix = cdist(exact.points("a"), exact.points("b"))
    linear_sum_assignment(matrix)
    times.append(time.perf_counter())
    seconds.append(np.diff(times))
    costs.append((exact.cost_, quick.cost_))
    bounds.append((exact.lower_bound_, quick.lower_bound_))
costs, bounds, seconds = np.array(costs), np.array(bounds), np.array(seconds)
medians = dict(zip(("exact", "anytime", "scipy"), np.median(seconds, axis=0), strict=True))
print({name: f"{1e3 * value:.2f} ms" for name, value in medians.items()})

# %%
# The matching, its cost between bounds, and the time
# ---------------------------------------------------
result = exact.query()
places = [dict(zip(exact.ids(s).tolist(), exact.points(s), strict=True)) for s in "ab"]
fig, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for a, b in zip(result.ids_a.tolist(), result.ids_b.tolist(), strict=True):
    left.plot(*np.array([places[0][a], places[1][b]]).T, color="0.6", lw=0.8, zorder=1)
left.scatter(*exact.points("b").T, s=9, color="C0", label="free cars", zorder=2)
left.scatter(*exact.points("a").T, s=9, color="C3", label="riders", zorder=3)
left.set(title="cheapest assignment", aspect="equal", xticks=[], yticks=[])
left.legend(loc="upper left")
middle.fill_between(
    range(n_changes), bounds[:, 1], costs[:, 1], alpha=0.3, label="anytime: certified range"
)
middle.plot(costs[:, 0], color="C3", label="exact")
middle.set(xlabel="changes", ylabel=f"total distance ({unit})", title="cost and bound")
middle.legend()
for column, label in enumerate(("exact", "anytime", "scipy, solved again")):
    right.semilogy(1e3 * seconds[:, column], label=label, lw=1)
right.set(xlabel="changes", ylabel="ms", title="time for a change")
right.legend()
