"""Linear rules: budgets, scores, knapsacks."""

from functools import cached_property
from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import as_numbers, check_finite, check_generator, check_interval
from skfrontier.algos.statistics.truncated_boolean.knapsack import IntegerKnapsack
from skfrontier.algos.statistics.truncated_boolean.rows import dense_chunks
from skfrontier.algos.statistics.truncated_boolean.sets.base import (
    TruncationSet,
    not_sparse,
    zero_counts,
)


class Halfspaces(TruncationSet):
    """Rows with ``A x <= b``: costs within budgets, scores above thresholds (with minus signs).

    Parameters
    ----------
    A : array-like of shape (n_constraints, n_features) or (n_features,)
        Coefficients.
    b : array-like of shape (n_constraints,), or float
        Right-hand sides.
    tol : float, default=1e-9
        ``A x <= b + tol`` counts as satisfied.

    Raises
    ------
    ValueError
        If shapes do not fit or entries are not finite.

    Notes
    -----
    Counting flips costs O(N n m) for m constraints; one constraint on CSR rows O(nnz + (N + n) log N). One
    constraint with integer coefficients has exact mass, mean and samples by dynamic programming.

    Examples
    --------
    >>> from skfrontier.algos import Halfspaces
    >>> budget = Halfspaces([2.0, 3.0, 4.0], 5.0)
    >>> budget.contains([[1, 1, 0], [0, 1, 1]])
    array([ True, False])
    >>> budget.flips([[1, 0, 0]])
    array([[ True,  True, False]])
    """

    def __init__(self, A: Any, b: Any, *, tol: float = 1e-9):
        matrix = np.ascontiguousarray(np.atleast_2d(as_numbers(A, "A")), dtype=np.float64)
        bound = np.atleast_1d(as_numbers(b, "b")).astype(np.float64)
        if matrix.ndim != 2 or matrix.shape[1] == 0 or bound.shape != (matrix.shape[0],):
            raise ValueError(
                "A must have shape (n_constraints, n_features) and b (n_constraints,), got "
                f"{matrix.shape} and {bound.shape}."
            )
        check_finite(matrix, "A")
        check_finite(bound, "b")
        self.A, self.b = matrix, bound
        self.tol = check_interval(tol, "tol", 0.0, np.inf, closed="left")
        self.n_features = matrix.shape[1]
        if (np.minimum(matrix, 0).sum(axis=1) > bound + self.tol).any():
            raise ValueError(
                "the halfspaces contain no 0/1 vector: a bound is below every value of its row."
            )

    def __repr__(self) -> str:
        return f"Halfspaces({self.A.shape[0]} constraints, {self.n_features} features)"

    @cached_property
    def _knapsack(self) -> IntegerKnapsack | None:
        if len(self.b) != 1:
            return None
        return IntegerKnapsack.of(self.A[0], self.b[0] + self.tol)

    def is_exact(self, n_features: int) -> bool:
        """For up to 20 features, and for one row of integers with a moderate capacity."""
        return super().is_exact(n_features) or self._knapsack is not None

    def log_mass(self, z: Any) -> float:
        """Log-probability of the set under the product law, where ``is_exact``."""
        if self._knapsack is None:
            return super().log_mass(z)
        return self._knapsack.moments(self._logits(z))[0]

    def mean(self, z: Any) -> np.ndarray:
        """Mean of the restricted law, where ``is_exact``."""
        if self._knapsack is None:
            return super().mean(z)
        return self._knapsack.moments(self._logits(z))[1]

    def sample_exact(self, z: Any, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Independent rows of the restricted law, where ``is_exact``."""
        rng = check_generator(random_state)
        if self._knapsack is None:
            return super().sample_exact(z, n_samples, rng)
        return self._knapsack.sample(self._logits(z), n_samples, rng)

    def _logits(self, z: Any) -> np.ndarray:
        z = np.asarray(z, np.float64)
        if z.shape != (self.n_features,):
            raise ValueError(f"z must have shape ({self.n_features},), got {z.shape}.")
        return z

    def _contains(self, X: np.ndarray) -> np.ndarray:
        return _inside(X, self.A, self.b, self.tol)

    def _flips(self, X: np.ndarray) -> np.ndarray:
        return _halfspace_flips(X, self.A, self.b, self.tol)

    def _fibre_masks(self, X: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        return _halfspace_masks(X, subsets, self.A, self.b, self.tol)

    def _flip_counts(self, X: Any, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        if not not_sparse(X) and len(self.b) == 1 and weights is None:
            return self._sorted_flip_counts(X)
        if weights is not None or not not_sparse(X):
            return super()._flip_counts(X, weights)
        m1, m0 = zero_counts(X.shape[1], None)
        for _, chunk in dense_chunks(X):
            _count_halfspaces(chunk, self.A, self.b, self.tol, m1, m0)
        return m1, m0

    def _sorted_flip_counts(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """One constraint on CSR rows: sort the slacks, then look every coefficient up."""
        a = self.A[0]
        slack = _csr_slack(X.indptr, X.indices, a, self.b[0]) + self.tol
        ordered = np.sort(slack)
        zeros_or_ones = len(slack) - np.searchsorted(
            ordered, a
        )  # rows that could afford coordinate i
        m1, ones = _count_csr(X.indptr, X.indices, a, slack)
        return m1, zeros_or_ones - ones


@inner
def _slack(x, A, b, slack):
    for r in range(A.shape[0]):
        total = b[r]
        for i in range(A.shape[1]):
            total -= A[r, i] * x[i]
        slack[r] = total


@njit
def _inside(X, A, b, tol):
    inside = np.empty(X.shape[0], np.bool_)
    slack = np.empty(A.shape[0])
    for t in range(X.shape[0]):
        _slack(X[t], A, b, slack)
        inside[t] = slack.min() >= -tol
    return inside


@njit
def _halfspace_flips(X, A, b, tol):
    flags = np.ones(X.shape, np.bool_)
    slack = np.empty(A.shape[0])
    for t in range(X.shape[0]):
        _slack(X[t], A, b, slack)
        for r in range(A.shape[0]):
            room = slack[r] + tol
            for i in range(A.shape[1]):
                flags[t, i] &= A[r, i] * (1.0 - 2.0 * X[t, i]) <= room
    return flags


@njit
def _count_halfspaces(X, A, b, tol, m1, m0):
    n = X.shape[1]
    slack = np.empty(A.shape[0])
    open_ = np.empty(n, np.uint8)
    for t in range(X.shape[0]):
        _slack(X[t], A, b, slack)
        for i in range(n):
            open_[i] = 1
        for r in range(A.shape[0]):
            room = slack[r] + tol
            for i in range(n):
                open_[i] &= A[r, i] * (1.0 - 2.0 * X[t, i]) <= room
        for i in range(n):
            ones = open_[i] & X[t, i]
            m1[i] += ones
            m0[i] += open_[i] - ones


@njit
def _csr_slack(pointers, indices, a, bound):
    slack = np.empty(pointers.shape[0] - 1)
    for t in range(slack.shape[0]):
        total = bound
        for e in range(pointers[t], pointers[t + 1]):
            total -= a[indices[e]]
        slack[t] = total
    return slack


@njit
def _count_csr(pointers, indices, a, slack):
    """Ones that may go, and ones in rows that could afford the coordinate once more."""
    m1 = np.zeros(a.shape[0], np.int64)
    affordable = np.zeros(a.shape[0], np.int64)
    for t in range(slack.shape[0]):
        for e in range(pointers[t], pointers[t + 1]):
            i = indices[e]
            m1[i] += slack[t] >= -a[i]
            affordable[i] += slack[t] >= a[i]
    return m1, affordable


@njit
def _halfspace_masks(X, subsets, A, b, tol):
    n_corners = 1 << subsets.shape[1]
    masks = np.empty((X.shape[0], subsets.shape[0]), np.uint16)
    slack = np.empty(A.shape[0])
    for t in range(X.shape[0]):
        _slack(X[t], A, b, slack)
        for e in range(subsets.shape[0]):
            mask = (1 << n_corners) - 1
            for r in range(A.shape[0]):
                room = slack[r] + tol
                for a in range(subsets.shape[1]):
                    room += A[r, subsets[e, a]] * X[t, subsets[e, a]]
                for c in range(n_corners):
                    cost = 0.0
                    for a in range(subsets.shape[1]):
                        if (c >> a) & 1:
                            cost += A[r, subsets[e, a]]
                    if cost > room:
                        mask &= ~(1 << c)
            masks[t, e] = mask
    return masks
