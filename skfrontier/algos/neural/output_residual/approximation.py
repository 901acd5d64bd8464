"""Calibrate the approximation of a weight: split a budget between the static part and the correction."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_choice, check_count, check_interval
from skfrontier.algos.neural.output_residual.cost import (
    largest_dynamic_rank,
    largest_static_rank,
    largest_static_rank_beside,
    multiply_adds,
    smallest_budget,
)
from skfrontier.algos.neural.output_residual.factors import (
    LowRankFactors,
    asvd_factors,
    calibrated_sketch,
    svd_factors,
    whitened_factors,
)
from skfrontier.algos.neural.output_residual.product import orthonormal_basis

STRUCTURES = ("whitened", "svd", "asvd")
STATIC_SHARES = (0, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8, 1)  # of the affordable static rank
ASVD_EXPONENT = 0.5

# Half of a few groups say too little of the law: static parts look worse than they will be.
FOLDS_OF_FEW, FOLDS_OF_MANY, MANY_GROUPS = 5, 2, 50


@dataclass(frozen=True)
class Moments:
    """What a static part needs to know of the inputs, summed over rows in float64."""

    second: np.ndarray
    absolute: np.ndarray
    n_rows: int

    def plus(self, X: np.ndarray) -> "Moments":
        """The moments with more rows."""
        X = X.astype(np.float64, copy=False)
        return Moments(
            self.second + X.T @ X, self.absolute + np.abs(X).sum(axis=0), self.n_rows + len(X)
        )


def no_rows(n_inputs: int) -> Moments:
    """Moments to begin with."""
    return Moments(np.zeros((n_inputs, n_inputs)), np.zeros(n_inputs), 0)


def moments_of(groups: Sequence[np.ndarray], n_inputs: int) -> Moments:
    """Moments of the rows of all groups."""
    moments = no_rows(n_inputs)
    for X in groups:
        moments = moments.plus(X)
    return moments


@dataclass(frozen=True)
class Split:
    """One way to spend the budget.

    Attributes
    ----------
    structure : str
        How the static part is made.
    rank, dynamic_rank : int
        Rank of the static part and of the correction.
    error : float
        Relative error of the outputs on held-out groups, ``||Y^ - Y||_F / ||Y||_F`` over all of them.
    cost_ratio : float
        Multiply-adds over those of the dense product, at the mean size of the groups.
    """

    structure: str
    rank: int
    dynamic_rank: int
    error: float
    cost_ratio: float


@dataclass(frozen=True)
class Approximation:
    """A weight made cheaper.

    Attributes
    ----------
    factors, residual, sketch
        As `dynamic_matmul` takes them. The sketch of an adaptive approximation is as wide as the dense
        cost allows.
    split : Split
        The choice, with its held-out error; without held-out groups that of the static part on the
        calibration rows.
    search : list of Split
        Everything that was tried.
    budget : float
        The share that a group may take.
    """

    factors: LowRankFactors
    residual: np.ndarray
    sketch: np.ndarray
    split: Split
    budget: float
    search: list[Split] = field(default_factory=list)

    def rank_for(self, n: int) -> int:
        """Largest rank of the correction, up to the chosen one, that the budget allows a group of n
        rows."""
        a, b = self.residual.shape
        if n <= 1:
            return 0
        affordable = largest_dynamic_rank(n, a, b, self.factors.rank, self.budget)
        return min(self.split.dynamic_rank, affordable)


def check_budget(budget: Any, shape: tuple[int, ...]) -> float:
    """Return the budget as a float in (0, 1] that allows a static part of rank one, or raise."""
    value = check_interval(budget, "budget", 0, 1, closed="right")
    a, b = shape
    if largest_static_rank(a, b, value) < 1:
        least = smallest_budget(a, b)
        raise ValueError(
            f"budget={budget!r} is too small for rank 1 of a weight of shape {tuple(shape)}: the smallest "
            f"is {math.ceil(least * 1e4) / 1e4:g}"
            + (", more than the dense product costs." if least > 1 else ".")
        )
    return value


def approximate(
    W: np.ndarray,
    groups: Sequence[np.ndarray],
    *,
    budget: float,
    structure: str = "auto",
    dynamic_rank: Any = "auto",
    hedge: float = 0.1,
) -> Approximation:
    """Choose structure and ranks on held-out groups, then fit them to all groups.

    Groups are held out by turns, every fifth (every other from fifty groups on), and their errors
    measured with the moments of those that are left. Of all splits whose error is within ``1 + hedge``
    of the best, the one with the largest correction is taken: its price on inputs like these is small
    and known, and what it saves when the inputs change, no calibration set can show.
    """
    check_choice(structure, "structure", ("auto", *STRUCTURES))
    hedge = check_interval(hedge, "hedge", 0, math.inf, closed="left")
    mean_size = max(sum(map(len, groups)) / max(len(groups), 1), 1.0)
    splits = _splits(W.shape, mean_size, budget, dynamic_rank)
    moments = moments_of(groups, W.shape[0])
    search: list[Split] = []
    if len(groups) >= 2:
        structures = STRUCTURES if structure == "auto" else (structure,)
        search = _measured(W, groups, structures, splits, budget, mean_size)
        chosen = choose_split(search, hedge)
    else:  # nothing can be held out: no correction unless it was asked for
        k, l = splits[-1]  # noqa: E741
        name = "whitened" if structure == "auto" else structure
        chosen = Split(name, k, l, math.nan, _cost_ratio(mean_size, W.shape, (k, l)))
    return refit(W, moments, chosen, budget, search)


def refit(
    W: np.ndarray, moments: Moments, split: Split, budget: float, search: list[Split]
) -> Approximation:
    """The approximation of a chosen split from these moments; an unknown error becomes the static one."""
    factors = static_part(W, moments, split.structure, split.rank)
    residual = factors.residual(W)
    sketch = calibrated_sketch(residual, moments.second, split.dynamic_rank)
    if not search:
        error = _error_on_moments(W, residual, moments.second)
        split = Split(split.structure, split.rank, split.dynamic_rank, error, split.cost_ratio)
    return Approximation(factors, residual, sketch, split, budget, search)


def widened(approximation: Approximation, second_moment: np.ndarray, n: float) -> Approximation:
    """The same with a sketch as wide as the dense cost allows a group of ``n`` rows."""
    a, b = approximation.residual.shape
    width = largest_dynamic_rank(n, a, b, approximation.factors.rank, 1.0)
    sketch = calibrated_sketch(approximation.residual, second_moment, width)
    return Approximation(
        approximation.factors,
        approximation.residual,
        sketch,
        approximation.split,
        approximation.budget,
        approximation.search,
    )


def choose_split(search: Sequence[Split], hedge: float) -> Split:
    """Largest correction among the splits within ``1 + hedge`` of the least error."""
    limit = (1 + hedge) * min(split.error for split in search)
    near = [split for split in search if split.error <= limit]
    return max(near, key=lambda split: (split.dynamic_rank, -split.error))


def static_part(W: np.ndarray, moments: Moments, structure: str, rank: int) -> LowRankFactors:
    """Factors of one structure."""
    if structure == "svd":
        return svd_factors(W, rank)
    if structure == "asvd":
        return asvd_factors(W, moments.absolute / max(moments.n_rows, 1), rank, ASVD_EXPONENT)
    return whitened_factors(W, moments.second, rank)


def _splits(
    shape: tuple[int, ...], n: float, budget: float, dynamic_rank: Any
) -> list[tuple[int, int]]:
    """Pairs of static and dynamic rank that use up the budget at groups of ``n`` rows."""
    a, b = shape
    most = largest_static_rank(a, b, budget)
    if dynamic_rank == "auto":
        ranks = sorted({round(share * most) for share in STATIC_SHARES})
        pairs = [(k, largest_dynamic_rank(n, a, b, k, budget)) for k in ranks[:-1]] + [(most, 0)]
        return [pair for pair in pairs if pair != (0, 0)]
    l = check_count(dynamic_rank, "dynamic_rank", 0, min(a, b))  # noqa: E741
    k = largest_static_rank_beside(n, a, b, l, budget)
    if k < 0 or (l == 0 and k == 0):
        raise ValueError(
            f"dynamic_rank={l} costs more than the budget of {budget:g}; at groups of {n:g} rows the largest "
            f"is {largest_dynamic_rank(n, a, b, 0, budget)}."
        )
    return [(k, l)]


def _measured(
    W: np.ndarray,
    groups: Sequence[np.ndarray],
    structures: Sequence[str],
    splits: list[tuple[int, int]],
    budget: float,
    n: float,
) -> list[Split]:
    """Cross-fitted error of all splits and structures."""
    squares = np.zeros((len(structures), len(splits)))
    total = 0.0
    n_folds = min(FOLDS_OF_FEW if len(groups) < MANY_GROUPS else FOLDS_OF_MANY, len(groups))
    for fold in range(n_folds):
        rest = [X for g, X in enumerate(groups) if g % n_folds != fold]
        moments = moments_of(rest, W.shape[0])
        held_out = [X.astype(np.float64, copy=False) for X in groups[fold::n_folds]]
        products = [X @ W for X in held_out]
        total += sum(float(np.vdot(Y, Y)) for Y in products)
        for i, structure in enumerate(structures):
            parts = _nested_parts(W, moments, structure, splits)
            for j, (factors, sketch) in enumerate(parts):
                ranks = [_rank_within(len(X), W.shape, splits[j], budget) for X in held_out]
                squares[i, j] += sum(
                    _squared_miss(X, Y, factors, sketch[:, :l])
                    for X, Y, l in zip(held_out, products, ranks, strict=True)  # noqa: E741
                )
    return [
        Split(
            structure,
            k,
            l,
            math.sqrt(squares[i, j] / total) if total > 0 else 0.0,
            _cost_ratio(n, W.shape, (k, l)),
        )
        for i, structure in enumerate(structures)
        for j, (k, l) in enumerate(splits)  # noqa: E741
    ]


def _rank_within(n: int, shape: tuple[int, ...], split: tuple[int, int], budget: float) -> int:
    (a, b), (k, l) = shape, split  # noqa: E741
    return min(l, largest_dynamic_rank(n, a, b, k, budget)) if n > 1 else 0


def _cost_ratio(n: float, shape: tuple[int, ...], split: tuple[int, int]) -> float:
    (a, b), (k, l) = shape, split  # noqa: E741
    return multiply_adds(n, a, b, k, l) / (n * a * b)


def _nested_parts(
    W: np.ndarray, moments: Moments, structure: str, splits: list[tuple[int, int]]
) -> list[tuple[LowRankFactors, np.ndarray]]:
    """Factors and sketch of each split; the whitened ones are columns of one eigenbasis."""
    if structure == "whitened":
        most = min(max(k + l for k, l in splits), *W.shape)  # noqa: E741
        whole = static_part(W, moments, structure, most)
        return [(whole.leading(k), whole.left[:, k : k + l]) for k, l in splits]  # noqa: E741
    whole = static_part(W, moments, structure, max(k for k, _ in splits))
    parts = [whole.leading(k) for k, _ in splits]
    return [
        (factors, calibrated_sketch(factors.residual(W), moments.second, l))
        for factors, (_, l) in zip(parts, splits, strict=True)  # noqa: E741
    ]


def _squared_miss(
    X: np.ndarray, Y: np.ndarray, factors: LowRankFactors, sketch: np.ndarray
) -> float:
    """Squared error of the corrected product of one group."""
    E = Y - (X @ factors.left) @ factors.right
    if sketch.shape[1]:
        U = orthonormal_basis(X @ sketch)
        E -= U @ (U.T @ E)
    return float(np.vdot(E, E))


def _error_on_moments(W: np.ndarray, residual: np.ndarray, second_moment: np.ndarray) -> float:
    missed = max(float(np.vdot(residual, second_moment @ residual)), 0.0)
    whole = float(np.vdot(W, second_moment @ W))
    return math.sqrt(missed / whole) if whole > 0 else 0.0
