"""On a GPU: the corrected layer beside the dense one, and its two ways to an orthonormal basis."""

from collections.abc import Iterator

import torch

from benchmarks.gpu import Row, seconds_of
from skfrontier.algos.neural.output_residual.cost import largest_static_rank_beside
from skfrontier.algos.neural.output_residual.nn import orthonormal_basis
from skfrontier.nn import DynamicResidualLinear

BUDGET = 0.25


def rows(device: str, quick: bool) -> Iterator[Row]:
    """Time of the layer for growing numbers of tokens, and of the factorisation alone."""
    sizes = (512,) if quick else (1024, 4096)
    lengths = (1024,) if quick else (1000, 10_000, 100_000)
    for a in sizes:
        for n in lengths:
            yield from _layers(device, n, a)
    for l in (4,) if quick else (16, 64):  # noqa: E741
        S = torch.randn(8, lengths[-1] // 8, l, device=device)
        for qr in ("householder", "cholesky"):
            Q = orthonormal_basis(S, qr)
            gap = (Q.mT @ Q - torch.eye(l, device=device)).abs().max().item()
            yield Row(
                f"basis of 8 groups, {S.shape[1]} x {l}, float32",
                qr,
                seconds_of(lambda S=S, qr=qr: orthonormal_basis(S, qr), device),
                f"orthonormal to {gap:.0e}",
            )


def _layers(device: str, n: int, a: int) -> Iterator[Row]:
    x = torch.randn(n, a, device=device, dtype=torch.bfloat16)
    dense = torch.nn.Linear(a, a, bias=False, device=device, dtype=torch.bfloat16)
    case = f"bfloat16, {n} tokens, {a} x {a}"
    with torch.no_grad():
        unit = seconds_of(lambda: dense(x), device)
        yield Row(case, "dense", unit)
        for l in (16, 64):  # noqa: E741
            k = largest_static_rank_beside(n, a, a, l, BUDGET)
            if k < 0:
                continue  # beyond the budget at this size
            for qr in ("householder", "cholesky"):
                layer = _random_layer(a, k, l, qr, device)
                taken = seconds_of(lambda layer=layer: layer(x), device)
                name = f"ranks {k} + {l}, {qr}"
                yield Row(case, name, taken, f"{taken / unit:.2f} of dense")


def _random_layer(a: int, k: int, l: int, qr: str, device: str) -> DynamicResidualLinear:  # noqa: E741
    layer = DynamicResidualLinear(
        a, a, k, l, bias=False, n_probes=0, qr=qr, device=device, dtype=torch.bfloat16
    )
    for buffer in layer.buffers():
        buffer.normal_()
    return layer
