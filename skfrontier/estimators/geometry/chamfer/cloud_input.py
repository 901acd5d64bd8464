"""How the estimators of this topic read a collection of clouds."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from skfrontier.algos.geometry.chamfer.clouds import Clouds, pack_clouds


def read_clouds(estimator: BaseEstimator, X: Any, *, reset: bool) -> Clouds:
    """Validate clouds and keep, or compare, their number of features.

    A 2-D array or frame is read as one point per cloud, so that the estimators can stand where a
    table is the input; everything else is what ``pack_clouds`` accepts.
    """
    if _is_table(X):
        table = validate_data(estimator, X, dtype=[np.float64, np.float32], reset=reset)
        return Clouds(table, np.arange(len(table) + 1))
    clouds = pack_clouds(X, "X")
    n_features = clouds.points.shape[1]
    if reset:
        estimator.n_features_in_ = n_features
    elif n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return clouds


def _is_table(X: Any) -> bool:
    if isinstance(X, Clouds | tuple):
        return False
    if isinstance(X, list):
        return not X or np.ndim(X[0]) < 2
    n_dimensions = getattr(X, "ndim", 2)
    return not (n_dimensions == 3 or (n_dimensions == 1 and X.dtype.kind == "O"))
