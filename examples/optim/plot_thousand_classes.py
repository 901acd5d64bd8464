"""
A thousand classes, few examples
================================

With many classes and few rows a second-order fit costs little more than a first-order one, because
everything happens in the space of the rows: one equation an example, whatever the number of parameters.
"""

# %%
# Objective against time
# ----------------------
# Every solver minimises the same objective. Each point is a fit of its own with that many steps.
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from skfrontier.datasets import make_many_classes
from skfrontier.estimators import FastGaussNewtonClassifier

warnings.simplefilter("ignore", ConvergenceWarning)  # fits are stopped early on purpose
X, y = make_many_classes(400, 250, 150, sep=0.3, random_state=0)
C = 0.05
best = FastGaussNewtonClassifier(C=C, solver="newton", tol=1e-9).fit(X, y).objective_


def excess(model):
    loss = -model.predict_log_proba(X)[np.arange(len(y)), y].mean()
    return max(loss + (model.coef_**2).sum() / (2 * C * len(y)) - best, 1e-15)


def curve(make, steps):
    points = []
    for n_steps in steps:
        start = time.perf_counter()
        model = make(n_steps).fit(X, y)
        points.append((time.perf_counter() - start, excess(model)))
    return np.array(points).T


curves = {
    "Newton, Fast Gauss-Newton preconditioner": curve(
        lambda k: FastGaussNewtonClassifier(C=C, solver="newton", max_iter=k, tol=1e-8), range(1, 9)
    ),
    "the same without preconditioner": curve(
        lambda k: FastGaussNewtonClassifier(
            C=C, solver="newton", damping=1e9, max_iter=k, tol=1e-8
        ),
        range(1, 9),
    ),
    "LogisticRegression, lbfgs": curve(
        lambda k: LogisticRegression(C=C, max_iter=k, tol=1e-8), (2, 5, 10, 20, 40, 80, 120)
    ),
    "LogisticRegression, newton-cg": curve(
        lambda k: LogisticRegression(C=C, solver="newton-cg", max_iter=k, tol=1e-8), range(1, 9)
    ),
}

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for (name, (seconds, values)), marker in zip(curves.items(), "os^D", strict=True):
    ax.semilogy(seconds, values, marker=marker, ms=5, label=name)
ax.set(
    xlabel="seconds",
    ylabel="objective above the optimum",
    title=f"{len(X)} rows, {X.shape[1]} features, {y.max() + 1} classes",
    ylim=(1e-12, None),
)
ax.legend()
plt.show()

# %%
# What the preconditioner leaves out
# ----------------------------------
# Fast Gauss-Newton keeps the curvature of the true class against all others. The rest is small
# where a competitor stands out, large where probability is spread over many: ``curvature_gap_``
# measures it at the optimum. The stronger the penalty the larger is the gap, and yet conjugate
# gradients need few steps, because a share of the rest stands in the metric.
penalties = np.geomspace(1e-3, 10, 5)
models = [FastGaussNewtonClassifier(C=c, solver="newton", tol=1e-6).fit(X, y) for c in penalties]
plain = [
    FastGaussNewtonClassifier(C=c, solver="newton", tol=1e-6, damping=1e9).fit(X, y)
    for c in penalties
]

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.semilogx(penalties, [m.curvature_gap_ for m in models], "o-")
left.set(xlabel="C", ylabel="curvature_gap_", title="Curvature left out")
right.loglog(penalties, [m.n_cg_iter_ for m in models], "o-", label="preconditioned")
right.loglog(penalties, [m.n_cg_iter_ for m in plain], "s-", label="plain")
right.set(xlabel="C", ylabel="conjugate gradient steps", title="Steps of a whole fit")
right.legend()
plt.show()
