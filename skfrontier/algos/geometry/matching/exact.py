"""An optimal matching, or one within a limit of work, kept up to date by repairs of its dual solution."""

from typing import Self

import numpy as np

from skfrontier.algos.geometry.matching.certificate import dual_value, transform
from skfrontier.algos.geometry.matching.costs import Cost
from skfrontier.algos.geometry.matching.searches import (
    greedy_start,
    grow,
    highest_price,
    settle,
)
from skfrontier.algos.geometry.matching.store import PointSlots, independent_object, padded

_NO_LIMIT = np.iinfo(np.int64).max
_GREEDY_FROM = 64  # so many free points are worth a greedy start
_CHECK_EVERY = 10_000  # changes between two checks of the potentials for rounding errors
_DRIFT = 1e-9


class DualMatching:
    """Minimum-cost matching under insertions and deletions, with potentials that certify it.

    Points change at once, the matching at the next `flush`: it gives each new point of the larger side its
    highest price, matches the free points of the smaller side (`grow`) and then lowers nothing that need not
    be (`settle`). Without a limit the result is optimal, and the bound equals its cost.

    Parameters
    ----------
    cost : Cost
        Of pairs (a, b).
    n_features : int
    limit : int or None
        Rows that a search may scan; None: as many as it takes.
    """

    def __init__(self, cost: Cost, n_features: int, limit: int | None = None):
        self.cost_of = cost
        self.limit = _NO_LIMIT if limit is None else limit
        self.sides = (PointSlots(n_features), PointSlots(n_features))
        self.mate = [np.full(8, -1, dtype=np.int64) for _ in range(2)]
        self.potential = [np.zeros(8) for _ in range(2)]
        self.price = [np.zeros(8) for _ in range(2)]  # cost of the pair, valid on the smaller side
        self.larger = 1
        self.n_scans = self.n_searches = self.n_refits = 0
        self._changes = 0
        self._dirty = False
        self._last_kind = ""
        self._violation = 0.0
        self._make_work(8)

    # Changes.

    def insert(self, side: int, rows: np.ndarray) -> np.ndarray:
        """Add points of shape (n_new, n_features), and return their slots."""
        self._separate("insert")
        slots = self.sides[side].add(rows)
        self._grow_to(side)
        self.mate[side][slots] = -1
        self.potential[side][slots] = np.nan
        self._changes += len(slots)
        self._dirty |= bool(len(slots))
        return slots

    def delete(self, side: int, slots: np.ndarray) -> None:
        """Remove points; their mates become free."""
        self._separate("delete")
        partners = self.mate[side][slots]
        self.mate[1 - side][partners[partners >= 0]] = -1
        self.mate[side][slots] = -1
        self.sides[side].remove(slots)
        self._changes += len(slots)
        self._dirty |= bool(len(slots))

    def flush(self) -> None:
        """Bring the matching up to date."""
        if not self._dirty:
            return
        saved = self._saved()
        try:
            self._orient()
            self._price_new()
            self._match_free()
            self._settle_free()
            self._dirty = False
            if self._changes >= _CHECK_EVERY:
                self.check()
        except BaseException:
            self.__dict__.update(saved)
            raise

    def _separate(self, kind: str) -> None:
        """Repair insertions before deletions, and the reverse, where searches are limited.

        A limited search may not find the way from a new point to the only free one; two short searches
        do better.
        """
        if self.limit != _NO_LIMIT and kind != self._last_kind:
            self.flush()
        self._last_kind = kind

    def rebuild(self) -> None:
        """Solve from scratch."""
        self._forget()
        self.flush()

    def _forget(self) -> None:
        for side in range(2):
            self.mate[side][:] = -1
            self.potential[side][:] = np.nan
        self.larger = 1
        self._dirty = True

    def refine(self, target_gap: float = 0.0, max_searches: int | None = None) -> None:
        """Search without a limit until the gap is at most ``target_gap``, or so often."""
        self.flush()
        saved, limit = self._saved(), self.limit
        self.limit = _NO_LIMIT
        try:
            self._refine(target_gap, _NO_LIMIT if max_searches is None else max_searches)
        except BaseException:
            self.__dict__.update(saved)
            raise
        finally:
            self.limit = limit

    def _refine(self, target_gap: float, max_searches: int) -> None:
        smaller, larger = 1 - self.larger, self.larger
        last = self.n_searches + max_searches
        tight = 1e-12 * (1 + self._largest_price())
        while self.n_searches < last and self.cost() > (1 + target_gap) * self.lower_bound():
            slack = self._slack()
            worst = int(np.argmax(slack)) if slack.size else -1
            if worst < 0 or slack[worst] <= tight:
                break
            x = self.sides[smaller].live[worst]
            y = self.mate[smaller][x]
            self.mate[smaller][x] = self.mate[larger][y] = -1
            self._grow(x)
            if self.mate[larger][y] < 0 and self.potential[larger][y] < 0:
                self._settle(y)
        for y in self._free_with_price():
            if self.n_searches >= last or self.cost() <= (1 + target_gap) * self.lower_bound():
                break
            self._settle(y)

    # What is known.

    def n(self, side: int) -> int:
        """Number of points of a side."""
        return self.sides[side].n_alive

    def stored(self, side: int) -> np.ndarray:
        """Points by slot, as rows."""
        return self.sides[side].points.T

    def cost(self) -> float:
        """Cost of the matching."""
        smaller = 1 - self.larger
        return float(self.price[smaller][self.sides[smaller].live].sum())

    def lower_bound(self) -> float:
        """Bound from the potentials; it never exceeds the cost."""
        if min(self.n(0), self.n(1)) == 0:
            return 0.0
        value = dual_value(*self.potentials())
        value -= min(self.n(0), self.n(1)) * self._violation
        return min(max(value, 0.0), self.cost())

    def potentials(self) -> tuple[np.ndarray, np.ndarray]:
        """Potentials of both sides, in the order of their live slots."""
        first, second = (self.potential[side][self.sides[side].live] for side in range(2))
        return np.nan_to_num(first), np.nan_to_num(second)

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Slots of the matched points."""
        a = self.sides[0].live
        a = a[self.mate[0][a] >= 0]
        return a, self.mate[0][a]

    def check(self) -> None:
        """Measure how far rounding has moved the potentials; start again where it is too far."""
        self._changes = 0
        smaller, larger = 1 - self.larger, self.larger
        x, y = (self.sides[side].live for side in (smaller, larger))
        if not len(x):
            return
        if self.limit == _NO_LIMIT:
            tight = self.price[smaller][x] - self.potential[larger][self.mate[smaller][x]]
            self.potential[smaller][x] = tight
        best = transform(
            self._cost(smaller),
            np.ascontiguousarray(self.sides[smaller].points[:, x]),
            np.ascontiguousarray(self.sides[larger].points[:, y]),
            self.potential[larger][y],
        )[0]
        self._violation = float(max(0.0, (self.potential[smaller][x] - best).max()))
        if self._violation > _DRIFT * (1 + self._largest_price()):
            self.n_refits += 1
            self._violation = 0.0
            self._forget()
            self._orient()
            self._price_new()
            self._match_free()
            self._settle_free()
            self._dirty = False

    # The steps of a flush.

    def _orient(self) -> None:
        """Let the larger side be the one with more points; on a tie it stays."""
        if self.n(self.larger) >= self.n(1 - self.larger):
            return
        old_smaller, old_larger = 1 - self.larger, self.larger
        paired = self.sides[old_smaller].live
        paired = paired[self.mate[old_smaller][paired] >= 0]
        self.price[old_larger][self.mate[old_smaller][paired]] = self.price[old_smaller][paired]
        known = self.potential[old_smaller][self.sides[old_smaller].live]
        known = known[~np.isnan(known)]
        top = known.max() if known.size else 0.0
        self.potential[old_smaller] -= top
        self.potential[old_larger] += top
        self.larger = old_smaller

    def _price_new(self) -> None:
        smaller, larger = 1 - self.larger, self.larger
        live = self.sides[larger].live
        X, Y = self.sides[smaller], self.sides[larger]
        for y in live[np.isnan(self.potential[larger][live])]:
            self.potential[larger][y] = highest_price(
                y, *self._cost(larger).args, X.points, Y.points, X.n_slots, X.alive,
                self.potential[smaller], self.mate[smaller], self._work[2],
            )  # fmt: skip

    def _match_free(self) -> None:
        smaller, larger = 1 - self.larger, self.larger
        live = self.sides[smaller].live
        free = live[self.mate[smaller][live] < 0]
        if len(free) == len(live) and len(free) >= _GREEDY_FROM:
            X, Y = self.sides[smaller], self.sides[larger]
            greedy_start(
                *self._cost(smaller).args, X.points, Y.points, X.n_slots, Y.n_slots, X.alive,
                Y.alive, self.potential[smaller], self.potential[larger], self.mate[smaller],
                self.mate[larger], self.price[smaller], self._work[2],
            )  # fmt: skip
            free = live[self.mate[smaller][live] < 0]
        for x in free:
            self._grow(x)

    def _settle_free(self) -> None:
        for y in self._free_with_price():
            self._settle(y)

    def _free_with_price(self) -> np.ndarray:
        live = self.sides[self.larger].live
        free = live[self.mate[self.larger][live] < 0]
        return free[self.potential[self.larger][free] < 0]

    def _grow(self, x: int) -> None:
        smaller, larger = 1 - self.larger, self.larger
        self._search(grow, x, smaller, self.sides[larger])

    def _settle(self, y: int) -> None:
        self._search(settle, y, self.larger, self.sides[1 - self.larger])

    def _search(self, search, start: int, from_side: int, scanned: PointSlots) -> None:
        smaller, larger = 1 - self.larger, self.larger
        self.n_scans += search(
            start, self.limit, *self._cost(from_side).args, self.sides[smaller].points,
            self.sides[larger].points, scanned.n_slots, scanned.alive, self.potential[smaller],
            self.potential[larger], self.mate[smaller], self.mate[larger], self.price[smaller],
            *self._work,
        )  # fmt: skip
        self.n_searches += 1

    # Storage.

    def _cost(self, rows: int) -> Cost:
        """Cost of pairs whose first point is on the side ``rows``."""
        return self.cost_of if rows == 0 else self.cost_of.swapped

    def _slack(self) -> np.ndarray:
        smaller, larger = 1 - self.larger, self.larger
        x = self.sides[smaller].live
        reduced = self.potential[smaller][x] + self.potential[larger][self.mate[smaller][x]]
        return self.price[smaller][x] - reduced

    def _largest_price(self) -> float:
        smaller = 1 - self.larger
        prices = self.price[smaller][self.sides[smaller].live]
        return float(prices.max()) if prices.size else 0.0

    def _saved(self) -> dict:
        """What a flush changes, copied; points are not."""
        saved = dict(self.__dict__)
        for name in ("mate", "potential", "price"):
            saved[name] = [array.copy() for array in saved[name]]
        return saved

    def snapshot(self) -> Self:
        """An independent copy."""
        return independent_object(self)

    def _grow_to(self, side: int) -> None:
        size = self.sides[side].capacity
        if size > self.mate[side].size:
            self.mate[side] = padded(self.mate[side], size, -1)
            self.potential[side] = padded(self.potential[side], size, 0.0)
            self.price[side] = padded(self.price[side], size, 0.0)
        if size > self._work[0].size:
            self._make_work(size)

    def _make_work(self, size: int) -> None:
        """Work arrays of the searches: distances, open potentials, a row, predecessors, what was seen."""
        self._work = (
            np.empty(size), np.empty(size), np.empty(size), np.empty(size, dtype=np.int64),
            np.empty(size, dtype=np.int64), np.empty(size),
        )  # fmt: skip
