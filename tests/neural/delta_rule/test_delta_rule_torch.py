"""The delta rule on tensors: the numbers of the arrays, gradients, devices and waiting."""

import numpy as np
import pytest
from delta_rule_references import in_torch, largest_difference, make_call, step_by_step

from skfrontier.algos import delta_rule, delta_rule_inverse_bound, delta_rule_matrix

METHODS = ("recurrent", "chunk")


def on_host(result):
    return type(result)(*(x.detach().cpu() for x in (result.output, result.final_state)))


@pytest.mark.parametrize("T", [1, 5, 37, 130])
@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("gated", [True, False])
def test_numbers_of_the_arrays(torch, device, T, method, gated):
    call = make_call(2, T, 2, 4, 7, 9, gated=gated)
    start = np.random.default_rng(1).standard_normal((2, 4, 7, 9))
    expected = step_by_step(*call, state=start)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        tensors = [None if x is None else x.to(dtype) for x in in_torch(torch, call, device)]
        result = delta_rule(
            *tensors,
            initial_state=torch.from_numpy(start).to(device, dtype),
            method=method,
            chunk_size=16,
        )
        assert result.output.dtype == dtype
        assert result.output.device.type == device
        assert largest_difference(on_host(result), *expected) <= tolerance


@pytest.mark.parametrize("gated", [True, False])
def test_long_sequence_in_single_precision(torch, device, gated):
    call = make_call(1, 2048, 1, 2, 32, 32, dtype=np.float32, gated=gated)
    result = delta_rule(*in_torch(torch, call, device))
    expected = delta_rule(*call)
    difference = largest_difference(on_host(result), expected.output, expected.final_state)
    assert difference <= 1e-5


@pytest.mark.parametrize("decay", [-1e4, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_strong_decays(torch, device, dtype, decay):
    call = make_call(2, 200, 1, 1, 16, 16, dtype=dtype)
    call[4][:, [37, 101]] = decay
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    for method in METHODS:
        tensors = [x.requires_grad_() for x in in_torch(torch, call, device)]
        result = delta_rule(*tensors, method=method)
        assert largest_difference(on_host(result), *step_by_step(*call)) <= tolerance
        result.output.square().sum().backward()
        assert all(torch.isfinite(x.grad).all() for x in tensors)


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_gradient(torch, device, gated, method):
    T = 37 if method == "chunk" else 9
    call = in_torch(torch, make_call(1, T, 1, 2, 2, 3, gated=gated), device)
    start = torch.randn(1, 2, 2, 3, dtype=torch.float64, device=device)
    inputs = [x.requires_grad_() for x in (*call, start) if x is not None]

    def outputs(q, k, v, beta, *others):
        *g, state = others
        result = delta_rule(
            q, k, v, beta, *g, initial_state=state, chunk_size=16, method=method, l2norm=True
        )
        return result.output, result.final_state

    assert torch.autograd.gradcheck(outputs, inputs, fast_mode=True)


def test_gradient_in_full(torch, device):
    call = in_torch(torch, make_call(1, 37, 1, 1, 2, 2), device)
    assert torch.autograd.gradcheck(
        lambda *call: delta_rule(*call, chunk_size=16).output, [x.requires_grad_() for x in call]
    )


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision(torch, device, name):
    dtype = getattr(torch, name)
    call = [
        x.to(dtype) for x in in_torch(torch, make_call(1, 100, 1, 2, 8, 8, strongest=1), device)
    ]
    expected = step_by_step(*(x.double().cpu().numpy() for x in call))
    result = delta_rule(*call)
    assert result.output.dtype == dtype
    assert result.final_state.dtype == torch.float32
    unit = torch.finfo(dtype).eps / 2
    np.testing.assert_allclose(
        result.output.double().cpu(), expected[0], rtol=unit + 1e-5, atol=1e-5
    )
    np.testing.assert_allclose(result.final_state.cpu(), expected[1], rtol=1e-4, atol=1e-5)
    again = delta_rule(*call[:4], call[4].float(), initial_state=result.final_state)
    assert again.output.dtype == dtype


def test_matrix_and_bound(torch, device):
    rng = np.random.default_rng(0)
    k, beta, g = rng.standard_normal((3, 20, 4)), rng.random((3, 20)), -rng.random((3, 20))
    for function in (delta_rule_matrix, delta_rule_inverse_bound):
        for call in ((k, beta), (k, beta, g)):
            tensors = [torch.from_numpy(x).to(device) for x in call]
            np.testing.assert_allclose(function(*tensors).cpu(), function(*call), atol=1e-14)


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_meta_device(torch, method, name):
    def empty(*shape):
        return torch.empty(shape, device="meta", dtype=getattr(torch, name))

    result = delta_rule(
        empty(2, 20, 1, 4), empty(2, 20, 1, 4), empty(2, 20, 2, 3), empty(2, 20, 2),
        empty(2, 20, 2), method=method, chunk_size=8,
    )  # fmt: skip
    assert result.output.shape == (2, 20, 2, 3)
    assert result.final_state.shape == (2, 2, 4, 3)


def test_empty(torch, device):
    call = in_torch(torch, make_call(2, 0, 1, 1, 2, 3), device)
    start = torch.ones(2, 1, 2, 3, dtype=torch.float64, device=device)
    result = delta_rule(*call, initial_state=start)
    assert result.output.shape == (2, 0, 1, 3)
    assert torch.equal(result.final_state, start)


def test_host_waits_once(torch, device, host_syncs):
    delta_rule(*in_torch(torch, make_call(2, 40, 1, 1, 4, 4), device))
    assert len(host_syncs) == 1


def test_wrong_tensors(torch):
    call = make_call(1, 3, 1, 1, 2, 2)
    tensors = in_torch(torch, call)
    with pytest.raises(TypeError, match="tensors only or arrays only"):
        delta_rule(*tensors[:4], call[4])
    with pytest.raises(TypeError, match="beta must be float64 as q, got float32"):
        delta_rule(*tensors[:3], tensors[3].float())
    with pytest.raises(ValueError, match=r"log-decay must be <= 0, got 1\.0"):
        delta_rule(*tensors[:4], torch.ones_like(tensors[4]))
    with pytest.raises(ValueError, match="log-decay must be <= 0, got nan"):
        delta_rule(*tensors[:4], tensors[4] * torch.nan)
    with pytest.raises(ValueError, match="v must be finite"):
        delta_rule(*tensors[:2], tensors[2] / 0, *tensors[3:])
    with pytest.raises(ValueError, match="initial_state must be finite"):
        delta_rule(*tensors, initial_state=torch.full((1, 1, 2, 2), torch.nan).double())
    with pytest.warns(UserWarning, match="outside of \\[0, 2\\]") as caught:
        delta_rule(*tensors[:3], tensors[3] + 3)
    assert caught[0].filename == __file__


def test_wrong_state_of_no_tokens(torch, device):
    nothing = torch.zeros(1, 0, 1, 2, device=device)
    state = torch.full((1, 1, 2, 2), torch.nan, device=device)
    with pytest.raises(ValueError, match="initial_state must be finite"):
        delta_rule(nothing, nothing, nothing, nothing[..., 0], initial_state=state)


def test_negative_strength_warns(torch, device):
    k = torch.ones(1, 2, 1, 1, device=device)
    for call in ((k, -k[..., 0]), (k.cpu().numpy(), -k.cpu().numpy()[..., 0])):
        with pytest.warns(UserWarning, match=r"outside of \[0, 2\]"):
            delta_rule(call[0], call[0], call[0], call[1])
