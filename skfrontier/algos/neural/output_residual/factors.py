"""Static low-rank parts of a weight, and the sketch that finds what they miss in the outputs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_generator,
    check_interval,
    check_points,
)

METHODS = ("whitened", "svd", "asvd")


@dataclass(frozen=True)
class LowRankFactors:
    """A weight of low rank, ``left @ right``.

    Attributes
    ----------
    left : ndarray of shape (n_inputs, rank)
    right : ndarray of shape (rank, n_outputs)
    """

    left: Any
    right: Any

    @property
    def rank(self) -> int:
        """Number of columns of ``left``."""
        return int(self.left.shape[1])

    def leading(self, rank: int) -> "LowRankFactors":
        """The first ``rank`` columns and rows: the best of that rank, since the methods are nested."""
        return LowRankFactors(self.left[:, :rank], self.right[:rank])

    def residual(self, weight: Any) -> Any:
        """What the factors miss of ``weight``."""
        return weight - self.left @ self.right


def low_rank_factors(
    weight: Any,
    rank: int,
    *,
    method: str = "whitened",
    second_moment: Any = None,
    abs_mean: Any = None,
    alpha: float = 0.5,
) -> LowRankFactors:
    """Static factors ``A B`` of a weight ``W``, so that ``X A B`` stands for ``X W``.

    Parameters
    ----------
    weight : array-like of shape (n_inputs, n_outputs)
        Used as ``X @ weight``.
    rank : int
        Number of columns of A, from 0 to ``min(weight.shape)``.
    method : {'whitened', 'svd', 'asvd'}, default='whitened'
        'svd' is blind to the inputs. 'asvd' weighs input i by ``abs_mean[i] ** alpha``. 'whitened'
        minimises the mean squared error of the outputs over the inputs that ``second_moment`` was taken
        from.
    second_moment : array-like of shape (n_inputs, n_inputs), optional
        ``X.T @ X`` of calibration inputs up to a factor; needed by 'whitened'.
    abs_mean : array-like of shape (n_inputs,), optional
        Mean absolute value of each input; needed by 'asvd'.
    alpha : float, default=0.5
        Exponent of 'asvd', at least 0.

    Returns
    -------
    LowRankFactors
        Nested: the first k columns of A and rows of B are the answer for rank k. float64.

    Raises
    ------
    ValueError
        If the rank is out of range, shapes disagree, or what the method needs is missing.

    Notes
    -----
    With P the top eigenvectors of ``W^T H W``, H the second moment, ``A = W P`` and ``B = P^T`` is the
    minimiser of ``E ||x (W - A B)||^2`` over all maps of that rank (proven: Eckart-Young for ``H^{1/2}
    W``). No root of H is taken or inverted, so that H may be singular. Cost: ``O(a b (a + b))``.

    References
    ----------
    Wang et al., *SVD-LLM*, ICLR 2025, arXiv:2403.07378 (the minimiser 'whitened'); Yuan et al., *ASVD*,
    arXiv:2312.05821 ('asvd').

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import low_rank_factors
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 6))  # inputs in a plane
    >>> W = rng.normal(size=(6, 5))
    >>> factors = low_rank_factors(W, 2, second_moment=X.T @ X)
    >>> np.allclose(X @ factors.left @ factors.right, X @ W)
    True
    """
    W = check_points(weight, "weight").astype(np.float64, copy=False)
    k = _check_rank(rank, "rank", W.shape)
    check_choice(method, "method", METHODS)
    H = check_second_moment(second_moment, W.shape[0])
    if method == "whitened":
        if H is None:
            raise ValueError(
                "method='whitened' needs second_moment, X.T @ X of calibration inputs."
            )
        return whitened_factors(W, H, k)
    if method == "svd":
        return svd_factors(W, k)
    alpha = check_interval(alpha, "alpha", 0, np.inf, closed="left")
    if abs_mean is None:
        raise ValueError("method='asvd' needs abs_mean, the mean absolute value of each input.")
    scale = np.asarray(abs_mean, dtype=np.float64)
    if scale.shape != (W.shape[0],) or not (np.isfinite(scale).all() and (scale >= 0).all()):
        raise ValueError(
            f"abs_mean must hold {W.shape[0]} finite numbers >= 0, one an input; got shape {scale.shape}."
        )
    return asvd_factors(W, scale, k, alpha)


def residual_sketch(
    weight: Any,
    factors: LowRankFactors,
    rank: int,
    *,
    second_moment: Any = None,
    random_state: Any = None,
) -> np.ndarray:
    """Matrix G = R Omega whose product with a group of inputs spans most of their missing outputs.

    Parameters
    ----------
    weight : array-like of shape (n_inputs, n_outputs)
        Used as ``X @ weight``.
    factors : LowRankFactors
        The static part; ``R = weight - left @ right``.
    rank : int
        Number of columns of G, from 0 to ``min(weight.shape)``.
    second_moment : array-like of shape (n_inputs, n_inputs), optional
        If given, Omega holds the top eigenvectors of ``R^T H R`` ('calibrated'): the directions in which
        calibration inputs miss most. For whitened factors they are the next eigenvectors after the
        static ones. If None, Omega is Gaussian.
    random_state : int, Generator, RandomState or None, default=None
        Seed of a Gaussian Omega.

    Returns
    -------
    ndarray of shape (n_inputs, rank)
        float64. The columns of a calibrated sketch are ordered by importance.

    Notes
    -----
    For a Gaussian Omega of ``r + p`` columns, ``p >= 2``, the mean of ``||E - U U^T E||_F`` over its
    draws is at most ``sqrt(1 + r / (p - 1))`` times the distance of ``E = X R`` from rank r (proven:
    Halko, Martinsson and Tropp). A calibrated sketch has no such bound for inputs of another law; it was
    found a little better than Gaussian (observed).

    References
    ----------
    Halko, Martinsson, Tropp, SIAM Review 53 (2011), theorem 10.5.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import low_rank_factors, residual_sketch
    >>> W = np.diag([4.0, 3.0, 2.0, 1.0])
    >>> factors = low_rank_factors(W, 1, method="svd")
    >>> abs(residual_sketch(W, factors, 1, second_moment=np.eye(4)).ravel())
    array([0., 3., 0., 0.])
    """
    W = check_points(weight, "weight").astype(np.float64, copy=False)
    l = _check_rank(rank, "rank", W.shape)  # noqa: E741
    check_factors(factors, W.shape)
    H = check_second_moment(second_moment, W.shape[0])
    R = factors.residual(W)
    if H is None:
        return R @ check_generator(random_state).standard_normal((W.shape[1], l))
    return calibrated_sketch(R, H, l)


def whitened_factors(W: np.ndarray, H: np.ndarray, k: int) -> LowRankFactors:
    """``A = W P, B = P^T`` with the top eigenvectors P of ``W^T H W``."""
    P = top_eigenvectors(W, H, k)
    return LowRankFactors(W @ P, P.T.copy())


def svd_factors(W: np.ndarray, k: int) -> LowRankFactors:
    """The best approximation of the weight itself (Eckart-Young)."""
    U, s, Vt = linalg.svd(W, full_matrices=False, check_finite=False)
    return LowRankFactors(U[:, :k] * s[:k], Vt[:k])


def asvd_factors(W: np.ndarray, abs_mean: np.ndarray, k: int, alpha: float) -> LowRankFactors:
    """SVD of ``diag(s) W`` with ``s = abs_mean ** alpha``, and the scale taken back."""
    largest = abs_mean.max()
    if largest == 0:
        return svd_factors(W, k)
    s = np.maximum(abs_mean / largest, 1e-12) ** alpha  # an input that is never on gets no weight
    scaled = svd_factors(s[:, None] * W, k)
    return LowRankFactors(scaled.left / s[:, None], scaled.right)


def calibrated_sketch(R: np.ndarray, H: np.ndarray, l: int) -> np.ndarray:  # noqa: E741
    """``R`` times the top eigenvectors of ``R^T H R``."""
    return R @ top_eigenvectors(R, H, l)


def top_eigenvectors(W: np.ndarray, H: np.ndarray, count: int) -> np.ndarray:
    """Leading eigenvectors of ``W^T H W`` as columns, largest eigenvalue first."""
    a, b = W.shape
    if count == 0:
        return np.zeros((b, 0))
    if a < b:  # the eigenvectors lie in the row space of W: an eigenproblem of size a is enough
        Q, T = linalg.qr(W.T, mode="economic", check_finite=False)
        return Q @ _leading(T @ H @ T.T, count)
    return _leading(W.T @ H @ W, count)


def _leading(M: np.ndarray, count: int) -> np.ndarray:
    size = len(M)
    _, V = linalg.eigh((M + M.T) / 2, subset_by_index=(size - count, size - 1), check_finite=False)
    return V[:, ::-1]


def check_second_moment(second_moment: Any, n_inputs: int) -> np.ndarray | None:
    """Return the second moment as float64, or raise where its shape does not fit."""
    if second_moment is None:
        return None
    H = check_points(second_moment, "second_moment").astype(np.float64, copy=False)
    if H.shape != (n_inputs, n_inputs):
        raise ValueError(
            f"second_moment must have shape ({n_inputs}, {n_inputs}), one row an input of weight; "
            f"got {H.shape}."
        )
    return H


def check_factors(factors: Any, shape: tuple[int, ...]) -> None:
    """Raise unless ``factors`` multiply to a matrix of ``shape``."""
    if not isinstance(factors, LowRankFactors):
        raise TypeError(f"factors must be LowRankFactors, got {type(factors).__name__}.")
    left, right = tuple(factors.left.shape), tuple(factors.right.shape)
    if (left[0], right[1]) != tuple(shape) or left[1] != right[0]:
        raise ValueError(
            f"factors of shapes {left} and {right} do not fit a weight of shape {tuple(shape)}."
        )


def _check_rank(rank: Any, name: str, shape: tuple[int, ...]) -> int:
    return check_count(rank, name, 0, min(shape))
