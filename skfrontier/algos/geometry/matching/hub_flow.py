"""Matching in any metric as a minimum-cost flow through hubs, under insertions and deletions."""

import copy

import numpy as np
from scipy.optimize import linear_sum_assignment

from skfrontier.algos._interrupts import undivided
from skfrontier.algos.geometry.matching.arcs import (
    DEAD,
    HUB,
    SINK,
    SOURCE,
    grow_flow,
    link_arcs,
    partner_through,
    settle_flow,
    sink_price,
)
from skfrontier.algos.geometry.matching.certificate import dual_value
from skfrontier.algos.geometry.matching.distance_rows import CallableRows, VectorRows
from skfrontier.algos.geometry.matching.hub_graph import bunches_from_rows, stretch_bound
from skfrontier.algos.geometry.matching.store import independent_object, padded

_MIN_CHANGES = 64  # before a new sample
_PAIRED_AT_ONCE = 200  # units of a hub that are paired by an exact assignment


class HubMatching:
    """A matching whose W_p cost is at most `stretch_bound` times the best, in any metric.

    Each point of the smaller side sends a unit to one of the larger, directly or through a hub. Every change
    is repaired by shortest paths, as in `DualMatching`; the graph is sampled anew after half as many
    changes as there were points.

    Parameters
    ----------
    rows : VectorRows or CallableRows
        The metric.
    n_features : int
    power : float
        Costs are distances to this power.
    k : int
        Levels of the sample.
    rng : numpy Generator
    """

    def __init__(
        self,
        rows: VectorRows | CallableRows,
        n_features: int,
        power: float,
        k: int,
        rng: np.random.Generator,
    ):
        self.rows, self.power, self.k, self.rng = rows, power, k, rng
        self.n_features = n_features
        self.factor = stretch_bound(k, power)
        self.larger = 1
        self.n_scans = self.n_searches = self.n_refits = 0
        self._dirty = self._outdated = False
        self._pairing: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._slot_node = [np.full(8, -1, dtype=np.int64) for _ in range(2)]
        self._n_slots = [0, 0]
        self._vacant: tuple[list[int], list[int]] = ([], [])
        self._n_alive = [0, 0]
        self._start_nodes(np.empty((n_features, 0)))

    # Changes.

    def distances_to_stored(self, rows: np.ndarray) -> np.ndarray | None:
        """Distances of new points to all nodes and to each other; None where a new sample follows."""
        if self._n_changes + len(rows) > self._allowed_changes:
            return None
        points = np.hstack([self.points[:, : self.n_nodes], rows.T])
        return np.array([self.rows.row(x, points) for x in rows])

    def insert(
        self, side: int, rows: np.ndarray, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """Add points of shape (n_new, n_features), and return their slots."""
        if distances is None:
            distances = self.distances_to_stored(rows)
        self._outdated |= distances is None
        slots = np.empty(len(rows), dtype=np.int64)
        for i, x in enumerate(rows):
            node = self._add_node(x, self._role(side), side)
            slots[i] = self._take_slot(side, node)
            if not self._outdated and distances is not None:
                self._join(node, distances[i, :node])
        self._n_alive[side] += len(rows)
        self._changed(len(rows))
        return slots

    def delete(self, side: int, slots: np.ndarray) -> None:
        """Remove points; where they were hubs they remain so."""
        for slot in slots:
            node = self._slot_node[side][slot]
            self._free_partner(node)
            self.role[node] = DEAD
            self.link[node] = -1
            self._slot_node[side][slot] = -1
            self._vacant[side].append(int(slot))
        self._n_alive[side] -= len(slots)
        self._changed(len(slots))

    def flush(self) -> None:
        """Bring the flow up to date."""
        if not self._dirty:
            return
        if self._outdated or self._n_changes > self._allowed_changes:
            self.rebuild()
            return
        with undivided():
            self._orient()
        role, link = self.role[: self.n_nodes], self.link[: self.n_nodes]
        for b in np.flatnonzero((role == SINK) & np.isnan(self.pi[: self.n_nodes])).tolist():
            self.pi[b] = sink_price(b, *self._arcs(), role, self.pi, link)
        for a in np.flatnonzero((role == SOURCE) & (link < 0)).tolist():
            self._search(grow_flow, a)
        for b in np.flatnonzero(
            (role == SINK) & (link < 0) & (self.pi[: self.n_nodes] < 0)
        ).tolist():
            self._search(settle_flow, b)
        self._dirty = False

    def rebuild(self) -> None:
        """Sample the hubs anew and solve from scratch."""
        fresh = copy.copy(self)
        fresh.rng = copy.deepcopy(self.rng)
        fresh._slot_node = [array.copy() for array in self._slot_node]
        fresh._sample()
        self.__dict__.update(fresh.__dict__)  # nothing has changed if the metric raised
        self.flush()

    def _sample(self) -> None:
        slots = [np.flatnonzero(nodes >= 0) for nodes in self._slot_node]
        old = np.concatenate([self._slot_node[s][slots[s]] for s in range(2)])
        points = np.ascontiguousarray(self.points[:, old])
        n = points.shape[1]
        self._start_nodes(points)
        self.n_nodes = self._n_sampled = n
        self.side[:n] = np.repeat([0, 1], [len(s) for s in slots])
        self.larger = int(len(slots[1]) >= len(slots[0]))
        for side in range(2):
            nodes = np.flatnonzero(self.side[:n] == side)
            self._slot_node[side][slots[side]] = nodes
            self._node_slot[nodes] = slots[side]
            self.role[:n][self.side[:n] == side] = self._role(side)
        if not n:
            return
        bunches = bunches_from_rows(
            lambda i: self.rows.row(points[:, i], points), n, self.k, self.rng
        )
        self.level[:n], self.to_level[:n] = bunches.level, bunches.to_level
        hub_of = np.full(n, -1, dtype=np.int64)
        for w in np.flatnonzero(bunches.level > 0).tolist():
            hub_of[w] = self._add_node(points[:, w], HUB, -1)
            self.level[hub_of[w]] = bunches.level[w]
            self.pi[hub_of[w]] = 0.0
        x = np.repeat(np.arange(n), np.diff(bunches.start))
        y, price = bunches.member, bunches.distance**self.power
        through = hub_of[y] >= 0
        self._link(x[through], hub_of[y[through]], 2 ** (self.power - 1) * price[through])
        across = self.side[x] != self.side[y]
        # once, though each may be in the other's bunch
        pair = np.minimum(x, y) * n + np.maximum(x, y)
        _, once = np.unique(np.where(across, pair, -1), return_index=True)
        once = once[across[once]]
        self._link(x[once], y[once], price[once])

    # What is known.

    def n(self, side: int) -> int:
        """Number of points of a side."""
        return self._n_alive[side]

    def stored(self, side: int) -> np.ndarray:
        """Points by slot, as rows; vacant slots hold anything."""
        return self.points[:, self._slot_node[side]].T

    def cost(self) -> float:
        """Cost of the matching."""
        return float(self._paired()[2].sum())

    def flow_cost(self) -> float:
        """Cost of the flow: at least that of the matching, at most ``factor ** power`` times the best."""
        pi = self.pi[: self.n_nodes]
        role = self.role[: self.n_nodes]
        return float(
            pi[(role == SINK) & (self.link[: self.n_nodes] >= 0)].sum() - pi[role == SOURCE].sum()
        )

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Slots of the matched points."""
        return self._paired()[:2]

    def live(self, side: int) -> np.ndarray:
        """Slots of the points of a side, ascending."""
        return np.flatnonzero(self._slot_node[side] >= 0)

    def lower_bound(self, transforms: bool, n_jobs: int | None = None) -> float:
        """Bound by the proven factor, or by true potentials that are made from those of the flow."""
        if min(self._n_alive) == 0:
            return 0.0
        cheap = self.flow_cost() / self.factor**self.power
        if not transforms:
            return max(min(cheap, self.cost()), 0.0)
        u, v = self.potentials(n_jobs)
        return max(min(max(cheap, dual_value(u, v)), self.cost()), 0.0)

    def potentials(self, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Feasible potentials for the true costs, the best of three starts, in the order of live slots."""
        first, second = (self._slot_node[side][self.live(side)] for side in range(2))
        if not len(first) or not len(second):
            return np.zeros(len(first)), np.zeros(len(second))
        P, Q, rows, swapped = self.points[:, first], self.points[:, second], self.rows, self.rows
        if isinstance(rows, VectorRows):
            swapped = VectorRows(rows.cost.swapped)
        sign = 1.0 if self.larger == 1 else -1.0  # potentials of sources are negative prices
        v, u = swapped.feasible(Q, P, -sign * self.pi[first], self.power, n_jobs)
        both = [(u, v)]
        both += [
            rows.feasible(P, Q, start, self.power, n_jobs)
            for start in (sign * self.pi[second], np.zeros(len(second)))
        ]
        return max(both, key=lambda pair: dual_value(*pair))

    @property
    def _allowed_changes(self) -> int:
        return max(_MIN_CHANGES, self._n_sampled // 2)

    @property
    def n_arcs(self) -> int:
        """Number of arcs, each counted once."""
        return self._n_entries // 2

    # Steps.

    def _role(self, side: int) -> int:
        return SINK if side == self.larger else SOURCE

    def _changed(self, n: int) -> None:
        self._n_changes += n
        self._dirty |= n > 0
        if n:
            self._pairing = None

    def _orient(self) -> None:
        """Let the smaller side be the sources; on a tie it stays."""
        if self._n_alive[self.larger] >= self._n_alive[1 - self.larger]:
            return
        self.larger = 1 - self.larger
        role = self.role[: self.n_nodes]
        was_source, was_sink = role == SOURCE, role == SINK
        role[was_source], role[was_sink] = SINK, SOURCE
        self.pi[: self.n_nodes] *= -1
        known = self.pi[: self.n_nodes][was_source & ~np.isnan(self.pi[: self.n_nodes])]
        if known.size:
            self.pi[: self.n_nodes] -= known.max()

    def _free_partner(self, node: int) -> None:
        other = self.link[node]
        if other < 0:
            return
        if self.role[other] == HUB:
            wanted = SINK if self.role[node] == SOURCE else SOURCE
            other = partner_through(
                other, wanted, self.first, self.following, self.head, self.role, self.link
            )
        self.link[other] = -1

    def _join(self, x: int, distance: np.ndarray) -> None:
        """Give the new node ``x`` its arcs; it is of level 0."""
        side, role, level = self.side[:x], self.role[:x], self.level[:x]
        hubs = np.flatnonzero(role == HUB)
        for i in range(1, self.k):
            above = hubs[level[hubs] >= i]
            self.to_level[x, i] = distance[above].min() if above.size else np.inf
        chosen = distance[hubs] < self.to_level[x, level[hubs] + 1]
        for i in range(1, self.k):
            above = np.flatnonzero(level[hubs] >= i)
            if above.size:
                chosen[above[np.argmin(distance[hubs[above]])]] = True
        near = hubs[chosen]
        self._link(
            np.full(near.size, x), near, 2 ** (self.power - 1) * distance[near] ** self.power
        )
        across = (side == 1 - self.side[x]) & (role != DEAD) & (role != HUB)
        inside = (distance < self.to_level[x, level + 1]) | (distance < self.to_level[:x, 1])
        direct = np.flatnonzero(across & inside)
        self._link(np.full(direct.size, x), direct, distance[direct] ** self.power)

    def _search(self, search, node: int) -> None:
        popped = search(
            node, *self._arcs(), self.role[: self.n_nodes], self.pi, self.link, *self._work
        )
        if popped < 0:
            raise RuntimeError("no path through the hubs; the graph is not connected.")
        self.n_scans += popped
        self.n_searches += 1

    def _arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.first, self.following, self.head, self.arc_cost

    def _paired(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slots of both ends and cost of each pair; units of one hub are paired among themselves."""
        if self._pairing is None:
            role, link = self.role[: self.n_nodes], self.link[: self.n_nodes]
            sources = np.flatnonzero((role == SOURCE) & (link >= 0))
            direct = role[link[sources]] == SINK
            left, right = [sources[direct]], [link[sources[direct]]]
            sources = sources[~direct]
            sinks = np.flatnonzero((role == SINK) & (link >= 0))
            sinks = sinks[role[link[sinks]] == HUB]
            sources = sources[np.argsort(link[sources], kind="stable")]
            sinks = sinks[np.argsort(link[sinks], kind="stable")]
            hubs, start = np.unique(link[sources], return_index=True)
            for lo, hi in zip(start, [*start[1:], sources.size], strict=True) if hubs.size else ():
                for at in range(lo, hi, _PAIRED_AT_ONCE):
                    part = slice(at, min(at + _PAIRED_AT_ONCE, hi))
                    order = self._assign(sources[part], sinks[part])
                    left.append(sources[part])
                    right.append(sinks[part][order])
            a, b = np.concatenate(left), np.concatenate(right)
            price = self.rows.paired(self.points[:, a], self.points[:, b])
            if self.larger == 0:
                a, b = b, a
            self._pairing = self._node_slot[a], self._node_slot[b], price**self.power
        return self._pairing

    def _assign(self, sources: np.ndarray, sinks: np.ndarray) -> np.ndarray:
        if sources.size == 1:
            return np.zeros(1, dtype=np.int64)
        points = self.points[:, sinks]
        costs = np.array([self.rows.row(self.points[:, a], points) for a in sources])
        return linear_sum_assignment(costs**self.power)[1]

    # Storage.

    def snapshot(self) -> "HubMatching":
        """An independent copy."""
        return independent_object(self)

    def _start_nodes(self, points: np.ndarray) -> None:
        n = points.shape[1]
        size = 2 * n + 8
        self.points = padded(points, size, 0.0)
        self.role = np.full(size, DEAD, dtype=np.int64)
        self.side = np.full(size, -1, dtype=np.int64)
        self.level = np.zeros(size, dtype=np.int64)
        self.link = np.full(size, -1, dtype=np.int64)
        self.pi = np.full(size, np.nan)
        self.first = np.full(size, -1, dtype=np.int64)
        self.to_level = np.full((size, self.k + 1), np.inf)
        self.to_level[:, 0] = 0.0
        self._node_slot = np.full(size, -1, dtype=np.int64)
        self.n_nodes = self._n_sampled = self._n_changes = self._n_entries = 0
        self.following = np.empty(16, dtype=np.int64)
        self.head = np.empty(16, dtype=np.int64)
        self.arc_cost = np.empty(16)
        self._dirty = True
        self._outdated = False  # whether points came in without arcs
        self._pairing = None
        self._make_work(size)

    def _make_work(self, size: int) -> None:
        """Distances, predecessors, popped nodes; keys and nodes of the heap, which holds an arc once."""
        self._work = (
            np.empty(size), np.empty(size, dtype=np.int64), np.empty(size, dtype=bool),
            np.empty(self.following.size + size + 1),
            np.empty(self.following.size + size + 1, dtype=np.int64),
        )  # fmt: skip

    def _add_node(self, x: np.ndarray, role: int, side: int) -> int:
        node = self.n_nodes
        if node == self.role.size:
            size = 2 * node
            for name, value in (
                ("points", 0.0), ("role", DEAD), ("side", -1), ("level", 0), ("link", -1),
                ("pi", np.nan), ("first", -1), ("_node_slot", -1),
            ):  # fmt: skip
                setattr(self, name, padded(getattr(self, name), size, value))
            far = np.full((size, self.k + 1), np.inf)
            far[:, 0] = 0.0
            far[:node] = self.to_level
            self.to_level = far
            self._make_work(size)
        self.points[:, node], self.role[node], self.side[node] = x, role, side
        self.n_nodes += 1
        return node

    def _take_slot(self, side: int, node: int) -> int:
        if self._vacant[side]:
            slot = self._vacant[side].pop()
        else:
            slot = self._n_slots[side]
            self._n_slots[side] += 1
            if slot == self._slot_node[side].size:
                self._slot_node[side] = padded(self._slot_node[side], 2 * slot, -1)
        self._slot_node[side][slot] = node
        self._node_slot[node] = slot
        return slot

    def _link(self, left: np.ndarray, right: np.ndarray, price: np.ndarray) -> None:
        needed = self._n_entries + 2 * left.size
        if needed > self.following.size:
            size = max(needed, 3 * self.following.size // 2)
            self.following = padded(self.following, size, 0)
            self.head = padded(self.head, size, 0)
            self.arc_cost = padded(self.arc_cost, size, 0.0)
            self._make_work(self.role.size)
        self._n_entries = link_arcs(
            self.first, self.following, self.head, self.arc_cost, self._n_entries,
            left.astype(np.int64), right.astype(np.int64), price,
        )  # fmt: skip
