"""Clouds and the matrix of exact distances between them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skfrontier.algos.geometry.chamfer.clouds import Clouds, pack_clouds
from skfrontier.algos.geometry.chamfer.matrix import DIRECT_POINTS, chamfer_matrix


def ragged(seed, sizes, d=3, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((size, d)).astype(dtype) for size in sizes]


def directed(A, B, p, power, reduction):
    distances = cdist(A.astype(float), B.astype(float), "minkowski", p=p).min(axis=1) ** power
    return distances.mean() if reduction == "mean" else distances.sum()


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("p", "power"), [(2.0, 1.0), (2.0, 2.0), (1.0, 1.0), (1.37, 1.5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_pairwise_sums(reduction, symmetric, p, power, dtype):
    X, Y = ragged(0, (5, 1, 40), dtype=dtype), ragged(1, (30, 7), dtype=dtype)
    expected = np.array([[directed(A, B, p, power, reduction) for B in Y] for A in X])
    if symmetric:
        expected += np.array([[directed(B, A, p, power, reduction) for B in Y] for A in X])
    options = {"p": p, "power": power, "reduction": reduction, "symmetric": symmetric}
    found = chamfer_matrix(X, Y, **options)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(chamfer_matrix(X, Y, n_jobs=2, **options), found)


def test_angular_matrix():
    X, Y = ragged(2, (5, 9)), ragged(3, (4, 6, 8))
    found = chamfer_matrix(X, Y, metric="angular")
    u, v = (c / np.linalg.norm(c, axis=1, keepdims=True) for c in (X[1], Y[2]))
    expected = (2 * np.arctan2(cdist(u, v), cdist(u, -v)) / np.pi).min(axis=1).mean()
    np.testing.assert_allclose(found[1, 2], expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [2.0**-560, 2.0**500])
@pytest.mark.parametrize("d", [3, 20])
def test_any_scale(scale, d):
    X, Y = ragged(7, (50, 20), d), ragged(8, (30, 40), d)
    found = chamfer_matrix([x * scale for x in X], [y * scale for y in Y])
    np.testing.assert_allclose(found / scale, chamfer_matrix(X, Y), rtol=1e-12)


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
def test_large_and_small_clouds_in_few_dimensions(p):
    X, Y = ragged(9, (50, 20), 2), ragged(10, (DIRECT_POINTS + 1, DIRECT_POINTS), 2)
    norm = {"metric": "chebyshev"} if np.isinf(p) else {"metric": "minkowski", "p": p}
    expected = [[cdist(x, y, **norm).min(axis=1).mean() for y in Y] for x in X]
    np.testing.assert_allclose(chamfer_matrix(X, Y, p=p), expected, rtol=1e-12)


def test_with_itself():
    X = ragged(4, (50, 20, 30))
    found = chamfer_matrix(X, X, symmetric=True)
    np.testing.assert_array_equal(np.diag(found), 0.0)
    np.testing.assert_allclose(found, found.T, rtol=1e-14)
    np.testing.assert_array_equal(found, chamfer_matrix(X, [x.copy() for x in X], symmetric=True))


def test_three_spellings_of_clouds():
    X = ragged(5, (6, 6, 6))
    expected = chamfer_matrix(X, X)
    stacked = np.stack(X)
    packed = (np.concatenate(X), [0, 6, 12, 18])
    np.testing.assert_array_equal(chamfer_matrix(stacked, packed), expected)
    assert len(pack_clouds(packed, "X")) == 3
    assert chamfer_matrix(stacked, packed, dtype=np.float32).dtype == np.float32


def test_packed_points_are_not_copied():
    points = np.ones((6, 2), np.float32)
    clouds = pack_clouds((points, np.array([0, 2, 6])), "X")
    assert np.shares_memory(clouds.points, points)
    assert clouds.sizes.tolist() == [2, 4]
    assert [len(cloud) for cloud in clouds] == [2, 4]
    assert np.shares_memory(pack_clouds(clouds, "X").points, points)


def test_empty_clouds():
    X, Y = [np.empty((0, 2)), np.ones((2, 2))], [np.zeros((1, 2))]
    assert chamfer_matrix(X, Y, reduction="sum", metric="manhattan").tolist() == [[0.0], [4.0]]
    with pytest.raises(ValueError, match=r"X\[0\] has no points"):
        chamfer_matrix(X, Y)
    with pytest.raises(ValueError, match=r"X\[0\] has no points"):
        chamfer_matrix(X, Y, reduction="sum", symmetric=True)
    with pytest.raises(ValueError, match=r"Y\[0\] has no points"):
        chamfer_matrix(Y, X, reduction="sum")


@pytest.mark.parametrize(
    ("clouds", "message"),
    [
        ([], "at least one cloud"),
        (3, "sequence of 2-D arrays"),
        (np.ones((3, 2)), r"put a single cloud in a list: \[X\]"),
        ([np.ones((3, 2)), np.ones((3, 4))], r"4 in X\[1\]"),
        ([np.ones((3, 2)), np.array([[np.nan, 1]])], r"X\[1\] must be finite"),
        ((np.ones((3, 2)), np.array([0, 2])), "rise from 0"),
        ((np.ones((3, 2)), np.array([0, 2, 1, 3])), "not monotone"),
        ((np.ones((3, 2)), np.array([0.0, 3.0])), "integers"),
    ],
)
def test_bad_clouds(clouds, message):
    with pytest.raises(ValueError, match=message):
        chamfer_matrix(clouds, [np.ones((1, 2))])


def test_bad_parameters():
    X = ragged(6, (2, 3))
    with pytest.raises(ValueError, match="reduction must be one of"):
        chamfer_matrix(X, X, reduction="max")
    with pytest.raises(ValueError, match="same number of features"):
        chamfer_matrix(X, ragged(6, (2,), d=4))
    with pytest.raises(ValueError, match=r"Y's points\[0\]"):
        chamfer_matrix(X, [np.zeros((1, 3))], metric="angular")


def test_clouds_is_frozen():
    clouds = Clouds(np.ones((1, 1)), np.array([0, 1]))
    with pytest.raises(AttributeError):
        clouds.points = np.zeros((1, 1))
