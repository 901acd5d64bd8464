"""A small network of `DeltaNet` layers that learns to recall, and the same one without writing.

``python -m benchmarks.neural._associative_recall`` prints the accuracies of several seeds.
"""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

from skfrontier.datasets import make_associative_recall
from skfrontier.nn import DeltaNet

TASK = {"n_keys": 32, "n_values": 32}


class NeverWrite(nn.Module):
    """In place of a layer's writing strengths: their sigmoid is zero."""

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.new_full((*x.shape[:-1], self.n_heads), -torch.inf)


class Block(nn.Module):
    """A `DeltaNet` layer and a network for each token, both added to what came in."""

    def __init__(self, d_model: int, n_heads: int, gated: bool) -> None:
        super().__init__()
        self.before = nn.LayerNorm(d_model)
        self.mix = DeltaNet(d_model, n_heads, gated=gated)
        self.tokenwise = nn.Sequential(
            nn.LayerNorm(d_model),
            nn.Linear(d_model, 2 * d_model),
            nn.GELU(),
            nn.Linear(2 * d_model, d_model),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.mix(self.before(x))[0]
        return x + self.tokenwise(x)


def recall_network(
    *, writes: bool = True, gated: bool = False, d_model: int = 64, n_layers: int = 2
) -> nn.Module:
    """Tokens in, logits of the next token out; without ``writes`` all beta are zero."""
    n_tokens = TASK["n_keys"] + TASK["n_values"]
    blocks = [Block(d_model, 2, gated) for _ in range(n_layers)]
    if not writes:
        for block in blocks:
            block.mix.strength = NeverWrite(2)
    return nn.Sequential(
        nn.Embedding(n_tokens, d_model),
        *blocks,
        nn.LayerNorm(d_model),
        nn.Linear(d_model, n_tokens),
    )


def trained(
    network: nn.Module, *, n_pairs: int = 8, n_rewrites: int = 0, steps: int, batch: int = 64
) -> nn.Module:
    """Adam on fresh sequences in each step."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    facts = make_associative_recall(
        steps * batch, n_pairs=n_pairs, n_rewrites=n_rewrites, random_state=0, **TASK
    )
    tokens = torch.from_numpy(facts.tokens).split(batch)
    targets = torch.from_numpy(facts.targets).split(batch)
    for x, y in zip(tokens, targets, strict=True):
        loss = F.cross_entropy(network(x).flatten(0, 1), y.flatten(), ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return network


def accuracy(network: nn.Module, *, n_pairs: int = 8, n_rewrites: int = 0) -> float:
    """Share of right answers on 1000 sequences that were not trained on."""
    facts = make_associative_recall(
        1000, n_pairs=n_pairs, n_rewrites=n_rewrites, random_state=1, **TASK
    )
    with torch.no_grad():
        answers = network(torch.from_numpy(facts.tokens)).argmax(-1).numpy()
    asked = facts.targets >= 0
    return float((answers == facts.targets)[asked].mean())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for rewrites in (0, 4):
        for name, choice in {
            "delta rule": {},
            "gated": {"gated": True},
            "beta = 0": {"writes": False},
        }.items():
            for seed in range(options.seeds):
                torch.manual_seed(seed)
                network = trained(
                    recall_network(**choice), n_rewrites=rewrites, steps=options.steps
                )
                share = accuracy(network, n_rewrites=rewrites)
                print(f"{rewrites} rewrites, {name}, seed {seed}: {share:.3f}", flush=True)


if __name__ == "__main__":
    main()
