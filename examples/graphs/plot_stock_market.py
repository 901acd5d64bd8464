"""
The stock market as a graph, and proteins in a cell
===================================================

Which shares move together, given all others? Returns have heavy tails, so ranks take the place of values.
"""

# %%
# Real prices where the file can be had, else a made table.
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from skfrontier.datasets import fetch_sachs, fetch_stock_moves, make_gaussian_graph
from skfrontier.estimators import GraphACV, GraphDisplay

try:
    stocks = fetch_stock_moves()
    X, symbols, sectors = stocks.X, stocks.symbols, stocks.sectors
except OSError as error:
    print(f"a made table instead: {error}")
    X, _, _ = make_gaussian_graph(1200, 56, df=5, random_state=0)
    symbols, sectors = [f"S{j}" for j in range(56)], ["made"] * 56

model = GraphACV(transformation="npn").fit(X)
names = sorted(set(sectors))
color = dict(zip(names, plt.get_cmap("tab10").colors, strict=False))
graph = nx.relabel_nodes(model.to_networkx(), dict(enumerate(symbols)))

figure, ax = plt.subplots(figsize=(10, 8), layout="constrained")
pos = (
    nx.kamada_kawai_layout(graph, weight=None)
    if nx.is_connected(graph)
    else nx.spring_layout(graph, seed=1, k=0.4)
)
GraphDisplay(graph=graph).plot(ax=ax, pos=pos, node_color=[color[s] for s in sectors])
for name in names:
    ax.scatter([], [], color=color[name], label=name)
ax.legend(fontsize=8)
ax.set_title("shares that move together, given all others")
plt.show()
print("strongest:", ", ".join(f"{symbols[i]}-{symbols[j]}" for i, j in model.edges_[:6]))

# %%
# Three training sizes
# --------------------
# Smaller training sets keep the strong edges only; no fit is repeated.
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, share in zip(axes, (0.2, 0.05, 0.02), strict=True):
    sparser = nx.from_numpy_array(model.graph_at(share))
    nx.draw(
        sparser, {j: pos[symbols[j]] for j in sparser}, ax=ax, node_size=25,
        node_color=[color[s] for s in sectors], edge_color="0.6",
    )  # fmt: skip
    ax.set_title(f"trained on {share:.0%}: {sparser.number_of_edges()} edges")
plt.show()

# %%
# Proteins in single cells
# ------------------------
# Nine experiments are pooled, so that rows are not from one distribution: an illustration, no evidence.
try:
    cells = fetch_sachs()
except OSError as error:
    print(f"no protein data: {error}")
else:
    proteins = GraphACV().fit(np.log(cells.X))
    found, known = proteins.adjacency_, cells.adjacency
    figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
    circle = nx.circular_layout(nx.Graph([(name, name) for name in cells.names]))
    reference = nx.Graph()
    reference.add_nodes_from(cells.names)
    for pairs, shade, style in (
        (found & ~known, "0.7", "-"),
        (known, "tab:green", ":"),
        (found & known, "tab:green", "-"),
    ):
        ends = [(cells.names[i], cells.names[j]) for i, j in np.argwhere(np.triu(pairs))]
        nx.draw_networkx_edges(
            reference, circle, edgelist=ends, edge_color=shade, style=style, width=2
        )
    nx.draw_networkx_nodes(reference, circle, node_color="0.9", node_size=700, edgecolors="0.4")
    nx.draw_networkx_labels(reference, circle, font_size=8)
    ax.set_title("green: reference network, solid where it was found")
    ax.set_axis_off()
    plt.show()
    print(
        f"{np.sum(found) // 2} edges, {np.sum(found & known) // 2} of {np.sum(known) // 2} known ones"
    )
