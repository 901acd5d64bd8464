"""Label propagation on signed graphs: forests beside walks, solvers and push, and ``auto`` beside both.

``S`` is the signed matrix between unlabelled nodes; one product of scipy with it is the unit in which costs
are best understood. Conjugate gradients win for one vector; forests for many entries.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.graphs._signed_networks import network_cases, positive_edges
from benchmarks.graphs._signed_peers import (
    Jacobi,
    Multigrid,
    sparse_factorisation,
)
from benchmarks.harness import Case, Contender
from skfrontier.algos import build_grounded_graph, forest_apply, forest_entries
from skfrontier.algos.graphs.propagation.averages import (
    BatchSums,
    add_node_values,
    tree_kills,
    tree_means,
)
from skfrontier.algos.graphs.propagation.exact import ConjugateGradients
from skfrontier.algos.graphs.propagation.forest import LANES, draw_forests, new_forests
from skfrontier.algos.graphs.propagation.pairs import PairSums
from skfrontier.algos.graphs.propagation.random import stream_seeds
from skfrontier.algos.graphs.propagation.smoothing import signed_adjacency
from skfrontier.algos.graphs.propagation.walks import walk_ends
from skfrontier.datasets import make_signed_communities, make_signed_random
from skfrontier.estimators import LabelPropagationOperator, SignedLabelPropagation

GRADIENTS = "Jacobi-CG, row by row"
HEADLINE = ("Entries", GRADIENTS)


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    large = 20_000 if quick else 1_000_000
    skewed = 10_000 if quick else 200_000
    return [
        _entries_case(skewed, 200 if quick else 2_000),
        _entries_case(skewed, 1_000 if quick else 10_000, long=True),
        _small_entries_case(skewed, 100 if quick else 500),
        _coverage_case(2_000 if quick else 20_000, 2_000 if quick else 50_000),
        _vector_case(5_000 if quick else 50_000),
        _factor_case(4_900 if quick else 22_500),
        _variance_case("ba", 5_000 if quick else 20_000),
        _variance_case("bitcoin_otc", 0),
        *(_forest_case(large, *kind) for kind in _FOREST_KINDS),
        *(_growth_case(n) for n in ((5_000, 10_000) if quick else _GROWTH)),
        *(_auto_case(model, n, rows) for model, n in _auto_graphs(quick) for rows in _AUTO_ROWS),
        _threads_case(large),
        _memory_case(large),
        *([] if quick else [_memory_case(10_000_000, long=True)]),
        _stopping_case(4 if quick else 40),
        _learning_case(),
        *network_cases(quick),
    ]


# One forest


_FOREST_KINDS = (("natural", None, 5), ("permuted", None, 5), ("permuted", "uniform", 11))
_GROWTH = (50_000, 100_000, 200_000, 400_000, 800_000)


@lru_cache(maxsize=1)
def _attached(n: int, ids: str, weights: str | None) -> Any:
    """Preferential attachment, 1 % labels: the grounded graph."""
    A = make_signed_random(n, 10, 0.15, model="ba", weights=weights, random_state=0)
    if ids == "permuted":
        order = np.random.default_rng(1).permutation(n)
        A = A[order][:, order]
    labeled = np.random.default_rng(2).choice(n, n // 100, replace=False)
    return build_grounded_graph(A, labeled)


def _forest_case(n: int, ids: str, weights: str | None, products: int) -> Case:
    def build() -> list[Contender]:
        graph = _attached(n, ids, weights)
        S, z = signed_adjacency(graph), np.ones(graph.n_unlabeled)

        def multiply() -> None:
            for _ in range(products):
                S @ z

        return [
            _forests_and_means(graph, LANES, "forest with tree means, 8 interleaved"),
            _forests_and_means(graph, 1, "one at a time", bar=1.4 if ids == "permuted" else None),
            Contender(f"{products} products of S with a vector (scipy)", multiply, bar=1.0),
        ]

    kind = "weighted" if weights else "unit weights"
    return Case("One forest", f"preferential attachment, n = {n}, {ids} ids, {kind}", build)


def _forests_and_means(graph: Any, lanes: int, name: str, bar: float | None = None) -> Contender:
    forests = new_forests(graph, lanes)
    kills, values = np.empty((2, 2 * graph.n_boundary))
    b = np.abs(graph.boundary).sum(axis=1)
    out = np.zeros(graph.n_unlabeled)

    def run() -> int:
        steps = draw_forests(graph, stream_seeds(np.uint64(0), 0, lanes), forests)
        for forest in forests:
            tree_kills(forest, graph.killing, kills)
            tree_means(forest, kills, b, values)
            add_node_values(forest, graph.lift, values, out)
        return steps

    return Contender(name, run, share=float(lanes), bar=bar)


def _growth_case(n: int) -> Case:
    def build() -> list[Contender]:
        graph = _attached(n, "permuted", None)
        steps = draw_forests(graph, stream_seeds(np.uint64(0), 0, 1), new_forests(graph, 1))
        contender = _forests_and_means(graph, LANES, "forest with tree means, 8 interleaved")
        return [
            Contender(
                contender.name, contender.run, share=contender.share,
                note=f"{steps / graph.n_unlabeled:.3f} steps a node",
            )
        ]  # fmt: skip

    return Case("Growth of one forest", f"n = {n}", build, series="One forest", n=n)


# Variance


def _variance_case(kind: str, n: int) -> Case:
    def build() -> list[Contender]:
        graph = _attached(n, "natural", None) if kind == "ba" else _traders(0.05)
        y = np.random.default_rng(3).choice([-1.0, 1.0], graph.labeled.size)
        source = graph.ungauged(graph.source(y))
        exact = ConjugateGradients(graph, 1e-10)(source)
        repeats = 64

        def forests(rao_blackwell: bool) -> Callable:
            def run() -> np.ndarray:
                sums = BatchSums(
                    graph, source[None], repeats, np.uint64(0), rao_blackwell=rao_blackwell
                )
                sums.grow(1, None)
                return sums.means()[:, 0]

            return run

        def walks() -> np.ndarray:
            ends, _ = walk_ends(graph, np.arange(exact.size), repeats, np.uint64(0))
            return (np.sign(ends) * y[np.abs(ends) - 1]).T

        def mse(samples: np.ndarray) -> float:
            return float(np.mean((samples - exact) ** 2))

        return [
            Contender("tree means", forests(True), share=repeats, error=mse),
            Contender("roots (Wilson)", forests(False), share=repeats, error=mse),
            Contender("absorbing walks", walks, share=repeats, error=mse),
        ]

    size = (
        f"preferential attachment, n = {n}, 1 % labels" if kind == "ba" else f"{kind}, 5 % labels"
    )
    return Case("Variance", f"{size}; one sample of Q y at all nodes, error is its MSE", build)


def _traders(share: float) -> Any:
    from skfrontier.algos import symmetrize_signed
    from skfrontier.datasets import fetch_bitcoin_otc

    A = symmetrize_signed(fetch_bitcoin_otc().adjacency, "sign")
    labeled = np.random.default_rng(0).choice(A.shape[0], int(share * A.shape[0]), replace=False)
    return build_grounded_graph(A, labeled)


# Entries


@lru_cache(maxsize=1)
def _skewed(n: int) -> Any:
    """Skewed graph, 10 % labels: the grounded graph."""
    A, labeled = _auto_graph("skew", n)
    return build_grounded_graph(A, labeled)


class _Entries:
    """Rows of a skewed graph, with pairs drawn by absorption, and exact values for some of the rows."""

    def __init__(self, n: int, n_rows: int, n_exact: int = 64) -> None:
        self.graph = graph = _skewed(n)
        rng = np.random.default_rng(2)
        self.rows_asked = np.sort(rng.choice(graph.n_unlabeled, n_rows, replace=False))
        ends, _ = walk_ends(graph, self.rows_asked, 5, np.uint64(3))
        pairs = np.unique([np.repeat(self.rows_asked, 5), np.abs(ends.ravel()) - 1], axis=1)
        self.rows, self.cols = pairs
        self.sample = rng.choice(self.rows_asked, min(n_exact, n_rows), replace=False)
        self.known = np.isin(self.rows, self.sample)
        solver = ConjugateGradients(graph, 1e-9)
        self.exact = self.take(lambda u: graph.boundary.T @ solver(_unit(graph, u)))

    def take(self, row: Callable) -> np.ndarray:
        """Values at the known pairs of rows computed by ``row``."""
        value = np.empty(self.rows.size)
        for u in self.sample:
            mine = self.rows == u
            value[mine] = row(u)[self.cols[mine]]
        return value[self.known]

    def frobenius(self, value: np.ndarray) -> float:
        return float(np.linalg.norm(value - self.exact) / np.linalg.norm(self.exact))

    def median(self, value: np.ndarray) -> float:
        return float(np.median(np.abs(value / self.exact - 1)))


def _unit(graph: Any, u: int) -> np.ndarray:
    unit = np.zeros(graph.n_unlabeled)
    unit[u] = graph.gauge[u]
    return unit


def _entries_contender(
    data: _Entries, name: str, error: Callable, *, n_forests: int, **options: Any
) -> Contender:
    def run() -> np.ndarray:
        sampled = forest_entries(
            data.graph, data.rows, data.cols, n_forests=n_forests, random_state=5, **options
        )
        return sampled.value[data.known]

    return Contender(name, run, error=error)


def _gradients_contender(
    data: _Entries, name: str, error: Callable, goal: float, bar: float | None
) -> Contender:
    """Ten rows, at the loosest tolerance that reaches the error of ours."""
    solver = Jacobi(data.graph)

    def reached_at(rtol: float) -> float:
        return error(data.take(lambda u: solver.row(u, rtol)))

    ladder = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)
    rtol = next((t for t in ladder if reached_at(t) <= goal), 1e-4)
    too_loose = 3 * rtol
    for _ in range(2):  # between two steps: nobody pays for an error that was not asked for
        between = (rtol * too_loose) ** 0.5
        if reached_at(between) <= goal:
            rtol = between
        else:
            too_loose = between
    reached = reached_at(rtol)

    def run() -> float:
        for u in data.sample[:10]:
            solver.row(u, rtol)
        return reached

    share = 10 / data.rows_asked.size
    return Contender(name, run, share=share, error=float, bar=bar, note=f"rtol {rtol:.2g}")


def _entries_case(n: int, n_rows: int, long: bool = False) -> Case:
    """Beside all ways to sample, or (``long``) more rows beside those that come near."""

    def build() -> list[Contender]:
        data = _Entries(n, n_rows, 32 if long else 64)
        ours = _entries_contender(
            data, "push 3e-3, 16 forests", data.frobenius, n_forests=16, push=3e-3
        )
        goal = data.frobenius(ours.run())

        def push() -> np.ndarray:
            sums = PairSums(data.graph, data.rows, data.cols, np.uint64(0), push=3e-3)
            return sums.estimate().value[data.known]

        def walks() -> np.ndarray:
            from skfrontier.algos import absorbing_walk_entries

            sampled = absorbing_walk_entries(data.graph, data.rows, data.cols, n_walks=1000)
            return sampled.value[data.known]

        near = [
            ours,
            _gradients_contender(data, GRADIENTS, data.frobenius, goal, bar=15.0),
            Contender("push 3e-3 alone", push, error=data.frobenius),
        ]
        if long:
            return near
        return [
            *near,
            _entries_contender(
                data, "push 1e-3, 16 forests", data.frobenius, n_forests=16, push=1e-3
            ),
            _entries_contender(
                data, "tree means, no push, 48 forests", data.frobenius, n_forests=48, push=None
            ),
            _entries_contender(
                data, "roots (Wilson), 48 forests", data.frobenius, n_forests=48, push=None,
                rao_blackwell=False,
            ),
            Contender("1000 absorbing walks a row", walks, error=data.frobenius),
        ]  # fmt: skip

    size = f"skewed, n = {n}, 10 % labels, {n_rows} rows; error is relative, Frobenius"
    return Case("Entries", size, build, long=long)


def _small_entries_case(n: int, n_rows: int) -> Case:
    def build() -> list[Contender]:
        data = _Entries(n, n_rows)
        ours = _entries_contender(
            data, "push 1e-3, 160 forests", data.median, n_forests=160, push=1e-3
        )
        goal = data.median(ours.run())
        return [ours, _gradients_contender(data, GRADIENTS, data.median, goal, bar=2.0)]

    size = f"skewed, n = {n}, 10 % labels, {n_rows} rows; error is the median relative one"
    return Case("Small entries", size, build)


def _coverage_case(n: int, n_pairs: int) -> Case:
    """Share of pairs outside their 95 % interval, on families of graphs."""

    def build() -> list[Contender]:
        families = {model: _Coverage(model, n, n_pairs) for model in ("er", "ba", "skew", "grid")}
        return [
            Contender(f"{model}, {kind}", lambda f=family, k=kind: f.missed(k), error=float)
            for model, family in families.items()
            for kind in ("normal", "rare", "bernstein")
        ]

    size = (
        f"n = {n}, up to {n_pairs} pairs each that are not zero, push 3e-3, 32 forests; error is the "
        "share that is missed"
    )
    return Case("Coverage of 95 % intervals", size, build)


_CERTAINLY_ZERO = 1e-9  # entries that the exact values do not tell from 0


class _Coverage:
    def __init__(self, model: str, n: int, n_pairs: int) -> None:
        n = int(n**0.5) ** 2 if model == "grid" else n
        A = make_signed_random(n, 10, 0.2, model=model, random_state=11)
        rng = np.random.default_rng(12)
        self.graph = graph = build_grounded_graph(A, rng.choice(n, n // 20, replace=False))
        rows = rng.choice(graph.n_unlabeled, 100, replace=False)
        ends, _ = walk_ends(graph, rows, n_pairs // 200, np.uint64(13))
        drawn = np.stack([np.repeat(rows, ends.shape[1]), np.abs(ends.ravel()) - 1])
        uniform = np.stack([np.repeat(rows, n_pairs // 200), rng.integers(
            graph.labeled.size, size=100 * (n_pairs // 200))])  # fmt: skip
        self.rows, self.cols = np.unique(np.hstack([drawn, uniform]), axis=1)
        solver = ConjugateGradients(graph, 1e-10)
        self.exact = np.empty(self.rows.size)
        for u in rows:
            mine = self.rows == u
            self.exact[mine] = (graph.boundary.T @ solver(_unit(graph, u)))[self.cols[mine]]
        # Where nothing is to be known, any interval around 0 holds: most pairs of a grid are that far apart.
        open_question = np.abs(self.exact) > _CERTAINLY_ZERO
        self.rows, self.cols = self.rows[open_question], self.cols[open_question]
        self.exact = self.exact[open_question]

    def missed(self, kind: str) -> float:
        from skfrontier.algos.graphs.propagation.intervals import INTERVALS

        sampled = forest_entries(self.graph, self.rows, self.cols, n_forests=32, random_state=14)
        low, high = INTERVALS["bernstein" if kind == "bernstein" else "normal"](sampled, 0.95)
        outside = (self.exact < low) | (self.exact > high)
        if kind == "rare":
            outside = outside[np.abs(self.exact) <= np.median(np.abs(self.exact))]
        return float(outside.mean())


# One vector


def _vector_case(n: int) -> Case:
    def build() -> list[Contender]:
        graph = _attached(n, "natural", None)
        y = np.random.default_rng(3).choice([-1.0, 1.0], graph.labeled.size)
        source = graph.source(y)
        gauged = graph.ungauged(source)
        exact = graph.ungauged(ConjugateGradients(graph, 1e-10)(gauged))

        def error(x: np.ndarray) -> float:
            return float(np.linalg.norm(x - exact) / np.linalg.norm(exact))

        jacobi, multigrid = Jacobi(graph), Multigrid(graph)

        def forests(smooth: int) -> Callable:
            return lambda: (
                forest_apply(graph, source, n_forests=32, smooth=smooth, random_state=0).value
            )

        return [
            Contender("32 forests, 4 sweeps", forests(4), error=error),
            Contender("32 forests", forests(0), error=error),
            Contender("Jacobi-CG, rtol 1e-3", lambda: graph.ungauged(jacobi.solve(gauged, 1e-3)),
                      error=error),
            Contender("CG with algebraic multigrid, rtol 1e-3", error=error, requires="pyamg",
                      run=lambda: graph.ungauged(multigrid.solve(gauged, 1e-3)),
                      note="setup not counted"),
        ]  # fmt: skip

    return Case("One vector", f"preferential attachment, n = {n}, 1 % labels", build)


def _factor_case(n: int) -> Case:
    def build() -> list[Contender]:
        n_labels = n // 100
        A = make_signed_random(n, 4, 0.02, model="grid", random_state=0)
        graph = build_grounded_graph(A, np.random.default_rng(1).choice(n, n_labels, replace=False))
        source = graph.source(np.random.default_rng(2).choice([-1.0, 1.0], n_labels))
        gauged = graph.ungauged(source)
        jacobi = Jacobi(graph)
        exact = graph.ungauged(jacobi.solve(gauged, 1e-12))

        def error(x: np.ndarray) -> float:
            return float(np.linalg.norm(x - exact) / np.linalg.norm(exact))

        def factor() -> np.ndarray:
            return graph.ungauged(sparse_factorisation(jacobi.matrix).solve(gauged))

        return [
            Contender("32 forests, 4 sweeps", error=error, run=lambda: forest_apply(
                graph, source, n_forests=32, random_state=0).value),
            Contender("Jacobi-CG, rtol 1e-3", lambda: graph.ungauged(jacobi.solve(gauged, 1e-3)),
                      error=error),
            Contender("sparse factorisation", factor, error=error,
                      note="hopeless on graphs with hubs"),
        ]  # fmt: skip

    return Case("One vector on a grid", f"n = {n}, 2 % negative, 1 % labels", build)


# The automatic choice, threads, memory


_AUTO_ROWS = (0, 50, 2_000)


def _auto_graphs(quick: bool) -> list[tuple[str, int]]:
    return [("ba", 5_000)] if quick else [("ba", 20_000), ("skew", 200_000)]


@lru_cache(maxsize=1)
def _auto_graph(model: str, n: int) -> tuple:
    A = make_signed_random(n, 10, 0.15, model=model, random_state=0)
    return A, np.sort(
        np.random.default_rng(1).choice(n, n // (100 if model == "ba" else 10), False)
    )


def _auto_case(model: str, n: int, n_rows: int) -> Case:
    tol = 0.05

    def build() -> list[Contender]:
        A, labeled = _auto_graph(model, n)
        u, label = _absorbed_pairs(A, labeled, n_rows)

        def contender(solver: str, share: float = 1.0, bar: float | None = None) -> Contender:
            operator = LabelPropagationOperator(
                solver=solver, tol=tol, rtol=tol / 10 if n_rows else 1e-8, unreachable="zero",
                random_state=0,
            ).fit(A, labeled)  # fmt: skip
            part = slice(round(share * len(u)))

            def run() -> str:
                if n_rows:
                    operator.query(u[part, None], label[part])
                else:
                    operator.transform(np.ones(labeled.size))
                return operator.solver_

            return Contender(solver, run, share=share, bar=bar)

        few = 0.01 if n_rows >= 1_000 else 1.0  # conjugate gradients: so much a row
        return [contender("auto"), contender("cg", few, bar=0.5), contender("multitree", bar=0.5)]

    work = f"5 entries of {n_rows} rows" if n_rows else "one column"
    return Case("Automatic choice", f"{model}, n = {n}, {work}, tol {tol}", build)


def _absorbed_pairs(A: Any, labeled: np.ndarray, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes, and for each of them five labels where walks from it end."""
    graph = build_grounded_graph(A, labeled)
    rows = np.random.default_rng(2).choice(graph.n_unlabeled, n_rows, replace=False)
    ends, _ = walk_ends(graph, rows, 5, np.uint64(3))
    return graph.nodes[rows], graph.labeled[np.abs(ends) - 1]


def _threads_case(n: int) -> Case:
    def build() -> list[Contender]:
        graph = _attached(n, "natural", None)
        source = graph.source(np.ones(graph.labeled.size))

        def run(n_jobs: int) -> Contender:
            return Contender(
                f"n_jobs = {n_jobs}", note="compare wall s",
                run=lambda: forest_apply(graph, source, n_forests=16, smooth=0, random_state=0,
                                         n_jobs=n_jobs).value,
            )  # fmt: skip

        return [run(2), run(1)]

    return Case("Threads", f"16 forests, n = {n}", build)


def _memory_case(n: int, long: bool = False) -> Case:
    def build() -> list[Contender]:
        A = make_signed_random(n, 10, 0.15, model="ba", random_state=0)
        labeled = np.random.default_rng(1).choice(n, n // 100, replace=False)
        y = np.ones(labeled.size)

        def run() -> np.ndarray:
            model = LabelPropagationOperator(
                solver="multitree", n_forests=32, n_jobs=2, random_state=0, unreachable="zero"
            )
            return model.fit(A, labeled).transform(y)

        bound = "6 GB" if n > 1_000_000 else "0.8 GB"
        return [Contender("fit and transform, 2 threads", run, note=f"memory bar {bound}")]

    return Case("Memory", f"n = {n}, 32 forests, one column", build, long=long)


# Error bars and learning


def _stopping_case(repeats: int) -> Case:
    """200 runs: repeats on each of five graphs of the family."""
    tol, n = 0.005, 3_000

    def build() -> list[Contender]:
        runs = [_Camps(seed, n) for seed in range(5)]

        def contender(name: str, smooth: int, count: int, measure: Callable) -> Contender:
            def run() -> float:
                return float(measure([c.run(smooth, tol, s) for c in runs for s in range(count)]))

            return Contender(name, run, error=float, share=float(5 * count))

        few = max(1, repeats // 10)
        return [
            contender("4 sweeps: share of runs above tol (bar 0.07)", 4, repeats,
                      lambda r: np.mean([x[0] > 1 for x in r])),
            contender("4 sweeps: largest RMSE / tol (bar 2)", 4, repeats,
                      lambda r: max(x[0] for x in r)),
            contender("4 sweeps: nodes not covered (bar 0.10)", 4, repeats,
                      lambda r: np.mean([x[1] for x in r])),
            contender("4 sweeps: forests / 100 (bar 1.5)", 4, repeats,
                      lambda r: np.mean([x[2] for x in r]) / 100),
            contender("no sweeps: largest RMSE / tol (bar 1.05)", 0, few,
                      lambda r: max(x[0] for x in r)),
            contender("no sweeps: nodes not covered (bar 0.03 to 0.07)", 0, few,
                      lambda r: np.mean([x[1] for x in r])),
        ]  # fmt: skip

    size = (
        f"two camps, n = {n}, 60 labels, tol {tol}, {5 * repeats} runs; error is what the row says"
    )
    return Case("Stopping rule", size, build)


class _Camps:
    def __init__(self, seed: int, n: int) -> None:
        self.A, y = make_signed_communities(n, 2, 20, 0.05, random_state=seed)
        rng = np.random.default_rng(100 + seed)
        self.labeled = np.sort(rng.choice(n, 60, replace=False))
        self.values = 2.0 * y[self.labeled] - 1.0
        self.inner = np.setdiff1d(np.arange(n), self.labeled)
        model = LabelPropagationOperator(solver="cg", rtol=1e-10)
        self.exact = model.fit(self.A, self.labeled).transform(self.values)
        self.done: dict = {}

    def run(self, smooth: int, tol: float, seed: int) -> tuple[float, float, int]:
        """RMSE over tol, share of nodes not covered, number of forests; computed once."""
        if (smooth, seed) not in self.done:
            model = LabelPropagationOperator(
                solver="multitree", tol=tol, relative=False, smooth=smooth, random_state=seed
            ).fit(self.A, self.labeled)
            x, std = model.transform(self.values, return_std=True)
            error = np.abs(x - self.exact)[self.inner]
            missed = error > stats.t.ppf(0.975, 15) * std[self.inner]
            rmse = float(np.sqrt(np.mean(error**2)))
            self.done[smooth, seed] = rmse / tol, float(missed.mean()), model.n_forests_
        return self.done[smooth, seed]


def _learning_case() -> Case:
    def build() -> list[Contender]:
        problems = [_community_problem(seed) for seed in range(5)]

        def contender(
            name: str, *, positive: bool = False, at_median: bool = False, **options: Any
        ) -> Contender:
            def run() -> float:
                hits = []
                for A, y, seen in problems:
                    model = SignedLabelPropagation(unlabeled=-1, random_state=0, **options)
                    model.fit(positive_edges(A) if positive else A, seen)
                    scores = model.decision_scores_[:, 1]
                    cut = np.median(scores) if at_median else 0.0
                    hits.append(((scores > cut) == y)[seen < 0].mean())
                return float(np.mean(hits))

            return Contender(name, run, share=5.0, error=lambda accuracy: 1 - accuracy)

        return [
            contender("signed, cg", solver="cg"),
            contender("signed, 64 forests", solver="multitree", n_forests=64),
            contender("positive edges only", positive=True),
            contender("positive edges only, cut at the median", positive=True, at_median=True),
        ]

    size = "4000 nodes, 2 % labels, 20 % wrong signs, seeds 0 to 4; error is the share of wrong classes"
    return Case("Two communities", size, build)


def _community_problem(seed: int) -> tuple:
    A, y = make_signed_communities(4_000, 2, 20, 0.2, random_state=seed)
    known = np.random.default_rng(seed).choice(4_000, 80, replace=False)
    seen = np.full(4_000, -1)
    seen[known] = y[known]
    return A, y, seen
