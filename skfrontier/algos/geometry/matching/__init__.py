"""Minimum-cost bipartite matching and Wasserstein distance under insertions and deletions."""

from skfrontier.algos.geometry.matching.certificate import (
    MatchingResult,
    c_transform,
    matching_lower_bound,
)
from skfrontier.algos.geometry.matching.hub_graph import Bunches, build_bunches, stretch_bound

__all__ = [
    "Bunches",
    "MatchingResult",
    "build_bunches",
    "c_transform",
    "matching_lower_bound",
    "stretch_bound",
]
