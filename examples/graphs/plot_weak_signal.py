"""
Weak signal
===========

Near the threshold of detection a graph tells more with every edge. Contracted clusters would keep
their early mistakes; the votes of their neighbours move vertices while the graph gets denser.
"""

# %%
# A graph that gets denser
# ------------------------
# Four clusters of 1000, at first 6 edges inside and 4 outside for each vertex, in the end twice as many.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from skfrontier.algos import EdgeList
from skfrontier.datasets import make_sbm_edges
from skfrontier.estimators import DynamicSpectralClustering

truth, n_steps = np.repeat(np.arange(4), 1000), 12
settings = {
    "full spectral clustering": {"depth": 1, "refine_rate": None},
    "contracted": {"refine_rate": None},
    "contracted, with votes": {},
}


def follow(first, batches, parameters, seed):
    """Agreement after each batch."""
    model = DynamicSpectralClustering(n_clusters=4, random_state=seed, **parameters)
    model.fit(EdgeList(first, n_vertices=len(truth)))
    scores = [adjusted_rand_score(truth, model.labels_)]
    for batch in batches:
        scores.append(adjusted_rand_score(truth, model.partial_fit(batch).query()))
    return scores


curves = {name: [] for name in settings}
for seed in range(3):
    rng = np.random.default_rng(seed)
    first, second = (make_sbm_edges([1000] * 4, 6 / 999, 4 / 3000, rng) for _ in range(2))
    batches = np.array_split(rng.permutation(second), 4 * n_steps)
    for name, parameters in settings.items():
        curves[name].append(follow(first, batches, parameters, seed))

# %%
# From strong to weak
# -------------------
# The same at other shares of outside edges, up to the Kesten-Stigum limit
# :math:`d \mu_2^2 = 1`, beyond which no method can tell. Leiden, where it is installed, maximises
# modularity and chooses the number of clusters itself.
degree = 14
shares = np.linspace(0.1, 0.5, 5)


def leiden(edges):
    """Labels of maximal modularity; None where leidenalg is missing."""
    try:
        import igraph
        import leidenalg
    except ImportError:
        return None
    graph = igraph.Graph(len(truth), edges.tolist())
    found = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=0)
    return np.array(found.membership)


rows = {"full spectral clustering": [], "contracted, with votes": [], "leidenalg": []}
for share in shares:
    rng = np.random.default_rng(0)
    p_in, p_out = degree * (1 - share) / 999, degree * share / 3000
    edges = rng.permutation(make_sbm_edges([1000] * 4, p_in, p_out, rng))
    half = len(edges) // 2
    batches = np.array_split(edges[half:], 24)
    for name in list(rows)[:2]:
        parameters = settings[name]
        stream = batches if name != "full spectral clustering" else [edges[half:]]
        rows[name].append(follow(edges[:half], stream, parameters, 0)[-1])
    found = leiden(edges)
    rows["leidenalg"].append(np.nan if found is None else adjusted_rand_score(truth, found))

figure, (growing, mixing) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for name, runs in curves.items():
    growing.plot(10 + 10 * np.linspace(0, 1, 4 * n_steps + 1), np.mean(runs, axis=0), label=name)
growing.set(xlabel="mean degree", ylabel="adjusted Rand index", title="the graph gets denser")
for name, scores in rows.items():
    if not np.isnan(scores).all():
        mixing.plot(shares, scores, "o-", label=name)
limit = 0.75 * (1 - 1 / np.sqrt(degree))
mixing.axvline(limit, color="k", ls=":", label="Kesten-Stigum limit")
mixing.set(
    xlabel="share of edges that leave their cluster", title=f"mean degree {degree}, at the end"
)
for axis in (growing, mixing):
    axis.legend(fontsize=8)
    axis.grid(alpha=0.3)
plt.show()
