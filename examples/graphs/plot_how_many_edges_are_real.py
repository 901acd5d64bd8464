"""
How many edges are real?
========================

A table with a tree of relations behind it. Cross-validated graphical lasso predicts well and has far too many
edges; the graph of `GraphACV` comes with a curve that says where the real edges end.
"""

# %%
# The data, and two graphs
# ------------------------
import time
import warnings

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.covariance import GraphicalLassoCV

from skfrontier.datasets import make_gaussian_graph
from skfrontier.estimators import EdgePathDisplay, GraphACV

X, truth, _ = make_gaussian_graph(500, 60, graph="scale_free", random_state=0)
GraphACV().fit(X[:, :5])  # a warm-up: kernels compile

start = time.perf_counter()
model = GraphACV().fit(X)
seconds = [time.perf_counter() - start]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    lasso = GraphicalLassoCV(n_refinements=2).fit(X)
seconds.append(time.perf_counter() - start - seconds[0])
dense = np.abs(lasso.precision_) > 1e-8
np.fill_diagonal(dense, False)

# %%
# Where do the real edges end?
# ----------------------------
# From right to left training sets grow and edges enter. At the level that was chosen hardly any of them is
# expected to be there by chance; further left the number of edges follows that of chance edges.
figure, (path, ours, theirs) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
EdgePathDisplay.from_estimator(model, ax=path)
path.set_title("edges over kappa")

pos = nx.kamada_kawai_layout(nx.from_numpy_array(truth))


def draw(found, ax, title):
    """True edges green, false ones red, missed ones dotted."""
    nx.draw_networkx_nodes(nx.from_numpy_array(truth), pos, ax=ax, node_size=15, node_color="0.3")
    for pairs, color, style in (
        (found & ~truth, "tab:red", "-"),
        (found & truth, "tab:green", "-"),
        (~found & truth, "0.5", ":"),
    ):
        edges = np.argwhere(np.triu(pairs))
        width = 0.4 if color == "tab:red" else 2
        nx.draw_networkx_edges(
            nx.Graph(),
            pos,
            edgelist=edges.tolist(),
            ax=ax,
            edge_color=color,
            style=style,
            width=width,
        )
    false, missed = np.sum(found & ~truth) // 2, np.sum(~found & truth) // 2
    ax.set_title(f"{title}: {false} false, {missed} missed")
    ax.set_axis_off()


draw(model.adjacency_, ours, f"GraphACV, {seconds[0]:.2f} s")
draw(dense, theirs, f"GraphicalLassoCV, {seconds[1]:.1f} s")
plt.show()

# %%
# The model says how far to trust it, and other training sizes cost nothing.
print(f"kappa {model.kappa_:.1f}: trained on {model.n_train_:.0f} of {len(X)} rows")
print(f"{len(model.edges_)} edges, about {model.expected_false_edges_:.2f} of them false")
for n_train in ("bic", "ebic", "strict"):
    graph = model.graph_at(n_train)
    print(f"{n_train}: {graph.sum() // 2} edges, {np.sum(graph & ~truth) // 2} false")
