"""Matrices to invert and a reference that shares no code with the package."""

import numpy as np

from skfrontier.algos import delta_rule_matrix
from skfrontier.datasets import make_delta_rule_keys

KINDS = ("random", "correlated", "equal")
DIRECT = ("substitution", "recursive")
METHODS = (*DIRECT, "neumann", "newton")


def matrices(batch, n, *, kind="random", d=128, gated=False, seed=0):
    """L of delta-rule chunks in float64."""
    return delta_rule_matrix(
        *make_delta_rule_keys(batch, n, d, kind=kind, gated=gated, random_state=seed)
    )


def row_by_row(L):
    """Inverse of I + L, a row at a time in float64."""
    L = np.asarray(L, np.float64)
    n = L.shape[-1]
    T = np.zeros_like(L)
    for i in range(n):
        T[..., i, i] = 1
        T[..., i, :i] = -np.einsum("...k,...kj->...j", L[..., i, :i], T[..., :i, :i])
    return T


def largest_error(T, exact):
    """Largest difference in float64."""
    return float(np.abs(np.asarray(T, np.float64) - exact).max())
