"""Alternate the exact matching and the closed-form map: neither step raises the cost."""

from dataclasses import dataclass

import numpy as np

from skfrontier.algos.geometry.procrustes_wasserstein.exact_assignment import (
    contested_rows,
    dense_assignment,
    match_exactly,
)
from skfrontier.algos.geometry.procrustes_wasserstein.nearest_rows import (
    DENSE_ENTRIES,
    NearestRows,
)
from skfrontier.algos.geometry.procrustes_wasserstein.rigid_map import RigidMap, fit_rigid_map
from skfrontier.algos.geometry.procrustes_wasserstein.settings import Settings
from skfrontier.algos.geometry.procrustes_wasserstein.sinkhorn import AnchorPairs

_WIDE_ROUNDS = 10
_MOSTLY_CONTESTED = 0.4  # share of rows from which all pairs at once are faster than growing lists


@dataclass(frozen=True, eq=False)
class Alignment:
    """A map and a matching that fit each other.

    Attributes
    ----------
    map : RigidMap
        From A to B.
    assignment : ndarray of shape (n_a,), int64
        Row of B, or -1.
    total : float
        Squared residuals of matched rows, plus the price of unmatched ones; a mean over rows of A.
    certified : bool
        Whether the last matching was proven optimal for its map.
    n_iter : int
        Matchings solved.
    totals : list of float
        ``total`` after each matching at one price.
    """

    map: RigidMap
    assignment: np.ndarray
    total: float
    certified: bool
    n_iter: int
    totals: list[float]


class Alternation:
    """Exact matching and refitting on one pair of clouds; searches over B are built once."""

    def __init__(
        self, A: np.ndarray, B: np.ndarray, settings: Settings, anchors: AnchorPairs, proper: bool
    ) -> None:
        self.A, self.B, self.settings, self.anchors, self.proper = A, B, settings, anchors, proper
        self.free_rows = np.setdiff1d(np.arange(len(A)), anchors.rows)
        self.free_columns = np.setdiff1d(np.arange(len(B)), anchors.columns)
        self.search = NearestRows(B if len(anchors) == 0 else B[self.free_columns], settings.n_jobs)

    def run(self, start: RigidMap) -> Alignment:
        """Alternate from a map until the matching repeats or the cost stands still."""
        settings = self.settings
        price = settings.outlier_cost
        if not settings.refine:
            assignment, certified = self._match(start, price)
            moved = self._refit(assignment, start)
            total = self._total(moved, assignment, price)
            return Alignment(moved, assignment, total, certified, 1, [total])
        found, wide_rounds = start, 0
        if price is not None:
            found, wide_rounds = self._widely(start, price)
        previous, totals, certified = None, [], True
        for _ in range(settings.max_iter):
            assignment, certified = self._match(found, price)
            totals.append(self._total(found, assignment, price))
            if previous is not None and np.array_equal(assignment, previous):
                break
            if len(totals) > 1 and totals[-2] - totals[-1] < settings.tol * totals[-2]:
                break
            if self._too_few(assignment):
                break
            found, previous = self._refit(assignment, found), assignment
        total = self._total(found, assignment, price)
        return Alignment(found, assignment, total, certified, len(totals) + wide_rounds, totals)

    def _widely(self, start: RigidMap, price: float) -> tuple[RigidMap, int]:
        """First rounds at a price that leaves at least half of the rows matched."""
        found, previous, n_rounds = start, None, 0
        while n_rounds < _WIDE_ROUNDS:
            n_rounds += 1
            distance, _ = self.search.nearest(found.apply(self.A[self.free_rows]))
            wide = max(price, float(np.median(distance)) if len(distance) else 0.0)
            assignment, _ = self._match(found, wide)
            if self._too_few(assignment):
                break
            if previous is not None and np.array_equal(assignment, previous):
                break
            found, previous = self._refit(assignment, found), assignment
        return found, n_rounds

    def _match(self, found: RigidMap, price: float | None) -> tuple[np.ndarray, bool]:
        assignment = np.full(len(self.A), -1, dtype=np.int64)
        assignment[self.anchors.rows] = self.anchors.columns
        if len(self.free_rows) == 0 or len(self.free_columns) == 0:
            return assignment, True
        moved = found.apply(self.A[self.free_rows])
        matched, certified = self._solve(moved, price)
        assignment[self.free_rows] = np.append(self.free_columns, -1)[matched]
        return assignment, certified

    def _solve(self, moved: np.ndarray, price: float | None) -> tuple[np.ndarray, bool]:
        B, settings = self.search.B, self.settings
        if settings.matching == "dense":
            return dense_assignment(moved, B, price), True
        nearest = self.search.nearest(moved)
        if settings.matching == "auto" and price is None and self._mostly_contested(nearest[1]):
            return dense_assignment(moved, B, price), True
        result = match_exactly(
            moved, B, settings.n_neighbors, price, settings.n_jobs, self.search, nearest
        )
        return result.assignment, result.certified

    def _mostly_contested(self, index: np.ndarray) -> bool:
        n_columns = len(self.search.B)
        small = len(index) * n_columns <= DENSE_ENTRIES
        return small and contested_rows(index, n_columns).mean() > _MOSTLY_CONTESTED

    def _refit(self, assignment: np.ndarray, fallback: RigidMap) -> RigidMap:
        rows = np.flatnonzero(assignment >= 0)
        if len(rows) == 0:
            return fallback
        return fit_rigid_map(
            self.A[rows],
            self.B[assignment[rows]],
            allow_reflection=not self.proper,
            translation=self.settings.translation,
            scaling=self.settings.scaling,
        )

    def _too_few(self, assignment: np.ndarray) -> bool:
        return self.settings.outlier_cost is not None and too_few_matched(
            assignment, self.A.shape[1]
        )

    def _total(self, found: RigidMap, assignment: np.ndarray, price: float | None) -> float:
        rows = np.flatnonzero(assignment >= 0)
        residual = found.apply(self.A[rows]) - self.B[assignment[rows]]
        total = float(np.einsum("ij,ij->", residual, residual))
        if price is not None:
            total += price * (len(assignment) - len(rows))
            return total / len(assignment)
        return total / max(len(rows), 1)


def too_few_matched(assignment: np.ndarray, n_features: int) -> bool:
    """Whether matched pairs cannot determine a map."""
    return int((assignment >= 0).sum()) < n_features + 1
