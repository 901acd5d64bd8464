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
from skfrontier.algos.graphs.propagation import (
    ForestEstimate,
    GroundedSignedGraph,
    PairEstimate,
    absorbing_walk_entries,
    build_grounded_graph,
    forest_apply,
    forest_entries,
    friedkin_johnsen_equilibrium,
    is_balanced,
    leader_follower_equilibrium,
    push_residual,
    sample_forest,
    signed_laplacian,
    symmetrize_signed,
)
from skfrontier.algos.statistics.truncated_boolean.combination import (
    combine_moves,
    estimated_efficiency,
)
from skfrontier.algos.statistics.truncated_boolean.flips import conditional_logit
from skfrontier.algos.statistics.truncated_boolean.importance import importance_log_mass
from skfrontier.algos.statistics.truncated_boolean.packed_bits import PackedBits, pack_bits
from skfrontier.algos.statistics.truncated_boolean.pairs import (
    move_null_space,
    pair_conditional_fit,
)
from skfrontier.algos.statistics.truncated_boolean.poisson_binomial import (
    cardinality_moments,
    cardinality_sample,
)
from skfrontier.algos.statistics.truncated_boolean.sampling import gibbs_truncated
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
from skfrontier.algos.statistics.truncated_boolean.sgd import truncated_sgd
from skfrontier.algos.statistics.truncated_boolean.support import support_conditional_fit

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
    "ForestEstimate",
    "FullCube",
    "GroundedSignedGraph",
    "Halfspaces",
    "Intersection",
    "MembershipOracle",
    "OverflowWarning",
    "PackedBits",
    "PairEstimate",
    "ReplayResult",
    "TruncationSet",
    "XorConstraints",
    "absorbing_walk_entries",
    "as_truncation",
    "best_switching_loss",
    "build_grounded_graph",
    "cardinality_moments",
    "cardinality_sample",
    "chamfer_distance",
    "chamfer_matrix",
    "combine_moves",
    "conditional_logit",
    "dynamic_regret",
    "estimated_efficiency",
    "forest_apply",
    "forest_entries",
    "friedkin_johnsen_equilibrium",
    "gibbs_truncated",
    "importance_log_mass",
    "is_balanced",
    "leader_follower_equilibrium",
    "lopsided_embedding",
    "make_truncation",
    "move_null_space",
    "nearest_distances",
    "pack_bits",
    "pair_conditional_fit",
    "push_residual",
    "regret_report",
    "replay_evaluate",
    "run_many",
    "sample_forest",
    "signed_laplacian",
    "static_regret",
    "support_conditional_fit",
    "switching_regret",
    "symmetrize_signed",
    "toeplitz_fjlt",
    "truncated_sgd",
    "zorder_candidates",
]
