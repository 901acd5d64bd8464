"""Matching of point sets that change, and a monitor of drift."""

from skfrontier.estimators.geometry.matching.drift import WassersteinDriftMonitor
from skfrontier.estimators.geometry.matching.dynamic_matching import DynamicMatching

__all__ = ["DynamicMatching", "WassersteinDriftMonitor"]
