"""Independent bits of which only rows inside a set were recorded."""

from typing import Any

import numpy as np

from skfrontier.algos._validation import (
    as_numbers,
    check_choice,
    check_count,
    check_finite,
    check_flag,
    check_generator,
    check_interval,
)
from skfrontier.algos.statistics.truncated_boolean.sampling import rejection_sample
from skfrontier.algos.statistics.truncated_boolean.sets import EmpiricalSupport, as_truncation

_MAX_DRAWS = 10_000_000
_ALPHA_LIMIT = 16


def make_truncated_boolean(
    n_samples: int,
    n_features: int,
    *,
    truncation: Any,
    z: Any = None,
    width: float = 1.0,
    z_law: str = "uniform",
    method: str = "auto",
    random_state: Any = None,
    return_params: bool = False,
) -> Any:
    """Rows of independent bits, kept only inside a truncation set.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    n_features : int
        Number of bits.
    truncation : TruncationSet, None, str, callable or array-like
        The set, see `skfrontier.algos.as_truncation`; it must be known.
    z : array-like of shape (n_features,), optional
        Logits; None: drawn by ``z_law``.
    width : float, default=1.0
        Spread of the logits that are drawn.
    z_law : {'uniform', 'normal'}, default='uniform'
        U(-width, width), or N(0, width^2).
    method : {'auto', 'exact', 'rejection'}, default='auto'
        How rows are drawn: exactly where the set knows how, else by rejection.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.
    return_params : bool, default=False
        Whether to return the logits and what is known of the set.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), dtype uint8
        The rows.
    z : ndarray of shape (n_features,)
        The logits, with ``return_params``.
    info : dict
        With ``return_params``: 'log_mass' (exact, or from the acceptance rate) and, up to 16 features,
        'alpha', the probability inside the set that each bit can be flipped.

    Raises
    ------
    ValueError
        If fewer than ``n_samples`` of ten million draws are accepted, or a parameter is wrong.

    Examples
    --------
    >>> from skfrontier.algos import Cardinality
    >>> from skfrontier.datasets import make_truncated_boolean
    >>> X = make_truncated_boolean(5, 4, truncation=Cardinality(min=3), random_state=0)
    >>> X.shape, bool(X.sum(axis=1).min() >= 3)
    ((5, 4), True)
    """
    n_samples = check_count(n_samples, "n_samples", 0)
    n = check_count(n_features, "n_features")
    width = check_interval(width, "width", 0.0, np.inf, closed="left")
    check_choice(z_law, "z_law", ("uniform", "normal"))
    check_choice(method, "method", ("auto", "exact", "rejection"))
    check_flag(return_params, "return_params")
    rng = check_generator(random_state)
    if z is None:
        z = rng.uniform(-width, width, n) if z_law == "uniform" else rng.normal(0, width, n)
    z = as_numbers(z, "z").astype(np.float64)
    if z.shape != (n,):
        raise ValueError(f"z must have shape ({n},), got {z.shape}.")
    check_finite(z, "z")
    truncation = as_truncation(truncation, n)
    if isinstance(truncation, EmpiricalSupport):
        raise ValueError("truncation must be a known set to draw from; 'support' is not.")
    exact = truncation.is_exact(n)
    if method == "exact" and not exact:
        raise ValueError(f"method='exact' is not available for {truncation!r} with {n} features.")
    acceptance = np.nan
    if exact and method != "rejection":
        X = truncation.sample_exact(z, n_samples, rng)
    else:
        X, acceptance = _by_rejection(z, truncation, n_samples, rng)
    if not return_params:
        return X
    info = {"log_mass": truncation.log_mass(z) if exact else float(np.log(acceptance))}
    if exact and n <= _ALPHA_LIMIT:
        info["alpha"] = _flip_probabilities(truncation, z)
    return X, z, info


def _by_rejection(
    z: np.ndarray, truncation: Any, n_samples: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    X, draws, acceptance = rejection_sample(z, truncation, n_samples, rng, _MAX_DRAWS)
    if len(X) < n_samples:
        raise ValueError(
            f"acceptance below {n_samples / draws:.2g}: only {len(X)} of {n_samples} rows "
            f"in {draws} draws. Take a set with exact sampling, or other logits."
        )
    return X, acceptance


def _flip_probabilities(truncation: Any, z: np.ndarray) -> np.ndarray:
    points = truncation.enumerate(len(z))
    scores = points @ z
    p = np.exp(scores - scores.max())
    return (p / p.sum()) @ truncation.flips(points)
