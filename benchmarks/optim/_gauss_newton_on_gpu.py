"""Fast Gauss-Newton on a GPU: wide heads beside Adam to the same loss, and bfloat16."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.gpu import Row, seconds_of
from skfrontier.nn import FastGaussNewton

PATIENCE = 60  # most steps of Adam for each step of ours


def rows(device: str, quick: bool) -> Iterator[Row]:
    """Steps, and seconds to the same loss, for heads of growing width."""
    n_features, n_rows = (32, 64) if quick else (1024, 512)
    for n_classes in (20,) if quick else (1_000, 10_000, 100_000):
        yield from _head(device, n_features, n_rows, n_classes)
    yield _bfloat16(device, n_features, n_rows, 20 if quick else 1_000)


def _batch(device: str, n_features: int, n_rows: int, n_classes: int) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(n_rows, n_features, generator=generator).to(device)
    return X, torch.randint(0, n_classes, (n_rows,), generator=generator).to(device)


def _network(device: str, n_features: int, n_classes: int, dtype: Any = None) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Linear(n_features, n_classes).to(device=device, dtype=dtype)


def _head(device: str, n_features: int, n_rows: int, n_classes: int) -> Iterator[Row]:
    case = f"head {n_features} x {n_classes}, batch {n_rows}"
    X, y = _batch(device, n_features, n_rows, n_classes)
    n_steps = 10

    def ours() -> float:
        optimizer = FastGaussNewton(_network(device, n_features, n_classes), damping=0.01)
        for _ in range(n_steps):
            info = optimizer.step(X, y)
        return info.loss

    target = ours()
    yield Row(
        case,
        f"FastGaussNewton, {n_steps} steps",
        seconds_of(ours, device, 2),
        f"loss {target:.3g}, one wait of the host a step",
    )
    for lr in (1e-3, 1e-2):
        run = _adam(device, n_features, n_classes, X, y, lr, target, PATIENCE * n_steps)
        loss, steps = run()
        reached = f"{steps} steps" if loss <= target else f"not reached in {steps} steps"
        yield Row(
            case,
            f"Adam, lr {lr:g}, to the same loss",
            seconds_of(run, device, 2),
            f"loss {loss:.3g}, {reached}",
        )


def _adam(
    device: str,
    n_features: int,
    n_classes: int,
    X: Any,
    y: Any,
    lr: float,
    target: float,
    most: int,
) -> Callable[[], tuple[float, int]]:
    def run() -> tuple[float, int]:
        model = _network(device, n_features, n_classes)
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        value = float("inf")
        for step in range(1, most + 1):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(X), y)
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                value = float(loss.detach())
                if value <= target:
                    break
        return value, step

    return run


def _bfloat16(device: str, n_features: int, n_rows: int, n_classes: int) -> Row:
    X, y = _batch(device, n_features, n_rows, n_classes)

    def ours(dtype: torch.dtype) -> float:
        model = _network(device, n_features, n_classes, dtype)
        optimizer = FastGaussNewton(model, damping=0.01)
        for _ in range(10):
            info = optimizer.step(X.to(dtype), y)
        return info.loss

    full, half = ours(torch.float32), ours(torch.bfloat16)
    return Row(
        f"head {n_features} x {n_classes}, batch {n_rows}",
        "FastGaussNewton, bfloat16 parameters",
        seconds_of(lambda: ours(torch.bfloat16), device, 2),
        f"loss {half:.3g}, float32 {full:.3g}",
    )
