"""The monitor: its distances, its tests and their rates of false alarm."""

import pickle

import numpy as np
import pytest
from matching_references import optimum
from scipy.stats import kstest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.algos.geometry.matching.costs import vector_cost
from skfrontier.algos.geometry.matching.drift_tests import ConformalBets, block_cost, split_test
from skfrontier.estimators import WassersteinDriftMonitor


# 'conformal' needs 20 windows beside the reference: more rows than the checks have.
@parametrize_with_checks([WassersteinDriftMonitor(window=4, alpha=0.05, n_permutations=39)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("p", "metric", "slack", "d"),
    [
        (1, "euclidean", 0, 2),
        (2, "manhattan", 0.2, 2),
        (1.5, "euclidean", 0, 1),
        (1, "sqeuclidean", 0, 3),
    ],
)
def test_sliding_distance_is_that_of_the_window(p, metric, slack, d):
    rng = np.random.default_rng(0)
    monitor = WassersteinDriftMonitor(
        window=20, p=p, metric=metric, reference_slack=slack, alpha=0.1, random_state=0
    )
    monitor.fit(rng.normal(size=(60, d)))
    stream = rng.normal(size=(45, d))
    name = {"manhattan": "cityblock"}.get(metric, metric)
    for t, row in enumerate(stream, 1):
        monitor.partial_fit([row])
        if t < 20:
            assert np.isnan(monitor.distance_)
            assert monitor.history_ == []
            continue
        window = stream[t - 20 : t]
        expected = (optimum(window, monitor.reference_, p, name) / 20) ** (1 / p)
        assert monitor.distance_ == pytest.approx(expected, rel=1e-8)
        assert monitor.lower_bound_ == pytest.approx(expected, rel=1e-8)
    assert [t for t, _ in monitor.history_] == list(range(20, 46))
    assert len(monitor.p_values_) == 2
    assert len(monitor.reference_) == round(20 * (1 + slack))


def test_anytime_distance_is_bracketed():
    rng = np.random.default_rng(0)
    monitor = WassersteinDriftMonitor(window=60, method="anytime", max_scans=4, random_state=0)
    monitor.fit(rng.normal(size=(60, 2)))
    stream = rng.normal(size=(70, 2))
    monitor.partial_fit(stream)
    expected = optimum(stream[-60:], monitor.reference_) / 60
    assert monitor.lower_bound_ <= expected <= monitor.distance_


def test_row_by_row_and_at_once_agree_and_pickles_go_on():
    rng = np.random.default_rng(0)
    X, stream = rng.normal(size=(500, 2)), rng.normal(size=(77, 2))
    for calibration in ("permutation", "conformal"):
        options = {"window": 20, "calibration": calibration, "alpha": 0.05, "random_state": 1}
        whole = WassersteinDriftMonitor(**options).fit(X).partial_fit(stream)
        parts = WassersteinDriftMonitor(**options).fit(X)
        for rows in np.split(stream, [13, 14, 40, 60]):
            parts = pickle.loads(pickle.dumps(parts.partial_fit(rows)))
        assert whole.p_values_ == parts.p_values_
        assert whole.history_ == parts.history_
        assert whole.e_value_ == parts.e_value_
        threads = WassersteinDriftMonitor(**options, n_jobs=2).fit(X).partial_fit(stream)
        assert threads.p_values_ == whole.p_values_


def test_permutation_level_over_independent_references():
    rng = np.random.default_rng(0)
    cost, alpha, n = vector_cost("euclidean"), 0.05, 400
    p_values = np.array([
        split_test(
            cost, rng.normal(size=(40, 1)), rng.normal(size=(40, 1)),
            n_permutations=99, alpha=alpha, run_length=1, rng=rng,
        ).p_value
        for _ in range(n)
    ])  # fmt: skip
    for level in (0.01, 0.05, 0.2):
        assert (p_values <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / n)
    assert (p_values <= 0.2).mean() >= 0.2 - 4 * np.sqrt(0.16 / n)


def test_permutation_stops_early_and_finds_a_shift():
    rng = np.random.default_rng(0)
    cost = vector_cost("euclidean")
    options = {"n_permutations": 199, "alpha": 0.01, "run_length": 1, "rng": rng}
    same = split_test(cost, rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), **options)
    assert same.n_splits < 199
    assert same.threshold is None
    assert same.p_value == 10 / same.n_splits
    moved = split_test(cost, rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1, **options)
    assert moved.p_value == 1 / 200
    assert moved.threshold > 0


def test_conformal_p_values_are_uniform_and_bets_rarely_win():
    alarms, early = 0, []
    for run in range(150):
        rng = np.random.default_rng([1, run])
        bets = ConformalBets(rng.normal(size=20))
        p_values = [bets.p_value(x, rng) for x in rng.normal(size=60)]
        early += p_values[::6]
        alarms += (
            bets.e_value >= 20
        )  # at the end; the supremum is tested in the benchmark's larger run
    assert kstest(early, "uniform").pvalue > 0.001
    assert alarms <= 0.05 * 150


def test_whole_stream_false_alarms_of_the_monitor():
    alarms, p_values = 0, []
    for run in range(40):
        rng = np.random.default_rng([2, run])
        monitor = WassersteinDriftMonitor(
            window=25, alpha=0.05, calibration="conformal", random_state=rng
        )
        monitor.fit(rng.normal(size=(21 * 25, 1))).partial_fit(rng.normal(size=(20 * 25, 1)))
        alarms += monitor.drift_detected_
        p_values += monitor.p_values_
    assert alarms <= 0.05 * 40 + 3 * np.sqrt(0.05 * 0.95 * 40)
    assert abs(np.mean(p_values) - 0.5) <= 4 / np.sqrt(12 * len(p_values))


def test_conformal_finds_a_shift_and_stays_alarmed():
    rng = np.random.default_rng(0)
    monitor = WassersteinDriftMonitor(
        window=50, alpha=0.05, calibration="conformal", random_state=0
    ).fit(rng.normal(size=(25 * 50, 1)))
    assert monitor.e_value_ == 1
    monitor.partial_fit(rng.normal(size=(10 * 50, 1)) + 1.5)
    assert monitor.drift_detected_
    assert monitor.e_value_ >= 20
    assert monitor.threshold_ > 0
    monitor.partial_fit(rng.normal(size=(50, 1)))
    assert monitor.drift_detected_


def test_digits_of_other_classes_are_drift():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    old, new = X[y >= 5], X[y < 5]
    found = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(old))
        monitor = WassersteinDriftMonitor(
            window=100, n_permutations=99, alpha=0.01, random_state=seed
        ).fit(old[order[:400]])
        monitor.partial_fit(new[rng.permutation(len(new))[:100]])
        found += monitor.p_value_ == 0.01
    assert found == 3


def test_runs_keep_their_level_where_rows_do_not():
    # rows repeat five times: as good as known, not exchangeable
    cost, alarms = vector_cost("euclidean"), {1: 0, 5: 0}
    for seed in range(60):
        rng = np.random.default_rng([3, seed])
        first, second = (np.repeat(rng.normal(size=(12, 1)), 5, axis=0) for _ in range(2))
        for run_length in alarms:
            outcome = split_test(
                cost, first, second, n_permutations=99, alpha=0.05, run_length=run_length, rng=rng
            )
            alarms[run_length] += outcome.p_value <= 0.05
    assert alarms[5] <= 60 * 0.05 + 3 * np.sqrt(60 * 0.05 * 0.95)
    assert alarms[1] > 20


def test_reference_keeps_runs_together():
    X = np.arange(200.0)[:, None]
    monitor = WassersteinDriftMonitor(window=20, run_length=5, random_state=0).fit(X)
    runs = monitor.reference_.reshape(4, 5)
    assert (np.diff(runs, axis=1) == 1).all()
    assert (np.diff(runs[:, 0]) >= 5).all()


def test_scores_are_distances_to_the_nearest_reference_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    monitor = WassersteinDriftMonitor(window=30, p=2).fit(X)
    assert monitor.score_samples(X) == pytest.approx(0, abs=1e-12)
    assert monitor.score_samples([[100.0, 0, 0]])[0] < -90


def test_block_cost_by_sorting_is_that_of_the_assignment():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 1)), rng.normal(size=(30, 1))
    for p in (1, 1.5, 2):
        assert block_cost(vector_cost("euclidean", p), x, y) * 30 == pytest.approx(optimum(x, y, p))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window must be at least 1"),
        ({"window": 101}, "too few"),
        ({"alpha": 0}, "alpha must lie in"),
        ({"alpha": 0.001}, "cannot be reached with n_permutations=199"),
        ({"calibration": "bootstrap"}, "calibration must be one of"),
        ({"calibration": "conformal"}, "at least 420 rows"),
        ({"reference_slack": -0.1}, "reference_slack must lie in"),
        ({"run_length": 3}, "must divide the window"),
        ({"metric": "cosine"}, "metric must be one of"),
        ({"metric": "precomputed"}, "metric must be one of"),
        ({"p": 0.2}, "p must lie in"),
        ({"method": "none"}, "method must be one of"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        WassersteinDriftMonitor(**{"window": 20, **options}).fit(np.zeros((100, 2)))


def test_bad_rows_change_nothing():
    rng = np.random.default_rng(0)
    monitor = WassersteinDriftMonitor(window=10, alpha=0.1).fit(rng.normal(size=(40, 2)))
    monitor.partial_fit(rng.normal(size=(12, 2)))
    for rows in ([[0.0, np.nan]], [[0.0]], [[0.0, 0.0], [np.inf, 0.0]]):
        with pytest.raises(ValueError, match=r"NaN|infinity|features"):
            monitor.partial_fit(rows)
    assert monitor.n_seen_ == 12
    with pytest.raises(ValueError, match="window was changed to 5 after the fit"):
        monitor.set_params(window=5).partial_fit([[0.0, 0.0]])
