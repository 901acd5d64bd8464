"""The validated parameters of a Chamfer computation, and the choice of its method."""

from dataclasses import dataclass

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_interval,
    check_n_jobs,
)
from skfrontier.algos.geometry.chamfer.candidates import check_sampling_metric
from skfrontier.algos.geometry.chamfer.exact import exact_cost
from skfrontier.algos.geometry.chamfer.metric import REDUCTIONS, Metric
from skfrontier.algos.geometry.chamfer.projection import PROJECTIONS

METHODS = ("auto", "brute", "tree", "grid", "sample", "uniform")
BACKENDS = ("numpy", "torch")

_CHEAP_EXACT = 2e9  # predicted nanoseconds up to which 'auto' does not bother to estimate
_WORTHWHILE = 3.0  # predicted speed-up from which it does


@dataclass(frozen=True)
class Plan:
    """Everything about a computation but the points: the validated public parameters."""

    metric: Metric
    method: str
    epsilon: float  # 0: exact
    delta: float
    n_trees: int = 2
    n_projections: int = 8
    projection: str = "auto"
    reduction: str = "sum"
    backend: str = "numpy"
    block_size: int = 4096
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if self.method == "exact":
            raise ValueError(
                "method='exact' is spelled epsilon=0, which takes the cheapest exact method."
            )
        check_choice(self.method, "method", METHODS)
        check_choice(self.projection, "projection", PROJECTIONS)
        check_choice(self.reduction, "reduction", REDUCTIONS)
        check_choice(self.backend, "backend", BACKENDS)
        check_count(self.n_trees, "n_trees")
        check_count(self.n_projections, "n_projections")
        check_count(self.block_size, "block_size")
        check_n_jobs(self.n_jobs)
        epsilon = 0.0 if self.epsilon is None else self.epsilon
        object.__setattr__(
            self, "epsilon", check_interval(epsilon, "epsilon", 0.0, 1.0, closed="left")
        )
        check_interval(self.delta, "delta", 0.0, 1.0, closed="neither")
        if self.backend == "torch" and self.method in ("tree", "grid"):
            raise ValueError(
                f"backend='torch' compares all pairs: use method='auto', 'brute', 'sample' or 'uniform', "
                f"not {self.method!r}."
            )
        if self.method in ("sample", "uniform"):
            check_sampling_metric(self.metric)
            if self.epsilon == 0:
                raise ValueError(
                    f"method={self.method!r} estimates and needs epsilon in (0, 1); for the exact value "
                    "use method='auto', 'brute', 'tree' or 'grid'."
                )


def choose_method(n_A: int, n_B: int, d: int, plan: Plan) -> str:
    """Return 'exact' or 'sample', whichever is predicted to serve better.

    A fixed formula of the sizes decides, so that the choice never depends on the machine's load.
    """
    if plan.epsilon == 0 or not 1 <= plan.metric.p <= 2:
        return "exact"
    exact = exact_cost(n_A, n_B, d, plan.metric)
    if exact <= _CHEAP_EXACT or sampling_cost(n_A, n_B, d, plan) > exact / _WORTHWHILE:
        return "exact"
    return "sample"


def sampling_cost(n_A: int, n_B: int, d: int, plan: Plan) -> float:
    """Predicted nanoseconds of the sampler on data whose candidates are good."""
    candidates = (n_A + n_B) * plan.n_trees * (300.0 + 3.0 * d)
    searches = 64.0 + 0.16 / plan.epsilon / plan.epsilon
    return candidates + searches * exact_cost(1, n_B, d, plan.metric)
