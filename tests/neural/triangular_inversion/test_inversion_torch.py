"""Tensors: the numbers of the arrays, gradients, devices and waiting."""

import importlib
import warnings

import numpy as np
import pytest
from inversion_references import METHODS, largest_error, matrices, row_by_row

from skfrontier.algos import invert_lower, invert_unit_lower, triangular_inverse_report


@pytest.mark.parametrize("n", [1, 2, 3, 16, 17, 64, 100, 129])
@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_numbers_of_the_arrays(torch, device, n, method):
    L = matrices(4, n)
    T = invert_unit_lower(torch.from_numpy(L).to(device), method=method)
    assert T.dtype == torch.float64
    assert T.device.type == device
    assert largest_error(T.cpu(), row_by_row(L)) <= 1e-13
    single = torch.from_numpy(L).to(device, torch.float32)
    assert largest_error(invert_unit_lower(single, method=method).cpu(), row_by_row(L)) <= 1e-6
    assert not T.triu(1).any()
    assert (T.diagonal(dim1=-2, dim2=-1) == 1).all()


@pytest.mark.parametrize("kind", ["correlated", "equal"])
def test_hard_keys(torch, device, kind):
    L = matrices(20, 128, kind=kind).astype(np.float32)
    for method in ("substitution", "recursive"):
        T = invert_unit_lower(torch.from_numpy(L).to(device), method=method)
        assert largest_error(T.cpu(), row_by_row(L)) <= 2e-6


@pytest.mark.parametrize("method", ["neumann", "newton"])
def test_guard(torch, device, method):
    L = torch.from_numpy(matrices(3, 64, kind="equal")).to(device, torch.float32)
    with pytest.warns(UserWarning, match="growth_limit=4") as caught:
        T = invert_unit_lower(L, method=method)
    assert caught[0].filename == __file__
    assert torch.equal(T, invert_unit_lower(L, method="recursive"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrong = invert_unit_lower(L, method=method, guard=False)
    assert largest_error(wrong.cpu(), row_by_row(L.cpu())) > 1


@pytest.mark.parametrize("shape", [(5, 5), (2, 3, 5, 5), (0, 4, 4), (3, 0, 0)])
def test_leading_axes_and_empty(torch, device, shape):
    L = torch.rand(shape, dtype=torch.float64, device=device)
    T = invert_unit_lower(L)
    assert T.shape == L.shape
    assert largest_error(T.cpu(), row_by_row(np.tril(L.cpu(), -1))) <= 1e-12 if L.numel() else True


def test_upper_entries_are_never_read(torch, device):
    L = torch.from_numpy(matrices(2, 20)).to(device)
    dirty = L + torch.full_like(L, torch.nan).triu()
    for method in METHODS:
        assert torch.equal(
            invert_unit_lower(dirty, method=method), invert_unit_lower(L, method=method)
        )


@pytest.mark.parametrize("method", METHODS)
def test_gradient(torch, device, method):
    L = torch.from_numpy(matrices(2, 7)).to(device).requires_grad_()
    assert torch.autograd.gradcheck(lambda L: invert_unit_lower(L, method=method, base=2), L)


def test_second_derivative_and_general_diagonal(torch, device):
    L = torch.from_numpy(matrices(2, 5)).to(device)
    assert torch.autograd.gradgradcheck(invert_unit_lower, L.clone().requires_grad_())
    A = (L + 2 * torch.eye(5, device=device)).requires_grad_()
    assert torch.autograd.gradcheck(invert_lower, A)


def test_gradient_does_not_touch_the_upper_part(torch, device):
    L = torch.from_numpy(matrices(1, 6)).to(device).requires_grad_()
    invert_unit_lower(L).square().sum().backward()
    assert not L.grad.triu().any()
    half = L.detach().to(torch.bfloat16).requires_grad_()
    invert_unit_lower(half).square().sum().backward()
    assert half.grad.dtype == torch.bfloat16
    assert torch.allclose(half.grad.double(), L.grad, atol=0.05)


def test_general_diagonal_and_its_error(torch, device):
    A = torch.from_numpy(matrices(3, 20)).to(device) + 3 * torch.eye(20, device=device)
    assert torch.allclose(invert_lower(A) @ A, torch.eye(20, device=device).double(), atol=1e-12)
    A[2, 4, 4] = 0
    with pytest.raises(
        torch.linalg.LinAlgError, match="Matrix 2 of A is singular: diagonal entry 4"
    ):
        invert_lower(A)
    with pytest.raises(torch.linalg.LinAlgError, match="Matrix 0 of A is singular"):
        invert_lower(A[2])


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_arrays_and_tensors_of_the_host_share_a_kernel(torch, name):
    L = matrices(5, 30).astype(name)
    T = invert_unit_lower(torch.from_numpy(L).requires_grad_())
    np.testing.assert_array_equal(T.detach(), invert_unit_lower(L))
    turned = torch.from_numpy(np.swapaxes(L, -1, -2).copy()).mT
    assert torch.equal(invert_unit_lower(turned), T)


@pytest.mark.parametrize("n", [1, 2, 17, 64])
def test_substitution_without_the_kernel(torch, device, monkeypatch, n):
    twin = importlib.import_module("skfrontier.algos.neural.triangular_inversion.nn")
    monkeypatch.setattr(twin, "_takes_compiled_sweep", lambda L: False)
    L = matrices(4, n)
    for method in ("auto", "substitution"):
        T = invert_unit_lower(torch.from_numpy(L).to(device), method=method)
        assert largest_error(T.cpu(), row_by_row(L)) <= 1e-13


def test_report_of_tensors(torch, device):
    L = torch.from_numpy(matrices(3, 20)).to(device)
    report = triangular_inverse_report(L, invert_unit_lower(L))
    assert report.forward_bound.shape == (3,)
    assert report.forward_bound.max() < 1e-12


@pytest.mark.parametrize("function", [invert_unit_lower, invert_lower])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_meta_device(torch, function, dtype):
    L = torch.empty(3, 50, 50, device="meta", dtype=getattr(torch, dtype))
    for method in METHODS:
        T = function(L, method=method)
        assert T.shape == L.shape
        assert T.dtype == L.dtype
        assert T.is_meta


def test_host_waits_once(torch, device, host_syncs):
    L = torch.rand(3, 40, 40, device=device)
    invert_unit_lower(L)
    assert len(host_syncs) == 1


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda torch: torch.zeros(2, 3), ValueError, "square"),
        (lambda torch: torch.zeros(3), ValueError, "two dimensions"),
        (lambda torch: torch.zeros(3, 3, dtype=torch.int64), TypeError, "got torch.int64"),
        (lambda torch: torch.full((3, 3), torch.nan), ValueError, r"got nan at \w\["),
    ],
)
def test_wrong_tensors(torch, make, error, message):
    for function in (invert_unit_lower, invert_lower):
        with pytest.raises(error, match=message):
            function(make(torch))


def test_large_entries_are_finite(torch, device):
    L = torch.zeros(2, 3, 3, device=device)
    L[:, 2, :2] = 3e38
    assert torch.equal(invert_unit_lower(L).tril(-1), -L)


def test_automatic_mixed_precision_stays_outside(torch, device):
    L = torch.from_numpy(matrices(3, 64)).to(device, torch.float32).requires_grad_()
    gradients = {}
    for enabled in (False, True):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=enabled):
            T = invert_unit_lower(L, method="recursive")
            (gradients[enabled],) = torch.autograd.grad(T.square().sum(), L)
        assert T.dtype == torch.float32
        assert largest_error(T.detach().cpu(), row_by_row(L.detach().cpu())) <= 1e-6
    assert torch.equal(gradients[False], gradients[True])


def test_functional_gradient(torch, device):
    L = torch.from_numpy(matrices(2, 20)).to(device)
    twin = importlib.import_module("skfrontier.algos.neural.triangular_inversion.nn")
    settings = importlib.import_module("skfrontier.algos.neural.triangular_inversion.settings")
    found = torch.func.grad(lambda L: twin.inverse(L, settings.Settings()).square().sum())(L)
    expected = L.clone().requires_grad_()
    invert_unit_lower(expected).square().sum().backward()
    assert torch.allclose(found, expected.grad, atol=1e-12)


@pytest.mark.parametrize("view", ["negated", "conjugate", "transposed", "expanded", "flipped"])
def test_views_whose_memory_is_not_their_value(torch, device, view):
    X = 0.3 * torch.randn(5, 9, 9, dtype=torch.float64, device=device)
    L = {
        "negated": lambda: torch._neg_view(X),
        "conjugate": lambda: torch.complex(X, X).conj().imag,
        "transposed": lambda: X.mT,
        "expanded": lambda: X[0, 1].expand(4, 9, 9),
        "flipped": lambda: X.permute(1, 2, 0).contiguous().permute(2, 0, 1),
    }[view]()
    plain = torch.tensor(L.tolist(), dtype=torch.float64, device=device)
    assert torch.equal(invert_unit_lower(L), invert_unit_lower(plain))
    assert torch.equal(L, plain)
    report = triangular_inverse_report(L, invert_unit_lower(L))
    assert report.forward_bound.max() < 1e-12
