"""
A school day in clusters
========================

242 people in a primary school wore badges that noted who stood face to face with whom. The contacts
come in as a stream; after every chunk we want the groups of now, without clustering everything anew.
"""

# %%
# The stream
# ----------
# Real contacts where the file can be had, else a graph with planted classes.
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from skfrontier.algos import EdgeList
from skfrontier.datasets import fetch_primary_school, make_sbm_edges
from skfrontier.estimators import DynamicSpectralClustering

try:
    school = fetch_primary_school()
    edges, truth = school.edges, school.labels.copy()
    truth[np.array(school.classes)[truth] == "Teachers"] = -1
    title = "primary school"
except OSError as error:
    print(f"planted classes instead: {error}")
    rng = np.random.default_rng(0)
    edges = rng.permutation(np.tile(make_sbm_edges([23] * 10, 0.5, 0.02, rng), (20, 1)))
    truth = np.repeat(np.arange(10), 23)
    title = "planted classes"

n, start = len(truth), len(edges) // 5
pupils = truth >= 0
chunks = np.array_split(edges[start:], 60)

# %%
# Follow it, and refit beside it
# ------------------------------
model = DynamicSpectralClustering(n_clusters=10, min_budget=16, random_state=0)
model.fit(EdgeList(edges[:start], n_vertices=n))
plain = DynamicSpectralClustering(n_clusters=10, depth=1, refine_rate=None, random_state=0)
plain.fit(EdgeList(edges[:start], n_vertices=n))  # a warm-up: kernels compile

labels, scores, seconds, levels = [], [], [], []
seen = start
for chunk in chunks:
    seen += len(chunk)
    begin = time.perf_counter()
    labels.append(model.partial_fit(chunk).query())
    middle = time.perf_counter()
    refit = plain.fit(EdgeList(edges[:seen], n_vertices=n)).labels_
    seconds.append((middle - begin, time.perf_counter() - middle))
    levels.append(model.last_query_["level"])
    scores.append([adjusted_rand_score(truth[pupils], a[pupils]) for a in (labels[-1], refit)])
scores, seconds, levels = np.array(scores), np.array(seconds), np.array(levels)

# %%
# Who is with whom
# ----------------
# One row a person, sorted by class; one column a chunk; the colour is the label, which stays with its
# cluster from query to query. Below, the agreement with the classes and the time of an answer.
order = np.argsort(truth, kind="stable")
figure, (heat, agreement, cost) = plt.subplots(
    3, 1, figsize=(9, 9), height_ratios=(3, 1, 1), sharex=True, layout="constrained"
)
heat.imshow(np.array(labels).T[order], aspect="auto", cmap="tab20", interpolation="nearest")
heat.set(title=f"{title}: clusters of the moment", ylabel="people, by class")
agreement.plot(scores[:, 0], label="dynamic")
agreement.plot(scores[:, 1], "--", label="full spectral clustering, each time")
agreement.set(ylabel="adjusted Rand index")
agreement.legend()
cost.semilogy(1e3 * seconds[:, 0], label="update and query")
cost.semilogy(1e3 * seconds[:, 1], "--", label="full, each time")
for level, marker in ((0, "v"), (1, "s")):
    at = np.flatnonzero(levels == level)
    cost.plot(at, 1e3 * seconds[at, 0], marker, label=f"answered on level {level}")
cost.set(xlabel="chunk of contacts", ylabel="milliseconds")
cost.legend(ncols=2, fontsize=8)
plt.show()

# %%
# The last answer, and how far to trust it: conductances are exact, in the whole graph.
print(f"agreement at the end {scores[-1, 0]:.3f}, of full clustering {scores[-1, 1]:.3f}")
print(
    f"mean over the stream {scores[:, 0].mean():.3f}, of full clustering {scores[:, 1].mean():.3f}"
)
print(f"{np.sum(levels == 0)} of {len(levels)} answers needed the whole graph")
print("conductances", model.conductances_.round(3))
