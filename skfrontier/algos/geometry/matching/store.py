"""One side of a matching: points in slots that are used again after a deletion."""

import copy
from typing import Any

import numpy as np


class PointSlots:
    """Points as columns of an array that grows; a slot keeps its number while its point lives.

    Attributes
    ----------
    points : float64 array of shape (n_features, capacity)
    alive : bool array of shape (capacity,)
    n_slots : int
        Slots from here on have never been used.
    n_alive : int
    """

    def __init__(self, n_features: int):
        self.points = np.zeros((n_features, 8))
        self.alive = np.zeros(8, dtype=bool)
        self.n_slots = self.n_alive = 0
        self._vacant: list[int] = []

    @property
    def capacity(self) -> int:
        """Number of columns."""
        return self.alive.size

    @property
    def live(self) -> np.ndarray:
        """Slots of the points, ascending."""
        return np.flatnonzero(self.alive[: self.n_slots])

    def add(self, rows: np.ndarray) -> np.ndarray:
        """Store points of shape (n_new, n_features) and return their slots."""
        n_reused = min(len(self._vacant), len(rows))
        reused = [self._vacant.pop() for _ in range(n_reused)]
        fresh = np.arange(self.n_slots, self.n_slots + len(rows) - n_reused)
        slots = np.concatenate([np.array(reused, dtype=np.int64), fresh])
        self.n_slots += len(fresh)
        self._grow_to(self.n_slots)
        self.points[:, slots] = rows.T
        self.alive[slots] = True
        self.n_alive += len(rows)
        return slots

    def remove(self, slots: np.ndarray) -> None:
        """Free the slots of points."""
        self.alive[slots] = False
        self.n_alive -= len(slots)
        self._vacant.extend(int(slot) for slot in slots)

    def _grow_to(self, n: int) -> None:
        if n > self.capacity:
            size = max(2 * self.capacity, n)
            self.points = padded(self.points, size, 0.0)
            self.alive = padded(self.alive, size, False)


def padded(array: np.ndarray, size: int, value) -> np.ndarray:
    """``array`` with its last axis lengthened to ``size``."""
    grown = np.full((*array.shape[:-1], size), value, dtype=array.dtype)
    grown[..., : array.shape[-1]] = array
    return grown


def independent(value: Any) -> Any:
    """A copy that shares no array, list or generator with ``value``; other objects are shared."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, np.random.Generator):
        return copy.deepcopy(value)
    if isinstance(value, list):
        return [independent(item) for item in value]
    if isinstance(value, tuple):
        items = (independent(item) for item in value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, PointSlots):
        return independent_object(value)
    return value


def independent_object(original: Any) -> Any:
    """A copy of an object whose attributes are `independent` of the original's."""
    twin = copy.copy(original)
    for name, value in vars(original).items():
        setattr(twin, name, independent(value))
    return twin
