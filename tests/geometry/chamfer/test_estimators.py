"""The estimators: scikit-learn's contract, streams, persistence, failures that change nothing."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.algos import chamfer_distance, chamfer_matrix
from skfrontier.algos.geometry.chamfer.reservoirs import UniformRows, WeightedSlots
from skfrontier.datasets import make_chamfer_pair, make_superquadrics
from skfrontier.estimators import (
    ChamferDistance,
    ChamferNearestClouds,
    ChamferTransformer,
    TwoPassChamfer,
)


@parametrize_with_checks(
    [
        ChamferDistance(),
        ChamferDistance(p=1.5, method="sample", reduction="mean"),
        ChamferTransformer(),
        ChamferNearestClouds(n_neighbors=1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def pair():
    return make_chamfer_pair("clusters", n=3000, n_features=16, random_state=0)


@pytest.mark.parametrize("method", ["brute", "sample"])
@pytest.mark.parametrize("kwargs", [{}, {"p": 1.5}, {"metric": "angular"}, {"power": 2.0}])
def test_query_agrees_with_the_function(pair, method, kwargs):
    A, B = pair
    model = ChamferDistance(method=method, random_state=0, **kwargs).fit(B)
    exact = chamfer_distance(A, B, epsilon=0, **kwargs)
    value, info = model.query(A, return_info=True)
    assert value == info.value
    assert value == pytest.approx(exact, rel=1e-12 if method == "brute" else 0.05)
    assert info.ci_low <= exact * (1 + 1e-12)
    assert exact <= info.ci_high * (1 + 1e-12)


def test_queries_are_repeatable_and_fits_too(pair):
    A, B = pair
    model = ChamferDistance(method="sample", random_state=0).fit(B)
    assert model.query(A) == model.query(A)
    assert clone(model).fit(B).query(A) == model.query(A)
    threads = ChamferDistance(method="sample", random_state=0, n_jobs=3).fit(B)
    assert threads.query(A) == model.query(A)


def test_score_samples_add_up_to_the_distance(pair):
    A, B = pair
    model = ChamferDistance(power=1.5, epsilon=0).fit(B)
    chunks = [model.score_samples(chunk).sum() for chunk in np.array_split(A, 7)]
    assert -np.sum(chunks) == pytest.approx(model.query(A), rel=1e-12)


def test_partial_fit_appends_the_reference(pair):
    A, B = pair
    whole = ChamferDistance(epsilon=0).fit(B)
    parts = ChamferDistance(epsilon=0)
    for chunk in np.array_split(B, 4):
        parts.partial_fit(chunk)
    np.testing.assert_array_equal(parts.reference_, B)
    assert parts.query(A) == whole.query(A)


def test_transform_gives_one_feature_per_cloud():
    clouds, _ = make_superquadrics(12, n_points=64, random_state=0)
    model = ChamferDistance(reduction="mean").fit(clouds[0])
    features = model.transform(clouds)
    assert features.shape == (12, 1)
    assert features[0, 0] == 0
    expected = [chamfer_distance(cloud, clouds[0], reduction="mean") for cloud in clouds]
    np.testing.assert_allclose(features[:, 0], expected)
    assert list(model.get_feature_names_out()) == ["chamferdistance0"]
    frame = model.set_output(transform="pandas").transform(clouds)
    assert list(frame.columns) == ["chamferdistance0"]


def test_frames_keep_their_names(pair):
    _, B = pair
    frame = pd.DataFrame(B, columns=[f"x{i}" for i in range(16)])
    model = ChamferDistance().fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.query(frame.rename(columns={"x0": "other"}))


def test_mixed_precision_queries(pair):
    A, B = pair
    narrow = ChamferDistance(epsilon=0).fit(B)
    wide = ChamferDistance(epsilon=0).fit(B.astype(float))
    assert narrow.query(A.astype(float)) == pytest.approx(wide.query(A.astype(float)), rel=1e-12)
    assert wide.query(A) == pytest.approx(wide.query(A.astype(float)), rel=1e-12)


def test_query_of_nothing():
    model = ChamferDistance().fit(np.ones((3, 2)))
    assert model.query(np.empty((0, 2))) == 0.0


# Streams


@pytest.mark.parametrize("kwargs", [{}, {"metric": "angular"}, {"p": 1.0, "reduction": "mean"}])
def test_stream_in_chunks(pair, kwargs):
    A, B = pair
    exact = chamfer_distance(A, B, epsilon=0, **kwargs)
    model = ChamferDistance(epsilon=0.1, random_state=0, **kwargs).fit(B)
    sizes = []
    for chunk in np.array_split(A, 13):
        model.observe(chunk)
        sizes.append(len(pickle.dumps(model._stream)))
    info = model.result()
    assert info.value == pytest.approx(exact, rel=0.1)
    assert info.ci_low <= exact <= info.ci_high
    assert info.epsilon_achieved <= 0.1
    assert abs(sizes[-1] - sizes[0]) < 100  # memory does not grow with the stream


def test_stream_coverage(pair):
    A, B = pair[0][:800], pair[1][:900]
    exact = chamfer_distance(A, B, epsilon=0)
    misses = 0
    for seed in range(60):
        model = ChamferDistance(epsilon=0.1, random_state=seed).fit(B)
        for chunk in np.array_split(A, 5):
            model.observe(chunk)
        info = model.result()
        misses += abs(info.value / exact - 1) > 0.1
    assert misses <= 6  # 5 % of 60, plus two standard errors


def test_slots_hold_rows_in_proportion_to_their_bounds():
    rng = np.random.default_rng(0)
    n, n_slots = 400, 40_000
    rows, bounds = np.arange(float(n))[:, None], 0.2 + rng.random(n)
    slots = WeightedSlots(n_slots)
    for part in np.array_split(np.arange(n), 6):
        slots.observe(rows[part], None, bounds[part], rng)
    counts = np.bincount(slots.rows[:, 0].astype(int), minlength=n)
    expected = n_slots * bounds / bounds.sum()
    assert 0.8 <= ((counts - expected) ** 2 / expected).sum() / (n - 1) <= 1.2
    assert slots.total == pytest.approx(bounds.sum())


def test_uniform_rows_are_uniform():
    counts = np.zeros(50)
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        sample = UniformRows(10)
        for part in np.array_split(np.arange(50.0)[:, None], 4):
            sample.observe(part, rng)
        assert sample.rows.shape == (10, 1)
        counts[sample.rows[:, 0].astype(int)] += 1
    # each row is kept with probability 1/5
    assert np.abs(counts - 400).max() < 4.5 * np.sqrt(2000 * 0.2 * 0.8)


def test_weighted_stream(pair):
    A, B = pair
    weights = np.random.default_rng(0).random(len(A))
    weights[:100] = 0
    model = ChamferDistance(epsilon=0.1, reduction="mean", random_state=0).fit(B)
    for chunk, part in zip(np.array_split(A, 30), np.array_split(weights, 30), strict=True):
        model.observe(chunk, weights=part)
    exact = chamfer_distance(A, B, weights=weights, reduction="mean", epsilon=0)
    assert model.result().value == pytest.approx(exact, rel=0.1)


def test_too_few_slots_warn_and_say_what_was_reached(pair):
    A, B = pair
    model = ChamferDistance(epsilon=0.01, n_slots=40, random_state=0).fit(B).observe(A)
    with pytest.warns(ConvergenceWarning, match="n_slots"):
        info = model.result()
    assert info.epsilon_achieved > 0.01
    assert info.n_exact == 40
    exact = chamfer_distance(A, B, epsilon=0)
    assert info.ci_low <= exact <= info.ci_high


def test_reset_forgets_the_stream_only(pair):
    A, B = pair
    model = ChamferDistance(random_state=0).fit(B).observe(A[:500])
    first = model.result().value
    model.reset()
    assert model.result().value == 0.0
    assert model.observe(A[:500]).result().value == first


def test_growing_the_reference_under_a_stream(pair):
    A, B = pair
    model = ChamferDistance(epsilon=0.1, random_state=0).fit(B[:1500]).observe(A[:2000])
    model.partial_fit(B[1500:]).observe(A[2000:])
    assert model.result().value == pytest.approx(chamfer_distance(A, B, epsilon=0), rel=0.1)


@pytest.mark.parametrize("bad", [np.full((3, 16), np.nan), np.ones((3, 5)), "points"])
def test_failed_calls_change_nothing(pair, bad):
    A, B = pair
    model = ChamferDistance(random_state=0).fit(B).observe(A[:300])
    before = pickle.dumps(model.result()), model.reference_.shape
    for call in (model.observe, model.partial_fit, model.query):
        with pytest.raises(ValueError):
            call(bad)
    with pytest.raises(ValueError, match="weights"):
        model.observe(A[:3], weights=[1, -1, 1])
    after = pickle.dumps(model.result()), model.reference_.shape
    assert after[1] == before[1]
    assert pickle.loads(after[0]) == pickle.loads(before[0])
    model.observe(A[300:600])
    straight = ChamferDistance(random_state=0).fit(B).observe(A[:300]).observe(A[300:600])
    assert model.result() == straight.result()


def test_stream_continues_in_another_process(pair, tmp_path):
    A, B = pair
    model = ChamferDistance(epsilon=0.1, random_state=0).fit(B).observe(A[:1000])
    joblib.dump(model, tmp_path / "model.joblib")
    np.save(tmp_path / "rest.npy", A[1000:])
    code = (
        "import joblib, numpy as np, sys; from pathlib import Path; folder = Path(sys.argv[1]);"
        "model = joblib.load(folder / 'model.joblib');"
        "print(repr(float(model.observe(np.load(folder / 'rest.npy')).result().value)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert float(output.stdout) == model.observe(A[1000:]).result().value


def test_threads_may_query_one_model_at_once(pair):
    A, B = pair
    parts = np.array_split(A, 8)
    alone = ChamferDistance(method="sample", random_state=0).fit(B)
    expected = [alone.query(part) for part in parts]
    shared = ChamferDistance(method="sample", random_state=0).fit(B)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(shared.query, parts)) == expected


@pytest.mark.parametrize("call", ["query", "score_samples", "transform", "observe"])
def test_calls_before_fit(call):
    with pytest.raises(NotFittedError):
        getattr(ChamferDistance(), call)(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("params", "message"),
    [({"method": "best"}, "method"), ({"n_slots": 0}, "n_slots"), ({"epsilon": 2}, "epsilon")],
)
def test_bad_parameters_keep_the_previous_fit(params, message):
    model = ChamferDistance().fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(np.zeros((2, 4)))
    assert model.reference_.shape == (3, 2)
    assert model.query(np.zeros((1, 2))) == pytest.approx(np.sqrt(2))


# Two passes


def test_two_passes(pair):
    A, B = pair
    exact = chamfer_distance(A, B, epsilon=0)
    misses = 0
    for seed in range(20):
        stream = TwoPassChamfer(epsilon=0.1, n_ref=500, random_state=seed)
        info = stream.run(lambda: np.array_split(A, 4), lambda: np.array_split(B, 6))
        assert info.n_exact <= 1024
        misses += abs(info.value / exact - 1) > 0.1
    assert misses <= 3  # 5 % of 20, plus two standard errors


def test_two_passes_in_any_order_of_the_second(pair):
    A, B = pair
    stream = TwoPassChamfer(epsilon=0.1, reduction="mean", random_state=0)
    for chunk in np.array_split(B, 3):
        stream.first_reference(chunk)
    stream.first_query(A[:1000]).first_query(A[1000:])
    for chunk in np.array_split(B[::-1], 8):
        stream.second_reference(chunk)
    exact = chamfer_distance(A, B, reduction="mean", epsilon=0)
    assert stream.result().value == pytest.approx(exact, rel=0.1)


def test_two_passes_continue_after_pickling(pair):
    A, B = pair
    stream = TwoPassChamfer(random_state=0).first_reference(B).first_query(A[:2000])
    copy = pickle.loads(pickle.dumps(stream))
    for each in (stream, copy):
        each.first_query(A[2000:]).second_reference(B)
    assert copy.result() == stream.result()


def test_order_of_the_passes_is_enforced():
    X = np.ones((3, 2))
    stream = TwoPassChamfer()
    with pytest.raises(RuntimeError, match=r"first_reference\(\) comes first"):
        stream.first_query(X)
    with pytest.raises(RuntimeError, match=r"first_reference\(\) comes first"):
        stream.result()
    stream.first_reference(X)
    with pytest.raises(RuntimeError, match=r"first_query\(\)"):
        stream.second_reference(X)
    stream.first_query(X)
    with pytest.raises(RuntimeError, match=r"second_reference\(\)"):
        stream.first_reference(X)
    stream.second_reference(X)
    with pytest.raises(RuntimeError, match=r"result\(\)"):
        stream.first_query(X)
    assert stream.result().value == 0.0
    assert stream.reset().first_reference(X) is stream


def test_second_pass_must_bring_the_same_number_of_points():
    X = np.ones((3, 2))
    stream = TwoPassChamfer().first_reference(X).first_query(X + 1).second_reference(X[:2])
    with pytest.raises(ValueError, match="2 points, the first 3"):
        stream.result()
    assert stream.second_reference(X[:1]).result().value > 0


def test_bad_chunks_change_nothing(pair):
    A, B = pair
    stream = TwoPassChamfer(random_state=0).first_reference(B)
    with pytest.raises(ValueError, match="chunk must be finite"):
        stream.first_reference(np.full((2, 16), np.nan))
    with pytest.raises(ValueError, match="5 features, earlier chunks had 16"):
        stream.first_query(np.ones((2, 5)))
    clean = TwoPassChamfer(random_state=0).first_reference(B)
    for each in (stream, clean):
        each.first_query(A).second_reference(B)
    assert stream.result() == clean.result()


# Clouds


def test_transformer_in_a_pipeline():
    clouds, y = make_superquadrics(60, n_points=48, random_state=0)
    model = make_pipeline(
        ChamferTransformer(symmetric=True), LogisticRegression(C=100, max_iter=500)
    )
    model.fit(clouds[:40], y[:40])
    assert model.score(clouds[40:], y[40:]) > 0.5  # ten classes
    features = model[0].transform(clouds[:3])
    np.testing.assert_allclose(features, chamfer_matrix(clouds[:3], clouds[:40], symmetric=True))


def test_nearest_clouds_are_those_of_the_matrix():
    clouds, y = make_superquadrics(80, n_points=64, random_state=1)
    model = ChamferNearestClouds(n_neighbors=4, symmetric=True, random_state=0).fit(
        clouds[:70], y[:70]
    )
    dist, ind = model.kneighbors(clouds[70:])
    full = chamfer_matrix(clouds[70:], clouds[:70], symmetric=True)
    expected = np.argsort(full, axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(ind, expected)
    np.testing.assert_allclose(dist, np.take_along_axis(full, expected, axis=1), rtol=1e-10)
    assert (model.predict(clouds[70:]) == y[70:]).mean() > 0.5


def test_insert_and_delete():
    clouds, _ = make_superquadrics(20, n_points=32, random_state=2)
    grown = ChamferNearestClouds(n_neighbors=2, random_state=0).fit(clouds[:10])
    for cloud in clouds[10:]:
        grown.insert(cloud)
    grown.delete(3)
    kept = [cloud for i, cloud in enumerate(clouds) if i != 3]
    fresh = ChamferNearestClouds(n_neighbors=2, random_state=0).fit(kept)
    for got, expected in zip(grown.kneighbors(clouds), fresh.kneighbors(clouds), strict=True):
        np.testing.assert_allclose(got, expected)


def test_predict_needs_labels():
    clouds, _ = make_superquadrics(10, n_points=16, random_state=0)
    model = ChamferNearestClouds(n_neighbors=2).fit(clouds)
    with pytest.raises(ValueError, match="y"):
        model.predict(clouds)
