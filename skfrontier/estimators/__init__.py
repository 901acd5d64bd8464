"""scikit-learn classes; each validates its input, calls the algorithm, and keeps the result."""

from skfrontier.estimators.geometry.chamfer import (
    ChamferDistance,
    ChamferNearestClouds,
    ChamferTransformer,
    TwoPassChamfer,
)

__all__ = ["ChamferDistance", "ChamferNearestClouds", "ChamferTransformer", "TwoPassChamfer"]
