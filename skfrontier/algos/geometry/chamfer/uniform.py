"""Blind subsampling, the baseline: uniform draws and the normal approximation of the mean."""

import math

import numpy as np
from scipy import special

from skfrontier.algos.geometry.chamfer.sampling import SampledSum, TermEvaluator

_FIRST_BATCH = 200
_GROWTH = 2


def uniform_sum(
    evaluator: TermEvaluator,
    *,
    epsilon: float,
    delta: float,
    random_state: np.random.Generator,
) -> SampledSum:
    """Estimate the sum of all terms from uniform draws without replacement.

    Stops when the normal interval is within ``epsilon`` of the mean. There is no guarantee: an interval
    from draws that missed the few large terms is confidently wrong.
    """
    n = evaluator.A.shape[0]
    order = random_state.permutation(n)
    quantile = float(special.ndtri(1 - delta / 2))
    terms = np.empty(0)
    while True:
        stop = min(n, max(_FIRST_BATCH, _GROWTH * terms.size))
        terms = np.concatenate([terms, evaluator.exact(order[terms.size : stop])])
        mean = float(terms.mean())
        left_out = 1 - terms.size / n
        spread = float(terms.std(ddof=1)) if terms.size > 1 else 0.0
        standard_error = spread * math.sqrt(left_out / terms.size)
        if stop == n or quantile * standard_error <= epsilon * mean:
            break
    reach = quantile * standard_error
    return SampledSum(
        value=n * mean,
        low=n * max(0.0, mean - reach),
        high=n * (mean + reach),
        standard_error=n * standard_error,
        upper_bound=math.inf,
        n_draws=terms.size,
        n_exact=terms.size,
        exact=terms.size == n,
    )
