"""The algorithms as plain functions: arrays in, arrays or small frozen results out."""

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
