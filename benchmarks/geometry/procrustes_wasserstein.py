"""Alignment of unpaired clouds beside Gromov-Wasserstein, random restarts, and scipy's assignments.

Errors of whole alignments are shares of wrong rows, over all seeds of a case. Peers run at their own
defaults; Ping-Pong follows each of them, so that a good start is not charged for what refinement repairs.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from benchmarks.harness import Case, Contender
from skfrontier.algos import (
    eigen_directions,
    exact_assignment,
    matching_accuracy,
    procrustes_wasserstein,
    rigid_map,
    sparse_assignment,
)
from skfrontier.datasets import PlantedPair, load_cortex_pair, make_procrustes_wasserstein

OWN = "skfrontier, directions"
GROMOV = "POT gromov_wasserstein, then Ping-Pong"
HEADLINE = ("Isotropic clouds, noise 0.3", GROMOV)


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    seeds = range(2 if quick else 20)
    n = 120 if quick else 300
    sizes = (2_000, 4_000) if quick else (10_000, 30_000, 100_000)
    return [
        _alignment_case("Isotropic clouds, noise 0.3", n, 20, 0.0, 0.3, seeds),
        _alignment_case("Half a power, noise 0.3", n, 20, 0.5, 0.3, seeds),
        _alignment_case("Power law, noise 0.2", n, 20, 1.0, 0.2, seeds),
        _alignment_case("Half a power, noise 0.5", n, 20, 0.5, 0.5, seeds, long=not quick),
        _frank_wolfe_case(n, 30, range(2), long=not quick),
        _dense_assignment_case(300 if quick else 2_000),
        *(_sparse_case(1_000 if quick else 20_000, noise) for noise in (0.02, 0.05)),
        *(_large_case(size) for size in sizes),
        *([_cortex_case(500 if quick else 4_000)]),
    ]


def _wrong(results: list[np.ndarray], data: list[PlantedPair]) -> float:
    """Share of rows, of all seeds, with the wrong partner."""
    return 1 - float(
        np.mean(
            [
                matching_accuracy(found, pair.assignment)
                for found, pair in zip(results, data, strict=True)
            ]
        )
    )


def _ping_pong(X: np.ndarray, Y: np.ndarray, assignment: np.ndarray) -> tuple[np.ndarray, float]:
    """Dense matching and Procrustes in turn, as a script would do it."""
    cost = np.inf
    for _ in range(100):
        moved = rigid_map(X, Y[assignment]).apply(X)
        distances = cdist(moved, Y, "sqeuclidean")
        rows, fresh = linear_sum_assignment(distances)
        cost = float(distances[rows, fresh].sum())
        if np.array_equal(fresh, assignment):
            break
        assignment = fresh
    return assignment, cost


def _random_starts(data: PlantedPair, seed: int, n_starts: int = 10) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X, Y = data.X - data.X.mean(axis=0), data.Y - data.Y.mean(axis=0)
    ends = []
    for _ in range(n_starts):
        turn = np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]
        _, first = linear_sum_assignment(cdist(X @ turn, Y, "sqeuclidean"))
        ends.append(_ping_pong(X, Y, first))
    return min(ends, key=lambda end: end[1])[0]


def _gromov(data: PlantedPair) -> np.ndarray:
    import ot

    n = len(data.X)
    plan = ot.gromov.gromov_wasserstein(
        cdist(data.X, data.X, "sqeuclidean"),
        cdist(data.Y, data.Y, "sqeuclidean"),
        np.full(n, 1 / n),
        np.full(n, 1 / n),
        "square_loss",
    )
    _, first = linear_sum_assignment(-plan)
    return _ping_pong(data.X, data.Y, first)[0]


def _icp(data: PlantedPair, seed: int, n_starts: int = 10) -> np.ndarray:
    """Iterated closest points from random rotations; the nearest row is the partner."""
    rng = np.random.default_rng(seed)
    X, Y = data.X - data.X.mean(axis=0), data.Y - data.Y.mean(axis=0)
    tree = cKDTree(Y)
    ends = []
    for _ in range(n_starts):
        moved = X @ np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]
        nearest = np.zeros(0)
        for _ in range(30):
            distance, fresh = tree.query(moved)
            if np.array_equal(fresh, nearest):
                break
            nearest = fresh
            moved = rigid_map(X, Y[nearest]).apply(X)
        ends.append((nearest, float((distance**2).sum())))
    return min(ends, key=lambda end: end[1])[0]


def _own(data: list[PlantedPair], method: str = "directions") -> Callable[[], list[np.ndarray]]:
    return lambda: [
        procrustes_wasserstein(pair.X, pair.Y, method=method, random_state=0).assignment
        for pair in data
    ]


def _alignment_case(
    name: str, n: int, d: int, exponent: float, noise: float, seeds: range, *, long: bool = False
) -> Case:
    def build() -> list[Contender]:
        data = [
            make_procrustes_wasserstein(
                n, d, spectrum_exponent=exponent, noise=noise, random_state=seed
            )
            for seed in seeds
        ]

        def error(results: list[np.ndarray]) -> float:
            return _wrong(results, data)

        def known() -> list[np.ndarray]:
            return [exact_assignment(p.X @ p.rotation.T, p.Y).assignment for p in data]

        return [
            Contender(OWN, _own(data), error=error, note=f"error: wrong rows, {len(seeds)} seeds"),
            Contender(GROMOV, lambda: [_gromov(p) for p in data], error=error, bar=1 / 4),
            Contender(
                "Ping-Pong, 10 random starts",
                lambda: [_random_starts(p, s) for p, s in zip(data, seeds, strict=True)],
                error=error,
            ),
            Contender(
                "ICP, 10 random starts",
                lambda: [_icp(p, s) for p, s in zip(data, seeds, strict=True)],
                error=error,
            ),
            Contender("true rotation, matching alone", known, error=error),
        ]

    return Case(name, f"{n} x {d}, exponent {exponent:g}, {len(seeds)} seeds", build, long=long)


def _frank_wolfe_case(n: int, d: int, seeds: range, *, long: bool) -> Case:
    def build() -> list[Contender]:
        data = [
            make_procrustes_wasserstein(n, d, spectrum_exponent=0, noise=0.1, random_state=seed)
            for seed in seeds
        ]

        def error(results: list[np.ndarray]) -> float:
            return _wrong(results, data)

        return [
            Contender(OWN, _own(data), error=error),
            Contender("Frank-Wolfe start", _own(data, "frank-wolfe"), error=error, bar=3),
        ]

    return Case(
        "Beside the convex relaxation", f"{n} x {d}, isotropic, noise 0.1", build, long=long
    )


@lru_cache(maxsize=2)
def _aligned(n: int, d: int, exponent: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Clouds in one frame, rows shuffled."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.arange(1.0, d + 1) ** (-exponent / 2)
    return X, (X + noise * rng.standard_normal(X.shape))[rng.permutation(n)]


def _dense_assignment_case(n: int) -> Case:
    def build() -> list[Contender]:
        X, Y = _aligned(n, 3, 0.5, 0.05)
        rows, columns = linear_sum_assignment(cdist(X, Y, "sqeuclidean"))
        best = ((X[rows] - Y[columns]) ** 2).sum()

        def dense() -> float:
            distances = cdist(X, Y, "sqeuclidean")
            return float(distances[linear_sum_assignment(distances)].sum())

        def error(cost: float) -> float:
            return cost / best - 1

        return [
            Contender("exact_assignment", lambda: exact_assignment(X, Y).cost, error=error),
            Contender("scipy linear_sum_assignment", dense, error=error, bar=20),
        ]

    return Case("Matching of aligned clouds", f"{n} x 3, noise 0.05", build)


def _sparse_case(n: int, noise: float) -> Case:
    def build() -> list[Contender]:
        X, Y = _aligned(n, 3, 1.0, noise)
        distances, index = cKDTree(Y).query(X, k=16)
        cost, index = distances**2, index.astype(np.int64)
        indptr = np.arange(n + 1) * 16
        graph = csr_array((cost.ravel(), index.ravel(), indptr), shape=(n, n))

        def own() -> float:
            solved = sparse_assignment(cost, index, n)
            return float(solved.u.sum() + solved.v.sum()) if solved.n_failed == 0 else np.nan

        def peer() -> float:
            try:
                rows, columns = min_weight_full_bipartite_matching(graph)
            except ValueError:  # no full matching on these neighbours
                return np.nan
            return float(graph[rows, columns].sum())

        return [
            Contender("sparse_assignment", own),
            Contender("scipy min_weight_full_bipartite_matching", peer, bar=3),
        ]

    return Case(f"Assignment on 16 neighbours, noise {noise:g}", f"{n} x 3", build)


def _large_case(n: int) -> Case:
    n_queries = 2_000

    def build() -> list[Contender]:
        data = make_procrustes_wasserstein(n, 20, noise=0.02, random_state=0)
        B = data.Y - data.Y.mean(axis=0)
        A = (data.X - data.X.mean(axis=0)) @ data.rotation.T
        axes = eigen_directions(B)[1][:, :8]
        A, B = A @ axes, B @ axes
        tree = cKDTree(B)
        some = A[:n_queries]

        def align() -> Any:
            return procrustes_wasserstein(data.X, data.Y, random_state=0)

        def error(result: Any) -> float:
            return 1 - matching_accuracy(result.assignment, data.assignment) * result.certified

        return [
            Contender("skfrontier", align, error=error, note="error: wrong rows"),
            Contender(
                "scipy cKDTree, 16 neighbours on 8 axes",
                lambda: tree.query(some, k=16),
                share=n_queries / n,
                bar=4 if n >= 100_000 else None,
                note="clouds aligned beforehand; no matching",
            ),
        ]

    return Case("Growth", f"{n} x 20, power law, noise 0.02", build, series="alignment", n=n)


def _cortex_case(n: int) -> Case:
    def build() -> list[Contender]:
        try:
            pair = load_cortex_pair("white", "pial")
        except ImportError:
            return [Contender("skfrontier", lambda: None, note="not run: nilearn is not installed")]
        rng = np.random.default_rng(0)
        chosen, place = rng.permutation(len(pair.X))[:n], rng.permutation(n)
        turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        X, Y = pair.X[chosen], np.empty((n, 3))
        Y[place] = pair.Y[chosen] @ turn.T + 10
        data = PlantedPair(X=X, Y=Y, assignment=place)
        return [
            Contender("skfrontier", _own([data]), error=lambda found: _wrong(found, [data])),
            Contender(
                "ICP, 10 random starts",
                lambda: [_icp(data, 0)],
                error=lambda found: _wrong(found, [data]),
            ),
        ]

    return Case("Cortex, white to pial", f"{n} vertices", build)
