"""Inverses of many small lower-triangular matrices: the public functions, and the choice of method."""

import sys
import warnings
from typing import Any

import numpy as np

from skfrontier.algos._torch import are_tensors
from skfrontier.algos._validation import check_n_jobs
from skfrontier.algos.neural.triangular_inversion.matrices import (
    check_lower_finite,
    check_matrices,
    stacked,
)
from skfrontier.algos.neural.triangular_inversion.powers import (
    invert_by_doubling,
    invert_by_newton,
)
from skfrontier.algos.neural.triangular_inversion.recursion import invert_by_halves
from skfrontier.algos.neural.triangular_inversion.refinement import refined
from skfrontier.algos.neural.triangular_inversion.row_sweep import sweep
from skfrontier.algos.neural.triangular_inversion.settings import Settings, check_settings

MOST_ROWS = 256  # larger matrices are split, for BLAS to multiply their halves
LARGE_BASE = 128
_INSIDE = ("skfrontier.", "torch.")


def invert_unit_lower(
    L: Any,
    *,
    method: str = "auto",
    refine: Any = "auto",
    base: int = 16,
    guard: bool = True,
    growth_limit: float = 4.0,
    n_jobs: Any = None,
) -> Any:
    r"""Inverses of the unit lower-triangular matrices I + L.

    Parameters
    ----------
    L : array or tensor of shape (..., n, n)
        Floating type. Only the entries below the diagonal are read.
    method : {'auto', 'substitution', 'recursive', 'neumann', 'newton'}, default='auto'
        'substitution' and 'recursive' are as accurate as the precision allows for every matrix that the
        delta rule makes. 'neumann' (repeated squaring) and 'newton' are made of matrix products only, but
        pass through powers of ``L``, which may be huge.

        'auto' is 'substitution' for arrays and tensors of the CPU up to n = 256, and for tensors of other
        devices up to n = 16; else 'recursive'.
    refine : {'auto', 0, 1, 2}, default='auto'
        Number of corrections by a residual that is computed in the next wider type. 'auto' makes none, and
        computes half precision in single precision with one rounding at the end, which is cheaper and exact
        to the rounding of the result. A number keeps the products of half-precision matrices in half
        precision, for hardware where only those are fast.
    base : int, default=16
        Size of the diagonal blocks that 'recursive' inverts by substitution. For arrays, 'auto' takes at
        least 128.
    guard : bool, default=True
        Whether 'neumann' and 'newton' give way to 'recursive', with a warning, where an entry of L, L^2,
        L^4, ... exceeds ``growth_limit``.
    growth_limit : float, default=4.0
        See ``guard``.
    n_jobs : int or None, default=None
        Number of threads over the matrices, as in joblib; for arrays and 'substitution' only.

    Returns
    -------
    array or tensor of shape (..., n, n)
        Of the kind, type and device of ``L``: ones on the diagonal and zeros above it, exactly.
        For tensors, differentiable in ``L``.

    Raises
    ------
    TypeError
        If ``L`` is not of a floating type.
    ValueError
        If the matrices are not square, hold NaN or infinity below the diagonal, or an option is unknown.

    Warns
    -----
    UserWarning
        If the guard chose another method.

    See Also
    --------
    invert_lower : Any diagonal.
    triangular_inverse_report : Certified error of an inverse.

    Notes
    -----
    *Errors.* A computed inverse of 'substitution' or 'recursive' differs from T by at most c_n u \|T\|
    \|I + L\| \|T\|, entry by entry, u being the unit roundoff (proven: Du Croz and Higham 1992).
    'neumann' and 'newton' lose about u times the largest entry of L, L^2, L^4, ... (observed). For the
    delta rule the entries of T are at most 2 with keys of norm one, see
    :func:`delta_rule_inverse_bound`, while those of the powers have no useful bound.

    *Cost.* n^3 / 6 multiply-adds for 'substitution', about n^3 / 3 for 'recursive', 2 t n^3 for the others,
    t = log2 n. Arrays whose memory is not in C order are copied. Tensors make the host wait once, for
    the check of finite values, and once more for the guard.

    *Gradient.* dL = -tril(T^T dT T^T, -1), without a graph through the method; it may be differentiated
    again.

    References
    ----------
    .. [1] Sobczyk et al., arXiv:2605.21325.
    .. [2] J. Du Croz, N. Higham, *Stability of methods for matrix inversion*, IMA Journal of Numerical
       Analysis, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import invert_unit_lower
    >>> L = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.5, 0.0]])
    >>> invert_unit_lower(L)
    array([[ 1.  ,  0.  ,  0.  ],
           [-0.5 ,  1.  ,  0.  ],
           [-0.25, -0.5 ,  1.  ]])
    """
    settings = check_settings(method, refine, base, guard, growth_limit)
    check_n_jobs(n_jobs)
    if are_tensors(L=L):
        from skfrontier.algos.neural.triangular_inversion import nn

        return nn.invert_unit_lower(L, settings)
    array = check_matrices(L, "L")
    return _invert_checking(stacked(array), settings, n_jobs).reshape(array.shape)


def invert_lower(
    A: Any,
    *,
    method: str = "auto",
    refine: Any = "auto",
    base: int = 16,
    guard: bool = True,
    growth_limit: float = 4.0,
    n_jobs: Any = None,
) -> Any:
    """Inverses of lower-triangular matrices.

    Parameters
    ----------
    A : array or tensor of shape (..., n, n)
        Floating type. Entries above the diagonal are not read.
    method, refine, base, guard, growth_limit, n_jobs
        As in :func:`invert_unit_lower`.

    Returns
    -------
    array or tensor of shape (..., n, n)
        Of the kind, type and device of ``A``, zeros above the diagonal. For tensors, differentiable in
        ``A``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a diagonal has a zero; ``torch.linalg.LinAlgError`` for tensors.
    TypeError, ValueError
        As :func:`invert_unit_lower`.

    Notes
    -----
    A = D (I + L) with the diagonal D: rows are divided by it first, and the columns of the inverse of I + L
    afterwards. Both are rounded componentwise, so the error bound of :func:`invert_unit_lower` holds
    with A in place of I + L, unless a quotient overflows: rows whose diagonal is tiny beside their other
    entries may give infinity where the inverse is only large.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import invert_lower
    >>> invert_lower(np.array([[2.0, 0.0], [1.0, 4.0]]))
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    settings = check_settings(method, refine, base, guard, growth_limit)
    check_n_jobs(n_jobs)
    if are_tensors(A=A):
        from skfrontier.algos.neural.triangular_inversion import nn

        return nn.invert_lower(A, settings)
    array = check_matrices(A, "A")
    stack = stacked(array)
    check_lower_finite(stack, "A", diagonal=True)
    if array.dtype == np.float16 and not settings.in_half:
        return (
            _invert_scaled(stack.astype(np.float32), settings, n_jobs)
            .astype(np.float16)
            .reshape(array.shape)
        )
    return _invert_scaled(stack, settings, n_jobs).reshape(array.shape)


def _invert_scaled(A: np.ndarray, settings: Settings, n_jobs: Any) -> np.ndarray:
    diagonal = A.diagonal(axis1=1, axis2=2)
    zero = np.argwhere(diagonal == 0)
    if len(zero):
        matrix, i = (int(index) for index in zero[0])
        raise np.linalg.LinAlgError(
            f"Matrix {matrix} of A is singular: diagonal entry {i} is zero."
        )
    L = np.tril(A, -1) / diagonal[:, :, None]
    return invert_stack(L, settings, n_jobs)[0] / diagonal[:, None, :]


def _invert_checking(L: np.ndarray, settings: Settings, n_jobs: Any) -> np.ndarray:
    """Invert; where the result is not finite, find out whether the input was.

    What is not finite in L never vanishes: the sum for the entry of T at its place contains it.
    """
    T, finite = invert_stack(L, settings, n_jobs)
    if not finite and not np.isfinite(T.sum(dtype=np.float64)):
        check_lower_finite(L, "L")
    return T


def invert_stack(L: np.ndarray, settings: Settings, n_jobs: Any = None) -> tuple[np.ndarray, bool]:
    """Inverses of a contiguous stack (m, n, n), and whether their entries are known to be finite."""
    if L.size == 0:
        return L.copy(), True
    if L.dtype == np.float16 and not settings.in_half:
        T, finite = invert_stack(L.astype(np.float32), settings, n_jobs)
        with np.errstate(over="ignore"):
            return T.astype(np.float16), finite
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # of the input or the method, told afterwards
        T, finite = _by_method(L, settings, n_jobs)
        for _ in range(settings.refinements or 0):
            T = refined(L, T)
    return T, finite


def _by_method(L: np.ndarray, settings: Settings, n_jobs: Any) -> tuple[np.ndarray, bool]:
    method, base = settings.method, settings.base
    if method == "auto":
        small = L.shape[-1] <= MOST_ROWS
        # In half precision a number of refinements asks for products, which substitution has not.
        in_products = L.dtype == np.float16
        method = "substitution" if small and not in_products else "recursive"
        base = base if in_products else max(base, LARGE_BASE)
    if method == "substitution":
        return sweep(L, n_jobs)
    if method in ("neumann", "newton"):
        by_powers = invert_by_doubling if method == "neumann" else invert_by_newton
        T, growth = by_powers(L)
        if not settings.guard or growth <= settings.growth_limit:
            return T, False
        check_lower_finite(L, "L")
        warn_of_growth(method, growth, settings.growth_limit)
    return invert_by_halves(L, base), False


def warn_of_growth(method: str, growth: float, limit: float) -> None:
    """Say that another method was taken, and why."""
    warnings.warn(
        f"method={method!r} would lose accuracy: a power of L has an entry of size {growth:.3g}, above "
        f"growth_limit={limit:g}. method='recursive' was used; ask for it, or for 'auto', to save the time.",
        UserWarning,
        stacklevel=_outside(),
    )


def _outside() -> int:
    """Level, for warnings, of the first caller outside of the package and of torch, which calls it back."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    return level
