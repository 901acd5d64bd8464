"""Dynamic spectral clustering of graphs, and of points by their neighbours."""

from skfrontier.estimators.graphs.clustering.base import UnclearGapWarning
from skfrontier.estimators.graphs.clustering.graph import DynamicSpectralClustering
from skfrontier.estimators.graphs.clustering.knn import DynamicKNNSpectralClustering

__all__ = ["DynamicKNNSpectralClustering", "DynamicSpectralClustering", "UnclearGapWarning"]
