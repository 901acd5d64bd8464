"""The estimator: scikit-learn's contract, what it reports, streams, persistence, bad input."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.algos import (
    CNF,
    DNF,
    Cardinality,
    EmpiricalSupport,
    ExplicitSet,
    Halfspaces,
    Intersection,
    MembershipOracle,
    XorConstraints,
    make_truncation,
    pack_bits,
)
from skfrontier.datasets import load_hares, load_lists, make_truncated_boolean
from skfrontier.estimators import (
    NotIdentifiedError,
    NotIdentifiedWarning,
    TruncatedBooleanProduct,
)


def checks_that_stream(estimator):
    """Settings that cannot stream refuse partial_fit, and scikit-learn calls it where it exists."""
    if estimator.method == "conditional" and estimator.moves == "auto":
        return {}
    reason = "partial_fit refuses moves and methods whose sums over rows are not enough"
    return dict.fromkeys(["check_fit_score_takes_y", "check_n_features_in_after_fitting"], reason)


@parametrize_with_checks(
    [
        TruncatedBooleanProduct(binarize=0.0),
        TruncatedBooleanProduct(binarize=0.0, moves="pairs"),
        TruncatedBooleanProduct(binarize=0.0, method="mle"),
    ],
    expected_failed_checks=checks_that_stream,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def half():
    S = make_truncation("random", 8, random_state=0)
    X = make_truncated_boolean(1500, 8, truncation=S, random_state=1)
    return S, X


def test_hares():
    patterns, counts = load_hares(as_counts=True)
    assert load_hares().shape == (68, 6)
    model = TruncatedBooleanProduct("nonempty", method="mle", smoothing=0)
    model.fit(patterns, sample_weight=counts)
    estimate, stderr = model.population_size()
    assert estimate == pytest.approx(75.066, abs=0.005)
    assert stderr == pytest.approx(3.352, abs=0.005)
    p = np.exp(model.score_samples(patterns))
    deviance = 2 * (counts * np.log(counts / (68 * p))).sum()
    assert deviance == pytest.approx(58.314, abs=0.002)
    flips = TruncatedBooleanProduct("nonempty", moves="flips", smoothing=0).fit(load_hares())
    assert flips.population_size()[0] == pytest.approx(75.597, abs=0.005)
    statistic, pvalue = flips.gof_test(load_hares())
    assert statistic == pytest.approx(1.70, abs=0.005)
    assert pvalue == pytest.approx(0.09, abs=0.002)


@pytest.mark.parametrize("kwargs", [{"method": "mle"}, {"moves": "flips"}])
def test_two_lists_are_lincoln_petersen(kwargs):
    model = TruncatedBooleanProduct("nonempty", smoothing=0, **kwargs).fit(load_lists())
    estimate, stderr = model.population_size()
    assert estimate == pytest.approx((167 + 781) * (167 + 254) / 167, abs=0.01)
    assert stderr == pytest.approx(130.38, abs=0.02)


def test_tiny_mass():
    S = Cardinality(min=185)
    X, z, info = make_truncated_boolean(8000, 200, truncation=S, random_state=0, return_params=True)
    model = TruncatedBooleanProduct(S).fit(X)
    assert info["log_mass"] < -60
    assert np.abs((model.natural_parameters_ - z) / model.stderr_).max() < 4.5
    naive = TruncatedBooleanProduct(S, method="naive").fit(X)
    assert np.abs(naive.natural_parameters_ - z).max() > 2
    value, stderr = model.log_mass(method="importance", random_state=0)
    assert abs(value - model.log_mass()[0]) < 4 * stderr
    rows = model.sample(50, random_state=0)
    assert S.contains(rows).all()


@pytest.mark.parametrize(
    "kwargs",
    [{"moves": "flips"}, {"moves": "pairs"}, {"moves": "optimal"}, {"moves": 3}, {"method": "mle"}],
)
def test_weights_are_repetitions(half, kwargs):
    S, X = half
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = TruncatedBooleanProduct(S, **kwargs).fit(X, sample_weight=weights)
    repeated = TruncatedBooleanProduct(S, **kwargs).fit(np.repeat(X, weights, axis=0))
    for name in ("natural_parameters_", "stderr_", "covariance_", "counts_", "efficiency_"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-6, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize("moves", ["auto", "flips", "pairs", "optimal", 3])
def test_mirrored_and_permuted_columns(half, moves):
    S, X = half
    kwargs = {"moves": moves, "random_state": 0}
    z = TruncatedBooleanProduct(S, **kwargs).fit(X).natural_parameters_
    mirrored = ExplicitSet(1 - S.points)
    np.testing.assert_allclose(
        TruncatedBooleanProduct(mirrored, **kwargs).fit(1 - X).natural_parameters_, -z, atol=1e-6
    )
    order = np.random.default_rng(0).permutation(8)
    permuted = TruncatedBooleanProduct(ExplicitSet(S.points[:, order]), **kwargs).fit(X[:, order])
    np.testing.assert_allclose(permuted.natural_parameters_, z[order], atol=1e-6)


def test_input_types_agree(half):
    S, X = half
    expected = TruncatedBooleanProduct(S).fit(X)
    for rows in (X.astype(bool), X.astype(np.float32), X.tolist(), sparse.csr_matrix(X)):
        model = TruncatedBooleanProduct(S).fit(rows)
        np.testing.assert_array_equal(model.natural_parameters_, expected.natural_parameters_)
        assert model.natural_parameters_.dtype == np.float64


def test_result_does_not_depend_on_n_jobs(monkeypatch):
    from skfrontier.algos.statistics.truncated_boolean import rows

    monkeypatch.setattr(rows, "_CHUNK_BYTES", 5000)
    S = Cardinality(min=3)
    X = make_truncated_boolean(3000, 10, truncation=S, random_state=0)
    weights = np.random.default_rng(0).random(3000)
    one, two = (
        TruncatedBooleanProduct(S, n_jobs=n_jobs).fit(X, sample_weight=weights) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.counts_, two.counts_)
    np.testing.assert_array_equal(one.stderr_, two.stderr_)


def test_stream_equals_fit(half):
    S, X = half
    whole = TruncatedBooleanProduct(S, moves="flips").fit(X)
    stream = TruncatedBooleanProduct(S)
    for part in np.array_split(X, 7):
        stream.partial_fit(part)
    np.testing.assert_array_equal(stream.counts_, whole.counts_)
    np.testing.assert_array_equal(stream.natural_parameters_, whole.natural_parameters_)
    np.testing.assert_allclose(stream.stderr_, whole.stderr_, rtol=1e-12)
    assert stream.n_samples_seen_ == len(X)
    assert stream.efficiency_ <= whole.efficiency_ + 1e-9
    assert stream.score(X) == pytest.approx(whole.score(X))


@pytest.mark.parametrize("stage", [1, 3])
def test_stream_survives_pickling_in_another_process(half, stage, tmp_path):
    S, X = half
    parts = np.array_split(X, 5)
    model = TruncatedBooleanProduct(S)
    for part in parts[:stage]:
        model.partial_fit(part)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps((model, parts[stage:])))
    code = (
        "import pickle, sys; path = sys.argv[1];"
        "model, parts = pickle.load(open(path, 'rb'));"
        "[model.partial_fit(part) for part in parts];"
        "pickle.dump(model.sample(5, random_state=0), open(path, 'wb'));"
        "print(model.natural_parameters_.tolist())"
    )
    path = str(tmp_path / "model.pkl")
    finished = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    for part in parts[stage:]:
        model.partial_fit(part)
    assert finished.stdout.strip() == str(model.natural_parameters_.tolist())
    there = pickle.loads((tmp_path / "model.pkl").read_bytes())
    np.testing.assert_array_equal(there, model.sample(5, random_state=0))


def test_failing_calls_change_nothing(half):
    S, X = half
    outside = 1 - X[:1] if not S.contains(1 - X[:1])[0] else np.ones((1, 8), np.uint8)
    model = TruncatedBooleanProduct(ExplicitSet(X), moves="flips").partial_fit(X)
    before = pickle.dumps(vars(model))
    wrong = ExplicitSet(X).points[:1] ^ 1
    for bad in (
        X[:, :5],
        np.full((2, 8), 2),
        wrong if not ExplicitSet(X).contains(wrong)[0] else outside,
    ):
        with pytest.raises(ValueError):
            model.partial_fit(bad)
        with pytest.raises(ValueError):
            model.partial_fit(X, sample_weight=-np.ones(len(X)))
        assert pickle.dumps(vars(model)) == before
    fresh = TruncatedBooleanProduct(Cardinality([3]), unidentified="raise")
    with pytest.raises(NotIdentifiedError):
        fresh.fit(
            np.eye(8)[:, ::-1]
            + np.roll(np.eye(8), 1, 0)[:, ::-1]
            + np.roll(np.eye(8), 3, 0)[:, ::-1]
        )
    assert not hasattr(fresh, "natural_parameters_")
    assert not hasattr(fresh, "n_features_in_")


@pytest.mark.parametrize(
    "settings", [{"moves": "pairs"}, {"moves": "optimal"}, {"method": "mle"}, {"moves": 2}]
)
def test_settings_that_cannot_stream(half, settings):
    S, X = half
    with pytest.raises(ValueError, match="streams"):
        TruncatedBooleanProduct(S, **settings).partial_fit(X)
    with pytest.raises(ValueError, match="unknown set"):
        TruncatedBooleanProduct("support").partial_fit(X)


def test_slice_is_identified_up_to_a_constant():
    S = Cardinality([5])
    X, z, _ = make_truncated_boolean(2000, 20, truncation=S, random_state=0, return_params=True)
    with pytest.warns(NotIdentifiedWarning, match="truncation set is at fault") as caught:
        model = TruncatedBooleanProduct(S).fit(X)
    assert len(caught) == 1
    np.testing.assert_allclose(np.abs(model.null_space_), 20**-0.5)
    assert not model.identified_.any()
    assert np.isinf(model.stderr_).all()
    error = model.natural_parameters_ - (z - z.mean())
    assert np.sqrt((error**2).mean()) < 0.12
    assert model.natural_parameters_.sum() == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="null_space_"):
        model.population_size()
    likelihood = TruncatedBooleanProduct(S, method="mle", unidentified="ignore").fit(X)
    assert np.abs(likelihood.natural_parameters_ - model.natural_parameters_).max() < 0.05


def test_moves_at_fault_are_told_from_the_set():
    S = Cardinality([3, 6])
    X = make_truncated_boolean(3000, 9, truncation=S, random_state=0)
    with pytest.warns(NotIdentifiedWarning, match="not the truncation set"):
        pairs = TruncatedBooleanProduct(S, moves="pairs").fit(X)
    assert pairs.null_space_.shape == (9, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        auto = TruncatedBooleanProduct(S).fit(X)  # three bits connect the counts 3 and 6
    assert auto.moves_ == "triples"
    assert auto.identified_.all()


def test_degenerate_sets():
    kwargs = {"unidentified": "ignore"}
    one = TruncatedBooleanProduct([[0, 1, 1]], **kwargs).fit([[0, 1, 1]] * 5)
    assert one.null_space_.shape == (3, 3)
    assert np.isinf(one.stderr_).all()
    np.testing.assert_array_equal(one.natural_parameters_, 0)
    np.testing.assert_array_equal(one.n_effective_, 0)
    two = TruncatedBooleanProduct([[0, 1, 1], [1, 0, 0]], **kwargs).fit([[0, 1, 1], [1, 0, 0]])
    assert two.null_space_.shape[1] == 2
    same = TruncatedBooleanProduct().fit(np.ones((30, 4)))
    assert np.isfinite(same.natural_parameters_).all()
    np.testing.assert_allclose(same.natural_parameters_, np.log(61))
    row = TruncatedBooleanProduct().fit([[1, 0]])
    assert np.isfinite(row.stderr_).all()


def test_constant_columns_without_smoothing():
    X = np.column_stack([np.ones(20), np.arange(20) % 2])
    with pytest.warns(UserWarning, match="infinite"):
        model = TruncatedBooleanProduct(smoothing=0, moves="flips").fit(X)
    assert model.natural_parameters_[0] == np.inf
    np.testing.assert_array_equal(model.conf_int()[0], [-np.inf, np.inf])
    low, high = model.conf_int(kind="exact")[0]
    assert np.isfinite(low)
    assert high == np.inf


def test_intervals(half):
    S, X = half
    model = TruncatedBooleanProduct(S, moves="flips", smoothing=0).fit(X)
    for kind in ("wald", "exact", "simultaneous"):
        narrow, wide = model.conf_int(0.8, kind=kind), model.conf_int(0.99, kind=kind)
        assert (wide[:, 0] < narrow[:, 0]).all()
        assert (wide[:, 1] > narrow[:, 1]).all()
        assert (narrow[:, 0] < model.natural_parameters_).all()
        assert (model.natural_parameters_ < narrow[:, 1]).all()
    assert (model.conf_int(kind="simultaneous")[:, 1] > model.conf_int()[:, 1]).all()


def test_flips_report_exact_effective_sizes(half):
    S, X = half
    model = TruncatedBooleanProduct(S, moves="flips", smoothing=0.7).fit(X)
    np.testing.assert_allclose(model.n_effective_, model.n_flippable_ + 1.4, rtol=1e-9)
    np.testing.assert_allclose(np.diag(model.covariance_), model.stderr_**2)
    assert (model.n_flippable_ <= len(X)).all()
    cube = TruncatedBooleanProduct().fit(X)
    np.testing.assert_array_equal(cube.n_flippable_, len(X))
    means = (X.sum(0) + 0.5) / (len(X) + 1)
    np.testing.assert_allclose(cube.natural_parameters_, np.log(means / (1 - means)))
    assert cube.efficiency_ == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("name", ["random", "parity", "cnf", "halfspace", "slice"])
def test_probabilities_of_the_set_add_up_to_one(name):
    S = make_truncation(name, 9, random_state=0)
    X = make_truncated_boolean(500, 9, truncation=S, random_state=0)
    model = TruncatedBooleanProduct(S, unidentified="ignore").fit(X)
    assert np.exp(model.score_samples(S.enumerate(9))).sum() == pytest.approx(1)
    outside = 1 - S.enumerate(9)
    outside = outside[~S.contains(outside)]
    assert (model.score_samples(outside) == -np.inf).all()
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    assert S.contains(model.sample(40, random_state=0)).all()


def test_equal_sets_in_other_words():
    n, k = 10, 6
    S = Cardinality(min=k)
    X = make_truncated_boolean(800, n, truncation=S, random_state=0)
    no_empty_triple = DNF([[1, 2], [-3, 4], [5]], n)
    # Not (a or b) is (not a) and (not b): a formula and the complement of its dual.
    complement = CNF([[-1, -2], [3, -4], [-5]], n)
    points = S.enumerate(n)
    for other in (
        Halfspaces(-np.ones(n), -k),
        ExplicitSet(points),
        Intersection(S, Cardinality(max=n)),
    ):
        np.testing.assert_array_equal(other.flip_counts(X), S.flip_counts(X))
    Y = (np.random.default_rng(0).random((2000, n)) < 0.5).astype(np.uint8)
    inside = no_empty_triple.contains(Y)
    np.testing.assert_array_equal(inside, ~complement.contains(Y))
    as_points = ExplicitSet(no_empty_triple.enumerate(n))
    np.testing.assert_array_equal(
        as_points.flip_counts(Y[inside]), no_empty_triple.flip_counts(Y[inside])
    )


def test_masks_reach_what_faces_do_not():
    H = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0]])
    S = XorConstraints(H)
    X = make_truncated_boolean(8000, 6, truncation=S, random_state=0)
    masks = S.codewords()
    assert len(masks)
    assert S.contains(
        X[:50, None].repeat(len(masks), 1).reshape(-1, 6) ^ np.tile(masks, (50, 1))
    ).all()
    model = TruncatedBooleanProduct(S, moves=masks, unidentified="ignore").fit(X)
    likelihood = TruncatedBooleanProduct(S, method="mle", unidentified="ignore").fit(X)
    Q = model.null_space_
    assert Q.shape == likelihood.null_space_.shape
    error = model.natural_parameters_ - likelihood.natural_parameters_
    assert np.abs(error).max() < 0.15
    with pytest.raises(ValueError, match="exact"):
        model.conf_int(kind="exact")


def test_unknown_set():
    S = make_truncation("random", 8, random_state=3)
    X, z, _ = make_truncated_boolean(4000, 8, truncation=S, random_state=0, return_params=True)
    model = TruncatedBooleanProduct(EmpiricalSupport()).fit(X)
    assert model.moves_ == "support"
    assert np.isnan(model.efficiency_)
    assert np.abs((model.natural_parameters_ - z) / model.stderr_).max() < 4
    assert model.log_mass()[0] <= S.log_mass(model.natural_parameters_) + 1e-9
    assert model.truncation_.contains(X).all()


def test_membership_function_and_its_budget():
    X = make_truncated_boolean(3000, 12, truncation=Cardinality(min=7), random_state=0)
    expected = TruncatedBooleanProduct(Cardinality(min=7), moves="flips").fit(X)
    calls = []

    def enough(rows):
        calls.append(len(rows))
        return rows.sum(axis=1) >= 7

    model = TruncatedBooleanProduct(enough, moves="flips").fit(X)
    np.testing.assert_array_equal(model.counts_, expected.counts_)
    calls.clear()
    cheap = TruncatedBooleanProduct(enough, max_oracle_calls=6000, covariance="diagonal")
    cheap.fit(X)
    assert sum(calls) <= 6000 + 2 * len(X)
    deviation = (cheap.natural_parameters_ - expected.natural_parameters_) / cheap.stderr_
    assert np.abs(deviation).max() < 4.5
    np.testing.assert_allclose(cheap.influence_, expected.influence_, atol=0.15)

    def broken(rows):
        raise KeyError("no such rule")

    with pytest.raises(KeyError, match="no such rule"):
        TruncatedBooleanProduct(broken).fit(X)
    with pytest.raises(TypeError, match="booleans"):
        TruncatedBooleanProduct(lambda rows: rows.sum(axis=1)).fit(X)
    with pytest.raises(ValueError, match="shape"):
        TruncatedBooleanProduct(lambda rows: np.array([True])).fit(X)


def test_gibbs_keeps_the_law_and_the_set():
    S = make_truncation("random", 6, random_state=1)
    z = np.linspace(-1, 1, 6)
    X = make_truncated_boolean(20_000, 6, truncation=S, z=z, random_state=0)
    model = TruncatedBooleanProduct(S).fit(X)
    rows = model.sample(20_000, random_state=1, method="gibbs", n_sweeps=5)
    assert S.contains(rows).all()
    mean = S.mean(model.natural_parameters_)
    assert np.abs(rows.mean(axis=0) - mean).max() < 5 * 0.5 / 20_000**0.5


def test_sampling_method_follows_the_mass():
    n = 24
    rules = [[-1, -2, -3], [4, 5]]
    X = make_truncated_boolean(500, n, truncation=CNF(rules, n), random_state=0)
    common = TruncatedBooleanProduct(CNF(rules, n), random_state=0).fit(X)
    assert common._sampling_method() == "rejection"
    rare = CNF([[i + 1] for i in range(14)] + [[15, 16]], n)
    Y = np.ones((500, n), np.uint8)
    Y[:, 14:] = make_truncated_boolean(500, 10, truncation=CNF([[1, 2]], 10), random_state=0)
    forced = TruncatedBooleanProduct(rare, random_state=0, unidentified="ignore", l2=0.01).fit(Y)
    assert forced._sampling_method() == "gibbs"
    assert rare.contains(forced.sample(20)).all()


def test_mass_that_cannot_be_sampled_warns():
    n = 30
    S = MembershipOracle(lambda rows: rows.sum(axis=1) >= 28)
    X = make_truncated_boolean(
        400, n, truncation=Cardinality(min=28), z=np.full(n, -1.0), random_state=0
    )
    model = TruncatedBooleanProduct(S, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="effective number of draws"):
        model.log_mass(n_draws=20)


def test_baseline_and_its_budget():
    S = Cardinality(min=4)
    X, z, _ = make_truncated_boolean(4000, 6, truncation=S, random_state=0, return_params=True)
    sgd = TruncatedBooleanProduct(S, method="sgd", sgd_params={"steps": 4000}, random_state=0)
    assert np.sqrt(((sgd.fit(X).natural_parameters_ - z) ** 2).mean()) < 0.3
    with pytest.warns(ConvergenceWarning, match="budget"):
        sgd.set_params(sgd_params={"steps": 4000, "max_draws": 500}).fit(X)
    assert np.isnan(sgd.efficiency_)


def test_behind_a_binariser_and_inside_a_search():
    raw = np.random.default_rng(0).standard_normal((400, 5))
    raw = raw[(raw > 0.3).any(axis=1)]
    pipeline = make_pipeline(Binarizer(threshold=0.3), TruncatedBooleanProduct("nonempty"))
    search = GridSearchCV(
        pipeline, {"truncatedbooleanproduct__l2": [0.0, 1.0, 1e4]}, cv=3, error_score="raise"
    ).fit(raw)
    assert search.best_params_["truncatedbooleanproduct__l2"] < 1e4
    assert np.isfinite(search.best_score_)
    bins = (
        KBinsDiscretizer(2, encode="onehot", quantile_method="averaged_inverted_cdf")
        if ("quantile_method" in KBinsDiscretizer().get_params())
        else KBinsDiscretizer(2, encode="onehot")
    )
    sparse_rows = bins.fit_transform(raw)
    assert TruncatedBooleanProduct("nonempty").fit(sparse_rows).n_features_in_ == 10
    copy = clone(pipeline).fit(raw)
    assert copy.score(raw) == pytest.approx(pipeline.fit(raw).score(raw))


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"method": "magic"}, ValueError),
        ({"moves": "magic"}, ValueError),
        ({"moves": 5}, ValueError),
        ({"moves": 0}, ValueError),
        ({"moves": [[0, 2, 0, 0]]}, ValueError),
        ({"moves": [[0, 0, 0, 0]]}, ValueError),
        ({"target_efficiency": 1.1}, ValueError),
        ({"target_efficiency": -0.1}, ValueError),
        ({"smoothing": -1}, ValueError),
        ({"l1": np.nan}, ValueError),
        ({"l2": "much"}, TypeError),
        ({"pair_degree": 1}, ValueError),
        ({"unidentified": "shrug"}, ValueError),
        ({"covariance": "some"}, ValueError),
        ({"max_iter": 0}, ValueError),
        ({"n_jobs": 0}, ValueError),
        ({"random_state": -1}, ValueError),
        ({"sgd_params": 3}, TypeError),
        ({"truncation": 3}, TypeError),
        ({"truncation": "everything"}, ValueError),
        ({"truncation": [[0, 1]]}, ValueError),
        ({"truncation": Cardinality(min=5)}, ValueError),
        ({"truncation": Halfspaces([1, 1, 1], 3)}, ValueError),
    ],
)
def test_wrong_parameters_are_named(settings, error):
    X = np.eye(4, dtype=np.uint8)
    name = next(iter(settings))
    with pytest.raises(error) as caught:
        TruncatedBooleanProduct(**settings).fit(X)
    assert name in str(caught.value) or name == "truncation"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0, 1], [2, 0]], "got 2"),
        ([[0.0, 0.5], [1, 0]], "got 0.5"),
        ([[0, np.nan], [1, 0]], "NaN"),
        ([[0, np.inf], [1, 0]], "inf"),
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        ([0, 1], "1D"),
        ([[0, 0], [1, 0], [0, 0]], r"2 of 3 rows are outside the truncation set \(first: row 0\)"),
    ],
)
def test_wrong_rows_are_named(X, message):
    with pytest.raises(ValueError, match=message):
        TruncatedBooleanProduct("nonempty").fit(X)


def test_wrong_calls_after_fit(half):
    S, X = half
    with pytest.raises(NotFittedError):
        TruncatedBooleanProduct(S).log_mass()
    model = TruncatedBooleanProduct(S, moves="pairs").fit(X)
    with pytest.raises(ValueError, match="exact"):
        model.conf_int(kind="exact")
    with pytest.raises(ValueError, match="level"):
        model.conf_int(level=1.0)
    with pytest.raises(ValueError, match="outside"):
        model.gof_test(ExplicitSet(1 - S.points).points)
    with pytest.raises(TypeError, match="PackedBits"):
        model.fit(pack_bits(X))
    fractions = TruncatedBooleanProduct(S, moves="flips").fit(X, sample_weight=np.full(len(X), 0.5))
    with pytest.raises(ValueError, match="integer"):
        fractions.conf_int(kind="exact")
    slice_model = TruncatedBooleanProduct(Cardinality([1]), unidentified="ignore").fit(np.eye(4))
    with pytest.raises(ValueError, match="flipped"):
        slice_model.gof_test(np.eye(4))
    with pytest.raises(ValueError, match="eight"):
        TruncatedBooleanProduct(S, moves="flips").fit(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="mle"):
        TruncatedBooleanProduct(lambda rows: rows[:, 0] >= 0, method="mle").fit(np.eye(25))


def test_constructors_refuse_empty_and_wrong_sets():
    for build in (
        lambda: Cardinality([]),
        lambda: Cardinality(min=3, max=2),
        lambda: Cardinality([1], min=0),
        lambda: Cardinality([-1]),
        lambda: ExplicitSet(np.zeros((0, 3))),
        lambda: ExplicitSet([[0, 3]]),
        lambda: CNF([[]]),
        lambda: CNF([[0]]),
        lambda: CNF([[4]], 3),
        lambda: DNF([[1, -1]]),
        lambda: Halfspaces([[1.0, np.nan]], [1]),
        lambda: Halfspaces([[1.0, 1.0]], [1, 2]),
        lambda: Halfspaces([1.0, 1.0], -1),
        lambda: XorConstraints([[1, 1], [1, 1]], [0, 1]),
        lambda: Intersection(),
        lambda: make_truncation("random", 30),
        lambda: make_truncation("hadamard", 6),
    ):
        with pytest.raises(ValueError):
            build()
    with pytest.raises(TypeError):
        Intersection(EmpiricalSupport())
    with pytest.raises(TypeError):
        MembershipOracle(3)
    assert CNF([[1, -1], [2, 3]]).n_groups == 1
    assert len(ExplicitSet([[0, 1], [0, 1]]).points) == 1


def test_an_unknown_set_never_streams():
    """The rows of a fit are not the set: counting on them would be biased without a word."""
    X = np.repeat(load_hares(), 3, axis=0)
    model = TruncatedBooleanProduct("support", unidentified="ignore").fit(X)
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match="unknown set"):
        model.partial_fit(X)
    assert pickle.dumps(vars(model)) == before


@pytest.mark.parametrize("change", [{"truncation": Cardinality(min=1)}, {"binarize": 0.5}])
def test_rows_are_read_the_same_way_in_a_stream(change):
    X = load_hares()
    model = TruncatedBooleanProduct("nonempty").partial_fit(X)
    model = pickle.loads(pickle.dumps(model)).set_params(smoothing=0.0)
    model.partial_fit(X)  # the counts do not depend on the smoothing
    assert model.n_samples_seen_ == 136
    model.set_params(**change)
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match=next(iter(change))):
        model.partial_fit(X)
    assert pickle.dumps(vars(model)) == before


@pytest.mark.parametrize("truncation", [Cardinality(min=1), [[0, 1], [1, 1], [1, 0]], None])
def test_a_stream_continues_after_pickling(truncation):
    X = np.array([[0, 1], [1, 1], [1, 0], [1, 1]])
    model = TruncatedBooleanProduct(truncation).partial_fit(X)
    again = pickle.loads(pickle.dumps(model)).partial_fit(X)
    np.testing.assert_array_equal(
        again.natural_parameters_, model.partial_fit(X).natural_parameters_
    )


def test_population_of_a_tiny_set():
    S = Cardinality(min=370)
    X, _, info = make_truncated_boolean(2000, 400, truncation=S, random_state=0, return_params=True)
    estimate, stderr = TruncatedBooleanProduct(S).fit(X).population_size()
    relative = stderr / estimate  # the error of the log-mass, as long as that is not small
    assert 0.1 < relative < np.inf
    assert abs(np.log(estimate / 2000) + info["log_mass"]) < 4 * relative
    S = Cardinality(min=1950)
    X = make_truncated_boolean(3000, 2000, truncation=S, random_state=0)
    with pytest.raises(ValueError, match="too large"):
        TruncatedBooleanProduct(S).fit(X).population_size()


def test_laws_without_finite_logits_say_so():
    with pytest.warns(UserWarning, match="infinite"):
        model = TruncatedBooleanProduct(smoothing=0).fit([[1, 0, 1], [1, 1, 0], [1, 1, 1]])
    for call in (
        lambda: model.score_samples([[1, 1, 0]]),
        model.sample,
        model.log_mass,
        model.population_size,
    ):
        with pytest.raises(ValueError, match="logit of feature 0 is infinite"):
            call()


@pytest.mark.parametrize(
    ("settings", "truncation"),
    [
        ({"moves": "pairs"}, Cardinality(min=4)),
        ({"moves": 3}, Cardinality(min=4)),
        ({"moves": [[1, 1, 0, 0, 0, 0, 0]]}, Cardinality(min=4)),
        ({"method": "mle"}, Cardinality(min=4)),
    ],
)
def test_too_few_steps_are_reported(settings, truncation):
    X = make_truncated_boolean(500, 7, truncation=truncation, width=2, random_state=0)
    options = {"truncation": truncation, "unidentified": "ignore", **settings}
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        TruncatedBooleanProduct(**options, max_iter=1).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TruncatedBooleanProduct(**options).fit(X)


def test_pairs_that_are_tested_reach_all_features():
    """A random part of the pairs, not the first ones of a sorted list."""
    X = make_truncated_boolean(5000, 120, truncation=None, random_state=0)
    model = TruncatedBooleanProduct(covariance="diagonal").fit(X)
    pairs = model._test_pairs(5000)
    assert len(pairs) == 300
    # Of 300 random pairs of 120, a feature is in none with probability 0.7 %.
    assert len(np.unique(pairs)) > 110
    assert abs(pairs[:, 0].mean() - 119 / 3) < 5 * 28 / 300**0.5
    X[:, 60:] = X[:, 60:61]  # dependence among the later features only
    assert model.fit(X).gof_test(X, kind="pairs")[1] < 1e-6


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Cardinality(3), "list of numbers"),
        (lambda: Cardinality("35"), "list of numbers"),
        (lambda: CNF(5), "list of lists"),
        (lambda: CNF([1, 2, -3]), "list of integers"),
        (lambda: DNF([[1], 2]), "list of integers"),
        (lambda: TruncatedBooleanProduct(Cardinality).fit([[0, 1]]), "truncation must"),
    ],
)
def test_sets_that_are_written_wrongly(make, match):
    with pytest.raises(TypeError, match=match):
        make()


def test_literals_of_mixed_types_are_named():
    with pytest.raises(ValueError, match="None"):
        CNF([[1, None]])
    assert CNF(np.array([[1, -2], [2, 3]], np.int8)).n_features == 3
