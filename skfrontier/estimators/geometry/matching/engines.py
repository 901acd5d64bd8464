"""Which algorithm runs for which points, and how it is set up."""

from typing import Any

import numpy as np

from skfrontier.algos.geometry.matching.exact import DualMatching
from skfrontier.algos.geometry.matching.geometric import GeometricMatching
from skfrontier.algos.geometry.matching.hub_flow import HubMatching
from skfrontier.algos.geometry.matching.line import LineMatching
from skfrontier.algos.geometry.matching.matrix_cache import CachedMatching
from skfrontier.algos.geometry.matching.tree_matching import TreeMatching
from skfrontier.estimators.geometry.matching.parameters import checked_bounds
from skfrontier.estimators.geometry.matching.point_kinds import (
    IndexPoints,
    ObjectPoints,
    VectorPoints,
)

_EXACT_UP_TO = 5000
_TREE_FEATURES, _TREE_FROM = (
    3,
    4096,
)  # features up to which, points from which trees find rows' best

Engine = DualMatching | HubMatching | GeometricMatching


def chosen_method(model: Any, kind: Any, n_features: int, n: int) -> str:
    """The method for ``n`` points on the larger side."""
    if model.method != "auto":
        return model.method
    vectors = isinstance(kind, VectorPoints) and not isinstance(kind, IndexPoints)
    if not vectors:
        return "metric" if isinstance(kind, ObjectPoints) or n > _EXACT_UP_TO else "exact"
    if n <= _EXACT_UP_TO or n_features == 1 or model.metric == "sqeuclidean":
        return "exact"
    return "geometric" if model.p == 1 and n_features <= 4 else "metric"


def new_engine(
    model: Any, kind: Any, method: str, n_features: int, rng: np.random.Generator
) -> Engine:
    """An empty matching for the parameters of a `DynamicMatching`."""
    if method in ("exact", "anytime"):
        limit = int(model.max_scans) if method == "anytime" else None
        if isinstance(kind, ObjectPoints):
            return CachedMatching(kind.rows, kind.cost.power, limit)
        if isinstance(kind, IndexPoints):
            return DualMatching(kind.cost, n_features, limit)
        if model.method == "auto" and n_features == 1:
            return LineMatching(kind.cost, n_features, limit)
        if limit is None and model.search == "tree":
            return TreeMatching(kind.cost, n_features, from_points=2)
        if limit is None and model.search == "auto" and n_features <= _TREE_FEATURES:
            return TreeMatching(kind.cost, n_features, from_points=_TREE_FROM)
        return DualMatching(kind.cost, n_features, limit)
    if method == "metric":
        return HubMatching(kind.rows, n_features, kind.cost.power, int(model.stretch), rng)
    return GeometricMatching(
        kind.cost,
        n_features,
        ratio=int(model.grid_ratio),
        n_levels=None if model.n_levels is None else int(model.n_levels),
        bounds=checked_bounds(model.bounds, n_features),
        n_candidates=int(model.n_candidates),
        depth=int(model.chain_depth),
        max_chains=int(model.max_chains),
        rng=rng,
    )
