"""Committing beside the forward pass that it follows."""

from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.gpu import Row, seconds_of
from skfrontier.algos import frechet_commit, token_confidence

_N_TOKENS = 32_000


def rows(device: str, quick: bool) -> Iterator[Row]:
    """A transformer's forward pass, the commit of its confidences, and taking these from its logits."""
    shapes = ((2, 16), (4, 64)) if quick else ((64, 32), (64, 256), (256, 1024), (256, 4096))
    model, width = _transformer(device, quick)
    n_parameters = sum(p.numel() for p in model.parameters())
    generator = torch.Generator(device).manual_seed(0)
    for batch, length in shapes:
        case = f"batch {batch}, {length} positions"
        deficits = torch.rand(
            batch, length, device=device, dtype=torch.float64, generator=generator
        )
        deficits **= 4
        mask = torch.rand(batch, length, device=device, generator=generator) < 0.7
        # A pass over so many rows of the batch is scaled up: the largest batch would not fit.
        some = max(1, min(batch, 65_536 // length))
        x = torch.randn(some, length, width, device=device, generator=generator)
        x = x.to(next(model.parameters()).dtype)
        with torch.no_grad():
            forward = seconds_of(lambda x=x: model(x), device) * batch / some
        yield Row(case, f"forward pass, {n_parameters / 1e6:.0f}M parameters", forward)

        def commit(deficits: torch.Tensor = deficits, mask: torch.Tensor = mask) -> object:
            return frechet_commit(deficits=deficits, mask=mask)

        took = seconds_of(commit, device)
        yield Row(case, "frechet_commit", took, f"{took / forward:.2%} of the forward pass")
        n_logits = 50 if quick else _N_TOKENS
        few = max(1, min(batch, 4096 // length))
        logits = torch.randn(few, length, n_logits, device=device, generator=generator)
        took = seconds_of(lambda logits=logits: token_confidence(logits), device) * batch / few
        yield Row(case, f"token_confidence, {n_logits} tokens", took, f"{took / forward:.2%} of it")
        yield Row(case, "frechet_commit, host syncs", *_with_syncs_forbidden(commit, device))


def _with_syncs_forbidden(commit: Callable[[], object], device: str) -> tuple[float, str]:
    """Time, and what CUDA's own check says, which raises where the host waits."""
    seconds = seconds_of(commit, device)
    if torch.device(device).type != "cuda":
        return seconds, "counted on a GPU only"
    torch.cuda.set_sync_debug_mode("error")
    try:
        commit()
    except RuntimeError as error:
        return seconds, f"waits: {error}"
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return seconds, "none"


def _transformer(device: str, quick: bool) -> tuple[nn.Module, int]:
    width, layers, heads = (32, 1, 2) if quick else (768, 14, 12)
    layer = nn.TransformerEncoderLayer(
        width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True
    )
    model = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to(device).eval()
    return (model if quick else model.to(torch.bfloat16)), width
