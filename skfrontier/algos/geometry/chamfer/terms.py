"""Weighted powers of distances, in units in which their sums neither overflow nor vanish."""

import math

import numpy as np


class TermScale:
    """Terms ``weight * dist ** power`` over units of weight and distance, and the way back.

    The units are powers of two, fixed by the first weights and the first nonzero distances that are
    seen; so dividing by them is exact.

    Parameters
    ----------
    power : float
        Exponent of the distances.

    Attributes
    ----------
    total_weight : float
        Sum of all weights seen, in their unit.
    """

    def __init__(self, power: float) -> None:
        self.power = power
        self.total_weight = 0.0
        self._weight_unit = 0.0
        self._distance_unit = 0.0

    def weigh(self, weights: np.ndarray | None, n: int) -> np.ndarray | None:
        """Count ``n`` points with these weights (one each for None); return them in their unit."""
        if self._weight_unit == 0 and n:
            self._weight_unit = 1.0 if weights is None else _power_of_two(float(weights.max()))
        if weights is None and self._weight_unit != 1 and n:
            weights = np.ones(n)
        scaled = None if weights is None else weights / self._weight_unit
        self.total_weight += n if scaled is None else float(scaled.sum())
        return scaled

    def terms(self, distances: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the terms of distances whose weights :meth:`weigh` returned."""
        if self._distance_unit == 0 and distances.size:
            largest = float(distances.max())
            self._distance_unit = _power_of_two(largest) if largest > 0 else 0.0
        terms = distances / (self._distance_unit or 1.0)
        with np.errstate(over="ignore"):  # reported once, by the sum
            if self.power != 1:
                terms **= self.power
            return terms if weights is None else terms * weights

    def reduce(self, total: float, reduction: str) -> float:
        """Turn a sum of terms into the 'sum', or the 'mean' over the weights, in units of one."""
        if total == 0:
            return 0.0
        with np.errstate(over="ignore"):
            value = np.float64(total)
            value = value / self.total_weight if reduction == "mean" else value * self._weight_unit
            half = np.float64(self._distance_unit or 1.0) ** (self.power / 2)
            return float(value * half * half)  # in two steps: the square may overflow by itself


def _power_of_two(size: float) -> float:
    """Largest power of two that is at most ``size``; one for zero and infinity."""
    if size == 0 or not math.isfinite(size):
        return 1.0
    return math.ldexp(1.0, math.frexp(size)[1] - 1)
