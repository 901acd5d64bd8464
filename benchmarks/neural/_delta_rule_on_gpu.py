"""The delta rule on a GPU: chunk sizes, the loop over tokens, and flash-linear-attention where installed."""

import importlib
import importlib.util
from collections.abc import Callable, Iterator

import torch

from benchmarks.gpu import Row, seconds_of
from skfrontier.algos import delta_rule
from skfrontier.nn import DeltaNet


def rows(device: str, quick: bool) -> Iterator[Row]:
    """Forward and backward passes of one layer's sequence, and one step of decoding."""
    B, T, H, d = (1, 64, 2, 16) if quick else (4, 4096, 16, 128)
    sizes = f"B = {B}, T = {T}, H = {H}, K = V = {d}"
    for dtype in (torch.float32, torch.bfloat16):
        call = _call(B, T, H, d, dtype, device)
        case = f"{{}}, {sizes}, {str(dtype).removeprefix('torch.')}"
        for name, forward in _contenders(call).items():
            yield _row(case.format("forward"), name, forward, device, call, backward=False)
            yield _row(
                case.format("forward and backward"), name, forward, device, call, backward=True
            )
        yield _loop_row(call, T, case.format("forward"), device)
    yield _decoding_row(H, d, device)


def _call(B: int, T: int, H: int, d: int, dtype: torch.dtype, device: str) -> list[torch.Tensor]:
    torch.manual_seed(0)
    q, k, v = torch.randn(3, B, T, H, d, device=device)
    k = torch.nn.functional.normalize(k, dim=-1)
    beta = torch.rand(B, T, H, device=device)
    g = -0.1 * torch.rand(B, T, H, device=device)
    return [x.to(dtype).requires_grad_() for x in (q, k, v, beta, g)]


def _contenders(call: list[torch.Tensor]) -> dict[str, Callable[[], torch.Tensor]]:
    contenders: dict[str, Callable[[], torch.Tensor]] = {
        f"chunks of {C}": lambda C=C: delta_rule(*call, chunk_size=C).output for C in (32, 64, 128)
    }
    if call[0].is_cuda and call[0].dtype != torch.float32 and importlib.util.find_spec("fla"):
        fla = importlib.import_module("fla.ops.gated_delta_rule")
        q, k, v, beta, g = call
        contenders["flash-linear-attention"] = lambda: fla.chunk_gated_delta_rule(
            q=q, k=k, v=v, g=g, beta=beta
        )[0]
    return contenders


def _row(
    case: str,
    name: str,
    forward: Callable[[], torch.Tensor],
    device: str,
    call: list[torch.Tensor],
    *,
    backward: bool,
) -> Row:
    def work() -> None:
        with torch.set_grad_enabled(backward):
            output = forward()
        if backward:
            torch.autograd.grad(output.float().sum(), call)

    return Row(case, name, seconds_of(work, device, repeats=3), _memory_of(work, device))


def _memory_of(work: Callable[[], None], device: str) -> str:
    """Largest memory of one call, where the device counts it."""
    if torch.device(device).type != "cuda":
        return ""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    return f"{(torch.cuda.max_memory_allocated() - before) / 2**20:.0f} MiB"


def _loop_row(call: list[torch.Tensor], T: int, case: str, device: str) -> Row:
    short = [x[:, : max(1, T // 8)].detach() for x in call]
    seconds = seconds_of(lambda: delta_rule(*short, method="recurrent"), device, repeats=1)
    return Row(case, "loop over tokens", 8 * seconds, "scaled from an eighth of the tokens")


def _decoding_row(H: int, d: int, device: str) -> Row:
    layer = DeltaNet(H * d, H, gated=True).to(device)
    x = torch.randn(1, 1, H * d, device=device)
    with torch.no_grad():
        _, state = layer(x)
        seconds = seconds_of(lambda: layer(x, state), device)
    return Row(f"one token of DeltaNet, d_model = {H * d}", "step", seconds)
