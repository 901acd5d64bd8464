"""One linear rule with integer coefficients: mass, mean and samples by dynamic programming."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from skfrontier.algos._numba import njit

_MAX_CAPACITY = 100_000
_MAX_TABLE = 20_000_000  # entries of 8 bytes
_MAX_TILT = 40.0


@dataclass(frozen=True)
class IntegerKnapsack:
    """Rows with sum_i costs_i y_i <= capacity, where y is x with some coordinates mirrored.

    Attributes
    ----------
    costs : ndarray of shape (n_features,), dtype int64
        Not negative.
    capacity : int
        Not negative, and not above the sum of the costs.
    mirrored : ndarray of shape (n_features,), dtype bool
        Coordinates with y_i = 1 - x_i: those whose coefficient was negative.
    """

    costs: np.ndarray
    capacity: int
    mirrored: np.ndarray

    @staticmethod
    def of(a: np.ndarray, bound: float) -> "IntegerKnapsack | None":
        """The knapsack of ``a x <= bound``, or None if it is not integer or too large."""
        if (a != np.floor(a)).any() or np.abs(a).sum() > 2**53:
            return None
        mirrored = a < 0
        costs = np.abs(a).astype(np.int64)
        capacity = int(np.floor(bound - np.minimum(a, 0).sum()))
        capacity = min(capacity, int(costs.sum()))
        too_large = (len(a) + 1) * (capacity + 1) > _MAX_TABLE
        if capacity < 0 or capacity > _MAX_CAPACITY or too_large:
            return None
        return IntegerKnapsack(costs, capacity, mirrored)

    def moments(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-mass under the product law with logits ``z``, and mean of the restricted law."""
        y, lam, table, weights = self._pass(z)
        gain = (np.logaddexp(0, y - lam * self.costs) - np.logaddexp(0, y)).sum()
        log_mass = np.log(table[-1] @ weights) + gain + lam * self.capacity
        tilted = y - lam * self.costs
        means = _knapsack_means(expit(tilted), expit(-tilted), self.costs, table, weights)
        return float(log_mass), np.where(self.mirrored, 1 - means, means)

    def sample(self, z: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Independent rows of the restricted law."""
        y, lam, table, weights = self._pass(z)
        law = table[-1] * weights
        totals = rng.choice(len(law), n_samples, p=law / law.sum())
        uniforms = rng.random((n_samples, len(y)))
        X = np.empty((n_samples, len(y)), np.uint8)
        _sample_knapsack(expit(y - lam * self.costs), self.costs, table, totals, uniforms, X)
        return X ^ self.mirrored

    def _pass(self, z: np.ndarray) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """Logits of y, tilt, table of the partial costs, weights that undo the tilt.

        Tilted by exp(-lam cost) until the expected cost is the capacity; weights are then at most 1.
        """
        y = np.where(self.mirrored, -z, z)
        lam = self._tilt(y)
        tilted = y - lam * self.costs
        table = _cost_table(expit(tilted), expit(-tilted), self.costs, self.capacity)
        weights = np.exp(lam * (np.arange(self.capacity + 1) - self.capacity))
        return y, lam, table, weights

    def _tilt(self, y: np.ndarray) -> float:
        target = max(self.capacity, 0.5)

        def excess(lam: float) -> float:
            return float(expit(y - lam * self.costs) @ self.costs - target)

        if excess(0.0) <= 0:
            return 0.0
        strongest = _MAX_TILT + float(np.abs(y).max())
        top = strongest / max(1, self.costs[self.costs > 0].min())
        return float(brentq(excess, 0.0, top)) if excess(top) < 0 else top


@njit
def _cost_table(p, q, costs, capacity):
    """Law of the cost of the first i coordinates, costs beyond the capacity left out.

    ``q`` is 1 - p, which would be 0 where p is nearly 1.
    """
    table = np.zeros((p.shape[0] + 1, capacity + 1))
    table[0, 0] = 1.0
    for i in range(p.shape[0]):
        for k in range(capacity + 1):
            come = table[i, k - costs[i]] if k >= costs[i] else 0.0
            table[i + 1, k] = q[i] * table[i, k] + p[i] * come
    return table


@njit
def _knapsack_means(p, q, costs, table, weights):
    n, size = p.shape[0], weights.shape[0]
    after = weights.copy()
    total = 0.0
    for k in range(size):
        total += table[n, k] * weights[k]
    means = np.empty(n)
    for i in range(n - 1, -1, -1):
        one = 0.0
        for k in range(size):  # ascending: entries above k are still those of step i + 1
            up = after[k + costs[i]] if k + costs[i] < size else 0.0
            one += table[i, k] * up
            after[k] = q[i] * after[k] + p[i] * up
        means[i] = p[i] * one / total
    return means


@njit
def _sample_knapsack(p, costs, table, totals, uniforms, X):
    for t in range(totals.shape[0]):
        k = totals[t]
        for i in range(p.shape[0] - 1, -1, -1):
            come = table[i, k - costs[i]] if k >= costs[i] else 0.0
            X[t, i] = uniforms[t, i] < p[i] * come / table[i + 1, k]
            if X[t, i]:
                k -= costs[i]
