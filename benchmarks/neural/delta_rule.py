"""The delta rule: the compiled recurrence beside the chunk form in NumPy and PyTorch, and recall.

The error of a row is the largest of an output, against the recurrence in float64; of a trained network it is
the share of wrong answers.
"""

import importlib
from typing import Any

import numpy as np

from benchmarks.harness import Case, Contender
from skfrontier.algos import DeltaRuleResult, delta_rule

HEADLINE = ("One layer's sequence", "chunk form, NumPy")
STEPS = 1500
FEW_STEPS = 200  # enough to tell a network that writes from one that does not


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    lengths = (256, 512) if quick else (1024, 4096, 16384)
    return [
        *(_sequence_case(lengths[1], dtype) for dtype in (np.float32, np.float64)),
        *(_growth_case(T) for T in lengths),
        _recall_case(20 if quick else FEW_STEPS, 0),
        *([] if quick else [_recall_case(STEPS, rewrites) for rewrites in (0, 4)]),
    ]


def _call(T: int, heads: int, d: int, dtype: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, 1, T, heads, d))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    beta = rng.random((1, T, heads))
    g = -0.1 * rng.random((1, T, heads))
    return [x.astype(dtype) for x in (q, k, v, beta, g)]


def _sequence_case(T: int, dtype: type) -> Case:
    def build() -> list[Contender]:
        call = _call(T, 4, 64, dtype)
        exact = delta_rule(*(x.astype(np.float64) for x in call)).output

        def error(result: Any) -> float:
            return float(np.abs(np.asarray(result.output) - exact).max())

        return [
            Contender("delta_rule, recurrent", lambda: delta_rule(*call), error=error),
            Contender(
                "chunk form, NumPy",
                lambda: delta_rule(*call, method="chunk"),
                error=error,
                bar=2.0,
            ),
            *_torch_contenders(call, error),
        ]

    name = np.dtype(dtype).name
    return Case("One layer's sequence", f"T = {T}, 4 heads, K = V = 64, gated, {name}", build)


def _torch_contenders(call: list[np.ndarray], error: Any) -> list[Contender]:
    try:
        import torch
    except ImportError:
        tensors: list = []
        share = 1.0
    else:
        torch.set_num_threads(1)
        tensors = [torch.from_numpy(x) for x in call]
        share = 0.125
    short = [x[:, : int(share * x.shape[1])] for x in tensors]
    return [
        Contender("chunk form, torch", lambda: delta_rule(*tensors), requires="torch", error=error),
        Contender(
            "loop over tokens, torch",
            lambda: delta_rule(*short, method="recurrent"),
            requires="torch",
            share=share,
        ),
        Contender(
            "chunk form of transformers",
            lambda: _of_transformers(*tensors),
            requires="transformers",
            error=error,
            note="Qwen3-Next, its path without flash-linear-attention",
        ),
    ]


def _of_transformers(q: Any, k: Any, v: Any, beta: Any, g: Any) -> DeltaRuleResult:
    model = importlib.import_module("transformers.models.qwen3_next.modeling_qwen3_next")
    return DeltaRuleResult(*model.torch_chunk_gated_delta_rule(q, k, v, g, beta))


def _growth_case(T: int) -> Case:
    def build() -> list[Contender]:
        call = _call(T, 1, 64, np.float32)
        return [
            Contender("delta_rule, recurrent", lambda: delta_rule(*call)),
            Contender("chunk form, NumPy", lambda: delta_rule(*call, method="chunk")),
        ]

    return Case("Longer sequences", f"T = {T}, K = V = 64", build, series="Longer sequences", n=T)


def _recall_case(steps: int, rewrites: int) -> Case:
    choices = {
        "DeltaNet": {},
        "DeltaNet, gated": {"gated": True},
        "beta fixed at 0": {"writes": False},
    }

    def build() -> list[Contender]:
        def run(choice: dict) -> float:
            import torch

            from benchmarks.neural._associative_recall import accuracy, recall_network, trained

            torch.set_num_threads(1)
            torch.manual_seed(0)
            network = trained(recall_network(**choice), n_rewrites=rewrites, steps=steps)
            return accuracy(network, n_rewrites=rewrites)

        return [
            Contender(
                name,
                lambda choice=choice: run(choice),
                requires="torch",
                error=lambda right: 1 - right,
            )
            for name, choice in choices.items()
        ]

    size = f"8 pairs, {rewrites} rewritten, 2 layers, d = 64, {steps} steps"
    return Case("Associative recall", size, build, long=steps > FEW_STEPS)
