"""How the estimators of this topic read points and collections of clouds."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from skfrontier.algos.geometry.chamfer.clouds import Clouds, pack_clouds


def read_points(
    estimator: BaseEstimator, X: Any, *, reset: bool, min_points: int = 1
) -> np.ndarray:
    """Validate a table of points, in the float type that it has, and its features."""
    _refuse_masks_and_text(X)
    try:
        return validate_data(
            estimator,
            X,
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_min_samples=min_points,
        )
    except OverflowError as error:
        raise ValueError(f"X must hold numbers within the range of float64: {error}.") from None


def read_clouds(estimator: BaseEstimator, X: Any, *, reset: bool) -> Clouds:
    """Validate clouds and keep, or compare, their number of features.

    A 2-D array or frame is read as one point per cloud, so that the estimators can stand where a
    table is the input; everything else is what ``pack_clouds`` accepts.
    """
    if _is_table(X):
        table = read_points(estimator, X, reset=reset)
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


def _refuse_masks_and_text(X: Any) -> None:
    """Raise where a conversion to numbers would be silent and wrong."""
    if np.ma.is_masked(X):
        raise ValueError("X has masked entries; drop or fill them first.")
    kind = getattr(getattr(X, "dtype", None), "kind", "f")
    if kind in "USMm":
        raise ValueError(f"X must hold real numbers, got dtype {X.dtype}.")


def _is_table(X: Any) -> bool:
    if isinstance(X, Clouds | tuple):
        return False
    if isinstance(X, list):
        return len(X) > 0 and np.ndim(X[0]) < 2
    n_dimensions = getattr(X, "ndim", 2)
    return not (n_dimensions == 3 or (n_dimensions == 1 and X.dtype.kind == "O"))
