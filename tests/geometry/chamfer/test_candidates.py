"""Z-order candidates: keys, order, and bounds that hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from skfrontier.algos import zorder_candidates
from skfrontier.algos.geometry.chamfer import candidates
from skfrontier.algos.geometry.chamfer.candidates import ZOrderTrees
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.pairwise import PairDistance
from skfrontier.algos.geometry.chamfer.radix import sort_keys
from skfrontier.datasets import make_chamfer_pair


def interleaved(cells, bits):
    """Reference: one Python integer per point, level by level, axis by axis."""
    keys = []
    for point in cells:
        key = 0
        for level in range(bits - 1, -1, -1):
            for coordinate in point:
                key = key << 1 | (int(coordinate) >> level) & 1
        keys.append(key)
    return keys


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 7, 8, 12, 100])
def test_keys_are_the_interleaved_cells(k):
    bits = max(1, min(31, 64 * (1 if k <= 3 else 2) // k))
    cells = np.random.default_rng(k).integers(0, 2 ** min(bits, 20), (50, k))
    root = candidates._RootCell(np.zeros(k, np.float32), 1.0, bits, 1 if k <= 3 else 2)
    high, low = candidates._zorder_keys(cells.astype(np.float32), root)
    used = bits * k
    for row, key in enumerate(interleaved(cells, bits)):
        words = key << (64 * root.n_words - used)
        if root.n_words == 2:
            assert (int(high[row]) << 64 | int(low[row])) == words
        else:
            assert int(high[row]) == words


def test_coordinates_outside_the_root_are_clipped():
    points = np.array([[-5.0], [0.5], [1e30], [np.nan], [-np.inf], [np.inf]], np.float32)
    root = candidates._RootCell(np.zeros(1, np.float32), 4.0, 2, 1)
    high, _ = candidates._zorder_keys(points, root)
    np.testing.assert_array_equal(high >> np.uint64(62), [0, 2, 3, 0, 0, 3])


@pytest.mark.parametrize("n", [0, 1, 2, 1000, 5000])
@pytest.mark.parametrize("bits", [0, 1, 8, 64])
def test_sort_is_a_stable_lexsort(n, bits):
    rng = np.random.default_rng(n + bits)
    high = rng.integers(0, 2**63, n, dtype=np.uint64) * np.uint64(2)
    high = high >> np.uint64(64 - bits) if bits else np.zeros(n, np.uint64)
    low = rng.integers(0, 50, n, dtype=np.uint64)
    order, sorted_high, sorted_low = sort_keys(high, low)
    np.testing.assert_array_equal(order, np.lexsort((low, high)))
    np.testing.assert_array_equal(sorted_high, high[order])
    np.testing.assert_array_equal(sorted_low, low[order])


def test_sort_of_one_word_keys():
    high = np.random.default_rng(0).integers(0, 100, 1000, dtype=np.uint64)
    order, _, low = sort_keys(high, np.empty(0, np.uint64))
    np.testing.assert_array_equal(order, np.argsort(high, kind="stable"))
    assert low.size == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 1.25, 1.37, 1.5, 1.75, 2])
def test_distances_are_those_of_the_candidates_and_bound_the_nearest(p, dtype):
    A, B = make_chamfer_pair("clusters", n=700, n_features=20, random_state=0, dtype=dtype)
    index, dist = zorder_candidates(A, B, p=p, random_state=1)
    exact = cdist(A.astype(float), B.astype(float), "minkowski", p=p)
    np.testing.assert_allclose(dist, exact[np.arange(700), index], rtol=1e-12)
    assert (dist >= exact.min(axis=1) * (1 - 1e-12)).all()
    assert dist.sum() < 1.6 * exact.min(axis=1).sum()  # a random choice gives above 2


def test_angular_distances_keep_their_digits():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((300, 6))
    A = B + 1e-9 * rng.standard_normal(B.shape)
    pairs = PairDistance(B, Metric.from_names("angular"))
    got = pairs.distances(pairs.prepare(A), np.arange(300, dtype=np.uint32))
    unit_A = A / np.linalg.norm(A, axis=1, keepdims=True)
    unit_B = B / np.linalg.norm(B, axis=1, keepdims=True)
    chord = np.linalg.norm(unit_A - unit_B, axis=1)  # equals the angle to O(angle**3)
    np.testing.assert_allclose(got, chord / np.pi, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-23, 1.0, 1e150])
@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_distances_of_any_magnitude(scale, p):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((40, 5)), rng.standard_normal((30, 5))
    _, reference = zorder_candidates(A, B, p=p, random_state=0)
    _, dist = zorder_candidates(A * scale, B * scale, p=p, random_state=0)
    np.testing.assert_allclose(dist, reference * scale, rtol=1e-9)


def test_equal_points_are_found_at_distance_zero():
    _, B = make_chamfer_pair("clusters", n=3000, n_features=30, random_state=0)
    A = np.concatenate([B[::-1][:1001], B[:7]])  # other positions than in B
    _, dist = zorder_candidates(A, B, random_state=0)
    assert (dist == 0).all()


@pytest.mark.parametrize("p", [1, 1.5])
def test_heavy_tailed_projections_leave_bits_for_the_bulk(p):
    A, B = make_chamfer_pair("clusters", n=4000, n_features=40, random_state=0)
    _, dist = zorder_candidates(A, B, p=p, random_state=0)
    exact = cdist(A[:400].astype(float), B.astype(float), "minkowski", p=p).min(axis=1)
    assert dist[:400].sum() < 1.7 * exact.sum()


def test_one_far_reference_does_not_use_up_the_bits():
    A, B = make_chamfer_pair("clusters", n=4000, n_features=40, random_state=0)
    _, plain = zorder_candidates(A, B, random_state=0)
    far = B.copy()
    far[17] *= 1e6
    _, dist = zorder_candidates(A, far, random_state=0)
    assert dist.sum() < 1.1 * plain.sum()


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(1, 12),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([1.0, 1.5, 2.0]),
    st.integers(0, 2**31),
)
def test_bounds_hold_for_any_shape(n_A, n_B, d, n_trees, window, p, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.integers(-3, 4, (n_A, d)).astype(float), rng.integers(-3, 4, (n_B, d)).astype(float)
    index, dist = zorder_candidates(
        A, B, p=p, n_trees=n_trees, window=window, n_projections=4, random_state=seed
    )
    exact = cdist(A, B, "minkowski", p=p)
    np.testing.assert_allclose(dist, exact[np.arange(n_A), index], rtol=1e-12)
    assert (dist >= exact.min(axis=1) * (1 - 1e-12)).all()


@pytest.mark.parametrize("projection", ["gaussian", "stable", "toeplitz"])
def test_every_projection_finds_better_candidates_than_chance(projection):
    A, B = make_chamfer_pair("clusters", n=2000, n_features=64, random_state=0)
    trees = ZOrderTrees(
        B,
        Metric.from_names(),
        n_trees=2,
        n_projections=8,
        random_state=np.random.default_rng(0),
        projection=projection,
    )
    _, dist = trees.query(A)
    chance = np.linalg.norm(A - np.random.default_rng(1).permutation(B), axis=1)
    assert dist.sum() < 0.75 * chance.sum()


def test_n_jobs_does_not_change_the_result():
    A, B = make_chamfer_pair("lowrank", n=3000, n_features=20, random_state=0)
    results = []
    for n_jobs in (None, 1, 2, 4):
        trees = ZOrderTrees(
            B,
            Metric.from_names(),
            n_trees=3,
            n_projections=8,
            random_state=np.random.default_rng(0),
            n_jobs=n_jobs,
        )
        results.append(trees.query(A, n_jobs=n_jobs))
    for index, dist in results[1:]:
        np.testing.assert_array_equal(index, results[0][0])
        np.testing.assert_array_equal(dist, results[0][1])


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"p": 0.5}, "p must lie"),
        ({"p": 3}, "1 <= p <= 2"),
        ({"n_trees": 0}, "n_trees"),
        ({"n_projections": 0}, "n_projections"),
        ({"window": 0}, "window"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_parameters(kwargs, message):
    with pytest.raises(ValueError, match=message):
        zorder_candidates(np.zeros((2, 2)), np.zeros((2, 2)), **kwargs)


def test_bad_points():
    with pytest.raises(ValueError, match="3 features, B has 2"):
        zorder_candidates(np.zeros((2, 3)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="B must have at least 1"):
        zorder_candidates(np.zeros((2, 3)), np.zeros((0, 3)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kwargs", [{"p": 1}, {"p": 1.37}, {"p": 1.5}, {"p": 2}, {"metric": "angular"}]
)
@pytest.mark.parametrize("scale", [1e-25, 1.0, 1e15])
def test_upper_bounds_are_above_the_distances_and_hardly_so(kwargs, dtype, scale):
    A, B = make_chamfer_pair("sparse", n=400, n_features=30, random_state=0, dtype=np.float64)
    A[:50] = B[:50]
    A[50:100] = B[50:100] * (1 + 1e-6)
    A, B = (A * scale).astype(dtype), (B * scale).astype(dtype)
    trees = ZOrderTrees(
        B,
        Metric.from_names(**kwargs),
        n_trees=2,
        n_projections=8,
        random_state=np.random.default_rng(0),
    )
    _, distances = trees.query(A)
    bounds = trees.bounds(A)
    assert (bounds >= distances).all()
    np.testing.assert_allclose(bounds, distances, rtol=1e-4 if dtype == np.float32 else 1e-13)
    assert (bounds[:50][distances[:50] == 0] == 0).all()
