"""scikit-learn's estimator checks, persistence, weights and wrong input."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.algos import fgn_gram, fgn_step, fit_softmax, softmax_margin
from skfrontier.datasets import load_module_lines, make_many_classes
from skfrontier.estimators import FastGaussNewtonClassifier


@parametrize_with_checks(
    [
        FastGaussNewtonClassifier(),
        FastGaussNewtonClassifier(solver="newton"),
        FastGaussNewtonClassifier(solver="fgn", max_iter=500),
        FastGaussNewtonClassifier(solver="lbfgs"),
    ]
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_many_classes(120, 30, 8, sep=0.5, random_state=0)


def test_pickled_model_predicts_the_same(data):
    X, y = data
    model = FastGaussNewtonClassifier().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_probabilities_are_consistent(data):
    X, y = data
    names = np.array(["a", "b", "c", "d", "e", "f", "g", "h"])
    model = FastGaussNewtonClassifier(tol=1e-6).fit(X, names[y])
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(P), model.predict_log_proba(X), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), names[P.argmax(axis=1)])
    assert abs(model.intercept_.sum()) < 1e-9


def test_class_without_weight_is_kept():
    X, y = make_many_classes(60, 10, 4, sep=1.0, random_state=0)
    weight = np.where(y == 2, 0.0, 1.0)
    for solver in ("newton", "fgn", "lbfgs"):
        model = FastGaussNewtonClassifier(solver=solver, max_iter=500).fit(X, y, weight)
        assert model.coef_.shape == (4, 10)
        assert model.predict_proba(X)[:, 2].max() < 0.01
        # without intercepts its weights are determined by the ridge
    free = FastGaussNewtonClassifier(fit_intercept=False, tol=1e-8, solver="newton")
    weighted = free.fit(X, y, weight).coef_
    by_hand = fit_softmax(
        X[y != 2], y[y != 2], l2=1 / weight.sum(), fit_intercept=False, n_classes=4,
        solver="lbfgs", tol=1e-9, max_iter=5000,
    )  # fmt: skip
    np.testing.assert_allclose(weighted, by_hand.coef, atol=1e-6)


def test_balanced_classes_weigh_the_same():
    X, y = make_many_classes(80, 12, 4, random_state=0)
    balanced = FastGaussNewtonClassifier(class_weight="balanced", tol=1e-8, max_iter=500)
    count = np.bincount(y)
    weight = len(y) / (4 * count[y])
    by_hand = FastGaussNewtonClassifier(tol=1e-8, max_iter=500).fit(X, y, weight)
    np.testing.assert_allclose(balanced.fit(X, y).coef_, by_hand.coef_, atol=1e-6)


def test_warm_start_at_the_optimum_takes_no_step(data):
    X, y = data
    for solver in ("newton", "fgn", "lbfgs"):
        model = FastGaussNewtonClassifier(solver=solver, warm_start=True, tol=1e-5, max_iter=500)
        first = model.fit(X, y).coef_.copy()
        assert model.n_iter_ > 0
        model.fit(X, y)
        assert model.n_iter_ == 0
        np.testing.assert_array_equal(model.coef_, first)
    model.fit(X[:, :5], y)  # another shape starts anew
    assert model.n_iter_ > 0


def test_too_few_steps_warn_with_the_gradient(data):
    with pytest.warns(ConvergenceWarning, match=r"gradient of .*e-.*max_iter"):
        FastGaussNewtonClassifier(max_iter=1, tol=1e-9, solver="newton").fit(*data)


def test_verbose_shows_progress(data, capsys):
    FastGaussNewtonClassifier(verbose=1, solver="newton").fit(*data)
    assert "gradient=" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C must lie"),
        ({"C": -1.0}, "C must lie"),
        ({"damping": -1e-3}, "damping must lie"),
        ({"damping": "none"}, "damping must be one of"),
        ({"solver": "sag"}, "solver must be one of"),
        ({"tol": -1.0}, "tol must lie"),
        ({"max_iter": -1}, "max_iter"),
        ({"cg_max_iter": 0}, "cg_max_iter"),
        ({"solver": "newton", "gram_limit": 50}, "gram_limit=50"),
    ],
)
def test_wrong_parameters_are_named(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        FastGaussNewtonClassifier(**parameters).fit(*data)


def test_parameters_of_the_wrong_type_are_named(data):
    for parameters in ({"C": "1"}, {"max_iter": 1.5}, {"fit_intercept": 1}, {"warm_start": 0}):
        with pytest.raises(TypeError, match=next(iter(parameters))):
            FastGaussNewtonClassifier(**parameters).fit(*data)


def test_one_class_is_an_error():
    with pytest.raises(ValueError, match="one class"):
        FastGaussNewtonClassifier().fit([[1.0], [2.0]], [3, 3])


def test_weights_that_are_all_zero_are_an_error(data):
    X, y = data
    with pytest.raises(ValueError, match="zero"):
        FastGaussNewtonClassifier().fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        FastGaussNewtonClassifier().fit(X, y, -np.ones(len(y)))


def test_no_gram_matrix_beyond_its_limit(data, monkeypatch):
    from skfrontier.algos.optim.gauss_newton import problem

    def forbidden(self):
        raise AssertionError("a Gram matrix was formed")

    monkeypatch.setattr(problem.Design, "gram", forbidden)
    X, y = data
    for solver in ("auto", "fgn", "lbfgs"):
        model = FastGaussNewtonClassifier(
            solver=solver, gram_limit=len(y) - 1, max_iter=500, tol=1e-3
        )
        model.fit(X, y)
        assert model.solver_ == ("lbfgs" if solver == "auto" else solver)


def test_fgn_beyond_the_limit_uses_conjugate_gradients(data):
    X, y = data
    options = {"l2": 0.01, "solver": "fgn", "tol": 1e-6, "max_iter": 500}
    factorised = fit_softmax(X, y, **options)
    iterative = fit_softmax(X, y, gram_limit=10, **options)
    assert factorised.n_cg == 0 < iterative.n_cg
    np.testing.assert_allclose(iterative.coef, factorised.coef, atol=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: softmax_margin([[1.0]], [0]), "two classes"),
        (lambda: softmax_margin([[1.0, 2.0]], [2]), r"0\.\.1, got 2"),
        (lambda: softmax_margin([[1.0, 2.0]], [0.0]), "integers"),
        (lambda: softmax_margin([[1.0, np.nan]], [0]), "finite"),
        (lambda: softmax_margin([[1.0, 2.0]], [0, 1]), "shape"),
        (lambda: fgn_gram([[1.0]], [[1.0, -1.0]], [1.0], metric=0.0), "metric must be positive"),
        (lambda: fgn_gram([[1.0]], [[1.0, -1.0]], [1.0], metric=[1.0]), "metric must be a number"),
        (lambda: fgn_gram([[1.0], [2.0]], [[1.0, -1.0]], [1.0], metric=1.0), "V must have 2 rows"),
        (lambda: fgn_gram([[1.0]], [[1.0, -1.0]], [1.0, 2.0], metric=1.0), "sqrt_w"),
        (lambda: fgn_step([[1.0]], [0], np.zeros((2, 2))), "coef must have 1 columns"),
        (lambda: fgn_step([[1.0]], [0], np.zeros((2, 1)), damping=0.0), "damping"),
        (lambda: fgn_step([[1.0]], [0], np.zeros((2, 1)), np.zeros(3)), "intercept"),
        (lambda: fgn_step([[1.0]], [0], np.zeros((2, 1)), method="qr"), "method"),
        (lambda: fit_softmax([[1.0]], [0], l2=1.0), "two classes"),
        (lambda: fit_softmax([[1.0], [2.0]], [0, 1], l2=0.0), "l2"),
        (lambda: fit_softmax([[1.0], [2.0]], [0, 1], l2=1.0, coef=np.zeros((2, 1))), "coef"),
        (lambda: fit_softmax([[1.0], [2.0]], [0, 3], l2=1.0, n_classes=2), "y must lie"),
        (
            lambda: fit_softmax(sparse.csr_matrix([[np.inf], [2.0]]), [0, 1], l2=1.0),
            "finite",
        ),
        (lambda: make_many_classes(3, 2, 4), "n_samples"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_clusters_are_drawn_in_the_documented_order():
    X, y = make_many_classes(50, 4, 10, sep=0.3, random_state=7)
    rng = np.random.RandomState(7)
    centres = rng.standard_normal((10, 4))
    p = np.arange(1, 11) ** -0.5
    labels = np.r_[:10, rng.choice(10, 40, p=p / p.sum())]
    np.testing.assert_array_equal(y, labels)
    np.testing.assert_array_equal(X, 0.3 * centres[labels] + rng.standard_normal((50, 4)))


def test_module_lines_are_text_of_the_library():
    X, y, names = load_module_lines(6, 3, 128)
    assert X.shape == (18, 128)
    assert np.bincount(y).tolist() == [3] * 6
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
    rows, _, again = load_module_lines(6, 3, 128, dense=False)
    assert sparse.issparse(rows)
    assert names == again
    np.testing.assert_array_equal(rows.toarray(), X)
    with pytest.raises(OSError, match="n_modules"):
        load_module_lines(10_000)
