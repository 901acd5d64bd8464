"""Names of the points of one side, and the slots that they stand in."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np


class LiveIds:
    """A dictionary from ids to slots in order of insertion, and back."""

    def __init__(self) -> None:
        self.slot_of: dict[Hashable, int] = {}
        self._id_at = np.empty(8, dtype=object)
        self._next = 0

    def checked_new(
        self, ids: Any, n: int, leaving: Iterable[Hashable], name: str
    ) -> list[Hashable]:
        """Ids for ``n`` new points, fresh integers where none are given."""
        if ids is None:
            return list(range(self._next, self._next + n))
        new = as_ids(ids, name)
        if len(new) != n:
            raise ValueError(f"{name} must hold {n} ids, one for each point; got {len(new)}.")
        gone = set(leaving)
        taken = [i for i in new if i in self.slot_of and i not in gone]
        _refuse(taken, f"{name} holds ids of points that are there already")
        _refuse(_repeated(new), f"{name} holds ids more than once")
        return new

    def checked_known(self, ids: Any, name: str) -> list[Hashable]:
        """Ids that are all there, once each."""
        known = [] if ids is None else as_ids(ids, name)
        _refuse([i for i in known if i not in self.slot_of], f"{name} holds unknown ids")
        _refuse(_repeated(known), f"{name} holds ids more than once")
        return known

    def slots(self, ids: list[Hashable]) -> np.ndarray:
        """Slots of known ids."""
        return np.array([self.slot_of[i] for i in ids], dtype=np.int64)

    def add(self, ids: list[Hashable], slots: np.ndarray) -> None:
        """Note where new points stand."""
        for name, slot in zip(ids, slots, strict=True):
            slot = int(slot)
            if slot >= self._id_at.size:
                self._id_at = np.concatenate([self._id_at, np.empty(slot + 1, dtype=object)])
            self.slot_of[name] = slot
            self._id_at[slot] = name
            if isinstance(name, int) and name >= self._next:
                self._next = name + 1

    def remove(self, ids: list[Hashable]) -> None:
        """Forget points."""
        for name in ids:
            self._id_at[self.slot_of.pop(name)] = None

    def names(self, slots: np.ndarray) -> np.ndarray:
        """Ids in slots: int64 where all of them are integers, else objects."""
        return as_array(list(self._id_at[slots]))

    def copy(self) -> "LiveIds":
        """An independent copy."""
        twin = LiveIds()
        twin.slot_of, twin._id_at, twin._next = dict(self.slot_of), self._id_at.copy(), self._next
        return twin

    def __len__(self) -> int:
        return len(self.slot_of)


def as_ids(ids: Any, name: str) -> list[Hashable]:
    """Ids as a list of hashable objects; numpy integers become Python's."""
    if isinstance(ids, str) or not hasattr(ids, "__iter__"):
        raise ValueError(f"{name} must be a sequence of ids, got {ids!r}.")
    flat = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    flat = [i.item() if isinstance(i, np.integer) else i for i in flat]
    for i in flat:
        try:
            hash(i)
        except TypeError:
            raise ValueError(f"{name} must hold hashable ids, got {i!r}.") from None
    return flat


def as_array(ids: list[Hashable]) -> np.ndarray:
    """Ids as int64 where they fit, else as objects."""
    if all(type(i) is int for i in ids):
        try:
            return np.array(ids, dtype=np.int64)
        except OverflowError:
            pass
    array = np.empty(len(ids), dtype=object)
    for k, name in enumerate(ids):
        array[k] = name
    return array


def _repeated(ids: list[Hashable]) -> list[Hashable]:
    seen: set[Hashable] = set()
    return [i for i in ids if i in seen or seen.add(i)]  # type: ignore[func-returns-value]


def _refuse(ids: list[Hashable], problem: str) -> None:
    if ids:
        shown = ", ".join(map(repr, ids[:5])) + (", ..." if len(ids) > 5 else "")
        raise ValueError(f"{problem}: {shown}.")
