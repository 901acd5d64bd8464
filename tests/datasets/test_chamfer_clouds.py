"""Generators and loaders of point clouds."""

import zipfile

import numpy as np
import pytest

from skfrontier.datasets import (
    fetch_modelnet10,
    load_digit_clouds,
    make_chamfer_pair,
    make_superquadrics,
)
from skfrontier.datasets.geometry.chamfer import PAIR_KINDS


@pytest.mark.parametrize("kind", PAIR_KINDS)
def test_pairs(kind):
    A, B = make_chamfer_pair(kind, n=300, n_features=6, random_state=0)
    d = 3 if kind == "torus" else 6
    assert A.shape == B.shape == (300, d)
    assert A.dtype == B.dtype == np.float32
    again, _ = make_chamfer_pair(kind, n=300, n_features=6, random_state=0)
    np.testing.assert_array_equal(again, A)
    assert make_chamfer_pair(kind, n=3, n_features=6, dtype="float64")[1].dtype == np.float64
    if kind == "sphere":
        np.testing.assert_allclose(np.linalg.norm(A, axis=1), 1, rtol=1e-6)


def test_outliers_carry_the_distance():
    A, B = make_chamfer_pair("outlier", n=4000, n_features=20, random_state=0, dtype="float64")
    moved = np.sort(np.linalg.norm(A - B, axis=1))
    assert moved[:-2].sum() < 0.25 * moved[-2:].sum()
    assert moved[-3] < 0.01 < 10 < moved[-2]


def test_unknown_kind():
    with pytest.raises(ValueError, match="kind must be one of"):
        make_chamfer_pair("cubes")
    with pytest.raises(ValueError, match="kind must be one of"):
        load_digit_clouds("pixels")


def test_superquadrics():
    clouds, labels = make_superquadrics(50, 80, n_classes=4, noise=0.0, random_state=0)
    assert clouds.shape == (50, 80, 3)
    assert set(labels) == {0, 1, 2, 3}
    assert np.abs(clouds).max() <= 1.5 * 1.03


def test_digit_clouds():
    vectors = load_digit_clouds()
    assert sum(map(len, vectors.clouds)) == 1797
    assert vectors.labels.tolist() == list(range(10))
    ink = load_digit_clouds("ink")
    assert len(ink.clouds) == len(ink.weights) == len(ink.labels) == 1797
    assert ink.clouds[0].shape == (len(ink.weights[0]), 2)
    assert all((weights > 0).all() for weights in ink.weights)


CUBE_FACE = "OFF4 2 0\n0 0 0\n2 0 0\n2 2 0\n0 2 0\n3 0 1 2\n3 0 2 3\n"


def test_modelnet10_from_the_cache(tmp_path, monkeypatch):
    (tmp_path / "shapes").mkdir()
    with zipfile.ZipFile(tmp_path / "shapes" / "ModelNet10.zip", "w") as archive:
        archive.writestr("ModelNet10/chair/test/chair_1.off", CUBE_FACE)
        archive.writestr("ModelNet10/bed/test/bed_1.off", CUBE_FACE.replace("OFF4", "OFF\n4"))
        archive.writestr("ModelNet10/bed/train/bed_0.off", CUBE_FACE)
        archive.writestr("__MACOSX/bed/test/bed_1.off", "rubbish")
    monkeypatch.setenv("SKFRONTIER_DATA", str(tmp_path))
    clouds, labels, names = fetch_modelnet10(n_points=4000, download_if_missing=False)
    assert names == ["bed", "chair"]
    assert labels.tolist() == [0, 1]
    assert clouds[0].shape == (4000, 3)
    np.testing.assert_allclose(clouds[0].mean(axis=0), [1, 1, 0], atol=5 * 0.58 / np.sqrt(4000))
    assert len(fetch_modelnet10("train", download_if_missing=False).clouds) == 1


def test_modelnet10_offline_says_what_to_do(tmp_path):
    with pytest.raises(OSError, match=r"Download http.*ModelNet10.zip by hand and put it at"):
        fetch_modelnet10(data_home=tmp_path, download_if_missing=False)
    with pytest.raises(ValueError, match="subset"):
        fetch_modelnet10("all", data_home=tmp_path)


def test_modelnet10_broken_archive(tmp_path):
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "ModelNet10.zip").write_bytes(b"not a zip")
    with pytest.raises(OSError, match="not a zip archive"):
        fetch_modelnet10(data_home=tmp_path)
