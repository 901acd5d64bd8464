"""Exact matching of points in few dimensions: trees spare the searches most distances."""

import numpy as np

from skfrontier.algos.geometry.matching.costs import Cost
from skfrontier.algos.geometry.matching.exact import DualMatching
from skfrontier.algos.geometry.matching.point_tree import PointTree, new_tree, tree_fill
from skfrontier.algos.geometry.matching.tree_searches import (
    grow_in_tree,
    move_in_tree,
    settle_in_tree,
)

_REPLANT = 2  # times as many changes as points make new trees
_TRIAL = 64  # rows after which it is seen whether trees pay
_DEAR = 6  # looks in a tree cost so many distances of a row


class TreeMatching(DualMatching):
    """`DualMatching` without a limit whose searches ask trees for the next point.

    The results are the same. It pays for many points in few dimensions, where most of a row of distances
    can be ruled out.

    Parameters
    ----------
    cost : Cost
        A power of an l_q distance.
    n_features : int
    from_points : int
        With fewer points on the larger side rows are scanned as by `DualMatching`, and so they are where
        trees turn out to rule little out: reduced costs tie along lines when one side is shifted and p = 1.
    """

    def __init__(self, cost: Cost, n_features: int, from_points: int):
        super().__init__(cost, n_features)
        self.from_points = from_points
        self._tally = np.zeros(2, dtype=np.int64)  # rows, and what was looked at for them
        self._trees: list[PointTree | None] = [None, None]
        self._moves = [0, 0]

    def insert(self, side: int, rows: np.ndarray) -> np.ndarray:
        """Add points of shape (n_new, n_features), and return their slots."""
        slots = super().insert(side, rows)
        self._move(side, np.empty(0, np.int64), slots)
        return slots

    def delete(self, side: int, slots: np.ndarray) -> None:
        """Remove points; their mates become free."""
        super().delete(side, slots)
        self._move(side, np.asarray(slots, dtype=np.int64), np.empty(0, np.int64))

    def _move(self, side: int, leaving: np.ndarray, coming: np.ndarray) -> None:
        """Keep a tree up to date, or drop it where a new one is due."""
        tree, store = self._trees[side], self.sides[side]
        if tree is None:
            return
        self._moves[side] += len(leaving) + len(coming)
        if store.capacity > tree.leaf.size or self._moves[side] > _REPLANT * store.n_alive:
            self._trees[side] = None
        else:
            move_in_tree(tree, store.points, leaving, coming)

    def _tree(self, side: int) -> PointTree:
        tree, store = self._trees[side], self.sides[side]
        if tree is None:
            tree = new_tree(store.points.shape[0], store.capacity)
            tree_fill(tree, store.points, store.live)
            self._trees[side], self._moves[side] = tree, 0
        return tree

    @property
    def _trees_pay(self) -> bool:
        n, (rows, looks) = self.n(self.larger), self._tally
        return bool(n >= self.from_points and (rows < _TRIAL or _DEAR * looks < rows * n))

    def _grow(self, x: int) -> None:
        if self._trees_pay:
            self._search_in_tree(grow_in_tree, x, self.larger)
        else:
            super()._grow(x)

    def _settle(self, y: int) -> None:
        if self._trees_pay:
            self._search_in_tree(settle_in_tree, y, 1 - self.larger)
        else:
            super()._settle(y)

    def _search_in_tree(self, search, start: int, over: int) -> None:
        smaller, larger = 1 - self.larger, self.larger
        before = self._tally[0]
        search(
            start, *self.cost_of.args, self.sides[smaller].points, self.sides[larger].points,
            self._tree(over), self.potential[smaller], self.potential[larger], self.mate[smaller],
            self.mate[larger], self.price[smaller], self._tally,
        )  # fmt: skip
        self.n_scans += int(self._tally[0] - before)
        self.n_searches += 1
