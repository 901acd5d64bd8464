"""The estimator: scikit-learn's checks, its methods, pickling, names, and what it does with bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.algos import exact_assignment
from skfrontier.datasets import make_procrustes_wasserstein
from skfrontier.estimators import ProcrustesWasserstein

SECOND_CLOUD = "Y is a second cloud; the check passes a vector of labels in its place"
PASS_LABELS = (
    "check_fit_score_takes_y",
    "check_estimators_overwrite_params",
    "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self",
    "check_readonly_memmap_input",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_estimators_dtypes",
    "check_dtype_object",
    "check_pipeline_consistency",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
    "check_transformer_n_iter",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_fit2d_1feature",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_fit_check_is_fitted",
    "check_n_features_in",
    "check_fit2d_predict1d",
)


class WithItsMirror(ProcrustesWasserstein):
    """Aligns a cloud with itself in reverse order, whatever labels come: every check then has a cloud."""

    def fit(self, X, y=None, *, anchors=None):
        other = [[0.0], [1.0]] if sparse.issparse(X) else np.asarray(X)[::-1]
        return super().fit(X, other, anchors=anchors)

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)

    def score(self, X, y=None):
        return super().score(X, np.asarray(X))


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [ProcrustesWasserstein(n_candidates=2)],
    expected_failed_checks=lambda _: dict.fromkeys(PASS_LABELS, SECOND_CLOUD),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([WithItsMirror(n_candidates=2)])
def test_scikit_learn_checks_with_a_second_cloud(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_procrustes_wasserstein(
        120, 6, noise=0.02, translation=2.0, scale=1.5, random_state=0
    )


@pytest.fixture(scope="module")
def model(data):
    return ProcrustesWasserstein(scaling=True, random_state=0).fit(data.X, data.Y)


def test_example(data, model):
    np.testing.assert_array_equal(model.assignment_, data.assignment)
    np.testing.assert_array_equal(model.inverse_assignment_[data.assignment], np.arange(120))
    assert model.scale_ == pytest.approx(1.5, rel=0.02)
    assert np.abs(model.rotation_ - data.rotation).max() < 0.05
    assert model.recovery_ == "exact"
    assert model.certified_


def test_attributes_agree_with_each_other(data, model):
    moved = model.scale_ * data.X @ model.rotation_.T + model.translation_
    np.testing.assert_allclose(model.transform(data.X), moved, atol=1e-12)
    residual = moved - data.Y[model.assignment_]
    assert model.cost_ == pytest.approx((residual**2).sum() / 120, rel=1e-10)
    assert model.score(data.X, data.Y) == pytest.approx(-model.cost_, rel=1e-8)
    np.testing.assert_allclose(model.rotation_ @ model.rotation_.T, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(moved), data.X, atol=1e-10)
    assert len(model.mixing_angles_) == 5


def test_noise_is_estimated_without_the_bias_of_the_fitted_map():
    estimates = []
    for seed in range(6):
        pair = make_procrustes_wasserstein(
            300, 20, spectrum_exponent=0, noise=0.3, random_state=seed
        )
        estimates.append(ProcrustesWasserstein(random_state=0).fit(pair.X, pair.Y).noise_variance_)
    # each is 0.09 chi^2_m / m with m = 5790 degrees of freedom; five standard errors of the mean
    assert np.mean(estimates) == pytest.approx(0.09, abs=5 * 0.09 * np.sqrt(2 / 5790 / 6))


def test_match_is_the_nearest_row(data, model):
    index, distance = model.match(data.X[:20], distance=True)
    gaps = np.linalg.norm(model.transform(data.X[:20])[:, None] - data.Y[None], axis=2)
    np.testing.assert_array_equal(index, gaps.argmin(axis=1))
    np.testing.assert_allclose(distance, gaps.min(axis=1), atol=1e-10)
    np.testing.assert_array_equal(model.match(data.X[:20]), index)


def test_pickle_and_clone(data, model):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(data.X), model.transform(data.X))
    np.testing.assert_array_equal(again.match(data.X), model.match(data.X))
    assert not hasattr(clone(model), "rotation_")


def test_feature_names_come_from_the_second_cloud(data):
    X = pd.DataFrame(data.X, columns=list("abcdef"))
    Y = pd.DataFrame(data.Y, columns=[f"y{j}" for j in range(6)])
    named = ProcrustesWasserstein(random_state=0).set_output(transform="pandas").fit(X, Y)
    assert list(named.transform(X).columns) == list(Y.columns)
    unnamed = ProcrustesWasserstein(random_state=0).fit(data.X, data.Y)
    assert unnamed.get_feature_names_out()[0] == "procrusteswasserstein0"
    with pytest.raises(ValueError, match="feature names"):
        named.transform(X.rename(columns={"a": "z"}))


def test_stands_in_a_pipeline(data):
    pipeline = make_pipeline(StandardScaler(with_std=False), ProcrustesWasserstein(random_state=0))
    assert pipeline.fit_transform(data.X, data.Y).shape == data.X.shape


def test_float32_stays_float32(data):
    X, Y = data.X.astype(np.float32), data.Y.astype(np.float32)
    fitted = ProcrustesWasserstein(scaling=True, random_state=0).fit(X, Y)
    assert fitted.transform(X).dtype == np.float32
    np.testing.assert_array_equal(fitted.assignment_, data.assignment)


def test_a_failed_fit_changes_nothing(data):
    fitted = ProcrustesWasserstein(random_state=0).fit(data.X, data.Y)
    before = pickle.dumps(fitted.__dict__)
    for X, Y in ((data.X[:, :3], data.Y), (data.X * np.nan, data.Y), (data.X, data.Y[:1])):
        with pytest.raises(ValueError):
            fitted.fit(X, Y)
    assert pickle.dumps(fitted.__dict__) == before


def test_inputs_are_not_modified_and_may_be_read_only(data):
    X, Y = np.asfortranarray(data.X), np.repeat(data.Y, 2, axis=0)[::2]
    X.setflags(write=False), Y.setflags(write=False)
    copies = X.copy(), Y.copy()
    ProcrustesWasserstein(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(Y, copies[1])


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("method", "magic", ValueError),
        ("matching", "fast", ValueError),
        ("n_candidates", 0, ValueError),
        ("n_candidates", 2.5, TypeError),
        ("n_directions", 13, ValueError),
        ("n_directions", [], ValueError),
        ("n_directions", "all", ValueError),
        ("outlier_cost", 0.0, ValueError),
        ("outlier_cost", -1.0, ValueError),
        ("n_neighbors", 0, ValueError),
        ("max_iter", 0, ValueError),
        ("tol", -1e-3, ValueError),
        ("scaling", 1, TypeError),
        ("translation", "yes", TypeError),
        ("n_jobs", 0, ValueError),
        ("random_state", -1, ValueError),
    ],
)
def test_bad_options_are_named(data, option, value, error):
    with pytest.raises(error, match=option):
        ProcrustesWasserstein(**{option: value}).fit(data.X, data.Y)


@pytest.mark.parametrize(
    ("anchors", "error"),
    [
        ([[0, 500]], ValueError),
        ([[-1, 0]], ValueError),
        ([[0, 1], [0, 2]], ValueError),
        ([[0, 1], [2, 1]], ValueError),
        ([[0.0, 1.0]], TypeError),
        ([0, 1, 2], ValueError),
    ],
)
def test_bad_anchors(data, anchors, error):
    with pytest.raises(error, match="anchors"):
        ProcrustesWasserstein().fit(data.X, data.Y, anchors=anchors)


@pytest.mark.parametrize(
    ("X", "Y", "named"),
    [
        (np.zeros(4), np.zeros((4, 1)), "1D"),
        (np.zeros((4, 1)), np.zeros(4), "1D"),
        (np.zeros((4, 2)), np.zeros((4, 3)), "features"),
        (np.zeros((1, 2)), np.zeros((4, 2)), "minimum of 2"),
        (np.zeros((4, 2)), np.zeros((1, 2)), "minimum of 2"),
        (np.zeros((4, 2)), np.full((4, 2), np.inf), "Y contains"),
        (np.full((4, 2), np.nan), np.zeros((4, 2)), "X contains"),
        (np.zeros((4, 2)), None, "second cloud"),
    ],
)
def test_bad_clouds(X, Y, named):
    with pytest.raises(ValueError, match=named):
        ProcrustesWasserstein().fit(X, Y)


def test_widths_are_checked_after_fitting(data, model):
    for method in (model.transform, model.inverse_transform, model.match):
        with pytest.raises(ValueError, match="features"):
            method(np.zeros((3, 2)))


def test_score_matches_one_to_one(data, model):
    moved = model.transform(data.X)
    expected = -exact_assignment(moved[:50], data.Y).cost / 50
    assert model.score(data.X[:50], data.Y) == pytest.approx(expected, rel=1e-10)


def test_integers_become_floats():
    X = np.random.default_rng(0).integers(-9, 10, size=(40, 3)) * [4, 2, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = ProcrustesWasserstein(random_state=0).fit(X, X[::-1])
    assert fitted.cost_ < 1e-20
    assert fitted.transform(X).dtype == np.float64
