"""The stream of random bits of each forest, known from its number alone."""

from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_generator

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_LOW_32 = np.uint64(0xFFFFFFFF)
_UNIT = 2.0**-64


def base_seed(random_state: Any) -> np.uint64:
    """Draw the seed from which the streams of all forests of a call come."""
    return np.uint64(check_generator(random_state).integers(2**64, dtype=np.uint64))


def stream_seeds(base: np.uint64, first: int, count: int, stride: int = 1) -> np.ndarray:
    """Seeds of the streams ``first, first + stride, ...``: they depend on nothing but their number."""
    numbers = np.uint64(first) + np.uint64(stride) * np.arange(count, dtype=np.uint64)
    return mixed(base + numbers * GOLDEN)


@njit
def mixed(z):
    """Finalizer of splitmix64."""
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@inner
def slot_of(r, size):
    """One of ``size`` slots (uint64) from 64 random bits: the high word of ``r * size``."""
    return ((r >> _32) * size + (((r & _LOW_32) * size) >> _32)) >> _32


@inner
def fraction_of(r, size):
    """The low word of ``r * size`` as a fraction of 1: independent of the slot."""
    return float(r * size) * _UNIT
