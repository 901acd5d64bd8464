"""Prices that bound the cost of a matching from below, kept while points come and go."""

from dataclasses import dataclass

import numpy as np

from skfrontier.algos.geometry.matching.auction import (
    auction,
    find_prices,
    find_values,
    reverse_auction,
)
from skfrontier.algos.geometry.matching.certificate import dual_value
from skfrontier.algos.geometry.matching.costs import Cost
from skfrontier.algos.geometry.matching.exact import DualMatching
from skfrontier.algos.geometry.matching.point_tree import PointTree
from skfrontier.algos.geometry.matching.store import padded

_COARSE = (64.0, 16.0, 4.0, 1.0, 0.3)  # steps of a first auction, in mean edges
_MANY_FREE = 0.3  # share of bidders without a pair from which an auction starts with coarse steps
_NEAR = 32  # objects that a bidder remembers
_BIDS = 1000  # for each bidder, at most
_SAMPLE = 400
_ROUNDING = 16 * np.finfo(float).eps


@dataclass(frozen=True)
class Side:
    """Points of a side: columns, the slots of those that are there, and their tree."""

    points: np.ndarray
    live: np.ndarray
    tree: PointTree


class KeptPrices:
    """Feasible potentials of two sides of points, and the pairs of an auction.

    The smaller side bids for points of the larger. A bidder's value is its least ``c + price``: values and
    negative prices are feasible potentials whatever the prices are. A point that comes gets the potential
    that its side's rule gives it, one that goes is dropped; both are O(log n) tree searches or less. They
    leave the bound close for a while, and `improve` lets those bid who have lost their partner.

    Parameters
    ----------
    cost : Cost
        An l_q norm, power 1.
    capacity : int
        Slots.
    """

    def __init__(self, cost: Cost, capacity: int):
        self.cost = cost
        self.bidding = 0  # which side bids
        self.value, self.price = np.full(capacity, np.nan), np.full(capacity, np.nan)
        self.owned, self.owner = (np.full(capacity, -1, dtype=np.int64) for _ in range(2))
        self._forget_wishes(capacity)
        self.n_changes = 0

    def reserve(self, capacity: int) -> None:
        """Make room for more slots."""
        if capacity > self.value.size:
            self.value, self.price = (padded(x, capacity, np.nan) for x in (self.value, self.price))
            self.owned, self.owner = (padded(x, capacity, -1) for x in (self.owned, self.owner))
            self._forget_wishes(capacity)

    def forget(self, side: int, slots: np.ndarray) -> None:
        """Points have left these slots, or come to them."""
        potential, mine, theirs = (
            (self.value, self.owned, self.owner)
            if side == self.bidding
            else (self.price, self.owner, self.owned)
        )
        partners = mine[slots]
        theirs[partners[partners >= 0]] = -1
        mine[slots] = -1
        potential[slots] = np.nan
        if side == self.bidding:
            self._beyond[slots] = -np.inf
        self.n_changes += len(slots)

    def start(self, sides: tuple[Side, Side], rng: np.random.Generator) -> None:
        """Take the best of a few guesses for the prices: none, along the shift of means, of a sample."""
        self._orient(sides)
        X, Y = sides[self.bidding], sides[1 - self.bidding]
        best = -np.inf
        for prices in self._guesses(X, Y, rng):
            self.price[Y.live] = prices
            self._beyond[:] = -np.inf
            self._find_values(X, Y, X.live)
            bound = self._dual_value(X, Y)
            if bound > best:
                best, price, value = bound, prices, self.value[X.live]
        self.price[Y.live], self.value[X.live] = price, value
        self._beyond[:] = -np.inf

    def bound(self, sides: tuple[Side, Side]) -> float:
        """No matching of the smaller side costs less."""
        self._orient(sides)
        X, Y = sides[self.bidding], sides[1 - self.bidding]
        self._welcome(X, Y)
        rounding = np.abs(self.value[X.live]).sum() + np.abs(self.price[Y.live]).sum()
        return self._dual_value(X, Y) - _ROUNDING * float(rounding)

    def potentials(self, sides: tuple[Side, Side]) -> tuple[np.ndarray, np.ndarray]:
        """Feasible potentials of sides A and B, in the order of live slots."""
        self._orient(sides)
        X, Y = sides[self.bidding], sides[1 - self.bidding]
        self._welcome(X, Y)
        u, v = self.value[X.live], -self.price[Y.live]
        return (u, v) if self.bidding == 0 else (v, u)

    def improve(self, sides: tuple[Side, Side], eps: float, mean_edge: float) -> None:
        """Let those bid whose partner is gone, with the step ``eps`` in mean edges."""
        self._orient(sides)
        X, Y = sides[self.bidding], sides[1 - self.bidding]
        self._welcome(X, Y)
        lowest = self.price[Y.live].min()  # prices rise and rise; only their differences count
        self.price -= lowest
        self.value -= lowest
        self._beyond -= lowest
        n_free = int((self.owned[X.live] < 0).sum())
        steps = (*_COARSE, eps) if n_free > _MANY_FREE * len(X.live) else (eps,)
        for step in steps:
            self._auction(X, Y, step * mean_edge)
            if len(Y.live) > len(X.live):
                self._reverse_auction(X, Y, step * mean_edge)
            self._find_values(X, Y, X.live)
        self.n_changes = 0

    def pairs(self, sides: tuple[Side, Side]) -> tuple[np.ndarray, np.ndarray] | None:
        """Slots of A and B that belong together; None where a bidder was left without a partner."""
        x = sides[self.bidding].live
        if (self.owned[x] < 0).any():
            return None
        return (x, self.owned[x]) if self.bidding == 0 else (self.owned[x], x)

    # Steps.

    def _orient(self, sides: tuple[Side, Side]) -> None:
        """Let the smaller side bid; on a tie it stays. Potentials keep their meaning."""
        if len(sides[self.bidding].live) <= len(sides[1 - self.bidding].live):
            return
        self.bidding = 1 - self.bidding
        self.value, self.price = -self.price, -self.value
        self.owned, self.owner = self.owner, self.owned
        self._beyond[:] = -np.inf

    def _welcome(self, X: Side, Y: Side) -> None:
        """Potentials for new points: the lowest prices, then the values, that are feasible."""
        new = Y.live[np.isnan(self.price[Y.live])]
        if len(new):
            value = np.where(np.isnan(self.value), -np.inf, self.value)
            find_prices(*self._norm, Y.points, X.tree, X.points, value, new, self.price)
            self._beyond[:] = -np.inf  # a new object may be what a bidder wants
            unasked = new[np.isinf(self.price[new])]  # all bidders are new as well
            known = self.price[Y.live][np.isfinite(self.price[Y.live])]
            self.price[unasked] = known.min() if known.size else 0.0
        self._find_values(X, Y, X.live[np.isnan(self.value[X.live])])

    def _find_values(self, X: Side, Y: Side, bidders: np.ndarray) -> None:
        find_values(
            *self._norm, X.points, Y.tree, Y.points, self.price, self._near, self._beyond, bidders,
            self.value,
        )  # fmt: skip

    def _forget_wishes(self, capacity: int) -> None:
        """The few objects that a bidder likes best, and the least that any other can cost it."""
        self._near = np.full((capacity, _NEAR), -1, dtype=np.int64)
        self._beyond = np.full(capacity, -np.inf)

    def _auction(self, X: Side, Y: Side, eps: float) -> None:
        """Free the bidders that hold too dear a thing, and let the free ones bid."""
        x = X.live[self.owned[X.live] >= 0]
        y = self.owned[x]
        dear = self._edges(X, Y, x, y) + self.price[y] > self.value[x] + eps * (1 + 1e-9)
        self.owned[x[dear]] = self.owner[y[dear]] = -1
        free = X.live[self.owned[X.live] < 0]
        auction(
            *self._norm, X.points, Y.tree, Y.points, self.price, self._near, self._beyond,
            self.owner, self.owned, free, len(free), eps, _BIDS * len(X.live),
        )  # fmt: skip

    def _reverse_auction(self, X: Side, Y: Side, eps: float) -> None:
        """Lower the prices of free objects to those of the cheapest pair, or find them a bidder."""
        x = X.live
        if (self.owned[x] < 0).any():
            return
        y = self.owned[x]
        floor = self.price[y].min()
        free = Y.live[self.owner[Y.live] < 0]
        free = free[self.price[free] > floor]
        key = np.full(self.value.size, np.inf)
        key[x] = -(self._edges(X, Y, x, y) + self.price[y])
        reverse_auction(
            *self._norm, X.tree, X.points, key, Y.points, self.price, self.owner, self.owned, free,
            len(free), floor, eps, _BIDS * len(X.live),
        )  # fmt: skip
        self._beyond[:] = -np.inf  # prices have fallen

    def _edges(self, X: Side, Y: Side, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.linalg.norm(X.points[:, x] - Y.points[:, y], ord=self.cost.norm, axis=0)

    def _dual_value(self, X: Side, Y: Side) -> float:
        return dual_value(self.value[X.live], -self.price[Y.live])

    def _guesses(self, X: Side, Y: Side, rng: np.random.Generator) -> list[np.ndarray]:
        P, Q = X.points[:, X.live], Y.points[:, Y.live]
        guesses = [np.zeros(len(Y.live))]
        shift = P.mean(axis=1) - Q.mean(axis=1)
        length = np.linalg.norm(shift)
        if length > 0:
            guesses.append((shift / length) @ Q)
        if min(len(X.live), len(Y.live)) > _SAMPLE:
            x, y = (rng.choice(side.live, _SAMPLE, replace=False) for side in (X, Y))
            value = np.full(self.value.size, -np.inf)
            value[x] = sample_potentials(self.cost, X.points[:, x], Y.points[:, y])
            found = np.empty(self.price.size)
            find_prices(*self._norm, Y.points, X.tree, X.points, value, Y.live, found)
            guesses.append(found[Y.live])
        return guesses

    @property
    def _norm(self) -> tuple[int, float]:
        return self.cost.code, self.cost.q


def sample_potentials(cost: Cost, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Optimal potentials of the columns of ``p`` against as many of ``q``."""
    engine = DualMatching(cost, p.shape[0])
    engine.insert(0, p.T)
    engine.insert(1, q.T)
    engine.flush()
    return engine.potentials()[0]
