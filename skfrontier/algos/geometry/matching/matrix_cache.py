"""Exact matching with a user's function as the metric: each distance is asked for once."""

from dataclasses import replace
from typing import Self

import numpy as np

from skfrontier.algos.geometry.matching.costs import matrix_cost
from skfrontier.algos.geometry.matching.distance_rows import CallableRows
from skfrontier.algos.geometry.matching.exact import DualMatching


class CachedMatching(DualMatching):
    """`DualMatching` of objects whose distances a function computes.

    A search would ask for the same distances again and again, and calls are the dear part: they are kept, in
    a matrix of (capacity of A) x (capacity of B) floats. Points are numbers of objects.
    """

    def __init__(self, rows: CallableRows, power: float, limit: int | None = None):
        super().__init__(matrix_cost(np.zeros((8, 8)), power), 1, limit)
        self.rows = rows
        self._number = [np.zeros(8), np.zeros(8)]  # of the object in each slot

    def insert(self, side: int, rows: np.ndarray) -> np.ndarray:
        """Add objects by their numbers, of shape (n_new, 1); nothing changes if the function raises."""
        others = self.sides[1 - side].live
        numbers = self._number[1 - side][others][None, :]
        distances = [self.rows.row(x, numbers) for x in rows]
        slots = super().insert(side, np.zeros((len(rows), 1)))
        self.sides[side].points[0, slots] = slots  # a point of the matrix is its slot
        self._make_room()
        self._number[side][slots] = rows[:, 0]
        for slot, row in zip(slots, distances, strict=True):
            place = (slot, others) if side == 0 else (others, slot)
            self.cost_of.matrix[place] = row
        return slots

    def stored(self, side: int) -> np.ndarray:
        """Numbers of the objects by slot, as rows."""
        return self._number[side][:, None]

    def _make_room(self) -> None:
        shape = tuple(side.capacity for side in self.sides)
        old = self.cost_of.matrix
        if shape != old.shape:
            grown = np.zeros(shape)
            grown[: old.shape[0], : old.shape[1]] = old
            self.cost_of = replace(self.cost_of, matrix=grown)
            for side in range(2):
                number = np.zeros(shape[side])
                number[: self._number[side].size] = self._number[side]
                self._number[side] = number

    def snapshot(self) -> Self:
        """An independent copy."""
        twin = super().snapshot()
        twin.cost_of = replace(self.cost_of, matrix=self.cost_of.matrix.copy())
        return twin
