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
from skfrontier.algos.statistics.truncated_boolean.packed_bits import PackedBits, pack_bits
from skfrontier.algos.statistics.truncated_boolean.poisson_binomial import (
    cardinality_moments,
    cardinality_sample,
)
from skfrontier.algos.statistics.truncated_boolean.sets import (
    CNF,
    DNF,
    Cardinality,
    EmpiricalSupport,
    ExplicitSet,
    FullCube,
    Halfspaces,
    Intersection,
    MembershipOracle,
    TruncationSet,
    XorConstraints,
    as_truncation,
    make_truncation,
)

__all__ = [
    "CNF",
    "DNF",
    "BanditResult",
    "BettingMeanCS",
    "Cardinality",
    "ChamferResult",
    "Clouds",
    "EmpiricalSupport",
    "ExplicitSet",
    "FullCube",
    "Halfspaces",
    "Intersection",
    "MembershipOracle",
    "OverflowWarning",
    "PackedBits",
    "ReplayResult",
    "TruncationSet",
    "XorConstraints",
    "as_truncation",
    "best_switching_loss",
    "cardinality_moments",
    "cardinality_sample",
    "chamfer_distance",
    "chamfer_matrix",
    "dynamic_regret",
    "lopsided_embedding",
    "make_truncation",
    "nearest_distances",
    "pack_bits",
    "regret_report",
    "replay_evaluate",
    "run_many",
    "static_regret",
    "switching_regret",
    "toeplitz_fjlt",
    "zorder_candidates",
]
