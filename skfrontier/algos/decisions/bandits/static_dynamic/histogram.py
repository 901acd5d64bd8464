"""Exponential histograms of the losses of each arm, cut where the mean has changed (as in ADWIN).

An arm's buckets hold 1, 2, 4, ... losses, at most four of each size; a fifth merges the two oldest
of its size. So n losses need O(log n) buckets and every boundary between two of them is a place
where the history may be cut.
"""

import math

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.decisions.bandits.rounds import STAGE
from skfrontier.algos.decisions.bandits.static_dynamic.layout import (
    LEVELS,
    SIZES,
    SLOTS,
    SUM_SQUARES,
    SUMS,
    M,
    V,
    bucket_counts,
    bucket_squares,
    bucket_sums,
    floats,
    ints,
)

_ALWAYS_TESTED = 16
_TEST_PERIOD = 4
_CAUTION = 0.6  # of a bound that would hold for all boundaries and rounds at once: 1


@njit
def enter_histogram(f, i, arm, loss):
    """Enter a loss and test for a change; return whether the arm's past was cut."""
    _insert(f, i, arm, loss)
    n = i[ints(i, SIZES) + arm] + 1
    total = f[floats(i, SUMS) + arm] + loss
    square = f[floats(i, SUM_SQUARES) + arm] + loss * loss
    _set_moments(f, i, arm, n, total, square)
    if n > _ALWAYS_TESTED and n % _TEST_PERIOD != 0:
        return False
    return _cut_at_change(f, i, arm)


@inner
def empty_histogram(f, i, arm):
    counts = bucket_counts(i, arm)
    for level in range(LEVELS):
        i[counts + level] = 0
    _set_moments(f, i, arm, 0, 0.0, 0.0)


@inner
def _insert(f, i, arm, loss):
    """Add a bucket of one loss; carry the two oldest of a full level to the next."""
    counts = bucket_counts(i, arm)
    sums, squares = bucket_sums(i, arm), bucket_squares(i, arm)
    total = loss
    square = loss * loss
    for level in range(LEVELS):
        oldest = level * SLOTS
        newest = oldest + i[counts + level]
        if i[counts + level] < SLOTS:
            f[sums + newest] = total
            f[squares + newest] = square
            i[counts + level] += 1
            return
        carried = f[sums + oldest] + f[sums + oldest + 1]
        carried_square = f[squares + oldest] + f[squares + oldest + 1]
        for place in range(oldest, newest - 2):
            f[sums + place] = f[sums + place + 2]
            f[squares + place] = f[squares + place + 2]
        f[sums + newest - 2] = total
        f[squares + newest - 2] = square
        i[counts + level] = SLOTS - 1
        total = carried
        square = carried_square


@inner
def _set_moments(f, i, arm, n, total, square):
    """Enter size and sums of an arm's histogram and what follows from them: m and v."""
    i[ints(i, SIZES) + arm] = n
    f[floats(i, SUMS) + arm] = total
    f[floats(i, SUM_SQUARES) + arm] = square
    mean = total / n if n > 0 else 0.5
    f[floats(i, M) + arm] = mean
    f[floats(i, V) + arm] = max(square / n - mean * mean, 0.0) if n > 0 else 0.0


@inner
def _cut_at_change(f, i, arm):
    """Cut at the newest boundary whose two sides differ by more than a Bernstein bound allows."""
    counts = bucket_counts(i, arm)
    sums = bucket_sums(i, arm)
    n = float(i[ints(i, SIZES) + arm])
    total = f[floats(i, SUMS) + arm]
    v = f[floats(i, V) + arm]
    log_term = _CAUTION * (math.log(float(i[STAGE])) + math.log(1.0 + math.log(n)))
    slack = 2.0 * n * log_term / 3.0
    spread = 2.0 * n * v * log_term
    new = 0.0
    new_sum = 0.0
    size = 1.0
    for level in range(LEVELS):
        for slot in range(i[counts + level] - 1, -1, -1):
            new += size
            new_sum += f[sums + level * SLOTS + slot]
            old = n - new
            if old < 2.0:
                return False
            if new < 2.0:
                continue
            # |new mean - old mean| > sqrt(2 h v l) + 2 h l / 3 with h = 1/new + 1/old, times
            # new * old: neither roots nor divisions
            excess = abs(new_sum * n - total * new) - slack
            if excess > 0.0 and excess * excess > spread * new * old:
                _drop_older(f, i, arm, level, slot)
                return True
        size *= 2.0
    return False


@inner
def _drop_older(f, i, arm, level, slot):
    """Forget every bucket older than ``slot`` of ``level``."""
    counts = bucket_counts(i, arm)
    sums, squares = bucket_sums(i, arm), bucket_squares(i, arm)
    kept = i[counts + level] - slot
    for place in range(level * SLOTS, level * SLOTS + kept):
        f[sums + place] = f[sums + place + slot]
        f[squares + place] = f[squares + place + slot]
    i[counts + level] = kept
    for older in range(level + 1, LEVELS):
        i[counts + older] = 0
    n = 0
    total = 0.0
    square = 0.0
    for newer in range(level + 1):
        for k in range(i[counts + newer]):
            n += 1 << newer
            total += f[sums + newer * SLOTS + k]
            square += f[squares + newer * SLOTS + k]
    _set_moments(f, i, arm, n, total, square)
