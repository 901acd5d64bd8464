"""Policies that draw the arm from weights: Exp3, Exp3-IX, Exp3.P, Exp3.S, FixedShare, Tsallis-INF.

They differ in two places only: the parameters of a stage (``_begin_stage``) and how an observed
loss moves the weights (``update``). State: the law ``p`` to draw from, and ``w``, which holds
cumulative loss estimates (Exp3, Exp3-IX, Tsallis-INF) or weights (Exp3.P, Exp3.S).
"""

import math

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.decisions.bandits.random import draw_from
from skfrontier.algos.decisions.bandits.rounds import (
    CHANCE,
    HORIZON,
    KIND,
    N_ARMS,
    OWN_FLOATS,
    PENDING,
    ROUNDS,
    STAGE,
    PolicyKernels,
    close_round,
    empty_state,
    is_law,
    next_stage,
    refusal,
)
from skfrontier.algos.decisions.bandits.tsallis import tsallis_law

EXP3, EXP3_IX, EXP3_P, EXP3_S, FIXED_SHARE, TSALLIS_INF = range(6)
_LEAST_CHANCE = 1e-300

(_ETA, _GAMMA, _SHARE, _BONUS, _NORMALISER, _GIVEN_ETA, _SEGMENTS, _DELTA) = range(
    OWN_FLOATS, OWN_FLOATS + 8
)
_P = OWN_FLOATS + 8


def weights_state(
    kind: int,
    n_arms: int,
    horizon: int | None,
    *,
    eta: float | None = None,
    n_segments: float = 1.0,
    delta: float = 0.05,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the state of an unused policy of the given ``kind``."""
    n_arms = int(n_arms)  # arithmetic of narrow numpy integers would wrap
    f, i = empty_state(n_arms, horizon, floats=_P + 2 * n_arms, kind=kind)
    f[_GIVEN_ETA] = np.nan if eta is None else eta
    f[_SEGMENTS] = n_segments
    f[_DELTA] = delta
    f[_P : _P + n_arms] = 1.0 / n_arms
    if kind in (EXP3_P, EXP3_S):
        f[_P + n_arms :] = 1.0 / n_arms
    _begin_stage(f, i)
    return f, i


@inner
def fixed_share_rates(n_arms, n_rounds, n_segments):
    """Return rate and share of FixedShare for a horizon and a number of segments."""
    segments = min(n_segments, n_rounds)
    cells = float(n_arms) * n_rounds
    eta = math.sqrt(2.0 * segments * math.log(cells / segments) / cells)
    return eta, segments / n_rounds


@inner
def fixed_share_step(f, A, q, eta, gamma, share, arm, loss):
    """One Exp3-IX step on the law at ``f[q]`` for the loss of ``arm``, then mix in ``share``."""
    f[q + arm] *= math.exp(-eta * loss / (f[q + arm] + gamma))
    total = 0.0
    for a in range(A):
        total += f[q + a]
    keep = (1.0 - share) / total
    floor = share / A
    for a in range(A):
        f[q + a] = f[q + a] * keep + floor


@inner
def exponential_law(f, A, L, q, eta):
    """Write q_a proportional to exp(-eta L_a); losses at ``f[L]``, the law at ``f[q]``."""
    least = f[L]
    for a in range(1, A):
        least = min(least, f[L + a])
    total = 0.0
    for a in range(A):
        f[q + a] = math.exp(-eta * (f[L + a] - least))
        total += f[q + a]
    for a in range(A):
        f[q + a] /= total


@njit
def _begin_stage(f, i):
    """Compute the parameters that depend on the length T of the stage."""
    kind = i[KIND]
    A = float(i[N_ARMS])
    T = float(i[STAGE])
    log_arms = math.log(A)
    if kind in (EXP3, EXP3_IX):
        f[_ETA] = f[_GIVEN_ETA]
        if math.isnan(f[_ETA]):
            f[_ETA] = math.sqrt(2.0 * log_arms / (A * T))
    elif kind == EXP3_P:
        f[_GAMMA] = min(0.6, 2.0 * math.sqrt(0.6 * A * log_arms / T))
        f[_BONUS] = 2.0 * math.sqrt(math.log(A * T) - math.log(f[_DELTA])) / math.sqrt(A * T)
    elif kind == EXP3_S:
        budget = f[_SEGMENTS] * math.log(A * T) + math.e
        f[_GAMMA] = min(1.0, math.sqrt(A * budget / ((math.e - 1.0) * T)))
        f[_SHARE] = math.e / (A * T)
    elif kind == FIXED_SHARE:
        f[_ETA], f[_SHARE] = fixed_share_rates(i[N_ARMS], i[STAGE], f[_SEGMENTS])


@inner
def _anytime_rate(f, i):
    """Rate of the next round for Exp3 and Exp3-IX: fixed, or falling where no horizon is known."""
    if i[HORIZON] > 0 or not math.isnan(f[_GIVEN_ETA]):
        return f[_ETA]
    A = float(i[N_ARMS])
    return math.sqrt(math.log(A) / (A * (i[ROUNDS] + 1.0)))


@inner
def _mix_uniform(f, A):
    """The law is (1 - gamma) w + gamma / A, for weights that sum to one."""
    for a in range(A):
        f[_P + a] = (1.0 - f[_GAMMA]) * f[_P + A + a] + f[_GAMMA] / A


@njit
def weights_select(f, i, rng):
    if i[PENDING] < 0:
        i[PENDING] = draw_from(f, _P, i[N_ARMS], rng)
        f[CHANCE] = f[_P + i[PENDING]]
    return i[PENDING]


@njit
def weights_update(f, i, rng, arm, loss):
    status = refusal(i, arm)
    if status < 0:
        return status
    A = i[N_ARMS]
    kind = i[KIND]
    w = _P + A
    chance = max(f[_P + arm], _LEAST_CHANCE)
    status = close_round(f, i, arm, loss)
    if next_stage(i):
        _begin_stage(f, i)
    if kind == FIXED_SHARE:
        fixed_share_step(f, A, _P, f[_ETA], 0.5 * f[_ETA], f[_SHARE], arm, loss)
    elif kind == TSALLIS_INF:
        f[w + arm] += loss / chance
        eta = 2.0 / math.sqrt(i[ROUNDS] + 1.0)
        f[_NORMALISER] = tsallis_law(f, A, w, _P, eta, f[_NORMALISER])
    elif kind == EXP3_P:
        _exp3_p_step(f, i, arm, (1.0 - loss) / chance)
    elif kind == EXP3_S:
        _exp3_s_step(f, i, arm, (1.0 - loss) / chance)
    else:
        eta = _anytime_rate(f, i)
        f[w + arm] += loss / (chance + 0.5 * eta) if kind == EXP3_IX else loss / chance
        exponential_law(f, A, w, _P, eta)
    return status


@inner
def _exp3_p_step(f, i, arm, gain):
    """Weights move with the gain estimate plus an upper confidence bonus for every arm."""
    A = i[N_ARMS]
    w = _P + A
    rate = f[_GAMMA] / (3.0 * A)
    total = 0.0
    for a in range(A):
        estimate = gain if a == arm else 0.0
        f[w + a] *= math.exp(min(rate * (estimate + f[_BONUS] / f[_P + a]), 700.0))
        total += f[w + a]
    for a in range(A):
        f[w + a] /= total
    _mix_uniform(f, A)


@inner
def _exp3_s_step(f, i, arm, gain):
    """Exp3 on gains, and every weight receives a share of the total before the step."""
    A = i[N_ARMS]
    w = _P + A
    f[w + arm] *= math.exp(f[_GAMMA] * gain / A)
    grown = 0.0
    for a in range(A):
        f[w + a] += f[_SHARE]  # a share of the old total, which is one
        grown += f[w + a]
    for a in range(A):
        f[w + a] /= grown
    _mix_uniform(f, A)


@njit
def weights_law(f, i, out):
    for a in range(len(out)):
        out[a] = f[_P + a]


@njit
def weights_play(f, i, rng, losses, offset, scale, arms, seen, chances, log):
    for t in range(len(losses)):
        arm = weights_select(f, i, rng)
        arms[t] = arm
        seen[t] = losses[t, arm]
        chances[t] = f[CHANCE]
        weights_update(f, i, rng, arm, (losses[t, arm] - offset) / scale)
    return len(losses), 0


def _are_weights_sound(f: np.ndarray, i: np.ndarray) -> bool:
    return is_law(f[_P : _P + i[N_ARMS]]) and EXP3 <= i[KIND] <= TSALLIS_INF


WEIGHTS = PolicyKernels(
    weights_select, weights_update, weights_law, weights_play, _are_weights_sound
)
