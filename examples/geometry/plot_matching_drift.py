"""
Is my stream drifting?
======================

Images of the digits 5 to 9 come in, and at some time those of 0 to 4. A monitor keeps the Wasserstein
distance of the latest images to a reference, and tests block by block.
"""

# %%
# The stream
# ----------
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import ks_2samp
from sklearn.datasets import load_digits

from skfrontier.estimators import DynamicMatching, WassersteinDriftMonitor

X, y = load_digits(return_X_y=True)
X = X / 16
rng = np.random.default_rng(0)
old, new = rng.permutation(X[y >= 5]), rng.permutation(X[y < 5])
reference, change = old[:400], 400
stream = np.vstack([old[400 : 400 + change], new[:300]])

# %%
# Watch it
# --------
# The false-alarm rate of a block is ``alpha`` whatever the images look like, if they are exchangeable while
# nothing changes. Testing each pixel for itself needs a correction for 64 of them.
monitor = WassersteinDriftMonitor(window=100, alpha=0.01, n_permutations=99, random_state=0)
monitor.fit(reference)
alarms, thresholds = [], []
for t in range(0, len(stream), 100):
    monitor.partial_fit(stream[t : t + 100])
    thresholds.append(monitor.threshold_)
    if monitor.drift_detected_:
        alarms.append(t + 100)
per_pixel = [
    t + 100
    for t in range(0, len(stream), 100)
    if min(ks_2samp(reference[:, k], stream[t : t + 100, k]).pvalue for k in range(64)) <= 0.01 / 64
]
print(f"change after {change} rows; alarms at {alarms}; per pixel at {per_pixel}")

# %%
# A limit on the work of an update widens the range of the distance, and nothing else.
scans, gaps = (1, 2, 4, 8, 16, 32, 64), []
A, B = reference[:200], stream[:200]
for max_scans in scans:
    model = DynamicMatching(method="anytime", max_scans=max_scans).fit(A, B)
    for step in range(100):
        model.update(delete_b=[step], insert_b=stream[200 + step : 201 + step])
    gaps.append(max(model.gap_, 1e-12))

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
times, distances = np.array(monitor.history_).T
left.plot(times, distances, label="distance to the reference")
known = [(100 * (i + 1), value) for i, value in enumerate(thresholds) if value is not None]
left.plot(*np.array(known).T, "k_", ms=22, label="unusual from here (where it is known)")
left.axvline(change, color="0.5", ls=":", label="change")
for alarm in alarms:
    left.axvline(alarm, color="C3", lw=1, label="alarm" if alarm == alarms[0] else None)
left.set(xlabel="rows", ylabel="Wasserstein distance", title="digits 5-9, then 0-4")
left.legend()
right.semilogx(scans, gaps, "o-", base=2)
right.set(xlabel="rows a search may scan", ylabel="certified gap", title="anytime matching")
