"""Checks of the parameters of `DynamicMatching` and of the arguments of its methods."""

from numbers import Integral
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_choice, check_count, check_flag, check_n_jobs
from skfrontier.estimators.geometry.matching.point_kinds import IndexPoints, VectorPoints

_METHODS = ("auto", "exact", "anytime", "metric", "geometric")
_CHANGEABLE = {"certify", "lazy", "n_jobs", "verbose"}  # also after the fit


def check_parameters(model: Any, kind: Any) -> None:
    """Refuse parameters of a `DynamicMatching` that are wrong, or wrong for this kind of points."""
    method = check_choice(model.method, "method", _METHODS)
    check_count(model.stretch, "stretch")
    if model.grid_ratio not in (2, 4, 8, 16) or not isinstance(model.grid_ratio, Integral):
        raise ValueError(f"grid_ratio must be 2, 4, 8 or 16, got {model.grid_ratio!r}.")
    if model.n_levels is not None:
        check_count(model.n_levels, "n_levels")
    check_count(model.n_candidates, "n_candidates", 0, 10_000)
    check_count(model.chain_depth, "chain_depth", 1, 1_000_000)
    check_count(model.max_chains, "max_chains", 0)
    check_count(model.max_scans, "max_scans")
    check_choice(model.search, "search", ("auto", "dense", "tree"))
    check_flag(model.lazy, "lazy")
    check_n_jobs(model.n_jobs)
    checked_certify(model.certify)
    if method == "geometric":
        if model.p != 1:
            raise ValueError(f"method 'geometric' needs p=1, got p={model.p!r}.")
        if not isinstance(kind, VectorPoints) or isinstance(kind, IndexPoints):
            raise ValueError("method 'geometric' needs points in R^d and a norm as the metric.")
    if method in ("metric", "geometric") and model.metric == "sqeuclidean":
        raise ValueError(
            f"method {method!r} needs a metric; 'sqeuclidean' is none. Use metric='euclidean' with p=2 "
            "for 'metric', or method 'exact' or 'anytime'."
        )


def checked_side(side: Any) -> int:
    """0 for side A, 1 for side B."""
    known = {"a": 0, "b": 1}
    if isinstance(side, str) and side in known:
        return known[side]
    if isinstance(side, Integral) and not isinstance(side, bool | np.bool_) and side in (0, 1):
        return int(side)
    raise ValueError(f"side must be 'a', 'b', 0 or 1; got {side!r}.")


def checked_certify(certify: Any) -> Any:
    """The way to the lower bound."""
    if certify is False or (isinstance(certify, str) and certify in ("auto", "dual", "cheap")):
        return certify
    raise ValueError(f"certify must be 'auto', 'dual', 'cheap' or False; got {certify!r}.")


def checked_bounds(bounds: Any, d: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Lowest and highest coordinates, each of shape (d,)."""
    if bounds is None:
        return None
    try:
        low, high = (np.broadcast_to(np.asarray(b, dtype=float), (d,)) for b in bounds)
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds must be (low, high) of {d} numbers each, got {bounds!r}."
        ) from None
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError(f"bounds must be finite with low < high, got {bounds!r}.")
    return low, high


def frozen_parameters(model: Any) -> dict[str, Any]:
    """The parameters that must stay as they were at the fit."""
    return {name: value for name, value in model.get_params().items() if name not in _CHANGEABLE}


def check_frozen(model: Any, frozen: dict[str, Any]) -> None:
    """Refuse to go on with other parameters than those of the fit."""
    for name, value in frozen.items():
        present = getattr(model, name)
        if present is not value and not _same(present, value):
            raise ValueError(
                f"{name} was changed to {present!r} after the fit with {value!r}; fit again."
            )


def _same(present: Any, value: Any) -> bool:
    try:
        return bool(present == value)
    except ValueError:  # arrays
        return False
