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
from skfrontier.algos.graphs.clustering import (
    ClusterReport,
    EdgeList,
    Hierarchy,
    KMeansResult,
    SpectralResult,
    block_log_affinity,
    eigengap,
    quotient,
    spectral_cluster_weighted,
    sz_sparsify,
    weighted_kmeans,
)

__all__ = [
    "BanditResult",
    "BettingMeanCS",
    "ChamferResult",
    "Clouds",
    "ClusterReport",
    "EdgeList",
    "Hierarchy",
    "KMeansResult",
    "OverflowWarning",
    "ReplayResult",
    "SpectralResult",
    "best_switching_loss",
    "block_log_affinity",
    "chamfer_distance",
    "chamfer_matrix",
    "dynamic_regret",
    "eigengap",
    "lopsided_embedding",
    "nearest_distances",
    "quotient",
    "regret_report",
    "replay_evaluate",
    "run_many",
    "spectral_cluster_weighted",
    "static_regret",
    "switching_regret",
    "sz_sparsify",
    "toeplitz_fjlt",
    "weighted_kmeans",
    "zorder_candidates",
]
