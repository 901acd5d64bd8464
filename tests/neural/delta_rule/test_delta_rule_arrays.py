"""The delta rule on arrays: both methods, strange lengths, strong decays, bad input."""

import warnings

import joblib
import numpy as np
import pytest
from delta_rule_references import largest_difference, make_call, step_by_step
from hypothesis import given, settings
from hypothesis import strategies as st

from skfrontier.algos import (
    delta_rule,
    delta_rule_inverse_bound,
    delta_rule_matrix,
    invert_unit_lower,
)

METHODS = ("recurrent", "chunk")
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}


@pytest.mark.parametrize("method", METHODS)
def test_example(method):
    k = np.eye(2)[[0, 1, 1, 0]].reshape(1, 4, 1, 2)
    v = np.array([1.0, 2.0, 5.0, 0.0]).reshape(1, 4, 1, 1)
    beta = np.array([1.0, 1.0, 1.0, 0.25]).reshape(1, 4, 1)
    result = delta_rule(k, k, v, beta, scale=1.0, method=method)
    np.testing.assert_allclose(result.output.ravel(), [1, 2, 5, 0.75])
    np.testing.assert_allclose(result.final_state.ravel(), [0.75, 5])
    decaying = delta_rule(k, k, v, beta, np.log(beta * 0 + 0.5), scale=1.0, method=method)
    np.testing.assert_allclose(decaying.final_state.ravel(), [0.0625 * 1.5, 2.5])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("T", [1, 5, 37, 130])
@pytest.mark.parametrize("chunk_size", [16, 64, 100])
@pytest.mark.parametrize("gated", [True, False])
def test_methods_agree_with_the_recurrence(dtype, T, chunk_size, gated):
    call = make_call(2, T, 2, 4, 7, 9, dtype=dtype, gated=gated)
    start = np.random.default_rng(1).standard_normal((2, 4, 7, 9)).astype(dtype)
    expected = step_by_step(*call, state=start)
    for method in METHODS:
        result = delta_rule(*call, initial_state=start, method=method, chunk_size=chunk_size)
        assert result.output.dtype == dtype
        assert result.final_state.dtype == dtype
        assert largest_difference(result, *expected) <= TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gated", [True, False])
def test_long_sequence(dtype, gated):
    call = make_call(1, 2048, 1, 2, 32, 32, dtype=dtype, gated=gated)
    result = delta_rule(*call, method="chunk")
    other = delta_rule(*call, method="recurrent")
    assert largest_difference(result, other.output, other.final_state) <= TOLERANCE[dtype]


@pytest.mark.parametrize("decay", ["jump", "none", "everything"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_strong_decays_and_none(dtype, decay):
    call = make_call(2, 200, 2, 2, 16, 16, dtype=dtype)
    if decay == "none":
        call[4][:] = 0
    else:
        call[4][:, [37, 101]] = -1e4 if decay == "jump" else -np.inf
    expected = step_by_step(*call)
    for method in METHODS:
        result = delta_rule(*call, method=method)
        assert np.isfinite(result.output).all()
        assert largest_difference(result, *expected) <= TOLERANCE[dtype]
    if decay == "none":
        ungated = delta_rule(*call[:4])
        np.testing.assert_array_equal(result.output.shape, ungated.output.shape)
        assert largest_difference(ungated, *expected) <= TOLERANCE[dtype]


@settings(deadline=None)
@given(st.integers(1, 40), st.data(), st.sampled_from(METHODS))
def test_a_sequence_may_be_split_anywhere(T, data, method):
    at = data.draw(st.integers(0, T))
    call = make_call(1, T, 1, 2, 3, 4, seed=T)
    whole = delta_rule(*call, method=method, chunk_size=8)
    first = delta_rule(*(x[:, :at] for x in call), method=method, chunk_size=8)
    last = delta_rule(
        *(x[:, at:] for x in call), initial_state=first.final_state, method=method, chunk_size=8
    )
    output = np.concatenate([first.output, last.output], axis=1)
    assert largest_difference(whole, output, last.final_state) <= 1e-12


@pytest.mark.parametrize("inversion", ["substitution", "recursive", "neumann", "newton"])
def test_every_inversion(inversion):
    call = make_call(1, 50, 1, 1, 64, 4)
    result = delta_rule(*call, method="chunk", inversion=inversion)
    assert largest_difference(result, *step_by_step(*call)) <= 1e-12


def test_groups_are_consecutive_heads():
    call = make_call(1, 20, 2, 6, 4, 5)
    grouped = delta_rule(*call)
    q, k = (np.repeat(x, 3, axis=2) for x in call[:2])
    repeated = delta_rule(q, k, *call[2:])
    np.testing.assert_array_equal(grouped.output, repeated.output)


def test_normalisation_and_scale():
    call = make_call(1, 20, 1, 1, 4, 5)
    q, k = call[:2]
    unit = [x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6) for x in (q, 3 * k)]
    expected = step_by_step(*unit, *call[2:], scale=2.0)
    for method in METHODS:
        result = delta_rule(q, 3 * k, *call[2:], l2norm=True, scale=2.0, method=method)
        assert largest_difference(result, *expected) <= 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_half_precision_is_rounded_once(method):
    call = [x.astype(np.float16) for x in make_call(1, 100, 1, 1, 8, 8, strongest=1.0)]
    output, state = step_by_step(*call)
    result = delta_rule(*call, method=method)
    assert result.output.dtype == np.float16
    assert result.final_state.dtype == np.float32
    np.testing.assert_allclose(result.output, output, rtol=2**-11 + 1e-5, atol=1e-5)
    np.testing.assert_allclose(result.final_state, state, rtol=1e-5, atol=1e-5)
    again = delta_rule(*call, initial_state=result.final_state, method=method)
    single = delta_rule(*call[:4], call[4].astype(np.float32), method=method)
    assert again.final_state.dtype == np.float32
    np.testing.assert_array_equal(single.output, result.output)


def test_threads_do_not_matter():
    call = make_call(3, 30, 1, 2, 5, 6)
    alone = delta_rule(*call)
    together = delta_rule(*call, n_jobs=4)
    np.testing.assert_array_equal(alone.output, together.output)
    np.testing.assert_array_equal(alone.final_state, together.final_state)
    with joblib.parallel_config(n_jobs=2, backend="threading"):
        np.testing.assert_array_equal(delta_rule(*call).output, alone.output)


def test_input_is_not_changed_and_may_be_a_view():
    call = make_call(2, 30, 2, 2, 5, 6)
    start = np.ones((2, 2, 5, 6))
    kept = [x.copy() for x in call]
    for x in (*call, start):
        x.flags.writeable = False
    for method in METHODS:
        result = delta_rule(*call, initial_state=start, method=method)
        half = delta_rule(*(x[:, ::2] for x in call), method=method)
        copied = delta_rule(*(x[:, ::2].copy() for x in call), method=method)
        np.testing.assert_array_equal(half.output, copied.output)
        assert result.final_state is not start
    for x, y in zip(call, kept, strict=True):
        np.testing.assert_array_equal(x, y)
    assert (start == 1).all()


@pytest.mark.parametrize("sizes", [(0, 3, 1, 1, 2, 2), (2, 0, 1, 1, 2, 2), (1, 3, 1, 1, 2, 0)])
@pytest.mark.parametrize("method", METHODS)
def test_empty(sizes, method):
    call = make_call(*sizes)
    B, T, _, HV, K, V = sizes
    result = delta_rule(*call, method=method)
    assert result.output.shape == (B, T, HV, V)
    assert result.final_state.shape == (B, HV, K, V)
    start = np.ones((B, HV, K, V))
    if T == 0:
        kept = delta_rule(*call, initial_state=start, method=method)
        np.testing.assert_array_equal(kept.final_state, start)


def test_growing_state_warns():
    call = make_call(1, 4, 1, 1, 2, 2)
    call[3][:] = 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        delta_rule(*call)
        delta_rule(*(x.astype(np.float32) for x in call))
    call[3][0, 2] = 2.1
    with pytest.warns(UserWarning, match="outside of \\[0, 2\\]") as caught:
        delta_rule(*call)
    assert caught[0].filename == __file__
    call[3][:] = 1
    with pytest.warns(UserWarning, match="l2norm=True"):
        delta_rule(call[0], 2 * call[1], *call[2:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        delta_rule(call[0], 2 * call[1], *call[2:], l2norm=True)


def replaced(position, value):
    call = make_call(1, 3, 2, 4, 5, 6)
    call[position] = value
    return call


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (replaced(0, np.ones((1, 3, 5))), ValueError, r"q must have shape \(B, T, heads"),
        (replaced(1, np.ones((1, 3, 2, 4))), ValueError, r"k must have shape \(1, 3, 2, 5\)"),
        (replaced(2, np.ones((1, 2, 4, 6))), ValueError, "v must have shape"),
        (replaced(2, np.ones((1, 3, 3, 6))), ValueError, "multiple of the 2 heads"),
        (replaced(3, np.ones((1, 3, 2))), ValueError, r"beta must have shape \(1, 3, 4\)"),
        (replaced(4, np.zeros((1, 3, 2))), ValueError, "g must have shape"),
        (replaced(4, np.full((1, 3, 4), 0.5)), ValueError, "log-decay must be <= 0, got 0.5"),
        (replaced(4, np.full((1, 3, 4), np.nan)), ValueError, "log-decay must be <= 0, got nan"),
        (replaced(2, np.full((1, 3, 4, 6), np.inf)), ValueError, "v must be finite"),
        (replaced(3, np.full((1, 3, 4), np.nan)), ValueError, "beta must be finite"),
        (replaced(1, np.ones((1, 3, 2, 5), np.float32)), TypeError, "k must be float64 as q"),
        (replaced(4, np.zeros((1, 3, 4), np.float32)), TypeError, "g must be float64"),
        (replaced(0, np.ones((1, 3, 2, 5), int)), TypeError, "got int64"),
    ],
)
def test_wrong_arrays(call, error, message):
    with pytest.raises(error, match=message):
        delta_rule(*call)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"initial_state": np.zeros((1, 4, 6, 5))}, ValueError, "initial_state must have shape"),
        ({"initial_state": np.full((1, 4, 5, 6), np.nan)}, ValueError, "initial_state must be fin"),
        ({"initial_state": np.zeros((1, 4, 5, 6), np.float32)}, TypeError, "initial_state"),
        ({"scale": np.inf}, ValueError, "scale"),
        ({"chunk_size": 0}, ValueError, "chunk_size"),
        ({"method": "parallel"}, ValueError, "method"),
        ({"inversion": "lu"}, ValueError, "inversion"),
        ({"l2norm": 1}, TypeError, "l2norm"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        delta_rule(*make_call(1, 3, 2, 4, 5, 6), **options)


def test_keys_of_size_zero_are_refused():
    q = np.ones((1, 3, 1, 0))
    with pytest.raises(ValueError, match="dimension one or more"):
        delta_rule(q, q, np.ones((1, 3, 1, 2)), np.ones((1, 3, 1)))


def test_matrix_is_the_one_of_the_paper():
    rng = np.random.default_rng(0)
    k, beta = rng.standard_normal((2, 6, 3)), rng.random((2, 6))
    g = -rng.random((2, 6))
    L = delta_rule_matrix(k, beta, g)
    for b, i, j in np.ndindex(2, 6, 6):
        expected = beta[b, i] * (k[b, i] @ k[b, j]) * np.exp(g[b, j + 1 : i + 1].sum())
        assert L[b, i, j] == pytest.approx(expected if i > j else 0)
    np.testing.assert_allclose(delta_rule_matrix(k, beta, 0 * g), delta_rule_matrix(k, beta))


def test_entries_of_the_inverse_are_the_formula_of_the_bound():
    rng = np.random.default_rng(0)
    k, beta = rng.standard_normal((5, 3)), rng.random(5)
    T = invert_unit_lower(delta_rule_matrix(k, beta))
    for i, j in zip(*np.tril_indices(5, -1), strict=True):
        path = np.eye(3)
        for m in range(j + 1, i):
            path = (np.eye(3) - beta[m] * np.outer(k[m], k[m])) @ path
        assert T[i, j] == pytest.approx(-beta[i] * k[i] @ path @ k[j])


def test_strong_decay_does_not_spoil_what_follows():
    k, beta = np.ones((4, 1), np.float32), np.ones(4, np.float32)
    g = np.array([0, -1e4, -1e-4, -1e-4], np.float32)
    L = delta_rule_matrix(k, beta, g)
    assert L[3, 1] == pytest.approx(np.exp(-2e-4), abs=1e-7)
    assert delta_rule_inverse_bound(k, beta, g)[3, 1] == pytest.approx(np.exp(-2e-4), abs=1e-7)
    assert L[3, 0] == 0


@pytest.mark.parametrize("function", [delta_rule_matrix, delta_rule_inverse_bound])
def test_wrong_chunks(function):
    with pytest.raises(ValueError, match="k must have shape"):
        function(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match=r"beta must have shape \(3,\)"):
        function(np.ones((3, 2)), np.ones(2))
    with pytest.raises(ValueError, match="g must have shape"):
        function(np.ones((3, 2)), np.ones(3), np.zeros((1, 3)))
