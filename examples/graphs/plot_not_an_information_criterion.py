"""
Not an information criterion in disguise
========================================

Under a correct model the trace of approximate cross-validation counts coefficients. With heavy tails it does
not, and that is what keeps false edges out.
"""

# %%
# The trace of one column that has no effect
# ------------------------------------------
# Rows of a multivariate t distribution: no relations, but large values come together. A count would be 1
# everywhere.
import matplotlib.pyplot as plt
import numpy as np

from skfrontier.algos import acv_terms
from skfrontier.datasets import make_gaussian_graph
from skfrontier.estimators import GraphACV

settings = {"Gaussian": None, "t, 10 df": 10, "t, 5 df": 5, "t, 3 df": 3}
traces = {}
for name, df in settings.items():
    draws = (
        make_gaussian_graph(500, 2, graph="empty", df=df, random_state=seed)[0]
        for seed in range(200)
    )
    traces[name] = [acv_terms(X, X[:, 0], [1]).trace for X in draws]

# %%
# False edges where there are none
# --------------------------------
# The level is the same for both, only the complexity differs. Counted: pairs for which the gain in deviance
# of a single column reaches the level. Traced: edges of `GraphACV` at that level.
kappa = 12.0
false = {}
for name, df in settings.items():
    counted, traced = 0, 0
    for seed in range(10):
        X, _, _ = make_gaussian_graph(500, 40, graph="empty", df=df, random_state=seed)
        r = np.corrcoef(X.T)[np.triu_indices(40, 1)]
        counted += np.sum(-len(X) * np.log1p(-(r**2)) >= kappa)
        model = GraphACV(n_train=len(X) / (kappa - 1) / len(X), precision=None).fit(X)
        traced += len(model.edges_)
    false[name] = (counted / 10, traced / 10)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.boxplot(list(traces.values()), tick_labels=list(traces))
left.axhline(1, color="0.5", ls="--", label="count")
left.set(ylabel="trace of one column", title="complexity of a column without effect")
left.legend()
at = np.arange(len(false))
right.bar(at - 0.2, [pair[0] for pair in false.values()], 0.4, label="count")
right.bar(at + 0.2, [pair[1] for pair in false.values()], 0.4, label="trace")
right.set_xticks(at, list(false))
right.set(ylabel="false edges, mean of 10 tables", title=f"no relations, kappa = {kappa:g}")
right.legend()
plt.show()

# %%
for name, (counted, traced) in false.items():
    print(f"{name:>9}: {counted:.1f} false edges by counts, {traced:.1f} by traces")
