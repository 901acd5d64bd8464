"""
Two camps on Twitter
====================

Users who argued on Twitter before the Italian referendum of 2016: an edge is positive where two agree and
negative where they do not. Twenty users get a label, and label propagation places all others between the
two camps, with error bars.
"""

# %%
# The network
# -----------
# Without the file a random network with two camps stands in.
import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import eigsh

from skfrontier.algos import build_grounded_graph, forest_apply
from skfrontier.algos.graphs.propagation.averages import BatchSums
from skfrontier.algos.graphs.propagation.walks import walk_ends
from skfrontier.datasets import fetch_twitter_referendum, make_signed_communities
from skfrontier.estimators import LabelPropagationOperator

try:
    A = fetch_twitter_referendum(download_if_missing=False).adjacency
except OSError as error:
    print(error)
    A, _ = make_signed_communities(10_000, avg_degree=40, sign_noise=0.05, random_state=0)
print(f"{A.shape[0]} users, {A.nnz // 2} edges, {(A.data < 0).mean():.1%} of them negative")

# %%
# Twenty labels
# -------------
# The leading eigenvector of the signed adjacency splits the users. The ten of each side with the most
# edges are labelled, +1 and -1.
side = np.where(eigsh(A, k=1, which="LA", v0=np.ones(A.shape[0]))[1][:, 0] > 0, 1.0, -1.0)
by_degree = np.argsort(-np.diff(A.indptr), kind="stable")
labeled = np.sort(np.concatenate([by_degree[side[by_degree] == s][:10] for s in (1.0, -1.0)]))
y = side[labeled]

operator = LabelPropagationOperator(
    solver="multitree", tol=0.01, relative=False, unreachable="zero", random_state=0
).fit(A, labeled)
x, std = operator.transform(y, return_std=True)
print(f"{operator.n_forests_} forests, error below {operator.achieved_:.4f} (95 %)")

# %%
# The errors are small beside the values. The two sides of the eigenvector overlap around zero: those users
# disagree with both camps, or agree with both.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
for s, color in ((1.0, "tab:blue"), (-1.0, "tab:red")):
    camp = (side == s) & operator.reachable_
    left.hist(x[camp], bins=np.linspace(-1, 1, 60), color=color, alpha=0.6)
    right.plot(x[camp], std[camp], ".", markersize=2, color=color, alpha=0.4)
left.set(xlabel="value", ylabel="users", yscale="log", title="colour: side of the eigenvector")
right.set(xlabel="value", ylabel="standard error", title="who is uncertain?")
figure.tight_layout()

# %%
# What each step is worth
# -----------------------
# Error over the number of samples: ends of walks, values of roots (Wilson's algorithm), means over trees, and
# these after four Jacobi sweeps. The honest line is the last one: conjugate gradients need no sampling at all
# for one vector. Forests are for entries of the operator and for error bars.
graph = build_grounded_graph(A, labeled)
source = graph.source(y)


def solved(rtol):
    solver = LabelPropagationOperator(solver="cg", rtol=rtol, unreachable="zero")
    return solver.fit(A, labeled).transform(y)[graph.nodes]


exact = solved(rtol=1e-12)
sizes = np.array([16, 64, 256])


def rmse(estimate):
    return np.sqrt(np.mean((estimate - exact) ** 2))


ends, _ = walk_ends(graph, np.arange(exact.size), sizes[-1], np.uint64(1))
walks = graph.gauge[:, None] * np.sign(ends) * y[np.abs(ends) - 1]
errors = {"walks": [rmse(walks[:, :n].mean(axis=1)) for n in sizes]}
roots = BatchSums(graph, graph.ungauged(source)[None], 16, np.uint64(2), rao_blackwell=False)
errors["roots"] = []
for n in sizes:
    roots.grow(n // 16, None)
    errors["roots"].append(rmse(graph.ungauged(roots.means().mean(axis=0)[0])))
for name, smooth in (("tree means", 0), ("tree means, 4 sweeps", 4)):
    errors[name] = [
        rmse(forest_apply(graph, source, n_forests=n, smooth=smooth, random_state=3).value)
        for n in sizes
    ]

figure, axis = plt.subplots(figsize=(6, 4))
for name, values in errors.items():
    axis.loglog(sizes, values, "o-", label=name)
axis.axhline(rmse(solved(rtol=1e-4)), color="black", linestyle=":", label="cg, rtol 1e-4")
axis.set(xlabel="samples", ylabel="root mean square error")
axis.legend()
figure.tight_layout()
