"""Matching under insertions and deletions beside solving again: scipy, lap, POT."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp
from sklearn.datasets import load_digits

from benchmarks.harness import Case, Contender
from skfrontier.algos import stretch_bound
from skfrontier.algos.geometry.matching.costs import vector_cost
from skfrontier.algos.geometry.matching.drift_tests import ConformalBets, block_cost, split_test
from skfrontier.estimators import DynamicMatching, WassersteinDriftMonitor

SCIPY = "scipy cdist + linear_sum_assignment"
HEADLINE = ("One replacement, exact", SCIPY)

_REPLACED = 20
_OPTIMUM_10_000 = 129.30724  # uniform, seed 0; stored, for the matrix of it takes 800 MB


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    return [
        *(
            _exact_case(n, n, 2, bar)
            for n, bar in (((300, None),) if quick else ((500, None), (1000, 20), (2000, 35)))
        ),
        _exact_case(200, 220, 2, None) if quick else _exact_case(2000, 2200, 2, None),
        _slack_case(200 if quick else 2000),
        _block_case(200 if quick else 1000),
        *(_anytime_case(150 if quick else 600, name) for name in ("uniform", "shift", "d = 8")),
        *(
            _metric_case(200 if quick else 800, d, k)
            for d in (2, 16)
            for k in ((2,) if quick else (2, 3))
        ),
        *(_certificate_case(150 if quick else 400, name) for name in ("uniform", "shift", "gauss")),
        _static_case(500 if quick else 2000),
        _stream_case(quick),
        *(_update_case(n) for n in ((500, 2000) if quick else (1000, 10_000, 100_000))),
        _threshold_case(300 if quick else 5000, 8, "metric"),
        _threshold_case(300 if quick else 5000, 2, "geometric"),
        _memory_case(2000 if quick else 20_000),
        _conformal_case(20 if quick else 300),
        _permutation_case(20 if quick else 300),
        _digits_case(1 if quick else 6),
    ]


# Data and optima: made once, shared by cases.


@cache
def _sides(name: str, n_a: int, n_b: int, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    draw = (
        (lambda n: rng.normal(size=(n, d))) if name == "gauss" else (lambda n: rng.random((n, d)))
    )
    A, B = draw(n_a), draw(n_b)
    return A, B + 0.3 * (name == "shift")


def _solve(A: np.ndarray, B: np.ndarray) -> float:
    costs = cdist(A, B)
    return float(costs[linear_sum_assignment(costs)].sum())


@cache
def _optimum(name: str, n_a: int, n_b: int, d: int = 2) -> float:
    if (name, n_a, n_b, d) == ("uniform", 10_000, 10_000, 2):
        return _OPTIMUM_10_000
    return _solve(*_sides(name, n_a, n_b, d))


def _lap(A: np.ndarray, B: np.ndarray) -> float:
    import lap

    return float(lap.lapjv(cdist(A, B), extend_cost=True)[0])


def _pot(A: np.ndarray, B: np.ndarray) -> float:
    import ot

    return float(ot.emd2(np.empty(0), np.empty(0), cdist(A, B)) * len(A))


def _sliced(A: np.ndarray, B: np.ndarray) -> float:
    import ot

    return float(ot.sliced_wasserstein_distance(A, B, n_projections=200, seed=0, p=1) * len(A))


def _sinkhorn(A: np.ndarray, B: np.ndarray) -> float:
    import ot

    costs = cdist(A, B)
    return float(ot.sinkhorn2([], [], costs, 0.05 * costs.mean()) * len(A))


# A model that goes on from run to run.


def _stream(
    model: DynamicMatching, A: np.ndarray, B: np.ndarray, n: int, block: int = 1
) -> Callable[[], DynamicMatching]:
    """Replace ``n`` points of A at random places, ``block`` at a time."""
    rng = np.random.default_rng(1)
    model.fit(A, B)

    def run() -> DynamicMatching:
        for _ in range(0, n, block):
            new = rng.random((block, A.shape[1]))
            model.update(delete_a=model.ids("a")[:block], insert_a=new)
        return model

    return run


def _excess(model: DynamicMatching) -> float:
    """Cost over that of the cheapest matching of the present points, minus 1."""
    return model.cost_ / _solve(model.points("a"), model.points("b")) - 1


def _exact_case(n_a: int, n_b: int, d: int, bar: float | None) -> Case:
    def build() -> list[Contender]:
        A, B = _sides("uniform", n_a, n_b, d)
        run = _stream(DynamicMatching(method="exact"), A, B, _REPLACED)
        peers = [
            Contender("lap lapjv", lambda: _lap(A, B), requires="lap"),
            Contender("POT emd2", lambda: _pot(A, B), requires="ot"),
        ]
        return [
            Contender("skfrontier", run, share=_REPLACED, error=_excess),
            Contender(SCIPY, lambda: _solve(A, B), bar=bar),
            *(peers if n_a == n_b else peers[:1]),
        ]

    name = "One replacement, exact" if n_a == n_b else "One replacement, exact, with slack"
    series = "exact replacement" if n_a == n_b else ""
    return Case(name, f"{n_a} and {n_b} points, d = {d}", build, series=series, n=n_a)


def _slack_case(n: int) -> Case:
    def build() -> list[Contender]:
        models = [DynamicMatching(method="exact") for _ in range(2)]
        runs = [
            _stream(model, *_sides("uniform", n, n_b), _REPLACED)
            for model, n_b in zip(models, (n + n // 10, n), strict=True)
        ]
        return [
            Contender("10 % slack", runs[0], share=_REPLACED),
            Contender("balanced", runs[1], share=_REPLACED, bar=6),
        ]

    return Case("What slack saves", f"{n} points, exact", build)


def _block_case(n: int) -> Case:
    def build() -> list[Contender]:
        A, B = _sides("uniform", n, n)
        block = n // 10
        models = [DynamicMatching(method="exact") for _ in range(2)]
        return [
            Contender("block", _stream(models[0], A, B, block, block), error=_excess),
            Contender("one by one", _stream(models[1], A, B, block), error=_excess),
        ]

    return Case("Blocks of replacements", f"{n // 10} of {n} points, exact", build)


def _anytime_case(n: int, name: str) -> Case:
    def build() -> list[Contender]:
        kind, d = ("uniform", 8) if name == "d = 8" else (name, 2)
        A, B = _sides(kind, n, n, d)
        models = [DynamicMatching(method="anytime", max_scans=scans) for scans in (64, 16, 4)]
        return [
            Contender(
                f"max_scans = {model.max_scans}",
                _stream(model, A, B, 2 * n),
                error=_excess,
                note="error: cost over the best",
            )
            for model in models
        ]

    return Case(f"Anytime, {name}", f"{n} points, {2 * n} replacements", build)


def _metric_case(n: int, d: int, k: int) -> Case:
    def build() -> list[Contender]:
        kind = "uniform" if d == 2 else "gauss"
        A, B = _sides(kind, n, n, d)
        model = DynamicMatching(method="metric", stretch=k, random_state=0)

        def error(cost: float) -> float:
            return cost / _optimum(kind, n, n, d) - 1

        return [
            Contender(
                f"skfrontier, proven factor {stretch_bound(k):g}",
                lambda: model.fit(A, B).cost_,
                error=error,
            ),
            Contender(SCIPY, lambda: _solve(A, B), error=error),
        ]

    return Case(f"Hubs, {k} levels", f"{n} points, d = {d}, from scratch", build)


def _certificate_case(n: int, name: str) -> Case:
    def build() -> list[Contender]:
        d = 16 if name == "gauss" else 2
        A, B = _sides(name, n, n, d)
        best = _optimum(name, n, n, d)
        models = {
            f"hubs, {k} levels": DynamicMatching(method="metric", stretch=k, random_state=0)
            for k in (2, 3)
        }
        if d == 2:
            models["geometric"] = DynamicMatching(method="geometric", random_state=0)
        ours = [
            Contender(
                f"skfrontier {title}, {mode}",
                lambda model=model, mode=mode: model.fit(A, B).query(certify=mode).lower_bound,
                error=lambda bound: bound / best - 1,
            )
            for title, model in models.items()
            for mode in (("auto", "dual") if title == "geometric" else ("dual",))
        ]
        return [
            *ours,
            Contender("POT sliced", lambda: _sliced(A, B), requires="ot", error=lambda c: c / best - 1,
                      note="below the distance, by how much is not known"),
            Contender("POT Sinkhorn", lambda: _sinkhorn(A, B), requires="ot",
                      error=lambda c: c / best - 1, note="no bound"),
        ]  # fmt: skip

    return Case(f"Lower bounds, {name}", f"{n} points", build)


def _static_case(n: int) -> Case:
    def build() -> list[Contender]:
        A, B = _sides("uniform", n, n)

        def error(cost: float) -> float:
            return cost / _optimum("uniform", n, n) - 1

        def fitted(**options: Any) -> DynamicMatching:
            return DynamicMatching(method="geometric", random_state=0, **options).fit(A, B)

        return [
            Contender("skfrontier chains", lambda: fitted().cost_, error=error),
            Contender("skfrontier, grid alone", lambda: fitted(n_candidates=0).cost_, error=error),
            Contender("skfrontier rebuild", lambda: fitted().rebuild().cost_, error=error),
            Contender(SCIPY, lambda: _solve(A, B), error=error),
        ]

    return Case("Geometric, from scratch", f"uniform, {n} points", build)


def _stream_case(quick: bool) -> Case:
    n = 500 if quick else 10_000

    def build() -> list[Contender]:
        A, B = _sides("uniform", n, n)
        best = _optimum("uniform", n, n)
        rng = np.random.default_rng(1)
        new = np.vstack([rng.random((n, 2)), A])  # the set of seed 0 is there again at the end
        model = DynamicMatching(method="geometric", random_state=0)

        def replaced() -> float:
            model.fit(rng.random((n, 2)), B)
            for oldest, point in enumerate(new):
                model.update(delete_a=[oldest], insert_a=[point])
            return model.cost_

        return [
            Contender("after 2 n replacements", replaced, error=lambda cost: cost / best - 1),
            Contender(
                "and a rebuild", lambda: model.rebuild().cost_, error=lambda cost: cost / best - 1
            ),
            Contender(
                "auction bound of that",
                lambda: model.query(certify="dual").lower_bound,
                error=lambda bound: bound / best - 1,
            ),
            Contender(
                "certified all along",
                lambda: _worst_gap(A, B, new),
                error=float,
                note="a query every 50 replacements; the error is the worst gap",
            ),
        ]

    return Case("Geometric, stream", f"uniform, {n} points, {2 * n} replacements", build)


def _worst_gap(A: np.ndarray, B: np.ndarray, new: np.ndarray) -> float:
    """The largest gap of the queries of a stream of replacements."""
    model = DynamicMatching(method="geometric", random_state=0).fit(A, B)
    gaps = [model.gap_]
    for oldest, point in enumerate(new):
        model.update(delete_a=[oldest], insert_a=[point])
        if oldest % 50 == 0:
            gaps.append(model.gap_)
    return max(gaps)


def _update_case(n: int) -> Case:
    def build() -> list[Contender]:
        A, B = _sides("uniform", n, n)
        contenders = [
            _replacing("skfrontier, 200 replacements", 200, A, B, method="geometric"),
        ]
        if n * n <= 4e8:
            contenders.append(
                _replacing("and prices kept", 200, A, B, method="geometric", certified=True)
            )
        return contenders

    return Case("Geometric, updates", f"uniform, {n} points", build, series="geometric", n=n)


def _threshold_case(n: int, d: int, other: str) -> Case:
    """Whether ``method='auto'`` leaves the exact method where it should."""

    def build() -> list[Contender]:
        A, B = _sides("uniform", n, n, d)
        return [
            _replacing(f"skfrontier {method}, 20 replacements", 20, A, B, method=method)
            for method in (other, "exact")
        ]

    return Case("Where auto leaves exact", f"uniform, {n} points, d = {d}", build, long=True)


def _replacing(
    name: str,
    n_replaced: int,
    A: np.ndarray,
    B: np.ndarray,
    *,
    method: str,
    certified: bool = False,
) -> Contender:
    """Replacements in a matching that goes on from run to run."""
    model = DynamicMatching(method=method, random_state=0).fit(A, B)
    if certified:
        model.query()
    rng, oldest = np.random.default_rng(1), [0]

    def run() -> DynamicMatching:
        for _ in range(n_replaced):
            model.update(delete_a=[oldest[0]], insert_a=rng.random((1, A.shape[1])))
            oldest[0] += 1
        return model

    return Contender(name, run)


def _memory_case(n: int) -> Case:
    def build() -> list[Contender]:
        A, B = _sides("uniform", n, n + n // 10, 8)

        def run() -> float:
            model = DynamicMatching(method="anytime", max_scans=64).fit(A, B)
            for row in A[:20]:
                model.update(insert_a=row[None] + 1e-3)
            return model.cost_

        return [Contender("skfrontier anytime", run, note="memory: no matrix of distances")]

    return Case("Memory", f"{n} and {n + n // 10} points, d = 8", build, long=True)


# The monitor: errors are rates of alarms minus what was asked for.


def _conformal_case(n_runs: int) -> Case:
    window, alpha, cost = 100, 0.05, vector_cost("euclidean")

    def streams() -> tuple[float, float]:
        ever, blocks = 0, []
        for run in range(n_runs):
            rng = np.random.default_rng([0, run])
            reference = rng.normal(size=(window, 1))

            def distance(rng=rng, reference=reference) -> float:
                return block_cost(cost, reference, rng.normal(size=(window, 1)))

            bets, alarmed = ConformalBets(np.array([distance() for _ in range(20)])), False
            for _ in range(100):
                blocks.append(bets.p_value(distance(), rng) <= alpha)
                alarmed |= bets.e_value >= 1 / alpha
            ever += alarmed
        return float(np.mean(blocks)), ever / n_runs

    def build() -> list[Contender]:
        return [
            Contender("blocks with p <= .05", streams, error=lambda rates: rates[0] - alpha),
            Contender("streams with an alarm", streams, error=lambda rates: rates[1] - alpha),
        ]

    size = f"{n_runs} streams of 100 blocks of {window}, no drift"
    return Case("Conformal false alarms, minus .05", size, build)


def _permutation_case(n: int) -> Case:
    def rate(correlation: float, run_length: int) -> Callable[[], float]:
        def run() -> float:
            alarms = 0
            for seed in range(n):
                rng = np.random.default_rng([4, seed])
                first, second = (_autoregressive(rng, 100, correlation) for _ in range(2))
                outcome = split_test(
                    vector_cost("euclidean"), first, second, n_permutations=99, alpha=0.05,
                    run_length=run_length, rng=rng,
                )  # fmt: skip
                alarms += outcome.p_value <= 0.05
            return alarms / n

        return run

    def build() -> list[Contender]:
        return [
            Contender(
                f"correlation {correlation}, runs of {run_length}",
                rate(correlation, run_length),
                error=lambda found: found - 0.05,
            )
            for correlation, run_length in ((0.0, 1), (0.5, 1), (0.5, 10), (0.9, 1), (0.9, 20))
        ]

    return Case("Permutation false alarms, minus .05", f"{n} blocks of 100, no drift", build)


def _autoregressive(rng: np.random.Generator, n: int, correlation: float) -> np.ndarray:
    """A stationary Gaussian sequence with variance 1."""
    noise = rng.normal(size=n)
    for t in range(1, n):
        noise[t] = correlation * noise[t - 1] + np.sqrt(1 - correlation**2) * noise[t]
    return noise[:, None]


def _digits_case(n_seeds: int) -> Case:
    X, y = load_digits(return_X_y=True)
    old, new = X[y >= 5] / 16, X[y < 5] / 16

    def streams() -> list[tuple[np.ndarray, np.ndarray]]:
        result = []
        for seed in range(n_seeds):
            rng = np.random.default_rng(seed)
            before = old[rng.permutation(len(old))]
            after = new[rng.permutation(len(new))[:400]]
            result.append((before[:400], np.vstack([before[400:800], after])))
        return result

    def ours() -> float:
        delays = []
        for seed, (reference, stream) in enumerate(streams()):
            monitor = WassersteinDriftMonitor(
                window=100, n_permutations=99, alpha=0.01, random_state=seed
            ).fit(reference)
            alarms = []
            for t, row in enumerate(stream):
                monitor.partial_fit(row[None])
                if monitor.drift_detected_:
                    alarms.append(t)
            delays.append(_delay(alarms))
        return float(np.mean(delays))

    def river_detector(detector: str, per_pixel: bool) -> Callable[[], float]:
        def run() -> float:
            from river import drift

            delays = []
            for reference, stream in streams():
                rows = np.vstack([reference, stream])
                rows = rows if per_pixel else rows.mean(axis=1, keepdims=True)
                options = {"seed": 0} if detector == "KSWIN" else {}
                detectors = [getattr(drift, detector)(**options) for _ in range(rows.shape[1])]
                alarms = []
                for t, row in enumerate(rows, -len(reference)):
                    for watch, value in zip(detectors, row, strict=True):
                        watch.update(float(value))
                    if t >= 0 and any(watch.drift_detected for watch in detectors):
                        alarms.append(t)
                delays.append(_delay(alarms))
            return float(np.mean(delays))

        return run

    def pixel_tests() -> float:
        delays = []
        for reference, stream in streams():
            n_pixels = stream.shape[1]
            alarms = [
                stop - 1
                for stop in range(100, len(stream) + 1, 100)
                if min(
                    ks_2samp(reference[:, k], stream[stop - 100 : stop, k]).pvalue
                    for k in range(n_pixels)
                )
                <= 0.01 / n_pixels
            ]
            delays.append(_delay(alarms))
        return float(np.mean(delays))

    def build() -> list[Contender]:
        note = (
            "error: rows until the first alarm after the change; false ones before it count as 400"
        )
        return [
            Contender("skfrontier permutation", ours, error=float, note=note),
            Contender("scipy ks_2samp per pixel, Bonferroni", pixel_tests, error=float),
            Contender(
                "river ADWIN per pixel",
                river_detector("ADWIN", True),
                requires="river",
                error=float,
            ),
            Contender(
                "river KSWIN of the mean",
                river_detector("KSWIN", False),
                requires="river",
                error=float,
            ),
        ]

    return Case("Digits of other classes", f"{n_seeds} streams, change at row 400", build)


def _delay(alarms: list[int]) -> int:
    """Rows from the change at row 400 to the first alarm, 400 for none or for an earlier one."""
    if not alarms or alarms[0] < 400:
        return 400
    return alarms[0] - 400
