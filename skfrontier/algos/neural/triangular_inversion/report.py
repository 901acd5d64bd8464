"""How good is an inverse? A certified error, and what the methods by powers would meet."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._torch import are_tensors, is_tensor
from skfrontier.algos.neural.triangular_inversion.matrices import (
    check_lower_finite,
    check_matrices,
    stacked,
)
from skfrontier.algos.neural.triangular_inversion.powers import power_growth
from skfrontier.algos.neural.triangular_inversion.row_sweep import sweep

UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class InverseReport:
    """Quality of inverses T of I + L, an entry for each matrix, in float64.

    Attributes
    ----------
    residual : ndarray of shape (...)
        Largest entry of I - (I + L) T.
    forward_bound : ndarray of shape (...)
        No entry of T is farther from the exact inverse (proven, rounding of the report included).
    power_growth : ndarray of shape (...)
        Largest entry of L, L^2, L^4, ...: what 'neumann' and 'newton' multiply the unit roundoff by.
    inverse_max : ndarray of shape (...)
        Largest entry of T.
    """

    residual: np.ndarray
    forward_bound: np.ndarray
    power_growth: np.ndarray
    inverse_max: np.ndarray


def triangular_inverse_report(L: Any, T: Any) -> InverseReport:
    r"""Certified error of inverses of unit lower-triangular matrices.

    Parameters
    ----------
    L : array or tensor of shape (..., n, n)
        Only the entries below the diagonal are read.
    T : array or tensor of shape (..., n, n)
        Claimed inverses of I + L, of any floating type; lower triangular.

    Returns
    -------
    InverseReport
        Arrays of numpy also for tensors.

    Raises
    ------
    TypeError
        If the arrays are not of a floating type, or one is a tensor and the other is not.
    ValueError
        If shapes differ, matrices are not square, ``T`` has entries above the diagonal, or values are not
        finite.

    Notes
    -----
    With R = I - (I + L) T the exact inverse is T (I - R)^-1, hence it differs from T by at most
    \|T\| \|R\| (I - \|R\|)^-1, entry by entry. \|R\| is enlarged by what rounding may have taken from it:
    (n + 3) 2^-53 (\|I + L\| \|T\| + I). The inverse of I - \|R\| is found by substitution, where nothing is
    subtracted, so that a factor 1 + 8 n 2^-53 covers the rounding of the bound itself. A residual with a
    diagonal entry of one or more, or sums that overflow, certify nothing: infinity.

    The cost is about log2(n) products of n x n matrices, most of them for ``power_growth``.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import invert_unit_lower, triangular_inverse_report
    >>> L = np.tril(np.full((8, 8), 0.3), -1)
    >>> report = triangular_inverse_report(L, invert_unit_lower(L.astype(np.float32)))
    >>> bool(report.forward_bound < 1e-6), bool(report.power_growth > 1e-1)
    (True, True)
    """
    are_tensors(L=L, T=T)
    L, T = check_matrices(_to_numpy(L), "L"), check_matrices(_to_numpy(T), "T")
    if L.shape != T.shape:
        raise ValueError(f"L and T must have one shape, got {L.shape} and {T.shape}.")
    lower = np.tril(stacked(L), -1).astype(np.float64)
    inverse = stacked(T).astype(np.float64)
    check_lower_finite(lower, "L")
    check_lower_finite(inverse, "T", diagonal=True)
    if np.triu(inverse, 1).any():
        raise ValueError("T must be lower triangular, but has entries above the diagonal.")
    with np.errstate(over="ignore", invalid="ignore"):  # nothing is certified then
        residual = _residual(lower, inverse)
        bound = _forward_bound(lower, inverse, np.abs(residual))
    measures = (_largest(residual), bound, power_growth(lower), _largest(inverse))
    return InverseReport(*(measure.reshape(L.shape[:-2]) for measure in measures))


def _to_numpy(values: Any) -> Any:
    """Tensors as arrays; of floating types in double precision, which has them all."""
    if not is_tensor(values):
        return values
    values = values.detach().resolve_conj().resolve_neg().cpu()
    return (values.double() if values.is_floating_point() else values).numpy()


def _residual(lower: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    return np.eye(lower.shape[-1]) - inverse - lower @ inverse


def _forward_bound(lower: np.ndarray, inverse: np.ndarray, residual: np.ndarray) -> np.ndarray:
    n = lower.shape[-1]
    if lower.size == 0:
        return np.zeros(len(lower))
    identity = np.eye(n)
    T = np.abs(inverse)
    rounding = (n + 3) * UNIT_ROUNDOFF * (T + np.abs(lower) @ T + identity)
    R = residual + rounding
    diagonal = R.diagonal(axis1=1, axis2=2)
    certified = (diagonal < 1).all(axis=1)
    scale = 1 / np.where(diagonal < 1, 1 - diagonal, 1.0)
    # (I - R)^-1 = (I - D R')^-1 D with the diagonal D = 1 / (1 - r_ii) and the strict part R'.
    series = sweep(np.ascontiguousarray(-scale[:, :, None] * np.tril(R, -1)))[0] * scale[:, None, :]
    bound = _largest(T @ (R @ series)) * (1 + 8 * n * UNIT_ROUNDOFF)
    return np.where(certified & ~np.isnan(bound), bound, np.inf)  # NaN: something overflowed


def _largest(matrices: np.ndarray) -> np.ndarray:
    return np.abs(matrices).max(axis=(1, 2), initial=0.0)
