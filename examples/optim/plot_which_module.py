"""
Which module do these lines come from?
======================================

A few lines of Python from each of 100 modules of the standard library, as hashed character n-grams:
few rows, wide features, many classes, as in naming authors, languages or products. And the opposite
case, in which L-BFGS wins.
"""

# %%
# Few rows, wide features, many classes
# -------------------------------------
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from skfrontier.datasets import load_module_lines
from skfrontier.estimators import FastGaussNewtonClassifier

warnings.simplefilter("ignore", ConvergenceWarning)  # fits are stopped early on purpose
try:
    X, y, names = load_module_lines(100, 4, 512)
except OSError as error:  # this Python comes without the sources of its library
    print(error)
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(100), 4)
    X = (rng.standard_normal((100, 512))[y] + rng.standard_normal((400, 512))) / 23


def curve(make, X, y, C, best, steps):
    points = []
    for n_steps in steps:
        start = time.perf_counter()
        model = make(n_steps).fit(X, y)
        seconds = time.perf_counter() - start
        loss = -model.predict_log_proba(X)[np.arange(len(y)), y].mean()
        excess = loss + (model.coef_**2).sum() / (2 * C * len(y)) - best
        points.append((seconds, max(excess, 1e-15)))
    return np.array(points).T


def draw(ax, X, y, C, title):
    best = FastGaussNewtonClassifier(C=C, solver="newton", tol=1e-9).fit(X, y).objective_
    solvers = {
        "newton": (
            lambda k: FastGaussNewtonClassifier(C=C, solver="newton", max_iter=k, tol=1e-8),
            (1, 2, 3, 4, 6, 8, 10),
        ),
        "LogisticRegression, lbfgs": (
            lambda k: LogisticRegression(C=C, max_iter=k, tol=1e-8),
            (2, 5, 10, 20, 40, 80),
        ),
    }
    for (name, (make, steps)), marker in zip(solvers.items(), "os", strict=True):
        ax.semilogy(*curve(make, X, y, C, best, steps), marker=marker, ms=5, label=name)
    chosen = FastGaussNewtonClassifier(C=C).fit(X, y).solver_
    ax.set(xlabel="seconds", title=f"{title}\n'auto' takes {chosen!r}", ylim=(1e-11, None))
    ax.legend()


digits, labels = load_digits(return_X_y=True)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
draw(left, X, y, 100.0, f"lines of modules: {X.shape[0]} x {X.shape[1]}, 100 classes")
draw(right, digits[:800] / 16, labels[:800], 1.0, "digits: 800 x 64, 10 classes")
left.set_ylabel("objective above the optimum")
plt.show()

# %%
# More rows than features and ten classes: there the matrix of all pairs of rows costs more than
# what it saves.
