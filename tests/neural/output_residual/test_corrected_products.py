"""Static factors, sketches and the corrected product against dense references."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from skfrontier.algos import (
    LowRankFactors,
    adaptive_matmul,
    dynamic_matmul,
    low_rank_factors,
    matmul_cost,
    residual_sketch,
)
from skfrontier.algos.neural.output_residual import cost


def problem(seed, n=60, a=30, b=20, decay=0.7):
    """Inputs with a decaying spectrum, a weight, and the second moment."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, a)) * decay ** np.arange(a) @ linalg.qr(rng.normal(size=(a, a)))[0]
    return X, rng.normal(size=(a, b)), X.T @ X


def output_error(X, W, factors):
    return np.linalg.norm(X @ W - X @ factors.left @ factors.right)


@pytest.mark.parametrize("shape", [(30, 20), (20, 30), (25, 25)])
def test_whitened_is_the_map_with_inverse_roots(shape):
    _, W, H = problem(0, a=shape[0], b=shape[1])
    H += 1e-3 * np.trace(H) * np.eye(len(H))
    root = linalg.sqrtm(H).real
    U, s, Vt = linalg.svd(root @ W, full_matrices=False)
    expected = linalg.solve(root, U[:, :5] * s[:5]) @ Vt[:5]
    factors = low_rank_factors(W, 5, second_moment=H)
    np.testing.assert_allclose(factors.left @ factors.right, expected, atol=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_no_static_method_beats_whitened_on_its_own_data(seed):
    X, W, H = problem(seed, a=20 + seed, b=30, decay=0.9)
    rank = 1 + seed % 10
    best = output_error(X, W, low_rank_factors(W, rank, second_moment=H))
    others = [low_rank_factors(W, rank, method="svd")] + [
        low_rank_factors(W, rank, method="asvd", abs_mean=np.abs(X).mean(0), alpha=alpha)
        for alpha in (0.25, 0.5, 1.0)
    ]
    for factors in others:
        assert best <= output_error(X, W, factors) * (1 + 1e-9)
    # and it is the optimum: the singular values of the outputs that are left
    optimum = np.linalg.norm(linalg.svdvals(X @ W)[rank:])
    np.testing.assert_allclose(best, optimum, rtol=1e-6)


@pytest.mark.parametrize("method", ["whitened", "svd", "asvd"])
def test_factors_are_nested_and_whole_at_full_rank(method):
    X, W, H = problem(3, decay=0.95)
    known = {"second_moment": H, "abs_mean": np.abs(X).mean(0), "method": method}
    full = low_rank_factors(W, 20, **known)
    np.testing.assert_allclose(full.left @ full.right, W, atol=1e-9)
    part, lead = low_rank_factors(W, 4, **known), full.leading(4)
    np.testing.assert_allclose(part.left @ part.right, lead.left @ lead.right, atol=1e-9)
    assert low_rank_factors(W, 0, **known).left.shape == (30, 0)


def test_calibrated_sketch_holds_the_next_eigenvectors():
    _, W, H = problem(1, decay=0.9)
    both = low_rank_factors(W, 7, second_moment=H)
    sketch = residual_sketch(W, both.leading(4), 3, second_moment=H)
    expected = both.left[:, 4:]  # R P = W P for the eigenvectors after the static ones
    np.testing.assert_allclose(
        np.abs(sketch.T @ expected), np.abs(expected.T @ expected), atol=1e-8
    )


@pytest.mark.parametrize("method", ["svd", "whitened"])
@pytest.mark.parametrize("calibrated", [True, False])
@pytest.mark.parametrize("l", [1, 5, 12])
def test_the_error_is_what_lies_outside_the_basis(method, calibrated, l):  # noqa: E741
    X, W, H = problem(2)
    factors = low_rank_factors(W, 4, method=method, second_moment=H)
    sketch = residual_sketch(W, factors, l, second_moment=H if calibrated else None, random_state=0)
    R = factors.residual(W)
    product = dynamic_matmul(X, R, factors, sketch)
    U, E = product.basis, X @ R
    np.testing.assert_allclose(U.T @ U, np.eye(l), atol=1e-12)
    np.testing.assert_allclose(product.output - X @ W, U @ (U.T @ E) - E, atol=1e-10)
    np.testing.assert_allclose(U.T @ product.output, U.T @ (X @ W), atol=1e-10)


@pytest.mark.parametrize("shape", [(8, 30, 20), (60, 12, 20), (60, 30, 9)])
def test_the_largest_rank_gives_the_product_itself(shape):
    n, a, b = shape
    X, W, _ = problem(4, n=n, a=a, b=b, decay=0.95)
    factors = low_rank_factors(W, 2, method="svd")
    sketch = residual_sketch(W, factors, min(shape), random_state=0)
    product = dynamic_matmul(X, factors.residual(W), factors, sketch)
    np.testing.assert_allclose(product.output, X @ W, atol=1e-10)


def test_dependent_columns_of_the_sketched_input_lose_nothing_and_give_no_nan():
    X, W, _ = problem(5)
    factors = low_rank_factors(W, 2, method="svd")
    R = factors.residual(W)
    G = residual_sketch(W, factors, 3, random_state=0)
    doubled = dynamic_matmul(X, R, factors, G[:, [0, 0, 1, 2]])
    plain = dynamic_matmul(X, R, factors, G)
    # what dropping the dependent column of an unpivoted factorisation would lose is kept
    inside = doubled.basis @ (doubled.basis.T @ (X @ G))
    np.testing.assert_allclose(inside, X @ G, atol=1e-10)
    miss = [np.linalg.norm(p.output - X @ W) for p in (doubled, plain)]
    assert miss[0] <= miss[1] * (1 + 1e-12)
    same_rows = np.repeat(X[:3], 20, axis=0)
    product = dynamic_matmul(same_rows, R, factors, residual_sketch(W, factors, 6, random_state=0))
    np.testing.assert_allclose(product.output, same_rows @ W, atol=1e-9)
    for blank in (np.zeros((9, 30)), np.ones((9, 30))):
        np.testing.assert_allclose(
            dynamic_matmul(blank, R, factors, G).output, blank @ W, atol=1e-10
        )


def test_one_row_takes_the_static_part():
    X, W, H = problem(6)
    factors = low_rank_factors(W, 3, second_moment=H)
    sketch = residual_sketch(W, factors, 2, second_moment=H)
    product = dynamic_matmul(X[:1], factors.residual(W), factors, sketch)
    np.testing.assert_allclose(product.output, X[:1] @ factors.left @ factors.right, rtol=1e-12)
    assert product.basis.shape == (1, 0)
    assert product.error is None


def test_squared_probe_estimate_is_unbiased():
    X, W, H = problem(7)
    factors = low_rank_factors(W, 2, second_moment=H)
    R, sketch = factors.residual(W), residual_sketch(W, factors, 2, second_moment=H)
    rng = np.random.default_rng(0)
    squares = [
        dynamic_matmul(X, R, factors, sketch, probes=R @ rng.normal(size=(20, 4))).error ** 2
        for _ in range(400)
    ]
    truth = np.linalg.norm(dynamic_matmul(X, R, factors, sketch).output - X @ W) ** 2
    stderr = np.std(squares, ddof=1) / np.sqrt(len(squares))
    assert abs(np.mean(squares) - truth) < 4 * stderr


def test_mean_error_of_gaussian_sketches_keeps_the_bound():
    X, W, _ = problem(8, n=80, a=40, b=40, decay=0.9)
    factors = low_rank_factors(W, 3, method="svd")
    E = X @ factors.residual(W)
    r, p = 6, 4
    misses = []
    for seed in range(100):
        sketch = residual_sketch(W, factors, r + p, random_state=seed)
        misses.append(
            np.linalg.norm(dynamic_matmul(X, factors.residual(W), factors, sketch).output - X @ W)
        )
    bound = np.sqrt(1 + r / (p - 1)) * np.linalg.norm(linalg.svdvals(E)[r:])
    assert np.mean(misses) <= bound


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(0, 8), st.floats(0.01, 100))
def test_rotating_tokens_and_scaling_commute_with_the_product(seed, n, l, scale):  # noqa: E741
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, 12)), rng.normal(size=(12, 10))
    factors = low_rank_factors(W, 2, method="svd")
    R, sketch = factors.residual(W), residual_sketch(W, factors, l, random_state=seed)
    Q = linalg.qr(rng.normal(size=(n, n)))[0]
    output = dynamic_matmul(X, R, factors, sketch).output
    np.testing.assert_allclose(
        dynamic_matmul(Q @ X, R, factors, sketch).output, Q @ output, atol=1e-9
    )
    scaled = dynamic_matmul(scale * X, R, factors, sketch).output
    np.testing.assert_allclose(scaled, scale * output, rtol=1e-9, atol=1e-9 * scale)


def test_error_never_rises_along_a_nested_sketch():
    X, W, H = problem(9)
    factors = low_rank_factors(W, 2, second_moment=H)
    R, sketch = factors.residual(W), residual_sketch(W, factors, 15, second_moment=H)
    misses = [
        np.linalg.norm(dynamic_matmul(X, R, factors, sketch[:, :l]).output - X @ W)
        for l in range(16)  # noqa: E741
    ]
    assert (np.diff(misses) <= 1e-9).all()


def test_adaptive_rank_follows_the_input():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(64, 64))
    home = rng.normal(size=(300, 8)) @ rng.normal(size=(8, 64))
    factors = low_rank_factors(W, 8, second_moment=home.T @ home)
    R, sketch = factors.residual(W), residual_sketch(W, factors, 24, random_state=0)
    probes = R @ rng.normal(size=(64, 8))
    ranks = []
    for spread in (0, 6, 40):
        X = home + rng.normal(size=(300, spread)) @ rng.normal(size=(spread, 64))
        product = adaptive_matmul(X, R, factors, sketch, probes, tolerance=0.02, block=4)
        assert np.linalg.norm(product.output - X @ W) <= 0.04 * np.linalg.norm(X @ W)
        ranks.append(product.basis.shape[1])
    assert ranks == [0, 8, 300]  # none, two blocks for six directions, the whole product


def test_float32_stays_float32():
    X, W, H = problem(10)
    factors = low_rank_factors(W, 3, second_moment=H)
    sketch = residual_sketch(W, factors, 2, second_moment=H)
    small = LowRankFactors(factors.left.astype(np.float32), factors.right.astype(np.float32))
    R = factors.residual(W)
    product = dynamic_matmul(
        X.astype(np.float32), R.astype(np.float32), small, sketch.astype(np.float32)
    )
    assert product.output.dtype == product.basis.dtype == np.float32
    expected = dynamic_matmul(X, R, factors, sketch).output
    assert np.linalg.norm(product.output - expected) <= 1e-5 * np.linalg.norm(expected)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(2, 500), st.integers(1, 300), st.integers(1, 300), st.floats(0.01, 1),
    st.integers(0, 50),
)  # fmt: skip
def test_largest_ranks_are_affordable_and_one_more_is_not(n, a, b, budget, k):
    dense = budget * n * a * b * (1 + 1e-9)
    static = cost.largest_static_rank(a, b, budget)
    assert matmul_cost(n, a, b, static) <= dense
    assert static == min(a, b) or matmul_cost(n, a, b, static + 1) > dense * (1 - 1e-8)
    k = min(k, static)
    l = cost.largest_dynamic_rank(n, a, b, k, budget)  # noqa: E741
    assert matmul_cost(n, a, b, k, l) <= dense
    assert l == min(n - 1, a, b) or matmul_cost(n, a, b, k, l + 1) > dense * (1 - 1e-8)
    assert (
        matmul_cost(n, a, b, k, l)
        == n * k * (a + b) + 2 * n * a * l + 2 * n * l**2 + n * l * b + l * a * b
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": np.zeros(3)}, "weight must be 2-D"),
        ({"rank": 21}, "rank must be at most 20"),
        ({"rank": -1}, "rank must be at least 0"),
        ({"method": "qr"}, "method must be one of"),
        ({"second_moment": None}, "needs second_moment"),
        ({"second_moment": np.eye(4)}, r"\(30, 30\).*\(4, 4\)"),
        ({"method": "asvd"}, "needs abs_mean"),
        ({"method": "asvd", "abs_mean": -np.ones(30)}, "abs_mean must hold 30"),
        ({"method": "asvd", "abs_mean": np.ones(30), "alpha": -1}, "alpha must lie"),
    ],
)
def test_factors_say_what_is_wrong(change, message):
    _, W, H = problem(0)
    call = {"weight": W, "rank": 2, "second_moment": H} | change
    with pytest.raises(ValueError, match=message):
        low_rank_factors(call.pop("weight"), call.pop("rank"), **call)


def test_products_say_what_is_wrong():
    X, W, H = problem(0)
    factors = low_rank_factors(W, 2, second_moment=H)
    R, G = factors.residual(W), np.zeros((30, 2))
    with pytest.raises(ValueError, match="X has 5 columns, but residual has 30 rows"):
        dynamic_matmul(X[:, :5], R, factors, G)
    with pytest.raises(ValueError, match="sketch must have 30 rows"):
        dynamic_matmul(X, R, factors, G[:4])
    with pytest.raises(ValueError, match="do not fit a weight"):
        dynamic_matmul(X, R[:, :5], factors, G)
    with pytest.raises(TypeError, match="factors must be LowRankFactors"):
        residual_sketch(W, (1, 2), 1)
    with pytest.raises(ValueError, match="finite"):
        dynamic_matmul(np.full_like(X, np.nan), R, factors, G)
    with pytest.raises(ValueError, match="probes must have at least one"):
        adaptive_matmul(X, R, factors, G, np.zeros((30, 0)), tolerance=0.1)
    with pytest.raises(ValueError, match="tolerance"):
        adaptive_matmul(X, R, factors, G, np.zeros((30, 1)), tolerance=0)
