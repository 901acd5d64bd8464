"""Floor, chains and bounds of the geometric engine beside scipy."""

import numpy as np
import pytest
from matching_references import Mirror, grid_or_normal, optimum
from scipy.spatial import cKDTree

from skfrontier.algos.geometry.matching.chains import enter, new_live
from skfrontier.algos.geometry.matching.costs import vector_cost
from skfrontier.algos.geometry.matching.geometric import GeometricMatching
from skfrontier.algos.geometry.matching.grid_floor import floor_clear, floor_fill, new_floor
from skfrontier.algos.geometry.matching.point_tree import new_tree, tree_fill


def geometric(seed=0, d=2, metric="euclidean", **options):
    defaults = {
        "ratio": 2, "n_levels": None, "bounds": None, "n_candidates": 24, "depth": 64,
        "max_chains": 8,
    }  # fmt: skip
    return GeometricMatching(
        vector_cost(metric), d, rng=np.random.default_rng(seed), **{**defaults, **options}
    )


@pytest.mark.parametrize("seed", range(6))
def test_floor_keeps_its_books(seed):
    rng = np.random.default_rng(seed)
    levels, floor = 5, new_floor(120, 5)
    places = rng.integers(0, 16 if seed % 2 else 4, (120, 2))
    live = set()
    for step in range(400):
        outside = sorted(set(range(120)) - live)
        if outside and rng.random() < 0.5 + 0.4 * np.sin(step / 60):
            node = outside[rng.integers(len(outside))]
            floor_fill(floor, np.array([node]), places[node : node + 1], 1)
            live.add(node)
        elif live:
            node = sorted(live)[rng.integers(len(live))]
            floor_clear(floor, np.array([node]))
            live.remove(node)
        cells = {}
        for node in live:
            for level in range(levels):
                inside = (level, *(places[node] >> (levels - 1 - level)))
                cells.setdefault(inside, []).append(node)
        assert len(cells) == floor.cell.size - floor.totals[0]
        for (level, *_), nodes in cells.items():
            left = [node for node in nodes if floor.left_over[node, level]]
            sides = [node % 2 for node in nodes]
            assert len(left) == abs(sides.count(0) - sides.count(1))
            assert len({node % 2 for node in left}) <= 1
        for node in live:
            mate = floor.mate[node]
            assert mate < 0 or (floor.mate[mate] == node and (mate ^ node) & 1 and mate in live)
        assert sum(floor.mate[n] >= 0 for n in live) == 2 * min(
            sum(n % 2 == s for n in live) for s in range(2)
        )
    assert floor.totals[1] <= levels + 1


@pytest.mark.parametrize("seed", range(12))
def test_matching_is_whole_bounded_and_below_the_floor(seed):
    rng = np.random.default_rng(seed)
    d = 1 + seed % 3
    metric, norm = (("euclidean", 2), ("manhattan", 1), ("chebyshev", np.inf), ("minkowski", 2))[
        seed % 4
    ]
    name = {"manhattan": "cityblock", "minkowski": "euclidean"}.get(metric, metric)
    options = {"n_candidates": (24, 0, 5, 3)[seed // 3], "ratio": (2, 4, 8, 16)[seed % 4]}
    mirror = Mirror(geometric(seed, d, metric, **options))
    draw = grid_or_normal(rng, d, ties=seed % 2)
    for step in range(70):
        mirror.random_changes(rng, draw, step, most=90)
        mirror.check_pairs(lambda x, y: np.linalg.norm(x - y, ord=norm))
        if mirror.both is None:
            continue
        best, engine = optimum(*mirror.both, metric=name), mirror.engine
        assert (
            best * (1 - 1e-9) - 1e-12 <= engine.cost() <= engine.floor_cost() * (1 + 1e-9) + 1e-12
        )
        if step % 3 == 0:
            for mode in ("cheap", "auto", "dual"):
                assert engine.lower_bound(mode) <= best * (1 + 1e-9) + 1e-12
        if step % 30 == 29:
            engine.rebuild()
            mirror.check_pairs(lambda x, y: np.linalg.norm(x - y, ord=norm))


def test_floor_is_within_its_expected_bound():
    rng = np.random.default_rng(0)
    A, B = rng.random((300, 2)), rng.random((300, 2))
    ratios = []
    for seed in range(20):
        engine = geometric(seed, n_candidates=0)
        engine.insert(0, A)
        engine.insert(1, B)
        engine.flush()
        leaf = 300 * np.sqrt(2) * 2 * engine.side_length / 2.0**engine.levels
        ratios.append(engine.cost() / (engine.factor() * optimum(A, B) + leaf))
    assert np.mean(ratios) < 1


@pytest.mark.parametrize(("n_b", "limit"), [(2000, 1.08), (2200, 1.08)])
def test_chains_come_close(n_b, limit):
    rng = np.random.default_rng(0)
    A, B = rng.random((2000, 2)), rng.random((n_b, 2))
    best = optimum(A, B)
    for first, second in ((A, B), (B, A)):
        engine = geometric()
        slots = engine.insert(0, first)
        engine.insert(1, second)
        engine.flush()
        assert engine.floor_cost() <= 2.6 * best if n_b == 2000 else 20 * best
        assert engine.cost() <= limit * best
        assert 0.93 * best <= engine.lower_bound("dual") <= best * (1 + 1e-9)
        steps = engine.n_scans
        for slot in slots[:50]:
            engine.delete(0, slots[slot : slot + 1])
            engine.insert(0, first[slot : slot + 1])
            engine.flush()
        assert engine.cost() <= 1.25 * best
        assert engine.n_scans - steps <= 600 * 100


def test_rebuild_improves_and_certifies():
    rng = np.random.default_rng(1)
    A, B = rng.random((1000, 2)), rng.random((1000, 2))
    engine = geometric()
    engine.insert(0, A)
    engine.insert(1, B)
    engine.flush()
    before, best = engine.cost(), optimum(A, B)
    engine.rebuild()
    assert best * (1 - 1e-9) <= engine.cost() <= min(before, 1.06 * best)


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_cheap_bounds(shift):
    rng = np.random.default_rng(0)
    A, B = rng.random((400, 2)), rng.random((400, 2)) + shift
    engine = geometric()
    engine.insert(0, A)
    engine.insert(1, B)
    engine.flush()
    share = engine.lower_bound("auto") / optimum(A, B)
    assert (0.98 if shift else 0.5) <= share <= 1 + 1e-9


def test_points_outside_the_cube_make_a_larger_one():
    engine = geometric(bounds=(np.zeros(2), np.ones(2)))
    rng = np.random.default_rng(0)
    A, B = rng.random((30, 2)), rng.random((30, 2))
    engine.insert(0, A)
    engine.insert(1, B)
    engine.flush()
    assert engine.n_refits == 0
    far = np.array([[40.0, -3.0]])
    engine.insert(0, far)
    engine.insert(1, far + 1)
    engine.flush()
    assert engine.n_refits == 1
    best = optimum(np.vstack([A, far]), np.vstack([B, far + 1]))
    assert best * (1 - 1e-9) <= engine.cost() <= 1.2 * best


def test_all_points_equal():
    engine = geometric()
    engine.insert(0, np.zeros((50, 2)))
    slots = engine.insert(1, np.zeros((70, 2)))
    engine.flush()
    assert engine.cost() == engine.lower_bound("dual") == 0
    engine.delete(1, slots[:60])
    engine.flush()
    assert len(engine.pairs()[0]) == 10


def test_lists_hold_the_nearest_points():
    rng = np.random.default_rng(0)
    A, B = (np.ascontiguousarray(rng.random((2, 200))) for _ in range(2))
    live, trees = new_live(200, 8), [new_tree(2, 200) for _ in range(2)]
    tree_fill(trees[1], B, np.arange(200))
    enter(live, 2, 2.0, A, B, *trees, 0, np.arange(200))
    nearest = cKDTree(B.T).query(A.T, 8)[1]
    assert np.array_equal(np.sort(live.near, axis=1), np.sort(nearest, axis=1))
