"""Covariates and interactions: regressions on flippable rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.algos import Cardinality, ExplicitSet
from skfrontier.algos.statistics.truncated_boolean.enumeration import cube
from skfrontier.algos.statistics.truncated_boolean.logistic import logistic_regression
from skfrontier.estimators import TruncatedIsing, TruncatedLogisticRegression


class BinaryTarget(TruncatedLogisticRegression):
    """scikit-learn's checks pass targets of several values; this reads them as bits."""

    def fit(self, X, y, sample_weight=None):
        if y is not None and np.asarray(y).dtype.kind != "c":
            y = np.asarray(y, dtype=float)
            y = np.where(np.isfinite(y), y > 0.5, y)
        return super().fit(X, y, sample_weight)


@parametrize_with_checks([BinaryTarget(l2=1.0), TruncatedIsing(binarize=0.0, l2=1.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_covariates_are_recovered():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 2))
    coef = rng.uniform(-1, 1, (5, 2))
    intercept = rng.uniform(-1.5, 0, 5)
    Y = rng.random((60_000, 5)) < 1 / (1 + np.exp(-(X @ coef.T + intercept)))
    S = Cardinality(min=3)
    seen = S.contains(Y)
    model = TruncatedLogisticRegression(S).fit(X[seen], Y[seen])
    assert np.abs((model.coef_ - coef) / model.coef_stderr_).max() < 4
    assert np.abs((model.intercept_ - intercept) / model.intercept_stderr_).max() < 4
    assert model.predict_proba(X[:3]).shape == (3, 5)
    ignored = TruncatedLogisticRegression().fit(X[seen], Y[seen])
    assert np.abs(ignored.intercept_ - intercept).max() > 0.5


def test_ising_is_recovered():
    rng = np.random.default_rng(1)
    n = 6
    J = np.triu(rng.uniform(-1, 1, (n, n)) * (rng.random((n, n)) < 0.5), 1)
    h = rng.uniform(-1, 1, n)
    S = Cardinality(min=3)
    points = cube(n)[S.contains(cube(n))]
    energy = points @ h + ((points @ J) * points).sum(axis=1)
    p = np.exp(energy - energy.max())
    X = points[rng.choice(len(points), 40_000, p=p / p.sum())]
    model = TruncatedIsing(S).fit(X)
    np.testing.assert_array_equal(model.interactions_, model.interactions_.T)
    upper = np.triu_indices(n, 1)
    error = model.interactions_ - J - J.T
    assert np.abs(error[upper] / model.interactions_stderr_[upper]).max() < 4
    assert np.abs((model.fields_ - h) / model.fields_stderr_).max() < 4
    ignored = TruncatedIsing().fit(X)
    assert np.abs(ignored.interactions_ - J - J.T).max() > 4 * np.abs(error).max()
    sparse = TruncatedIsing(S, l1=200.0).fit(X)
    assert (sparse.interactions_ == 0).sum() > (model.interactions_ == 0).sum()


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 2.0), (3.0, 0.0)])
def test_regression_equals_scikit_learn(l1, l2):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 4))
    y = (rng.random(300) < 1 / (1 + np.exp(-A[:, 0]))).astype(float)
    w = rng.uniform(0.5, 2, 300)
    ours = logistic_regression(A, y, w, np.ones(4, bool), l1=l1, l2=l2)
    strength = {"C": 1 / (l1 + l2), "fit_intercept": False, "tol": 1e-10, "max_iter": 10_000}
    if l1:
        theirs = LogisticRegression(l1_ratio=1, solver="saga", penalty="elasticnet", **strength)
    else:
        theirs = LogisticRegression(**strength)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs.fit(A, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef, theirs.coef_[0], atol=1e-4)
    assert ours.converged


def test_wrong_input():
    X = np.zeros((4, 1))
    with pytest.raises(ValueError, match="outside"):
        TruncatedLogisticRegression("nonempty").fit(X, np.zeros((4, 2)))
    with pytest.raises(ValueError, match="got 2"):
        TruncatedLogisticRegression().fit(X, np.full((4, 2), 2))
    with pytest.raises(ValueError, match="rows"):
        TruncatedLogisticRegression().fit(X, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="known set"):
        TruncatedIsing("support").fit(np.eye(3))
    with pytest.raises(ValueError, match="outside"):
        TruncatedIsing(ExplicitSet([[1, 1]])).fit([[1, 0]])
    with pytest.raises(ValueError, match="l1"):
        TruncatedIsing(l1=-1).fit(np.eye(3))
