"""Policies that play the lowest optimistic index: UCB1, sliding-window UCB and discounted UCB.

State: effective counts ``n`` and loss sums ``s`` of the arms (all rounds, the window, discounted).
The sliding window keeps its arms and losses in a ring at the end of the two vectors.
"""

import math

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.decisions.bandits.rounds import (
    BUFFER_FULL,
    CHANCE,
    COUNTS,
    KIND,
    N_ARMS,
    OWN_FLOATS,
    OWN_INTS,
    PENDING,
    STAGE,
    WRONG_ARM,
    PolicyKernels,
    close_round,
    empty_state,
    next_stage,
)

UCB1, SLIDING_WINDOW, DISCOUNTED = range(3)

(_CONFIDENCE, _DISCOUNT, _GIVEN_DISCOUNT, _SEGMENTS, _TOTAL_N) = range(OWN_FLOATS, OWN_FLOATS + 5)
_N = OWN_FLOATS + 5
_WINDOW, _GIVEN_WINDOW, _OLDEST, _FILLED = range(OWN_INTS, OWN_INTS + 4)


def index_state(
    kind: int,
    n_arms: int,
    horizon: int | None,
    *,
    confidence: float,
    n_segments: float = 1.0,
    window: int | None = None,
    discount: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the state of an unused policy of the given ``kind``."""
    n_arms = int(n_arms)  # arithmetic of narrow numpy integers would wrap
    f, i = empty_state(n_arms, horizon, floats=_N + 2 * n_arms, kind=kind)
    f[_CONFIDENCE] = confidence
    f[_SEGMENTS] = n_segments
    f[_GIVEN_DISCOUNT] = np.nan if discount is None else discount
    i[_GIVEN_WINDOW] = -1 if window is None else window
    _begin_stage(f, i)
    return grow_window(f, i)


def grow_window(f: np.ndarray, i: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the state with a ring that holds a whole window, the oldest round first."""
    n_arms = int(i[N_ARMS])
    capacity = len(i) - COUNTS - n_arms
    if i[KIND] != SLIDING_WINDOW or i[_WINDOW] <= capacity:
        return f, i
    order = (i[_OLDEST] + np.arange(i[_FILLED])) % max(capacity, 1)
    spare = np.zeros(int(i[_WINDOW] - i[_FILLED]))
    f_head, i_head = _N + 2 * n_arms, COUNTS + n_arms
    f = np.concatenate([f[:f_head], f[f_head:][order], spare])
    i = np.concatenate([i[:i_head], i[i_head:][order], spare.astype(np.int64)])
    i[_OLDEST] = 0
    return f, i


@njit
def _begin_stage(f, i):
    """Compute the window and the discount for the length T of the stage."""
    T = float(i[STAGE])
    segments = min(f[_SEGMENTS], T)
    i[_WINDOW] = i[_GIVEN_WINDOW]
    if i[_WINDOW] < 0:
        i[_WINDOW] = max(i[N_ARMS], math.ceil(2.0 * math.sqrt(T * math.log(T) / segments)))
    f[_DISCOUNT] = f[_GIVEN_DISCOUNT]
    if math.isnan(f[_DISCOUNT]):
        f[_DISCOUNT] = 1.0 - 0.25 * math.sqrt(segments / T)


@inner
def lowest_index(n, s, total_n, confidence):
    """Return argmin s/n - confidence sqrt(ln(total_n) / n); arms without data come first."""
    log_total = math.log(max(total_n, 1.0))
    best = 0
    lowest = np.inf
    for a in range(len(n)):
        if n[a] <= 0.0:
            return a
        index = s[a] / n[a] - confidence * math.sqrt(log_total / n[a])
        if index < lowest:
            best, lowest = a, index
    return best


@njit
def index_select(f, i, rng):
    if i[PENDING] < 0:
        A = i[N_ARMS]
        n = f[_N : _N + A]
        s = f[_N + A : _N + 2 * A]
        i[PENDING] = lowest_index(n, s, f[_TOTAL_N], f[_CONFIDENCE])
        f[CHANCE] = 1.0
    return i[PENDING]


@njit
def index_update(f, i, rng, arm, loss):
    A = i[N_ARMS]
    if arm < 0 or arm >= A:
        return WRONG_ARM
    kind = i[KIND]
    if kind == SLIDING_WINDOW and i[_FILLED] == i[_WINDOW]:
        _forget_oldest(f, i)
    if kind == DISCOUNTED:
        for a in range(_N, _N + 2 * A):
            f[a] *= f[_DISCOUNT]
        f[_TOTAL_N] *= f[_DISCOUNT]
    f[_N + arm] += 1.0
    f[_N + A + arm] += loss
    f[_TOTAL_N] += 1.0
    if kind == SLIDING_WINDOW:
        _remember(f, i, arm, loss)
    status = close_round(f, i, arm, loss)
    if next_stage(i):
        _begin_stage(f, i)
        if kind == SLIDING_WINDOW and i[_WINDOW] > len(i) - COUNTS - A:
            status |= BUFFER_FULL
    return status


@inner
def _forget_oldest(f, i):
    A = i[N_ARMS]
    oldest = i[_OLDEST]
    arm = i[COUNTS + A + oldest]
    f[_N + arm] -= 1.0
    f[_N + A + arm] -= f[_N + 2 * A + oldest]
    if f[_N + arm] == 0.0:
        f[_N + A + arm] = 0.0  # the rounding of past sums must not outlive them
    f[_TOTAL_N] -= 1.0
    i[_OLDEST] = (oldest + 1) % (len(i) - COUNTS - A)
    i[_FILLED] -= 1


@inner
def _remember(f, i, arm, loss):
    A = i[N_ARMS]
    place = (i[_OLDEST] + i[_FILLED]) % (len(i) - COUNTS - A)
    i[COUNTS + A + place] = arm
    f[_N + 2 * A + place] = loss
    i[_FILLED] += 1


@njit
def index_law(f, i, out):
    A = i[N_ARMS]
    for a in range(len(out)):
        out[a] = 0.0
    arm = i[PENDING]
    if arm < 0:
        arm = lowest_index(f[_N : _N + A], f[_N + A : _N + 2 * A], f[_TOTAL_N], f[_CONFIDENCE])
    out[arm] = 1.0


@njit
def index_play(f, i, rng, losses, offset, scale, arms, seen, chances, log):
    for t in range(len(losses)):
        arm = index_select(f, i, rng)
        arms[t] = arm
        seen[t] = losses[t, arm]
        chances[t] = 1.0
        status = index_update(f, i, rng, arm, (losses[t, arm] - offset) / scale)
        if status & BUFFER_FULL:
            return t + 1, 0
    return len(losses), 0


def _is_ring_sound(f: np.ndarray, i: np.ndarray) -> bool:
    n_arms = int(i[N_ARMS])
    ring = i[COUNTS + n_arms :]
    if i[KIND] != SLIDING_WINDOW:
        return len(ring) == 0
    return bool(
        len(f) == _N + 2 * n_arms + len(ring)
        and 1 <= i[_WINDOW] <= len(ring)
        and 0 <= i[_FILLED] <= i[_WINDOW]
        and 0 <= i[_OLDEST] < len(ring)
        and ring.min() >= 0
        and ring.max() < n_arms
    )


INDEX = PolicyKernels(
    index_select, index_update, index_law, index_play, _is_ring_sound, grow_window
)
