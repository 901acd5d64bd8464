"""The mass of a set by importance sampling."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from skfrontier.algos._validation import check_count, check_finite, check_generator


class LogMass(NamedTuple):
    """Estimate of a log-mass, its standard error, and the effective number of draws."""

    log_mass: float
    stderr: float
    ess: float


def importance_log_mass(
    z: Any,
    proposal_logits: Any,
    contains: Callable[[np.ndarray], np.ndarray],
    *,
    n_draws: int = 20_000,
    random_state: Any = None,
) -> LogMass:
    """Estimate the log-probability of a set under a product law by draws from another one.

    Parameters
    ----------
    z : array-like of shape (n_features,)
        Logits of the law.
    proposal_logits : array-like of shape (n_features,)
        Logits of the draws. The logits of the column means of rows *inside the set* are the best
        product law for this.
    contains : callable
        Takes uint8 rows and says which are in the set.
    n_draws : int, default=20000
        Number of draws.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    log_mass : float
        The estimate; NaN if no draw fell in the set.
    stderr : float
        Its standard error (delta method); infinite if no draw fell in the set.
    ess : float
        ``(sum w)^2 / sum w^2``, the effective number of draws. Below about 50 the error is not to be
        trusted.

    Raises
    ------
    ValueError
        If shapes do not fit or logits are not finite.

    Notes
    -----
    The mass itself is estimated without bias (standard); the proposal minimises the Kullback-Leibler
    divergence from the restricted law among product laws.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import Cardinality, importance_log_mass
    >>> S, z = Cardinality(min=25), np.zeros(30)
    >>> proposal = np.log(S.mean(z) / (1 - S.mean(z)))
    >>> value, stderr, ess = importance_log_mass(z, proposal, S.contains, random_state=0)
    >>> bool(abs(value - S.log_mass(z)) < 4 * stderr), stderr < 0.05
    (True, True)
    """
    z = np.asarray(z, dtype=np.float64)
    proposal = np.asarray(proposal_logits, dtype=np.float64)
    if z.ndim != 1 or proposal.shape != z.shape:
        raise ValueError(
            f"z and proposal_logits must be 1-D of one shape, got {z.shape} and {proposal.shape}."
        )
    check_finite(z, "z")
    check_finite(proposal, "proposal_logits")
    n_draws = check_count(n_draws, "n_draws")
    rng = check_generator(random_state)
    q = expit(proposal)
    constant = (np.logaddexp(0, proposal) - np.logaddexp(0, z)).sum()
    found = [np.zeros(0)]
    step = max(1, 2**22 // max(1, len(z)))
    for start in range(0, n_draws, step):
        rows = (rng.random((min(step, n_draws - start), len(z))) < q).astype(np.uint8)
        inside = rows[contains(rows)]
        found.append(inside @ (z - proposal) + constant)
    log_weights = np.concatenate(found)
    if not len(log_weights):
        return LogMass(np.nan, np.inf, 0.0)
    log_sum = logsumexp(log_weights)
    ess = float(np.exp(2 * log_sum - logsumexp(2 * log_weights)))
    # The weights of the draws outside are zero: mean of squares over squared mean is n_draws / ess.
    variance = max(n_draws / ess - 1, 0.0)
    return LogMass(float(log_sum - np.log(n_draws)), float(np.sqrt(variance / n_draws)), ess)
