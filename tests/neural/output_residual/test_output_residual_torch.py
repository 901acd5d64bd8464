"""Tensors against arrays, gradients, half precision, and the module in a model."""

import copy
import io
import subprocess
import sys

import numpy as np
import pytest

from skfrontier.algos import (
    LowRankFactors,
    dynamic_matmul,
    low_rank_factors,
    residual_sketch,
)
from skfrontier.datasets import make_group_subspace


@pytest.fixture
def parts():
    """Inputs in groups, and the four parts of a product."""
    X = make_group_subspace(5, 60, 40, 4, noise=0.2, random_state=0)
    rng = np.random.default_rng(1)
    W = rng.normal(size=(40, 30))
    flat = X.reshape(-1, 40)
    factors = low_rank_factors(W, 6, second_moment=flat.T @ flat)
    sketch = residual_sketch(W, factors, 5, second_moment=flat.T @ flat)
    R = factors.residual(W)
    return X, R, factors, sketch, R @ rng.normal(size=(30, 4))


def tensors(torch, parts, device, dtype):
    X, R, factors, sketch, probes = parts

    def put(array):
        return torch.as_tensor(np.ascontiguousarray(array), device=device, dtype=dtype)

    return put(X), put(R), LowRankFactors(put(factors.left), put(factors.right)), put(sketch), put(
        probes
    )  # fmt: skip


@pytest.mark.parametrize(("name", "tolerance"), [("float64", 1e-10), ("float32", 1e-5)])
@pytest.mark.parametrize("width", [0, 5])
def test_tensors_give_what_arrays_give(torch, device, parts, name, tolerance, width):
    dtype = getattr(torch, name)
    X, R, factors, sketch, probes = tensors(torch, parts, device, dtype)
    batch = dynamic_matmul(X, R, factors, sketch[:, :width], probes=probes)
    assert batch.output.dtype == dtype
    assert batch.output.device.type == device
    for g in range(len(X)):
        one = dynamic_matmul(parts[0][g], parts[1], parts[2], parts[3][:, :width], probes=parts[4])
        scale = np.linalg.norm(one.output)
        assert np.linalg.norm(batch.output[g].cpu().numpy() - one.output) <= tolerance * scale
        np.testing.assert_allclose(float(batch.error[g]), one.error, rtol=100 * tolerance)


def test_mixed_kinds_and_wrong_shapes_are_refused(torch, parts):
    X, R, factors, sketch, _ = tensors(torch, parts, "cpu", torch.float64)
    with pytest.raises(TypeError, match="tensors"):
        dynamic_matmul(X, parts[1], factors, sketch)
    with pytest.raises(ValueError, match="does not fit"):
        dynamic_matmul(X[..., :3], R, factors, sketch)
    with pytest.raises(ValueError, match="sketch must have 40 rows"):
        dynamic_matmul(X, R, factors, sketch[:3])


def test_gradient_is_that_of_the_applied_map(torch, device, parts):
    X, R, factors, sketch, _ = tensors(torch, parts, device, torch.float64)
    X.requires_grad_()
    product = dynamic_matmul(X, R, factors, sketch)
    weight_of_loss = torch.randn_like(product.output)
    (product.output * weight_of_loss).sum().backward()
    U = product.basis
    expected = weight_of_loss @ (factors.left @ factors.right).T
    expected = expected + U @ (U.mT @ weight_of_loss) @ R.T
    torch.testing.assert_close(X.grad, expected, rtol=1e-9, atol=1e-9)

    doubled = X.detach()[:, [0, 1, 2] * 4].requires_grad_()  # dependent columns after the sketch
    dynamic_matmul(doubled, R, factors, sketch).output.sum().backward()
    assert torch.isfinite(doubled.grad).all()


def test_short_groups_are_exact_and_single_tokens_static(torch, device, parts):
    X, R, factors, sketch, probes = tensors(torch, parts, device, torch.float64)
    W = R + factors.left @ factors.right
    short = dynamic_matmul(X[:, :4], R, factors, sketch, probes=probes)
    torch.testing.assert_close(short.output, X[:, :4] @ W)
    assert not short.error.any()
    single = dynamic_matmul(X[:, :1], R, factors, sketch)
    torch.testing.assert_close(single.output, X[:, :1] @ factors.left @ factors.right)


@pytest.fixture
def linear(torch):
    """A layer and calibration sequences in subspaces of their own."""
    torch.manual_seed(0)
    X = make_group_subspace(10, 80, 48, 3, noise=0.1, random_state=0)
    return torch.nn.Linear(48, 40), torch.as_tensor(X, dtype=torch.float32)


def miss(torch, output, expected):
    return float(
        torch.linalg.norm((output - expected).float()) / torch.linalg.norm(expected.float())
    )


@pytest.mark.parametrize("qr", ["householder", "cholesky"])
def test_module_stands_for_the_layer(torch, device, linear, qr):
    from skfrontier.nn import DynamicResidualLinear

    dense, X = linear[0].to(device), linear[1].to(device)
    layer = DynamicResidualLinear.from_linear(
        dense, X, budget=0.5, qr=qr, random_state=0, n_probes=16
    )
    assert layer.dynamic_rank > 0
    with torch.no_grad():
        expected = dense(X)
        assert miss(torch, layer(X), expected) < 0.12
        by_hand = layer(X.reshape(2, 5, 80, 48)).reshape(expected.shape)
        torch.testing.assert_close(by_hand, layer(X))
        truth = torch.linalg.norm((layer(X) - expected).flatten(1), dim=1)
        truth = truth / torch.linalg.norm((expected - dense.bias).flatten(1), dim=1)
        assert layer.error.shape == (10,)
        torch.testing.assert_close(layer.error.mean(), truth.mean(), rtol=0.35, atol=0)
        single = layer(X[0, 0])
        torch.testing.assert_close(single, X[0, 0] @ layer.left @ layer.right + dense.bias)


def test_cholesky_and_householder_span_the_same(torch, device, linear):
    from skfrontier.algos.neural.output_residual.nn import orthonormal_basis

    S = linear[1].to(device)[..., :9] * torch.logspace(0, -3, 9, device=device)
    first, second = (orthonormal_basis(S, qr) for qr in ("householder", "cholesky"))
    projectors = [Q @ Q.mT for Q in (first, second)]
    torch.testing.assert_close(projectors[0], projectors[1], atol=2e-3, rtol=0)
    for dependent in (S[..., [0, 0, 1]], torch.zeros_like(S)):
        assert torch.isfinite(orthonormal_basis(dependent, "cholesky")).all()


@pytest.mark.parametrize(("name", "bound"), [("float16", 0.002), ("bfloat16", 0.02)])
def test_half_precision_costs_its_rounding(torch, device, linear, name, bound):
    from skfrontier.nn import DynamicResidualLinear

    dense, X = linear[0].to(device), linear[1].to(device)
    layer = DynamicResidualLinear.from_linear(dense, X, budget=0.5, random_state=0)
    half = copy.deepcopy(layer).to(getattr(torch, name))
    with torch.no_grad():
        output = half(X.to(getattr(torch, name)))
        assert output.dtype == getattr(torch, name)
        assert miss(torch, output, layer(X)) < bound


def test_module_neither_waits_for_the_device_nor_needs_values(torch, linear, host_syncs):
    from skfrontier.nn import DynamicResidualLinear

    dense, X = linear
    layer = DynamicResidualLinear.from_linear(dense, X, budget=0.5, random_state=0)
    for qr in ("householder", "cholesky"):
        layer.qr = qr
        host_syncs.clear()
        layer(X)
        assert host_syncs == []
        meta = copy.deepcopy(layer).to("meta")
        assert meta(X.to("meta")).shape == (10, 80, 40)


def test_state_and_pickle_carry_the_layer(torch, linear):
    from skfrontier.nn import DynamicResidualLinear

    dense, X = linear
    layer = DynamicResidualLinear.from_linear(dense, X, budget=0.5, random_state=0)
    empty = DynamicResidualLinear(48, 40, layer.rank, layer.dynamic_rank, budget=0.5)
    empty.load_state_dict(layer.state_dict())
    torch.testing.assert_close(empty(X), layer(X), rtol=0, atol=0)
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    torch.testing.assert_close(torch.load(file, weights_only=False)(X), layer(X), rtol=0, atol=0)


def model_of(torch):
    torch.manual_seed(0)
    shared = torch.nn.Linear(48, 48)
    return torch.nn.Sequential(
        shared, torch.nn.Tanh(), shared, torch.nn.Dropout(0.5), torch.nn.Linear(48, 1)
    )


def test_replacing_layers_of_a_model(torch, linear):
    from skfrontier.nn import DynamicResidualLinear, replace_linear

    X = linear[1]
    model = model_of(torch).train()
    with torch.no_grad():
        expected = model.eval()(X)
    model.train()
    reports = replace_linear(model, [(X, None)], budget=0.5, random_state=0)
    assert [report.name for report in reports] == ["0", "4"]
    assert reports[0].split.cost_ratio <= 0.5
    assert "too small for rank 1" in reports[1].skipped
    assert model[0] is model[2]  # shared before, shared after
    assert isinstance(model[0], DynamicResidualLinear)
    assert all(module.training for module in model.modules())
    with torch.no_grad():
        assert miss(torch, model.eval()(X), expected) < 0.3

    only = model_of(torch)
    assert len(replace_linear(only, [{"input": X}], budget=0.5, include=["0"])) == 1
    assert len(replace_linear(model_of(torch), [X], budget=0.5, include=lambda n: n == "4")) == 1


def test_unreached_layers_are_left(torch, linear):
    from skfrontier.nn import replace_linear

    class Half(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = torch.nn.Linear(48, 48), torch.nn.Linear(48, 48)

        def forward(self, x):
            return self.used(x)

    reports = replace_linear(Half(), [linear[1]], budget=0.5)
    assert [bool(report.skipped) for report in reports] == [False, True]


def test_wrong_calls_are_named(torch, linear):
    from skfrontier.nn import DynamicResidualLinear, replace_linear

    dense, X = linear
    with pytest.raises(TypeError, match="linear must be"):
        DynamicResidualLinear.from_linear(torch.nn.Tanh(), X)
    with pytest.raises(ValueError, match=r"shape \(\.\.\., n, 48\)"):
        DynamicResidualLinear.from_linear(dense, X[..., :3])
    with pytest.raises(ValueError, match="no tokens"):
        DynamicResidualLinear.from_linear(dense, [])
    with pytest.raises(ValueError, match="calibration must be finite"):
        DynamicResidualLinear.from_linear(dense, X * float("nan"))
    with pytest.raises(ValueError, match="too small for rank 1"):
        DynamicResidualLinear.from_linear(dense, X, budget=0.01)
    with pytest.raises(ValueError, match="qr must be one of"):
        DynamicResidualLinear(4, 4, 1, 1, qr="givens")
    with pytest.raises(ValueError, match="x must have 48 features"):
        DynamicResidualLinear(48, 4, 1, 1)(X[..., :3])
    with pytest.raises(ValueError, match="include names 'x'"):
        replace_linear(model_of(torch), [X], budget=0.5, include=["x"])
    with pytest.raises(ValueError, match="no linear layer"):
        replace_linear(torch.nn.Tanh(), [X], budget=0.5)
    with pytest.raises(TypeError, match="once a layer"):
        replace_linear(model_of(torch), iter([X]), budget=0.5)


def test_arrays_do_not_bring_torch_in():
    code = (
        "import sys, numpy as np, skfrontier.algos as s;"
        "W = np.eye(4); f = s.low_rank_factors(W, 1, method='svd');"
        "s.dynamic_matmul(np.ones((5, 4)), f.residual(W), f, W[:, :1]);"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
