"""Graphs of direct relations: `GraphACV` beside graphical lasso, information criteria and StARS.

The error of a row is 1 minus the mean F1 score of its graphs, unless the case says otherwise; its note
counts edges. A method's settings are the usual ones, untuned. All families, sizes and seeds, which take
hours: ``python -m benchmarks.graphs._structure_families``.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.graphs._structure_data import blocks, table
from benchmarks.graphs._structure_peers import (
    bic_and,
    counts,
    ebic_and,
    ebic_or,
    graphical_lasso_cv,
    graphical_lasso_ebic,
    stars,
)
from benchmarks.harness import Case, Contender
from skfrontier.algos import acv_score, acv_terms, leave_many_out_score
from skfrontier.datasets import fetch_sachs, make_gaussian_graph, make_ising, make_mixed_tree
from skfrontier.estimators import GraphACV

HEADLINE = ("Six kinds of graphs", "GraphicalLassoCV")
KINDS = ("chain", "grid", "hub", "erdos_renyi", "scale_free", "band")
PEERS: dict[str, Callable] = {
    "GraphicalLassoCV": graphical_lasso_cv,
    "graphical lasso, EBIC 0.5": graphical_lasso_ebic,
    "neighbourhoods, StARS": stars,
    "neighbourhoods, EBIC 0.5, and": ebic_and,
    "neighbourhoods, EBIC, or": ebic_or,
    "neighbourhoods, BIC, and": bic_and,
}
SLOW = ("GraphicalLassoCV", "graphical lasso, EBIC 0.5", "neighbourhoods, StARS")
_SOME_FAMILIES = ("watts_strogatz", "autoregressive", "skewed margins")
_SPEED_BARS = {"GraphicalLassoCV": 15.0}


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    recovered = _RECOVERED[:1] if quick else _RECOVERED
    seeds = 1 if quick else 10
    return [
        _kinds_case(16 if quick else 30, KINDS[:2] if quick else KINDS),
        *([] if quick else [_kinds_case(80, KINDS, long=True)]),
        *(_recovery_case(kind, 1600, seeds) for kind in recovered),
        *(_recovery_case(kind, 3200, seeds, long=True) for kind in recovered if not quick),
        _null_case("independent columns", 500, seeds, _independent),
        _null_case("t distribution, 5 degrees of freedom", 500, seeds, _heavy_empty),
        _heavy_case(1 if quick else 5),
        _ising_case(1 if quick else 2, 36 if quick else 100),
        _other_families_case(1 if quick else 3),
        *(_score_case(*setting, 1 if quick else 5) for setting in _SETTINGS),
        *(_growth_case(p) for p in ((200, 400) if quick else (500, 1000, 2000))),
        *([] if quick else [_wide_case(10_000, 300)]),
        _threads_case(200 if quick else 1000),
        *([_protein_case()] if _has_proteins() else []),
        *(
            family_case(kind, n, 50, 1 if quick else 2)
            for kind in (_SOME_FAMILIES[:1] if quick else _SOME_FAMILIES)
            for n in ((100,) if quick else (100, 250))
        ),
    ]


# Graphs that are known


def _ours(X: np.ndarray, **options: Any) -> np.ndarray:
    return GraphACV(precision=None, **options).fit(X).adjacency_


def _mean_counts(graphs: list, truths: list) -> np.ndarray:
    pairs = zip(graphs, truths, strict=True)
    return np.mean([counts(graph, truth) for graph, truth in pairs], axis=0)


def _contender(
    name: str, tables: list, truths: list, method: Callable, bar: float | None = None
) -> Contender:
    """A method on all tables; its note is measured beforehand, since methods are deterministic.

    Slow peers run once and have no note.
    """
    note = ""
    if name not in SLOW:
        _, false, missed = _mean_counts([method(X) for X in tables], truths)
        note = f"{false:.1f} false edges, {missed:.1f} missed"
    return Contender(
        name,
        lambda: [method(X) for X in tables],
        error=lambda graphs: 1 - _mean_counts(graphs, truths)[0],
        bar=bar,
        note=note,
    )


def _kinds_case(p: int, kinds: tuple, *, long: bool = False) -> Case:
    def build() -> list[Contender]:
        made = [make_gaussian_graph(400, p, graph=kind, random_state=0)[:2] for kind in kinds]
        tables, truths = (list(part) for part in zip(*made, strict=True))
        return [
            _contender("GraphACV", tables, truths, _ours),
            *(
                _contender(name, tables, truths, peer, _SPEED_BARS.get(name))
                for name, peer in PEERS.items()
            ),
        ]

    return Case("Six kinds of graphs", f"n = 400, p = {p}, {len(kinds)} of them", build, long=long)


def family_case(kind: str, n: int, p: int, n_seeds: int, *, slow: tuple = SLOW[-1:]) -> Case:
    """A family of graphs or margins, beside the fast peers and some of the slow ones."""

    def build() -> list[Contender]:
        made = [table(kind, n, p, 1000 + seed) for seed in range(n_seeds)]
        tables, truths = (list(part) for part in zip(*made, strict=True))
        peers = {name: peer for name, peer in PEERS.items() if name in slow or name not in SLOW}
        return [
            _contender("GraphACV", tables, truths, _ours),
            _contender("GraphACV, normal scores", tables, truths, _with_normal_scores),
            *(_contender(name, tables, truths, peer) for name, peer in peers.items()),
        ]

    return Case("Other families", f"{kind}, n = {n}, p = {p}, {n_seeds} seeds", build, long=True)


def _with_normal_scores(X: np.ndarray) -> np.ndarray:
    return _ours(X, transformation="npn")


_RECOVERED = ("chain", "grid", "hub", "band")


def _recovery_case(kind: str, n: int, n_seeds: int, *, long: bool = False) -> Case:
    def build() -> list[Contender]:
        made = [
            make_gaussian_graph(n, 64, graph=kind, random_sign=kind != "band", random_state=seed)
            for seed in range(n_seeds)
        ]

        def missed(graphs: list) -> float:
            return float(
                np.mean([(g != A).any() for g, (_, A, _) in zip(graphs, made, strict=True)])
            )

        def rows(name: str, **options: Any) -> Contender:
            return Contender(name, lambda: [_ours(X, **options) for X, _, _ in made], error=missed)

        return [
            rows("GraphACV"),
            rows("trained on all rows, and", rule="and", n_train=n),
            rows("trained on n / (log n - 1) rows, and", rule="and", n_train="bic"),
        ]

    size = (
        f"{kind}, p = 64, n = {n}, {n_seeds} seeds; error is the share of graphs not exactly right"
    )
    return Case("Exact recovery", size, build, long=long)


def _independent(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 100))


def _heavy_empty(n: int, seed: int) -> np.ndarray:
    return make_gaussian_graph(n, 100, graph="empty", df=5, random_state=seed)[0]


def _null_case(what: str, n: int, n_seeds: int, make: Callable) -> Case:
    def build() -> list[Contender]:
        tables = [make(n, seed) for seed in range(n_seeds)]

        def rows(name: str, method: Callable) -> Contender:
            edges = np.array([method(X).sum() / 2 for X in tables])
            return Contender(
                name,
                lambda: [method(X) for X in tables],
                error=lambda graphs: float(np.mean([g.any() for g in graphs])),
                note=f"{edges.mean():.2f} edges in the mean, {edges.max():.0f} at most",
            )

        return [
            rows("GraphACV", _ours),
            rows("GraphACV, normal scores", _with_normal_scores),
            rows("neighbourhoods, EBIC 0.5, and", ebic_and),
        ]

    size = f"{what}, n = {n}, p = 100, {n_seeds} seeds; error is the share of graphs with edges"
    return Case("Empty graph", size, build)


def _heavy_case(n_seeds: int) -> Case:
    def build() -> list[Contender]:
        made = [
            make_gaussian_graph(1000, 100, graph="grid", df=5, random_state=seed)[:2]
            for seed in range(n_seeds)
        ]
        tables, truths = (list(part) for part in zip(*made, strict=True))
        return [
            _contender("GraphACV", tables, truths, _ours),
            _contender("GraphACV, normal scores", tables, truths, _with_normal_scores),
            _contender("the same with counts for traces", tables, truths, _with_counts),
            _contender("neighbourhoods, EBIC 0.5, and", tables, truths, ebic_and),
        ]

    size = f"t distribution with 5 degrees of freedom, grid, n = 1000, p = 100, {n_seeds} seeds"
    return Case("Heavy tails", size, build)


def _with_counts(X: np.ndarray) -> np.ndarray:
    """All as in `GraphACV`, but complexity is the number of columns: an information criterion."""
    from benchmarks.graphs._structure_data import graph_with_counts

    return graph_with_counts(X)


def _ising_case(n_seeds: int, p: int) -> Case:
    def build() -> list[Contender]:
        made = [
            make_ising(1000, p, graph=kind, random_state=seed)[:2]
            for kind in ("erdos_renyi", "grid")
            for seed in range(n_seeds)
        ]
        tables, truths = (list(part) for part in zip(*made, strict=True))
        return [
            _contender("GraphACV, linear path", tables, truths, lambda X: _ours(X, family="ising")),
            _contender(
                "logistic path", tables, truths, lambda X: _ours(X, family="ising", path="logistic"), 1.0
            ),
        ]  # fmt: skip

    return Case("Ising model", f"n = 1000, p = {p}, two kinds of graphs, {n_seeds} seeds", build)


def _other_families_case(n_seeds: int) -> Case:
    def build() -> list[Contender]:
        rows = []
        for name, families in (
            ("counts", ["poisson"] * 60),
            ("Gaussian, binary and count columns", ["gaussian", "binary", "poisson"] * 20),
        ):
            made = [make_mixed_tree(1000, families, random_state=seed) for seed in range(n_seeds)]
            tables, truths = (list(part) for part in zip(*made, strict=True))
            rows += [
                _contender(name, tables, truths, lambda X, f=families: _ours(X, family=f)),
                _contender(f"{name}, all as Gaussian", tables, truths, _ours),
            ]
        return rows

    return Case("Counts and mixed columns", f"trees, n = 1000, p = 60, {n_seeds} seeds", build)


# The closed form


_SETTINGS = (
    ("gaussian", 2000, 200, 10, 1),
    ("gaussian", 2000, 200, 10, 2),
    ("gaussian", 2000, 100, 2, 1),
    ("ising", 5000, 500, 3, 1),
    ("ising", 5000, 500, 8, 1),
)


def _score_case(family: str, n: int, rows: int, size: int, order: int, n_seeds: int) -> Case:
    def build() -> list[Contender]:
        data = [_regression(family, n, size, seed) for seed in range(n_seeds)]
        columns = range(size)
        training = [
            acv_terms(X, y, columns, family=family).deviance / (2 * n) + (family == "gaussian") / 2
            for X, y in data
        ]

        def ours() -> list:
            return [acv_score(X, y, columns, rows, family=family, order=order) for X, y in data]

        def brute() -> list:
            return [
                leave_many_out_score(X, y, columns, rows, family=family, random_state=seed).mean
                for seed, (X, y) in enumerate(data)
            ]

        exact = np.mean(np.subtract(brute(), training))

        def excess_error(values: list) -> float:
            return float(np.mean(np.subtract(values, training)) / exact - 1)

        return [
            Contender(f"acv_score, order {order}", ours, error=excess_error),
            Contender("100 refits", brute, error=excess_error, bar=10.0),
        ]

    what = f"{family}, n = {n}, {rows} training rows, {size} columns, {n_seeds} seeds"
    return Case("Closed form", f"{what}; error of the excess over the training loss", build)


def _regression(family: str, n: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, size))
    if family == "gaussian":
        return X, X @ np.full(size, 0.3) + rng.standard_normal(n)
    return X, (rng.random(n) < 1 / (1 + np.exp(-0.5 * X.sum(axis=1)))).astype(float)


# Size


@lru_cache(maxsize=1)
def _blocks(p: int, n: int) -> tuple[np.ndarray, sparse.csr_array]:
    return blocks(p, n)


def _sparse_error(truth: sparse.csr_array) -> Callable:
    def error(found: sparse.csr_array) -> float:
        return float(1 - 2 * found.multiply(truth).sum() / (found.sum() + truth.sum()))

    return error


def _growth_case(p: int) -> Case:
    def build() -> list[Contender]:
        X, truth = _blocks(p, 1000)
        return [_wide_contender(X, truth)]

    return Case("Growth", f"n = 1000, p = {p}", build, series="Columns", n=p)


def _wide_case(p: int, n: int) -> Case:
    def build() -> list[Contender]:
        X, truth = _blocks(p, n)
        return [_wide_contender(X, truth)]

    return Case("Many columns", f"n = {n}, p = {p}", build, long=p > 5000)


def _wide_contender(X: np.ndarray, truth: sparse.csr_array, **options: Any) -> Contender:
    def run() -> sparse.csr_array:
        return GraphACV(precision=None, sparse_output=True, **options).fit(X).adjacency_

    return Contender("GraphACV", run, error=_sparse_error(truth))


def _threads_case(p: int) -> Case:
    def build() -> list[Contender]:
        X, truth = _blocks(p, 1000)
        one = _wide_contender(X, truth)
        two = _wide_contender(X, truth, n_jobs=2)
        return [one, Contender("two threads", two.run, error=two.error, note="compare wall times")]

    return Case("Threads", f"n = 1000, p = {p}", build)


# Measured data


def _has_proteins() -> bool:
    try:
        fetch_sachs(download_if_missing=False)
    except OSError:
        return False
    return True


def _protein_case() -> Case:
    def build() -> list[Contender]:
        data = fetch_sachs(download_if_missing=False)
        tables, truths = [np.log(data.X)], [data.adjacency]
        return [
            _contender("GraphACV", tables, truths, _ours),
            _contender("GraphicalLassoCV", tables, truths, graphical_lasso_cv),
            _contender("neighbourhoods, EBIC 0.5, and", tables, truths, ebic_and),
        ]

    return Case("Proteins in cells", "logarithms, 7466 x 11, against 18 reference edges", build)
