"""A small masked-diffusion model, trained on the texts of Python's own reference (module pydoc_data)."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from skfrontier.algos import DecodeResult, decode_masked, token_confidence

WINDOW = 64
_WIDTH, _LAYERS, _BATCH = 96, 2, 32
_N_BINS = 10


class MaskedDenoiser(nn.Module):
    """Transformer encoder over characters, masked ones replaced by a token of their own."""

    def __init__(self, n_tokens: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_tokens + 1, _WIDTH)  # the last one: masked
        self.position = nn.Parameter(0.1 * torch.randn(WINDOW, _WIDTH))
        # Neighbours first: attention alone takes much longer to find out about them.
        self.neighbours = nn.Conv1d(_WIDTH, _WIDTH, 9, padding=4)
        layer = nn.TransformerEncoderLayer(
            _WIDTH, 4, 4 * _WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, _LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(_WIDTH, n_tokens)

    def forward(self, x: Tensor) -> Tensor:
        masked = torch.where(x < 0, self.embedding.num_embeddings - 1, x)
        embedded = self.embedding(masked) + self.position
        local = self.neighbours(embedded.transpose(1, 2)).transpose(1, 2)
        return self.head(self.encoder(embedded + local))


@dataclass(frozen=True)
class TrainedDecoder:
    """The model, windows of text it has not seen, and a mask for each."""

    model: MaskedDenoiser
    windows: np.ndarray
    masks: np.ndarray

    def marginals(self, x: np.ndarray) -> np.ndarray:
        """Probabilities of the characters at each position."""
        with torch.no_grad():
            logits = self.model(torch.from_numpy(x)[None])[0]
        return logits.to(torch.float64).softmax(dim=-1).numpy()

    def decode(
        self, rule: str, rule_params: dict[str, Any], n_windows: int | None = None
    ) -> list[DecodeResult]:
        """Fill in the first ``n_windows`` windows; None: all of them."""
        starts = np.where(self.masks, -1, self.windows)[:n_windows]
        return [
            decode_masked(self.marginals, WINDOW, rule=rule, rule_params=rule_params, x0=x)
            for x in starts
        ]

    def accuracy(self, results: list[DecodeResult]) -> tuple[float, float]:
        """Share of the masked characters that came out as in the text, with its standard error.

        Windows are drawn on their own, characters of one window are not.
        """
        tokens = np.array([result.tokens for result in results])
        hits = ((tokens == self.windows) & self.masks).sum(axis=1)
        masked = self.masks.sum(axis=1)
        share = hits.sum() / masked.sum()
        return float(share), float(np.linalg.norm(hits - share * masked) / masked.sum())

    def unlike_single_steps(self, results: list[DecodeResult], one_at_a_time: Any) -> float:
        """Share of the masked characters that come out otherwise, one at a time in the same order."""
        starts = np.where(self.masks, -1, self.windows)
        pairs = zip(starts, results, strict=True)
        singles = [one_at_a_time(self.marginals, r.order, x) for x, r in pairs]
        tokens = np.array([result.tokens for result in results])
        return float((tokens != np.array(singles))[self.masks].mean())

    def tokens_per_step(self, results: list[DecodeResult]) -> float:
        """Characters that a call of the model gave on average."""
        return float(self.masks.sum() / sum(result.n_steps for result in results))

    def calibration(self) -> tuple[float, float]:
        """Expected calibration error, and by how much confidence exceeds accuracy where it does most."""
        with torch.no_grad():
            logits = self.model(torch.from_numpy(np.where(self.masks, -1, self.windows)))
        found = token_confidence(logits.numpy())
        confidence = found.confidence[self.masks]
        hit = (found.token == self.windows)[self.masks]
        edges = np.quantile(confidence, np.linspace(0, 1, _N_BINS + 1)[1:-1])
        bins = np.searchsorted(edges, confidence)
        present = np.unique(bins)
        gaps = np.array([(confidence - hit)[bins == b].mean() for b in present])
        shares = np.array([(bins == b).mean() for b in present])
        return float(shares @ np.abs(gaps)), float(max(gaps.max(), 0.0))


def train(n_steps: int, n_windows: int, *, report: Callable[[str], None] = lambda _: None) -> Any:
    """Train on nine tenths of the texts; the windows come from the last tenth."""
    text = "\n".join(topics[name] for name in sorted(topics))
    alphabet = sorted(set(text))
    codes = {character: i for i, character in enumerate(alphabet)}
    data = torch.tensor([codes[character] for character in text])
    split = len(data) * 9 // 10
    held_out = data[split:]

    torch.manual_seed(0)
    model = MaskedDenoiser(len(alphabet))
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=n_steps)
    for step in range(n_steps):
        batch = _windows(data[:split], torch.randint(split - WINDOW, (_BATCH,)))
        rate = 0.05 + 0.55 * torch.rand(_BATCH, 1)
        masked = torch.rand(batch.shape) < rate
        logits = model(torch.where(masked, -1, batch))
        loss = nn.functional.cross_entropy(logits[masked], batch[masked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            report(f"step {step}: cross-entropy {loss.item():.3f}")
    model.eval()
    rng = random.Random(0)
    starts = torch.tensor([rng.randrange(len(held_out) - WINDOW) for _ in range(n_windows)])
    masks = np.random.default_rng(0).random((n_windows, WINDOW)) < 0.3
    return TrainedDecoder(model, _windows(held_out, starts).numpy(), masks)


def _windows(data: Tensor, starts: Tensor) -> Tensor:
    return data[starts[:, None] + torch.arange(WINDOW)]
