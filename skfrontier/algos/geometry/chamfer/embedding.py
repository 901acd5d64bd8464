"""Random linear maps: p-stable (l_p into l_1, one-sided guarantees) and Toeplitz (l_2 into l_2)."""

import math
from typing import Any

import numpy as np
from scipy import fft

from skfrontier.algos._validation import (
    RandomState,
    check_count,
    check_generator,
    check_interval,
    check_points,
)

_TOEPLITZ_BLOCK = 4096  # rows at a time: bounds the memory of the transforms


def lopsided_embedding(
    X: Any,
    n_components: int,
    *,
    p: float,
    random_state: RandomState = None,
) -> np.ndarray:
    """Embed l_p into l_1 for 1 < p <= 2: exact in the mean, and hardly ever contracting.

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        Points. Two sets that are to be compared must be embedded in one call or with one seed.
    n_components : int
        Dimension of the embedding.
    p : float
        The norm of the differences, in (1, 2].
    random_state : int, Generator or None, default=None
        Seed of the map.

    Returns
    -------
    ndarray of shape (n_points, n_components)
        ``f(x) = x G / (n_components c_p)`` with iid standard symmetric p-stable entries in ``G`` and
        ``c_p = E|g| = (2/pi) Gamma(1 - 1/p)``, in the floating type of ``X``.

    Raises
    ------
    ValueError
        If ``p`` is outside (1, 2] (at p = 1 the mean of a stable variable is infinite),
        ``n_components`` is below 1, or ``X`` is not a finite 2-D array.

    Notes
    -----
    Proven: ``E ||f(x)||_1 = ||x||_p``, and
    ``P(||f(x)||_1 < (1 - eta) ||x||_p) <= exp(-C_p n_components eta**(p/(p-1)))``. There is no upper
    tail bound for p < 2 (the variance is infinite), so distances in the embedding find candidates;
    they are not values to report. Cost O(n_points n_features n_components).

    References
    ----------
    .. [1] Indyk, "Stable distributions, pseudorandom generators, embeddings, and data stream
       computation", Journal of the ACM 53 (2006).
    .. [2] Chambers, Mallows, Stuck, "A method for simulating stable random variables", Journal of the
       American Statistical Association 71 (1976).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import lopsided_embedding
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> Z = lopsided_embedding(X, 20_000, p=2, random_state=0)
    >>> bool(abs(np.abs(Z[1] - Z[0]).sum() - 5) < 0.1)
    True
    """
    X = check_points(X, "X")
    n_components = check_count(n_components, "n_components")
    p = check_interval(p, "p", 1.0, 2.0, closed="right")
    rng = check_generator(random_state)
    stable = symmetric_stable(p, (X.shape[1], n_components), rng)
    return X @ (stable / (n_components * mean_absolute_stable(p))).astype(X.dtype)


def toeplitz_fjlt(X: Any, n_components: int, *, random_state: RandomState = None) -> np.ndarray:
    """Reduce the dimension by a random signed Toeplitz matrix, applied by FFT.

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        Points.
    n_components : int
        Dimension of the result.
    random_state : int, Generator or None, default=None
        Seed of the map.

    Returns
    -------
    ndarray of shape (n_points, n_components)
        ``T S x / sqrt(n_components)`` for each row x, in the floating type of ``X``.

    Raises
    ------
    ValueError
        If ``n_components`` is below 1 or ``X`` is not a finite 2-D array.

    Notes
    -----
    Proven: squared lengths are kept in the mean. Cost O(n_points m log m) with
    ``m = n_features + n_components``. A dense Gaussian map by BLAS is faster up to several hundred
    components; this one needs only O(m) random numbers.

    References
    ----------
    .. [1] Hinrichs, Vybiral, "Johnson-Lindenstrauss lemma for circulant matrices", Random Structures
       and Algorithms 39 (2011).
    .. [2] Freksen, Larsen, "On using Toeplitz and circulant matrices for Johnson-Lindenstrauss
       transforms", ISAAC 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import toeplitz_fjlt
    >>> X = np.random.default_rng(0).standard_normal((3, 500))
    >>> toeplitz_fjlt(X, 64, random_state=0).shape
    (3, 64)
    """
    X = check_points(X, "X")
    n_components = check_count(n_components, "n_components")
    signs, diagonals = toeplitz_signs(X.shape[1], n_components, check_generator(random_state))
    return apply_toeplitz(X, signs, diagonals)


def mean_absolute_stable(p: float) -> float:
    """Mean of ``|g|`` for a standard symmetric p-stable ``g`` (characteristic exp(-|t|**p)), p > 1."""
    return 2 / math.pi * math.gamma(1 - 1 / p)


def symmetric_stable(
    p: float, shape: tuple[int, ...], random_state: np.random.Generator
) -> np.ndarray:
    """Draw standard symmetric p-stable numbers, 1 <= p <= 2 (p = 2: normal of variance 2)."""
    angle = random_state.uniform(-math.pi / 2, math.pi / 2, shape)
    exponential = random_state.standard_exponential(shape)
    if p == 1:
        return np.tan(angle)
    return (
        np.sin(p * angle)
        / np.cos(angle) ** (1 / p)
        * (np.cos((1 - p) * angle) / exponential) ** ((1 - p) / p)
    )


def toeplitz_signs(
    n_features: int, n_components: int, random_state: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the signs S of the features and the signs of the diagonals of T."""
    signs = random_state.choice([-1.0, 1.0], n_features)
    diagonals = random_state.choice([-1.0, 1.0], n_features + n_components - 1)
    return signs, diagonals


def apply_toeplitz(X: np.ndarray, signs: np.ndarray, diagonals: np.ndarray) -> np.ndarray:
    """Multiply each row by ``T S / sqrt(k)`` where ``T[i, j] = diagonals[i - j + n_features - 1]``."""
    n_features = signs.size
    n_components = diagonals.size - n_features + 1
    # A circular convolution this long wraps only into the first n_features - 1 entries, unused below.
    length = fft.next_fast_len(diagonals.size, real=True)
    spectrum = fft.rfft(diagonals, length)
    out = np.empty((X.shape[0], n_components), X.dtype)
    for start in range(0, X.shape[0], _TOEPLITZ_BLOCK):
        block = slice(start, start + _TOEPLITZ_BLOCK)
        product = fft.irfft(fft.rfft(X[block] * signs, length) * spectrum, length)
        out[block] = product[:, n_features - 1 : n_features - 1 + n_components]
    out /= math.sqrt(n_components)
    return out
