"""How a hierarchy is kept and clustered."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_choice, check_count, check_flag, check_interval


@dataclass(frozen=True)
class Settings:
    """Parameters of `Hierarchy`; meaning, defaults and ranges as in `DynamicSpectralClustering`."""

    n_clusters: int | None = None
    depth: int = 3
    beta: float = 1.0
    micro_clusters: int = 4
    max_clusters: int = 30
    min_clusters: int = 2
    budget_scale: float = 1.0
    min_budget: int = 64
    max_drift: float = 1.0
    max_moved: float = 0.08
    regularization: Any = "auto"
    refine_rate: float | None = 0.1
    sparsify: Any = "auto"
    sparsify_tau: float = 3.0
    n_init: int = 10
    eigen_tol: float = 1e-3
    stable_labels: bool = True

    def checked(self) -> "Settings":
        """The same with plain Python numbers.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of range.
        """
        k = self.n_clusters
        low = check_count(self.min_clusters, "min_clusters")
        rate, ridge = self.refine_rate, self.regularization
        return Settings(
            n_clusters=None if k is None else check_count(k, "n_clusters", 1, 2**20),
            depth=check_count(self.depth, "depth", 1, 16),
            beta=check_interval(self.beta, "beta", 0, np.inf, closed="neither"),
            micro_clusters=check_count(self.micro_clusters, "micro_clusters", 1, 2**10),
            max_clusters=check_count(self.max_clusters, "max_clusters", low, 2**20),
            min_clusters=low,
            budget_scale=check_interval(
                self.budget_scale, "budget_scale", 0, np.inf, closed="neither"
            ),
            min_budget=check_count(self.min_budget, "min_budget", 0, 2**30),
            max_drift=check_interval(self.max_drift, "max_drift", 0, np.inf),
            max_moved=check_interval(self.max_moved, "max_moved", 0, np.inf),
            regularization=_auto_or_number(ridge, "regularization"),
            refine_rate=(
                None
                if rate is None
                else check_interval(rate, "refine_rate", 0, np.inf, closed="neither")
            ),
            sparsify=_auto_or_flag(self.sparsify),
            sparsify_tau=check_interval(
                self.sparsify_tau, "sparsify_tau", 0, np.inf, closed="neither"
            ),
            n_init=check_count(self.n_init, "n_init", 1, 2**20),
            eigen_tol=check_interval(self.eigen_tol, "eigen_tol", 0, 1, closed="left"),
            stable_labels=check_flag(self.stable_labels, "stable_labels"),
        )


def _auto_or_number(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return check_choice(value, name, ("auto",))
    return check_interval(value, name, 0, np.inf, closed="left")


def _auto_or_flag(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    return check_choice(value, "sparsify", ("auto",))
