"""Dynamic spectral clustering beside refits with scikit-learn, Leiden, Louvain and itself."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Case, Contender
from skfrontier.algos import EdgeList, Hierarchy
from skfrontier.datasets import (
    fetch_primary_school,
    make_evolving_sbm,
    make_knn_stream,
    make_sbm_edges,
)
from skfrontier.estimators import DynamicSpectralClustering

SKLEARN = "sklearn SpectralClustering, lobpcg"
HEADLINE = ("20 edges, then the clusters", SKLEARN)

_DEPTHS = (3, 1, 2, 4)
_BORN = 10  # vertices between two queries of the growing graph
_GROW = {"micro_clusters": 2, "min_budget": 8, "n_clusters": 8, "random_state": 0}
_PLAIN = {"depth": 1, "refine_rate": None, "random_state": 0}


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    sizes = (2_000, 4_000) if quick else (4_000, 16_000, 64_000)
    million = 20_000 if quick else 1_000_000
    return [
        _peer_case(2_000 if quick else 20_000),
        _new_cluster_case(500 if quick else 5_000),
        *(_growth_case(n) for n in sizes),
        *(_update_case(n, rate) for n in sizes[::2] for rate in (None, 0.1)),
        _deletion_case(200 if quick else 1_000),
        *_accuracy_cases(quick),
        _stream_case(million, long=not quick),
        _subset_case(million, long=not quick),
        _scale_case(million, long=not quick),
    ]


# Graphs.


def _planted(n: int, k: int, degree_in: float, degree_out: float, seed: int = 0) -> np.ndarray:
    p_in, p_out = degree_in * k / n, degree_out / (n - n / k)
    edges = make_sbm_edges([n // k] * k, min(1, p_in), min(1, p_out), seed)
    return np.random.default_rng(seed).permutation(edges)


def _labels(n: int, k: int) -> np.ndarray:
    return np.repeat(np.arange(k), n // k)


def _mistakes(truth: np.ndarray) -> Callable[[np.ndarray], float]:
    return lambda labels: 1 - float(adjusted_rand_score(truth, labels))


# Peers: each takes an adjacency matrix and returns labels.


def _sklearn(A: sparse.csr_matrix, k: int) -> np.ndarray:
    model = SpectralClustering(
        k, affinity="precomputed", eigen_solver="lobpcg", random_state=0, assign_labels="kmeans"
    )
    return model.fit_predict(A)


def _igraph(A: sparse.csr_matrix) -> Any:
    import igraph

    upper = sparse.triu(A).tocoo()
    graph = igraph.Graph(A.shape[0], list(zip(upper.row, upper.col, strict=True)))
    graph.es["weight"] = upper.data
    return graph


def _leiden(graph: Any) -> np.ndarray:
    import leidenalg

    found = leidenalg.find_partition(
        graph, leidenalg.ModularityVertexPartition, weights="weight", seed=0
    )
    return np.array(found.membership)


def _igraph_leiden(graph: Any) -> np.ndarray:
    found = graph.community_leiden("modularity", weights="weight", n_iterations=2)
    return np.array(found.membership)


def _sknetwork(A: sparse.csr_matrix) -> np.ndarray:
    from sknetwork.clustering import Louvain

    return Louvain(random_state=0).fit_predict(A)


def _networkx(A: sparse.csr_matrix) -> np.ndarray:
    import networkx as nx

    labels = np.empty(A.shape[0], int)
    communities = nx.community.louvain_communities(nx.from_scipy_sparse_array(A), seed=0)
    for label, members in enumerate(communities):
        labels[list(members)] = label
    return labels


def _full(A: sparse.csr_matrix, k: int) -> np.ndarray:
    return DynamicSpectralClustering(n_clusters=k, **_PLAIN).fit(A).labels_


# Cases.


def _peer_case(n: int) -> Case:
    k, batch, n_queries = 10, 20, 6

    def build() -> list[Contender]:
        edges = _planted(n, k, 14, 2)
        start = len(edges) - 30 * batch * n_queries
        model = DynamicSpectralClustering(n_clusters=k, random_state=0)
        model.fit(EdgeList(edges[:start], n_vertices=n))
        batches = iter(np.split(edges[start:], 30 * n_queries))

        def follow() -> np.ndarray:
            for _ in range(n_queries):
                labels = model.partial_fit(next(batches)).query()
            return labels

        A = EdgeList(edges, n_vertices=n).matrix()
        graph = cache(lambda: _igraph(A))
        wrong = _mistakes(_labels(n, k))
        return [
            Contender("skfrontier, depth 3", follow, share=n_queries, error=wrong),
            Contender("skfrontier, full solve", lambda: _full(A, k), error=wrong, bar=20),
            Contender(SKLEARN, lambda: _sklearn(A, k), "sklearn", error=wrong, bar=400),
            Contender(
                "leidenalg, modularity", lambda: _leiden(graph()), "leidenalg", error=wrong, bar=400
            ),
            Contender(
                "igraph community_leiden",
                lambda: _igraph_leiden(graph()),
                "igraph",
                error=wrong,
                bar=30,
            ),
            Contender("scikit-network Louvain", lambda: _sknetwork(A), "sknetwork", error=wrong),
            Contender("networkx Louvain", lambda: _networkx(A), "networkx", error=wrong),
        ]

    size = f"{n} vertices, {k} clusters, 16 edges a vertex"
    return Case("20 edges, then the clusters", size, build)


def _new_cluster_case(size: int) -> Case:
    n_steps, born = 6, size // 50

    def build() -> list[Contender]:
        stream = make_evolving_sbm(
            size, 10, n_steps=n_steps, n_changed=born, degree_in=60, degree_out=6, random_state=0
        )
        fitted = DynamicSpectralClustering(n_clusters=10, random_state=0).fit(stream.adjacency)

        def follow() -> np.ndarray:
            model = copy.deepcopy(fitted)
            for k, (edges, _) in enumerate(stream, start=11):
                labels = model.set_params(n_clusters=k).partial_fit(edges).query()
            return labels

        final = copy.deepcopy(fitted)
        for edges, _ in stream:
            final.partial_fit(edges)
        A, wrong = final.adjacency(), _mistakes(stream.steps[-1].labels)
        return [
            Contender("skfrontier, depth 3", follow, share=n_steps, error=wrong),
            Contender("skfrontier, full solve", lambda: _full(A, 16), error=wrong, bar=10),
        ]

    return Case("A cluster is born", f"10 x {size} vertices, 66 edges a vertex", build)


def _growth_case(n: int) -> Case:
    def build() -> list[Contender]:
        return [_growing(n, depth) for depth in _DEPTHS]

    return Case(
        "A growing graph",
        f"{n} vertices, {_BORN} new ones a query; mean over two cycles of full solves",
        build,
        series="One query with its updates",
        n=n,
    )


def _growing(n: int, depth: int) -> Contender:
    budget = max(8, int(n ** (1 - 1 / depth)))
    n_steps = 2 * -(-(budget + 1) // _BORN) if depth > 1 else 4
    stream = make_evolving_sbm(
        n // 8, 8, scenario="grow", n_steps=n_steps, n_changed=_BORN, degree_in=14, random_state=0
    )
    fitted = DynamicSpectralClustering(depth=depth, **_GROW).fit(stream.adjacency)

    def follow(sizes: list[int] | None = None) -> np.ndarray:
        model = copy.deepcopy(fitted)
        for edges, _ in stream:
            labels = model.partial_fit(edges).query()
            if sizes is not None:
                sizes.append(model.last_query_["n_nodes"] + model.last_query_["n_entries"])
        return labels

    sizes: list[int] = []
    follow(sizes)
    return Contender(
        f"depth {depth}",
        follow,
        share=n_steps,
        error=_mistakes(stream.steps[-1].labels),
        bar=20 if depth == 1 and n == 64_000 else None,
        note=f"{np.mean(sizes):.0f} nodes and entries a query",
    )


def _update_case(n: int, rate: float | None) -> Case:
    def build() -> list[Contender]:
        return [_updating(n, depth, rate) for depth in (4, 3, 2, 1)]

    votes = "no votes" if rate is None else f"votes at {rate:g}"
    return Case(
        "Updates between queries",
        f"{n} vertices, {votes}; the edges of 200 new vertices",
        build,
        series=f"Updates, {votes}",
        n=n,
    )


def _updating(n: int, depth: int, rate: float | None) -> Contender:
    """Insert the edges of 200 new vertices, all levels in use."""
    n_steps, n_runs = 20, 8
    stream = make_evolving_sbm(
        n // 8,
        8,
        scenario="grow",
        n_steps=n_steps * n_runs,
        n_changed=_BORN,
        degree_in=14,
        random_state=0,
    )
    graph = Hierarchy(
        stream.adjacency, n_clusters=8, depth=depth, refine_rate=rate, min_budget=100_000
    )
    graph.cluster(random_state=0)
    parts = iter(np.array_split(np.array(stream.steps, dtype=object), n_runs))

    def insert() -> None:
        for step in next(parts):
            graph.insert(step.edges)

    return Contender(
        f"depth {depth}", insert, bar={1: 1 / 6 if rate is None else 1 / 10}.get(depth)
    )


def _deletion_case(size: int) -> Case:
    def build() -> list[Contender]:
        n = 8 * size
        edges = _planted(n, 8, 16, 2)
        others = _planted(n, 8, 16, 2, seed=1)
        graphs = [
            Hierarchy(EdgeList(edges, n_vertices=n), n_clusters=8, min_budget=100_000)
            for _ in range(2)
        ]
        for graph in graphs:
            graph.cluster(random_state=0)
        gone, come = (iter(np.array_split(some, 40)) for some in (edges, others))
        return [
            Contender("delete", lambda: graphs[0].delete(next(gone))),
            Contender("insert", lambda: graphs[1].insert(next(come)), bar=0.5),
        ]

    return Case(
        "Deletions beside insertions", f"{8 * size} vertices, a fortieth of their edges", build
    )


# Accuracy: the error is one minus the mean adjusted Rand index over the steps.


def _accuracy_cases(quick: bool) -> list[Case]:
    return [
        Case(
            "Digits that arrive class by class",
            "neighbour graph, 45 points a step",
            lambda: _followers(_digit_steps(), {}, leiden=False),
        ),
        Case(
            "A school day",
            "242 people, 60 chunks of contacts",
            lambda: _followers(_school_steps(), {"min_budget": 16}, leiden=True),
        ),
        Case(
            "Weak signal that grows",
            "4 x 1000 vertices, 10 to 20 edges a vertex",
            lambda: _followers(_weak_steps(3 if quick else 12), {}, leiden=True),
        ),
    ]


# A step is (edges, truth, number of clusters); vertices whose truth is -1 do not count.
_Step = tuple[np.ndarray, np.ndarray, int]


def _digit_steps() -> list[_Step]:
    X, y = load_digits(return_X_y=True)
    stream = make_knn_stream(X, y, 10, batch=45, random_state=0)
    first = np.argwhere(sparse.triu(stream.adjacency).toarray())
    steps = [(first, stream.labels), *stream]
    return [(edges, truth, len(np.unique(truth))) for edges, truth in steps]


def _school_steps() -> list[_Step]:
    school = fetch_primary_school()
    teachers = np.array(school.classes)[school.labels] == "Teachers"
    truth = np.where(teachers, -1, school.labels)
    start = len(school.edges) // 5
    chunks = [school.edges[:start], *np.array_split(school.edges[start:], 60)]
    return [(chunk, truth, 10) for chunk in chunks]


def _weak_steps(n_steps: int) -> list[_Step]:
    n, truth = 4000, _labels(4000, 4)
    first, second = (_planted(n, 4, 6, 4, seed) for seed in (0, 1))
    return [(edges, truth, 4) for edges in (first, *np.array_split(second, n_steps))]


def _followers(steps: list[_Step], parameters: dict, *, leiden: bool) -> list[Contender]:
    n = max(len(truth) for _, truth, _ in steps)

    def dynamic(depth: int) -> Callable[[], list[np.ndarray]]:
        def run() -> list[np.ndarray]:
            model = DynamicSpectralClustering(depth=depth, random_state=0, **parameters)
            answers = []
            for edges, truth, k in steps:
                model.set_params(n_clusters=k).partial_fit(edges, n_vertices=len(truth))
                answers.append(model.query())
            return answers

        return run

    def refit(cluster: Callable[[sparse.csr_matrix, int], np.ndarray]) -> Any:
        def run() -> list[np.ndarray]:
            seen, answers = np.empty((0, 2), int), []
            for edges, truth, k in steps:
                seen = np.concatenate([seen, edges])
                A = EdgeList(seen, n_vertices=n).matrix()[: len(truth), : len(truth)]
                answers.append(cluster(A, k))
            return answers

        return run

    def mean_error(answers: list[np.ndarray]) -> float:
        scores = [
            adjusted_rand_score(truth[truth >= 0], labels[truth >= 0])
            for (_, truth, _), labels in zip(steps, answers, strict=True)
        ]
        return 1 - float(np.mean(scores))

    contenders = [
        Contender("skfrontier, depth 3", dynamic(3), error=mean_error),
        Contender("skfrontier, depth 2", dynamic(2), error=mean_error),
        Contender("skfrontier, full solve", refit(_full), error=mean_error),
    ]
    if leiden:
        contenders.append(
            Contender(
                "leidenalg, modularity",
                refit(lambda A, k: _leiden(_igraph(A))),
                "leidenalg",
                error=mean_error,
            )
        )
    return contenders


# Scale.

_BATCH = 100_000
_N_SPARE = 8_000  # edges kept back for queries after a few changes


@cache
def _large_edges(n: int) -> np.ndarray:
    return _planted(n, 10, 17, 3)


def _streamed(n: int, edges: np.ndarray) -> DynamicSpectralClustering:
    model = DynamicSpectralClustering(n_clusters=10, random_state=0)
    model.partial_fit(np.empty((0, 2), int), n_vertices=n)
    for batch in np.array_split(edges, max(1, len(edges) // _BATCH)):
        model.partial_fit(batch)
    return model


@cache
def _large_model(n: int) -> DynamicSpectralClustering:
    model = _streamed(n, _large_edges(n)[_N_SPARE:])
    model.query()
    return model


def _stream_case(n: int, *, long: bool) -> Case:
    def build() -> list[Contender]:
        edges = _large_edges(n)
        share = len(edges) / _BATCH
        return [
            Contender("skfrontier, depth 3", lambda: _streamed(n, edges), share=share),
            Contender(
                "scipy, one matrix of all edges at once",
                lambda: EdgeList(edges, n_vertices=n).matrix(),
                share=share,
            ),
        ]

    return Case("A stream of edges", f"{n} vertices, 100 000 of {10 * n} edges", build, long=long)


def _subset_case(n: int, *, long: bool) -> Case:
    def build() -> list[Contender]:
        model = _large_model(n)
        some = np.random.default_rng(0).integers(0, n, 1000)
        return [
            Contender("skfrontier, 1000 vertices", lambda: model.query(some)),
            Contender("skfrontier, all vertices", model.query),
        ]

    return Case("Labels of a clean state", f"{n} vertices", build, long=long)


def _scale_case(n: int, *, long: bool) -> Case:
    def build() -> list[Contender]:
        model, edges = _large_model(n), _large_edges(n)
        batches = iter(np.split(edges[:_N_SPARE], _N_SPARE // 20))
        A = EdgeList(edges, n_vertices=n).matrix()
        truth = _labels(n, 10)
        return [
            Contender(
                "skfrontier, depth 3",
                lambda: model.partial_fit(next(batches)).query(np.arange(1000)),
                error=lambda _: _mistakes(truth)(model.labels_),
            ),
            Contender(
                "skfrontier, full solve", lambda: _full(A, 10), error=_mistakes(truth), bar=100
            ),
        ]

    return Case("20 edges in a large graph", f"{n} vertices, {10 * n} edges", build, long=long)
