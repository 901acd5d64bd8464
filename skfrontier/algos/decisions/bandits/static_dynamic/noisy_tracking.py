"""Epochs that track noisy losses: optimistic on histogram means, exploring partly from q.

pi(a) = rho (1/(2A) + q_a/2) + (1 - rho) 1{a = b}. The half of the exploration that follows q keeps
the variance of q . chat at that of the static learner itself.
"""

import math

import numpy as np

from skfrontier.algos._numba import inner
from skfrontier.algos.decisions.bandits.random import draw_from, uniform, uniform_below
from skfrontier.algos.decisions.bandits.rounds import CHANCE, N_ARMS
from skfrontier.algos.decisions.bandits.static_dynamic.histogram import (
    empty_histogram,
    enter_histogram,
)
from skfrontier.algos.decisions.bandits.static_dynamic.layout import (
    BEST,
    N_CHANGES,
    RHO,
    SIZES,
    M,
    Q,
    V,
    floats,
    ints,
)
from skfrontier.algos.decisions.bandits.static_dynamic.tracking import feed_doubly_robust


@inner
def noisy_leader(f, i):
    """The lowest arm without data, else argmin m - sqrt(2 l min(1/4, v + l)), l = ln(sum n) / n."""
    n = ints(i, SIZES)
    total = 0
    for a in range(i[N_ARMS]):
        if i[n + a] == 0:
            return a
        total += i[n + a]
    m, v = floats(i, M), floats(i, V)
    log_total = math.log(max(2.0, float(total)))
    best = 0
    lowest = np.inf
    for a in range(i[N_ARMS]):
        term = log_total / i[n + a]
        index = f[m + a] - math.sqrt(2.0 * term * min(0.25, f[v + a] + term))
        if index < lowest:
            best, lowest = a, index
    return best


@inner
def _chance(f, i, arm):
    explored = 0.5 / i[N_ARMS] + 0.5 * f[floats(i, Q) + arm]
    return f[RHO] * explored + (1.0 - f[RHO] if arm == i[BEST] else 0.0)


@inner
def noisy_arm(f, i, rng):
    i[BEST] = noisy_leader(f, i)
    arm = i[BEST]
    if uniform(rng) < f[RHO]:
        if uniform(rng) < 0.5:
            arm = uniform_below(i[N_ARMS], rng)
        else:
            arm = draw_from(f, floats(i, Q), i[N_ARMS], rng)
    f[CHANCE] = _chance(f, i, arm)
    return arm


@inner
def noisy_law(f, i, out):
    """The law around the leader in ``BEST``."""
    for a in range(i[N_ARMS]):
        out[a] = _chance(f, i, a)


@inner
def learn_from_noisy(f, i, arm, loss):
    """Feed the doubly robust estimate around the histogram means, then enter the loss."""
    feed_doubly_robust(f, i, arm, loss)
    leader = i[BEST]
    if observe_noisy(f, i, arm, loss) and arm == leader:
        for a in range(i[N_ARMS]):
            if a != leader:
                empty_histogram(f, i, a)


@inner
def observe_noisy(f, i, arm, loss):
    """Enter a loss in the histogram of ``arm``; count a change and return whether there was one."""
    if not enter_histogram(f, i, arm, loss):
        return False
    i[N_CHANGES] += 1
    return True
