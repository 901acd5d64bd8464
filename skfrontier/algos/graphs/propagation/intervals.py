"""Intervals of single entries: Student's t, and a bound that holds however the sampling was stopped."""

import bisect
import math

import numpy as np
from scipy import stats

from skfrontier.algos.graphs.propagation.estimate import PairEstimate


def checkpoints(max_blocks: int) -> list[int]:
    """Numbers of blocks at which sampling may stop: 1, 2, 3, 5, 8, ..., each about 1.5 times the last."""
    sizes = [1]
    while sizes[-1] < max_blocks:
        sizes.append(min(max(sizes[-1] + 1, math.ceil(1.5 * sizes[-1])), max_blocks))
    return sizes


def next_checkpoint(sizes: list[int], wanted: int) -> int:
    """The first checkpoint that is not below ``wanted``; the last one if all are."""
    return sizes[min(bisect.bisect_left(sizes, wanted), len(sizes) - 1)]


def student_interval(estimate: PairEstimate, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Interval ``value +- t stderr`` (observed coverage, not proven), within what is certain."""
    width = np.zeros_like(estimate.stderr)
    if estimate.n_forests:
        width = stats.t.ppf((1 + confidence) / 2, estimate.n_forests - 1) * estimate.stderr
    return _within_reach(estimate, width if estimate.n_forests else np.inf)


def bernstein_interval(
    estimate: PairEstimate, confidence: float, look: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Empirical Bernstein interval, valid at a look chosen while sampling.

    Look ``j`` of a schedule fixed beforehand has the share ``1 / (j (j + 1))`` of the probability of
    failure. The shares of all looks add up to one, so all their intervals hold at once (union bound), and
    so does the one at which sampling stops, whatever it depends on. ``look=0``: the number of forests
    was fixed beforehand, and the whole probability is used.
    """
    R = estimate.n_forests
    if R == 0:
        return _within_reach(estimate, np.inf)
    share = look * (look + 1) if look else 1
    log_term = math.log(4 * share / (1 - confidence))
    variance, spread = estimate.variance, 2 * estimate.reach
    width = np.sqrt(2 * variance * log_term / R) + 7 * spread * log_term / (3 * (R - 1))
    return _within_reach(estimate, width)


def _within_reach(
    estimate: PairEstimate, width: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    certain_low = estimate.push_value - estimate.reach
    certain_high = estimate.push_value + estimate.reach
    low = np.maximum(estimate.value - width, certain_low)
    high = np.minimum(estimate.value + width, certain_high)
    return low, high


INTERVALS = {"normal": student_interval, "bernstein": bernstein_interval}
