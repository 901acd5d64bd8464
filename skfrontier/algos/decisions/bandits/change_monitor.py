"""Monitored UCB (Cao et al. 2019): UCB1 that restarts when an arm's last losses jump.

State per arm: count ``n`` and loss sum ``s`` since the restart, the sums of the older and of the
newer half of its last w losses, and the ring of these losses.
"""

import math

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.decisions.bandits.index_policies import lowest_index
from skfrontier.algos.decisions.bandits.rounds import (
    CHANCE,
    N_ARMS,
    OWN_FLOATS,
    OWN_INTS,
    PENDING,
    ROUNDS,
    STAGE,
    WRONG_ARM,
    PolicyKernels,
    close_round,
    empty_state,
    next_stage,
)

_CONFIDENCE, _THRESHOLD, _SEGMENTS = range(OWN_FLOATS, OWN_FLOATS + 3)
_N = OWN_FLOATS + 3
_WINDOW, _PERIOD, _RESTART, _ALARMS = range(OWN_INTS, OWN_INTS + 4)


def monitored_state(
    n_arms: int, horizon: int | None, *, window: int, n_segments: float, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the state of an unused policy; ``window`` is even."""
    n_arms, window = int(n_arms), int(window)  # arithmetic of narrow numpy integers would wrap
    f, i = empty_state(n_arms, horizon, floats=_N + (4 + window) * n_arms)
    f[_CONFIDENCE] = confidence
    f[_SEGMENTS] = n_segments
    i[_WINDOW] = window
    _begin_stage(f, i)
    return f, i


@njit
def _begin_stage(f, i):
    """Threshold of the alarm and period of the forced exploration for the length T of the stage."""
    A = float(i[N_ARMS])
    T = float(i[STAGE])
    w = float(i[_WINDOW])
    f[_THRESHOLD] = math.sqrt(0.5 * w * math.log(2.0 * A * T * T))
    cost = (f[_SEGMENTS] - 1.0) * A * (2.0 * f[_THRESHOLD] + 3.0 * math.sqrt(w))
    gamma = min(0.5, math.sqrt(cost / (2.0 * T)))
    i[_PERIOD] = i[STAGE] + i[N_ARMS] if gamma == 0.0 else math.floor(A / gamma)


@inner
def _next_arm(f, i):
    A = i[N_ARMS]
    since = i[ROUNDS] - i[_RESTART]
    turn = since % i[_PERIOD]
    if turn < A:
        return turn
    return lowest_index(f[_N : _N + A], f[_N + A : _N + 2 * A], float(since), f[_CONFIDENCE])


@njit
def monitored_select(f, i, rng):
    if i[PENDING] < 0:
        i[PENDING] = _next_arm(f, i)
        f[CHANCE] = 1.0
    return i[PENDING]


@inner
def _watch(f, i, arm, loss):
    """Enter the loss in the arm's window; return whether its two halves differ too much."""
    A = i[N_ARMS]
    w = i[_WINDOW]
    half = w // 2
    n = int(f[_N + arm])
    older = _N + 2 * A + arm
    newer = _N + 3 * A + arm
    ring = _N + 4 * A + arm * w
    if n >= w:
        f[older] -= f[ring + n % w]
    if n >= half:
        middle = f[ring + (n - half) % w]
        f[newer] -= middle
        f[older] += middle
    f[newer] += loss
    f[ring + n % w] = loss
    f[_N + arm] += 1.0
    f[_N + A + arm] += loss
    return n + 1 >= w and abs(f[newer] - f[older]) > f[_THRESHOLD]


@njit
def monitored_update(f, i, rng, arm, loss):
    A = i[N_ARMS]
    if arm < 0 or arm >= A:
        return WRONG_ARM
    alarm = _watch(f, i, arm, loss)
    status = close_round(f, i, arm, loss)
    if alarm:
        for word in range(_N, _N + 4 * A):
            f[word] = 0.0
        i[_RESTART] = i[ROUNDS]
        i[_ALARMS] += 1
    if next_stage(i):
        _begin_stage(f, i)
    return status


@njit
def monitored_law(f, i, out):
    for a in range(len(out)):
        out[a] = 0.0
    out[i[PENDING] if i[PENDING] >= 0 else _next_arm(f, i)] = 1.0


@njit
def monitored_play(f, i, rng, losses, offset, scale, arms, seen, chances, log):
    for t in range(len(losses)):
        arm = monitored_select(f, i, rng)
        arms[t] = arm
        seen[t] = losses[t, arm]
        chances[t] = 1.0
        monitored_update(f, i, rng, arm, (losses[t, arm] - offset) / scale)
    return len(losses), 0


def _is_monitor_sound(f: np.ndarray, i: np.ndarray) -> bool:
    n_arms = int(i[N_ARMS])
    n = f[_N : _N + n_arms]
    return bool(
        i[_WINDOW] >= 2
        and len(f) == _N + (4 + i[_WINDOW]) * n_arms
        and i[_PERIOD] >= 1
        and 0 <= i[_RESTART] <= i[ROUNDS]
        and np.all((n >= 0) & (n <= i[ROUNDS]))
    )


MONITORED = PolicyKernels(
    monitored_select, monitored_update, monitored_law, monitored_play, _is_monitor_sound
)
