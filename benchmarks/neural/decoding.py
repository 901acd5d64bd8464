"""Fréchet profile decoding: time of a commit beside numpy and row loops, and what the rules commit."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.harness import Case, Contender
from skfrontier.algos import DecodeResult, decode_masked, frechet_commit
from skfrontier.datasets import make_markov_sequences, make_template_sequences

SORTED = "numpy sort and cumsum"
HEADLINE = ("One step of a batch", SORTED)
_SLACK = 4 * 2.0**-53


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    n_models = 2 if quick else 100
    return [
        _batch_case(32 if quick else 256, 1024),
        *(_growth_case(n) for n in ((10_000, 40_000) if quick else (10_000, 100_000, 1_000_000))),
        _model_case("Templates, 3 of them", _sparse_templates, n_models),
        _model_case("Templates, 8 of them", _dense_templates, n_models),
        _model_case("Markov chain", _chain, 2 if quick else 30),
        *(() if quick else (_model_case("Markov chain, more of them", _chain, 100, long=True),)),
        _trained_case(20 if quick else 600, 2 if quick else 100),
    ]


# The same commits by other means.


def _profile(rows: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Deficits as a decoder meets them, a few small and most large, and 70 % of positions masked."""
    rng = np.random.default_rng(0)
    return rng.beta(0.5, 1.0, (rows, length)), rng.random((rows, length)) < 0.7


def _numpy(deficits: np.ndarray, mask: np.ndarray) -> np.ndarray:
    d = np.where(mask, deficits, np.inf)
    order = d.argsort(axis=1, kind="stable")
    d = np.take_along_axis(d, order, axis=1)
    n = np.arange(1, d.shape[1] + 1)
    with np.errstate(invalid="ignore"):
        passing = (1 - d.cumsum(axis=1)) - d > _SLACK * n
    passing[:, 0] = np.isfinite(d[:, 0])  # the best is always committed
    commit = np.zeros_like(mask)
    np.put_along_axis(commit, order, np.logical_and.accumulate(passing, axis=1), axis=1)
    return commit


def _row_loop(deficits: np.ndarray, mask: np.ndarray) -> np.ndarray:
    commit = np.zeros_like(mask)
    for row in range(len(deficits)):
        candidates = np.flatnonzero(mask[row])
        order = candidates[deficits[row, candidates].argsort(kind="stable")]
        total = 0.0
        for n, j in enumerate(order, 1):
            d = deficits[row, j]
            total += d
            if n > 1 and not (1 - total) - d > _SLACK * n:
                break
            commit[row, j] = True
    return commit


def _torch(deficits: np.ndarray, mask: np.ndarray) -> Callable[[], np.ndarray]:
    def run() -> np.ndarray:
        import torch

        d, m = torch.from_numpy(deficits), torch.from_numpy(mask)
        return frechet_commit(deficits=d, mask=m).commit.numpy()

    return run


def _batch_case(rows: int, length: int) -> Case:
    def build() -> list[Contender]:
        deficits, mask = _profile(rows, length)
        expected = _numpy(deficits, mask)

        def other_positions(commit: np.ndarray) -> float:
            return float((commit != expected).mean())

        contenders = [
            ("skfrontier", lambda: frechet_commit(deficits=deficits, mask=mask).commit, "", None),
            (SORTED, lambda: _numpy(deficits, mask), "", 1.3),
            ("skfrontier, torch tensors", _torch(deficits, mask), "torch", None),
            ("Python loop over rows", lambda: _row_loop(deficits, mask), "", 3.0),
        ]
        note = "error: share of positions that differ"
        # One call takes milliseconds: many of them are timed.
        return [
            Contender(
                name,
                partial(_repeated, run),
                requires=requires,
                share=_REPEATS,
                error=other_positions,
                bar=bar,
                note=note,
            )
            for name, run, requires, bar in contenders
        ]

    return Case("One step of a batch", f"{rows} x {length}, 70 % masked", build)


_REPEATS = 20


def _repeated(run: Callable[[], Any]) -> Any:
    for _ in range(_REPEATS):
        result = run()
    return result


def _growth_case(n: int) -> Case:
    """All but a few positions fail the first filter."""

    def build() -> list[Contender]:
        rng = np.random.default_rng(0)
        deficits = rng.uniform(0.55, 1, (1, n))
        deficits[0, rng.choice(n, 50, replace=False)] = rng.uniform(0, 0.1, 50)
        mask = np.ones((1, n), bool)
        return [
            Contender(
                "skfrontier",
                partial(_repeated, lambda: frechet_commit(deficits=deficits, mask=mask)),
                share=_REPEATS,
            ),
            Contender(SORTED, partial(_repeated, lambda: _numpy(deficits, mask)), share=_REPEATS),
        ]

    return Case("Growth, few candidates", f"1 x {n}", build, series="Positions", n=n)


# What the rules commit, on laws with exact marginals.


_RULES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("Fréchet", "frechet", {}),
    ("Fréchet, margin 0.25", "frechet", {"margin": 0.25}),
    ("Fréchet, runners-up", "frechet", {"runner_up": True}),
    ("factor 1", "factor", {}),
    ("factor 0.75", "factor", {"factor": 0.75}),
    ("factor 1, as published", "factor", {"variant": "published"}),
    ("threshold 0.9", "threshold", {"threshold": 0.9}),
    ("threshold 0.6", "threshold", {"threshold": 0.6}),
    ("threshold 0.5", "threshold", {"threshold": 0.5}),
    ("one at a time", "top_k", {"k": 1}),
)


def _sparse_templates(seed: int) -> Any:
    return make_template_sequences(3, 64, 20, random_state=seed)


def _dense_templates(seed: int) -> Any:
    return make_template_sequences(8, 64, 20, noise=0.01, shared=0.3, random_state=seed)


def _chain(seed: int) -> Any:
    return make_markov_sequences(64, 12, random_state=seed)


def one_at_a_time(
    marginals: Callable[[np.ndarray], np.ndarray],
    order: np.ndarray,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Decode in the given order, a position at a time."""
    x = np.full(len(order), -1) if start is None else start.copy()
    for j in order:
        x[j] = marginals(x)[j].argmax()
    return x


def _model_case(
    name: str, make: Callable[[int], Any], n_models: int, *, long: bool = False
) -> Case:
    length = 64
    n_timed = max(1, n_models // 10)

    def build() -> list[Contender]:
        models = [make(seed) for seed in range(n_models)]

        def contender(label: str, rule: str, parameters: dict[str, Any]) -> Contender:
            def decode(some: list[Any]) -> list[DecodeResult]:
                return [
                    decode_masked(m.marginals, length, rule=rule, rule_params=parameters)
                    for m in some
                ]

            results = decode(models)
            singles = [
                one_at_a_time(m.marginals, r.order) for m, r in zip(models, results, strict=True)
            ]
            per_step = np.mean([length / r.n_steps for r in results])
            loss = np.mean(
                [
                    m.log_prob(single) - m.log_prob(r.tokens)
                    for m, single, r in zip(models, singles, results, strict=True)
                ]
            )
            unlike = np.mean(
                [(one != r.tokens).any() for one, r in zip(singles, results, strict=True)]
            )
            return Contender(
                label,
                partial(decode, models[:n_timed]),
                share=n_timed / n_models,
                error=lambda _: float(unlike),
                note=f"{per_step:.4g} tokens a step; {loss:.2g} nats lost; "
                f"certified in {np.mean([r.all_certified for r in results]):.0%} of runs; "
                "error: share of runs unlike one token at a time in the same order",
            )

        return [contender(*rule) for rule in _RULES]

    return Case(name, f"{n_models} models, {length} positions", build, long=long)


# The same on a trained model, whose marginals are those of no law exactly.


@cache
def _trained(n_steps: int, n_windows: int) -> Any:
    from benchmarks.neural._trained_decoder import train

    return train(n_steps, n_windows)


def _trained_case(n_steps: int, n_windows: int) -> Case:
    def build() -> list[Contender]:
        try:
            decoder = _trained(n_steps, n_windows)
        except ImportError:
            return [Contender("skfrontier", lambda: None, note="needs torch")]
        expected_gap, largest_gap = decoder.calibration()
        told = {"calibration_error": largest_gap}
        rules = (
            *_RULES,
            ("four at a time", "top_k", {"k": 4}),
            (f"Fréchet, calibration error {largest_gap:.3f}", "frechet", told),
        )

        n_timed = max(1, n_windows // 20)

        def contender(label: str, rule: str, parameters: dict[str, Any]) -> Contender:
            results = decoder.decode(rule, parameters)
            accuracy, stderr = decoder.accuracy(results)
            per_step = decoder.tokens_per_step(results)
            unlike = decoder.unlike_single_steps(results, one_at_a_time)
            return Contender(
                label,
                partial(decoder.decode, rule, parameters, n_timed),
                share=n_timed / n_windows,
                error=lambda _: 1 - accuracy,
                note=f"{per_step:.3g} characters a step; {accuracy:.1%} +- {stderr:.1%} as in the text, "
                f"error: share of others; {unlike:.2%} unlike one at a time in the same order; "
                f"expected calibration error {expected_gap:.3f}, largest {largest_gap:.3f}",
            )

        return [contender(*rule) for rule in rules]

    return Case(
        "A trained decoder",
        f"{n_steps} training steps, {n_windows} windows of 64 characters, 30 % masked",
        build,
    )
