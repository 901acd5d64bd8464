"""Output-residual correction beside the dense product and static low-rank layers.

Errors are relative, over all held-out groups. Static layers are scikit-frontier's own, too: 'whitened'
is the optimum that SVD-LLM computes, 'svd' is blind to the inputs, 'asvd' scales them. Notes tell the
arithmetic and the stored numbers of each layer, as shares of the dense one's.
"""

import importlib.util
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.harness import Case, Contender
from skfrontier.algos import (
    LowRankFactors,
    dynamic_matmul,
    low_rank_factors,
    matmul_cost,
    residual_sketch,
)
from skfrontier.datasets import load_photo_patches, make_group_subspace
from skfrontier.estimators import OutputResidualApproximator

DENSE = "dense X @ W"
HEADLINE = ("Wide layer, a quarter of the arithmetic", DENSE)

_SHARES = (0, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8)


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    found = [_speed_case(512, 256) if quick else _speed_case(4096, 2048)]
    found += [_group_case(budget) for budget in (0.25,)]
    if _have("torch"):
        steps = 20 if quick else 300
        budgets = (0.15, 0.25)
        found += [
            _digits_case(steps, 0.25, by_class=True),
            _digits_case(steps, 0.5, by_class=False),
        ]
        if _have("PIL"):
            found += [_photo_case(steps, b, shift=s) for s in (False, True) for b in budgets]
            found.append(_adaptive_case(steps, 0.15))
    return found


def _have(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


# Layers and their inputs: (weight, calibration groups, held-out groups).

Layer = tuple[np.ndarray, np.ndarray, np.ndarray]


@cache
def denoiser_layer(steps: int, shift: bool) -> Layer:
    """Second layer of a denoiser of photo patches; with ``shift``, tried on the other photograph."""
    import torch

    windows = torch.as_tensor(load_photo_patches(), dtype=torch.float32)
    clean = windows.reshape(-1, windows.shape[-1])
    torch.manual_seed(0)
    sizes = (clean.shape[1], 512, 512, 512, clean.shape[1])
    model = _mlp(torch, sizes)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.01)
    for _ in range(steps):
        batch = clean[torch.randint(len(clean), (512,))]
        loss = ((model(batch + 0.15 * torch.randn_like(batch)) - batch) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        X = model[:2](windows).double().numpy()
    W = model[2].weight.detach().double().numpy().T
    half = len(X) // 2
    if shift:
        return W, X[:half:2], X[half + 1 :: 2]
    return W, X[::2], X[1::2]


@cache
def digits_layer(steps: int, by_class: bool) -> Layer:
    """Second layer of a digits classifier; groups are one class each, or mixed."""
    import torch

    pixels, labels = load_digits(return_X_y=True)
    inputs, targets = torch.as_tensor(pixels / 16, dtype=torch.float32), torch.as_tensor(labels)
    torch.manual_seed(0)
    model = _mlp(torch, (64, 256, 256, 10))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.01)
    for _ in range(steps):
        rows = torch.randint(len(inputs), (128,))
        loss = torch.nn.functional.cross_entropy(model(inputs[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        X = model[:2](inputs).double().numpy()
    if by_class:
        groups = [X[labels == c][i : i + 80] for c in range(10) for i in (0, 80)]
        groups = [group for group in groups if len(group) == 80]
    else:
        order = np.random.default_rng(0).permutation(len(X))
        groups = [X[order[i : i + 256]] for i in range(0, len(X) - 255, 256)]
    stacked = np.random.default_rng(0).permutation(np.stack(groups))
    return model[2].weight.detach().double().numpy().T, stacked[::2], stacked[1::2]


def _mlp(torch: Any, sizes: tuple[int, ...]) -> Any:
    layers: list[Any] = []
    for a, b in pairwise(sizes):
        layers += [torch.nn.Linear(a, b), torch.nn.GELU()]
    return torch.nn.Sequential(*layers[:-1])


def group_layer() -> Layer:
    """Groups in subspaces of their own, and a dense Gaussian weight."""
    X = make_group_subspace(12, 196, 384, 8, noise=0.1, random_state=0)
    W = np.random.default_rng(1).normal(size=(384, 384)) / np.sqrt(384)
    return W, X[::2], X[1::2]


# Contenders.


def fitted(layer: Layer, **options: Any) -> OutputResidualApproximator:
    """The estimator, calibrated on the groups of the layer."""
    W, calibration, _ = layer
    model = OutputResidualApproximator(
        weight=W, group_size=calibration.shape[1], random_state=0, **options
    )
    return model.fit(calibration.reshape(-1, W.shape[0]))


def held_out_error(layer: Layer, output: np.ndarray) -> float:
    """Relative error over all held-out rows."""
    W, _, held_out = layer
    Y = held_out.reshape(-1, W.shape[0]) @ W
    return float(np.linalg.norm(output - Y) / np.linalg.norm(Y))


def _contender(name: str, layer: Layer, bar: float | None = None, **options: Any) -> Contender:
    model = fitted(layer, **options)
    X = layer[2].reshape(-1, layer[0].shape[0])
    model.transform(X)
    return Contender(
        name,
        lambda: model.transform(X),
        error=lambda output: held_out_error(layer, output),
        bar=bar,
        note=f"ranks {model.rank_} + {model.dynamic_rank_}; "
        f"{_shares(model.transform_cost_ratio_, _stored(model))}",
    )


def _stored(model: OutputResidualApproximator) -> float:
    """Numbers that the layer keeps, over those of the dense weight."""
    factors = model.factors_.left.size + model.factors_.right.size
    corrected = model.dynamic_rank_ > 0 or model.dynamic_rank == "adaptive"
    return (
        factors + corrected * (model.residual_.size + model.sketch_.size)
    ) / model.residual_.size


def _shares(arithmetic: float, stored: float) -> str:
    return f"multiply-adds {arithmetic:.2f}, stored {stored:.2f} of dense"


def static_with_rank(layer: Layer, rank: int, method: str = "whitened") -> LowRankFactors:
    """A static layer from the calibration groups."""
    W, calibration, _ = layer
    X = calibration.reshape(-1, W.shape[0])
    return low_rank_factors(
        W, rank, method=method, second_moment=X.T @ X, abs_mean=np.abs(X).mean(axis=0)
    )


def _static(name: str, layer: Layer, rank: int, method: str = "whitened") -> Contender:
    W, _, held_out = layer
    a, b = W.shape
    factors = static_with_rank(layer, rank, method)
    X = held_out.reshape(-1, a)
    share = rank * (a + b) / (a * b)
    return Contender(
        name,
        lambda: X @ factors.left @ factors.right,
        error=lambda output: held_out_error(layer, output),
        note=f"rank {rank}; {_shares(share, share)}",
    )


def best_correction(layer: Layer, structure: str, budget: float) -> tuple[float, int, int]:
    """Least held-out error over splits with a correction, and its ranks."""
    from skfrontier.algos.neural.output_residual.cost import (
        largest_dynamic_rank,
        largest_static_rank,
    )

    W, calibration, held_out = layer
    (a, b), n = W.shape, held_out.shape[1]
    X = calibration.reshape(-1, a)
    H, most = X.T @ X, largest_static_rank(a, b, budget)
    found = []
    for k in sorted({round(share * most) for share in _SHARES}):
        l = largest_dynamic_rank(n, a, b, k, budget)  # noqa: E741
        factors = static_with_rank(layer, k, structure)
        R, G = factors.residual(W), residual_sketch(W, factors, l, second_moment=H)
        outputs = [dynamic_matmul(group, R, factors, G).output for group in held_out]
        found.append((held_out_error(layer, np.concatenate(outputs)), k, l))
    return min(found)


def _all_layers(layer: Layer, budget: float) -> list[Contender]:
    W = layer[0]
    a, b = W.shape
    auto = fitted(layer, budget=budget)
    equal_memory = min(int(_stored(auto) * a * b / (a + b)), a, b)
    equal_arithmetic = int(budget * a * b / (a + b) + 1e-9)
    _, _, l = best_correction(layer, "svd", budget)  # noqa: E741
    X = layer[2].reshape(-1, a)
    return [
        _contender("skfrontier, chosen split", layer, budget=budget),
        _contender("skfrontier, hedge 0", layer, budget=budget, hedge=0.0),
        _contender("svd with correction, best split", layer, budget=budget, structure="svd",
                   dynamic_rank=l),
        _static("whitened, equal arithmetic", layer, equal_arithmetic),
        _static("svd, equal arithmetic", layer, equal_arithmetic, "svd"),
        _static("asvd, equal arithmetic", layer, equal_arithmetic, "asvd"),
        _static("whitened, equal memory", layer, equal_memory),
        Contender(DENSE, lambda: X @ W, error=lambda output: held_out_error(layer, output),
                  note=_shares(1, 1)),
    ]  # fmt: skip


# Cases.


def _photo_case(steps: int, budget: float, *, shift: bool) -> Case:
    law = "calibrated on the other photograph" if shift else "same photographs"
    return Case(
        f"Photo denoiser, {law}, budget {budget:g}",
        "layer 2, groups of 196 x 512, 512 x 512",
        lambda: _all_layers(denoiser_layer(steps, shift), budget),
    )


def _digits_case(steps: int, budget: float, *, by_class: bool) -> Case:
    kind = "one class a batch" if by_class else "mixed batches"
    size = "80 x 256" if by_class else "256 x 256"
    return Case(
        f"Digits classifier, {kind}, budget {budget:g}",
        f"layer 2, groups of {size}, 256 x 256",
        lambda: _all_layers(digits_layer(steps, by_class), budget),
    )


def _group_case(budget: float) -> Case:
    return Case(
        f"Groups in their own subspaces, budget {budget:g}",
        "12 groups of 196 x 384 of rank 8, 384 x 384",
        lambda: _all_layers(group_layer(), budget),
    )


def _adaptive_case(steps: int, budget: float) -> Case:
    """The rank chosen by each group's probes, at home and away, beside the hedge."""

    def build() -> list[Contender]:
        found = []
        for shift, where in ((False, "at home"), (True, "away")):
            layer = denoiser_layer(steps, shift)
            found += [
                _contender(f"skfrontier, adaptive, {where}", layer, budget=budget,
                           dynamic_rank="adaptive", n_probes=8),
                _contender(f"skfrontier, hedge 0.1, {where}", layer, budget=budget),
                _contender(f"skfrontier, hedge 0, {where}", layer, budget=budget, hedge=0.0),
            ]  # fmt: skip
        return found

    return Case(
        f"Rank from the probes of each group, budget {budget:g}",
        "photo denoiser, layer 2, groups of 196 x 512, 512 x 512",
        build,
    )


def _speed_case(n: int, a: int) -> Case:
    k = a // 16
    l = round(70 * k / 128)  # noqa: E741

    def build() -> list[Contender]:
        rng = np.random.default_rng(0)
        X, R = rng.normal(size=(n, a)), rng.normal(size=(a, a))
        factors = LowRankFactors(rng.normal(size=(a, k)), rng.normal(size=(k, a)))
        G = R @ rng.normal(size=(a, l))
        share = matmul_cost(n, a, a, k, l) / (n * a * a)
        return [
            Contender("skfrontier", lambda: dynamic_matmul(X, R, factors, G),
                      note=f"ranks {k} + {l}, multiply-adds {share:.2f}"),
            Contender(DENSE, lambda: X @ R, bar=2.5),
            Contender("static part alone", lambda: X @ factors.left @ factors.right),
            Contender("four products, not two", lambda: _unfused(X, R, factors, G)),
        ]  # fmt: skip

    return Case("Wide layer, a quarter of the arithmetic", f"{n} x {a}, {a} x {a}, float64", build)


def _unfused(X: np.ndarray, R: np.ndarray, factors: LowRankFactors, G: np.ndarray) -> np.ndarray:
    U = np.linalg.qr(X @ G)[0]
    return X @ factors.left @ factors.right + U @ ((U.T @ X) @ R)
