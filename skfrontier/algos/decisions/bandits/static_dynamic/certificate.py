"""Tell noisy feedback from changing losses by the reversals of an arm played three times running.

With d1, d2 the two successive differences, -sum d1 d2 / sum d1^2 tends to 1/2 for independent noise
of any law, to 0 for a random walk, and is negative for a smooth drift. Without noise every reversal
needs a change of its own, so S segments allow at most S - 1.
"""

from skfrontier.algos._numba import inner
from skfrontier.algos.decisions.bandits.static_dynamic.layout import (
    AUTO,
    BEFORE_LAST,
    LAST,
    LAST_ARM,
    N_REVERSALS,
    REPEATS,
    REVERSALS,
    SEGMENTS,
    SQUARES,
)

_LEAST_REVERSALS = 8


@inner
def interrupt_certificate(i):
    """Start the run of equal arms anew (rounds of a sweep do not count)."""
    i[LAST_ARM] = -1
    i[REPEATS] = 0


@inner
def enter_certificate(f, i, arm, loss):
    """Enter one round."""
    repeats = i[REPEATS] if i[LAST_ARM] == arm else 0
    first = f[LAST] - f[BEFORE_LAST]
    product = first * (loss - f[LAST])
    if repeats == 2:
        f[REVERSALS] -= product
        f[SQUARES] += first * first
        i[N_REVERSALS] += product < 0.0
    i[REPEATS] = min(repeats + 1, 2)
    i[LAST_ARM] = arm
    f[BEFORE_LAST] = f[LAST]
    f[LAST] = loss


@inner
def is_noise_certain(f, i):
    """Whether the losses seen so far are noisy rather than changing."""
    segments = f[SEGMENTS] if i[AUTO] == 0 else 0.0
    is_often = i[N_REVERSALS] >= max(segments, _LEAST_REVERSALS)
    # not `and`: without a branch the compiler drops the reference counts of f and i
    return is_often & (f[REVERSALS] > 0.25 * f[SQUARES])
