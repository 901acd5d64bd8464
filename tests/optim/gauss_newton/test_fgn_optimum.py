"""The optimum of every solver beside scikit-learn's LogisticRegression."""

import warnings

import dense_references as dense
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from skfrontier.algos import fit_softmax
from skfrontier.algos.optim.gauss_newton import newton
from skfrontier.algos.optim.gauss_newton.choice import choose_solver
from skfrontier.algos.optim.gauss_newton.conjugate_gradients import CGResult
from skfrontier.algos.optim.gauss_newton.step import make_problem
from skfrontier.datasets import make_many_classes
from skfrontier.estimators import FastGaussNewtonClassifier

LOADERS = {
    "iris": load_iris,
    "wine": load_wine,
    "digits": load_digits,
    "breast_cancer": load_breast_cancer,
}


def standardised(name):
    X, y = LOADERS[name](return_X_y=True)
    return StandardScaler().fit_transform(X), y


def mean_objective(model, X, y, C):
    logp = model.predict_log_proba(X)
    return -logp[np.arange(len(y)), y].mean() + (model.coef_**2).sum() / (2 * C * len(y))


def reference(X, y, C):
    return LogisticRegression(C=C, tol=1e-10, max_iter=20_000).fit(X, y)


@pytest.mark.parametrize("C", [0.01, 1, 100])
@pytest.mark.parametrize("name", LOADERS)
def test_optimum_is_that_of_logistic_regression(name, C):
    X, y = standardised(name)
    peer = reference(X, y, C)
    best = mean_objective(peer, X, y, C)
    for solver in ("newton", "lbfgs"):
        model = FastGaussNewtonClassifier(C=C, solver=solver, tol=1e-8, max_iter=5000)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model.fit(X, y)
        assert model.gradient_norm_ <= 1e-8
        assert abs(model.objective_ - best) <= 1e-8
        assert model.objective_ == pytest.approx(mean_objective(model, X, y, C), abs=1e-13)
        if C <= 1:
            np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
            np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("C", [0.01, 1])
def test_lbfgs_goes_on_where_values_no_longer_tell(C):
    # a column of thousands: the line search of L-BFGS gives up with a gradient of 7e-6
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.standard_normal((60, 10)), np.ones(60), np.full(60, 1e3), np.zeros(60)]
    )
    y = np.arange(60) % 4
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = FastGaussNewtonClassifier(C=C, solver="lbfgs", tol=1e-8, max_iter=5000).fit(X, y)
    best = FastGaussNewtonClassifier(C=C, solver="newton", tol=1e-8).fit(X, y)
    assert model.gradient_norm_ <= 1e-8
    assert abs(model.objective_ - best.objective_) <= 1e-8  # the bar of the optimum
    # the intercept takes the place of the constant columns, whose own weights are ill determined
    np.testing.assert_allclose(model.coef_[:, :10], best.coef_[:, :10], atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("C", [0.01, 1, 100])
def test_published_method_reaches_the_optimum(name, C):
    X, y = standardised(name)
    model = FastGaussNewtonClassifier(C=C, solver="fgn", tol=1e-6, max_iter=1000)
    if name == "digits":
        X, y = X[:400], y[:400]
    model.fit(X, y)
    assert abs(model.objective_ - mean_objective(reference(X, y, C), X, y, C)) <= 1e-6


@pytest.mark.parametrize(("C", "steps"), [(0.01, 6), (1, 9), (100, 11)])
def test_binary_needs_one_conjugate_gradient_step_an_outer_step(C, steps):
    X, y = standardised("breast_cancer")
    model = FastGaussNewtonClassifier(C=C, solver="newton", tol=1e-8).fit(X, y)
    assert model.n_cg_iter_ == model.n_iter_ == steps
    assert model.curvature_gap_ == 0
    assert model.coef_.shape == (1, 30)


def test_few_conjugate_gradient_steps_for_many_classes():
    X, y = make_many_classes(1000, 512, 200, sep=0.3, random_state=0)
    fit = fit_softmax(X, y, l2=1e-3, solver="newton", tol=1e-6)
    assert fit.n_cg <= 24
    fit = fit_softmax(X, y, l2=0.1, solver="newton", tol=1e-6)
    assert fit.n_cg <= 20
    plain = fit_softmax(X, y, l2=0.1, solver="newton", tol=1e-6, damping=1e9)
    assert fit.n_cg <= plain.n_cg / 4  # such a metric is no preconditioner at all


def test_weak_ridge_halves_the_steps():
    X, y = standardised("digits")
    options = {"l2": 1 / (100 * 700), "solver": "newton", "tol": 1e-6}
    fit = fit_softmax(X[:700], y[:700], **options)
    plain = fit_softmax(X[:700], y[:700], damping=1e9, **options)
    assert fit.n_cg <= plain.n_cg / 2


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array", "csc_matrix"])
@pytest.mark.parametrize("solver", ["newton", "fgn", "lbfgs"])
def test_sparse_rows_give_the_dense_fit(solver, kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40)) * (rng.random((60, 40)) < 0.2)
    y = rng.integers(0, 5, 60)
    dense_fit = fit_softmax(X, y, l2=0.01, solver=solver, tol=1e-8, max_iter=2000)
    sparse_fit = fit_softmax(
        getattr(sparse, kind)(X), y, l2=0.01, solver=solver, tol=1e-8, max_iter=2000
    )
    np.testing.assert_allclose(sparse_fit.coef, dense_fit.coef, atol=1e-5)


def test_sparse_rows_are_never_made_dense(monkeypatch):
    X = sparse.csr_array(sparse.random(50, 2000, density=0.01, random_state=0))
    y = np.arange(50) % 7
    shapes = []
    original = sparse.csr_array.toarray

    def toarray(self, *args, **kwargs):
        shapes.append(self.shape)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", toarray)
    for solver in ("newton", "fgn", "lbfgs"):
        fit_softmax(X, y, l2=0.01, solver=solver)
    assert set(shapes) <= {(50, 50)}


def test_failed_single_precision_solve_is_repeated_in_double(monkeypatch):
    X, y = make_many_classes(200, 100, 60, random_state=0)
    expected = fit_softmax(X, y, l2=0.01, solver="newton", tol=1e-8)
    precisions = []
    original = newton.conjugate_gradients

    def failing(product, b, **options):
        precisions.append(b.dtype)
        result = original(product, b, **options)
        return CGResult(result.x, result.n_iter, result.converged and b.dtype == np.float64)

    monkeypatch.setattr(newton, "conjugate_gradients", failing)
    fit = fit_softmax(X, y, l2=0.01, solver="newton", tol=1e-8)
    assert precisions[::2] == [np.float32] * fit.n_iter
    assert precisions[1::2] == [np.float64] * fit.n_iter
    assert fit.converged
    np.testing.assert_allclose(fit.coef, expected.coef, atol=1e-6)
    assert fit.n_cg > expected.n_cg  # both solves are counted


def test_indefinite_single_precision_gram_is_replaced(monkeypatch):
    X, y = make_many_classes(200, 100, 60, random_state=0)
    expected = fit_softmax(X, y, l2=0.01, solver="newton", tol=1e-8)
    original = newton.DampedCurvature

    def failing(rows, XXt, metric):
        if rows.V.dtype == np.float32:
            raise newton.linalg.LinAlgError("not positive definite")
        return original(rows, XXt, metric)

    monkeypatch.setattr(newton, "DampedCurvature", failing)
    fit = fit_softmax(X, y, l2=0.01, solver="newton", tol=1e-8)
    assert fit.converged
    np.testing.assert_allclose(fit.coef, expected.coef, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_badly_scaled_rows_still_converge(scale):
    X, y = make_many_classes(60, 20, 5, random_state=0)
    fit = fit_softmax(X, y, l2=0.01, solver="newton", tol=1e-8)
    scaled = fit_softmax(scale * X, y, l2=0.01 * scale**2, solver="newton", tol=1e-8 * scale)
    np.testing.assert_allclose(scaled.coef * scale, fit.coef, atol=1e-4)


def test_exact_to_a_gradient_of_1e_9_despite_single_precision():
    X, y = make_many_classes(300, 150, 40, random_state=1)
    fit = fit_softmax(X, y, l2=1e-3, solver="newton", tol=1e-9)
    assert fit.converged
    g = dense.gradient(X, y, fit.coef, fit.intercept, np.full(300, 1 / 300), 1e-3)
    assert np.abs(g).max() <= 2e-9


def test_float32_rows_are_computed_in_float32():
    X, y = make_many_classes(100, 40, 6, random_state=0)
    single = FastGaussNewtonClassifier(tol=1e-5, solver="newton").fit(X.astype(np.float32), y)
    double = FastGaussNewtonClassifier(tol=1e-5, solver="newton").fit(X, y)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-3)


@pytest.mark.parametrize(
    ("n", "d", "C", "tol", "expected"),
    [
        (1000, 512, 200, 1e-6, "newton"),
        (400, 1500, 60, 1e-6, "newton"),
        (1500, 32, 30, 1e-4, "lbfgs"),
        (500, 64, 3, 1e-4, "lbfgs"),
        (4100, 20, 20, 1e-6, "lbfgs"),
    ],
)
def test_the_solver_that_is_chosen(n, d, C, tol, expected):
    X, y = make_many_classes(n, d, C, random_state=0)
    problem = make_problem(
        X, y, l2=1 / n, n_classes=C, n_logits=C, fit_intercept=True, sample_weight=None
    )
    assert choose_solver(problem.at(np.zeros(problem.shape)), tol, 4000) == expected


def test_digits_are_left_to_lbfgs():
    X, y = standardised("digits")
    assert FastGaussNewtonClassifier(max_iter=500).fit(X[:1000], y[:1000]).solver_ == "lbfgs"


@pytest.mark.parametrize("solver", ["newton", "fgn", "lbfgs"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("scale", [1e150, 1e200])
def test_rows_whose_squares_overflow_come_to_an_end(solver, n_classes, scale):
    X, y = scale * np.random.default_rng(0).standard_normal((60, 10)), np.arange(60) % n_classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FastGaussNewtonClassifier(solver=solver).fit(X, y)
    assert np.isfinite(model.coef_).all()
