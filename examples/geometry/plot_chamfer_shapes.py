"""
Finding similar shapes, and seeing a distribution drift
=======================================================

The Chamfer distance needs no correspondence between points and no equal numbers of them. Two uses:
the nearest shapes to a query among three hundred, and how far the digits of one group of writers
are from those of another.
"""

# %%
# The five nearest shapes
# -----------------------
# Superquadrics of a hundred kinds, 512 noisy points each; the query is the spikiest of them. The
# search is exact, and yet looks at a part of the points only: lower bounds rule out most clouds
# early.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skfrontier.algos import chamfer_matrix, nearest_distances
from skfrontier.datasets import make_superquadrics
from skfrontier.estimators import ChamferNearestClouds

clouds, classes = make_superquadrics(300, n_points=512, n_classes=100, random_state=0)


def spikiness(cloud):
    lengths = np.linalg.norm(cloud - cloud.mean(axis=0), axis=1)
    return lengths.max() / np.median(lengths)


chosen = int(np.argmax([spikiness(cloud) for cloud in clouds]))
query, query_class = clouds[chosen], classes[chosen]
others = [cloud for i, cloud in enumerate(clouds) if i != chosen]
other_classes = np.delete(classes, chosen)

search = ChamferNearestClouds(n_neighbors=5, symmetric=True, random_state=0)
search.fit(others, other_classes)
distances, neighbours = search.kneighbors([query])
all_searches = sum(len(query) + len(cloud) for cloud in others)
print(f"{search.n_searches_[0] / all_searches:.0%} of the work of comparing with every cloud")

# %%
# Each neighbour is coloured by how far its points are from the query.

figure = plt.figure(figsize=(11, 7.2))
shown = [query, *(others[i] for i in neighbours[0])]
colours = [nearest_distances(cloud, query) for cloud in shown]
largest = max(colour.max() for colour in colours)
titles = ["query"] + [
    f"neighbour {rank}, at {distance:.3f}\n{'the same' if kind == query_class else 'another'} kind"
    for rank, distance, kind in zip(
        range(1, 6), distances[0], other_classes[neighbours[0]], strict=True
    )
]
for column, (cloud, colour, title) in enumerate(zip(shown, colours, titles, strict=True)):
    axis = figure.add_subplot(2, 3, column + 1, projection="3d")
    points = axis.scatter(*cloud.T, c=colour, s=9, cmap="viridis", vmin=0, vmax=largest)
    axis.set(title=title)
    axis.set_aspect("equal")
    axis.set_axis_off()
figure.subplots_adjust(left=0, right=0.88, bottom=0, top=0.93, wspace=0, hspace=0.1)
scale = figure.add_axes((0.9, 0.2, 0.015, 0.6))
figure.colorbar(points, cax=scale, label="distance to the nearest point of the query")
plt.show()

# %%
# Digits of other writers
# -----------------------
# Row i, column j: how far the digits i of the later writers are from the digits j of the earlier
# ones, as clouds of images in 64 dimensions. A class close to its own past has a dark diagonal.

images, labels = load_digits(return_X_y=True)
earlier = [images[:900][labels[:900] == digit] for digit in range(10)]
later = [images[900:][labels[900:] == digit] for digit in range(10)]

figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
for axis, p in zip(axes, (1.0, 1.5, 2.0), strict=True):
    matrix = chamfer_matrix(later, earlier, p=p)
    relative = matrix / np.median(matrix)
    picture = axis.imshow(relative, cmap="magma", vmin=0.5, vmax=1.3)
    recognised = (matrix.argmin(axis=1) == np.arange(10)).sum()
    axis.set(
        title=f"p = {p:g}: {recognised} of 10 nearest to their own",
        xlabel="earlier digits",
        xticks=range(10),
        yticks=range(10),
    )
axes[0].set_ylabel("later digits")
figure.colorbar(picture, ax=axes, shrink=0.8, label="distance / median")
plt.show()
