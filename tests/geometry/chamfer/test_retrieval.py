"""Retrieval of the nearest clouds: exactness, work saved, insertion and deletion."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skfrontier.algos.geometry.chamfer.cloud_bounds import (
    lower_bounds,
    nearest_in_cloud,
    outline,
)
from skfrontier.algos.geometry.chamfer.cloud_index import CloudIndex
from skfrontier.algos.geometry.chamfer.matrix import chamfer_matrix
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.retrieval import nearest_clouds
from skfrontier.datasets import make_superquadrics


def index_of(clouds, metric="euclidean", **options):
    power = options.pop("power", 1.0)
    p = options.pop("p", 1.0 if metric == "manhattan" else 2.0)
    index = CloudIndex(clouds[0].shape[1], Metric.from_names(metric, p, power), **options)
    for cloud in clouds:
        index.insert(cloud)
    return index


def nearest_by_matrix(distances, k):
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distances, order, axis=1)


@pytest.fixture(scope="module")
def shapes():
    clouds, _ = make_superquadrics(320, 512, random_state=0)
    return clouds[:300], clouds[300:]


@pytest.fixture(scope="module")
def shape_distances(shapes):
    references, queries = shapes
    return chamfer_matrix(queries, references)


def test_exact_on_shapes(shapes, shape_distances):
    references, queries = shapes
    found = nearest_clouds(queries, index_of(references), 5, random_state=0)
    indices, distances = nearest_by_matrix(shape_distances, 5)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)
    assert found.guaranteed
    assert found.n_searches.mean() <= 0.35 * 300 * 512


def test_race_on_shapes(shapes, shape_distances):
    references, queries = shapes
    found = nearest_clouds(queries, index_of(references), 5, method="race", random_state=0)
    indices, _ = nearest_by_matrix(shape_distances, 5)
    hits = [len(set(a) & set(b)) for a, b in zip(found.indices, indices, strict=True)]
    assert np.mean(hits) >= 0.95 * 5
    assert not found.guaranteed
    assert found.n_searches.mean() <= 0.22 * 300 * 512
    rows = np.arange(len(queries))[:, None]
    np.testing.assert_allclose(found.distances, shape_distances[rows, found.indices], rtol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(
    "names",
    [
        {},
        {"power": 2.0},
        {"metric": "manhattan"},
        {"metric": "minkowski", "p": 1.37},
        {"metric": "minkowski", "p": np.inf},
        {"metric": "angular"},
    ],
)
def test_exact_equals_the_matrix(reduction, symmetric, names):
    rng = np.random.default_rng(0)
    clouds = [
        rng.standard_normal(3) + rng.standard_normal((size, 3))
        for size in rng.integers(1, 120, size=40)
    ]
    options = {"reduction": reduction, "symmetric": symmetric}
    found = nearest_clouds(clouds[30:], index_of(clouds[:30], **names, **options), 4)
    expected = chamfer_matrix(clouds[30:], clouds[:30], **names, **options)
    indices, distances = nearest_by_matrix(expected, 4)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-9)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, np.inf])
def test_bounds_are_below_and_searches_equal_brute_force(p):
    rng = np.random.default_rng(1)
    A, B = 2 * rng.standard_normal((200, 4)), rng.standard_normal((60, 4))
    names = {"metric": "chebyshev"} if np.isinf(p) else {"metric": "minkowski", "p": p}
    exact = cdist(A, B, **names).min(axis=1)
    columns_A, columns_B = np.ascontiguousarray(A.T), np.ascontiguousarray(B.T)
    np.testing.assert_allclose(nearest_in_cloud(A, columns_B, p), exact, rtol=1e-12)
    bounds = lower_bounds(columns_A, outline(columns_B, p, 16), p)
    assert (bounds >= 0).all()
    assert (bounds <= exact).all()
    assert bounds.sum() > 0.3 * exact.sum()


def test_outline_covers_the_cloud():
    rng = np.random.default_rng(2)
    B = rng.standard_normal((100, 3))
    cloud = outline(np.ascontiguousarray(B.T), 2.0, 8)
    assert ((cdist(B, cloud.centres) - cloud.radii).min(axis=1) <= 1e-12).all()
    np.testing.assert_array_equal(cloud.low, B.min(axis=0))
    single = outline(np.ascontiguousarray(B[:1].T), 2.0, 8)
    assert single.radii.tolist() == [0.0]


def test_insert_and_delete():
    clouds, _ = make_superquadrics(30, 40, random_state=1)
    index = index_of(clouds)
    for gone in (29, 3, 3):
        index.delete(gone)
    kept = np.delete(np.arange(30), [3, 4, 29])
    assert len(index) == 27
    again = index_of(clouds[kept])
    found, expected = (nearest_clouds(clouds[:4], each, 3) for each in (index, again))
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert index.insert(clouds[3]) == 27
    assert nearest_clouds(clouds[3:4], index, 1).indices.tolist() == [[27]]


def test_failed_changes_leave_the_index_as_it_was():
    index = index_of([np.ones((2, 3))])
    with pytest.raises(ValueError, match="3 features"):
        index.insert(np.ones((2, 4)))
    with pytest.raises(ValueError, match="finite"):
        index.insert(np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="at least 1"):
        index.insert(np.empty((0, 3)))
    with pytest.raises(ValueError, match="below the number of clouds"):
        index.delete(1)
    with pytest.raises(TypeError, match="index"):
        index.delete("0")
    assert len(index) == 1


def test_same_result_for_any_n_jobs_and_after_pickling():
    clouds, _ = make_superquadrics(40, 64, random_state=2)
    index = index_of(clouds[5:], symmetric=True)
    expected = nearest_clouds(clouds[:5], index, 2, random_state=3)
    for found in (
        nearest_clouds(clouds[:5], index, 2, random_state=3, n_jobs=2),
        nearest_clouds(clouds[:5], pickle.loads(pickle.dumps(index)), 2, random_state=3),
    ):
        np.testing.assert_array_equal(found.distances, expected.distances)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.n_searches, expected.n_searches)


def test_equal_clouds_come_in_order():
    cloud = np.random.default_rng(4).standard_normal((50, 2))
    found = nearest_clouds([cloud], index_of([cloud + 1, cloud, cloud, cloud]), 3)
    assert found.indices.tolist() == [[1, 2, 3]]
    assert found.distances.tolist() == [[0.0, 0.0, 0.0]]


def test_bad_input():
    index = index_of([np.ones((2, 3)), np.zeros((2, 3))])
    with pytest.raises(ValueError, match="k must be at most"):
        nearest_clouds([np.ones((1, 3))], index, 3)
    with pytest.raises(ValueError, match="method must be one of"):
        nearest_clouds([np.ones((1, 3))], index, 1, method="fast")
    with pytest.raises(ValueError, match=r"queries\[1\]"):
        nearest_clouds([np.ones((1, 3)), np.empty((0, 3))], index, 1)
    with pytest.raises(ValueError, match="3 features"):
        nearest_clouds([np.ones((1, 2))], index, 1)
    with pytest.raises(ValueError, match="Rescale"):
        nearest_clouds([np.full((1, 3), 1e-170)], index, 1)
    with pytest.raises(ValueError, match="p=3"):
        index_of([np.ones((1, 2))], metric="minkowski", p=3.0)
    with pytest.raises(ValueError, match=r"cloud\[0\]"):
        index_of([np.zeros((1, 2))], metric="angular")
