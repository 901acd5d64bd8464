"""Chamfer distance: exact, certified estimates, many clouds, retrieval and streams."""

from skfrontier.algos.geometry.chamfer.betting import BettingMeanCS
from skfrontier.algos.geometry.chamfer.candidates import zorder_candidates
from skfrontier.algos.geometry.chamfer.clouds import Clouds
from skfrontier.algos.geometry.chamfer.distance import ChamferResult, chamfer_distance
from skfrontier.algos.geometry.chamfer.embedding import lopsided_embedding, toeplitz_fjlt
from skfrontier.algos.geometry.chamfer.exact import nearest_distances
from skfrontier.algos.geometry.chamfer.matrix import chamfer_matrix
from skfrontier.algos.geometry.chamfer.metric import OverflowWarning

__all__ = [
    "BettingMeanCS",
    "ChamferResult",
    "Clouds",
    "OverflowWarning",
    "chamfer_distance",
    "chamfer_matrix",
    "lopsided_embedding",
    "nearest_distances",
    "toeplitz_fjlt",
    "zorder_candidates",
]
