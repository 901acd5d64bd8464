"""
Depth sets the price
====================

With d levels a query costs about :math:`n^{1/d}` and an update O(d). Ten vertices join between two
queries of a graph that has eight clusters; we count what the queries read, and time both.
"""

# %%
# Follow a growing graph for one cycle
# ------------------------------------
# As many queries as it takes for the graph itself to be clustered again.
import time

import matplotlib.pyplot as plt
import numpy as np

from skfrontier.datasets import make_evolving_sbm
from skfrontier.estimators import DynamicSpectralClustering

sizes, depths, born = (1_000, 4_000, 16_000), (1, 2, 3, 4), 10
work = np.empty((len(depths), len(sizes)))
query_seconds, update_seconds = np.empty_like(work), np.empty_like(work)


def follow(n, depth):
    """Nodes and entries, seconds a query, and seconds an edge, in the mean over two cycles."""
    budget = max(8, int(n ** (1 - 1 / depth)))
    n_steps = 2 * -(-(budget + 1) // born) if depth > 1 else 4
    stream = make_evolving_sbm(
        n // 8, 8, scenario="grow", n_steps=n_steps, n_changed=born, degree_in=14, random_state=0
    )
    model = DynamicSpectralClustering(
        n_clusters=8, depth=depth, micro_clusters=2, min_budget=8, random_state=0
    ).fit(stream.adjacency)
    read, query, update, n_edges = [], 0.0, 0.0, 0
    for edges, _ in stream:
        begin = time.process_time()
        model.partial_fit(edges)
        middle = time.process_time()
        model.query(range(5))
        query += time.process_time() - middle
        update += middle - begin
        n_edges += len(edges)
        read.append(model.last_query_["n_nodes"] + model.last_query_["n_entries"])
    return np.mean(read), query / n_steps, update / n_edges


follow(1_000, 2)  # a warm-up: kernels compile
for i, depth in enumerate(depths):
    for j, n in enumerate(sizes):
        work[i, j], query_seconds[i, j], update_seconds[i, j] = follow(n, depth)

# %%
# Slopes
# ------
figure, (read_axis, time_axis, update_axis) = plt.subplots(
    1, 3, figsize=(13, 4), layout="constrained"
)
for i, depth in enumerate(depths):
    slope = np.polyfit(np.log(sizes), np.log(work[i]), 1)[0]
    line = read_axis.loglog(sizes, work[i], "o-", label=f"d = {depth}: slope {slope:.2f}")[0]
    ideal = work[i, -1] * (np.array(sizes) / sizes[-1]) ** (1 / depth)
    read_axis.loglog(sizes, ideal, ":", color=line.get_color())
    time_axis.loglog(sizes, 1e3 * query_seconds[i], "o-", label=f"d = {depth}")
read_axis.set(xlabel="vertices", title="nodes and entries read a query (dotted: slope 1/d)")
time_axis.set(xlabel="vertices", title="milliseconds a query, rebuilding included")
update_axis.plot(depths, 1e6 * update_seconds[:, -1], "o-")
update_axis.set(
    xlabel="depth", xticks=depths, ylim=(0, None), title="microseconds an inserted edge, with votes"
)
for axis in (read_axis, time_axis):
    axis.legend()
    axis.grid(alpha=0.3, which="both")
plt.show()
