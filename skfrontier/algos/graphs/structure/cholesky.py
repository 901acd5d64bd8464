"""Small dense systems inside kernels: factor, solve, invert, in place and without BLAS."""

import numpy as np

from skfrontier.algos._numba import inner

_PIVOT = 1e-14  # of the largest diagonal entry; a smaller pivot is rounding


@inner
def factor(A, size):
    """Overwrite the lower triangle of the leading block of ``A`` by its Cholesky factor."""
    largest = 0.0
    for a in range(size):
        largest = max(largest, A[a, a])
    for a in range(size):
        for b in range(a + 1):
            total = A[a, b]
            for c in range(b):
                total -= A[a, c] * A[b, c]
            if a == b:
                A[a, a] = np.sqrt(max(total, _PIVOT * largest))
            else:
                A[a, b] = total / A[b, b]


@inner
def solve(L, x, size):
    """Overwrite ``x`` by the solution of ``L L' z = x``."""
    for a in range(size):
        total = x[a]
        for b in range(a):
            total -= L[a, b] * x[b]
        x[a] = total / L[a, a]
    for a in range(size - 1, -1, -1):
        total = x[a]
        for b in range(a + 1, size):
            total -= L[b, a] * x[b]
        x[a] = total / L[a, a]


@inner
def invert(L, inverse, column, size):
    """Write the inverse of ``L L'`` into the leading block of ``inverse``; ``column`` is scratch."""
    for c in range(size):
        for a in range(size):
            column[a] = 0.0
        column[c] = 1.0
        solve(L, column, size)
        for a in range(size):
            inverse[a, c] = column[a]
