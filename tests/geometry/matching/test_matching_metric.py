"""The hub graph and the flow on it beside brute force on the same graph."""

import numpy as np
import pytest
from matching_references import Mirror, grid_or_normal, optimum, optimum_of
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

from skfrontier.algos import build_bunches, stretch_bound
from skfrontier.algos.geometry.matching.arcs import HUB
from skfrontier.algos.geometry.matching.costs import matrix_cost, vector_cost
from skfrontier.algos.geometry.matching.distance_rows import VectorRows
from skfrontier.algos.geometry.matching.hub_flow import HubMatching


def hub_matching(p, k, seed, d=2, rows=None):
    rows = VectorRows(vector_cost("euclidean", p)) if rows is None else rows
    return HubMatching(rows, d, p, k, np.random.default_rng(seed))


def connections(engine):
    """Cheapest direct or one-hub connection of all pairs, by brute force."""
    n = engine.n_nodes
    arcs = np.full((n, n), np.inf)
    for node in range(n):
        arc = engine.first[node]
        while arc >= 0:
            head = engine.head[arc]
            arcs[node, head] = min(arcs[node, head], engine.arc_cost[arc])
            arc = engine.following[arc]
    a, b = (engine._slot_node[side][engine.live(side)] for side in range(2))
    costs = arcs[np.ix_(a, b)]
    for hub in np.flatnonzero(engine.role[:n] == HUB):
        costs = np.minimum(costs, arcs[a, hub][:, None] + arcs[hub, b])
    return costs


def metrics():
    """Points in the plane and in 16 dimensions, a random graph, an exponentially spread line."""
    rng = np.random.default_rng(3)
    yield "plane", cdist(*2 * (rng.random((60, 2)),))
    yield "gauss", cdist(*2 * (rng.normal(size=(60, 16)),))
    edges = np.zeros((60, 60))
    for _ in range(3):
        order = rng.permutation(60)
        edges[order, np.roll(order, 1)] = 1
    yield "graph", shortest_path(edges, directed=False, unweighted=True)
    line = 1.3 ** np.arange(60.0)
    yield "line", abs(line[:, None] - line)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("name", "D"), list(metrics()))
def test_every_pair_is_within_the_stretch(name, D, k, p):
    rng = np.random.default_rng(k)
    engine = hub_matching(p, k, k, 1, VectorRows(matrix_cost(D, p)))
    indices = rng.permutation(60)
    a = engine.insert(0, indices[:25, None].astype(float))
    b = engine.insert(1, indices[25:50, None].astype(float))
    engine.rebuild()
    engine.delete(0, a[:8])
    engine.delete(1, b[:10])
    engine.insert(0, indices[50:55, None].astype(float))
    engine.insert(1, indices[55:, None].astype(float))
    engine.flush()
    i, j = (engine.stored(s)[engine.live(s), 0].astype(int) for s in range(2))
    true, found = D[np.ix_(i, j)] ** p, connections(engine)
    assert (found >= true * (1 - 1e-12)).all()
    assert (found <= stretch_bound(k, p) ** p * true * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", range(12))
def test_flow_is_optimal_on_its_graph_after_every_change(seed):
    rng = np.random.default_rng(seed)
    p, k = (1, 2, 3)[seed % 3], 1 + seed // 3 % 3
    mirror = Mirror(hub_matching(p, k, seed))
    draw = grid_or_normal(rng, 2, ties=seed % 2)
    for step in range(60):
        mirror.random_changes(rng, draw, step, most=24)
        mirror.check_pairs(lambda x, y: np.linalg.norm(x - y) ** p)
        if mirror.both is None:
            continue
        engine, best = mirror.engine, optimum(*mirror.both, p)
        of_graph = optimum_of(connections(engine))
        assert engine.flow_cost() == pytest.approx(of_graph, rel=1e-7, abs=1e-7)
        assert engine.cost() <= engine.flow_cost() * (1 + 1e-9) + 1e-9
        assert of_graph <= engine.factor**p * best * (1 + 1e-9) + 1e-9
        for transforms in (False, True):
            assert engine.lower_bound(transforms) <= best * (1 + 1e-9) + 1e-9


def test_one_level_is_the_complete_graph():
    rng = np.random.default_rng(0)
    A, B = rng.random((20, 2)), rng.random((23, 2))
    engine = hub_matching(2, 1, 0)
    engine.insert(0, A)
    engine.insert(1, B)
    engine.rebuild()
    assert engine.n_arcs == 20 * 23
    assert engine.cost() == pytest.approx(optimum(A, B, 2), rel=1e-9)


def test_units_of_a_large_hub_are_paired_in_parts(monkeypatch):
    monkeypatch.setattr("skfrontier.algos.geometry.matching.hub_flow._PAIRED_AT_ONCE", 2)
    rng = np.random.default_rng(1)
    mirror = Mirror(hub_matching(1, 3, 1))
    for _ in range(60):
        mirror.insert(int(rng.integers(2)), rng.random(2))
    mirror.engine.rebuild()
    mirror.check_pairs(lambda x, y: np.linalg.norm(x - y))
    assert mirror.engine.cost() <= mirror.engine.flow_cost() * (1 + 1e-9)


@pytest.mark.parametrize(("d", "limits"), [(2, (1.03, 1.07)), (16, (1.01, 1.03))])
def test_quality_and_size(d, limits):
    rng = np.random.default_rng(0)
    draw = rng.random if d == 2 else lambda shape: rng.normal(size=shape)
    A, B = draw((800, d)), draw((800, d))
    best = optimum(A, B)
    for k, limit in zip((2, 3), limits, strict=True):
        engine = hub_matching(1, k, 0, d)
        engine.insert(0, A)
        engine.insert(1, B)
        engine.flush()
        assert best * (1 - 1e-9) <= engine.cost() <= limit * best
        assert engine.n_arcs <= 1.5 * k * 1600 ** (1 + 1 / k)


def test_stretch_bound_values():
    assert stretch_bound(1, 2.5) == 1
    assert [stretch_bound(k) for k in (2, 3, 4)] == [3, 5, 7]
    for k in (2, 3):
        for p in (1, 1.5, 2, 3, 40):
            formula = (2 ** (p - 1) * ((k - 1) ** p + k**p)) ** (1 / p)
            assert stretch_bound(k, p) == pytest.approx(formula, rel=1e-12)
            assert stretch_bound(k, p) <= 2 * k
    assert stretch_bound(3, 1e6) <= 6
    with pytest.raises(ValueError, match="k must be at least 1"):
        stretch_bound(0)
    with pytest.raises(ValueError, match="p must lie in"):
        stretch_bound(2, 0.5)


def test_bunches_hold_what_is_nearer_than_the_next_level():
    rng = np.random.default_rng(0)
    points = rng.random((80, 2))
    D = cdist(points, points)
    bunches = build_bunches(D, 3, rng)
    for x in range(80):
        inside = set(bunches.member[bunches.start[x] : bunches.start[x + 1]].tolist())
        for w in range(80):
            higher = bunches.level > bunches.level[w]
            next_level = D[x, higher].min() if higher.any() else np.inf
            if D[x, w] < next_level:
                assert w in inside
    with_rows = build_bunches(lambda i: D[i], 3, np.random.default_rng(0))
    assert with_rows.member.size <= 1.5 * 3 * 80 ** (4 / 3)
