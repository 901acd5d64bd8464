"""The sampler on streams: reservoirs of fixed size, filled in one pass, evaluated at the end."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from skfrontier.algos.geometry.chamfer.betting import BettingTotal
from skfrontier.algos.geometry.chamfer.sampling import (
    FIRST_BATCH,
    LARGEST_BATCH,
    ROUNDING,
    SampledSum,
)


class WeightedSlots:
    """Independent draws from a stream of rows, each in proportion to its bound.

    Every slot is a weighted reservoir of size one: a chunk whose bounds add up to ``S_c`` takes the slot
    over with probability ``S_c / S``, ``S`` being the sum so far. So each slot holds row ``a`` with
    probability ``bound_a / S`` at any time, independently of the other slots.

    Parameters
    ----------
    n_slots : int
        Number of draws kept.
    """

    def __init__(self, n_slots: int) -> None:
        self.n_slots = n_slots
        self.total = 0.0
        self.rows = np.empty((0, 0))  # until the first chunk
        self.row_weights = np.ones(n_slots)
        self.bounds = np.zeros(n_slots)

    def observe(
        self,
        rows: np.ndarray,
        weights: np.ndarray | None,
        bounds: np.ndarray,
        random_state: np.random.Generator,
    ) -> None:
        """Take a chunk with the upper bounds of its weighted terms."""
        cumulative = np.cumsum(bounds)
        chunk_total = float(cumulative[-1]) if bounds.size else 0.0
        if chunk_total == 0:
            return
        total = self.total + chunk_total
        replaced = np.flatnonzero(random_state.random(self.n_slots) < chunk_total / total)
        targets = random_state.random(replaced.size) * chunk_total
        drawn = np.searchsorted(cumulative, targets, side="right")
        drawn = np.minimum(drawn, np.searchsorted(cumulative, chunk_total, side="left"))
        if self.rows.size == 0:
            self.rows = np.empty((self.n_slots, rows.shape[1]), rows.dtype)
        elif np.result_type(self.rows, rows) != self.rows.dtype:
            self.rows = self.rows.astype(rows.dtype)
        self.rows[replaced] = rows[drawn]
        self.row_weights[replaced] = 1.0 if weights is None else weights[drawn]
        self.bounds[replaced] = bounds[drawn]
        self.total = total


@dataclass
class UniformRows:
    """Uniform sample without replacement of the rows of a stream (reservoir sampling)."""

    capacity: int
    rows: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    n_seen: int = 0

    def observe(self, rows: np.ndarray, random_state: np.random.Generator) -> None:
        """Take a chunk."""
        free = max(0, min(self.capacity - self.n_seen, rows.shape[0]))
        head, rest = rows[:free], rows[free:]
        kept = np.concatenate([self.rows, head]) if self.n_seen else head.copy()
        if rest.shape[0]:
            first = self.n_seen + free
            place = random_state.integers(0, np.arange(first + 1, first + rest.shape[0] + 1))
            taken = np.flatnonzero(place < self.capacity)
            for i in taken:  # in order of arrival: a later row overwrites an earlier one
                kept[place[i]] = rest[i]
        self.rows = kept
        self.n_seen += rows.shape[0]


def sum_from_slots(
    slots: WeightedSlots,
    exact_terms: Callable[[np.ndarray], np.ndarray],
    *,
    epsilon: float,
    delta: float,
) -> SampledSum:
    """Estimate the sum of all terms of the stream from the slots.

    Parameters
    ----------
    slots : WeightedSlots
        The reservoir.
    exact_terms : callable
        Maps an array of slot numbers to the exact weighted terms of their rows.
    epsilon, delta : float
        The slots are evaluated batch by batch until the relative error ``epsilon`` is certified with
        probability ``1 - delta``, or all are used.
    """
    total = BettingTotal(epsilon, delta)
    ceiling = slots.total * (1 + ROUNDING)
    if slots.total == 0:
        return SampledSum(0.0, 0.0, 0.0, 0.0, 0.0, n_draws=0, n_exact=0, exact=True)
    while total.n_draws < slots.n_slots and not total.stopped:
        n_batch = min(max(total.n_draws // 8, FIRST_BATCH), LARGEST_BATCH)
        batch = np.arange(total.n_draws, min(total.n_draws + n_batch, slots.n_slots))
        total.update(slots.total * exact_terms(batch) / slots.bounds[batch], 0.0, ceiling)
    low, high = total.bounds()
    return SampledSum(
        value=total.estimate,
        low=low,
        high=high,
        standard_error=total.standard_error,
        upper_bound=slots.total,
        n_draws=total.n_draws,
        n_exact=total.n_draws,
        exact=False,
    )
