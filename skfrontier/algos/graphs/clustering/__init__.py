"""Dynamic spectral clustering with a contraction hierarchy."""

from skfrontier.algos.graphs.clustering.graph_input import EdgeList
from skfrontier.algos.graphs.clustering.hierarchy import ClusterReport, Hierarchy
from skfrontier.algos.graphs.clustering.kmeans import KMeansResult, weighted_kmeans
from skfrontier.algos.graphs.clustering.quotient import block_log_affinity, quotient
from skfrontier.algos.graphs.clustering.sparsify import sz_sparsify
from skfrontier.algos.graphs.clustering.spectral import (
    SpectralResult,
    eigengap,
    spectral_cluster_weighted,
)

__all__ = [
    "ClusterReport",
    "EdgeList",
    "Hierarchy",
    "KMeansResult",
    "SpectralResult",
    "block_log_affinity",
    "eigengap",
    "quotient",
    "spectral_cluster_weighted",
    "sz_sparsify",
    "weighted_kmeans",
]
