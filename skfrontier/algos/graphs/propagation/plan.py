"""The options of a computation, checked once."""

import math
from dataclasses import dataclass
from typing import Any

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_flag,
    check_interval,
    check_n_jobs,
)

SOLVERS = ("auto", "multitree", "cg", "direct")
DEFAULT_TOL = 0.05  # relative
DEFAULT_PUSH = 3e-3
LEAST_RTOL = 1e-15  # a recurrence goes on to 0 / 0 below the rounding of its residual


@dataclass(frozen=True)
class PropagationPlan:
    """How to compute with the operator; see ``LabelPropagationOperator`` for the options.

    Raises
    ------
    ValueError, TypeError
        If an option is outside what is accepted.
    """

    solver: str = "auto"
    tol: float | None = None
    relative: bool = True
    criterion: str = "rms"
    confidence: float = 0.95
    n_forests: int | str = "adaptive"
    max_forests: int = 4096
    smooth: int = 4
    push: float | str | None = DEFAULT_PUSH
    rao_blackwell: bool = True
    interval: str = "normal"
    rtol: float = 1e-8
    preconditioner: str = "jacobi"
    n_jobs: int | None = None
    verbose: Any = 0

    def __post_init__(self) -> None:
        check_choice(self.solver, "solver", SOLVERS)
        if self.tol is not None:
            check_interval(self.tol, "tol", 0.0, math.inf, closed="neither")
        check_flag(self.relative, "relative")
        check_choice(self.criterion, "criterion", ("rms", "max"))
        check_interval(self.confidence, "confidence", 0.0, 1.0, closed="neither")
        if self.n_forests != "adaptive":
            if isinstance(self.n_forests, str):
                raise ValueError(
                    f"n_forests must be 'adaptive' or an integer, got {self.n_forests!r}."
                )
            check_count(self.n_forests, "n_forests", 16)
        check_count(self.max_forests, "max_forests", 16)
        check_count(self.smooth, "smooth", 0)
        if isinstance(self.push, str) and self.push != "auto":
            raise ValueError(f"push must be a number, None or 'auto', got {self.push!r}.")
        if self.push is not None and self.push != "auto":
            check_interval(self.push, "push", 0.0, math.inf, closed="neither")
        check_flag(self.rao_blackwell, "rao_blackwell")
        check_choice(self.interval, "interval", ("normal", "bernstein"))
        check_interval(self.rtol, "rtol", LEAST_RTOL, 1.0, closed="left")
        check_choice(self.preconditioner, "preconditioner", ("jacobi", "amg"))
        check_n_jobs(self.n_jobs)

    @property
    def target(self) -> tuple[float, bool]:
        """Requested error, and whether it is relative."""
        return (DEFAULT_TOL, True) if self.tol is None else (float(self.tol), bool(self.relative))

    @property
    def first_push(self) -> float | None:
        """How far to push before anything is known."""
        return DEFAULT_PUSH if isinstance(self.push, str) else self.push

    @property
    def fixed_blocks(self) -> int | None:
        """Number of blocks of 16 forests, None where it is adaptive."""
        return None if isinstance(self.n_forests, str) else math.ceil(int(self.n_forests) / 16)

    @property
    def most_blocks(self) -> int:
        """Largest number of blocks of 16 forests."""
        return max(1, int(self.max_forests) // 16)
