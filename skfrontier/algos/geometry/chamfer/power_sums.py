"""Kernels that fill a block of ``sum_k |q_k - b_k|**p`` with vector instructions.

References come in tiles that stay in the cache while all queries of the block pass over them. There
is no early abandoning inside the loop over the features: a test per feature costs more than the
vector instructions that it saves.
"""

import numpy as np

from skfrontier.algos._numba import njit

TILE = 32  # reference rows of a tile, p = 1
WIDE_TILE = 128  # reference rows of a transposed tile, other p

# reassoc, contract, nsz, arcp: the sums may be reordered, their error bound holds for any order.
# Not nnan and ninf: starting values are infinite in the kernels that use these.
_SUMS = {"reassoc", "contract", "nsz", "arcp"}

# The largest relative error of one power: by polynomials (of the logarithm and the exponential, and
# in float32 of rounding p log2(t), which grows with the exponent), and by square roots, in ulp.
POLYNOMIAL_ERROR = 2e-5
ROOT_ULPS = 4

QUARTER_POWERS = {1.25: 1, 1.5: 2, 1.75: 3}


@njit(fastmath=_SUMS)
def absolute_sums(Q, P, out):
    """Fill the sums for p = 1. ``Q`` and ``out`` have a multiple of 4 rows: 4 sums share a read."""
    zero = Q.dtype.type(0)
    for first in range(0, P.shape[0], TILE):
        for i in range(0, Q.shape[0], 4):
            for j in range(first, min(first + TILE, P.shape[0])):
                q0, q1, q2, q3, b = Q[i], Q[i + 1], Q[i + 2], Q[i + 3], P[j]
                s0 = s1 = s2 = s3 = zero
                for k in range(b.shape[0]):
                    s0 += abs(q0[k] - b[k])
                    s1 += abs(q1[k] - b[k])
                    s2 += abs(q2[k] - b[k])
                    s3 += abs(q3[k] - b[k])
                out[i, j], out[i + 1, j], out[i + 2, j], out[i + 3, j] = s0, s1, s2, s3


@njit(fastmath=_SUMS)
def _transpose(P, first, tile):
    """Copy the rows of ``P`` from ``first`` on into the columns of ``tile``; return their number.

    With references side by side in memory the inner loop runs over references: it fills vectors
    whatever the number of features, and needs no sum across a vector.
    """
    width = min(tile.shape[1], P.shape[0] - first)
    for j in range(width):
        for k in range(P.shape[1]):
            tile[k, j] = P[first + j, k]
    return width


@njit(fastmath=_SUMS)
def quarter_sums(Q, P, code, out):
    """Fill the sums for p = 1.25, 1.5 or 1.75 (``code`` 1, 2 or 3), by square roots."""
    tile = np.empty((P.shape[1], WIDE_TILE), P.dtype)
    for first in range(0, P.shape[0], WIDE_TILE):
        width = _transpose(P, first, tile)
        for i in range(Q.shape[0]):
            sums = out[i, first : first + width]
            sums[:] = 0
            for k in range(P.shape[1]):
                q, b = Q[i, k], tile[k, :width]
                if code == 1:
                    for j in range(width):
                        t = abs(q - b[j])
                        sums[j] += t * np.sqrt(np.sqrt(t))
                elif code == 2:
                    for j in range(width):
                        t = abs(q - b[j])
                        sums[j] += t * np.sqrt(t)
                else:
                    for j in range(width):
                        t = abs(q - b[j])
                        root = np.sqrt(t)
                        sums[j] += t * root * np.sqrt(root)


@njit(fastmath=_SUMS)
def polynomial_sums_32(Q, P, p, out):
    """Any p in [1, 2], float32 entries below 2**60, to ``POLYNOMIAL_ERROR``."""
    tile = np.empty((P.shape[1], WIDE_TILE), P.dtype)
    for first in range(0, P.shape[0], WIDE_TILE):
        width = _transpose(P, first, tile)
        for i in range(Q.shape[0]):
            sums = out[i, first : first + width]
            sums[:] = 0
            for k in range(P.shape[1]):
                q, b = Q[i, k], tile[k, :width]
                for j in range(width):
                    sums[j] += _power_32(abs(q - b[j]), p)


@njit(fastmath=_SUMS)
def polynomial_sums_64(Q, P, p, out):
    """Any p in [1, 2], float64 entries below 2**500, to ``POLYNOMIAL_ERROR``."""
    tile = np.empty((P.shape[1], WIDE_TILE), P.dtype)
    for first in range(0, P.shape[0], WIDE_TILE):
        width = _transpose(P, first, tile)
        for i in range(Q.shape[0]):
            sums = out[i, first : first + width]
            sums[:] = 0
            for k in range(P.shape[1]):
                q, b = Q[i, k], tile[k, :width]
                for j in range(width):
                    sums[j] += _power_64(abs(q - b[j]), p)


def _chebyshev_fit(function, degree):
    """Coefficients, lowest first, of a polynomial through Chebyshev nodes on [0, 1]."""
    nodes = 0.5 + 0.5 * np.cos(np.pi * (np.arange(64) + 0.5) / 64)
    return np.polyfit(nodes, function(nodes), degree)[::-1]


# t**p = 2**(p log2 t): the exponent of t is read from its bits, polynomials do the mantissas. Two
# spellings, because shifts and masks must be integers of the width of the float: anything wider is
# promoted and halves the vector length.
_LOG_64 = tuple(_chebyshev_fit(lambda m: np.log2(1 + m) / m, 6))  # log2(1 + m) = m * poly(m)
_EXP_64 = tuple(_chebyshev_fit(np.exp2, 5))
_LOG_32 = tuple(np.float32(c) for c in _LOG_64)
_EXP_32 = tuple(np.float32(c) for c in _EXP_64)
_BIAS_32, _SHIFT_32 = np.int32(127), np.int32(23)
_MANTISSA_32, _ONE_32 = np.int32(0x007FFFFF), np.int32(0x3F800000)
_BIAS_64, _SHIFT_64 = np.int64(1023), np.int64(52)
_MANTISSA_64, _ONE_64 = np.int64(0x000FFFFFFFFFFFFF), np.int64(0x3FF0000000000000)


@njit(fastmath=_SUMS)
def _power_32(t, p):
    bits = np.float32(t).view(np.int32)
    exponent = np.float32((bits >> _SHIFT_32) - _BIAS_32)
    m = np.int32((bits & _MANTISSA_32) | _ONE_32).view(np.float32) - np.float32(1)
    y = max(p * (exponent + _log2_of_mantissa(m, _LOG_32)), np.float32(-126))
    whole = np.floor(y)
    scale = np.int32((np.int32(whole) + _BIAS_32) << _SHIFT_32).view(np.float32)
    return scale * _exp2_of_fraction(y - whole, _EXP_32)


@njit(fastmath=_SUMS)
def _power_64(t, p):
    bits = np.float64(t).view(np.int64)
    exponent = np.float64((bits >> _SHIFT_64) - _BIAS_64)
    m = np.int64((bits & _MANTISSA_64) | _ONE_64).view(np.float64) - 1.0
    y = max(p * (exponent + _log2_of_mantissa(m, _LOG_64)), -1022.0)
    whole = np.floor(y)
    scale = np.int64((np.int64(whole) + _BIAS_64) << _SHIFT_64).view(np.float64)
    return scale * _exp2_of_fraction(y - whole, _EXP_64)


# Estrin's scheme: short chains of dependent operations keep the arithmetic units busy.
@njit(fastmath=_SUMS)
def _log2_of_mantissa(m, c):
    m2 = m * m
    low = (c[0] + c[1] * m) + (c[2] + c[3] * m) * m2
    high = (c[4] + c[5] * m) + c[6] * m2
    return m * (low + high * (m2 * m2))


@njit(fastmath=_SUMS)
def _exp2_of_fraction(f, c):
    f2 = f * f
    return (c[0] + c[1] * f) + ((c[2] + c[3] * f) + (c[4] + c[5] * f) * f2) * f2
