"""Words of the state of the static-dynamic policy, and its state before the first round."""

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.decisions.bandits.rounds import (
    COUNTS,
    N_ARMS,
    OWN_FLOATS,
    OWN_INTS,
    empty_state,
    is_law,
)

(
    DELTA,  # state of the meta learner
    BETA,  # its weight on dynamic regret, at the start of the epoch
    TRACK,  # probability that the epoch tracks
    RHO,  # exploration while tracking
    GAIN,  # estimated gain of the tracking epoch over the static learner
    SEGMENTS,  # number of segments in use
    REVERSALS,  # minus the sum of products of successive differences ...
    SQUARES,  # ... and the sum of squared differences, of one arm played three times running
    ETA_IN,  # rate of the Exp3-IX learner
    NORMALISER,  # of the Tsallis law ...
    NORMALISER_STEP,  # ... and how far it moved when an estimate was fed last
    LAST,  # the loss of the last round ...
    BEFORE_LAST,  # ... and of the one before
    MIX,
    EPOCH_SCALE,
    EXPLORE_SCALE,
    ETA_SCALE,
    TOLERANCE,
) = range(OWN_FLOATS, OWN_FLOATS + 18)
LOG = OWN_FLOATS + 18  # five words about the epoch that was closed last
VECTORS = LOG + 5

(
    MODE,
    EPOCH_START,
    EPOCH_END,
    LENGTH,
    POSITION,  # in the sweep
    N_CHANGES,
    LAST_CHANGE,
    BEST,  # argmin of the last values; the leader while tracking noisy losses
    FED,  # rounds that the static learner has been fed
    N_REVERSALS,
    NOISY,
    NOISY_SINCE,
    FEEDBACK,
    AUTO,
    BASE,
    LAST_ARM,
    REPEATS,  # rounds in a row that LAST_ARM was played, at most 2
    SWEPT,  # whether a sweep was completed
    CONTINUES,  # whether a tracking epoch now would go on from the last one without a sweep
) = range(OWN_INTS, OWN_INTS + 19)

BETWEEN, STATIC, SWEEP, TRACKING, NOISY_TRACKING = range(5)
AUTO_FEEDBACK, EXACT_FEEDBACK, NOISY_FEEDBACK = range(3)
TSALLIS_BASE, EXP3_IX_BASE = range(2)

LEVELS = 34
SLOTS = 4
_PER_ARM = LEVELS * SLOTS
# Rows of A floats, the first at VECTORS:
(
    Q,  # the law of the static learner
    L,  # its cumulative loss estimates (Tsallis base)
    M,  # the value last seen of each arm, or the mean of its histogram
    V,  # the variance of each arm's histogram
    SEEN,  # what the running sweep has seen, until it is complete
    SUMS,  # of each arm's histogram
    SUM_SQUARES,
) = range(7)
_N_VECTORS = 7
# Rows of A integers, the first at COUNTS:
(
    _PLAYED,
    ORDER,  # of the sweep
    LOOKS,  # the round in which each arm was last seen while tracking (-1: never)
    SIZES,  # how many losses each arm's histogram holds
) = range(4)


def static_dynamic_state(
    n_arms: int,
    horizon: int | None,
    *,
    n_segments: float | None,
    feedback: int,
    base: int,
    mix: float,
    epoch_scale: float,
    explore_scale: float,
    eta_scale: float,
    change_tol: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the state of a policy that has not begun; ``n_segments=None`` estimates it."""
    n_arms = int(n_arms)  # arithmetic of narrow numpy integers would wrap
    f, i = empty_state(
        n_arms,
        horizon,
        floats=VECTORS + n_arms * (_N_VECTORS + 2 * _PER_ARM),
        ints=n_arms * (3 + LEVELS),
        shortest_stage=max(1024, 16 * n_arms),
    )
    f[MIX], f[EPOCH_SCALE], f[EXPLORE_SCALE], f[ETA_SCALE] = (
        mix,
        epoch_scale,
        explore_scale,
        eta_scale,
    )
    f[TOLERANCE] = change_tol
    f[SEGMENTS] = 1.0 if n_segments is None or feedback == NOISY_FEEDBACK else n_segments
    i[AUTO] = n_segments is None
    i[FEEDBACK] = feedback
    i[BASE] = base
    i[NOISY] = feedback == NOISY_FEEDBACK
    i[NOISY_SINCE] = 0 if feedback == NOISY_FEEDBACK else -1
    i[LAST_CHANGE] = -1
    i[LAST_ARM] = -1
    i[FED] = 1
    static_law(f, i)[:] = 1.0 / n_arms
    predictions(f, i)[:] = 0.5
    i[COUNTS + LOOKS * n_arms : COUNTS + (LOOKS + 1) * n_arms] = -1  # no arm has been looked at
    return f, i


def is_state_sound(f: np.ndarray, i: np.ndarray) -> bool:
    """Whether the words that the kernels use as indices lie in bounds."""
    n_arms = int(i[N_ARMS])
    order = i[COUNTS + ORDER * n_arms : COUNTS + (ORDER + 1) * n_arms]
    buckets = i[COUNTS + 4 * n_arms :]
    return bool(
        len(f) == VECTORS + n_arms * (_N_VECTORS + 2 * _PER_ARM)
        and len(i) == COUNTS + n_arms * (4 + LEVELS)
        and BETWEEN <= i[MODE] <= NOISY_TRACKING
        and 0 <= i[BEST] < n_arms
        and 0 <= i[POSITION] <= n_arms
        and (i[MODE] != SWEEP or i[POSITION] < n_arms)
        and np.all((order >= 0) & (order < n_arms))
        and np.all((buckets >= 0) & (buckets <= SLOTS))
        and i[LENGTH] >= 1
        and i[FED] >= 1
        and is_law(static_law(f, i))
        and 0.0 <= f[TRACK] <= 1.0
    )


def static_law(f: np.ndarray, i: np.ndarray) -> np.ndarray:
    """View of the law q of the static learner."""
    return view(f, i, Q)


def predictions(f: np.ndarray, i: np.ndarray) -> np.ndarray:
    """View of m."""
    return view(f, i, M)


def view(f: np.ndarray, i: np.ndarray, row: int) -> np.ndarray:
    """View of a row of floats."""
    n_arms = int(i[N_ARMS])
    return f[VECTORS + row * n_arms : VECTORS + (row + 1) * n_arms]


# Kernels index f and i with an offset: views of them would cost a reference count each.


@njit
def floats(i, row):
    """Where a row of floats begins in ``f``."""
    return VECTORS + row * i[N_ARMS]


@njit
def ints(i, row):
    """Where a row of integers begins in ``i``."""
    return COUNTS + row * i[N_ARMS]


@inner
def bucket_sums(i, arm):
    """Where the sums of the buckets of ``arm`` begin: SLOTS a level, the oldest of a level first."""
    return floats(i, _N_VECTORS) + arm * _PER_ARM


@inner
def bucket_squares(i, arm):
    """Where the sums of squares of the buckets of ``arm`` begin."""
    return floats(i, _N_VECTORS + _PER_ARM) + arm * _PER_ARM


@njit
def bucket_counts(i, arm):
    """Where the numbers of buckets of ``arm`` begin, one a level; those of level l hold 2^l losses."""
    return ints(i, 4) + arm * LEVELS
