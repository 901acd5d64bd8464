"""Matching of points on a line: sorted order is optimal for convex costs and equal sizes."""

import numpy as np

from skfrontier.algos.geometry.matching.exact import DualMatching


class LineMatching(DualMatching):
    """`DualMatching` of one feature that searches only where the sizes differ.

    With equal sizes the i-th smallest points of both sides belong together, for every convex cost of the
    difference; changes then wait for a query of unequal sizes.
    """

    @property
    def is_sorted(self) -> bool:
        """Whether the order answers."""
        return self.n(0) == self.n(1)

    def flush(self) -> None:
        """Bring the matching up to date where the order does not answer."""
        if not self.is_sorted:
            super().flush()

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Slots of the matched points."""
        if not self.is_sorted:
            return super().pairs()
        first, second = (
            side.live[np.argsort(side.points[0, side.live], kind="stable")] for side in self.sides
        )
        order = np.argsort(first)
        return first[order], second[order]

    def cost(self) -> float:
        """Cost of the matching."""
        if not self.is_sorted:
            return super().cost()
        first, second = (np.sort(side.points[0, side.live]) for side in self.sides)
        return float((np.abs(first - second) ** self.cost_of.power).sum())

    def lower_bound(self) -> float:
        """The cost itself: both answers are optimal."""
        return self.cost() if self.is_sorted else super().lower_bound()

    def potentials(self) -> tuple[np.ndarray, np.ndarray]:
        """Optimal potentials of both sides, in the order of their live slots."""
        if self._dirty:
            super().flush()
        return super().potentials()
