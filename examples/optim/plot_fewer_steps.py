"""
Fewer steps, dearer steps
=========================

The torch optimizer on a small network: beside Adam it needs far fewer steps, and each costs many of
Adam's. Which of the two counts depends on what a step is made of.
"""

# %%
# One network, two optimizers
# ---------------------------
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

try:
    import torch
except ImportError:
    raise SystemExit("This example needs PyTorch: pip install 'scikit-frontier[torch]'.") from None

from skfrontier.nn import FastGaussNewton

X, y = load_digits(return_X_y=True)
inputs, targets = torch.tensor(X[:1400] / 16, dtype=torch.float32), torch.tensor(y[:1400])


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )


def train(make_step, n_epochs):
    """Steps, seconds of training, and the loss on all rows after each epoch."""
    model = network()
    step = make_step(model)
    trace, spent, n_steps = [], 0.0, 0
    for _ in range(n_epochs):
        start = time.perf_counter()
        for rows in torch.randperm(len(inputs)).split(128):
            step(inputs[rows], targets[rows])
            n_steps += 1
        spent += time.perf_counter() - start
        with torch.no_grad():
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        trace.append((n_steps, spent, float(loss)))
    return np.array(trace).T


def adam(lr):
    def make_step(model):
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)

        def step(x, t):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), t).backward()
            optimizer.step()

        return step

    return make_step


traces = {
    "FastGaussNewton": train(lambda model: FastGaussNewton(model).step, 12),
    "Adam, 1e-2": train(adam(1e-2), 60),
    "Adam, 1e-3": train(adam(1e-3), 60),
}

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for name, (steps, seconds, loss) in traces.items():
    axes[0].loglog(steps, np.maximum(loss, 1e-6), label=name)
    axes[1].loglog(seconds, np.maximum(loss, 1e-6), label=name)
axes[0].set(xlabel="steps", ylabel="training loss", title="What a step achieves")
axes[1].set(xlabel="seconds", title="What a second achieves")
axes[0].legend()
plt.show()
