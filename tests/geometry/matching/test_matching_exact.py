"""Exact and anytime engines beside scipy, change by change."""

import numpy as np
import pytest
from matching_references import Mirror, grid_or_normal, optimum, optimum_of
from scipy.spatial.distance import cdist

from skfrontier.algos.geometry.matching import searches, tree_matching
from skfrontier.algos.geometry.matching.costs import vector_cost
from skfrontier.algos.geometry.matching.exact import DualMatching
from skfrontier.algos.geometry.matching.line import LineMatching
from skfrontier.algos.geometry.matching.tree_matching import TreeMatching

EUCLIDEAN = vector_cost("euclidean")


def power_of(p):
    return lambda x, y: np.linalg.norm(x - y) ** p


@pytest.mark.parametrize("seed", range(20))
def test_cost_and_bound_are_optimal_after_every_change(seed):
    rng = np.random.default_rng(seed)
    d, p = 1 + seed % 3, (1, 1.5, 2, 3)[seed % 4]
    mirror = Mirror(DualMatching(vector_cost("euclidean", p), d))
    draw = grid_or_normal(rng, d, ties=seed % 2)
    for step in range(75):
        mirror.random_changes(rng, draw, step)
        mirror.check_pairs(power_of(p))
        if mirror.both is not None:
            best = optimum(*mirror.both, p)
            assert abs(mirror.engine.cost() - best) <= 1e-9 * (1 + best)
            assert abs(mirror.engine.lower_bound() - best) <= 1e-9 * (1 + best)


@pytest.mark.parametrize("seed", range(8))
def test_anytime_bounds_hold_and_refine_makes_it_exact(seed):
    rng = np.random.default_rng(seed)
    mirror = Mirror(DualMatching(vector_cost("euclidean"), 2, limit=1 + seed))
    draw = grid_or_normal(rng, 2, ties=seed % 2)
    for step in range(60):
        searched, scanned = mirror.engine.n_searches, mirror.engine.n_scans
        mirror.random_changes(rng, draw, step)
        searched = mirror.engine.n_searches - searched
        assert mirror.engine.n_scans - scanned <= searched * (1 + seed)
        mirror.check_pairs(power_of(1))
        if mirror.both is not None:
            best = optimum(*mirror.both)
            assert mirror.engine.lower_bound() <= best * (1 + 1e-9) + 1e-12
            assert mirror.engine.cost() >= best * (1 - 1e-9)
            if step % 20 == 19:
                mirror.engine.refine()
                assert mirror.engine.cost() == pytest.approx(best, rel=1e-9)
                assert mirror.engine.lower_bound() == pytest.approx(best, rel=1e-9)


def test_refine_stops_at_the_gap_and_at_the_number_of_searches():
    rng = np.random.default_rng(0)
    engine = DualMatching(vector_cost("euclidean"), 2, limit=3)
    engine.insert(0, rng.random((100, 2)))
    engine.insert(1, rng.random((100, 2)))
    engine.flush()
    before = engine.cost() / engine.lower_bound()
    engine.refine(0.05, max_searches=1)
    assert engine.cost() / engine.lower_bound() > 1.05
    engine.refine(0.05)
    assert 1 + 1e-9 < engine.cost() / engine.lower_bound() <= 1.05 < before


@pytest.mark.parametrize("seed", range(6))
def test_line_agrees_whatever_is_asked_for_in_between(seed):
    rng = np.random.default_rng(seed)
    p = (1, 1.5, 2)[seed % 3]
    mirror = Mirror(LineMatching(vector_cost("euclidean", p), 1))
    for step in range(60):
        mirror.random_changes(rng, grid_or_normal(rng, 1, ties=seed % 2), step)
        if mirror.both is not None:
            best = optimum(*mirror.both, p)
            assert mirror.engine.cost() == pytest.approx(best, rel=1e-9, abs=1e-9)
            assert mirror.engine.lower_bound() == pytest.approx(best, rel=1e-9, abs=1e-9)
            mirror.check_pairs(power_of(p))
        if step % 7 == 0:
            mirror.engine.potentials()


def test_blocks_need_fewer_rows_than_single_replacements():
    def rows(block):
        rng = np.random.default_rng(0)
        engine = DualMatching(vector_cost("euclidean"), 2)
        slots = engine.insert(0, rng.random((300, 2)))
        engine.insert(1, rng.random((300, 2)))
        engine.flush()
        start = engine.n_scans
        for some in np.split(slots[:60], 60 // block):
            engine.delete(0, some)
            engine.insert(0, rng.random((block, 2)))
            engine.flush()
        return engine.n_scans - start

    assert rows(30) < 0.6 * rows(1)


def test_interrupted_flush_leaves_the_state_before(monkeypatch):
    rng = np.random.default_rng(0)
    engine = DualMatching(vector_cost("euclidean"), 2)
    slots = engine.insert(0, rng.random((30, 2)))
    engine.insert(1, rng.random((30, 2)))
    engine.flush()
    engine.delete(0, slots[:4])
    engine.insert(0, rng.random((4, 2)))
    before = [array.copy() for array in (*engine.mate, *engine.potential, *engine.price)]
    calls = []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return searches.grow(*args)

    with monkeypatch.context() as patched:
        patched.setattr("skfrontier.algos.geometry.matching.exact.grow", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine.flush()
    after = (*engine.mate, *engine.potential, *engine.price)
    assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(before, after, strict=True))
    engine.flush()
    points = [engine.stored(side)[engine.sides[side].live] for side in range(2)]
    assert engine.cost() == pytest.approx(optimum(*points), rel=1e-9)


def test_rounding_is_repaired_and_counted():
    rng = np.random.default_rng(0)
    engine = DualMatching(vector_cost("euclidean"), 2)
    engine.insert(0, rng.random((40, 2)))
    engine.insert(1, rng.random((50, 2)))
    engine.flush()
    engine.check()
    assert engine.n_refits == 0
    engine.potential[1][engine.sides[1].live[:5]] += 0.1  # as if rounding had gone far
    engine.check()
    assert engine.n_refits == 1
    points = [engine.stored(side)[engine.sides[side].live] for side in range(2)]
    best = optimum(*points)
    assert engine.cost() == pytest.approx(best, rel=1e-9)
    assert engine.lower_bound() == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_of_the_coordinates_does_not_matter(scale):
    rng = np.random.default_rng(0)
    A, B = scale * rng.random((40, 2)), scale * rng.random((45, 2))
    engine = DualMatching(vector_cost("euclidean"), 2)
    engine.insert(0, A)
    engine.insert(1, B)
    engine.flush()
    assert engine.cost() == pytest.approx(optimum(A, B), rel=1e-9, abs=0)
    assert engine.lower_bound() == pytest.approx(optimum(A, B), rel=1e-9, abs=0)


@pytest.mark.parametrize("p", [1, 2])
def test_all_points_equal_or_all_distances_equal(p):
    engine = DualMatching(vector_cost("chebyshev", p), 3)
    engine.insert(0, np.zeros((20, 3)))
    engine.insert(1, np.zeros((30, 3)))
    engine.flush()
    assert engine.cost() == engine.lower_bound() == 0
    slots = engine.insert(1, np.ones((5, 3)))
    engine.flush()
    engine.delete(1, np.setdiff1d(engine.sides[1].live, slots))
    engine.flush()
    assert engine.cost() == engine.lower_bound() == 5


@pytest.mark.parametrize("seed", range(16))
def test_trees_find_the_optimum_after_every_change(seed, monkeypatch):
    monkeypatch.setattr(tree_matching, "_DEAR", 0)  # trees even where they do not pay
    rng = np.random.default_rng(seed)
    d, p = 1 + seed % 3, (1.0, 1.5, 2.0, 3.0)[seed % 4]
    metric = ("euclidean", "manhattan", "chebyshev", "minkowski")[seed // 4]
    scipy_name = {"manhattan": "cityblock"}.get(metric, metric)
    params = {"p": 3} if metric == "minkowski" else {}
    cost = vector_cost(metric, p, 3.0 if metric == "minkowski" else None)
    mirror = Mirror(TreeMatching(cost, d, from_points=2))
    draw = grid_or_normal(rng, d, ties=seed % 2)
    for step in range(60):
        mirror.random_changes(rng, draw, step)
        mirror.engine.flush()
        if mirror.both is None:
            continue
        best = optimum_of(cdist(*mirror.both, scipy_name, **params) ** p)
        assert mirror.engine.cost() == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert mirror.engine.lower_bound() == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_rows_are_scanned_where_trees_rule_little_out():
    rng = np.random.default_rng(0)
    costs = []
    for engine in (TreeMatching(EUCLIDEAN, 2, 2), DualMatching(EUCLIDEAN, 2)):
        points = np.random.default_rng(1)
        engine.insert(0, points.random((400, 2)))
        engine.insert(1, points.random((400, 2)) + 1)
        engine.flush()
        costs.append(engine.cost())
    assert costs[0] == pytest.approx(costs[1], rel=1e-9)
    near = TreeMatching(EUCLIDEAN, 2, 2)
    near.insert(0, rng.random((2000, 2)))
    near.insert(1, rng.random((2000, 2)))
    near.flush()
    assert near._trees_pay
    engine = TreeMatching(EUCLIDEAN, 2, 2)
    engine.insert(0, rng.random((400, 2)))
    engine.insert(1, rng.random((400, 2)) + 1)
    engine.flush()
    assert not engine._trees_pay
