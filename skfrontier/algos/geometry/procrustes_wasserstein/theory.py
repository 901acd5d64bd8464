"""When recovery is possible: mixing of eigenvectors, information, and a bound on failure.

The model is ``y = Q x + sigma z`` with Gaussian rows; ``eigenvalues`` are those of the covariance of x.
"""

from typing import Any

import numpy as np

from skfrontier.algos._validation import as_numbers, check_count, check_finite, check_interval

LARGEST_TAU2 = 1e3  # beyond this two axes are mixed completely anyway
RELIABLE_DIRECTIONS = 0.55  # share of log n that the directions must carry, observed


def information(eigenvalues: Any, noise_variance: float) -> float:
    r"""Information of one pair of matched rows, in nats.

    Parameters
    ----------
    eigenvalues : array-like of shape (n_features,)
        Eigenvalues of the covariance of ``X``, not negative.
    noise_variance : float
        Variance of the noise in each coordinate of ``Y``, positive.

    Returns
    -------
    float
        ``sum(log(1 + eigenvalues / noise_variance)) / 2``.

    Raises
    ------
    ValueError
        If an eigenvalue is negative or not finite, or the variance not positive.

    Notes
    -----
    With a known rotation, exact recovery holds beyond ``2 log n`` and almost exact recovery beyond
    ``log n`` (proven for Gaussian databases [1]_).

    References
    ----------
    .. [1] Dai, Cullina, Kiyavash, and Kunisky, Niles-Weed, on Gaussian database alignment; see also
       Even, Ganassali, Maier, Massoulie, "Aligning Embeddings and Geometric Random Graphs", NeurIPS
       2024, arXiv:2405.14532.

    Examples
    --------
    >>> from skfrontier.algos import information
    >>> round(information([1.0, 0.5], 0.25), 3)
    1.354
    """
    lam = check_eigenvalues(eigenvalues)
    variance = check_interval(noise_variance, "noise_variance", 0, np.inf, closed="neither")
    return float(0.5 * np.log1p(lam / variance).sum())


def cycle_bound(
    eigenvalues: Any, noise_variance: float, n: int, length: int | None = None
) -> float:
    r"""Expected number of cycles that would improve on the true matching, with a known rotation.

    Parameters
    ----------
    eigenvalues : array-like of shape (n_features,)
        Eigenvalues of the covariance of ``X``.
    noise_variance : float
        Variance of the noise in each coordinate, positive.
    n : int
        Number of rows.
    length : int or None, default=None
        Length of the cycles, from 2 to ``n``. None sums over all lengths and caps the sum at 1.

    Returns
    -------
    float
        Upper bound of the expected number of augmenting cycles of that length; for None an upper bound
        of the probability that the best matching is not the true one.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Proven here for Gaussian rows and known rotation: a union bound over cycles, each by Chernoff's
    method at its middle. With ``s_j = sqrt(1 + lam_j / sigma^2)``, a cycle of length l improves with
    probability at most ``prod_j 2^l / ((s_j + 1)^l - (s_j - 1)^l) / 2``. O(n d).

    Examples
    --------
    >>> from skfrontier.algos import cycle_bound
    >>> lam = [1 / j for j in range(1, 21)]
    >>> cycle_bound(lam, 0.1**2, 300) < 1e-6, cycle_bound(lam, 0.5**2, 300)
    (True, 1.0)
    """
    lam = check_eigenvalues(eigenvalues)
    variance = check_interval(noise_variance, "noise_variance", 0, np.inf, closed="neither")
    n = check_count(n, "n")
    if length is not None:
        length = check_count(length, "length", 2, n)
        return float(np.exp(_log_cycles(lam, variance, n, np.array([length]))[0]))
    if n < 2:
        return 0.0
    logs = _log_cycles(lam, variance, n, np.arange(2, n + 1))
    return float(min(1.0, np.exp(np.minimum(logs, 1.0)).sum()))


def _log_cycles(lam: np.ndarray, variance: float, n: int, lengths: np.ndarray) -> np.ndarray:
    s = np.sqrt(1 + lam / variance)
    choices = np.cumsum(np.log(np.arange(n, n - lengths.max(), -1, dtype=np.float64)))
    log_p = np.full(len(lengths), -np.log(2.0))
    shares = np.log(2 / (s + 1))
    with np.errstate(divide="ignore"):  # s = 1: a direction without signal
        ratios = np.log1p(-2 / (s + 1))
    for share, ratio in zip(shares, ratios, strict=True):
        log_p += lengths * share - np.log(-np.expm1(lengths * ratio))
    return choices[lengths - 1] - np.log(lengths) + log_p


def stray_bound(lam: np.ndarray, variance: float, n_matched: int, n_free: int) -> float:
    """Expected number of rows nearer to an unmatched row of the other cloud than to their partner.

    Chernoff's bound for a stranger at distance variance ``2 lam + sigma^2`` against a partner at
    ``sigma^2``, best of a few exponents. Chains of several rows that end in a free one are not counted.
    """
    if n_free == 0:
        return 0.0
    exponents = np.linspace(0.05, 0.95, 19)[:, None]
    factors = (1 + exponents * (1 + 2 * lam / variance)) * (1 - exponents)
    log_p = float((-0.5 * np.log(factors).sum(axis=1)).min())
    return float(np.exp(min(0.0, np.log(n_matched) + np.log(n_free) + log_p)))


def predict_recovery(eigenvalues: Any, noise_variance: float, n: int) -> str:
    """What to expect of the whole method: 'exact', 'almost' or 'unreliable'.

    Parameters
    ----------
    eigenvalues : array-like of shape (n_features,)
        *Empirical* eigenvalues of the covariance of ``X``: their spread is what directions live on, and
        equal population eigenvalues would tell that there is none.
    noise_variance : float
        Variance of the noise in each coordinate, positive.
    n : int
        Number of rows.

    Returns
    -------
    str
        'exact', 'almost' (most rows) or 'unreliable'.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    A heuristic. It combines `cycle_bound`, which is proven for a known rotation, with the information
    in the directions, whose threshold is observed.

    Examples
    --------
    >>> from skfrontier.algos import predict_recovery
    >>> lam = [1 / j for j in range(1, 21)]
    >>> [predict_recovery(lam, sigma**2, 300) for sigma in (0.1, 0.3, 0.8)]
    ['exact', 'almost', 'unreliable']
    """
    lam = check_eigenvalues(eigenvalues)
    variance = check_interval(noise_variance, "noise_variance", 0, np.inf, closed="neither")
    n = check_count(n, "n")
    log_n = np.log(n)
    if direction_information(lam, variance, n) < RELIABLE_DIRECTIONS * log_n:
        return "unreliable"
    if cycle_bound(lam, refitted_variance(variance, n, len(lam)), n) <= 0.05:
        return "exact"
    return "almost" if information(lam, variance) >= 1.2 * log_n else "unreliable"


def refitted_variance(variance: float, n: int, n_features: int) -> float:
    """Noise variance when the rotation is fitted to the same rows, an upper bound to first order."""
    return variance * (1 + n_features / n)


def direction_information(lam: np.ndarray, variance: float, n: int) -> float:
    """Nats that a row carries when only the sample's own directions are known."""
    tau2 = squared_mixing(lam, variance, n, n, n)
    kept = 1 / (1 + tau2.sum(axis=1))
    eta2 = variance + kept * (tau2 @ lam)
    return float(0.5 * np.log1p(kept * lam / eta2).sum())


def squared_mixing(
    lam: np.ndarray, variance: float, n_x: int, n_y: int, n_common: float
) -> np.ndarray:
    """Variances of the first-order mixing angles of all pairs of axes, clipped, 0 on the diagonal.

    The noise part decreases with the rows that both clouds share; rows of only one of them add the
    sampling error of its covariance.
    """
    pair_sum = lam[:, None] + lam[None, :]
    numerator = (variance * pair_sum + variance**2) / n_common
    unshared = max(0.0, 1 / n_x + 1 / n_y - 2 * n_common / (n_x * n_y))
    numerator += np.outer(lam, lam) * unshared
    gap2 = (lam[:, None] - lam[None, :]) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        tau2 = np.where(numerator > 0, numerator / gap2, 0.0)
    tau2 = np.minimum(tau2, LARGEST_TAU2)
    np.fill_diagonal(tau2, 0.0)
    return tau2


def check_eigenvalues(eigenvalues: Any) -> np.ndarray:
    """Eigenvalues as a float64 vector, or a ValueError."""
    lam = as_numbers(eigenvalues, "eigenvalues")
    if lam.dtype.kind not in "fiub" or lam.ndim != 1 or lam.size == 0:
        raise ValueError(f"eigenvalues must be a vector of numbers, got shape {lam.shape}.")
    lam = lam.astype(np.float64)
    check_finite(lam, "eigenvalues")
    if lam.min() < 0:
        raise ValueError(f"eigenvalues must not be negative, got {lam.min():g}.")
    return lam
