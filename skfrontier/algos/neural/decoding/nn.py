"""The topic on torch tensors: sorting and prefix sums, no transfer to the host."""

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from skfrontier.algos.neural.decoding.result import CommitResult, TokenConfidence
from skfrontier.algos.neural.decoding.rules import (
    FACTOR,
    FACTOR_PUBLISHED,
    FRECHET,
    SLACK,
    THRESHOLD,
)

_CHUNK = 1 << 24  # entries that are turned into float64 at a time
_FIELDS = tuple(field.name for field in fields(TokenConfidence))


def check_real(values: Tensor, name: str) -> None:
    """Raise unless the tensor is dense and holds real numbers."""
    if values.layout != torch.strided:
        raise ValueError(f"{name} is a sparse tensor; use {name}.to_dense().")
    if values.dtype.is_complex:
        raise ValueError(f"{name} must hold real numbers, got dtype {values.dtype}.")


def commit_prefixes(
    values: Tensor,
    complement: bool,
    mask: Tensor,
    runner_up: Tensor | None,
    *,
    pad: float,
    runner_pad: float,
    tolerance: float,
    rule: int,
    parameter: float,
    min_commit: int,
    max_commit: int,
    exact_single: bool,
) -> CommitResult:
    """Commit the longest prefix of each row whose every member passes the rule's test.

    All tensors are (B, L). Entries that are no probabilities cannot raise without waiting for the device:
    they are never committed, and their row has a NaN score and no certificate.
    """
    values = values.to(torch.float64)
    valid = (values >= 0) & (values <= 1)
    complements = 1.0 - values
    deficits, confidences = (complements, values) if complement else (values, complements)
    alternatives = deficits + pad
    if runner_up is not None:
        runner_up = runner_up.to(torch.float64)
        valid &= (runner_up >= 0) & (runner_up <= deficits + tolerance)
        alternatives = runner_up + runner_pad
    sound = (valid | ~mask).all(dim=1)
    mask = mask & valid

    order = deficits.masked_fill(~mask, torch.inf).sort(dim=1, stable=True).indices
    if runner_up is not None:  # positions that would pass alone come first
        one = torch.ones((), dtype=torch.int64, device=values.device)
        alone = _passes(rule, parameter, one, confidences, deficits + pad, alternatives) & mask
        last = (~alone).to(torch.int8).gather(1, order)
        order = order.gather(1, last.sort(dim=1, stable=True).indices)

    present = mask.gather(1, order)
    deficits = deficits.gather(1, order)
    totals = torch.where(present, deficits + pad, 0.0).cumsum(dim=1)
    largest = torch.where(present, alternatives.gather(1, order), 0.0)
    if values.shape[1]:
        largest = largest.cummax(dim=1).values
    rank = torch.arange(1, values.shape[1] + 1, device=values.device)
    passing = (
        _passes(rule, parameter, rank, confidences.gather(1, order), totals, largest) & present
    )
    if runner_up is not None:
        passing &= alone.gather(1, order)
    n_commit = (passing & (rank <= max_commit)).to(torch.int64).cumprod(dim=1).sum(dim=1)
    n_masked = mask.sum(dim=1)
    if rule == FACTOR_PUBLISHED:  # the published code takes the last one along
        n_commit = torch.where(n_commit.clamp(min=1) >= n_masked - 1, n_masked, n_commit)
    n_commit = torch.maximum(n_commit, n_masked.clamp(max=min_commit))

    chosen = rank <= n_commit[:, None]
    commit = torch.zeros_like(mask).scatter(1, order, chosen)
    total, worst = _at(totals, n_commit), _at(largest, n_commit)
    nan = torch.where(sound, 0.0, torch.nan)
    lower_bound = 1.0 - total + nan
    score = (1.0 - total) - worst + nan
    certified = score > SLACK * n_commit
    if exact_single:
        certified |= (n_commit <= 1) & sound
    return CommitResult(commit, n_commit, score, lower_bound, certified)


def _passes(
    rule: int, parameter: float, n: Tensor, confidence: Tensor, total: Tensor, largest: Tensor
) -> Tensor:
    if rule == FRECHET:
        return (1.0 - total) - largest > parameter + SLACK * n.to(torch.float64)
    if rule == FACTOR:
        size = n.to(torch.float64)
        return (size + 1) * largest + SLACK * size < parameter
    if rule == FACTOR_PUBLISHED:
        return confidence >= 1.0 - parameter / (n.to(torch.float64) + 1)
    if rule == THRESHOLD:
        return confidence >= parameter
    return (n <= parameter).expand_as(confidence)


def _at(running: Tensor, n: Tensor) -> Tensor:
    """The running value after ``n`` members; zero after none."""
    padded = torch.nn.functional.pad(running, (1, 0))
    return padded.gather(1, n[:, None])[:, 0]


def token_confidence(logits: Tensor) -> TokenConfidence:
    """Most probable token, its probability, that of the others, and of the runner-up."""
    rows = logits.reshape(-1, logits.shape[-1])
    parts = [
        _from_relative_weights(_relative_weights(part))
        for part in rows.split(max(1, _CHUNK // rows.shape[1]))
    ]
    columns = (torch.cat([getattr(part, name) for part in parts]) for name in _FIELDS)
    return TokenConfidence(*(column.reshape(logits.shape[:-1]) for column in columns))


def probability_confidence(probabilities: Tensor) -> TokenConfidence:
    """The same for rows that are probabilities."""
    return _from_relative_weights(probabilities.to(torch.float64))


def _relative_weights(logits: Tensor) -> Tensor:
    logits = logits.to(torch.float64)
    return (logits - logits.amax(dim=-1, keepdim=True)).exp_()


def _from_relative_weights(weights: Tensor) -> TokenConfidence:
    token = weights.argmax(dim=-1, keepdim=True)
    top = weights.gather(-1, token)
    others = weights.scatter(-1, token, 0.0)
    rest = others.sum(dim=-1, keepdim=True)
    total = top + rest
    parts: list[Any] = [token, top / total, rest / total, others.amax(dim=-1, keepdim=True) / total]
    return TokenConfidence(*(part[..., 0] for part in parts))
