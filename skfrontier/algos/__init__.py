"""The algorithms as plain functions: arrays in, arrays or small frozen results out."""

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
from skfrontier.algos.decisions.bandits.result import (
    BanditResult,
)
from skfrontier.algos.geometry.chamfer import (
    BettingMeanCS,
    ChamferResult,
    Clouds,
    OverflowWarning,
    chamfer_distance,
    chamfer_matrix,
    lopsided_embedding,
    nearest_distances,
    toeplitz_fjlt,
    zorder_candidates,
)

__all__ = [
    "BanditResult",
    "BettingMeanCS",
    "ChamferResult",
    "Clouds",
    "OverflowWarning",
    "ReplayResult",
    "best_switching_loss",
    "chamfer_distance",
    "chamfer_matrix",
    "dynamic_regret",
    "lopsided_embedding",
    "nearest_distances",
    "regret_report",
    "replay_evaluate",
    "run_many",
    "static_regret",
    "switching_regret",
    "toeplitz_fjlt",
    "zorder_candidates",
]
