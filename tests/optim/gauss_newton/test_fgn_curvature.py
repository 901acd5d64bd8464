"""The decomposition of the curvature, the Gram form and single steps against dense matrices."""

import dense_references as dense
import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

from skfrontier.algos import fgn_gram, fgn_step, softmax_margin
from skfrontier.algos.optim.gauss_newton.curvature import DampedCurvature, Metric, Rows
from skfrontier.algos.optim.gauss_newton.step import _whitened, _woodbury, make_problem

CASES = [(C, scale) for C in (2, 3, 10) for scale in (0.1, 3.0, 10.0, 30.0)]


@pytest.mark.parametrize("C", [2, 3, 10])
def test_softmax_covariance_splits_exactly(C):
    rng = np.random.default_rng(C)
    Z = 3 * rng.standard_normal((50, C))
    y = rng.integers(0, C, 50)
    m, V = softmax_margin(Z, y)
    P = softmax(Z, axis=1)
    for i in range(50):
        q = np.eye(C)[y[i]] - V[i]
        u = 1 / (1 + np.exp(m[i]))
        rest = u * (np.diag(q) - np.outer(q, q))
        split = u * (1 - u) * np.outer(V[i], V[i]) + rest
        np.testing.assert_allclose(split, np.diag(P[i]) - np.outer(P[i], P[i]), atol=1e-15)
        assert np.linalg.eigvalsh(rest)[0] >= -1e-15
        np.testing.assert_allclose(m[i], np.log(P[i, y[i]] / (1 - P[i, y[i]])), rtol=1e-9)


def test_margins_of_huge_logits_do_not_overflow():
    Z = np.array([[1e300, -1e300, 0.0], [-1e4, 1e4, 0.0], [5.0, 5.0, 5.0]])
    m, V = softmax_margin(Z, [0, 0, 2])
    np.testing.assert_allclose(m, [1e300, -2e4, -np.log(2)])
    np.testing.assert_allclose(V, [[1, 0, -1], [1, -1, 0], [-0.5, -0.5, 1]])


def test_float32_logits_give_float32():
    m, V = softmax_margin(np.zeros((3, 4), dtype=np.float32), [0, 1, 2])
    assert m.dtype == V.dtype == np.float32


@pytest.mark.parametrize(("C", "scale"), CASES)
def test_fgn_never_exceeds_gauss_newton_and_equals_it_for_two_classes(C, scale):
    X, y, W, b = dense.random_problem(40, 6, C, scale=scale)
    omega = np.full(40, 1 / 40)
    F, G = dense.fgn_matrix(X, y, W, b, omega), dense.ggn_matrix(X, W, b, omega)
    assert np.linalg.eigvalsh(G - F)[0] >= -1e-12
    if C == 2:
        np.testing.assert_allclose(F, G, atol=1e-13)


@pytest.mark.parametrize("damping", [1e-3, 1e-1])
@pytest.mark.parametrize(("C", "scale"), CASES)
@pytest.mark.parametrize("form", [_whitened, _woodbury])
def test_both_forms_of_the_step_match_the_dense_solve(C, scale, damping, form):
    X, y, W, b = dense.random_problem(40, 6, C, scale=scale)
    l2, omega = 0.01, np.full(40, 1 / 40)
    problem = make_problem(
        X, y, l2=l2, n_classes=C, n_logits=C, fit_intercept=True, sample_weight=None
    )
    point = problem.at(np.column_stack([W, b]))
    metric = Metric.uniform(point, damping)
    rows = Rows.at(point, problem.design)
    solver = DampedCurvature(rows, problem.design.gram(), metric)
    step = form(point, rows, solver.inverse_metric, solver.solve_rows)
    D = dense.metric_diagonal(C, 6, b, l2, damping)
    F = dense.fgn_matrix(X, y, W, b, omega)
    expected = -np.linalg.solve(F + np.diag(D), dense.gradient(X, y, W, b, omega, l2).ravel())
    error = np.linalg.norm(step.ravel() - expected) / np.linalg.norm(expected)
    assert error <= 1e-10


@pytest.mark.parametrize("method", ["cholesky", "cg"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("with_intercept", [True, False])
def test_step_with_weights_matches_the_dense_solve(method, kind, with_intercept):
    X, y, W, b = dense.random_problem(30, 5, 4, seed=3)
    b = b if with_intercept else None
    weight = np.random.default_rng(0).random(30)
    omega, l2, damping = weight / weight.sum(), 0.1, 0.2
    step = fgn_step(
        sparse.csr_matrix(X) if kind == "sparse" else X, y, W, b,
        l2=l2, damping=damping, sample_weight=weight, method=method,
    )  # fmt: skip
    D = dense.metric_diagonal(4, 5, b, l2, damping)
    F = dense.fgn_matrix(X, y, W, b, omega)
    delta = -np.linalg.solve(F + np.diag(D), dense.gradient(X, y, W, b, omega, l2).ravel())
    delta = delta.reshape(4, -1)
    np.testing.assert_allclose(step.coef - W, delta[:, :5], atol=1e-9)
    if with_intercept:
        np.testing.assert_allclose(step.intercept - b, delta[:, -1], atol=1e-9)
    else:
        assert step.intercept is None
    assert (step.n_cg > 0) == (method == "cg")


def test_margins_far_below_the_whitened_form_stay_finite():
    X, y, W, b = dense.random_problem(20, 4, 3, scale=1.0)
    step = fgn_step(X, y, 2000 * W, 2000 * b, l2=0.1, damping=1.0)
    assert np.isfinite(step.coef).all()
    # where every margin is lost, the curvature is zero and the step is the scaled gradient
    g = dense.gradient(X, y, 2000 * W, 2000 * b, np.full(20, 1 / 20), 0.1)
    np.testing.assert_allclose(step.coef - 2000 * W, -g[:, :4] / 1.1, rtol=0.2)


def test_step_of_one_logit_is_the_binary_newton_step():
    X, y, W, b = dense.random_problem(40, 6, 2)
    w, b1 = W[1:] - W[:1], b[1:] - b[:1]
    step = fgn_step(X, y, w, b1, l2=0.1, damping=1e-6)
    p = 1 / (1 + np.exp(-(X @ w[0] + b1)))
    X1 = np.column_stack([X, np.ones(40)])
    H = (X1 * (p * (1 - p) / 40)[:, None]).T @ X1 + np.diag([0.1 + 1e-6] * 6 + [1e-6])
    g = X1.T @ (p - y) / 40 + np.append(0.1 * w[0], 0.0)
    expected = -np.linalg.solve(H, g)
    np.testing.assert_allclose(step.coef[0] - w[0], expected[:6], rtol=1e-9)
    np.testing.assert_allclose(step.intercept - b1, expected[6:], rtol=1e-9)


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_gram_is_that_of_the_dense_jacobian(per_class, kind):
    X, y, W, b = dense.random_problem(25, 4, 5, seed=1)
    _, V = softmax_margin(dense.logits(X, W, b), y)
    rng = np.random.default_rng(2)
    root = rng.random(25)
    T, T_b = (rng.random((2, 5)) + 0.1) if per_class else (0.7, 0.3)
    _, J = dense.margin_jacobian(X, y, W, b)
    D = np.empty((5, 5))
    D[:, :4], D[:, 4] = np.broadcast_to(T, 5)[:, None], T_b
    A = root[:, None] * J
    expected = A / D.ravel() @ A.T
    gram = fgn_gram(
        sparse.csr_array(X) if kind == "sparse" else X, V, root, metric=T, intercept_metric=T_b
    )
    np.testing.assert_allclose(gram, expected, atol=1e-12)


def test_step_error_falls_with_damping_and_with_concentrated_competitors():
    def error(C, scale, damping):
        X, y, W, b = dense.random_problem(40, 6, C, scale=scale)
        omega = np.full(40, 1 / 40)
        g = dense.gradient(X, y, W, b, omega, 0.0).ravel()
        eye = damping * np.eye(len(g))
        newton = np.linalg.solve(dense.ggn_matrix(X, W, b, omega) + eye, g)
        fgn = np.linalg.solve(dense.fgn_matrix(X, y, W, b, omega) + eye, g)
        return np.linalg.norm(fgn - newton) / np.linalg.norm(newton)

    flat = [error(10, 0.1, damping) for damping in (1e-3, 1e-1, 10)]
    assert flat[0] > 1 > flat[1] > 0.1 > flat[2]
    assert error(3, 3.0, 1e-3) < flat[0]
    assert error(2, 3.0, 1e-3) < 1e-9
