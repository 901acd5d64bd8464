"""Kernels that fill a block of ``sum_k |q_k - b_k|**p``, vectorised over the features.

References come in tiles of ``TILE`` rows, which stay in the first-level cache while all queries of the
block pass over them. There is no early abandoning inside the loop over the features: a test per
feature costs more than the vector instructions that it saves.
"""

import numpy as np

from skfrontier.algos._numba import njit

TILE = 32

# reassoc, contract, nsz, arcp: the sums may be reordered, their error bound holds for any order. Not
# nnan and ninf: starting values are infinite in the kernels that use these.
_SUMS = {"reassoc", "contract", "nsz", "arcp"}

# The largest relative error of the powers themselves: of float32 powers by polynomials for p <= 2
# (rounding of p log2(t) grows with the exponent), of square roots and the C library in units of eps.
POWER_ERROR_32 = 2e-5
POWER_ULPS = 8

QUARTER_POWERS = {1.25: 1, 1.5: 2, 1.75: 3}


@njit(fastmath=_SUMS)
def absolute_sums(Q, P, out):
    """p = 1. ``Q`` and ``out`` have a multiple of 4 rows, so that 4 sums share each read of ``P``."""
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
def quarter_sums(Q, P, code, out):
    """p = 1.25, 1.5 or 1.75 (``code`` 1, 2 or 3), by square roots, which are exact to half a unit."""
    for first in range(0, P.shape[0], TILE):
        for i in range(Q.shape[0]):
            for j in range(first, min(first + TILE, P.shape[0])):
                q, b = Q[i], P[j]
                total = Q.dtype.type(0)
                if code == 1:
                    for k in range(b.shape[0]):
                        t = abs(q[k] - b[k])
                        total += t * np.sqrt(np.sqrt(t))
                elif code == 2:
                    for k in range(b.shape[0]):
                        t = abs(q[k] - b[k])
                        total += t * np.sqrt(t)
                else:
                    for k in range(b.shape[0]):
                        t = abs(q[k] - b[k])
                        root = np.sqrt(t)
                        total += t * root * np.sqrt(root)
                out[i, j] = total


@njit(fastmath=_SUMS)
def power_sums_64(Q, P, p, out):
    """Any p, float64, by the C library's power."""
    for first in range(0, P.shape[0], TILE):
        for i in range(Q.shape[0]):
            for j in range(first, min(first + TILE, P.shape[0])):
                total = 0.0
                for k in range(P.shape[1]):
                    total += abs(Q[i, k] - P[j, k]) ** p
                out[i, j] = total


@njit(fastmath=_SUMS)
def power_sums_32(Q, P, p, out):
    """Any p in [1, 2], float32 entries below 2**60, to a relative ``POWER_ERROR_32`` per power.

    ``t**p = 2**(p log2 t)`` with the exponent read from the bits of ``t`` and polynomials for the
    mantissa. Shifts and masks are int32 throughout: an int64 would halve the vector length.
    """
    for first in range(0, P.shape[0], TILE):
        for i in range(Q.shape[0]):
            for j in range(first, min(first + TILE, P.shape[0])):
                q, b = Q[i], P[j]
                total = np.float32(0)
                for k in range(b.shape[0]):
                    total += _power_32(abs(q[k] - b[k]), p)
                out[i, j] = total


def _chebyshev_fit(function, degree):
    """Coefficients, lowest first, of a polynomial through Chebyshev nodes on [0, 1]."""
    nodes = 0.5 + 0.5 * np.cos(np.pi * (np.arange(64) + 0.5) / 64)
    return tuple(np.float32(c) for c in np.polyfit(nodes, function(nodes), degree)[::-1])


_LOG = _chebyshev_fit(lambda m: np.log2(1 + m) / m, 6)  # log2(1 + m) = m * poly(m)
_EXP = _chebyshev_fit(np.exp2, 5)
_BIAS = np.int32(127)
_SHIFT = np.int32(23)
_MANTISSA = np.int32(0x007FFFFF)
_ONE_BITS = np.int32(0x3F800000)
_LOWEST = np.float32(-126)


@njit(fastmath=_SUMS)
def _power_32(t, p):
    bits = np.float32(t).view(np.int32)
    exponent = np.float32((bits >> _SHIFT) - _BIAS)
    m = np.int32((bits & _MANTISSA) | _ONE_BITS).view(np.float32) - np.float32(1)
    c0, c1, c2, c3, c4, c5, c6 = _LOG
    log = m * (c0 + m * (c1 + m * (c2 + m * (c3 + m * (c4 + m * (c5 + m * c6))))))
    y = max(p * (exponent + log), _LOWEST)
    whole = np.floor(y)
    f = y - whole
    e0, e1, e2, e3, e4, e5 = _EXP
    mantissa = e0 + f * (e1 + f * (e2 + f * (e3 + f * (e4 + f * e5))))
    return np.int32((np.int32(whole) + _BIAS) << _SHIFT).view(np.float32) * mantissa
