"""Matching of many points in few dimensions: a floor with a proven bound, chains that improve on it."""

import contextlib
from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from skfrontier.algos.geometry.matching.certificate import dual_value, two_transforms
from skfrontier.algos.geometry.matching.chains import (
    ABSENT,
    FREE,
    LiveMatching,
    enter,
    leave,
    new_live,
    pair_free,
    queue_all,
    queue_around_free,
    run_chains,
)
from skfrontier.algos.geometry.matching.costs import Cost
from skfrontier.algos.geometry.matching.grid_floor import (
    floor_clear,
    floor_fill,
    new_floor,
)
from skfrontier.algos.geometry.matching.point_tree import PointTree, new_tree, tree_fill
from skfrontier.algos.geometry.matching.prices import KeptPrices, Side
from skfrontier.algos.geometry.matching.store import PointSlots

_UNLIMITED = np.iinfo(np.int64).max
_FINEST_BITS = 52
_TRANSFORMS = 4e7  # pairs up to which two c-transforms belong to the usual bound
_AUCTION = 4e8  # pairs up to which the usual bound comes from an auction
_TREE_FEATURES = 4  # up to so many, a tree finds what a bidder wants without a look at most points
_USUAL, _FINE = 0.15, 0.05  # steps of auctions, in mean edges
_FEW_CHANGES, _TURNS = 32, 40  # auctions go on after n / 20 changes
_ROUNDS = 20  # of chains and of queueing those who would rather have what became free


class GeometricMatching:
    """Matching of points in R^d for p = 1 and an l_q norm.

    The floor is the matching inside cells of a shifted grid; its expected cost is at most
    ``s d L`` times the best, plus what the finest cells leave. The live matching starts from it, is improved
    by ejection chains, and falls back to it whenever it should be dearer.

    Parameters
    ----------
    cost : Cost
        An l_q norm, power 1.
    n_features : int
    ratio : int
        Cells of one level to those of the next: 2, 4, 8 or 16.
    n_levels : int or None
        Levels below the root; None: so that the finest cells cost little.
    bounds : pair of arrays or None
        Lowest and highest coordinates; None: those of the points.
    n_candidates, depth, max_chains : int
        Near points of each a, length of a chain, chains an update. No candidates: the floor alone.
    rng : numpy Generator
    """

    def __init__(
        self,
        cost: Cost,
        n_features: int,
        *,
        ratio: int,
        n_levels: int | None,
        bounds: tuple[np.ndarray, np.ndarray] | None,
        n_candidates: int,
        depth: int,
        max_chains: int,
        rng: np.random.Generator,
    ):
        self.cost_of, self.rng = cost, rng
        self.bits = int(np.log2(ratio))
        self.n_levels, self.bounds = n_levels, bounds
        self.n_candidates, self.depth, self.max_chains = n_candidates, depth, max_chains
        self.sides = (PointSlots(n_features), PointSlots(n_features))
        self.levels = 0
        self.n_refits = 0
        self._built = self._dirty = False
        self._compared = False  # whether the live matching is known to cost no more than the floor
        self._prices: KeptPrices | None = None
        self._eps = np.inf  # step of the last auction
        self.live: LiveMatching = new_live(8, max(n_candidates, 1))

    # Changes.

    def insert(self, side: int, rows: np.ndarray) -> np.ndarray:
        """Add points of shape (n_new, n_features), and return their slots."""
        slots = self.sides[side].add(rows)
        if not len(slots):
            return slots
        if self._prices is not None:
            self._prices.reserve(self.sides[side].capacity)
            self._prices.forget(side, slots)
        self._dirty, self._compared = True, False
        fits = self._built and self.sides[side].capacity <= self._capacity and self._inside(rows)
        if not fits or self._outgrown():
            self.n_refits += int(self._built and not self._inside(rows))
            self._built = False
            return slots
        self._built = False  # until all of it is done
        coordinates = self._coordinates(rows)
        floor_fill(self.floor, 2 * slots + side, coordinates, self.bits)
        if self.n_candidates:
            enter(self.live, *self._geometry(), side, slots)
        self._n_changes += len(slots)
        self._built = True
        return slots

    def delete(self, side: int, slots: np.ndarray) -> None:
        """Remove points."""
        if not len(slots):
            return
        self._dirty, self._compared = True, False
        self.sides[side].remove(slots)
        if self._prices is not None:
            self._prices.forget(side, np.asarray(slots))
        if not self._built:
            return
        self._built = False
        floor_clear(self.floor, 2 * np.asarray(slots) + side)
        if self.n_candidates:
            before = self.live.totals[1]
            leave(self.live, *self._geometry(), side, slots)
            freed = self.live.totals[1] - before
            if side == 0 and freed > 0 and self.n(1) > self.n(0):
                code, q, A, B, tree_a, _ = self._geometry()
                queue_around_free(self.live, code, q, A, B, tree_a, freed)
        self._n_changes += len(slots)
        self._built = True

    def flush(self) -> None:
        """Pair what is free, and run chains from there."""
        if not self._dirty:
            return
        if not self._built:
            self._build()
        elif self.n_candidates:
            pair_free(self.live, *self._geometry())
            self._run(self.max_chains)
            if self._n_changes > 2 * max(self._n_built, 500):
                self._plant_trees()
        self._dirty = False
        self._keep_prices()

    def rebuild(self) -> None:
        """New shift of the grid, chains from every point, and an auction in fine steps."""
        self._prices = None
        self._build()
        if self.n_candidates and self.n(0) and self.n(1):
            self._price_bound(_FINE)

    # What is known.

    def n(self, side: int) -> int:
        """Number of points of a side."""
        return self.sides[side].n_alive

    def stored(self, side: int) -> np.ndarray:
        """Points by slot, as rows."""
        return self.sides[side].points.T

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Slots of the matched points."""
        a = self.sides[0].live
        if not len(a) or not self.n(1):
            return a[:0], a[:0]
        if not self.n_candidates:
            mates = self.floor.mate[2 * a]
            return a[mates >= 0], mates[mates >= 0] // 2
        self._stay_below_floor()
        mates = self.live.mate_a[a]
        return a[mates >= 0], mates[mates >= 0]

    def cost(self) -> float:
        """Cost of the matching, which is never above that of the floor."""
        if min(self.n(0), self.n(1)) == 0:
            return 0.0
        if not self.n_candidates:
            return self.floor_cost()
        self._stay_below_floor()
        return self._live_cost()

    def _stay_below_floor(self) -> None:
        """Start again from the floor where the live matching has become dearer."""
        if self._compared:
            return
        if self._live_cost() > self.floor_cost():
            with self._remaking():
                self._start_from_floor()
        self._compared = True

    def floor_cost(self) -> float:
        """Cost of the matching inside the cells."""
        a = self.sides[0].live
        mates = self.floor.mate[2 * a]
        a, b = a[mates >= 0], mates[mates >= 0] // 2
        return float(self.distances(a, b).sum())

    def distances(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Distances of pairs of slots."""
        difference = self.sides[0].points[:, a] - self.sides[1].points[:, b]
        return np.linalg.norm(difference, ord=self.cost_of.norm, axis=0)

    def factor(self) -> float:
        """Expected cost of the floor over the best, without the leaf term: s d L."""
        return float((1 << self.bits) * self.sides[0].points.shape[0] * self.levels)

    def lower_bound(self, mode: str, n_jobs: int | None = None) -> float:
        """Bound of the cost; ``mode`` is 'cheap', 'auto' or 'dual'.

        'auto' keeps prices from now on where trees are of use. 'dual' brings them as near as it can.
        """
        if min(self.n(0), self.n(1)) == 0:
            return 0.0
        n_pairs, d = self.n(0) * self.n(1), self.sides[0].points.shape[0]
        if mode == "dual":
            bound = self._price_bound(_FINE)
        elif mode == "auto" and d <= _TREE_FEATURES and (self._prices or n_pairs <= _AUCTION):
            bound = self._price_bound(_USUAL)
        else:
            bound = self._cheap_bound()
            if mode == "auto" and n_pairs <= _TRANSFORMS:
                bound = max(bound, dual_value(*self._two_transforms(n_jobs)))
        return max(min(bound, self.cost()), 0.0)

    def potentials(self, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Feasible potentials in the order of live slots: of the prices, else from two c-transforms."""
        if min(self.n(0), self.n(1)) == 0:
            return np.zeros(self.n(0)), np.zeros(self.n(1))
        prices = self._prices
        if prices is not None:
            with self._at_hand(prices):
                return prices.potentials(self._both_sides())
        return self._two_transforms(n_jobs)

    # The bounds.

    def _cheap_bound(self) -> float:
        """Of nearest neighbours, and of the shift of the means."""
        P, Q = self._columns(0), self._columns(1)
        nearest = [
            float(cKDTree(far.T).query(near.T, p=self.cost_of.norm)[0].sum())
            for near, far in ((P, Q), (Q, P))
            if near.shape[1] <= far.shape[1]
        ]
        if P.shape[1] == Q.shape[1]:
            shift = np.linalg.norm(P.mean(axis=1) - Q.mean(axis=1), ord=self.cost_of.norm)
            nearest.append(float(P.shape[1] * shift))
        # sums are rounded: a bound must not be above the optimum for that
        return max(nearest) * (1 - 1e-12)

    def _two_transforms(self, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        P, Q = self._columns(0), self._columns(1)
        return two_transforms(self.cost_of, P, Q, np.zeros(Q.shape[1]), n_jobs=n_jobs)

    def _price_bound(self, eps: float) -> float:
        """Bound of kept prices, which are improved first where a finer step is asked for."""
        sides = self._both_sides()
        prices = self._prices or self._first_prices(sides)
        with self._at_hand(prices):
            if eps < self._eps or (eps == _FINE and prices.n_changes):
                self._improve(prices, sides, eps)
            return prices.bound(sides)

    def _first_prices(self, sides: tuple[Side, Side]) -> KeptPrices:
        prices = KeptPrices(self.cost_of, self._capacity)
        prices.start(sides, self.rng)
        self._eps = np.inf
        return prices

    def _keep_prices(self) -> None:
        """Let the auction of kept prices go on after every so many changes."""
        prices, n = self._prices, min(self.n(0), self.n(1))
        if prices is not None and n and prices.n_changes >= max(_FEW_CHANGES, n // _TURNS):
            with self._at_hand(prices):
                self._improve(prices, self._both_sides(), _USUAL)

    def _improve(self, prices: KeptPrices, sides: tuple[Side, Side], eps: float) -> None:
        """An auction, where there is something to win; its pairs are taken where they are cheaper."""
        cost = self.cost()
        if prices.bound(sides) >= (1 - eps / 2) * cost:
            return
        prices.improve(sides, eps, cost / min(self.n(0), self.n(1)))
        self._eps = eps
        pairs = prices.pairs(sides)
        if pairs is not None and self.n_candidates and self.distances(*pairs).sum() < cost:
            with self._remaking():
                self._take(*pairs)

    @contextlib.contextmanager
    def _at_hand(self, prices: KeptPrices) -> Iterator[None]:
        """An interrupt of the block loses the prices, and they are made anew."""
        self._prices = None
        yield
        self._prices = prices

    def _both_sides(self) -> tuple[Side, Side]:
        trees = self.trees if self.n_candidates else self._new_trees()
        first, second = (
            Side(side.points, side.live, tree) for side, tree in zip(self.sides, trees, strict=True)
        )
        return first, second

    # Building.

    @contextlib.contextmanager
    def _remaking(self) -> Iterator[None]:
        """Whatever interrupts the block, the next flush builds everything anew."""
        self._built, self._dirty = False, True
        yield
        self._built, self._dirty = True, False

    def _build(self) -> None:
        with self._remaking():
            self._make_floor()
            if self.n_candidates:
                self._plant_trees()
                self._start_from_floor()
            self._n_changes = 0

    def _make_floor(self) -> None:
        self._capacity = 2 * max(8, *(side.n_slots for side in self.sides))
        self._n_built = max(self.n(0), self.n(1))
        self._set_cube()
        self.floor = new_floor(2 * self._capacity, self.levels + 1)
        for side in range(2):
            slots = self.sides[side].live
            places = self._coordinates(self.sides[side].points[:, slots].T)
            floor_fill(self.floor, 2 * slots + side, places, self.bits)

    def _plant_trees(self) -> None:
        self.trees = self._new_trees()
        self._n_changes = 0

    def _new_trees(self) -> tuple[PointTree, PointTree]:
        d = self.sides[0].points.shape[0]
        trees = new_tree(d, self._capacity), new_tree(d, self._capacity)
        for tree, side in zip(trees, self.sides, strict=True):
            tree_fill(tree, side.points, side.live)
        return trees

    def _start_from_floor(self) -> None:
        a, b = self.sides[0].live, self.sides[1].live
        near = self._nearest(self._columns(0), self._columns(1), self.n_candidates)
        self.live = new_live(self._capacity, self.n_candidates)
        if near.size:
            self.live.near[a, : near.shape[1]] = b[near]
            self.live.n_near[a] = near.shape[1]
        mates = self.floor.mate[2 * a]
        self._start_from(a[mates >= 0], mates[mates >= 0] // 2)

    def _start_from(self, a: np.ndarray, b: np.ndarray) -> None:
        """Take over pairs of slots, and run chains from every point."""
        self._take(a, b)
        queue_all(self.live, self.sides[0].live)
        self._run(_UNLIMITED)

    def _take(self, a: np.ndarray, b: np.ndarray) -> None:
        """Take over pairs of slots."""
        live = self.live
        live.mate_a[:], live.mate_b[:] = ABSENT, ABSENT
        for side, mate, paired, free, place in (
            (0, live.mate_a, a, live.free_a, live.place_a),
            (1, live.mate_b, b, live.free_b, live.place_b),
        ):
            mate[self.sides[side].live] = FREE
            mate[paired] = b if side == 0 else a
            lonely = self.sides[side].live
            lonely = lonely[mate[lonely] == FREE]
            free[: len(lonely)], place[lonely] = lonely, np.arange(len(lonely))
            live.totals[side] = len(lonely)
        live.price[a] = self.distances(a, b)

    def _run(self, most: int) -> None:
        code, q, A, B, tree_a, _ = self._geometry()
        for _ in range(_ROUNDS if most == _UNLIMITED else 2):
            freed = run_chains(self.live, code, q, A, B, self.depth, most)
            if freed == 0:
                return
            queue_around_free(self.live, code, q, A, B, tree_a, freed)

    def _nearest(self, P: np.ndarray, Q: np.ndarray, k: int) -> np.ndarray:
        k = min(k, Q.shape[1])
        if k == 0 or not P.shape[1]:
            return np.empty((P.shape[1], 0), dtype=np.int64)
        found = cKDTree(Q.T).query(P.T, k, p=self.cost_of.norm)[1]
        return np.asarray(found, dtype=np.int64).reshape(P.shape[1], k)

    # The cube.

    def _set_cube(self) -> None:
        low, high = self._extent()
        if self.bounds is not None and not self.n_refits:
            low, high = np.minimum(low, self.bounds[0]), np.maximum(high, self.bounds[1])
        side = max(float((high - low).max()), np.finfo(float).tiny * 1e10) * 1.0000001
        if self.n_refits:
            side *= 2
            low = low - (side - (high - low)) / 2
        self.low, self.side_length = low, side
        self.shift = self.rng.random(low.size) * side
        most = _FINEST_BITS // self.bits
        smaller = max(1, min(self.n(0), self.n(1)))
        wanted = int(np.ceil(np.log2(4 * smaller) / self.bits))
        self.levels = min(most, wanted if self.n_levels is None else self.n_levels)

    def _extent(self) -> tuple[np.ndarray, np.ndarray]:
        points = np.hstack([self._columns(side) for side in range(2)])
        if not points.shape[1]:
            return np.zeros(points.shape[0]), np.ones(points.shape[0])
        return points.min(axis=1), points.max(axis=1)

    def _inside(self, rows: np.ndarray) -> bool:
        return bool((rows >= self.low).all() and (rows <= self.low + self.side_length).all())

    def _coordinates(self, rows: np.ndarray) -> np.ndarray:
        """Coordinates of the finest cells, of side 2 R / s^L."""
        finest = 2.0 ** (self.bits * self.levels)
        scaled = (rows - self.low + self.shift) / (2 * self.side_length) * finest
        return np.clip(scaled, 0, finest - 1).astype(np.int64)

    def _outgrown(self) -> bool:
        """Whether the finest level is too coarse by now."""
        return max(self.n(0), self.n(1)) > 2 * max(self._n_built, 32)

    # Small things.

    def _columns(self, side: int) -> np.ndarray:
        return np.ascontiguousarray(self.sides[side].points[:, self.sides[side].live])

    def _geometry(
        self,
    ) -> tuple[int, float, np.ndarray, np.ndarray, PointTree, PointTree]:
        first, second = self.sides
        return (
            self.cost_of.code, self.cost_of.q, first.points, second.points, self.trees[0],
            self.trees[1],
        )  # fmt: skip

    def _live_cost(self) -> float:
        a = self.sides[0].live
        return float(self.live.price[a[self.live.mate_a[a] >= 0]].sum())

    @property
    def max_level_changes(self) -> int:
        """Most leftovers that one change of a point has changed."""
        return int(self.floor.totals[1])

    @property
    def n_scans(self) -> int:
        """Chain steps so far."""
        return int(self.live.totals[5])

    @property
    def n_searches(self) -> int:
        """Chains so far."""
        return int(self.live.totals[2])
