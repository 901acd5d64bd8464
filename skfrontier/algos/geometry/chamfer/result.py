"""What a Chamfer computation returns: the value and how sure it is."""

import math
import warnings
from dataclasses import dataclass, field

from skfrontier.algos.geometry.chamfer.metric import OverflowWarning
from skfrontier.algos.geometry.chamfer.plan import Plan
from skfrontier.algos.geometry.chamfer.sampling import SampledSum
from skfrontier.algos.geometry.chamfer.terms import TermScale


@dataclass(frozen=True)
class ChamferResult:
    """A Chamfer distance with its certificate.

    Attributes
    ----------
    value : float
        The distance.
    ci_low, ci_high : float
        Interval that holds the exact value with probability ``confidence`` (both equal ``value`` when
        it was computed exactly).
    confidence : float
        ``1 - delta``, or 1 for an exact value.
    standard_error : float
        Estimated standard deviation of ``value`` (0 when exact), from the draws since the candidates
        were last refined.
    epsilon_achieved : float
        Largest relative error ``|value / exact - 1|`` that the interval allows.
    n_draws : int
        Number of random draws.
    n_exact : int
        Number of exact nearest-neighbour searches.
    upper_bound : float
        Sum of the candidates' distances, a bound from above that holds whatever was drawn (``value``
        itself when exact; infinite for ``method='uniform'``).
    method : str
        What was done: 'brute', 'tree' or 'grid' for an exact value (also where the sampler found that
        cheaper in the end), 'sample' or 'uniform' for an estimate, 'mixed' for one of each direction.
    guaranteed : bool
        Whether the interval is proven for any data (false for ``method='uniform'``).
    timings : dict of str to float
        Wall-clock seconds of each stage.
    forward, backward : ChamferResult or None
        The two directed distances of a symmetric one.
    """

    value: float
    ci_low: float
    ci_high: float
    confidence: float
    standard_error: float
    epsilon_achieved: float
    n_draws: int
    n_exact: int
    upper_bound: float
    method: str
    guaranteed: bool
    timings: dict[str, float] = field(default_factory=dict, compare=False)
    forward: "ChamferResult | None" = None
    backward: "ChamferResult | None" = None


def make_result(
    total: SampledSum, scale: TermScale, method: str, timings: dict[str, float], plan: Plan
) -> ChamferResult:
    """Reduce a sum of terms as the plan says and state how sure it is."""

    def reduced(amount: float) -> float:
        return scale.reduce(amount, plan.reduction)

    value = reduced(total.value)
    warn_overflow(value)
    return ChamferResult(
        value=value,
        ci_low=reduced(total.low),
        ci_high=reduced(total.high),
        confidence=1.0 if total.exact else 1 - plan.delta,
        standard_error=reduced(total.standard_error),
        epsilon_achieved=_achieved(total, plan.epsilon),
        n_draws=total.n_draws,
        n_exact=total.n_exact,
        upper_bound=reduced(total.upper_bound),
        method=method,
        guaranteed=method != "uniform",
        timings=timings,
    )


def _achieved(total: SampledSum, epsilon: float) -> float:
    """Relative error that the interval allows; at a certified stop that is ``epsilon``, up to rounding."""
    error = largest_relative_error(total.value, total.low, total.high)
    return epsilon if epsilon < error <= epsilon * (1 + 1e-9) else error


def largest_relative_error(value: float, low: float, high: float) -> float:
    """Largest ``|value / exact - 1|`` over the exact values that the interval allows."""
    if high == low:
        return 0.0
    return float(max(value / low - 1, 1 - value / high)) if low > 0 else math.inf


def warn_overflow(value: float) -> None:
    """Warn where a distance between finite clouds came out infinite."""
    if value == math.inf:
        warnings.warn(
            "The distance exceeds the largest float64; rescale the points or the weights.",
            OverflowWarning,
            stacklevel=4,
        )
