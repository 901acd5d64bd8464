"""
Registering a cortex without landmarks
======================================

The white and the pial surface of a brain are two shapes of one sheet: every vertex of one has a partner
on the other. Turned, shifted and shuffled, they are put back together without any landmark. Beside it: where
recovery is possible at all, over the spectrum of a cloud and its noise.
"""

# %%
# Two surfaces
# ------------
# FreeSurfer's fsaverage5 comes with the package nilearn. Where that is not installed, an ellipsoid with a
# dent stands in.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skfrontier.algos import information, procrustes_wasserstein, rotation_error_degrees
from skfrontier.datasets import load_cortex_pair, make_procrustes_wasserstein, make_shape_pair

rng = np.random.default_rng(0)
try:
    surfaces = load_cortex_pair("white", "pial")
    chosen = rng.permutation(len(surfaces.X))[:1500]
    X = surfaces.X[chosen]
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    partner = rng.permutation(len(X))
    Y = np.empty_like(X)
    Y[partner] = surfaces.Y[chosen] @ rotation.T + [40, -20, 60]
    title = "white and pial surface"
except ImportError:
    shapes = make_shape_pair("dented_ellipsoid", 1500, random_state=0)
    X, Y, partner, rotation = shapes.X, shapes.Y, shapes.assignment, shapes.rotation
    title = "dented ellipsoid (nilearn is not installed)"

result = procrustes_wasserstein(X, Y, random_state=0)
moved = X @ result.rotation.T + result.translation
residual = np.linalg.norm(moved - Y[result.assignment], axis=1)
error = rotation_error_degrees(result.rotation, rotation)
print(
    f"rotation error {error:.2f} degrees, {(result.assignment == partner).mean():.1%} of rows right"
)

# %%
# Where recovery is possible
# --------------------------
# Share of exact recoveries over the exponent of the spectrum and the noise. Above the solid line the
# information of a row falls below 2 log n, and even the true rotation fails.

n, d, seeds = 80, 12, range(2)
exponents, noises = np.linspace(0, 2, 5), np.geomspace(0.03, 0.6, 6)
exact = np.zeros((len(noises), len(exponents)))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for i, noise in enumerate(noises):
        for j, exponent in enumerate(exponents):
            for seed in seeds:
                data = make_procrustes_wasserstein(
                    n, d, spectrum_exponent=exponent, noise=noise, random_state=seed
                )
                found = procrustes_wasserstein(
                    data.X, data.Y, method="directions", n_candidates=1, random_state=0
                )
                exact[i, j] += (found.assignment == data.assignment).all() / len(seeds)
ratio = [
    [information(np.arange(1.0, d + 1) ** -a, s**2) / np.log(n) for a in exponents] for s in noises
]

# %%
# Both in one picture
# -------------------

figure = plt.figure(figsize=(13, 4.4), layout="constrained")
before = figure.add_subplot(131, projection="3d")
after = figure.add_subplot(132, projection="3d")
before.scatter(*X.T, s=2, color="tab:blue", label="first")
before.scatter(*Y.T, s=2, color="tab:orange", label="second")
before.set_title(f"{title}, as they come")
before.legend(markerscale=4)
points = after.scatter(*moved.T, s=3, c=residual, cmap="viridis")
after.set_title(f"aligned: {error:.2f} degrees off")
figure.colorbar(points, ax=after, shrink=0.6, label="distance to the partner")
for axes in (before, after):
    axes.set_axis_off()
    axes.set_box_aspect(np.ptp(X, axis=0) if axes is after else None)
phase = figure.add_subplot(133)
shown = phase.pcolormesh(exponents, noises, exact, cmap="Blues", vmin=0, vmax=1, shading="nearest")
phase.contour(exponents, noises, ratio, levels=[2], colors="tab:red")
phase.plot([], [], color="tab:red", label="information = 2 log n")
phase.set(yscale="log", xlabel="exponent of the spectrum", ylabel="noise", title="exact recoveries")
phase.legend(loc="lower left")
figure.colorbar(shown, ax=phase, label="share")
plt.show()
