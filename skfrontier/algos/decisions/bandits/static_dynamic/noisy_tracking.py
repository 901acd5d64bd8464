"""Epochs that track noisy losses: optimistic on histogram means, exploring partly from q.

pi(a) = rho (1/(2A) + q_a/2) + (1 - rho) 1{a = b}. The half of the exploration that follows q keeps
the variance of q . chat at that of the static learner itself.
"""

import math

import numpy as np

from skfrontier.algos._numba import njit
from skfrontier.algos.decisions.bandits.random import draw_from, uniform, uniform_below
from skfrontier.algos.decisions.bandits.rounds import CHANCE, N_ARMS
from skfrontier.algos.decisions.bandits.static_dynamic.histogram import (
    empty_histogram,
    enter_histogram,
)
from skfrontier.algos.decisions.bandits.static_dynamic.layout import (
    BEST,
    GAIN,
    N_CHANGES,
    RHO,
    histogram_counts,
    predictions,
    static_law,
    variances,
)
from skfrontier.algos.decisions.bandits.static_dynamic.learner import feed_estimate


@njit
def noisy_leader(f, i):
    """The lowest arm without data, else argmin m - sqrt(2 l min(1/4, v + l)), l = ln(sum n) / n."""
    n = histogram_counts(i)
    total = 0
    for a in range(i[N_ARMS]):
        if n[a] == 0:
            return a
        total += n[a]
    m = predictions(f, i)
    v = variances(f, i)
    log_total = math.log(max(2.0, float(total)))
    best = 0
    lowest = np.inf
    for a in range(i[N_ARMS]):
        term = log_total / n[a]
        index = m[a] - math.sqrt(2.0 * term * min(0.25, v[a] + term))
        if index < lowest:
            best, lowest = a, index
    return best


@njit
def _chance(f, i, arm):
    explored = 0.5 / i[N_ARMS] + 0.5 * static_law(f, i)[arm]
    return f[RHO] * explored + (1.0 - f[RHO] if arm == i[BEST] else 0.0)


@njit
def noisy_arm(f, i, rng):
    i[BEST] = noisy_leader(f, i)
    arm = i[BEST]
    if uniform(rng) < f[RHO]:
        if uniform(rng) < 0.5:
            arm = uniform_below(i[N_ARMS], rng)
        else:
            arm = draw_from(static_law(f, i), rng)
    f[CHANCE] = _chance(f, i, arm)
    return arm


@njit
def noisy_law(f, i, out):
    """The law around the leader in ``BEST``."""
    for a in range(i[N_ARMS]):
        out[a] = _chance(f, i, a)


@njit
def learn_from_noisy(f, i, arm, loss):
    """Feed the doubly robust estimate around the histogram means, then enter the loss."""
    A = i[N_ARMS]
    m = predictions(f, i)
    q = static_law(f, i)
    correction = (loss - m[arm]) / f[CHANCE]
    expected = q[arm] * correction
    for a in range(A):
        expected += q[a] * m[a]
    f[GAIN] += expected - loss
    feed_estimate(f, i, m, arm, correction)
    leader = i[BEST]
    if observe_noisy(f, i, arm, loss) and arm == leader:
        for a in range(A):
            if a != leader:
                empty_histogram(f, i, a)


@njit
def observe_noisy(f, i, arm, loss):
    """Enter a loss in the histogram of ``arm``; count a change and return whether there was one."""
    if not enter_histogram(f, i, arm, loss):
        return False
    i[N_CHANGES] += 1
    return True
