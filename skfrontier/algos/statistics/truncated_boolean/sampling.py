"""Samples of the restricted law: rejection, and Gibbs sweeps that never leave the set."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from skfrontier.algos._validation import check_count, check_finite, check_generator
from skfrontier.algos.statistics.truncated_boolean.fibre_cells import corner_weights
from skfrontier.algos.statistics.truncated_boolean.rows import binary_rows, dense
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet, check_subsets

_CACHED_BYTES = 2**18


def gibbs_truncated(
    X0: Any,
    z: Any,
    truncation: TruncationSet,
    *,
    pairs: Any = None,
    n_sweeps: int = 20,
    random_state: Any = None,
) -> np.ndarray:
    """Move rows by Gibbs sweeps whose stationary law is the restricted product law.

    Parameters
    ----------
    X0 : array-like or sparse matrix of shape (n_samples, n_features)
        Rows of the set, one chain each. Rows of the data are the best start.
    z : array-like of shape (n_features,)
        Logits.
    truncation : TruncationSet
        The set.
    pairs : array-like of shape (n_pairs, 2), optional
        Pairs that are redrawn together in every sweep, beside the single bits.
    n_sweeps : int, default=20
        Number of sweeps over all bits and pairs, in random order.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_samples, n_features), dtype uint8

    Raises
    ------
    ValueError
        If a row is outside the set, or shapes do not fit.

    Notes
    -----
    Redrawing a coordinate costs as much as asking whether it can be flipped; on a `CNF` no more than reading
    its clauses, since the true literals of every clause are counted along the chain.

    The restricted law is stationary; how fast it is reached is not known in general, and where the moves do
    not connect the set, the shares of its parts stay those of the start.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import Cardinality, gibbs_truncated
    >>> S = Cardinality(min=3)
    >>> X = gibbs_truncated(np.ones((500, 4)), np.zeros(4), S, random_state=0)
    >>> bool(S.contains(X).all()), bool(abs(X.mean() - S.mean(np.zeros(4)).mean()) < 0.05)
    (True, True)
    """
    X = dense(binary_rows(X0, "X0")).copy()
    z = np.asarray(z, dtype=np.float64)
    if z.shape != (X.shape[1],):
        raise ValueError(f"z must have shape ({X.shape[1]},), got {z.shape}.")
    check_finite(z, "z")
    if not truncation.contains(X).all():
        raise ValueError("X0 must lie in the truncation set.")
    n_sweeps = check_count(n_sweeps, "n_sweeps", 0)
    rng = check_generator(random_state)
    singles = np.arange(X.shape[1], dtype=np.int64)[:, None]
    blocks = [(singles, corner_weights(singles, z))]
    if pairs is not None and len(pairs):
        pairs = check_subsets(pairs, X.shape[1], size=2)
        blocks.append((pairs, corner_weights(pairs, z)))
    step = max(
        1, _CACHED_BYTES // X.shape[1]
    )  # sweeps jump between columns: keep rows in the cache
    for start in range(0, len(X), step):
        _sweep(X[start : start + step], truncation, blocks, n_sweeps, rng)
    return X


def _sweep(
    X: np.ndarray,
    truncation: TruncationSet,
    blocks: list[tuple[np.ndarray, np.ndarray]],
    n_sweeps: int,
    rng: np.random.Generator,
) -> None:
    """Redraw bits and pairs of the rows in place, in random order."""
    for _ in range(n_sweeps):
        for subsets, weights in blocks:
            order = rng.permutation(len(subsets))
            truncation._redraw(X, subsets, weights, order, rng)


class Rejection(NamedTuple):
    """Rows in the set, possibly too few; the number of draws; the share of them in the set."""

    rows: np.ndarray
    n_draws: int
    acceptance: float


def rejection_sample(
    z: np.ndarray,
    truncation: TruncationSet,
    n_samples: int,
    rng: np.random.Generator,
    max_draws: int = 10_000_000,
) -> Rejection:
    """Draw from the product law until enough rows lie in the set, or the budget is spent."""
    p = expit(z)
    found, accepted, draws = [np.zeros((0, len(z)), np.uint8)], 0, 0
    step = max(1, min(2**22 // max(1, len(z)), 4 * n_samples + 64))
    while accepted < n_samples and draws < max_draws:
        count = min(step, max_draws - draws)
        rows = (rng.random((count, len(z))) < p).astype(np.uint8)
        rows = rows[truncation.contains(rows)]
        found.append(rows)
        accepted += len(rows)
        draws += count
    return Rejection(np.concatenate(found)[:n_samples], draws, accepted / max(draws, 1))
