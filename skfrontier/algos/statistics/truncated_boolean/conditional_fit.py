"""The conditional fit: flips where they suffice, pairs and larger fibres where they do not."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import comb
from typing import Any

import numpy as np
from scipy.sparse import linalg as sparse_linalg
from scipy.special import expit

from skfrontier.algos.statistics.truncated_boolean.block_combination import combine_in_blocks
from skfrontier.algos.statistics.truncated_boolean.combination import (
    information_share,
    mean_covariance,
    one_step,
    share_from_counts,
    share_from_means,
    stack_moments,
)
from skfrontier.algos.statistics.truncated_boolean.edges import (
    count_edges,
    edge_hessian,
    minimise_edges,
)
from skfrontier.algos.statistics.truncated_boolean.enumeration import (
    null_directions,
    unit_vectors,
)
from skfrontier.algos.statistics.truncated_boolean.fibre_cells import (
    DENSE_LIMIT,
    PROXIMAL_STEPS,
    Penalty,
    cell_hessian,
    cell_null_space,
    cells_of_pairs,
    count_cells,
    minimise_cells,
)
from skfrontier.algos.statistics.truncated_boolean.flip_counting import FlipCounts
from skfrontier.algos.statistics.truncated_boolean.flips import conditional_logit, penalised_logit
from skfrontier.algos.statistics.truncated_boolean.pairs import (
    add_diagonal,
    interacting,
    move_null_space,
)
from skfrontier.algos.statistics.truncated_boolean.scores import (
    edge_score_chunks,
    fibre_score_chunks,
    flip_score_chunks,
    identified_coordinates,
    sandwich,
    second_moment,
    standard_errors,
)
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet, all_pairs
from skfrontier.algos.statistics.truncated_boolean.sets.full_cube import FullCube
from skfrontier.algos.statistics.truncated_boolean.sets.oracle import MembershipOracle

_ALL_PAIRS = 64  # up to so many coordinates every pair is compared
_STACKED_LIMIT = 1024  # beyond it the weights of the optimal combination come in blocks
_TRIPLES_LIMIT = 2000
_ROW_SIGNS = 64


@dataclass(frozen=True)
class FitOptions:
    """How to fit; see the parameters of the estimator."""

    moves: Any = "auto"
    target_efficiency: float = 0.85
    smoothing: float = 0.5
    l1: float = 0.0
    l2: float = 0.0
    pair_degree: int = 8
    min_flippable: float = 1
    covariance: str = "auto"
    max_oracle_calls: int = 2_000_000
    max_block_evals: int = 2_000_000_000
    max_iter: int = 500
    tol: float = 1e-8
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def full_covariance(self, n_features: int) -> bool:
        """Whether the covariance of so many logits is wanted."""
        return self.covariance == "full" or (
            self.covariance == "auto" and n_features <= DENSE_LIMIT
        )

    @property
    def penalty(self) -> Penalty:
        """The smooth penalties."""
        return Penalty(self.smoothing, self.l2)


@dataclass(frozen=True)
class TruncatedFit:
    """What a fit has found.

    Attributes
    ----------
    z, stderr : ndarray of shape (n_features,)
        Logits and standard errors.
    covariance : ndarray of shape (n_features, n_features) or None
        Covariance of the logits, where it was computed.
    null_space : ndarray of shape (n_features, q)
        Orthonormal directions that the moves leave unidentified.
    moves : str
        What was used: 'flips', 'pairs', 'optimal', 'triples', 'fibres', 'masks', ...
    pairs : ndarray of shape (n_pairs, 2)
        The pairs that were used, if any.
    efficiency : float
        Share of the information used, a lower bound of it, or NaN.
    n_iter : int
        Steps of the solver.
    converged : bool
        Whether they ended before the most that were allowed.
    """

    z: np.ndarray
    stderr: np.ndarray
    covariance: np.ndarray | None
    null_space: np.ndarray
    moves: str
    pairs: np.ndarray
    efficiency: float
    n_iter: int
    converged: bool = True

    @property
    def trace(self) -> float:
        """Summed variance of the identified coordinates."""
        return float((self.stderr[np.isfinite(self.stderr)] ** 2).sum())


def fit_conditional(
    X: Any,
    truncation: TruncationSet,
    weights: np.ndarray | None,
    counts: FlipCounts,
    options: FitOptions,
) -> TruncatedFit:
    """Fit by the moves that the options ask for, or by those that the data need."""
    moves = options.moves
    if not isinstance(moves, str):
        if isinstance(moves, np.ndarray):
            return _with_efficiency(fit_edges(X, truncation, weights, moves, options), X, weights)
        if moves == 1:
            moves = "flips"
    if moves == "flips":
        return _with_efficiency(fit_flips(X, truncation, weights, counts, options), X, weights)
    if moves == "auto" and (counts.m1 + counts.m0 >= options.min_flippable).all():
        return _improve_flips(X, truncation, weights, counts, options)
    if moves == "auto":
        return _fit_without_flips(X, truncation, weights, counts, options)
    if moves == "optimal":
        return _fit_optimal(X, truncation, weights, counts, options)
    size = 2 if moves == "pairs" else int(moves)
    subsets = _subsets(truncation, X.shape[1], size, options)
    return _with_efficiency(fit_fibres(X, truncation, weights, subsets, options), X, weights)


def fit_flips(
    X: Any | None,
    truncation: TruncationSet | None,
    weights: np.ndarray | None,
    counts: FlipCounts,
    options: FitOptions,
) -> TruncatedFit:
    """Closed form per coordinate; without rows, or where they are many, the variances alone."""
    m1, m0 = counts.m1, counts.m0
    z, stderr = conditional_logit(m1, m0, smoothing=options.smoothing)
    if options.l1 > 0 or options.l2 > 0:
        z = np.where(
            m1 + m0 > 0,
            penalised_logit(m1, m0, smoothing=options.smoothing, l1=options.l1, l2=options.l2),
            0.0,
        )
        stderr = _ridge_errors(m1 + m0, z, options)
    Q = unit_vectors(m1 + m0 == 0)
    covariance = None
    fractional = weights is not None and (weights != np.floor(weights)).any()
    regular = counts.complete and np.isfinite(z).all() and X is not None
    if regular and options.full_covariance(len(z)):
        J = second_moment(flip_score_chunks(X, truncation, z), len(z), weights)
        covariance, stderr = _flip_covariance(J, m1 + m0, z, stderr, options, fractional)
    elif regular and fractional and weights is not None:
        squares = sum(weights[rows] @ u**2 for rows, u in flip_score_chunks(X, truncation, z))
        stderr = np.sqrt(squares) / _flip_information(m1 + m0, z, options)
    stderr = np.where(m1 + m0 > 0, stderr, np.inf)
    no_pairs = np.zeros((0, 2), np.int64)
    return TruncatedFit(z, stderr, covariance, Q, "flips", no_pairs, np.nan, 0)


def fit_fibres(
    X: Any,
    truncation: TruncationSet,
    weights: np.ndarray | None,
    subsets: np.ndarray,
    options: FitOptions,
) -> TruncatedFit:
    """Composite likelihood of faces of 2 to 4 coordinates."""
    n, size = X.shape[1], subsets.shape[1]
    X, weights = _within_budget(X, truncation, weights, subsets, options)
    if size == 2:
        K = truncation.pair_counts(X, subsets, weights)
        cells, Q = cells_of_pairs(K, subsets).informative(), move_null_space(K, subsets, n)
    else:
        cells = count_cells(X, truncation, subsets, weights).informative()
        Q = cell_null_space(cells, n)
    penalty = options.penalty
    z, steps = minimise_cells(
        cells, np.zeros(n), penalty, l1=options.l1, max_iter=options.max_iter, tol=options.tol
    )
    z = z - Q @ (Q.T @ z)
    H = add_diagonal(cell_hessian(cells, z), penalty.curvature(z))
    identified = identified_coordinates(Q)
    covariance = None
    if n <= DENSE_LIMIT:
        J = second_moment(fibre_score_chunks(X, truncation, subsets, z), n, weights)
        V = sandwich(H, J, Q)
        stderr = standard_errors(V, identified)
        covariance = V if options.full_covariance(n) else None
    else:
        chunks = fibre_score_chunks(X, truncation, subsets, z)
        stderr = np.where(identified, _row_sign_errors(H, chunks, weights, options), np.inf)
    name = {2: "pairs", 3: "triples", 4: "fibres"}[size]
    pairs = subsets if size == 2 else np.zeros((0, 2), np.int64)
    most = options.max_iter * (PROXIMAL_STEPS if options.l1 > 0 else 1)
    return TruncatedFit(z, stderr, covariance, Q, name, pairs, np.nan, steps, steps < most)


def fit_edges(
    X: Any,
    truncation: TruncationSet,
    weights: np.ndarray | None,
    masks: np.ndarray,
    options: FitOptions,
) -> TruncatedFit:
    """Joint flips of the coordinates of each mask."""
    n = X.shape[1]
    d, counts = count_edges(X, truncation, masks, weights)
    penalty = options.penalty
    z, steps = minimise_edges(d, counts, penalty, max_iter=options.max_iter, tol=options.tol)
    Q = null_directions(d) if len(d) else np.eye(n)
    z = z - Q @ (Q.T @ z)
    J = second_moment(edge_score_chunks(X, truncation, masks, z), n, weights)
    V = sandwich(edge_hessian(d, counts, z, penalty), J, Q)
    stderr = standard_errors(V, identified_coordinates(Q))
    covariance = V if options.full_covariance(n) else None
    no_pairs = np.zeros((0, 2), np.int64)
    ended = steps < options.max_iter
    return TruncatedFit(z, stderr, covariance, Q, "masks", no_pairs, np.nan, steps, ended)


def optimal_from(
    fit: TruncatedFit,
    X: Any,
    truncation: TruncationSet,
    weights: np.ndarray | None,
    counts: FlipCounts,
    options: FitOptions,
) -> TruncatedFit:
    """One step from ``fit`` with flips and pairs weighted optimally; ``fit`` itself if no pair helps."""
    pairs = truncation._interacting_pairs(X.shape[1], options.pair_degree, options.rng)
    if pairs is None:
        pairs = _subsets(truncation, X.shape[1], 2, options)
    if not len(pairs) or _oracle_calls(truncation, X.shape[0], pairs) > options.max_oracle_calls:
        return fit
    rows, w = _within_budget(X, truncation, weights, pairs, options)
    K = truncation.pair_counts(rows, pairs, w)
    chosen = interacting(K)
    if not chosen.any() or not np.isfinite(fit.z).all():
        return fit
    cells = cells_of_pairs(K[chosen], pairs[chosen])
    m = counts.m1 + counts.m0
    if rows is not X:
        m = np.add(*truncation._flip_counts(rows, w))
    if len(fit.z) > _STACKED_LIMIT and fit.null_space.shape[1]:
        return fit  # blocks of weights know nothing of directions that have to be left out
    if len(fit.z) > _STACKED_LIMIT:
        found = combine_in_blocks(
            rows, truncation, pairs[chosen], cells, m, fit.z, options.penalty, w, options.rng
        )
        z, covariance, stderr = found.z, None, found.stderr
    else:
        moments = stack_moments(
            rows, truncation, pairs[chosen], cells, m, fit.z, options.penalty, w
        )
        z, covariance = one_step(moments, fit.z, fit.null_space)
        stderr = standard_errors(covariance, identified_coordinates(fit.null_space))
    return replace(
        fit,
        z=z - fit.null_space @ (fit.null_space.T @ z),
        stderr=stderr,
        covariance=covariance if options.full_covariance(len(z)) else None,
        moves="optimal",
        pairs=pairs[chosen],
        n_iter=fit.n_iter + 1,
    )


def _improve_flips(
    X: Any,
    truncation: TruncationSet,
    weights: np.ndarray | None,
    counts: FlipCounts,
    options: FitOptions,
) -> TruncatedFit:
    """Flips, and more only if they have used too little of the information."""
    fit = fit_flips(X, truncation, weights, counts, options)
    N, n = counts.weight, X.shape[1]
    if not (fit.trace > 0 and np.isfinite(fit.stderr).all()):
        return fit
    bound = share_from_counts(N, counts.m1, counts.m0, fit.trace) if counts.complete else 0.0
    if bound < options.target_efficiency:
        bound = share_from_means(N, column_means(X, weights), fit.trace)
    if bound >= options.target_efficiency or options.l1 > 0 or 10 * n > N:
        return replace(fit, efficiency=bound)
    share = _share_measure(X, weights, N, options.rng)
    fit = replace(fit, efficiency=share(fit))
    if fit.efficiency >= options.target_efficiency:
        return fit
    better = optimal_from(fit, X, truncation, weights, counts, options)
    return replace(better, efficiency=share(better)) if better.trace < fit.trace else fit


def _share_measure(
    X: Any, weights: np.ndarray | None, N: float, rng: np.random.Generator
) -> Callable[[TruncatedFit], float]:
    """How to measure the share of the information that a fit has used.

    By the covariance of a part of the rows; by the column means alone, a lower bound, where there are so
    many features that the covariance would cost more than the fit.
    """
    n = X.shape[1]
    if n > DENSE_LIMIT:
        means = column_means(X, weights)
        return lambda fit: share_from_means(N, means, fit.trace)
    covariance, size = _sampled_covariance(X, weights, max(20 * n, 5000), rng)
    return lambda fit: information_share(N, covariance, fit.trace, fit.null_space, size)


def _fit_without_flips(
    X: Any,
    truncation: TruncationSet,
    weights: np.ndarray | None,
    counts: FlipCounts,
    options: FitOptions,
) -> TruncatedFit:
    """Pairs; triples where pairs leave more unidentified than the set must; then the combination."""
    n = X.shape[1]
    fit = fit_fibres(X, truncation, weights, _subsets(truncation, n, 2, options), options)
    deficiency = fit.null_space.shape[1]
    if deficiency and n <= _TRIPLES_LIMIT and n >= 3 and not set_at_fault(truncation, fit):
        subsets = _subsets(truncation, n, 3, options)
        triples = fit_fibres(X, truncation, weights, subsets, options)
        if triples.null_space.shape[1] < deficiency:
            return _with_efficiency(triples, X, weights)
    fit = _with_efficiency(fit, X, weights)
    done = np.isnan(fit.efficiency) or fit.efficiency >= options.target_efficiency
    if done or options.l1 > 0 or n > _STACKED_LIMIT or counts.weight < 10 * n:
        return fit
    better = optimal_from(fit, X, truncation, weights, counts, options)
    return _with_efficiency(better, X, weights) if better.trace < fit.trace else fit


def _fit_optimal(
    X: Any,
    truncation: TruncationSet,
    weights: np.ndarray | None,
    counts: FlipCounts,
    options: FitOptions,
) -> TruncatedFit:
    if (counts.m1 + counts.m0 >= options.min_flippable).all():
        fit = fit_flips(X, truncation, weights, counts, options)
    else:
        subsets = _subsets(truncation, X.shape[1], 2, options)
        fit = fit_fibres(X, truncation, weights, subsets, options)
    return _with_efficiency(optimal_from(fit, X, truncation, weights, counts, options), X, weights)


def set_at_fault(truncation: TruncationSet, fit: TruncatedFit) -> bool | None:
    """Whether no data from this set could identify more than the fit; None where that is not known."""
    if not fit.null_space.shape[1]:
        return False
    known = truncation.null_space(len(fit.z))
    return None if known is None else known.shape[1] == fit.null_space.shape[1]


def column_means(X: Any, weights: np.ndarray | None) -> np.ndarray:
    """Weighted means of the columns."""
    if weights is None:
        return FullCube()._flip_counts(X, None)[0] / X.shape[0]
    return np.asarray(X.T @ weights, float) / weights.sum()


def _with_efficiency(fit: TruncatedFit, X: Any, weights: np.ndarray | None) -> TruncatedFit:
    n = X.shape[1]
    total = float(X.shape[0] if weights is None else weights.sum())
    if total < 4 * n or n > DENSE_LIMIT:
        return fit
    N, covariance = mean_covariance(X, weights)
    return replace(fit, efficiency=information_share(N, covariance, fit.trace, fit.null_space))


def _sampled_covariance(
    X: Any, weights: np.ndarray | None, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Covariance of a uniform subset of the rows, and its size."""
    if weights is None and X.shape[0] > size:
        X = X[np.sort(rng.choice(X.shape[0], size, replace=False))]
    total, covariance = mean_covariance(X, weights)
    return covariance, total


def _subsets(truncation: TruncationSet, n: int, size: int, options: FitOptions) -> np.ndarray:
    """The faces to compare: all where they are few, else a fixed number per coordinate."""
    if size == 2:
        if n <= _ALL_PAIRS:
            return all_pairs(n)
        return truncation.candidate_pairs(n, options.pair_degree, options.rng)
    if n < size:
        raise ValueError(f"moves={size} needs at least {size} features, got {n}.")
    count = max(2048, n * options.pair_degree)
    if comb(n, size) <= count:
        return np.array(list(itertools.combinations(range(n), size)), dtype=np.int64)
    draws = np.sort(np.argsort(options.rng.random((count, n)), axis=1)[:, :size], axis=1)
    return np.unique(draws, axis=0)


def _within_budget(
    X: Any,
    truncation: TruncationSet,
    weights: np.ndarray | None,
    subsets: np.ndarray,
    options: FitOptions,
) -> tuple[Any, np.ndarray | None]:
    """A uniform subset of the rows where all of them would be too much work."""
    most = options.max_block_evals // max(1, len(subsets))
    if isinstance(truncation, MembershipOracle):
        most = min(most, options.max_oracle_calls // max(1, _oracle_calls(truncation, 1, subsets)))
    if X.shape[0] <= max(1, most):
        return X, weights
    rows = np.sort(options.rng.choice(X.shape[0], max(1, most), replace=False))
    return X[rows], None if weights is None else weights[rows]


def _oracle_calls(truncation: TruncationSet, n_samples: int, subsets: np.ndarray) -> int:
    if not isinstance(truncation, MembershipOracle):
        return 0
    return n_samples * len(subsets) * (1 << subsets.shape[1])


def _ridge_errors(m: np.ndarray, z: np.ndarray, options: FitOptions) -> np.ndarray:
    p = expit(z)
    information = (m + 2 * options.smoothing) * p * (1 - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(information) / (information + options.l2)


def _flip_covariance(
    J: np.ndarray,
    m: np.ndarray,
    z: np.ndarray,
    stderr: np.ndarray,
    options: FitOptions,
    fractional: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of the flip estimates; its diagonal is the binomial variance where weights are counts."""
    if fractional:
        H = _flip_information(m, z, options)
        V = J / np.outer(H, H)
        return V, np.sqrt(np.diag(V))
    d = np.sqrt(np.maximum(np.diag(J), 1e-300))
    finite = np.where(np.isfinite(stderr), stderr, 0.0)
    V = J / np.outer(d, d) * np.outer(finite, finite)
    V[np.diag_indices(len(z))] = finite**2
    return V, stderr


def _flip_information(m: np.ndarray, z: np.ndarray, options: FitOptions) -> np.ndarray:
    p = expit(z)
    return np.maximum(m * p * (1 - p) + options.penalty.curvature(z), 1e-300)


def _row_sign_errors(
    H: Any, chunks: Any, weights: np.ndarray | None, options: FitOptions
) -> np.ndarray:
    """Standard errors from random signs of the rows, good to about 9 %.

    With random signs r, the covariance of H^-1 sum_t r_t u_t is the sandwich itself.
    """
    n = H.shape[0]
    sums = np.zeros((_ROW_SIGNS, n))
    for rows, U in chunks:
        signs = options.rng.choice([-1.0, 1.0], (_ROW_SIGNS, len(U)))
        sums += (signs if weights is None else signs * np.sqrt(weights[rows])) @ U
    solved = np.array([sparse_linalg.cg(H, row, rtol=1e-8)[0] for row in sums])
    return np.sqrt((solved**2).mean(axis=0))
