"""Functional core: arrays in, arrays or small frozen dataclasses out."""

from skfrontier.algos.decisions.bandits.evaluation import (
    ReplayResult,
    replay_evaluate,
    run_many,
)
from skfrontier.algos.decisions.bandits.regret import (
    best_switching_loss,
    dynamic_regret,
    regret_report,
    static_regret,
    switching_regret,
)
from skfrontier.algos.decisions.bandits.result import BanditResult

__all__ = [
    "BanditResult",
    "ReplayResult",
    "best_switching_loss",
    "dynamic_regret",
    "regret_report",
    "replay_evaluate",
    "run_many",
    "static_regret",
    "switching_regret",
]
