"""Chamfer distances: to a fitted cloud, of streams, and between many clouds."""

from skfrontier.estimators.geometry.chamfer.clouds import ChamferNearestClouds, ChamferTransformer
from skfrontier.estimators.geometry.chamfer.distance import ChamferDistance
from skfrontier.estimators.geometry.chamfer.two_pass import TwoPassChamfer

__all__ = ["ChamferDistance", "ChamferNearestClouds", "ChamferTransformer", "TwoPassChamfer"]
