"""The PyTorch search returns the values of the NumPy search."""

import pickle
import sys

import numpy as np
import pytest

from skfrontier.algos.geometry.chamfer.brute import BruteSearch
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.torch_brute import KEPT, TorchBruteSearch

EUCLIDEAN = Metric(2.0, 1.0, angular=False)
ANGULAR = Metric(2.0, 1.0, angular=True)


def assert_same(found, expected):
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("metric", [EUCLIDEAN, ANGULAR], ids=["euclidean", "angular"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_B", [1, KEPT, KEPT + 1, 3000])
def test_equals_the_numpy_search(device, metric, dtype, n_B):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((900, 20)).astype(dtype)
    A[:3] *= dtype(1e30)
    B = rng.standard_normal((n_B, 20)).astype(dtype)
    search = TorchBruteSearch(B, metric, device)
    expected = BruteSearch(B, metric).query(A)
    assert_same(search.query(A), expected)
    assert_same(pickle.loads(pickle.dumps(search)).query(A), expected)
    assert search.query(A[:0])[0].shape == (0,)


def test_ties_and_near_duplicates(device):
    rng = np.random.default_rng(1)
    A, B = rng.integers(0, 3, (2, 800, 3)).astype(np.float32)
    assert_same(TorchBruteSearch(B, EUCLIDEAN, device).query(A), BruteSearch(B, EUCLIDEAN).query(A))
    B = (rng.standard_normal((500, 64)) + 100).astype(np.float32)
    A = (B + 1e-3 * rng.standard_normal(B.shape)).astype(np.float32)
    assert_same(TorchBruteSearch(B, EUCLIDEAN, device).query(A), BruteSearch(B, EUCLIDEAN).query(A))


def test_blocks_of_references(device, monkeypatch):
    monkeypatch.setattr(TorchBruteSearch, "_device_entries", lambda self, torch: 1)
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((2, 203, 7))
    assert_same(TorchBruteSearch(B, EUCLIDEAN, device).query(A), BruteSearch(B, EUCLIDEAN).query(A))


@pytest.mark.usefixtures("torch")
def test_refused_metric():
    with pytest.raises(ValueError, match="p=1"):
        TorchBruteSearch(np.ones((2, 2)), Metric(1.0, 1.0, angular=False))


def test_absent_torch_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"scikit-frontier\[torch\]"):
        TorchBruteSearch(np.ones((2, 2)), EUCLIDEAN)
