"""The approximated product: a static part, and a projection of what it misses onto a small basis."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from skfrontier.algos._torch import are_tensors
from skfrontier.algos._validation import check_count, check_interval, check_points
from skfrontier.algos.neural.output_residual.cost import multiply_adds
from skfrontier.algos.neural.output_residual.factors import LowRankFactors, check_factors


@dataclass(frozen=True)
class DynamicProduct:
    """What stands for ``X @ weight``.

    Attributes
    ----------
    output : ndarray or tensor of shape (n, n_outputs)
    error : float, tensor or None
        Estimate of ``||output - X @ weight||_F`` from the probes, whose square is unbiased (over the
        draw of the probes, which must not depend on the basis); None without probes.
    basis : ndarray or tensor of shape (n, r)
        Orthonormal columns; the part of the product in their span is exact. The identity where the
        whole product was computed, no columns where there was no correction.
    """

    output: Any
    error: Any
    basis: Any


def dynamic_matmul(
    X: Any, residual: Any, factors: LowRankFactors, sketch: Any, *, probes: Any = None
) -> DynamicProduct:
    """Approximate ``X @ weight``: static factors, and a correction of the output for this very input.

    Parameters
    ----------
    X : array-like or tensor of shape (n, n_inputs)
        Rows of one group: a picture's patches, a sentence's tokens. Tensors may have leading batch
        dimensions, each index of which is a group.
    residual : array-like or tensor of shape (n_inputs, n_outputs)
        ``R = weight - left @ right``.
    factors : LowRankFactors
        The static part.
    sketch : array-like or tensor of shape (n_inputs, l)
        See `residual_sketch`.
    probes : array-like or tensor of shape (n_inputs, p), optional
        ``R @ omega`` for a standard Gaussian ``omega`` of shape (n_outputs, p).

    Returns
    -------
    DynamicProduct
        Arrays for arrays, tensors for tensors, of the dtype of ``X``.

    Raises
    ------
    ValueError
        If shapes disagree or X is not finite (tensors are not looked into).
    TypeError
        If tensors and arrays are mixed, or tensors lie on different devices.

    Notes
    -----
    With U the orthonormal factor of ``X @ sketch``, the output is ``X A B + U (U^T X) R`` and its error
    exactly ``-(I - U U^T) X R``. For ``n <= l`` that is zero, and ``X A B + X R`` is computed. A single
    row takes the static part alone. All columns of U are kept where ``X @ sketch`` has dependent
    columns: any further direction can only lower the error. The cost is `matmul_cost`. Gradients of
    tensors take U for a constant: they are those of the linear map that was applied, and finite for
    dependent columns, too.

    References
    ----------
    Halko, Martinsson, Tropp, SIAM Review 53 (2011), for the basis and its error. The scheme is this
    library's.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import dynamic_matmul, low_rank_factors, residual_sketch
    >>> rng = np.random.default_rng(0)
    >>> W = rng.normal(size=(40, 30))
    >>> X = rng.normal(size=(100, 4)) @ rng.normal(size=(4, 40))  # a group in its own subspace
    >>> factors = low_rank_factors(W, 2, method="svd")
    >>> sketch = residual_sketch(W, factors, 4, random_state=0)
    >>> product = dynamic_matmul(X, factors.residual(W), factors, sketch)
    >>> np.allclose(product.output, X @ W), product.basis.shape
    (True, (100, 4))
    """
    if are_tensors(X=X, residual=residual, left=factors.left, sketch=sketch, probes=probes):
        from skfrontier.algos.neural.output_residual import nn

        return nn.dynamic_matmul(X, residual, factors, sketch, probes=probes)
    X, residual, sketch, probes = _checked(X, residual, factors, sketch, probes)
    return corrected_product(X, residual, factors, sketch, probes)


def corrected_product(
    X: np.ndarray,
    residual: np.ndarray,
    factors: LowRankFactors,
    sketch: np.ndarray,
    probes: np.ndarray | None,
) -> DynamicProduct:
    """`dynamic_matmul` of arrays that have been checked."""
    n, l = len(X), sketch.shape[1]  # noqa: E741
    if l == 0 or n <= 1:
        output = (X @ factors.left) @ factors.right
        return DynamicProduct(output, _norm_of(X, probes), np.zeros((n, 0), X.dtype))
    if n <= l:
        return whole_product(X, residual, factors, probes)
    # Two wide products in place of four narrow ones: [X A | S] = X [A | G], then [X A | U] [B ; (U^T X) R].
    k = factors.rank
    both = X @ np.concatenate([factors.left, sketch], axis=1)
    U = orthonormal_basis(both[:, k:])
    both[:, k:] = U
    output = both @ np.concatenate([factors.right, (U.T @ X) @ residual])
    if probes is None:
        return DynamicProduct(output, None, U)
    missed = X @ probes
    missed -= U @ (U.T @ missed)
    return DynamicProduct(output, _root_mean_square(missed), U)


def whole_product(
    X: np.ndarray, residual: np.ndarray, factors: LowRankFactors, probes: np.ndarray | None
) -> DynamicProduct:
    """``X A B + X R``, the product itself."""
    output = X @ residual
    output += (X @ factors.left) @ factors.right
    return DynamicProduct(output, None if probes is None else 0.0, np.eye(len(X), dtype=X.dtype))


def orthonormal_basis(S: np.ndarray) -> np.ndarray:
    """Orthonormal columns, as many as ``S`` has, whose span holds that of ``S`` (thin Householder QR).

    Where a column depends on those before it, its direction is arbitrary but needed: columns after it
    have parts along it, so that leaving it out would lose part of the span.
    """
    return linalg.qr(S, mode="economic", check_finite=False)[0]


def adaptive_matmul(
    X: Any,
    residual: Any,
    factors: LowRankFactors,
    sketch: Any,
    probes: Any,
    *,
    tolerance: float,
    block: int = 4,
) -> DynamicProduct:
    """Like `dynamic_matmul`, with just as many columns of the sketch as this input needs.

    Parameters
    ----------
    X, residual, factors, sketch
        As for `dynamic_matmul`, arrays only. The sketch's width is the largest rank; its columns should be
        ordered by importance, as those of a calibrated sketch are.
    probes : array-like of shape (n_inputs, p)
        ``R @ omega``; they decide when to stop.
    tolerance : float
        Relative error of the output at which to stop, more than 0.
    block : int, default=4
        Number of columns by which the basis grows between two looks at the probes.

    Returns
    -------
    DynamicProduct
        ``basis.shape[1]`` is the rank that was used. Where the sketch is exhausted, or going on would
        cost more than the product itself, the whole product is computed.

    Notes
    -----
    The norm of the output is taken as the root of the sum of squares of the static output and of the
    estimated miss. As the probes choose the rank, the estimate at the stop is a little too small on
    average (observed).

    References
    ----------
    Halko, Martinsson, Tropp, SIAM Review 53 (2011), section 4.4, for growing a basis until probes are
    small.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import adaptive_matmul, low_rank_factors, residual_sketch
    >>> rng = np.random.default_rng(0)
    >>> W = rng.normal(size=(40, 30))
    >>> factors = low_rank_factors(W, 4, method="svd")
    >>> R = factors.residual(W)
    >>> sketch = residual_sketch(W, factors, 16, random_state=0)
    >>> probes = R @ rng.normal(size=(30, 8))
    >>> easy = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 40))
    >>> hard = rng.normal(size=(200, 40))
    >>> for X in (easy, hard):
    ...     product = adaptive_matmul(X, R, factors, sketch, probes, tolerance=0.01, block=4)
    ...     print(product.basis.shape[1], np.linalg.norm(product.output - X @ W) < 0.1)
    4 True
    200 True
    """
    if are_tensors(X=X, residual=residual, left=factors.left, sketch=sketch, probes=probes):
        raise TypeError("adaptive_matmul takes arrays; its rank depends on the values.")
    X, residual, sketch, probes = _checked(X, residual, factors, sketch, probes)
    if probes is None or probes.shape[1] == 0:
        raise ValueError("probes must have at least one column; they decide when to stop.")
    tolerance = check_interval(tolerance, "tolerance", 0, math.inf, closed="neither")
    return grown_product(
        X, residual, factors, sketch, probes, tolerance, check_count(block, "block")
    )


def grown_product(
    X: np.ndarray,
    residual: np.ndarray,
    factors: LowRankFactors,
    sketch: np.ndarray,
    probes: np.ndarray,
    tolerance: float,
    block: int,
) -> DynamicProduct:
    """`adaptive_matmul` of arrays that have been checked."""
    n, (a, b) = len(X), residual.shape
    inner = X @ factors.left
    output = inner @ factors.right
    missed = X @ probes
    error = _root_mean_square(missed)
    allowed = tolerance * math.hypot(float(np.linalg.norm(output)), error)
    U = np.zeros((n, 0), X.dtype)
    while error > allowed:
        width = min(U.shape[1] + block, sketch.shape[1])
        too_dear = multiply_adds(n, a, b, 0, width) > n * a * b
        if width == U.shape[1] or width >= n or too_dear:
            output += X @ residual
            return DynamicProduct(output, 0.0, np.eye(n, dtype=X.dtype))
        fresh = X @ sketch[:, U.shape[1] : width]
        for _ in range(2):  # once more against rounding
            fresh = orthonormal_basis(fresh - U @ (U.T @ fresh))
        missed -= fresh @ (fresh.T @ missed)
        U = np.concatenate([U, fresh], axis=1)
        error = _root_mean_square(missed)
    if U.shape[1]:
        output += U @ ((U.T @ X) @ residual)
    return DynamicProduct(output, error, U)


def relative_error(squared_error: float, squared_output: float) -> float:
    """Relative error, the norm of the true output taken from the approximate one and the error."""
    total = squared_error + squared_output
    return math.sqrt(squared_error / total) if total != 0 else 0.0


def _norm_of(X: np.ndarray, probes: np.ndarray | None) -> float | None:
    return None if probes is None else _root_mean_square(X @ probes)


def _root_mean_square(missed: np.ndarray) -> float:
    """Root of the mean over probes of the squared length of their columns; NaN without probes."""
    p = missed.shape[1]
    return float(np.linalg.norm(missed)) / math.sqrt(p) if p else math.nan


def _checked(
    X: Any, residual: Any, factors: LowRankFactors, sketch: Any, probes: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    X, residual = check_points(X, "X"), check_points(residual, "residual")
    a = residual.shape[0]
    if X.shape[1] != a:
        raise ValueError(f"X has {X.shape[1]} columns, but residual has {a} rows.")
    check_factors(factors, residual.shape)
    return (
        X,
        residual,
        _input_rows(sketch, "sketch", a),
        None if probes is None else _input_rows(probes, "probes", a),
    )


def _input_rows(values: Any, name: str, n_inputs: int) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[0] != n_inputs:
        raise ValueError(
            f"{name} must have {n_inputs} rows, one an input of residual; got shape {array.shape}."
        )
    return array
