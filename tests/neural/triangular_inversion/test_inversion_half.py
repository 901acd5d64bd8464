"""Half precision: the default is the rounded exact inverse, refinement comes near, products alone do not."""

import numpy as np
import pytest
from inversion_references import KINDS, largest_error, matrices, row_by_row

from skfrontier.algos import invert_lower, invert_unit_lower

SIZES = (64, 128)


def relative_to_rounding(L, T):
    """Error of T over the error of rounding the exact inverse to the same type; of float16 arrays."""
    exact = row_by_row(L)
    return largest_error(T, exact) / largest_error(exact.astype(np.float16), exact)


def relative_to_rounding_of_tensors(L, T):
    """The same for tensors."""
    import torch

    exact = row_by_row(L.double().cpu().numpy())
    rounded = torch.from_numpy(exact).to(L.dtype).double().numpy()
    return largest_error(T.double().cpu().numpy(), exact) / largest_error(rounded, exact)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("method", ["auto", "substitution", "recursive"])
def test_default_is_the_rounded_inverse(kind, n, method):
    L = matrices(20, n, kind=kind).astype(np.float16)
    T = invert_unit_lower(L, method=method)
    assert T.dtype == np.float16
    assert relative_to_rounding(L, T) <= 1.01


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("refine", [1, 2])
def test_refinement_of_half_precision_products(kind, n, refine):
    L = matrices(20, n, kind=kind).astype(np.float16)
    assert relative_to_rounding(L, invert_unit_lower(L, refine=refine)) <= 1.25


@pytest.mark.parametrize("kind", ["random", "correlated"])
@pytest.mark.parametrize("n", SIZES)
def test_half_precision_products_alone_lose_accuracy(kind, n):
    L = matrices(20, n, kind=kind).astype(np.float16)
    assert relative_to_rounding(L, invert_unit_lower(L, refine=0)) > 1.2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_tensors(torch, device, kind, n, dtype):
    dtype = getattr(torch, dtype)
    L = torch.from_numpy(matrices(20, n, kind=kind)).to(device, dtype)
    T = invert_unit_lower(L)
    assert T.dtype == dtype
    assert relative_to_rounding_of_tensors(L, T) <= 1.01
    assert relative_to_rounding_of_tensors(L, invert_unit_lower(L, refine=1)) <= 1.25
    if kind != "equal" and dtype == torch.float16:
        assert relative_to_rounding_of_tensors(L, invert_unit_lower(L, refine=0)) > 1.2


def test_refinement_improves_single_precision_too():
    L = matrices(20, 128, kind="correlated").astype(np.float32)
    exact = row_by_row(L)
    rounding = largest_error(exact.astype(np.float32), exact)
    assert largest_error(invert_unit_lower(L, refine=1), exact) <= 1.01 * rounding
    assert largest_error(invert_unit_lower(L), exact) > 1.2 * rounding


def test_powers_fail_in_half_precision():
    L = matrices(3, 64, kind="correlated").astype(np.float16)
    T = invert_unit_lower(L, method="neumann", refine=0, guard=False)
    assert not np.isfinite(T).all() or largest_error(T, row_by_row(L)) > 1
    with pytest.warns(UserWarning, match="growth_limit"):
        guarded = invert_unit_lower(L, method="neumann", refine=0)
    np.testing.assert_array_equal(guarded, invert_unit_lower(L, method="recursive", refine=0))


def test_general_diagonal_is_rounded_once():
    rng = np.random.default_rng(0)
    scale = rng.uniform(0.5, 2, (5, 64, 1))
    A = ((np.eye(64) + matrices(5, 64)) * scale).astype(np.float16)
    exact = np.linalg.inv(A.astype(float))
    rounding = largest_error(exact.astype(np.float16), exact)
    inverse = invert_lower(A)
    assert inverse.dtype == np.float16
    assert largest_error(inverse, exact) <= 1.01 * rounding
