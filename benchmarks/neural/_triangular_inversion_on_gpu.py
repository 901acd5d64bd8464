"""Triangular inversion on a GPU: batches of n = 64 in three precisions, beside torch's own."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

from benchmarks.gpu import Row, seconds_of
from skfrontier.algos import delta_rule_matrix, invert_unit_lower
from skfrontier.datasets import make_delta_rule_keys

N = 64
DIFFERENT = 256  # matrices; larger batches repeat them


def rows(device: str, quick: bool) -> Iterator[Row]:
    """Times, bytes moved in a second, and errors."""
    k, beta, _ = make_delta_rule_keys(DIFFERENT, N, 128, kind="correlated", random_state=0)
    L = delta_rule_matrix(k, beta)
    for batch in (DIFFERENT,) if quick else (4096, 16384, 65536):
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            yield from _batch_rows(L, batch, dtype, device)


def _batch_rows(L: np.ndarray, batch: int, dtype: torch.dtype, device: str) -> Iterator[Row]:
    given = torch.from_numpy(L).to(dtype)
    exact = torch.from_numpy(invert_unit_lower(given.double().numpy())).to(device)
    stack = given.to(device).repeat(batch // DIFFERENT, 1, 1)
    case = f"inverse, {batch} of n = {N}, {str(dtype).removeprefix('torch.')}"
    for name, work in _contenders(stack).items():
        T = work()
        error = float((T[:DIFFERENT].double() - exact).abs().max())
        seconds = seconds_of(work, device)
        moved = 2 * stack.numel() * stack.element_size() / seconds / 1e9
        yield Row(case, name, seconds, f"{moved:.1f} GB/s, error {error:.1e}")


def _contenders(L: torch.Tensor) -> dict[str, Callable[[], torch.Tensor]]:
    wide = L if L.dtype == torch.float32 else L.float()
    identity = torch.eye(N, dtype=wide.dtype, device=L.device)
    solve = partial(torch.linalg.solve_triangular, upper=False, unitriangular=True)
    ours = {"recursive": lambda: invert_unit_lower(L, method="recursive")}
    if L.dtype != torch.float32:
        ours["recursive, half products, refine=1"] = lambda: invert_unit_lower(L, refine=1)
    return ours | {
        # Neither takes half precision: the conversions are part of the work.
        "torch.linalg.solve_triangular": lambda: solve(L.float(), identity.expand(L.shape)).to(
            L.dtype
        ),
        "torch.inverse": lambda: torch.inverse(L.float() + identity).to(L.dtype),
    }
