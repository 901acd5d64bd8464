"""The decode loop on a torch device: the host waits once a step."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from skfrontier.algos.neural.decoding.confidence import SUM_TOLERANCE, no_law
from skfrontier.algos.neural.decoding.nn import check_real, probability_confidence
from skfrontier.algos.neural.decoding.result import CommitResult, DecodeResult, TokenConfidence


def decode(
    marginals: Callable[[Tensor], Any],
    x0: Tensor,
    block: int,
    commit: Callable[[TokenConfidence, Tensor], CommitResult],
) -> DecodeResult:
    """Decode ``x0``; ``commit`` says which of the candidates are taken."""
    x = x0.to(torch.int64, copy=True)
    blocks = torch.arange(len(x), device=x.device) // block
    step_of = torch.full_like(x, -1)
    deficit_of = torch.zeros(len(x), dtype=torch.float64, device=x.device)
    all_certified = torch.ones((), dtype=torch.bool, device=x.device)
    n_masked, lowest = torch.stack([(x == -1).sum(), x.min()]).tolist()
    if lowest < -1:
        raise ValueError(f"x0 must hold tokens, or -1 where masked; got {lowest}.")
    n_steps = 0
    while n_masked:
        masked = x == -1
        probabilities = marginals(x.clone())
        _check(probabilities, len(x), x.device)
        sums = probabilities.sum(dim=1, dtype=torch.float64)
        wrong = ~((sums - 1).abs() <= SUM_TOLERANCE) | (probabilities < 0).any(dim=1)
        found = probability_confidence(torch.where(masked[:, None], probabilities, 1.0))
        candidates = masked & (blocks == torch.where(masked, blocks, len(x)).min())
        step = commit(found, candidates)
        x = torch.where(step.commit, found.token, x)
        step_of = step_of.masked_fill(step.commit, n_steps)
        deficit_of = torch.where(step.commit, found.deficit, deficit_of)
        all_certified &= step.certified
        n_steps += 1
        wrong &= masked
        status = torch.stack([(x == -1).sum(), wrong.sum(), wrong.to(torch.int8).argmax()])
        n_masked, n_wrong, first = status.tolist()
        if n_wrong:
            raise no_law(first, float(sums[first]), float(probabilities[first].min()))
    by_deficit = deficit_of.sort(stable=True).indices
    order = by_deficit[step_of[by_deficit].sort(stable=True).indices]
    sizes = torch.bincount(step_of + 1, minlength=n_steps + 1)
    n_given = int(sizes[0])
    return DecodeResult(x, n_steps, order[n_given:], sizes[1:], bool(all_certified))


def _check(probabilities: Any, length: int, device: torch.device) -> None:
    if not isinstance(probabilities, Tensor) or probabilities.device != device:
        raise TypeError(f"marginals must return a tensor on {device}, as x0 is one.")
    check_real(probabilities, "marginals(x)")
    if probabilities.ndim != 2 or probabilities.shape[0] != length or probabilities.shape[1] == 0:
        raise ValueError(
            f"marginals must return shape ({length}, n_tokens), got {tuple(probabilities.shape)}."
        )
