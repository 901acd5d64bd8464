"""Exponential histograms of the losses of each arm, cut where the mean has changed (as in ADWIN).

An arm's buckets hold 1, 2, 4, ... losses, at most four of each size; a fifth merges the two oldest
of its size. So n losses need O(log n) buckets and every boundary between two of them is a place
where the history may be cut.
"""

import math

from skfrontier.algos._numba import njit
from skfrontier.algos.decisions.bandits.rounds import STAGE
from skfrontier.algos.decisions.bandits.static_dynamic.layout import (
    LEVELS,
    SLOTS,
    bucket_counts,
    bucket_squares,
    bucket_sums,
    histogram_counts,
    histogram_squares,
    histogram_sums,
    predictions,
    variances,
)

_ALWAYS_TESTED = 16
_TEST_PERIOD = 4
_CAUTION = 0.6  # of a bound that would hold for all boundaries and rounds at once: 1


@njit
def enter_histogram(f, i, arm, loss):
    """Enter a loss and test for a change; return whether the arm's past was cut."""
    n = histogram_counts(i)
    _insert(bucket_sums(f, i, arm), bucket_squares(f, i, arm), bucket_counts(i, arm), loss)
    n[arm] += 1
    histogram_sums(f, i)[arm] += loss
    histogram_squares(f, i)[arm] += loss * loss
    _refresh_moments(f, i, arm)
    if n[arm] > _ALWAYS_TESTED and n[arm] % _TEST_PERIOD != 0:
        return False
    return _cut_at_change(f, i, arm)


@njit
def empty_histogram(f, i, arm):
    histogram_counts(i)[arm] = 0
    counts = bucket_counts(i, arm)
    for level in range(LEVELS):
        counts[level] = 0
    histogram_sums(f, i)[arm] = 0.0
    histogram_squares(f, i)[arm] = 0.0
    _refresh_moments(f, i, arm)


@njit
def _insert(sums, squares, counts, loss):
    """Add a bucket of one loss; carry the two oldest of a full level to the next."""
    total = loss
    square = loss * loss
    for level in range(LEVELS):
        oldest = level * SLOTS
        newest = oldest + counts[level]
        if counts[level] < SLOTS:
            sums[newest] = total
            squares[newest] = square
            counts[level] += 1
            return
        carried = sums[oldest] + sums[oldest + 1]
        carried_square = squares[oldest] + squares[oldest + 1]
        for place in range(oldest, newest - 2):
            sums[place] = sums[place + 2]
            squares[place] = squares[place + 2]
        sums[newest - 2] = total
        squares[newest - 2] = square
        counts[level] = SLOTS - 1
        total = carried
        square = carried_square


@njit
def _refresh_moments(f, i, arm):
    n = histogram_counts(i)[arm]
    if n == 0:
        predictions(f, i)[arm] = 0.5
        variances(f, i)[arm] = 0.0
        return
    mean = histogram_sums(f, i)[arm] / n
    predictions(f, i)[arm] = mean
    variances(f, i)[arm] = max(histogram_squares(f, i)[arm] / n - mean * mean, 0.0)


@njit
def _cut_at_change(f, i, arm):
    """Cut at the newest boundary whose two sides differ by more than a Bernstein bound allows."""
    counts = bucket_counts(i, arm)
    sums = bucket_sums(f, i, arm)
    n = float(histogram_counts(i)[arm])
    total = histogram_sums(f, i)[arm]
    v = variances(f, i)[arm]
    log_term = _CAUTION * (math.log(float(i[STAGE])) + math.log(1.0 + math.log(n)))
    slack = 2.0 * n * log_term / 3.0
    spread = 2.0 * n * v * log_term
    new = 0.0
    new_sum = 0.0
    size = 1.0
    for level in range(LEVELS):
        for slot in range(counts[level] - 1, -1, -1):
            new += size
            new_sum += sums[level * SLOTS + slot]
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


@njit
def _drop_older(f, i, arm, level, slot):
    """Forget every bucket older than ``slot`` of ``level``."""
    counts = bucket_counts(i, arm)
    sums = bucket_sums(f, i, arm)
    squares = bucket_squares(f, i, arm)
    kept = counts[level] - slot
    for k in range(kept):
        sums[level * SLOTS + k] = sums[level * SLOTS + slot + k]
        squares[level * SLOTS + k] = squares[level * SLOTS + slot + k]
    counts[level] = kept
    for older in range(level + 1, LEVELS):
        counts[older] = 0
    n = 0
    total = 0.0
    square = 0.0
    for newer in range(level + 1):
        for k in range(counts[newer]):
            n += 2**newer
            total += sums[newer * SLOTS + k]
            square += squares[newer * SLOTS + k]
    histogram_counts(i)[arm] = n
    histogram_sums(f, i)[arm] = total
    histogram_squares(f, i)[arm] = square
    _refresh_moments(f, i, arm)
