"""Values, entries and rows by the solver that a plan names, or that suits the work."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from tqdm import tqdm

from skfrontier.algos.graphs.propagation.averages import BatchSums
from skfrontier.algos.graphs.propagation.choice import (
    fixed_choice,
    forests_cost,
    gradients_cost,
    least_forests_cost,
    loose_rtol,
)
from skfrontier.algos.graphs.propagation.deeper import push_deeper
from skfrontier.algos.graphs.propagation.errors import next_size
from skfrontier.algos.graphs.propagation.exact import (
    ConjugateGradients,
    Factorisation,
    exact_solver,
)
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.intervals import (
    INTERVALS,
    bernstein_interval,
    checkpoints,
    next_checkpoint,
)
from skfrontier.algos.graphs.propagation.pairs import BLOCK, PairSums
from skfrontier.algos.graphs.propagation.plan import PropagationPlan
from skfrontier.algos.graphs.propagation.push import label_reach
from skfrontier.algos.graphs.propagation.residuals import (
    absorption_times,
    column_slack,
    row_slack,
    within_label_reach,
)
from skfrontier.algos.graphs.propagation.rows import RowSums, row_chunk
from skfrontier.algos.graphs.propagation.vectors import (
    N_BATCHES,
    achieved_error,
    adaptive_error,
    gauged_columns,
    smoothed_error,
)

_BATCH_BYTES = 2**30  # that batch means may take before columns are streamed


@dataclass(frozen=True)
class Solution:
    """Values with what is known of their error.

    Attributes
    ----------
    value, stderr : ndarray
        Standard error 0 from a solver that does not sample.
    solver : str
        'multitree', 'cg' or 'direct'.
    n_forests, n_steps : int
        What was sampled.
    achieved : float
        Bound of the sampling error by the plan's criterion; largest relative residual of 'cg' that
        missed ``rtol``.
    low, high : ndarray or None
        Interval of single entries, where it was asked for.
    """

    value: np.ndarray
    stderr: np.ndarray
    solver: str
    n_forests: int = 0
    n_steps: int = 0
    achieved: float = 0.0
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    @classmethod
    def exact(cls, value: np.ndarray, solver: str, achieved: float) -> "Solution":
        """A solution that was not sampled."""
        return cls(value, np.zeros_like(value), solver, achieved=achieved)

    def shortfall(self, plan: PropagationPlan) -> str:
        """Where the solution misses what was asked for, and what to do; empty where it does not."""
        tol = plan.target[0]
        if self.solver != "multitree":
            if not self.achieved > 0:
                return ""
            return (
                f"conjugate gradients stopped at a relative residual of {self.achieved:.3g}; try "
                "solver='direct' or preconditioner='amg'."
            )
        if plan.fixed_blocks is not None or self.achieved <= tol:
            return ""
        return (
            f"{self.n_forests} forests reached an error of {self.achieved:.3g}, not {tol:g}; raise "
            "max_forests or tol, or use solver='cg'."
        )

    @classmethod
    def joined(cls, parts: list["Solution"], axis: int) -> "Solution":
        """Solutions side by side."""
        return cls(
            np.concatenate([part.value for part in parts], axis=axis),
            np.concatenate([part.stderr for part in parts], axis=axis),
            parts[0].solver,
            max(part.n_forests for part in parts),
            sum(part.n_steps for part in parts),
            max(part.achieved for part in parts),
        )


def solve_values(
    graph: GroundedSignedGraph, sources: np.ndarray, plan: PropagationPlan, base: np.uint64
) -> Solution:
    """``L_UU^-1 B`` for right-hand sides of shape (n_unlabeled, n_columns), zero off the boundary."""
    columns = gauged_columns(graph, sources)
    solver = plan.solver
    if solver == "auto":
        solver = fixed_choice(graph, 1) or "cg"
    if solver == "multitree":
        return _sampled_values(graph, columns, plan, base)
    solve = exact_solver(graph, solver, plan.rtol, plan.preconditioner)
    value = np.empty_like(columns)
    for b, x in zip(columns, value, strict=True):
        x[:] = solve(b)
    return Solution.exact(graph.ungauged(value.T), solver, solve.worst_residual)


def _sampled_values(
    graph: GroundedSignedGraph, columns: np.ndarray, plan: PropagationPlan, base: np.uint64
) -> Solution:
    """Stream the columns in chunks; each chunk sees the same forests."""
    size = N_BATCHES * graph.n_unlabeled * columns.itemsize
    chunk = max(1, _BATCH_BYTES // max(1, size))
    parts = [
        _sampled_chunk(graph, columns[first : first + chunk], plan, base)
        for first in range(0, columns.shape[0], chunk)
    ]
    return Solution.joined(parts, axis=1)


def _sampled_chunk(
    graph: GroundedSignedGraph, columns: np.ndarray, plan: PropagationPlan, base: np.uint64
) -> Solution:
    sums = BatchSums(graph, columns, N_BATCHES, base, rao_blackwell=plan.rao_blackwell)
    tol, relative = plan.target
    if plan.fixed_blocks is not None:
        sums.grow(plan.fixed_blocks, plan.n_jobs)
        error = smoothed_error(sums, plan.smooth)
        achieved = achieved_error(error, N_BATCHES, relative, plan.criterion, plan.confidence)
    else:
        with _progress(plan, plan.most_blocks * N_BATCHES) as report:
            error, achieved = adaptive_error(
                sums, plan.smooth, tol=tol, relative=relative, criterion=plan.criterion,
                confidence=plan.confidence, max_forests=plan.max_forests, n_jobs=plan.n_jobs,
                report=report,
            )  # fmt: skip
    return Solution(
        graph.ungauged(error.mean.T), error.stderr.T, "multitree", sums.n_forests, sums.n_steps,
        achieved,
    )  # fmt: skip


def solve_pairs(
    graph: GroundedSignedGraph,
    rows: np.ndarray,
    cols: np.ndarray,
    plan: PropagationPlan,
    base: np.uint64,
    *,
    errors: bool,
) -> Solution:
    """Entries of ``Q`` at positions in ``graph.nodes`` and ``graph.labeled``.

    With ``errors`` the solution has intervals, and no solver is stopped early.
    """
    n_solves = min(np.unique(rows).size, np.unique(cols).size)
    solver, rtol, limit = _first_choice(graph, int(rows[0]), n_solves, plan, loose=not errors)
    if solver in ("multitree", "undecided"):
        sums = PairSums(
            graph, rows, cols, base, push=plan.first_push, rao_blackwell=plan.rao_blackwell
        )
        if plan.push == "auto" and plan.fixed_blocks is None:
            sums = _pushed_deeper(sums, rows, cols, plan)
        if solver == "multitree" or _pairs_forests(sums, plan) < limit:
            return _sampled_pairs(sums, plan)
        solver = "cg"
    solve = exact_solver(graph, solver, rtol, plan.preconditioner)
    return _solved_pairs(graph, rows, cols, solve, solver, errors)


def _first_choice(
    graph: GroundedSignedGraph, row: int, n_solves: int, plan: PropagationPlan, *, loose: bool
) -> tuple[str, float, float]:
    """Solver, or 'undecided' where a pilot of forests must tell; its ``rtol``; the solver's cost."""
    if plan.solver != "auto":
        return plan.solver, plan.rtol, math.inf
    if certain := fixed_choice(graph, n_solves):
        return certain, plan.rtol, math.inf
    rtol = loose_rtol(plan) if loose else plan.rtol
    limit = gradients_cost(graph, row, n_solves, rtol)
    return ("undecided" if least_forests_cost(graph) < limit else "cg"), rtol, limit


def _pushed_deeper(
    sums: PairSums, rows: np.ndarray, cols: np.ndarray, plan: PropagationPlan
) -> PairSums:
    """The sums at the push that suits the requested error, by a pilot block."""
    if _certain(sums, plan):
        return sums
    sums.grow(1, plan.n_jobs)
    tol, relative = plan.target
    size = float(np.sqrt(np.mean(sums.estimate().value ** 2))) if relative else 1.0
    return push_deeper(sums, rows, cols, tol * size) if size > 0 else sums


def _pairs_forests(sums: PairSums, plan: PropagationPlan) -> float:
    """Predicted cost of sampling, from a pilot block."""
    if _certain(sums, plan):
        return 0.0
    sums.grow(max(1, sums.n_blocks), plan.n_jobs)
    blocks = plan.fixed_blocks or max(1.0, (_pairs_error(sums, plan) / plan.target[0]) ** 2)
    touched = BLOCK * sums.touched_per_forest
    return blocks * forests_cost(BLOCK * sums.n_steps / sums.n_forests, touched)


def _certain(sums: PairSums, plan: PropagationPlan) -> bool:
    """Whether the push alone is within the requested error at every pair."""
    return _push_error(sums, plan) <= plan.target[0]


def _push_error(sums: PairSums, plan: PropagationPlan) -> float:
    """Largest error of the push alone, relative to its values' size where the plan says so."""
    reach = float(sums.reach.max(initial=0.0))
    return _relative(reach, sums.push_value) if plan.target[1] else reach


def _pairs_error(sums: PairSums, plan: PropagationPlan) -> float:
    """Pooled standard error, relative to the entries' size where the plan says so."""
    estimate = sums.estimate()
    error = float(np.sqrt(np.mean(estimate.stderr**2)))
    return _relative(error, estimate.value) if plan.target[1] else error


def _relative(error: float, value: np.ndarray) -> float:
    size = float(np.sqrt(np.mean(value**2)))
    return error / size if size > 0 else (math.inf if error > 0 else 0.0)


def _sampled_pairs(sums: PairSums, plan: PropagationPlan) -> Solution:
    tol = plan.target[0]
    look = 0
    if plan.fixed_blocks is not None:
        sums.grow(plan.fixed_blocks, plan.n_jobs)
    elif not _certain(sums, plan):
        sizes = checkpoints(plan.most_blocks)
        with _progress(plan, BLOCK * sizes[-1]) as report:
            n_blocks = max(1, sums.n_blocks)
            while True:
                sums.grow(n_blocks, plan.n_jobs)
                report(sums.n_forests)
                error = _pairs_error(sums, plan)
                if error <= tol or n_blocks == sizes[-1]:
                    break
                n_blocks = next_checkpoint(sizes, next_size(n_blocks, error / tol))
        look = sizes.index(n_blocks) + 1
    estimate = sums.estimate()
    if plan.interval == "bernstein":
        # An automatic push keeps the pilot's forests or draws new ones by what the pilot shows: half each.
        halves = 2 if plan.push == "auto" and look else 1
        low, high = bernstein_interval(estimate, 1 - (1 - plan.confidence) / halves, look)
    else:
        low, high = INTERVALS[plan.interval](estimate, plan.confidence)
    achieved = _pairs_error(sums, plan) if sums.n_forests else _push_error(sums, plan)
    return Solution(
        estimate.value, estimate.stderr, "multitree", sums.n_forests, sums.n_steps, achieved, low,
        high,
    )  # fmt: skip


def _solved_pairs(
    graph: GroundedSignedGraph,
    rows: np.ndarray,
    cols: np.ndarray,
    solve: Factorisation | ConjugateGradients,
    solver: str,
    errors: bool,
) -> Solution:
    """One solve for each distinct row or column, whichever are fewer."""
    value, slack = np.empty(rows.size), np.empty(rows.size)
    by_rows = np.unique(rows).size <= np.unique(cols).size
    group = rows if by_rows else cols
    order = np.argsort(group, kind="stable")
    distinct, first = np.unique(group[order], return_index=True)
    near = graph.boundary.tocsc()
    for one, pairs in zip(distinct, np.split(order, first[1:]), strict=True):
        b = _unit_row(graph, one) if by_rows else near[:, [one]].toarray().ravel()
        x = solve(b)
        if by_rows:
            value[pairs] = near[:, cols[pairs]].T @ x
        else:
            value[pairs] = (graph.gauge * x)[rows[pairs]]
        if errors:
            slack[pairs] = (row_slack if by_rows else column_slack)(graph, b, x)
    solution = Solution.exact(value, solver, solve.worst_residual)
    if not errors:
        return solution
    slack *= label_reach(graph)[cols] if by_rows else absorption_times(graph)[rows]
    low, high = within_label_reach(graph, value, slack, cols)
    return replace(solution, low=low, high=high)


def _unit_row(graph: GroundedSignedGraph, row: int) -> np.ndarray:
    """Unit vector of a node in the gauge."""
    unit = np.zeros(graph.n_unlabeled)
    unit[row] = graph.gauge[row]
    return unit


def solve_rows(
    graph: GroundedSignedGraph,
    rows: np.ndarray,
    plan: PropagationPlan,
    base: np.uint64,
    *,
    errors: bool,
) -> Solution:
    """Rows of ``Q`` at positions in ``graph.nodes``, shape (n_rows, n_labeled).

    With ``errors`` no solver is stopped early.
    """
    n_solves = min(np.unique(rows).size, graph.labeled.size)
    solver, rtol, limit = _first_choice(graph, int(rows[0]), n_solves, plan, loose=not errors)
    if solver == "undecided":
        solver = "multitree" if _rows_forests(graph, rows, plan, base) < limit else "cg"
    if solver == "multitree":
        chunk = row_chunk(graph)
        parts = [
            _sampled_rows(graph, rows[first : first + chunk], plan, base)
            for first in range(0, rows.size, chunk)
        ]
        return Solution.joined(parts, axis=0)
    return _solved_rows(graph, rows, solver, rtol, plan.preconditioner)


def _solved_rows(
    graph: GroundedSignedGraph, rows: np.ndarray, solver: str, rtol: float, preconditioner: str
) -> Solution:
    """One solve for each row, or for each label where they are fewer."""
    solve = exact_solver(graph, solver, rtol, preconditioner)
    value = np.empty((rows.size, graph.labeled.size))
    if rows.size <= graph.labeled.size:
        for i, row in enumerate(rows):
            value[i] = graph.boundary.T @ solve(_unit_row(graph, row))
    else:
        near = graph.boundary.tocsc()
        for j in range(graph.labeled.size):
            x = solve(near[:, [j]].toarray().ravel())
            value[:, j] = (graph.gauge * x)[rows]
    return Solution.exact(value, solver, solve.worst_residual)


def _rows_forests(
    graph: GroundedSignedGraph, rows: np.ndarray, plan: PropagationPlan, base: np.uint64
) -> float:
    """Predicted cost of sampling rows, from a pilot block of some of them."""
    pilot = RowSums(graph, rows[:: max(1, rows.size // 16)], base, push=plan.first_push)
    pilot.grow(1, plan.n_jobs)
    blocks = plan.fixed_blocks or max(1.0, (_rows_error(pilot, plan) / plan.target[0]) ** 2)
    touched = BLOCK * pilot.touched_per_row_and_forest * rows.size
    n_chunks = math.ceil(rows.size / row_chunk(graph))
    return blocks * forests_cost(n_chunks * pilot.n_steps, touched)


def _sampled_rows(
    graph: GroundedSignedGraph, rows: np.ndarray, plan: PropagationPlan, base: np.uint64
) -> Solution:
    sums = RowSums(graph, rows, base, push=plan.first_push)
    if plan.fixed_blocks is not None:
        sums.grow(plan.fixed_blocks, plan.n_jobs)
    else:
        n_blocks = 1
        with _progress(plan, BLOCK * plan.most_blocks) as report:
            while True:
                sums.grow(n_blocks, plan.n_jobs)
                report(sums.n_blocks * BLOCK)
                error = _rows_error(sums, plan)
                if error <= plan.target[0] or n_blocks == plan.most_blocks:
                    break
                n_blocks = min(next_size(n_blocks, error / plan.target[0]), plan.most_blocks)
    estimate = sums.estimate()
    return Solution(
        estimate.value, estimate.stderr, "multitree", estimate.n_forests, estimate.n_steps,
        _rows_error(sums, plan),
    )  # fmt: skip


def _rows_error(sums: RowSums, plan: PropagationPlan) -> float:
    estimate = sums.estimate()
    error = float(np.sqrt(np.mean(estimate.stderr**2)))
    return _relative(error, estimate.value) if plan.target[1] else error


@contextmanager
def _progress(plan: PropagationPlan, total: int) -> Iterator[Callable[[int], None]]:
    """Report numbers of forests on a progress bar, with ``verbose``."""
    with tqdm(total=total, desc="forests", disable=not plan.verbose) as bar:
        yield lambda count: bar.update(count - bar.n) and None
