"""The exact one-to-one matching of two clouds, from few candidate pairs and a dual certificate.

Near the right map nearly every row's nearest neighbour is its partner, so the matching is solved on short
lists, and the dual solution tells which pairs left out could still matter. They are added until none
does: the result is then optimal among all pairs.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from skfrontier.algos._validation import (
    check_count,
    check_interval,
    check_n_jobs,
    check_points,
)
from skfrontier.algos.geometry.procrustes_wasserstein.directions import eigen_directions
from skfrontier.algos.geometry.procrustes_wasserstein.nearest_rows import (
    DENSE_ENTRIES,
    NearestRows,
    edge_squared_distances,
    violated_edges,
)
from skfrontier.algos.geometry.procrustes_wasserstein.sparse_assignment import (
    SparseAssignment,
    solve_edges,
)

_EDGES_PER_ROW = 64  # beyond this the sparse way is the slow one
_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class AssignmentResult:
    """A matching of rows of X to rows of Y.

    Attributes
    ----------
    assignment : ndarray of shape (n_x,), int64
        Row of Y for each row of X, -1 where unmatched.
    cost : float
        Sum of squared distances over matched pairs.
    certified : bool
        Whether the dual solution proves the matching optimal, to rounding.
    u, v : ndarray of shape (n_x,) and (n_y,)
        Dual solution: no pair has ``squared distance < u + v``, matched pairs have equality. Of the
        smaller cloud's partner side all values are <= 0, and 0 where unmatched.
    """

    assignment: np.ndarray
    cost: float
    certified: bool
    u: np.ndarray
    v: np.ndarray


def exact_assignment(
    X: Any,
    Y: Any,
    *,
    n_neighbors: int = 16,
    outlier_cost: float | None = None,
    n_jobs: int | None = None,
) -> AssignmentResult:
    """The one-to-one matching of two clouds with the least sum of squared distances.

    Parameters
    ----------
    X, Y : array-like of shape (n_x, n_features) and (n_y, n_features)
        Points in one frame. The smaller cloud is matched completely, unless ``outlier_cost`` is given.
    n_neighbors : int, default=16
        Length of the candidate lists. Changes the time, not the result.
    outlier_cost : float or None, default=None
        Price, in squared distance, of leaving a row of X unmatched.
    n_jobs : int or None, default=None
        Threads of the neighbour searches.

    Returns
    -------
    AssignmentResult

    Raises
    ------
    ValueError, TypeError
        If an array is not 2-D and finite, the numbers of features differ, or a parameter is out of range.

    Warns
    -----
    UserWarning
        If the clouds are so far from each other that the search stopped without a certificate.

    Notes
    -----
    Proven optimal where ``certified`` is True, by linear programming duality; always so while
    ``n_x * n_y <= 9e6``. Aligned clouds take one nearest-neighbour search and a sparse assignment;
    unaligned large clouds are slow. Where several matchings cost the same, any of them may come.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import exact_assignment
    >>> result = exact_assignment([[0.0], [1.0]], [[0.9], [5.0], [0.2]])
    >>> result.assignment, round(result.cost, 6), result.certified
    (array([2, 0]), 0.05, True)
    """
    X, Y = check_points(X, "X", min_points=1), check_points(Y, "Y", min_points=1)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X and Y must have the same number of features, got {X.shape[1]} and {Y.shape[1]}."
        )
    k = check_count(n_neighbors, "n_neighbors")
    if outlier_cost is not None:
        outlier_cost = check_interval(outlier_cost, "outlier_cost", 0, np.inf, closed="neither")
    check_n_jobs(n_jobs)
    A, B = _in_axes_of(X.astype(np.float64), Y.astype(np.float64))
    result = match_exactly(A, B, k, outlier_cost, n_jobs)
    if not result.certified:
        warnings.warn(
            "the clouds are too far from each other for a certified matching; align them first.",
            UserWarning,
            stacklevel=2,
        )
    return result


def _in_axes_of(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both clouds along the principal axes of Y, which neighbour searches like best."""
    mean = Y.mean(axis=0)
    X, Y = X - mean, Y - mean
    if not 2 < X.shape[1] <= len(Y):
        return X, Y
    axes = eigen_directions(Y)[1]
    return X @ axes, Y @ axes


def match_exactly(
    A: np.ndarray,
    B: np.ndarray,
    n_neighbors: int,
    outlier_cost: float | None,
    n_jobs: int | None,
    search: NearestRows | None = None,
    nearest: tuple[np.ndarray, np.ndarray] | None = None,
) -> AssignmentResult:
    """`exact_assignment` of float64 clouds whose axes come in order of variance.

    ``search`` over the rows of B may be handed on from call to call, and what it found for these rows.
    """
    if len(A) > len(B) and outlier_cost is None:
        swapped = match_exactly(B, A, n_neighbors, None, n_jobs)
        assignment = inverted(swapped.assignment, len(A))
        return AssignmentResult(assignment, swapped.cost, swapped.certified, swapped.v, swapped.u)
    search = search or NearestRows(B, n_jobs)
    distance, index = nearest or search.nearest(A)
    if not contested_rows(index, len(B)).any() and (
        outlier_cost is None or distance.max() <= outlier_cost
    ):
        return AssignmentResult(index, float(distance.sum()), True, distance, np.zeros(len(B)))
    return _GrowingGraph(A, B, search, outlier_cost).solve(distance, index, n_neighbors)


def match_densely(A: np.ndarray, B: np.ndarray, outlier_cost: float | None) -> AssignmentResult:
    """The same by scipy on all pairs, with dual values found afterwards."""
    if len(A) > len(B) and outlier_cost is None:
        swapped = match_densely(B, A, None)
        return AssignmentResult(
            inverted(swapped.assignment, len(A)), swapped.cost, True, swapped.v, swapped.u
        )
    cost = _all_costs(A, B, outlier_cost)
    rows, columns = linear_sum_assignment(cost)
    u, v = _dual_of_optimum(cost, columns)
    assignment = _without_dummies(cost, columns, len(B), outlier_cost)
    total = float(cost[rows, columns][assignment >= 0].sum())
    return AssignmentResult(assignment, total, True, u, v[: len(B)])


def dense_assignment(A: np.ndarray, B: np.ndarray, outlier_cost: float | None) -> np.ndarray:
    """The assignment alone of `match_densely`, where A is the smaller cloud or rows have a price."""
    cost = _all_costs(A, B, outlier_cost)
    return _without_dummies(cost, linear_sum_assignment(cost)[1], len(B), outlier_cost)


def _all_costs(A: np.ndarray, B: np.ndarray, outlier_cost: float | None) -> np.ndarray:
    """All squared distances; with a price as many dummy columns as rows, which any row may take."""
    cost = cdist(A, B, "sqeuclidean")
    if outlier_cost is None:
        return cost
    np.minimum(cost, outlier_cost, out=cost)
    return np.hstack([cost, np.full((len(A), len(A)), outlier_cost)])


def _without_dummies(
    cost: np.ndarray, columns: np.ndarray, n_columns: int, outlier_cost: float | None
) -> np.ndarray:
    assignment = columns.astype(np.int64)
    if outlier_cost is not None:
        priced = cost[np.arange(len(columns)), columns] >= outlier_cost
        assignment[(columns >= n_columns) | priced] = -1
    return assignment


def _dual_of_optimum(cost: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dual values of an optimal assignment: shortest paths from free columns, by Bellman and Ford."""
    v = np.zeros(cost.shape[1])
    matched = cost[np.arange(len(cost)), columns]
    for _ in range(len(cost) + 1):
        u = matched - v[columns]
        lower = np.minimum(v, (cost - u[:, None]).min(axis=0))
        if (lower >= v - 1e-14 * float(np.abs(u).max())).all():
            break
        v = lower
    return matched - v[columns], v


def inverted(assignment: np.ndarray, n_columns: int) -> np.ndarray:
    """Row of each column, -1 where it has none."""
    inverse = np.full(n_columns, -1, dtype=np.int64)
    rows = np.flatnonzero(assignment >= 0)
    inverse[assignment[rows]] = rows
    return inverse


def contested_rows(index: np.ndarray, n_columns: int) -> np.ndarray:
    """Rows whose nearest neighbour is that of another row too."""
    return np.bincount(index, minlength=n_columns)[index] > 1


class _GrowingGraph:
    """Candidate pairs of rows of A and B, added to until the dual solution holds for all pairs."""

    def __init__(
        self,
        A: np.ndarray,
        B: np.ndarray,
        search: NearestRows,
        outlier_cost: float | None,
    ) -> None:
        self.A, self.B, self.search, self.outlier_cost = A, B, search, outlier_cost
        self.keys = np.zeros(0, dtype=np.int64)  # row * n_columns + column, sorted
        self.radius = np.zeros(len(A))
        self.list_length = np.ones(len(A), dtype=np.int64)

    def solve(self, distance: np.ndarray, index: np.ndarray, n_neighbors: int) -> AssignmentResult:
        """Matching from the nearest neighbours on."""
        self.radius = distance.copy()
        self._add(np.arange(len(self.A)), index)
        self._list_neighbours(np.flatnonzero(contested_rows(index, len(self.B))), n_neighbors)
        leading, order = None, None
        while True:
            solved = self._solve_listed()
            failed = np.flatnonzero(solved.row_to_col < 0)
            beyond = np.flatnonzero(solved.u > self.radius)
            unlisted = beyond[self.list_length[beyond] == 1]
            if len(failed):
                self._list_longer(failed, n_neighbors)
            elif len(unlisted) and n_neighbors > 1 and len(self.B) > 1:
                self._list_neighbours(self._with_those_at_risk(unlisted, solved), n_neighbors)
            else:
                if leading is None:
                    order = np.argsort(self.B[:, 0], kind="stable")
                    leading = self.B[order, 0]
                tolerance = _TOLERANCE * self.largest_cost
                limit = _EDGES_PER_ROW * len(self.A) + 1
                rows, columns = violated_edges(
                    self.A, self.B, leading, order, beyond, solved.u, solved.v, tolerance, limit
                )
                if not self._add(rows, columns):  # none, or listed ones within rounding
                    return self._result(solved, certified=True)
            if len(self.keys) > _EDGES_PER_ROW * len(self.A):
                return self._give_way(solved)

    def _give_way(self, solved: SparseAssignment) -> AssignmentResult:
        """All pairs where that is possible, else what there is."""
        if len(self.A) * len(self.B) <= DENSE_ENTRIES:
            return match_densely(self.A, self.B, self.outlier_cost)
        return self._result(_completed(solved, self.A, self.B), certified=False)

    def _add(self, rows: np.ndarray, columns: np.ndarray) -> bool:
        """List pairs; whether any of them is new."""
        fresh = rows.astype(np.int64) * len(self.B) + columns
        merged = np.sort(np.concatenate([self.keys, fresh]))
        n_before = len(self.keys)
        self.keys = merged[np.append(True, merged[1:] != merged[:-1])]
        return len(self.keys) > n_before

    def _list_neighbours(self, rows: np.ndarray, k: int) -> None:
        if len(rows) == 0:
            return
        index, radius = self.search.lists(self.A[rows], k)
        self._add(np.repeat(rows, index.shape[1]), index.ravel())
        self.radius[rows] = np.maximum(self.radius[rows], radius)
        self.list_length[rows] = index.shape[1]

    def _with_those_at_risk(self, rows: np.ndarray, solved: SparseAssignment) -> np.ndarray:
        """Rows, and those without a list whose column is a candidate of a listed row.

        Only they can be pushed off in the next round; listing them now saves rounds.
        """
        key_rows, key_columns = np.divmod(self.keys, len(self.B))
        wanted = np.unique(key_columns[self.list_length[key_rows] > 1])
        mate = np.full(len(self.B), -1, dtype=np.int64)
        holders = np.flatnonzero((solved.row_to_col >= 0) & (solved.row_to_col < len(self.B)))
        mate[solved.row_to_col[holders]] = holders
        at_risk = mate[wanted]
        at_risk = at_risk[at_risk >= 0]
        return np.union1d(rows, at_risk[self.list_length[at_risk] == 1])

    def _list_longer(self, rows: np.ndarray, n_neighbors: int) -> None:
        longer = np.maximum(n_neighbors, 2 * self.list_length[rows])
        for k in np.unique(longer):
            self._list_neighbours(rows[longer == k], int(k))

    def _solve_listed(self) -> SparseAssignment:
        n_rows, n_columns = len(self.A), len(self.B)
        rows, columns = np.divmod(self.keys, n_columns)
        costs = edge_squared_distances(self.A, self.B, rows, columns)
        self.largest_cost = float(costs.max())
        total_columns = n_columns
        if self.outlier_cost is not None:  # a private column for each row, at the outliers' price
            near = costs <= self.outlier_cost
            own = np.arange(n_rows)
            rows = np.concatenate([rows[near], own])
            columns = np.concatenate([columns[near], n_columns + own])
            costs = np.concatenate([costs[near], np.full(n_rows, float(self.outlier_cost))])
            total_columns += n_rows
            order = np.argsort(rows, kind="stable")
            rows, columns, costs = rows[order], columns[order], costs[order]
        indptr = np.zeros(n_rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
        return solve_edges(indptr, columns, costs, total_columns)

    def _result(self, solved: SparseAssignment, *, certified: bool) -> AssignmentResult:
        assignment = np.where(solved.row_to_col < len(self.B), solved.row_to_col, -1)
        rows = np.flatnonzero(assignment >= 0)
        cost = edge_squared_distances(self.A, self.B, rows, assignment[rows]).sum()
        return AssignmentResult(
            assignment, float(cost), certified, solved.u, solved.v[: len(self.B)]
        )


def _completed(solved: SparseAssignment, A: np.ndarray, B: np.ndarray) -> SparseAssignment:
    """Rows that found no column among their candidates take the nearest free one, in order."""
    row_to_col = solved.row_to_col.copy()
    taken = np.zeros(max(len(B), row_to_col.max() + 1), dtype=bool)
    taken[row_to_col[row_to_col >= 0]] = True
    for i in np.flatnonzero(row_to_col < 0):
        free = np.flatnonzero(~taken[: len(B)])
        row_to_col[i] = free[((B[free] - A[i]) ** 2).sum(axis=1).argmin()]
        taken[row_to_col[i]] = True
    return SparseAssignment(row_to_col, solved.u, solved.v, 0)
