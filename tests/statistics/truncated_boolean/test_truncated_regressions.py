"""Covariates and interactions: regressions on flippable rows."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.algos import Cardinality, ExplicitSet
from skfrontier.algos.statistics.truncated_boolean.enumeration import cube
from skfrontier.algos.statistics.truncated_boolean.logistic import logistic_regression
from skfrontier.estimators import (
    NotIdentifiedWarning,
    TruncatedIsing,
    TruncatedLogisticRegression,
)


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
    ours = logistic_regression(A, y, w, intercept=None, l1=l1, l2=l2)
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


def _covariates_and_bits(seed=0, n_samples=2000):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 2))
    Y = rng.random((n_samples, 3)) < 1 / (1 + np.exp(-X @ [[0.5, -1, 0.2], [0, 0.3, 0.4]]))
    seen = Y.any(axis=1)
    return X[seen], Y[seen].astype(int)


@pytest.mark.parametrize("penalty", [0.0, 3.0])
@pytest.mark.parametrize(
    ("shift", "scale"), [(1e6, 1), (2000, 10), (0, 1e-8), (0, 1e150), (0, 1e-150)]
)
def test_units_of_the_covariates_do_not_matter(shift, scale, penalty):
    X, Y = _covariates_and_bits()
    plain = TruncatedLogisticRegression("nonempty", l2=penalty).fit(X, Y)
    l2 = penalty * float(scale) ** 2  # a penalty on coefficients in their own units
    moved = TruncatedLogisticRegression("nonempty", l2=l2).fit(X * scale + shift, Y)
    np.testing.assert_allclose(moved.coef_ * scale, plain.coef_, rtol=1e-5)
    np.testing.assert_allclose(moved.coef_stderr_ * scale, plain.coef_stderr_, rtol=1e-5)
    np.testing.assert_allclose(
        moved.intercept_ + moved.coef_.sum(axis=1) * shift, plain.intercept_, atol=1e-4
    )
    np.testing.assert_allclose(
        moved.predict_proba(X * scale + shift), plain.predict_proba(X), atol=1e-5
    )


def test_standard_errors_of_an_ordinary_regression():
    X, Y = _covariates_and_bits()
    model = TruncatedLogisticRegression().fit(X + 5, Y)
    A = np.column_stack([np.ones(len(X)), X + 5])
    for j in range(3):
        p = 1 / (1 + np.exp(-(A @ [model.intercept_[j], *model.coef_[j]])))
        np.testing.assert_allclose(A.T @ (p - Y[:, j]), 0, atol=1e-4)
        V = np.linalg.inv((A * (p * (1 - p))[:, None]).T @ A)
        expected = np.sqrt(np.diag(V))
        np.testing.assert_allclose(model.intercept_stderr_[j], expected[0], rtol=1e-6)
        np.testing.assert_allclose(model.coef_stderr_[j], expected[1:], rtol=1e-6)


def test_collinear_covariates_are_not_identified():
    X, Y = _covariates_and_bits()
    plain = TruncatedLogisticRegression("nonempty").fit(X, Y)
    doubled = np.column_stack([X, 2 * X[:, 1] + 7])
    with pytest.warns(NotIdentifiedWarning, match="3 bits"):
        model = TruncatedLogisticRegression("nonempty").fit(doubled, Y)
    assert np.isinf(model.coef_stderr_[:, 1:]).all()
    assert np.isinf(model.intercept_stderr_).all()
    np.testing.assert_allclose(model.coef_stderr_[:, 0], plain.coef_stderr_[:, 0], rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(doubled), plain.predict_proba(X), atol=1e-6)
    multiple = np.column_stack([X, 2 * X[:, 1]])
    with pytest.warns(NotIdentifiedWarning):
        model = TruncatedLogisticRegression("nonempty").fit(multiple, Y)
    np.testing.assert_allclose(model.intercept_stderr_, plain.intercept_stderr_, rtol=1e-6)
    constant = np.column_stack([X, np.full(len(X), 0.1)])
    with pytest.warns(NotIdentifiedWarning):
        model = TruncatedLogisticRegression("nonempty").fit(constant, Y)
    assert np.isinf(model.coef_stderr_[:, 2]).all()
    assert np.isinf(model.intercept_stderr_).all()
    np.testing.assert_allclose(model.coef_stderr_[:, :2], plain.coef_stderr_, rtol=1e-6)


def test_bits_of_one_value_are_reported():
    X, Y = _covariates_and_bits()
    with pytest.warns(ConvergenceWarning, match=r"1 bits.*first: 3"):
        TruncatedLogisticRegression().fit(X, np.column_stack([Y, np.ones(len(Y), int)]))


def test_interactions_that_one_regression_sees():
    """Bit 2 can never flip alone: only the regressions of bits 0 and 1 see it."""
    rng = np.random.default_rng(3)
    S = ExplicitSet([[a, b, c, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    energy = S.points @ [0.3, -0.2, 0.1, 0.0] + 0.9 * S.points[:, 0] * S.points[:, 2]
    p = np.exp(energy)
    X = S.points[rng.choice(len(p), 20_000, p=p / p.sum())]
    with pytest.warns(NotIdentifiedWarning):
        TruncatedIsing(S).fit(X)
    pinned = ExplicitSet([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1) if c or not b])
    q = np.exp(pinned.points @ [0.3, -0.2, 0.1] + 0.9 * pinned.points[:, 0] * pinned.points[:, 2])
    X = pinned.points[rng.choice(len(q), 20_000, p=q / q.sum())]
    with pytest.warns(NotIdentifiedWarning):
        model = TruncatedIsing(pinned).fit(X)
    error = model.interactions_[0, 2] - 0.9
    assert abs(error) < 4 * model.interactions_stderr_[0, 2] < 0.5
    # Bit 1 flips only where bit 2 is one, and bit 2 only where bit 1 is zero: no row sees both values.
    assert np.isinf(model.interactions_stderr_[1, 2])
    np.testing.assert_array_equal(model.interactions_stderr_, model.interactions_stderr_.T)
