"""Generators of changing point sets, and the reader of taxi trips."""

import hashlib

import numpy as np
import pytest

from skfrontier.datasets import (
    fetch_nyc_taxi,
    load_shuttle_stream,
    make_adversarial_line,
    make_dynamic_matching,
)
from skfrontier.datasets.geometry import matching
from skfrontier.estimators import DynamicMatching


@pytest.mark.parametrize("model", ["uniform", "shift", "clusters", "rotating", "city"])
@pytest.mark.parametrize("order", ["fifo", "random"])
def test_operations_can_be_applied(model, order):
    A, B, ops = make_dynamic_matching(
        12, 15, 3, n_updates=20, model=model, delete_order=order, random_state=0
    )
    again = make_dynamic_matching(
        12, 15, 3, n_updates=20, model=model, delete_order=order, random_state=0
    )
    assert np.array_equal(A, again[0])
    assert all(np.array_equal(x.value, y.value) for x, y in zip(ops, again[2], strict=True))
    matcher = DynamicMatching().fit(A, B)
    for op in ops:
        if op.kind == "insert":
            matcher.insert(op.side, [op.value])
        else:
            matcher.delete(op.side, [op.value])
    assert (matcher.n_a_, matcher.n_b_, len(ops)) == (12, 15, 40)
    assert np.isfinite(matcher.cost_)


def test_models_are_what_they_say():
    A, B, _ = make_dynamic_matching(3000, 3000, model="shift", shift=0.5, random_state=0)
    assert (B - A).mean(axis=0) == pytest.approx(0.5, abs=4 * np.sqrt(2 / 12 / 3000))
    A, _, ops = make_dynamic_matching(2000, 10, n_updates=4, model="rotating", random_state=0)
    assert np.abs(np.abs(A[:, 0] - 0.5) - 0.3).mean() < 0.06  # at the start on the horizontal axis
    quarter = np.array([ops[1].value])  # a quarter of the way round
    assert np.abs(quarter[:, 1] - 0.5) == pytest.approx(0.3, abs=0.25)
    with pytest.raises(ValueError, match="n_features must be at least 2"):
        make_dynamic_matching(5, 5, 1, model="city")
    with pytest.raises(ValueError, match="model must be one of"):
        make_dynamic_matching(5, 5, model="sphere")


@pytest.mark.parametrize("n", [1, 4, 5])
def test_line_stream_grows_both_ends(n):
    A, B, ops = make_adversarial_line(n, random_state=0)
    assert A.shape == B.shape == (n, 1)
    assert len(ops) == n
    matcher = DynamicMatching(method="exact").fit(A, B)
    for op in ops:
        matcher.insert(op.side, [op.value])
    x, y = (np.sort(matcher.points(side)[:, 0]) for side in "ab")
    if len(x) == len(y):
        assert matcher.cost_ == pytest.approx(np.abs(x - y).sum())


HEADER = (
    "VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,pickup_longitude,"
    "pickup_latitude,dropoff_longitude,dropoff_latitude\n"
)
ROWS = [
    "2,2015-01-15 19:05:39 +00:00,2015-01-15 19:23:42 +00:00,1,-73.99,40.75,-73.97,40.751",
    "1,2015-01-15 19:05:30 +00:00,2015-01-15 19:15:00 +00:00,1,-74.00,40.72,-73.99,40.731",
    "1,2015-01-15 19:01:00 +00:00,2015-01-15 19:15:00 +00:00,1,0,0,-73.99,40.731",
]


def test_trips_are_projected_sorted_and_checked(tmp_path, monkeypatch):
    path = tmp_path / "taxi" / "nyctrips.csv"
    path.parent.mkdir()
    path.write_text(HEADER + "\n".join(ROWS) + "\n")
    with pytest.raises(ValueError, match="not the expected file"):
        fetch_nyc_taxi(data_home=tmp_path)
    content = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    monkeypatch.setattr(matching, "_TRIPS_BLOB", blob)
    trips = fetch_nyc_taxi(data_home=tmp_path, download_if_missing=False)
    assert trips.pickup.shape == trips.dropoff.shape == (2, 2)
    assert np.diff(trips.pickup_time).tolist() == [9]
    assert (trips.dropoff_time - trips.pickup_time).tolist() == [570, 1083]
    # 0.01 degrees of longitude at 40.75 N and 0.03 of latitude, in km
    difference = trips.pickup[1] - trips.pickup[0]
    assert difference == pytest.approx([0.842, 3.336], abs=0.001)
    assert len(fetch_nyc_taxi(1, data_home=tmp_path).pickup) == 1


def test_missing_file_is_named(tmp_path):
    with pytest.raises(OSError, match=r"nyctrips\.csv is missing"):
        fetch_nyc_taxi(data_home=tmp_path, download_if_missing=False)


def test_real_trips_if_they_are_there():
    try:
        trips = fetch_nyc_taxi(download_if_missing=False)
    except OSError:
        pytest.skip("taxi/nyctrips.csv is missing")
    assert (np.diff(trips.pickup_time) >= 0).all()
    assert (trips.pickup >= 0).all()
    assert (trips.pickup.max(axis=0) < 40).all()


def test_shuttle_readings_are_those_of_river():
    datasets = pytest.importorskip("river.datasets", reason="needs river")
    if not hasattr(datasets, "Shuttle"):
        pytest.skip("this river has no shuttle readings")
    stream = load_shuttle_stream(500)
    theirs = list(datasets.Shuttle().take(500))
    assert np.array_equal(stream.readings, [list(x.values()) for x, _ in theirs])
    assert np.array_equal(stream.anomaly, [bool(y) for _, y in theirs])


def test_without_river_the_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install --upgrade river"):
        load_shuttle_stream()
