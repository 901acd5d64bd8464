"""Point sets that change, for matching: generators, and taxi trips in New York."""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_generator,
    check_interval,
)
from skfrontier.datasets._fetch import fetch_file

_MODELS = ("uniform", "shift", "clusters", "rotating", "city")
_TRIPS_URL = (
    "https://raw.githubusercontent.com/keplergl/kepler.gl-data/"
    "2deaa0925b61b2cbe284e3be7391aa2051095217/nyctrips/data.csv"
)
_TRIPS_BLOB = "cfa141a499c094bd2e18ad555e46ea9def6d1e7b"
_KM_PER_DEGREE = 111.195
_LATITUDE = 40.75
_BOX = (-74.05, -73.75, 40.6, 40.9)


@dataclass(frozen=True)
class MatchingOp:
    """A change: ``kind`` is 'insert' or 'delete', ``value`` a point or the number of one.

    The points of a side are numbered in order of arrival, the initial ones first: the ids that
    `DynamicMatching` gives by itself.
    """

    kind: str
    side: str
    value: Any


@dataclass(frozen=True)
class TaxiTrips:
    """Trips in order of their start: kilometres east and north of a corner of the city, and seconds."""

    pickup: np.ndarray
    dropoff: np.ndarray
    pickup_time: np.ndarray
    dropoff_time: np.ndarray


@dataclass(frozen=True)
class ShuttleStream:
    """Readings of nine sensors, of shape (n, 9), and which of them are anomalies."""

    readings: np.ndarray
    anomaly: np.ndarray


def make_dynamic_matching(
    n_a: int,
    n_b: int,
    n_features: int = 2,
    *,
    n_updates: int = 1000,
    model: Literal["uniform", "shift", "clusters", "rotating", "city"] = "uniform",
    shift: float = 0.3,
    delete_order: Literal["fifo", "random"] = "fifo",
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray, list[MatchingOp]]:
    """Two point sets, and a stream of replacements that alternates between them.

    Parameters
    ----------
    n_a, n_b : int
        Points a side, at least 1.
    n_features : int, default=2
        Dimension.
    n_updates : int, default=1000
        Replacements: a deletion and an insertion on the same side each.
    model : {'uniform', 'shift', 'clusters', 'rotating', 'city'}, default='uniform'
        'uniform': both sides uniform in the unit cube. 'shift': B moved by ``shift`` along every axis.
        'clusters': each side ten Gaussians of standard deviation 0.03, centres uniform, weights
        Dirichlet(1). 'rotating': two Gaussians of standard deviation 0.05, opposite on a circle of radius 0.3
        that turns once in the stream. 'city': a dense centre, ten quarters and a thin background, whose
        weights move through the day, different for the two sides.
    shift : float, default=0.3
        Of 'shift'.
    delete_order : {'fifo', 'random'}, default='fifo'
        Which point of the side leaves.
    random_state : int, Generator, RandomState or None, default=None
        Seed.

    Returns
    -------
    A, B : float64 arrays of shape (n_a, n_features) and (n_b, n_features)
        The points at first.
    ops : list of MatchingOp
        The changes.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from skfrontier.datasets import make_dynamic_matching
    >>> A, B, ops = make_dynamic_matching(50, 60, n_updates=10, random_state=0)
    >>> A.shape, B.shape, len(ops)
    ((50, 2), (60, 2), 20)
    >>> ops[0]
    MatchingOp(kind='delete', side='a', value=0)
    """
    sizes = check_count(n_a, "n_a"), check_count(n_b, "n_b")
    d = check_count(n_features, "n_features", 2 if model in ("rotating", "city") else 1)
    n_updates = check_count(n_updates, "n_updates", 0)
    check_choice(model, "model", _MODELS)
    check_choice(delete_order, "delete_order", ("fifo", "random"))
    shift = check_interval(shift, "shift", -np.inf, np.inf, closed="neither")
    rng = check_generator(random_state)
    draw = _sampler(model, d, shift, rng)
    first = [draw(side, np.zeros(sizes[side])) for side in range(2)]
    live, arrived = [list(range(n)) for n in sizes], list(sizes)
    ops = []
    for step in range(n_updates):
        side = step % 2
        at = 0 if delete_order == "fifo" else int(rng.integers(len(live[side])))
        point = draw(side, np.array([(step + 1) / n_updates]))[0]
        ops.append(MatchingOp("delete", "ab"[side], live[side].pop(at)))
        ops.append(MatchingOp("insert", "ab"[side], point))
        live[side].append(arrived[side])
        arrived[side] += 1
    return first[0], first[1], ops


def _sampler(model: str, d: int, shift: float, rng: np.random.Generator):
    """Function of side and times in [0, 1] that draws points."""
    if model in ("uniform", "shift"):
        offset = shift if model == "shift" else 0.0
        return lambda side, times: rng.random((len(times), d)) + (offset if side else 0.0)
    if model == "clusters":
        centres = rng.random((2, 10, d))
        weights = rng.dirichlet(np.ones(10), 2)

        def clusters(side: int, times: np.ndarray) -> np.ndarray:
            chosen = rng.choice(10, len(times), p=weights[side])
            return centres[side, chosen] + rng.normal(0, 0.03, (len(times), d))

        return clusters
    if model == "rotating":

        def rotating(side: int, times: np.ndarray) -> np.ndarray:
            angle = 2 * np.pi * times + np.pi * rng.integers(2, size=len(times))
            points = rng.normal(0.5, 0.05, (len(times), d))
            points[:, 0] += 0.3 * np.cos(angle)
            points[:, 1] += 0.3 * np.sin(angle)
            return points

        return rotating
    quarters = rng.random((10, d)) * 0.8 + 0.1
    phase = rng.random((2, 10))

    def city(side: int, times: np.ndarray) -> np.ndarray:
        busy = 1 + np.sin(2 * np.pi * (times[:, None] + phase[side]))
        shares = np.column_stack([np.full(len(times), 5.0), busy, np.full(len(times), 1.5)])
        bounds = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
        place = np.minimum((rng.random(len(times))[:, None] > bounds).sum(axis=1), 11)
        centres = np.vstack([np.full(d, 0.5), quarters, np.full(d, 0.5)])
        points = centres[place] + rng.normal(0, 1, (len(times), d)) * np.where(
            place[:, None] == 0, 0.08, 0.03
        )
        background = place == 11
        points[background] = rng.random((int(background.sum()), d))
        return points

    return city


def make_adversarial_line(
    n: int, *, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray, list[MatchingOp]]:
    """Points on a line whose optimal matching shifts as a whole with every insertion.

    The i-th point of A is at 2 i, that of B at 2 i + 1 plus tiny noise. The stream inserts a point of A
    beyond the right end and one of B beyond the left end in turns.

    Parameters
    ----------
    n : int
        Points a side, and insertions.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the noise.

    Returns
    -------
    A, B : float64 arrays of shape (n, 1)
        The points at first.
    ops : list of MatchingOp
        The insertions.

    Examples
    --------
    >>> from skfrontier.datasets import make_adversarial_line
    >>> A, B, ops = make_adversarial_line(3, random_state=0)
    >>> A.ravel(), [op.side for op in ops]
    (array([0., 2., 4.]), ['a', 'b', 'a'])
    """
    n = check_count(n, "n")
    rng = check_generator(random_state)
    places = np.arange(n, dtype=np.float64)
    A = (2 * places)[:, None]
    B = (2 * places + 1 + 1e-6 * rng.random(n))[:, None]
    right = [MatchingOp("insert", "a", np.array([2.0 * (n + i)])) for i in range((n + 1) // 2)]
    left = [MatchingOp("insert", "b", np.array([-1.0 - 2 * i])) for i in range(n // 2)]
    ops = [op for pair in zip(right, left, strict=False) for op in pair] + right[len(left) :]
    return A, B, ops


def fetch_nyc_taxi(
    n: int | None = None, *, data_home: Any = None, download_if_missing: bool = True
) -> TaxiTrips:
    """Taxi trips in New York with the places and times of their start and end.

    Trips of the public records of the city's Taxi and Limousine Commission (TLC), as collected for
    demonstrations in https://github.com/keplergl/kepler.gl-data. The TLC publishes zones only, no
    coordinates, for later years.

    Parameters
    ----------
    n : int or None, default=None
        The first ``n`` trips; None: all.
    data_home : path-like or None, default=None
        Cache folder; the file is ``taxi/nyctrips.csv`` below it.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    TaxiTrips
        ``pickup`` and ``dropoff`` of shape (n, 2) in km (an equirectangular projection at 40.75 degrees
        north), times in seconds since 1970. Trips that leave the box 74.05-73.75 W, 40.6-40.9 N, or
        have no place, are left out; the rest is sorted by start.

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.
    ValueError
        If the file is not the one that is expected.
    """
    count = None if n is None else check_count(n, "n")
    path = fetch_file(
        _TRIPS_URL,
        "taxi/nyctrips.csv",
        known_hash=None,
        data_home=data_home,
        download_if_missing=download_if_missing,
    )
    _check_blob(path)
    return _read_trips(path, count)


def load_shuttle_stream(n: int | None = None) -> ShuttleStream:
    """Sensor readings of a space shuttle in their order, about 7 % of them anomalies.

    Parameters
    ----------
    n : int or None, default=None
        The first ``n`` readings; None: all 49097.

    Returns
    -------
    ShuttleStream
        ``readings`` of shape (n, 9) and ``anomaly``, bool of shape (n,).

    Raises
    ------
    ImportError
        If the package river, which holds the file, is not installed or too old to have it.

    Notes
    -----
    The Statlog (Shuttle) data of the UCI repository [1]_ without its second largest class, as distributed
    inside river (BSD 3-Clause).

    References
    ----------
    .. [1] https://archive.ics.uci.edu/dataset/148/statlog+shuttle

    Examples
    --------
    >>> from skfrontier.datasets import load_shuttle_stream
    >>> load_shuttle_stream(1000).readings.shape  # doctest: +SKIP
    (1000, 9)
    """
    count = None if n is None else check_count(n, "n")
    spec = importlib.util.find_spec("river")
    path = (
        Path(spec.origin).parent / "datasets" / "shuttle.csv.gz" if spec and spec.origin else None
    )
    if path is None or not path.is_file():
        raise ImportError(
            "the readings are in the package river, which is not installed or too old: "
            "pip install --upgrade river"
        )
    table = np.loadtxt(path, delimiter=",", skiprows=1, max_rows=count)
    return ShuttleStream(table[:, :-1], table[:, -1] == 1)


def _check_blob(path: Path) -> None:
    """Compare a file with the id that git has for its content."""
    content = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if blob != _TRIPS_BLOB:
        raise ValueError(
            f"{path} is not the expected file (git blob {blob}, not {_TRIPS_BLOB}); remove it and try again."
        )


def _read_trips(path: Path, n: int | None) -> TaxiTrips:
    header = path.read_text().partition("\n")[0].strip().split(",")
    columns = ("pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude")
    places = np.genfromtxt(
        path, delimiter=",", skip_header=1, usecols=[header.index(c) for c in columns]
    )
    times = np.genfromtxt(
        path,
        delimiter=",",
        skip_header=1,
        usecols=[header.index(f"tpep_{c}_datetime") for c in ("pickup", "dropoff")],
        dtype="U27",
    )
    seconds = np.array([_seconds(column) for column in times.T]).T
    west, east, south, north = _BOX
    longitude, latitude = places[:, ::2], places[:, 1::2]
    inside = (
        (longitude > west) & (longitude < east) & (latitude > south) & (latitude < north)
    ).all(axis=1)
    x = (longitude - west) * _KM_PER_DEGREE * np.cos(np.radians(_LATITUDE))
    y = (latitude - south) * _KM_PER_DEGREE
    kept = np.flatnonzero(inside)
    kept = kept[np.argsort(seconds[kept, 0], kind="stable")][:n]
    return TaxiTrips(
        np.column_stack([x[kept, 0], y[kept, 0]]),
        np.column_stack([x[kept, 1], y[kept, 1]]),
        seconds[kept, 0],
        seconds[kept, 1],
    )


def _seconds(times: np.ndarray) -> np.ndarray:
    cleaned = [time.strip('"').replace(" ", "T")[:19] for time in times]
    return np.array(cleaned, dtype="datetime64[s]").astype(np.int64)
