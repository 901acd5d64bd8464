"""Truncated Boolean product distributions beside column means, naive Bayes, SGD and statsmodels.

Nothing in common use estimates this model for general sets, so the peers differ by case: ``X.mean`` reads
the same bytes and ignores the truncation, ``BernoulliNB`` is the usual classifier of such rows,
projected SGD with rejection sampling is the published method, and statsmodels' ``ConditionalLogit`` fits
rows of a fixed sum. Rows without a peer show the error or the efficiency of this library alone.
"""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import BernoulliNB

from benchmarks.harness import Case, Contender
from skfrontier.algos import (
    CNF,
    Cardinality,
    Halfspaces,
    cardinality_moments,
    gibbs_truncated,
    importance_log_mass,
    make_truncation,
    pack_bits,
)
from skfrontier.datasets import make_truncated_boolean
from skfrontier.estimators import TruncatedBooleanProduct

NAIVE_BAYES = "sklearn BernoulliNB.fit (no truncation)"
HEADLINE = ("Fit of sparse baskets", NAIVE_BAYES)


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    n = 1_000 if quick else 10_000
    sizes = (500, 1_000, 2_000) if quick else (5_000, 10_000, 20_000, 40_000)
    lengths = (500, 1_000) if quick else (2_500, 5_000, 10_000)
    return [
        _counts_case(2_000 if quick else 20_000, n),
        _fit_case(2_000 if quick else 20_000, n),
        *(_growth_case(N, n) for N in sizes),
        _tiny_mass_case(20_000, 100 if quick else 400, 85 if quick else 370),
        _sgd_case(15, steps=2_000 if quick else 60_000, long=not quick),
        *([] if quick else [_spent_draws_case()]),
        _slice_case(500 if quick else 5_000),
        _fixed_sum_case(60 if quick else 300),
        *(_moments_case(length) for length in lengths),
        _mass_case(),
        _random_half_case(2 if quick else 40),
        _formula_case(60 if quick else 400, 2_000 if quick else 100_000, long=not quick),
        Case(
            "A million rows",
            "cardinality, N = 1000000, n = 500",
            lambda: _million(100_000 if quick else 1_000_000),
            long=not quick,
        ),
    ]


@lru_cache(maxsize=1)
def _baskets(n_samples: int, n_features: int) -> np.ndarray:
    """Non-empty rows of 2 % ones."""
    rng = np.random.default_rng(0)
    X = (rng.random((n_samples, n_features), dtype=np.float32) < 0.02).view(np.uint8)
    X[~X.any(axis=1), 0] = 1
    return X


def _counts_case(n_samples: int, n_features: int) -> Case:
    def build() -> list[Contender]:
        X = _baskets(n_samples, n_features)
        S = Cardinality(min=1, max=int(X.sum(axis=1).max()))
        rows, packed = sparse.csr_array(X), pack_bits(X)
        budget = Halfspaces(np.ones(n_features), float(X.sum(axis=1).max()))
        rng = np.random.default_rng(0)
        rules = CNF(_clauses_met_by(X, 2_000, 10, rng), n_features)
        mean = "numpy X.mean(axis=0)"
        return [
            Contender(
                "flip counts, dense", lambda: S.flip_counts(X), note="bar: 1.4 means at most"
            ),
            Contender(mean, lambda: X.mean(axis=0), bar=1 / 1.4, note="truncation ignored"),
            Contender("flip counts, CSR", lambda: S.flip_counts(rows)),
            Contender("flip counts, packed bits", lambda: S.flip_counts(packed)),
            Contender("flip counts, one halfspace", lambda: budget.flip_counts(X)),
            Contender("flip counts, one halfspace, CSR", lambda: budget.flip_counts(rows)),
            Contender("flip counts, 2000 clauses of 10", lambda: rules.flip_counts(X)),
        ]

    return Case("Counting flips", f"{n_samples} x {n_features}, 2 % ones", build)


def _clauses_met_by(
    X: np.ndarray, count: int, length: int, rng: np.random.Generator
) -> list[list[int]]:
    """Clauses "not all of these", which rows of few ones satisfy."""
    return [
        [-int(v + 1) for v in rng.choice(X.shape[1], length, replace=False)] for _ in range(count)
    ]


def _fit_case(n_samples: int, n_features: int) -> Case:
    def build() -> list[Contender]:
        X = _baskets(n_samples, n_features)
        y = np.arange(n_samples) % 2

        def fit() -> Any:
            return TruncatedBooleanProduct("nonempty").fit(X)

        return [
            Contender("TruncatedBooleanProduct.fit", fit),
            Contender(NAIVE_BAYES, lambda: BernoulliNB().fit(X, y), bar=10.0),
            Contender("numpy X.mean(axis=0)", lambda: X.mean(axis=0), bar=1 / 3),
        ]

    return Case("Fit of sparse baskets", f"non-empty, {n_samples} x {n_features}, 2 % ones", build)


def _growth_case(n_samples: int, n_features: int) -> Case:
    def build() -> list[Contender]:
        X = _baskets(n_samples, n_features)
        S = Cardinality(min=1)
        return [Contender("flip counts, dense", lambda: S.flip_counts(X))]

    size = f"{n_samples} x {n_features}"
    return Case("Growth with rows", size, build, series="flip counts over rows", n=n_samples)


def _tiny_mass_case(n_samples: int, n: int, k: int) -> Case:
    def build() -> list[Contender]:
        S = Cardinality(min=k)
        X, z, _ = make_truncated_boolean(
            n_samples, n, truncation=S, random_state=0, return_params=True
        )

        def fit(**settings: Any) -> Callable[[], Any]:
            return lambda: TruncatedBooleanProduct(S, **settings).fit(X)

        error = _largest_error(z)
        return [
            Contender("conditional", fit(), error=error, note="error: largest, in logits"),
            Contender("exact likelihood", fit(method="mle"), error=error),
            Contender("logit of the means", fit(method="naive"), error=error),
        ]

    return Case("Tiny mass", f"at least {k} of {n} ones, N = {n_samples}", build)


def _sgd_case(k: int, steps: int, long: bool) -> Case:
    def build() -> list[Contender]:
        S = Cardinality(min=k)
        X, z, _ = make_truncated_boolean(
            20_000, 20, truncation=S, random_state=0, return_params=True
        )
        error = _root_mean_square(z)

        def sgd(lam: float) -> Contender:
            settings = {"lam": lam, "steps": steps}
            model = TruncatedBooleanProduct(S, method="sgd", sgd_params=settings, random_state=0)
            return Contender(f"SGD, lam = {lam}", lambda: model.fit(X), error=error, bar=100.0)

        return [
            Contender(
                "conditional",
                lambda: TruncatedBooleanProduct(S).fit(X),
                error=error,
                note="error: root mean square, in logits",
            ),
            *(sgd(lam) for lam in (0.02, 0.05, 0.15)),
        ]

    size = f"at least {k} of 20 ones, N = 20000, {steps} steps"
    return Case("Beside the published SGD", size, build, long=long)


def _spent_draws_case() -> Case:
    """Both with their defaults, but for the number of steps: as many as ten million draws last."""

    def build() -> list[Contender]:
        S = Cardinality(min=17)
        X, z, _ = make_truncated_boolean(
            20_000, 20, truncation=S, random_state=0, return_params=True
        )
        error = _root_mean_square(z)

        def sgd(lam: float) -> Contender:
            settings = {"lam": lam, "steps": 2_000_000}
            model = TruncatedBooleanProduct(S, method="sgd", sgd_params=settings, random_state=0)

            def fit() -> TruncatedBooleanProduct:
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    model.fit(X)
                assert any(issubclass(w.category, ConvergenceWarning) for w in seen)
                return model

            return Contender(f"SGD until it warns, lam = {lam}", fit, error=error)

        return [
            Contender(
                "conditional",
                lambda: TruncatedBooleanProduct(S).fit(X),
                error=error,
                note="error: root mean square, in logits",
            ),
            *(sgd(lam) for lam in (0.05, 0.02, 0.15)),
        ]

    size = "at least 17 of 20 ones, N = 20000, 1e7 draws"
    return Case("Beside the published SGD", size, build, long=True)


def _slice_case(n_samples: int) -> Case:
    def build() -> list[Contender]:
        S = Cardinality([20])
        X, z, _ = make_truncated_boolean(
            n_samples, 200, truncation=S, random_state=0, return_params=True
        )
        error = _root_mean_square(z - z.mean())

        def fit(**settings: Any) -> Callable[[], Any]:
            model = TruncatedBooleanProduct(S, unidentified="ignore", random_state=0, **settings)
            return lambda: model.fit(X)

        return [
            Contender("pairs of degree 8", fit(), error=error, note="error: root mean square"),
            Contender("exact likelihood", fit(method="mle"), error=error),
        ]

    return Case("A fixed number of ones", f"20 of 200, N = {n_samples}", build)


def _fixed_sum_case(n_samples: int) -> Case:
    def build() -> list[Contender]:
        S = Cardinality([3])
        n = 10
        X = S.sample_exact(np.linspace(-1, 1, n), n_samples, 0)
        items = np.tile(np.eye(n)[:, 1:], (n_samples, 1))
        groups = np.repeat(np.arange(n_samples), n)

        def ours() -> np.ndarray:
            model = TruncatedBooleanProduct(S, method="mle", smoothing=0, unidentified="ignore")
            z = model.fit(X).natural_parameters_
            return z[1:] - z[0]

        def theirs() -> np.ndarray:
            from statsmodels.discrete.conditional_models import ConditionalLogit

            return ConditionalLogit(X.ravel(), items, groups=groups).fit(disp=0).params

        reference = ours()
        return [
            Contender("exact likelihood", ours),
            Contender(
                "statsmodels ConditionalLogit",
                theirs,
                requires="statsmodels",
                error=lambda z: float(np.abs(z - reference).max()),
                bar=100.0,
                note="error: largest difference of the estimates",
            ),
        ]

    return Case("Beside conditional logit", f"3 of 10 ones, N = {n_samples}", build)


def _moments_case(n: int) -> Case:
    def build() -> list[Contender]:
        z = np.random.default_rng(0).uniform(-1, 1, n)
        allowed = np.arange(n + 1) >= int(0.6 * n)
        return [Contender("cardinality_moments, banded", lambda: cardinality_moments(z, allowed))]

    size = f"at least 60 % of {n} ones"
    return Case("Exact mass and mean", size, build, series="exact moments over n", n=n)


def _mass_case() -> Case:
    def build() -> list[Contender]:
        n, k = 400, 370
        S = Cardinality(min=k)
        z = np.random.default_rng(0).uniform(-1, 1, n)
        X = S.sample_exact(z, 20_000, 0)
        means = (X.sum(axis=0) + 0.5) / (len(X) + 1)
        proposal = np.log(means / (1 - means))
        exact = S.log_mass(z)

        def sampled() -> float:
            return importance_log_mass(z, proposal, S.contains, random_state=0).log_mass

        return [
            Contender("importance sampling", sampled, error=lambda value: abs(value - exact)),
            Contender("dynamic programme", lambda: S.log_mass(z)),
        ]

    return Case("Mass by sampling", "at least 370 of 400 ones, 20000 draws", build)


def _random_half_case(repeats: int) -> Case:
    def build() -> list[Contender]:
        S = make_truncation("random", 10, random_state=0)
        z = np.random.default_rng(1).uniform(-1, 1, 10)
        samples = [
            make_truncated_boolean(3000, 10, truncation=S, z=z, random_state=seed)
            for seed in range(repeats)
        ]

        def fit(**settings: Any) -> Callable[[], Any]:
            def run() -> np.ndarray:
                models = [TruncatedBooleanProduct(S, **settings).fit(X) for X in samples]
                return np.array([model.natural_parameters_ - z for model in models])

            return run

        def error(deviations: np.ndarray) -> float:
            return float((deviations**2).sum(axis=1).mean())

        return [
            Contender("default", fit(), error=error, note="error: mean squared, summed"),
            Contender("flips", fit(moves="flips"), error=error),
            Contender("exact likelihood", fit(method="mle"), error=error),
        ]

    return Case("A set without structure", f"random half of 2^10, N = 3000, {repeats} times", build)


def _formula_case(n: int, n_samples: int, long: bool) -> Case:
    def build() -> list[Contender]:
        S, witness = _planted(n, n, np.random.default_rng(0))
        z = np.random.default_rng(5).uniform(-1, 1, n)
        starts = np.repeat(witness[None], n_samples, axis=0)
        # From 25 sweeps on the errors of flips have the size that their standard errors say.
        X = gibbs_truncated(starts, z, S, n_sweeps=60, random_state=0)

        def fit(moves: str) -> Callable[[], Any]:
            model = TruncatedBooleanProduct(S, moves=moves, random_state=0)
            return lambda: model.fit(X)

        def loss(model: Any) -> float:
            return 1 - model.efficiency_

        def surplus(model: Any) -> float:
            variance = (model.stderr_**2).sum()
            return float(((model.natural_parameters_ - z) ** 2).sum() / variance)

        return [
            Contender("optimal", fit("optimal"), error=loss, note="error: information not used"),
            Contender("flips", fit("flips"), error=loss),
            Contender(
                "flips, calibration",
                fit("flips"),
                error=surplus,
                note="error: squared error over variance, 1 if the rows have the law",
            ),
        ]

    return Case("Many clauses", f"3-CNF, n = {n}, {n} clauses, N = {n_samples}", build, long=long)


def _planted(n: int, count: int, rng: np.random.Generator) -> tuple[CNF, np.ndarray]:
    """Random 3-clauses that a hidden row satisfies, and that row."""
    witness = rng.integers(0, 2, n).astype(np.uint8)
    clauses = []
    while len(clauses) < count:
        variables, signs = rng.choice(n, 3, replace=False), rng.integers(0, 2, 3)
        if (signs == witness[variables]).any():
            clauses.append(
                [int(v + 1) * (2 * int(s) - 1) for v, s in zip(variables, signs, strict=True)]
            )
    return CNF(clauses, n), witness


def _million(n_samples: int) -> list[Contender]:
    X = (np.random.default_rng(0).random((n_samples, 500), dtype=np.float32) < 0.02).view(np.uint8)
    X = X[X.any(axis=1)]

    def fit(n_jobs: int) -> Callable[[], Any]:
        model = TruncatedBooleanProduct("nonempty", n_jobs=n_jobs, covariance="diagonal")
        return lambda: model.fit(X)

    return [
        Contender("one thread", fit(1)),
        Contender("two threads", fit(2), note="CPU time of both"),
        Contender("numpy X.mean(axis=0)", lambda: X.mean(axis=0)),
    ]


def _largest_error(z: np.ndarray) -> Callable[[Any], float]:
    return lambda model: float(np.abs(model.natural_parameters_ - z).max())


def _root_mean_square(z: np.ndarray) -> Callable[[Any], float]:
    return lambda model: float(np.sqrt(((model.natural_parameters_ - z) ** 2).mean()))
