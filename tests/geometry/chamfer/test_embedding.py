"""The lopsided and Toeplitz maps against their formulas and dense matrices."""

import numpy as np
import pytest
from scipy.linalg import toeplitz

from skfrontier.algos import lopsided_embedding, toeplitz_fjlt
from skfrontier.algos.geometry.chamfer.embedding import (
    apply_toeplitz,
    mean_absolute_stable,
    symmetric_stable,
    toeplitz_signs,
)


@pytest.mark.parametrize("p", [1.5, 1.8, 2.0])
def test_mean_of_stable_draws_is_the_formula(p):
    draws = np.abs(symmetric_stable(p, (1_000_000,), np.random.default_rng(0)))
    assert draws.mean() == pytest.approx(mean_absolute_stable(p), rel=0.01)


@pytest.mark.parametrize("p", [1.0, 1.3, 1.7, 2.0])
def test_stable_draws_have_their_characteristic_function(p):
    draws = symmetric_stable(p, (400_000,), np.random.default_rng(1))
    for t in (0.3, 1.0, 2.0):
        # the mean of a cosine of variance at most one: five standard errors
        assert abs(np.cos(t * draws).mean() - np.exp(-(t**p))) < 5 / np.sqrt(draws.size)


def test_lopsided_embedding_hardly_contracts():
    rng = np.random.default_rng(0)
    k, n = 64, 20_000
    # ||f(x)||_1 / ||x||_p is the mean of k absolute stable variables over c_p, whatever x
    ratios = np.abs(symmetric_stable(1.5, (n, k), rng)).mean(axis=1) / mean_absolute_stable(1.5)
    assert (ratios < 0.5).mean() <= 5e-3


def test_lopsided_embedding_keeps_distances_in_the_mean():
    x = np.random.default_rng(0).standard_normal((1, 30))
    norm = (np.abs(x) ** 1.8).sum() ** (1 / 1.8)
    lengths = [
        np.abs(lopsided_embedding(x, 500, p=1.8, random_state=seed)).sum() for seed in range(200)
    ]
    assert np.mean(lengths) == pytest.approx(norm, rel=0.03)


def test_lopsided_embedding_is_linear_and_seeded():
    X = np.random.default_rng(0).standard_normal((5, 7))
    Z = lopsided_embedding(X, 4, p=1.5, random_state=3)
    np.testing.assert_allclose(lopsided_embedding(2 * X, 4, p=1.5, random_state=3), 2 * Z)
    assert lopsided_embedding(X.astype(np.float32), 4, p=1.5).dtype == np.float32


@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 9), (64, 16), (100, 101)])
def test_toeplitz_by_fft_is_the_dense_matrix(d, k):
    rng = np.random.default_rng(d)
    signs, diagonals = toeplitz_signs(d, k, rng)
    # entry (i, j) is diagonals[i - j + d - 1]
    T = toeplitz(diagonals[d - 1 :], diagonals[d - 1 :: -1])
    X = rng.standard_normal((11, d))
    np.testing.assert_allclose(
        apply_toeplitz(X, signs, diagonals), (X * signs) @ T.T / np.sqrt(k), atol=1e-10
    )


def test_toeplitz_keeps_squared_lengths_in_the_mean():
    x = np.random.default_rng(0).standard_normal((1, 50))
    squares = [
        (toeplitz_fjlt(x, 20, random_state=seed) ** 2).sum() / (x**2).sum() for seed in range(400)
    ]
    standard_error = np.std(squares) / np.sqrt(400)
    assert abs(np.mean(squares) - 1) < 4 * standard_error


@pytest.mark.parametrize("p", [0.5, 1.0, 2.5, np.nan])
def test_lopsided_embedding_needs_p_above_one(p):
    with pytest.raises(ValueError, match="p must lie"):
        lopsided_embedding(np.zeros((2, 2)), 3, p=p)


@pytest.mark.parametrize("n_components", [0, -1])
def test_maps_need_components(n_components):
    with pytest.raises(ValueError, match="n_components"):
        toeplitz_fjlt(np.zeros((2, 2)), n_components)
    with pytest.raises(ValueError, match="n_components"):
        lopsided_embedding(np.zeros((2, 2)), n_components, p=1.5)
