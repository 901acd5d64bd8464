"""The sign-free start: all axes matched at once, their unknown signs and mixing integrated out.

Eigenvectors are known up to a sign, and up to a mixing with axes of near eigenvalue whose variance
perturbation theory gives. The likelihood of a pair of rows under both unknowns needs no enumeration; the
soft matching that it gives is then sharpened by alternating with the rotation, while the noise of every
axis is estimated along.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._numba import njit
from skfrontier.algos._validation import check_count, check_generator, check_interval, check_points
from skfrontier.algos.geometry.procrustes_wasserstein.rigid_map import polar_factor
from skfrontier.algos.geometry.procrustes_wasserstein.sinkhorn import (
    AnchorPairs,
    matched_moments,
    soft_matching,
    squared_distances,
)
from skfrontier.algos.geometry.procrustes_wasserstein.theory import squared_mixing

_SETTLED_CONFIDENCE = 0.95
_SETTLED_VARIANCE = 1.25
_MASK_SCALE = 0.05  # squared mixing angle at which an off-diagonal moment counts half
_MASK_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class SoftStart:
    """A rotation found by soft matching.

    Attributes
    ----------
    rotation : ndarray of shape (n_axes, n_axes)
        Orthogonal map of rows of A to rows of B.
    axis_variances : ndarray of shape (n_axes,)
        Residual variance of each axis under the soft matching.
    confidence : float
        Mean over rows of the largest matching probability.
    n_iter : int
        Rounds taken.
    """

    rotation: np.ndarray
    axis_variances: np.ndarray
    confidence: float
    n_iter: int


@dataclass(frozen=True, eq=False)
class AxisModel:
    """What perturbation theory says of the axes before any matching.

    ``variance`` is the plug-in noise variance, ``tau2`` the squared mixing angles, ``kept`` the share of
    each axis that stays its own.
    """

    variance: float
    tau2: np.ndarray
    kept: np.ndarray


def sign_free_start(
    A: Any,
    B: Any,
    *,
    noise_variance: float | None = None,
    start: int = 0,
    random_state: Any = None,
) -> SoftStart:
    """Soft matching of two clouds in their own eigenvector coordinates, signs unknown.

    Parameters
    ----------
    A, B : array-like of shape (n_a, n_axes) and (n_b, n_axes)
        Coordinates along the eigenvectors of each cloud's covariance, largest eigenvalue first, centred;
        ``n_a <= n_b``.
    noise_variance : float or None, default=None
        Variance of the noise in each coordinate of B; None takes it from the eigenvalues.
    start : int, default=0
        0 is the likelihood as it stands. Each further start first rotates ``A`` by a draw from the prior
        of the mixing, seeded by ``random_state`` and this number.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the restarts.

    Returns
    -------
    SoftStart

    Raises
    ------
    ValueError
        If the arrays do not fit together, or an argument is out of range.

    Notes
    -----
    Observed, not proven. O(n_a n_b n_axes) a round.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import eigen_directions, sign_free_start
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) * [3.0, 2.0, 1.0]
    >>> X -= X.mean(axis=0)
    >>> A, B = X @ eigen_directions(X)[1], X[::-1] @ eigen_directions(X[::-1])[1]
    >>> found = sign_free_start(A, B)
    >>> bool(np.abs(np.sort(A @ found.rotation.T, axis=0) - np.sort(B, axis=0)).max() < 1e-6)
    True
    """
    A, B = check_points(A, "A", min_points=2), check_points(B, "B", min_points=2)
    if A.shape[1] != B.shape[1] or len(A) > len(B):
        raise ValueError(
            f"A must have as many axes as B and no more rows; got shapes {A.shape} and {B.shape}."
        )
    if noise_variance is not None:
        noise_variance = check_interval(
            noise_variance, "noise_variance", 0, np.inf, closed="neither"
        )
    start = check_count(start, "start", 0)
    A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    model = axis_model(A, B, noise_variance=noise_variance)
    seed = int(check_generator(random_state).integers(2**63))
    return soft_start(A, B, model, start, seed, AnchorPairs.none())


def axis_model(
    A: np.ndarray,
    B: np.ndarray,
    *,
    noise_variance: float | None = None,
    common_share: float = 1.0,
) -> AxisModel:
    """Noise variance and mixing from the eigenvalues of both clouds."""
    lam_a, lam_b = (A**2).mean(axis=0), (B**2).mean(axis=0)
    n_common = common_share * len(A)
    variance = noise_variance or plug_in_variance(lam_a, lam_b, len(A), len(B), n_common)
    tau2 = squared_mixing(lam_a, variance, len(A), len(B), n_common)
    return AxisModel(variance, tau2, 1 / (1 + tau2.sum(axis=1)))


def plug_in_variance(
    lam_a: np.ndarray, lam_b: np.ndarray, n_a: int, n_b: int, n_common: float
) -> float:
    """Noise variance from the traces; where they tell nothing, from the spread of the eigenvalues."""
    n_axes = len(lam_a)
    variance = max(0.0, float((lam_b - lam_a).sum()) / n_axes)
    if variance == 0:
        used = lam_a > 0
        if used.any():
            moved = (lam_a - lam_b)[used] ** 2 * n_common / (4 * lam_a[used])
            variance = float(np.median(moved))
    if n_a != n_b:
        sampling = 2 * abs(1 / n_a - 1 / n_b) * (lam_a**2).sum()
        variance = max(variance, float(np.sqrt(sampling)) / n_axes)
    return max(variance, 1e-9 * float(lam_b.sum()) / n_axes, np.finfo(float).tiny)


def soft_start(
    A: np.ndarray,
    B: np.ndarray,
    model: AxisModel,
    start: int,
    seed: int,
    anchors: AnchorPairs,
    *,
    max_rounds: int | None = None,
) -> SoftStart:
    """`sign_free_start` on checked input, with anchors."""
    n_axes = A.shape[1]
    # Odd-numbered starts let columns stay empty, which is sharper; the others survive flat spectra.
    at_most = len(A) < len(B) and start % 2 == 0
    drawn = A if start == 0 else A @ _mixing_draw(model.tau2, start, seed).T
    cost = sign_free_cost(drawn, B, model)
    P = soft_matching(cost, half_scale=0.5, at_most=at_most, anchors=anchors)
    mask = model.tau2 / (model.tau2 + _MASK_SCALE)
    np.fill_diagonal(mask, 1.0)
    R, _ = polar_factor((P @ B).T @ A * mask)
    floor = 1e-12 * max(float((B**2).sum()) / B.size, np.finfo(float).tiny)
    w = None
    rounds = 25 + n_axes // 2 if max_rounds is None else max_rounds
    for t in range(rounds):
        moved = A @ R.T
        PB, row_weights, column_weights = matched_moments(P, A, B)
        fresh = np.maximum(_axis_variances(moved, B, PB, row_weights, column_weights), floor)
        w = fresh if w is None else np.clip(fresh, w / 2, 2 * w)
        scaling = 1 / np.sqrt(w)
        P = soft_matching(
            squared_distances(moved * scaling, B * scaling),
            half_scale=0.5,
            at_most=at_most,
            anchors=anchors,
        )
        moment = (P @ B).T @ A
        sharpness = 1 - min(1.0, t / _MASK_ROUNDS)
        previous, (R, _) = R, polar_factor(moment * mask**sharpness)
        confidence = float(P.max(axis=1).mean())
        still = np.abs(R - previous).max() < 1e-3
        if confidence >= 0.999 or (t > _MASK_ROUNDS and still):
            break
    R, _ = polar_factor((P @ B).T @ A)
    moved = A @ R.T
    w = np.maximum(_axis_variances(moved, B, *matched_moments(P, A, B)), floor)
    return SoftStart(R, w, confidence, t + 1)


def sign_free_cost(A: np.ndarray, B: np.ndarray, model: AxisModel) -> np.ndarray:
    """Minus twice the log likelihood of each pair, up to a constant, signs and mixing integrated out."""
    centres = np.sqrt(model.kept) * np.abs(A)
    variances = model.variance + (A**2) @ (model.kept[:, None] * model.tau2).T
    return _folded_cost(centres, variances, np.abs(B))


@njit
def _folded_cost(centres, variances, folded):
    """Sum over axes of the folded normal's cost; one logarithm for many factors in (1, 2]."""
    n_rows, n_axes = centres.shape
    n_columns = folded.shape[0]
    cost = np.empty((n_rows, n_columns))
    inverse = np.empty(n_axes)
    for i in range(n_rows):
        constant = 0.0
        for j in range(n_axes):
            inverse[j] = 1.0 / variances[i, j]
            constant += np.log(variances[i, j])
        for k in range(n_columns):
            total, factors = constant, 1.0
            for j in range(n_axes):
                gap = folded[k, j] - centres[i, j]
                total += gap * gap * inverse[j]
                factors *= 1.0 + np.exp(-2.0 * folded[k, j] * centres[i, j] * inverse[j])
                if factors > 1e250:
                    total -= 2.0 * np.log(factors)
                    factors = 1.0
            cost[i, k] = total - 2.0 * np.log(factors)
    return cost


def _mixing_draw(tau2: np.ndarray, start: int, seed: int) -> np.ndarray:
    """An orthogonal matrix from the prior of the mixing; nearly Haar inside equal eigenvalues."""
    rng = np.random.default_rng([seed, start])
    upper = np.triu(np.sqrt(tau2) * rng.standard_normal(tau2.shape), 1)
    drawn, _ = polar_factor(np.eye(len(tau2)) + upper - upper.T)
    return drawn


def _axis_variances(
    moved: np.ndarray,
    B: np.ndarray,
    PB: np.ndarray,
    row_weights: np.ndarray,
    column_weights: np.ndarray,
) -> np.ndarray:
    """Mean squared residual of each axis under the soft matching."""
    total = row_weights @ moved**2 + column_weights @ B**2
    total -= 2 * np.einsum("ij,ij->j", moved, PB)
    return total / max(row_weights.sum(), np.finfo(float).tiny)


def is_settled(found: SoftStart, model: AxisModel) -> bool:
    """Whether a start is convincing by itself: sure of its pairs, and no noisier than expected."""
    return (
        found.confidence >= _SETTLED_CONFIDENCE
        and float(found.axis_variances.mean()) <= _SETTLED_VARIANCE * model.variance
    )
