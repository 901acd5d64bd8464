"""The options of the alignment, checked once."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._validation import (
    as_numbers,
    check_choice,
    check_count,
    check_flag,
    check_interval,
    check_n_jobs,
)
from skfrontier.algos.geometry.procrustes_wasserstein.enumeration import LARGEST_K
from skfrontier.algos.geometry.procrustes_wasserstein.sinkhorn import AnchorPairs

METHODS = ("auto", "directions", "frank-wolfe", "random", "identity")
MATCHINGS = ("auto", "dense", "sparse")


@dataclass(frozen=True)
class Settings:
    """Options as documented in `procrustes_wasserstein`."""

    method: str = "auto"
    n_directions: Any = "auto"
    n_candidates: int = 8
    allow_reflection: bool = True
    translation: bool = True
    scaling: bool = False
    outlier_cost: float | None = None
    n_neighbors: int = 16
    matching: str = "auto"
    refine: bool = True
    max_iter: int = 100
    tol: float = 1e-9
    n_jobs: int | None = None
    verbose: int = 0

    @classmethod
    def checked(cls, **options: Any) -> "Settings":
        """Settings from what a user passed, or an error naming the option."""
        given = cls(**options)
        check_n_jobs(given.n_jobs)
        price = given.outlier_cost
        if price is not None:
            price = check_interval(price, "outlier_cost", 0, np.inf, closed="neither")
        return cls(
            method=check_choice(given.method, "method", METHODS),
            n_directions=_check_directions(given.n_directions),
            n_candidates=check_count(given.n_candidates, "n_candidates"),
            allow_reflection=check_flag(given.allow_reflection, "allow_reflection"),
            translation=check_flag(given.translation, "translation"),
            scaling=check_flag(given.scaling, "scaling"),
            outlier_cost=price,
            n_neighbors=check_count(given.n_neighbors, "n_neighbors"),
            matching=check_choice(given.matching, "matching", MATCHINGS),
            refine=check_flag(given.refine, "refine"),
            max_iter=check_count(given.max_iter, "max_iter"),
            tol=check_interval(given.tol, "tol", 0, np.inf, closed="left"),
            n_jobs=given.n_jobs,
            verbose=check_count(given.verbose, "verbose", 0),
        )

    def directions(self, default: tuple[int, ...], n_axes: int) -> list[int]:
        """Numbers of axes whose signs are enumerated, cut to what there is."""
        chosen = default if isinstance(self.n_directions, str) else self.n_directions
        return sorted({min(k, n_axes) for k in chosen})


def _check_directions(value: Any) -> Any:
    if isinstance(value, str):
        return check_choice(value, "n_directions", ("auto",))
    values = value if isinstance(value, list | tuple | set | frozenset) else [value]
    if len(values) == 0:
        raise ValueError("n_directions must be 'auto', an integer or several; got none.")
    return tuple(check_count(k, "n_directions", 1, LARGEST_K) for k in values)


def check_anchors(anchors: Any, n_x: int, n_y: int) -> AnchorPairs:
    """Pairs of rows that are known, each row and column once."""
    if anchors is None:
        return AnchorPairs.none()
    pairs = as_numbers(anchors, "anchors")
    if pairs.size == 0 and pairs.ndim <= 2:
        return AnchorPairs.none()
    if pairs.dtype.kind not in "iu":
        raise TypeError(f"anchors must hold integers, got dtype {pairs.dtype}.")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"anchors must have shape (m, 2), got {pairs.shape}.")
    pairs = pairs.astype(np.int64)
    for column, (name, n) in enumerate((("X", n_x), ("Y", n_y))):
        rows = pairs[:, column]
        if rows.min() < 0 or rows.max() >= n:
            raise ValueError(f"anchors[:, {column}] must be rows of {name}, 0..{n - 1}.")
        if len(np.unique(rows)) < len(rows):
            raise ValueError(f"anchors name a row of {name} twice.")
    return AnchorPairs(pairs[:, 0].copy(), pairs[:, 1].copy())
