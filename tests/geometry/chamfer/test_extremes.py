"""Magnitudes at the ends of the floating-point range, near-parallel rows, and changes of state."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from skfrontier.algos import (
    BettingMeanCS,
    Clouds,
    OverflowWarning,
    chamfer_distance,
    chamfer_matrix,
    lopsided_embedding,
    nearest_distances,
    toeplitz_fjlt,
    zorder_candidates,
)
from skfrontier.datasets import make_chamfer_pair
from skfrontier.estimators import (
    ChamferDistance,
    ChamferNearestClouds,
    ChamferTransformer,
    TwoPassChamfer,
)


@pytest.fixture(autouse=True)
def no_numpy_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return rng.standard_normal((500, 3)), rng.standard_normal((300, 3))


def angles(A, B):
    unit = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in (A, B)]
    chord = cdist(*unit)
    span = np.sqrt(np.maximum(4 - chord**2, 0))
    return (2 * np.arctan2(chord, span) / np.pi).min(axis=1).sum()


# Angles


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-160, 1e160, 1e200, 1e300])
@pytest.mark.parametrize("method", ["brute", "sample", "uniform"])
def test_angle_of_rows_of_any_length(scale, method):
    X, Y = np.random.default_rng(0).standard_normal((2, 400, 10))
    mixed = np.where(np.arange(400)[:, None] % 2, scale, 1.0)
    value = chamfer_distance(X * mixed, Y * scale, metric="angular", method=method, random_state=0)
    assert value == pytest.approx(angles(X, Y), rel=1e-9 if method == "brute" else 0.05)


@pytest.mark.parametrize("d", [3, 16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_have_no_angle(d, dtype):
    B = np.random.default_rng(0).standard_normal((2500, d)).astype(dtype)
    for method in ("brute", "sample"):
        assert chamfer_distance(B, B, metric="angular", method=method, random_state=0) == 0
    assert chamfer_matrix([B[:50]], [B[:60]], metric="angular") == 0


@pytest.mark.parametrize("d", [4, 16])
@pytest.mark.parametrize("noise", [0, 1e-15, 1e-12, 1e-9])
def test_intervals_of_nearly_parallel_rows(d, noise):
    rng = np.random.default_rng(0)
    B = 100 + rng.standard_normal((1500, d))
    A = 3.0 * B + noise * (rng.random((1500, 1)) < 0.5) * rng.standard_normal(B.shape)
    exact = chamfer_distance(A, B, metric="angular", epsilon=0)
    misses = 0
    for seed in range(30):
        _, info = chamfer_distance(
            A,
            B,
            metric="angular",
            method="sample",
            epsilon=0.1,
            random_state=seed,
            return_info=True,
        )
        misses += not info.ci_low * (1 - 1e-9) <= exact <= info.ci_high * (1 + 1e-9)
        assert exact <= info.upper_bound * (1 + 1e-9)
    assert misses <= 4  # 5 % of 30, plus two standard errors


# Range of the sums


@pytest.mark.parametrize("scale", [1e-290, 1e-170, 1e-77, 1e77, 1e155, 1e290])
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_streams_at_any_scale(pair, scale, power):
    A, B = pair
    if power * abs(np.log10(scale)) > 290:
        pytest.skip("the value itself is out of range")

    def value(factor):
        model = ChamferDistance(power=power, epsilon=0.1, random_state=0).fit(B * factor)
        return model.observe(A * factor).result()

    here, there = value(1.0), value(scale)
    assert there.value == pytest.approx(here.value * scale**power, rel=1e-6)
    assert there.ci_low == pytest.approx(here.ci_low * scale**power, rel=1e-6)
    assert there.epsilon_achieved == pytest.approx(here.epsilon_achieved, rel=1e-6)


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e300, 1e308])
@pytest.mark.parametrize("method", ["brute", "sample", "uniform"])
def test_weights_of_any_size(pair, weight, method):
    A, B = pair
    kwargs = {"method": method, "random_state": 0, "reduction": "mean"}
    plain = chamfer_distance(A, B, **kwargs)
    assert chamfer_distance(A, B, weights=np.full(500, weight), **kwargs) == pytest.approx(
        plain, rel=1e-9
    )


def test_huge_weights_and_powers_overflow_with_one_clear_warning(pair):
    A, B = pair
    for method in ("brute", "sample"):
        with pytest.warns(OverflowWarning, match="rescale"):
            heavy = chamfer_distance(A, B, weights=np.full(500, 1e308), method=method)
        assert heavy == np.inf
        with pytest.warns(OverflowWarning, match="rescale"):
            assert chamfer_distance(A * 1e9, B, power=1000, method=method) == np.inf
    model = ChamferDistance(power=10).fit(B)
    with pytest.warns(OverflowWarning):
        assert model.score_samples(A * 1e100).min() == -np.inf
    with pytest.warns(OverflowWarning):
        assert (
            chamfer_matrix([np.full((100, 2), 1e307)], [np.zeros((1, 2))], reduction="sum")
            == np.inf
        )


def test_a_mean_within_range_is_found_where_the_sum_is_not():
    A, B = np.full((100, 2), 1e307), np.zeros((1, 2))
    expected = pytest.approx(np.sqrt(2) * 1e307)
    assert chamfer_distance(A, B, reduction="mean") == expected
    assert chamfer_matrix([A], [B])[0, 0] == expected


@pytest.mark.parametrize("method", ["auto", "brute", "tree", "grid", "sample", "uniform"])
def test_differences_beyond_the_range(method):
    A, B = np.full((3, 2), 1.7e308), np.full((3, 2), -1.7e308)
    with pytest.warns(OverflowWarning):
        assert chamfer_distance(A, B, method=method, random_state=0) == np.inf
    with pytest.warns(OverflowWarning):
        assert nearest_distances(A, B).max() == np.inf


def test_race_at_large_scale():
    rng = np.random.default_rng(0)
    clouds = 1e139 * rng.standard_normal((20, 64, 3))
    model = ChamferNearestClouds(2, method="race", metric="sqeuclidean", random_state=0).fit(clouds)
    _, ind = model.kneighbors(clouds[:5])
    np.testing.assert_array_equal(ind[:, 0], np.arange(5))


@pytest.mark.parametrize("epsilon", [1e-200, 1e-8])
def test_tiny_epsilon_ends_in_the_exact_value(epsilon):
    A, B = make_chamfer_pair("unif", n=600, n_features=12, random_state=0)
    value, info = chamfer_distance(
        A, B, method="sample", epsilon=epsilon, random_state=0, return_info=True
    )
    assert info.confidence == 1
    assert value == pytest.approx(chamfer_distance(A, B, epsilon=0), rel=1e-12)
    assert chamfer_distance(A, B, symmetric=True, method="sample", delta=5e-324, epsilon=0.1) > 0


# State


def test_parameters_set_after_fit_wait_for_the_next_fit(pair):
    A, B = pair
    model = ChamferDistance(epsilon=0.1, random_state=0).fit(B).observe(A)
    model.set_params(metric="manhattan", power=2.0).partial_fit(B[:5])
    assert model.result().value == pytest.approx(chamfer_distance(A, B), rel=0.1)
    model.fit(B)
    assert model.query(A) == pytest.approx(chamfer_distance(A, B, p=1, power=2.0))


@pytest.mark.parametrize(
    "label", [[1, 2], {"a": 1}, object(), np.array([1]), "a", 1.5, None, np.nan]
)
def test_bad_label_changes_nothing(label):
    clouds = np.random.default_rng(0).standard_normal((8, 40, 3))
    model = ChamferNearestClouds(2, random_state=0).fit(clouds, [0, 1] * 4)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="y must be"):
        model.insert(clouds[0], label)
    assert pickle.dumps(model) == before
    assert model.insert(clouds[0], 7) == 8
    assert list(model.classes_) == [0, 1, 7]
    assert len(model.predict(clouds)) == 8


def test_second_pass_over_other_points_is_noticed(pair):
    A, B = pair
    stream = TwoPassChamfer(epsilon=0.2, n_ref=50, random_state=0)
    stream.first_reference(B).first_query(A).second_reference(B + 1000)
    with pytest.raises(ValueError, match="same points"):
        stream.result()


def test_run_without_query_chunks(pair):
    assert TwoPassChamfer().run(lambda: [], lambda: [pair[1]]).value == 0.0


@pytest.mark.parametrize("n_slots", [-1, "x", 2.5])
def test_reset_names_the_bad_parameter(pair, n_slots):
    model = ChamferDistance().fit(pair[1]).set_params(n_slots=n_slots)
    with pytest.raises((ValueError, TypeError), match="n_slots"):
        model.reset()


# Input that would be converted silently and wrongly


def estimators():
    B = np.random.default_rng(1).standard_normal((6, 3))
    return {
        "ChamferDistance.fit": ChamferDistance().fit,
        "ChamferDistance.query": ChamferDistance().fit(B).query,
        "ChamferDistance.observe": ChamferDistance().fit(B).observe,
        "ChamferDistance.score_samples": ChamferDistance().fit(B).score_samples,
        "ChamferDistance.partial_fit": ChamferDistance().fit(B).partial_fit,
        "ChamferTransformer.fit": ChamferTransformer().fit,
        "ChamferNearestClouds.fit": ChamferNearestClouds().fit,
        "TwoPassChamfer.first_reference": TwoPassChamfer().first_reference,
        "nearest_distances": lambda A: nearest_distances(A, B),
        "zorder_candidates": lambda A: zorder_candidates(A, B),
    }


@pytest.mark.parametrize("name", estimators())
@pytest.mark.parametrize(
    "bad",
    [
        np.ma.masked_array(np.ones((4, 3)), mask=np.eye(4, 3)),
        np.ones((4, 3)).astype(str),
        np.zeros((4, 3), "datetime64[D]"),
        np.zeros((4, 3), "timedelta64[s]"),
        np.ones((4, 3)) * 1j,
        [[10**400, 1, 2]],
        pd.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]}),
    ],
    ids=["masked", "text", "dates", "durations", "complex", "huge integers", "frame of text"],
)
def test_points_that_are_no_numbers(name, bad):
    with pytest.raises((ValueError, TypeError)):
        estimators()[name](bad)


def test_masked_weights(pair):
    A, B = pair
    with pytest.raises(ValueError, match="weights has masked"):
        chamfer_distance(A, B, weights=np.ma.masked_array(np.ones(500), mask=True))


def test_hand_made_clouds_are_checked():
    with pytest.raises(ValueError, match="finite"):
        chamfer_matrix(Clouds(np.full((2, 3), np.nan), np.array([0, 2])), [np.ones((2, 3))])
    with pytest.raises(ValueError, match="offsets"):
        chamfer_matrix(Clouds(np.ones((2, 3)), [0, 5]), [np.ones((2, 3))])


@pytest.mark.parametrize("value", ["no", None, 1])
def test_symmetric_is_a_boolean(pair, value):
    A, B = pair
    calls = [
        lambda: chamfer_distance(A, B, symmetric=value),
        lambda: chamfer_matrix([A], [B], symmetric=value),
        lambda: ChamferTransformer(symmetric=value).fit([A]),
        lambda: ChamferNearestClouds(symmetric=value).fit([A]),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="symmetric"):
            call()


@pytest.mark.parametrize("n_jobs", ["2", 1.5, 0, True])
def test_n_jobs_is_a_number_of_jobs(pair, n_jobs):
    A, B = pair
    calls = [
        lambda: chamfer_distance(A, B, n_jobs=n_jobs),
        lambda: nearest_distances(A, B, n_jobs=n_jobs),
        lambda: chamfer_matrix([A], [B], n_jobs=n_jobs),
        lambda: ChamferDistance(n_jobs=n_jobs).fit(B),
        lambda: ChamferNearestClouds(n_jobs=n_jobs).fit([B]),
    ]
    for call in calls:
        with pytest.raises((ValueError, TypeError), match="n_jobs"):
            call()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_embeddings_of_points_too_large(dtype):
    X = np.full((3, 400), np.finfo(dtype).max)
    with pytest.raises(ValueError, match="X is too large"):
        toeplitz_fjlt(X, 5, random_state=0)
    with pytest.raises(ValueError, match="X is too large"):
        lopsided_embedding(X, 50, p=1.1, random_state=0)


@pytest.mark.parametrize("draws", ["0.5", "abc", {}, 0.5j, True])
def test_draws_are_numbers(draws):
    with pytest.raises(ValueError, match="x must be"):
        BettingMeanCS(0.1, 0.05).update(draws)


@pytest.mark.parametrize("dtype", [int, "zz", "float16"])
def test_matrix_is_floating(dtype):
    with pytest.raises(ValueError, match="dtype"):
        chamfer_matrix([np.ones((2, 2))], [np.ones((2, 2))], dtype=dtype)


def test_more_neighbours_than_clouds():
    clouds = np.random.default_rng(0).standard_normal((3, 10, 2))
    with pytest.raises(ValueError, match="n_neighbors=5 exceeds"):
        ChamferNearestClouds().fit(clouds).kneighbors(clouds)


def test_norms_that_have_no_projections_are_not_streamed(pair):
    A, B = pair
    with pytest.raises(ValueError, match="p=3"):
        ChamferDistance(p=3).fit(B).observe(A)
    with pytest.raises(ValueError, match="p=3"):
        TwoPassChamfer(p=3).first_reference(B)
    with pytest.raises(ValueError, match="epsilon"):
        TwoPassChamfer(epsilon=0).first_reference(B)
