"""The closed-form map beside scipy, and the theory's formulas beside simulation."""

import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation

from skfrontier.algos import (
    cycle_bound,
    eigen_directions,
    exact_assignment,
    information,
    matching_accuracy,
    predict_recovery,
    rigid_map,
    rotation_error_degrees,
)
from skfrontier.algos.geometry.procrustes_wasserstein.theory import squared_mixing, stray_bound


def haar(d, rng):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def test_proper_rotation_equals_scipy_with_weights():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, Y, w = rng.normal(size=(15, 3)), rng.normal(size=(15, 3)), rng.random(15)
        expected, _ = Rotation.align_vectors(Y, X, weights=w)
        found = rigid_map(X, Y, weights=w, allow_reflection=False, translation=False)
        np.testing.assert_allclose(found.rotation, expected.as_matrix(), atol=1e-10)


@pytest.mark.parametrize("scaling", [True, False])
@pytest.mark.parametrize("translation", [True, False])
@pytest.mark.parametrize("allow_reflection", [True, False])
def test_no_map_nearby_is_better(allow_reflection, translation, scaling):
    rng = np.random.default_rng(1)
    X, Y, w = rng.normal(size=(20, 3)), rng.normal(size=(20, 3)) + 1, rng.random(20)
    options = {
        "allow_reflection": allow_reflection,
        "translation": translation,
        "scaling": scaling,
        "weights": w,
    }
    found = rigid_map(X, Y, **options)

    def loss(rotation, shift, scale):
        return (w * ((scale * X @ rotation.T + shift - Y) ** 2).sum(axis=1)).sum()

    least = loss(found.rotation, found.translation, found.scale)
    if not allow_reflection:
        assert np.linalg.det(found.rotation) == pytest.approx(1)
    for _ in range(200):
        turn = Rotation.from_rotvec(rng.choice([0.01, 1.0]) * rng.normal(size=3)).as_matrix()
        if allow_reflection and rng.random() < 0.5:
            turn = -turn
        shift = found.translation + 0.01 * translation * rng.normal(size=3)
        scale = found.scale * (1 + 0.01 * scaling * rng.normal())
        assert loss(turn @ found.rotation, shift, scale) >= least * (1 - 1e-12)


def test_planted_map_comes_back_and_is_undone():
    rng = np.random.default_rng(2)
    X, Q = rng.normal(size=(30, 5)), haar(5, rng)
    found = rigid_map(X, 2.5 * X @ Q.T - 3, scaling=True)
    np.testing.assert_allclose(found.rotation, Q, atol=1e-10)
    np.testing.assert_allclose(found.translation, -3, atol=1e-10)
    assert found.scale == pytest.approx(2.5)
    np.testing.assert_allclose(found.invert().apply(found.apply(X)), X, atol=1e-10)


def test_bad_pairs_and_weights():
    X = np.zeros((3, 2))
    for kwargs in ({"weights": [1, 1]}, {"weights": [0, 0, 0]}, {"weights": [1, -1, 1]}):
        with pytest.raises(ValueError, match="weights"):
            rigid_map(X, X, **kwargs)
    with pytest.raises(ValueError, match="one shape"):
        rigid_map(X, X[:2])
    with pytest.raises(TypeError, match="scaling"):
        rigid_map(X, X, scaling=1)


def test_directions_of_wide_and_tall_clouds_diagonalise():
    rng = np.random.default_rng(3)
    for shape in ((40, 5), (5, 40)):
        X = rng.normal(size=shape)
        lam, V = eigen_directions(X)
        np.testing.assert_allclose(V.T @ V, np.eye(min(shape)), atol=1e-10)
        np.testing.assert_allclose((X @ V).T @ (X @ V) / len(X), np.diag(lam), atol=1e-8)
        assert (np.diff(lam) <= 1e-12).all()


def test_mixing_angle_is_the_simulated_one():
    n, d, sigma, repeats = 2000, 8, 0.1, 150
    rng = np.random.default_rng(4)
    lam = 1 / np.arange(1.0, d + 1)
    standardised = []  # by each sample's own eigenvalues: gaps vary from sample to sample
    for _ in range(repeats):
        X = rng.normal(size=(n, d)) * np.sqrt(lam)
        values, U = eigen_directions(X)
        _, V = eigen_directions(X + sigma * rng.normal(size=X.shape))
        mixed = U.T @ V
        mixed *= np.sign(np.diag(mixed))
        tau = np.sqrt(squared_mixing(values, sigma**2, n, n, n))
        standardised.append(np.diagonal(mixed, 1) / np.diagonal(tau, 1))
    ratio = np.std(standardised, axis=0)
    assert ratio.min() >= 0.85
    assert ratio.max() <= 1.25


def test_error_of_the_fitted_rotation_is_the_simulated_one():
    n, d, sigma, repeats = 500, 6, 0.2, 200
    rng = np.random.default_rng(5)
    lam = 1 / np.arange(1.0, d + 1)
    errors = []
    for _ in range(repeats):
        X = rng.normal(size=(n, d)) * np.sqrt(lam)
        fitted = rigid_map(X, X + sigma * rng.normal(size=X.shape), translation=False)
        errors.append((fitted.rotation - fitted.rotation.T) / 2)
    upper = np.triu_indices(d, 1)
    predicted = sigma / np.sqrt(n * (lam[:, None] + lam))[upper]
    ratio = np.std(errors, axis=0)[upper] / predicted
    assert ratio.min() >= 0.85
    assert ratio.max() <= 1.25


def test_cycles_of_each_length_are_bounded():
    rng = np.random.default_rng(6)
    lam, sigma, n_draws = np.array([1.0, 0.5]), 0.3, 200_000
    for length in (2, 3, 4):
        x = rng.normal(size=(n_draws, length, 2)) * np.sqrt(lam)
        z = sigma * rng.normal(size=x.shape)
        moved = np.roll(x, 1, axis=1) - x
        augmenting = ((moved**2).sum(axis=(1, 2)) <= 2 * (moved * z).sum(axis=(1, 2))).mean()
        cycles = math.prod(range(100, 100 - length, -1)) / length
        bound = cycle_bound(lam, sigma**2, 100, length) / cycles
        assert augmenting <= bound
        assert augmenting >= bound / 8  # not vacuous


def test_strays_are_bounded():
    rng = np.random.default_rng(9)
    lam, sigma, n_draws = np.array([1.0, 0.5, 0.3]), 0.3, 200_000
    x, other = (rng.normal(size=(n_draws, 3)) * np.sqrt(lam) for _ in range(2))
    stranger = other + sigma * rng.normal(size=x.shape)
    noise = sigma * rng.normal(size=x.shape)
    rate = (((stranger - x) ** 2).sum(axis=1) < (noise**2).sum(axis=1)).mean()
    bound = stray_bound(lam, sigma**2, 1, 1)
    assert bound / 8 <= rate <= bound
    assert stray_bound(lam, sigma**2, 5, 0) == 0


def test_closed_product_of_the_bound():
    lam, variance, n = np.array([1.0, 0.4, 0.1]), 0.3, 50
    c = lam / variance
    for length in (2, 3, 7):
        angles = np.sin(np.pi * np.arange(length) / length) ** 2
        p = 0.5 * np.prod((1 + np.outer(c, angles)) ** -0.5)
        cycles = math.prod(range(n, n - length, -1)) / length
        assert cycle_bound(lam, variance, n, length) == pytest.approx(p * cycles, rel=1e-10)


@pytest.mark.parametrize(("exponent", "sigma"), [(1.0, 0.25), (0.5, 0.4)])
def test_union_bound_holds(exponent, sigma):
    n, d, failures = 300, 20, 0
    lam = np.arange(1.0, d + 1) ** -exponent
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d)) * np.sqrt(lam)
        result = exact_assignment(X, X + sigma * rng.normal(size=X.shape))
        failures += not np.array_equal(result.assignment, np.arange(n))
    bound = cycle_bound(lam, sigma**2, n)
    assert failures / 20 <= bound + 3 * math.sqrt(bound * (1 - bound) / 20) + 1e-9


def test_signs_from_third_moments_err_as_predicted():
    # why signs are never decided from skewness: the rate does not fall with n
    rng = np.random.default_rng(7)
    for ratio in (0.1, 0.2, 0.3):
        x = rng.normal(size=(4000, 400))
        y = x + ratio * rng.normal(size=x.shape)
        x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
        wrong = ((x**3).mean(axis=1) * (y**3).mean(axis=1) < 0).mean()
        rho = (1 + ratio**2) ** -0.5
        assert wrong == pytest.approx(math.acos(rho**3) / math.pi, abs=0.02)


def test_information_and_labels():
    assert information([1.0, 3.0], 1.0) == pytest.approx(0.5 * math.log(8))
    lam = 1 / np.arange(1.0, 21)
    labels = [predict_recovery(lam, s**2, 300) for s in (0.1, 0.3, 0.8)]
    assert labels == ["exact", "almost", "unreliable"]
    assert predict_recovery(np.ones(20), 0.01, 300) == "unreliable"  # no directions
    assert cycle_bound(lam, 0.01, 1) == 0
    assert cycle_bound(lam, 1e-300, 300) == 0
    for bad in (([-1.0], 1.0), ([1.0], 0.0), ([], 1.0), ([np.nan], 1.0)):
        with pytest.raises(ValueError):
            information(*bad)
    with pytest.raises(ValueError, match="length"):
        cycle_bound(lam, 0.01, 10, 11)


def test_metrics():
    assert matching_accuracy([1, 0], [1, 1]) == 0.5
    assert math.isnan(matching_accuracy([1], [-1]))
    for degrees in (1e-6, 3.0, 179.0):
        turn = Rotation.from_rotvec([0, 0, math.radians(degrees)]).as_matrix()
        assert rotation_error_degrees(turn, np.eye(3)) == pytest.approx(degrees, rel=1e-6)
    with pytest.raises(ValueError, match="one shape"):
        matching_accuracy([1], [1, 2])


def test_best_matching_of_noise_is_scipys():
    rng = np.random.default_rng(8)
    X, Y = rng.normal(size=(90, 4)), rng.normal(size=(90, 4))
    cost = cdist(X, Y, "sqeuclidean")
    rows, columns = linear_sum_assignment(cost)
    assert exact_assignment(X, Y).cost == pytest.approx(cost[rows, columns].sum(), rel=1e-10)
