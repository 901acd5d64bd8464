"""Chamfer distance beside scikit-learn, faiss, scipy and blind subsampling."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances_argmin_min

from benchmarks.harness import Case, Contender
from skfrontier.algos import chamfer_distance, nearest_distances
from skfrontier.algos.geometry.chamfer.query_order import spatial_order
from skfrontier.datasets import make_chamfer_pair
from skfrontier.estimators import ChamferDistance

SKLEARN = "sklearn pairwise_distances_argmin_min"
HEADLINE = ("Large clouds, eps 0.1", SKLEARN)

_N_TIMED = 1000  # queries on which brute force is timed: its cost is linear in them
_N_SEEDS = 10
_NEAR_BEST = 1 / 1.5  # the automatic choice may take half as long again as the best one


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    large = 10_000 if quick else 100_000
    return [
        *_large_cases(large),
        *_small_and_wide_cases(2_000 if quick else 10_000, 4_000 if quick else 20_000),
        _few_features_case(large),
        *(_solid_case(kind, large * 2, bar) for kind, bar in (("unif", 3.0), ("torus", 2.0))),
        *(
            _lp_case(p, 2_000 if quick else 20_000, bar)
            for p, bar in ((1.0, 8), (1.5, 40), (1.37, 15))
        ),
        _outlier_case(2_000 if quick else 20_000),
        *(
            _growth_case(n)
            for n in ((2_000, 8_000) if quick else (20_000, 40_000, 80_000, 160_000))
        ),
        _memory_case(20_000 if quick else 500_000),
        *(
            _exact_choice_case(n, d, p)
            for n in ((1_000,) if quick else (3_000, 20_000))
            for d, p in ((2, 2.0), (3, 2.0), (4, 2.0), (8, 2.0), (64, 2.0), (3, 1.0), (8, 1.5))
        ),
        *(
            _sampling_choice_case(n // 20 if quick else n, d, p)
            for n, d, p in (
                (40_000, 64, 2.0),
                (100_000, 8, 2.0),
                (20_000, 64, 1.5),
                (100_000, 8, 1.0),
            )
        ),
        _index_case(large, long=not quick),
        _million_case(20_000 if quick else 1_000_000, long=not quick),
        _reuse_case(20_000 if quick else 1_000_000, long=not quick),
    ]


# Data and the exact values to compare with: made once, shared by cases.


@lru_cache(maxsize=2)
def _pair(kind: str, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    return make_chamfer_pair(kind, n=n, n_features=d, random_state=0)


@cache
def _exact(kind: str, n: int, d: int, metric: str = "euclidean") -> float:
    return chamfer_distance(*_pair(kind, n, d), metric=metric, epsilon=0, n_jobs=-1)


def _error_against(exact: Callable[[], float]) -> Callable[[float], float]:
    return lambda value: value / exact() - 1


def _sum_error(kind: str, n: int, d: int, metric: str = "euclidean") -> Callable[[float], float]:
    return _error_against(lambda: _exact(kind, n, d, metric))


def _largest_error(exact: np.ndarray) -> Callable[[np.ndarray], float]:
    return lambda distances: float(np.abs(distances / exact - 1).max())


# Peers.


def _sklearn(A: np.ndarray, B: np.ndarray, bar: float | None = None) -> Contender:
    some = A[:_N_TIMED]
    return Contender(
        SKLEARN,
        lambda: pairwise_distances_argmin_min(some, B),
        requires="sklearn",
        share=len(some) / len(A),
        bar=bar,
    )


def _own_brute(
    A: np.ndarray,
    B: np.ndarray,
    bar: float | None = None,
    name: str = "skfrontier brute (exact)",
    **metric: Any,
) -> Contender:
    # The reference is prepared outside: scaling from a few queries would count that many times over.
    some, fitted = A[:_N_TIMED], ChamferDistance(method="brute", **metric).fit(B)
    return Contender(name, lambda: fitted.query(some), share=len(some) / len(A), bar=bar)


def _faiss_flat(A: np.ndarray, B: np.ndarray) -> Contender:
    some = A[:_N_TIMED]

    @cache  # made in the warm-up, for the same reason
    def index() -> Any:
        import faiss

        flat = faiss.IndexFlatL2(B.shape[1])
        flat.add(B)
        return flat

    return Contender(
        "faiss flat (float32)",
        lambda: index().search(some, 1),
        requires="faiss",
        share=len(some) / len(A),
    )


def _faiss_sum(index: Any, A: np.ndarray, B: np.ndarray) -> float:
    """Chamfer distance with the neighbours that an index finds, evaluated in float64."""
    found = index.search(A, 1)[1][:, 0]
    return float(np.linalg.norm(A.astype(np.float64) - B[found], axis=1).sum())


def _faiss_ivf(A: np.ndarray, B: np.ndarray, error: Callable[[float], float]) -> Contender:
    def run() -> float:
        import faiss

        n_lists = int(4 * np.sqrt(len(B)))
        quantizer = faiss.IndexFlatL2(B.shape[1])
        index = faiss.IndexIVFFlat(quantizer, B.shape[1], n_lists)
        index.train(B)
        index.add(B)
        index.nprobe = 8
        return _faiss_sum(index, A, B)

    return Contender(
        "faiss IVF, nprobe 8", run, requires="faiss", error=error, note="build and search; no bound"
    )


def _faiss_hnsw(A: np.ndarray, B: np.ndarray, error: Callable[[float], float]) -> Contender:
    def run() -> float:
        import faiss

        index = faiss.IndexHNSWFlat(B.shape[1], 16)
        index.add(B)
        return _faiss_sum(index, A, B)

    return Contender(
        "faiss HNSW, 16 links",
        run,
        requires="faiss",
        error=error,
        note="build and search; no bound",
    )


def _sampler(
    A: np.ndarray,
    B: np.ndarray,
    epsilon: float,
    error: Callable[[float], float] | None = None,
    **parameters: Any,
) -> Contender:
    return Contender(
        f"skfrontier, eps {epsilon:g}",
        lambda: chamfer_distance(A, B, epsilon=epsilon, random_state=0, **parameters),
        error=error,
    )


# Cases.


def _large_cases(n: int) -> list[Case]:
    d = 128

    def build(epsilon: float, sklearn_bar: float, brute_bar: float | None) -> list[Contender]:
        A, B = _pair("clusters", n, d)
        return [
            _sampler(A, B, epsilon, _sum_error("clusters", n, d)),
            _own_brute(A, B, brute_bar),
            _sklearn(A, B, sklearn_bar),
            _faiss_flat(A, B),
        ]

    size = f"clusters, {n} x {d}"
    return [
        Case("Large clouds, eps 0.1", size, lambda: build(0.1, 120, 80)),
        Case("Large clouds, eps 0.02", size, lambda: build(0.02, 70, None)),
    ]


def _small_and_wide_cases(n_small: int, n_wide: int) -> list[Case]:
    def small() -> list[Contender]:
        A, B = _pair("clusters", n_small, 128)
        error = _sum_error("clusters", n_small, 128)
        return [
            _sampler(A, B, 0.1, error, method="sample"),
            _own_brute(A, B),
            _sklearn(A, B, 15),
            _faiss_flat(A, B),
        ]

    def wide() -> list[Contender]:
        A, B = _pair("sphere", n_wide, 768)
        error = _sum_error("sphere", n_wide, 768, "angular")
        return [
            _sampler(A, B, 0.1, error, metric="angular"),
            _own_brute(A, B, metric="angular"),
            _sklearn(A, B, 20),
            _faiss_flat(A, B),
        ]

    return [
        Case("Small clouds, eps 0.1", f"clusters, {n_small} x 128", small),
        Case("Wide embeddings by angle, eps 0.1", f"sphere, {n_wide} x 768", wide),
    ]


def _few_features_case(n: int) -> Case:
    def build() -> list[Contender]:
        A, B = _pair("unif", n, 8)
        return [
            _sampler(A, B, 0.05, _sum_error("unif", n, 8)),
            Contender(
                "scipy cKDTree",
                lambda: cKDTree(B).query(A)[0].sum(),
                error=_sum_error("unif", n, 8),
                bar=10,
            ),
        ]

    return Case("Eight features, eps 0.05", f"uniform, {n} x 8", build)


def _solid_case(kind: str, n: int, bar: float) -> Case:
    def build() -> list[Contender]:
        A, B = _pair(kind, n, 3)
        error = _largest_error(cKDTree(B).query(A)[0])

        def sorted_queries() -> np.ndarray:
            order = spatial_order(A)
            distances = np.empty(n)
            distances[order] = cKDTree(B).query(A[order])[0]
            return distances

        return [
            Contender("skfrontier nearest_distances", lambda: nearest_distances(A, B), error=error),
            Contender("scipy cKDTree", lambda: cKDTree(B).query(A)[0], error=error, bar=bar),
            Contender("scipy cKDTree, queries in Z-order", sorted_queries, error=error),
        ]

    return Case("Exact in three dimensions", f"{kind}, {n} x 3", build)


def _lp_case(p: float, n: int, bar: float) -> Case:
    def build() -> list[Contender]:
        rng = np.random.default_rng(0)
        A = rng.standard_normal((200, 128), dtype=np.float32)
        B = rng.standard_normal((n, 128), dtype=np.float32)
        error = _largest_error(cdist(A, B, "minkowski", p=p).min(axis=1))

        def faiss_lp() -> np.ndarray:
            import faiss

            index = faiss.IndexFlat(128, faiss.METRIC_Lp)
            index.metric_arg = p
            index.add(B)
            return np.maximum(index.search(A, 1)[0][:, 0], 0) ** (
                1 / p
            )  # it returns sums of powers

        return [
            Contender(
                "skfrontier brute",
                lambda: nearest_distances(A, B, p=p, method="brute"),
                error=error,
            ),
            Contender(
                "scipy cdist",
                lambda: cdist(A, B, "minkowski", p=p).min(axis=1),
                error=error,
                bar=bar,
            ),
            Contender("faiss METRIC_Lp (float32)", faiss_lp, requires="faiss", error=error),
        ]

    return Case(f"Exact, p = {p:g}", f"normal, 200 x {n} x 128", build)


def _outlier_case(n: int) -> Case:
    """A tenth of a percent of the points carries nearly all of the sum."""
    d, n_points = 64, 200

    def build() -> list[Contender]:
        A, B = _pair("outlier", n, d)
        exact = _exact("outlier", n, d)

        def ours() -> list[float]:
            return [
                chamfer_distance(A, B, method="sample", random_state=s) for s in range(_N_SEEDS)
            ]

        def blind() -> list[float]:
            chosen = [
                np.random.default_rng(s).choice(n, n_points, replace=False) for s in range(_N_SEEDS)
            ]
            return [n * pairwise_distances_argmin_min(A[rows], B)[1].mean() for rows in chosen]

        def median_error(values: list[float]) -> float:
            return float(np.median(np.abs(np.array(values) / exact - 1)))

        note = f"median error of {_N_SEEDS} seeds"
        return [
            Contender("skfrontier, eps 0.05", ours, share=_N_SEEDS, error=median_error, note=note),
            Contender(
                f"sklearn on {n_points} uniform points",
                blind,
                share=_N_SEEDS,
                error=median_error,
                note=note,
            ),
        ]

    return Case("Outliers carry the sum", f"outlier, {n} x {d}", build)


def _growth_case(n: int) -> Case:
    def build() -> list[Contender]:
        A, B = _pair("clusters", n, 64)
        return [_sampler(A, B, 0.1, method="sample"), _sklearn(A, B)]

    return Case(
        "Growth, eps 0.1", f"clusters, {n} x 64", build, series="Clusters, 64 features", n=n
    )


def _memory_case(n: int) -> Case:
    def build() -> list[Contender]:
        A, B = _pair("clusters", n, 32)
        return [_sampler(A, B, 0.1), _sklearn(A, B)]

    inputs = 2 * n * 32 * 4 / 1e6
    return Case("Memory, eps 0.1", f"clusters, {n} x 32 ({inputs:.0f} MB of input)", build)


def _exact_choice_case(n: int, d: int, p: float) -> Case:
    """``method='auto'`` beside every exact method that it could have chosen."""

    def build() -> list[Contender]:
        A, B = _pair("clusters", n, d)
        methods = ["brute", *(["tree"] if d <= 8 else []), *(["grid"] if d <= 3 and p == 2 else [])]
        chosen = Contender("auto", lambda: chamfer_distance(A, B, p=p, epsilon=0))
        return [chosen, *(_named_method(A, B, p, method) for method in methods)]

    return Case("Choice of the exact method", f"clusters, {n} x {d}, p = {p:g}", build)


def _sampling_choice_case(n: int, d: int, p: float) -> Case:
    """``method='auto'`` where exact values take long, beside exact methods and the sampler."""

    def build() -> list[Contender]:
        A, B = _pair("clusters", n, d)
        exact = ["brute", *(["tree"] if d <= 8 else [])]

        def sampled(method: str, bar: float | None) -> Contender:
            return Contender(
                method,
                lambda: chamfer_distance(A, B, p=p, method=method, random_state=0),
                bar=bar,
            )

        return [
            sampled("auto", None),
            sampled("sample", _NEAR_BEST),
            *(_named_method(A, B, p, method) for method in exact),
        ]

    return Case("Choice to sample, eps 0.05", f"clusters, {n} x {d}, p = {p:g}", build)


def _named_method(A: np.ndarray, B: np.ndarray, p: float, method: str) -> Contender:
    if method == "brute":
        return _own_brute(A, B, _NEAR_BEST, method, p=p)
    return Contender(method, lambda: chamfer_distance(A, B, p=p, method=method), bar=_NEAR_BEST)


def _index_case(n: int, long: bool) -> Case:
    def build() -> list[Contender]:
        A, B = _pair("clusters", n, 128)
        error = _sum_error("clusters", n, 128)
        return [
            _sampler(A, B, 0.1, error),
            _faiss_ivf(A, B, error),
            _faiss_hnsw(A, B, error),
        ]

    return Case("Beside approximate indices", f"clusters, {n} x 128", build, long=long)


def _million_case(n: int, long: bool) -> Case:
    def build() -> list[Contender]:
        A, B = _pair("clusters", n, 64)
        return [_sampler(A, B, 0.1), _own_brute(A, B), _sklearn(A, B), _faiss_flat(A, B)]

    return Case("Very large clouds, eps 0.1", f"clusters, {n} x 64", build, long=long)


def _reuse_case(n: int, long: bool) -> Case:
    def build() -> list[Contender]:
        A, B = _pair("clusters", n, 64)

        def fitted() -> ChamferDistance:
            return ChamferDistance(epsilon=0.1, n_jobs=2, random_state=0).fit(B)

        reference = fitted()
        note = "two threads: compare wall times"
        return [
            Contender("ChamferDistance.query, fitted", lambda: reference.query(A), note=note),
            Contender("ChamferDistance.fit and query", lambda: fitted().query(A), note=note),
        ]

    return Case("Second query against the first, eps 0.1", f"clusters, {n} x 64", build, long=long)
