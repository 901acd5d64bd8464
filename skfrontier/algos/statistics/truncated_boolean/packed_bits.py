"""Rows packed into bits, column by column: an eighth of the memory, counted by population counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.statistics.truncated_boolean.rows import binary_rows, dense, row_slices


@dataclass(frozen=True)
class PackedBits:
    """Rows of zeros and ones, 64 to a word.

    Attributes
    ----------
    planes : ndarray of shape (n_features, n_words), dtype uint64
        Bit ``t % 64`` of word ``t // 64`` is row t; the bits beyond the last row are 0.
    row_sums : ndarray of shape (n_samples,), dtype int64
        Number of ones of every row.
    shape : tuple of int
        (n_samples, n_features).
    """

    planes: np.ndarray
    row_sums: np.ndarray
    shape: tuple[int, int]


def pack_bits(X: Any) -> PackedBits:
    """Pack rows of zeros and ones into bits, for counting them again and again.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Zeros and ones.

    Returns
    -------
    PackedBits

    Raises
    ------
    ValueError
        If ``X`` is not two-dimensional or holds other values.

    See Also
    --------
    Cardinality.flip_counts : Takes packed rows.

    Notes
    -----
    Packing reads every entry once; counting then reads an eighth of the bytes.

    Examples
    --------
    >>> from skfrontier.algos import Cardinality, pack_bits
    >>> X = [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    >>> packed = pack_bits(X)
    >>> packed.planes.tolist(), packed.row_sums.tolist()
    ([[3], [2], [4]], [1, 2, 1])
    >>> Cardinality(min=1).flip_counts(packed)[0]
    array([1, 1, 0])
    """
    rows = binary_rows(X)
    n_samples, n_features = rows.shape
    planes = np.zeros((n_features, (n_samples + 63) // 64), np.uint64)
    sums = np.zeros(n_samples, np.int64)
    step = max(64, row_slices(n_samples, n_features)[0].stop // 64 * 64) if n_samples else 64
    for start in range(0, n_samples, step):
        _pack(dense(rows[start : start + step]), start, planes, sums)
    return PackedBits(planes, sums, (n_samples, n_features))


def pack_flags(flags: np.ndarray) -> np.ndarray:
    """Pack one boolean vector like a column."""
    return pack_bits(flags[:, None]).planes[0]


def masked_counts(planes: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Per column, the number of rows with a one where ``mask`` has a one too."""
    return _masked_counts(planes, mask)


@njit
def _pack(X, start, planes, sums):
    for t in range(X.shape[0]):
        word = (start + t) // 64
        bit = np.uint64(1) << np.uint64((start + t) % 64)
        total = 0
        for i in range(X.shape[1]):
            if X[t, i]:
                planes[i, word] |= bit
                total += 1
        sums[start + t] = total


@inner
def _popcount(word):
    # All arithmetic stays in uint64: mixed with int64 it would become float64.
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit
def _masked_counts(planes, mask):
    counts = np.zeros(planes.shape[0], np.int64)
    for i in range(planes.shape[0]):
        total = np.uint64(0)
        for word in range(planes.shape[1]):
            total += _popcount(planes[i, word] & mask[word])
        counts[i] = total
    return counts
