"""Projected stochastic gradient descent with rejection sampling: the published baseline."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from skfrontier.algos._validation import check_count, check_generator, check_interval
from skfrontier.algos.statistics.truncated_boolean.rows import binary_rows, dense
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet


class SGDFit(NamedTuple):
    """Estimate, number of steps and of draws, and whether the budget lasted."""

    z: np.ndarray
    n_steps: int
    n_draws: int
    converged: bool


def truncated_sgd(
    X: Any,
    truncation: TruncationSet,
    *,
    lam: float = 0.05,
    steps: int = 60_000,
    radius: float | None = None,
    max_draws: int = 10_000_000,
    random_state: Any = None,
) -> SGDFit:
    """Logits by stochastic gradients of the truncated likelihood.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows of the set.
    truncation : TruncationSet
        The set.
    lam : float, default=0.05
        Assumed strong convexity: step t has size ``1 / (lam t + 1)``.
    steps : int, default=60000
        Number of steps.
    radius : float, optional
        Radius of the ball around the start on which to project; None: ``3 sqrt(n_features)``.
    max_draws : int, default=10000000
        Most draws from the model in total.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    z : ndarray of shape (n_features,)
        Average of the second half of the steps, or the last iterate when the draws were spent.
    n_steps, n_draws : int
        Steps made and rows drawn.
    converged : bool
        Whether all steps could be made.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Each step draws rows at the current parameters until one lies in the set: the cost is inversely
    proportional to the mass of the set. A baseline; `conditional_logit` needs no draw.

    References
    ----------
    .. [1] Fotakis, Kalavasis, Tzamos, "Efficient parameter estimation of truncated Boolean product
       distributions", Algorithmica 2022, arXiv:2007.02392.
    .. [2] Daskalakis, Gouleakis, Tzamos, Zampetakis, "Efficient statistics, in high dimensions, from
       truncated samples", FOCS 2018.

    Examples
    --------
    >>> from skfrontier.algos import Cardinality, truncated_sgd
    >>> from skfrontier.datasets import make_truncated_boolean
    >>> S = Cardinality(min=2)
    >>> X, z, _ = make_truncated_boolean(
    ...     5000, 4, truncation=S, random_state=0, return_params=True)
    >>> fit = truncated_sgd(X, S, steps=3000, random_state=0)
    >>> fit.converged, bool(abs(fit.z - z).max() < 0.5)
    (True, True)
    """
    rows = binary_rows(X)
    n_samples, n = rows.shape
    lam = check_interval(lam, "lam", 0.0, np.inf, closed="neither")
    steps = check_count(steps, "steps")
    max_draws = check_count(max_draws, "max_draws")
    if radius is None:
        radius = 3 * n**0.5
    radius = check_interval(radius, "radius", 0.0, np.inf, closed="neither")
    rng = check_generator(random_state)
    start = logit((np.asarray(rows.sum(axis=0), float) + 0.5) / (n_samples + 1))
    z, average, draws, batch = start.copy(), np.zeros(n), 0, 64
    order = rng.integers(n_samples, size=steps)
    for t in range(steps):
        drawn, used, batch = _one_inside(z, truncation, rng, batch, max_draws - draws)
        draws += used
        if drawn is None:
            return SGDFit(z, t, draws, False)
        z = z - (drawn - dense(rows[[order[t]]])[0].astype(float)) / (lam * t + 1)
        distance = np.linalg.norm(z - start)
        if distance > radius:
            z = start + (z - start) * (radius / distance)
        if t >= steps // 2:
            average += z
    return SGDFit(average / (steps - steps // 2), steps, draws, True)


def _one_inside(
    z: np.ndarray, truncation: TruncationSet, rng: np.random.Generator, batch: int, budget: int
) -> tuple[np.ndarray | None, int, int]:
    """One row of the restricted law, the draws it took, and a batch size that fits the acceptance."""
    p = expit(z)
    used = 0
    while used < budget:
        rows = (rng.random((min(batch, budget - used), len(z))) < p).astype(np.uint8)
        inside = np.flatnonzero(truncation._contains(rows))
        if len(inside):
            used += int(inside[0]) + 1
            fitting = 2 * (int(inside[0]) + 1)
            return rows[inside[0]], used, min(max(4, (batch + fitting) // 2), 2**16)
        used += len(rows)
        batch = min(2 * batch, 2**16)
    return None, used, batch
