"""The torch twin: batched products on any device, and the gradient of the inverse."""

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch.nn.functional import pad

from skfrontier.algos.neural.triangular_inversion.inversion import MOST_ROWS as MOST_ROWS_ON_HOST
from skfrontier.algos.neural.triangular_inversion.inversion import warn_of_growth
from skfrontier.algos.neural.triangular_inversion.matrices import check_square, stacked
from skfrontier.algos.neural.triangular_inversion.powers import n_doublings
from skfrontier.algos.neural.triangular_inversion.row_sweep import sweep
from skfrontier.algos.neural.triangular_inversion.settings import Settings

HALF = (torch.float16, torch.bfloat16)
FLOATS = (*HALF, torch.float32, torch.float64)
MOST_ROWS = 16  # larger matrices are put together from blocks: fewer, larger products


def invert_unit_lower(L: torch.Tensor, settings: Settings) -> torch.Tensor:
    """Inverses of I + L after a check that makes the host wait once."""
    check_tensor(L, "L")
    check_lower_finite(L, "L", diagonal=False)
    return inverse(L, settings)


def invert_lower(A: torch.Tensor, settings: Settings) -> torch.Tensor:
    """Inverses of lower-triangular matrices: rows divided by the diagonal, then columns."""
    check_tensor(A, "A")
    check_lower_finite(A, "A", diagonal=True)
    work = A.float() if A.dtype in HALF and not settings.in_half else A
    diagonal = work.diagonal(dim1=-2, dim2=-1)
    if not A.is_meta and (diagonal == 0).any():
        first = [int(index) for index in (diagonal == 0).nonzero()[0]]
        where = first[0] if len(first) == 2 else tuple(first[:-1])
        raise torch.linalg.LinAlgError(
            f"Matrix {where if len(first) > 1 else 0} of A is singular: diagonal entry {first[-1]} is zero."
        )
    L = work.tril(-1) / diagonal.unsqueeze(-1)
    return (inverse(L, settings) / diagonal.unsqueeze(-2)).to(A.dtype)


def check_tensor(L: torch.Tensor, name: str) -> None:
    """Raise unless ``L`` holds square matrices of a floating type; its entries are not read."""
    if L.dtype not in FLOATS:
        raise TypeError(
            f"{name} must be float16, bfloat16, float32 or float64, got {L.dtype}; "
            f"convert it: {name}.float()."
        )
    check_square(tuple(L.shape), name)


def check_lower_finite(L: torch.Tensor, name: str, *, diagonal: bool) -> None:
    """Raise a ValueError if the lower part holds NaN or infinity; no question to a meta tensor."""
    if L.is_meta or L.numel() == 0:
        return
    lower = L.detach().tril(0 if diagonal else -1)
    wide = torch.float32 if L.dtype in HALF else L.dtype
    if math.isfinite(lower.sum(dtype=wide).item()):  # one pass decides nearly every time
        return
    wrong = (~torch.isfinite(lower)).nonzero()
    if len(wrong) == 0:  # only the sum overflowed
        return
    where = [int(index) for index in wrong[0]]
    part = "lower part" if diagonal else "strictly lower part"
    value = float(lower[tuple(where)])
    raise ValueError(f"{name} must be finite in its {part}, got {value} at {name}{where}.")


def inverse(L: torch.Tensor, settings: Settings) -> torch.Tensor:
    """Differentiable inverses of I + L; nothing is checked, and only the guard makes the host wait."""
    with without_autocast(L):
        return _UnitLowerInverse.apply(L, settings)


def without_autocast(x: torch.Tensor) -> AbstractContextManager:
    """Keeps automatic mixed precision out of products whose precision was chosen."""
    if x.device.type in ("cpu", "cuda"):
        return torch.autocast(x.device.type, enabled=False)
    return nullcontext()


class _UnitLowerInverse(torch.autograd.Function):
    """T = (I + L)^-1, dL = -tril(T^T dT T^T, -1)."""

    @staticmethod
    def forward(L: torch.Tensor, settings: Settings) -> torch.Tensor:
        return _rounded_inverse(L, settings)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        (T,) = ctx.saved_tensors
        (dT,) = gradients
        wide = torch.float32 if T.dtype in HALF else T.dtype
        T_t = T.to(wide).mT
        with without_autocast(T):
            return -(T_t @ dT.to(wide) @ T_t).tril(-1).to(T.dtype), None


def _rounded_inverse(L: torch.Tensor, settings: Settings) -> torch.Tensor:
    if L.numel() == 0:
        return L.clone()
    if L.dtype in HALF and not settings.in_half:
        return _by_method(L.float(), settings).to(L.dtype)
    T = _by_method(L, settings)
    for _ in range(settings.refinements or 0):
        T = _refined(L, T)
    return T


def _by_method(L: torch.Tensor, settings: Settings) -> torch.Tensor:
    method = settings.method
    compiled = _takes_compiled_sweep(L)
    if method == "auto":
        small = L.shape[-1] <= (MOST_ROWS_ON_HOST if compiled else MOST_ROWS)
        method = "substitution" if small and L.dtype not in HALF else "recursive"
    if method == "substitution":
        return _by_compiled_sweep(L) if compiled else _by_substitution(L)
    if method in ("neumann", "newton"):
        T, growth = _by_doubling(L) if method == "neumann" else _by_newton(L)
        if not settings.guard or L.is_meta:
            return T
        largest = float(growth)
        if largest <= settings.growth_limit:
            return T
        warn_of_growth(method, largest, settings.growth_limit)
    return _by_merging(L, settings.base)


def _takes_compiled_sweep(L: torch.Tensor) -> bool:
    """Whether the kernel of the arrays can read the tensor; a compiler of torch could not look into it."""
    return (
        L.device.type == "cpu"
        and L.dtype in (torch.float32, torch.float64)
        and not torch.compiler.is_compiling()
    )


def _by_compiled_sweep(L: torch.Tensor) -> torch.Tensor:
    """Through arrays that share the memory of the tensors, where no sign waits to be applied to it."""
    array = np.from_dlpack(L.detach().resolve_neg())
    return torch.from_dlpack(sweep(stacked(array))[0]).view(L.shape)


def _by_substitution(L: torch.Tensor) -> torch.Tensor:
    """Row i of the strict part S of the inverse is -L_i - L_i S; half precision in single precision."""
    if L.dtype in HALF:
        return _by_substitution(L.float()).to(L.dtype)
    n = L.shape[-1]
    S = -L.tril(-1)
    for i in range(2, n):
        S[..., i : i + 1, :i] += S[..., i : i + 1, :i] @ S[..., :i, :i]
    return S + torch.eye(n, dtype=L.dtype, device=L.device)


def _by_merging(L: torch.Tensor, base: int) -> torch.Tensor:
    """Diagonal blocks of one size by substitution, then all pairs of a level at once."""
    n = L.shape[-1]
    levels = max(0, math.ceil(math.log2(n / base)))
    size = math.ceil(n / 2**levels)  # not above ``base``, and hardly any padding
    padding = size * 2**levels - n
    L = pad(L, (0, padding, 0, padding))
    T = _by_substitution(_diagonal_blocks(L, size))
    for _ in range(levels):
        T = _merged(_diagonal_blocks(L, 2 * T.shape[-1]), T)
    return T[..., 0, :n, :n].contiguous() if padding else T.squeeze(-3)


def _diagonal_blocks(L: torch.Tensor, size: int) -> torch.Tensor:
    """View (..., n / size, size, size) of the blocks on the diagonal."""
    count = L.shape[-1] // size
    blocks = L.unflatten(-1, (count, size)).unflatten(-3, (count, size))
    return blocks.diagonal(dim1=-4, dim2=-2).movedim(-1, -3)


def _merged(L: torch.Tensor, T: torch.Tensor) -> torch.Tensor:
    """Inverses of the blocks ``L`` from those of their two halves, which alternate in ``T``."""
    half = T.shape[-1]
    first, last = T[..., 0::2, :, :], T[..., 1::2, :, :]
    between = -(last @ (L[..., half:, :half] @ first))
    merged = pad(first, (0, half, 0, half))
    merged[..., half:, :half] = between
    merged[..., half:, half:] = last
    return merged


def _by_doubling(L: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(I - L)(I + L^2)(I + L^4)..., and the largest entry of the powers."""
    power = -L.tril(-1)
    T = power + torch.eye(L.shape[-1], dtype=L.dtype, device=L.device)
    growth = power.abs().amax()
    for _ in range(1, n_doublings(L.shape[-1])):
        power = power @ power
        growth = torch.maximum(growth, power.abs().amax())
        T = T + T @ power
    return T.tril(), growth


def _by_newton(L: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """X <- X (I + R) with the residual R, and the largest entry of L and all residuals."""
    identity = torch.eye(L.shape[-1], dtype=L.dtype, device=L.device)
    lower = L.tril(-1)
    X = identity - lower
    growth = lower.abs().amax()
    for _ in range(1, n_doublings(L.shape[-1])):
        residual = identity - X - lower @ X
        growth = torch.maximum(growth, residual.abs().amax())
        X = X + X @ residual
    return X.tril(), growth


def _refined(L: torch.Tensor, T: torch.Tensor) -> torch.Tensor:
    """T + T R with the residual in a wider type, rounded once."""
    wide = torch.float32 if T.dtype in HALF else torch.float64
    lower, S = L.tril(-1).to(wide), T.tril(-1).to(wide)
    R = -(lower + S + lower @ S)
    identity = torch.eye(L.shape[-1], dtype=wide, device=L.device)
    return (S + R + S @ R + identity).to(T.dtype)
