"""Bandit over bandit (after Cheung, Simchi-Levi and Zhu 2019): restart a tracker in every block.

The horizon is cut into blocks of ceil(sqrt(A T)) rounds. In each block FixedShare runs afresh,
tuned to a number of segments that an Exp3-IX meta learner draws from 1, 2, 4, ... by the losses of
past blocks. (The source restarts sliding-window UCB and chooses its window.)
State: the meta learner's losses and law, the tracker's law ``q``.
"""

import math

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.decisions.bandits.exponential_weights import (
    exponential_law,
    fixed_share_rates,
    fixed_share_step,
)
from skfrontier.algos.decisions.bandits.random import draw_from
from skfrontier.algos.decisions.bandits.rounds import (
    CHANCE,
    N_ARMS,
    OWN_FLOATS,
    OWN_INTS,
    PENDING,
    ROUNDS,
    STAGE,
    STAGE_END,
    PolicyKernels,
    close_round,
    empty_state,
    is_law,
    next_stage,
    refusal,
)

_MOST_CANDIDATES = 64
_META_ETA, _ETA, _SHARE, _BLOCK_LOSS = range(OWN_FLOATS, OWN_FLOATS + 4)
_META_L = OWN_FLOATS + 4
_META_P = _META_L + _MOST_CANDIDATES
_Q = _META_P + _MOST_CANDIDATES
_LENGTH, _BLOCK_END, _CANDIDATES, _CHOSEN = range(OWN_INTS, OWN_INTS + 4)
_BETWEEN_BLOCKS = -1


def bandit_over_bandit_state(n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the state of an unused policy."""
    n_arms = int(n_arms)  # arithmetic of narrow numpy integers would wrap
    f, i = empty_state(n_arms, horizon, floats=_Q + n_arms)
    i[_CHOSEN] = _BETWEEN_BLOCKS
    f[_Q:] = 1.0 / n_arms
    _begin_stage(f, i)
    return f, i


@njit
def _begin_stage(f, i):
    """Block length and candidates for the stage; the meta learner starts anew on them."""
    A = i[N_ARMS]
    T = i[STAGE]
    i[_LENGTH] = math.ceil(math.sqrt(float(A) * T))
    candidates = 1
    while 2**candidates <= i[_LENGTH]:
        candidates += 1
    i[_CANDIDATES] = candidates
    blocks = math.ceil(T / i[_LENGTH])
    f[_META_ETA] = math.sqrt(2.0 * math.log(float(candidates)) / (candidates * blocks))
    for k in range(candidates):
        f[_META_L + k] = 0.0
        f[_META_P + k] = 1.0 / candidates


@inner
def _begin_block(f, i, rng):
    chosen = draw_from(f, _META_P, i[_CANDIDATES], rng)
    i[_CHOSEN] = chosen
    i[_BLOCK_END] = min(i[ROUNDS] + i[_LENGTH], i[STAGE_END])
    f[_BLOCK_LOSS] = 0.0
    eta, share = fixed_share_rates(i[N_ARMS], i[_LENGTH], 2.0**chosen)
    f[_ETA] = eta
    f[_SHARE] = min(share, 0.5)


@inner
def _end_block(f, i):
    chosen = i[_CHOSEN]
    eta = f[_META_ETA]
    share_of_length = f[_BLOCK_LOSS] / i[_LENGTH]
    f[_META_L + chosen] += share_of_length / (f[_META_P + chosen] + 0.5 * eta)
    exponential_law(f, i[_CANDIDATES], _META_L, _META_P, eta)
    for a in range(i[N_ARMS]):
        f[_Q + a] = 1.0 / i[N_ARMS]
    i[_CHOSEN] = _BETWEEN_BLOCKS


@njit
def bandit_over_bandit_select(f, i, rng):
    if i[PENDING] < 0:
        if i[_CHOSEN] == _BETWEEN_BLOCKS:
            _begin_block(f, i, rng)
        i[PENDING] = draw_from(f, _Q, i[N_ARMS], rng)
        f[CHANCE] = f[_Q + i[PENDING]]
    return i[PENDING]


@njit
def bandit_over_bandit_update(f, i, rng, arm, loss):
    status = refusal(i, arm)
    if status < 0:
        return status
    fixed_share_step(f, i[N_ARMS], _Q, f[_ETA], 0.5 * f[_ETA], f[_SHARE], arm, loss)
    f[_BLOCK_LOSS] += loss
    status = close_round(f, i, arm, loss)
    if i[ROUNDS] == i[_BLOCK_END]:
        _end_block(f, i)
    if next_stage(i):
        _begin_stage(f, i)
    return status


@njit
def bandit_over_bandit_law(f, i, out):
    for a in range(len(out)):
        out[a] = f[_Q + a]


@njit
def bandit_over_bandit_play(f, i, rng, losses, offset, scale, arms, seen, chances, log):
    for t in range(len(losses)):
        arm = bandit_over_bandit_select(f, i, rng)
        arms[t] = arm
        seen[t] = losses[t, arm]
        chances[t] = f[CHANCE]
        bandit_over_bandit_update(f, i, rng, arm, (losses[t, arm] - offset) / scale)
    return len(losses), 0


def _are_blocks_sound(f: np.ndarray, i: np.ndarray) -> bool:
    return bool(
        1 <= i[_CANDIDATES] <= _MOST_CANDIDATES
        and _BETWEEN_BLOCKS <= i[_CHOSEN] < i[_CANDIDATES]
        and i[_LENGTH] >= 1
        and is_law(f[_Q:])
        and is_law(f[_META_P : _META_P + i[_CANDIDATES]])
    )


BANDIT_OVER_BANDIT = PolicyKernels(
    bandit_over_bandit_select,
    bandit_over_bandit_update,
    bandit_over_bandit_law,
    bandit_over_bandit_play,
    _are_blocks_sound,
)
