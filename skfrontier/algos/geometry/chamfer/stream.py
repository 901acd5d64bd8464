"""Chamfer distances of streams: which reservoirs are filled when, and what is read off them."""

from collections.abc import Callable

import numpy as np

from skfrontier.algos._validation import check_interval
from skfrontier.algos.geometry.chamfer.candidates import ZOrderTrees
from skfrontier.algos.geometry.chamfer.distance import ChamferResult, make_result
from skfrontier.algos.geometry.chamfer.exact import prepare_search
from skfrontier.algos.geometry.chamfer.plan import Plan
from skfrontier.algos.geometry.chamfer.reference import Reference
from skfrontier.algos.geometry.chamfer.reservoirs import (
    UniformRows,
    WeightedSlots,
    sum_from_slots,
)
from skfrontier.algos.geometry.chamfer.sampling import bound_terms, weighted_terms


class DistanceStream:
    """Query points streamed once against quadtrees over a stored reference.

    Parameters
    ----------
    n_slots : int
        Number of points kept.
    random_state : Generator
        Source of the reservoir's choices.
    """

    def __init__(self, n_slots: int, random_state: np.random.Generator) -> None:
        self.slots = WeightedSlots(n_slots)
        self.total_weight = 0.0
        self._random_state = random_state

    def observe(self, A: np.ndarray, weights: np.ndarray | None, trees: ZOrderTrees) -> None:
        """Take a validated chunk."""
        if A.shape[0] == 0:
            return
        bounds = bound_terms(A, weights, trees)
        self.slots.observe(A, weights, bounds, self._random_state)
        self.total_weight += A.shape[0] if weights is None else float(weights.sum())

    def result(
        self, plan: Plan, slot_distances: Callable[[np.ndarray], np.ndarray]
    ) -> ChamferResult:
        """Evaluate as many slots as the confidence sequence asks for.

        ``slot_distances`` maps an array of slot numbers to the exact distances of their rows.
        """
        slots = self.slots
        check_interval(plan.epsilon, "epsilon of a stream", 0.0, 1.0, closed="neither")
        if plan.reduction == "mean" and self.total_weight == 0:
            raise ValueError("no weight has been observed: the mean distance is undefined.")

        def exact_terms(batch: np.ndarray) -> np.ndarray:
            return weighted_terms(
                slot_distances(batch), slots.row_weights[batch], plan.metric.power
            )

        total = sum_from_slots(slots, exact_terms, epsilon=plan.epsilon, delta=plan.delta)
        return make_result(total, self.total_weight, "sample", {}, plan)


class TwoPassStream:
    """Both clouds streamed: bounds from a sample of the reference, exact distances in a second pass.

    Parameters
    ----------
    plan : Plan
        Metric, errors and reduction.
    n_slots, n_ref : int
        Query points and reference points kept.
    random_state : Generator
        Source of the reservoirs' choices.
    """

    def __init__(
        self, plan: Plan, *, n_slots: int, n_ref: int, random_state: np.random.Generator
    ) -> None:
        self.plan = plan
        self.n_features: int | None = None
        self._random_state = random_state
        self._sample = UniformRows(n_ref)
        self._trees: ZOrderTrees | None = None
        self._stream = DistanceStream(n_slots, random_state)
        self._distances = np.full(n_slots, np.inf)
        self._n_second = 0

    def first_reference(self, chunk: np.ndarray) -> None:
        """Keep a uniform sample of the reference."""
        self._sample.observe(chunk, self._random_state)
        self.n_features = chunk.shape[1]

    def first_query(self, chunk: np.ndarray, weights: np.ndarray | None) -> None:
        """Keep query points in proportion to their distance from the sample."""
        if self._trees is None:
            if self._sample.n_seen == 0:
                raise ValueError("the reference cloud must have at least one point, got none.")
            self._trees = Reference(self._sample.rows, self.plan, self._random_state).trees()
        self._stream.observe(chunk, weights, self._trees)

    def second_reference(self, chunk: np.ndarray) -> None:
        """Find the exact distances of the kept query points, chunk by chunk."""
        rows = self._stream.slots.rows
        if rows.size and chunk.shape[0]:
            dtype = np.result_type(rows, chunk)
            search = prepare_search(chunk.astype(dtype, copy=False), self.plan.metric)
            found, _ = search.query(rows.astype(dtype, copy=False), n_jobs=self.plan.n_jobs)
            self._distances = np.minimum(self._distances, found)
        self._n_second += chunk.shape[0]

    def result(self) -> ChamferResult:
        """Evaluate the slots; the second pass must have seen as many points as the first."""
        if self._n_second != self._sample.n_seen:
            raise ValueError(
                f"the second pass over the reference had {self._n_second} points, the first "
                f"{self._sample.n_seen}; both must bring the same points."
            )
        return self._stream.result(self.plan, lambda batch: self._distances[batch])
