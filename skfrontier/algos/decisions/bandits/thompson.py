"""Thompson sampling with Beta posteriors on rewards 1 - loss, optionally discounted."""

import numpy as np
from scipy import special

from skfrontier.algos._numba import njit
from skfrontier.algos.decisions.bandits.random import beta_draw
from skfrontier.algos.decisions.bandits.rounds import (
    CHANCE,
    N_ARMS,
    OWN_FLOATS,
    PENDING,
    WRONG_ARM,
    PolicyKernels,
    close_round,
    empty_state,
    next_stage,
)

_DISCOUNT = OWN_FLOATS
_REWARDS = OWN_FLOATS + 1
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(200)


def thompson_state(
    n_arms: int, horizon: int | None, *, discount: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the state of an unused policy: the discounted rewards and losses of each arm."""
    n_arms = int(n_arms)  # arithmetic of narrow numpy integers would wrap
    f, i = empty_state(n_arms, horizon, floats=_REWARDS + 2 * n_arms)
    f[_DISCOUNT] = discount
    return f, i


@njit
def thompson_select(f, i, rng):
    if i[PENDING] < 0:
        A = i[N_ARMS]
        best = 0
        highest = -1.0
        for a in range(A):
            draw = beta_draw(1.0 + f[_REWARDS + a], 1.0 + f[_REWARDS + A + a], rng)
            if draw > highest:
                best, highest = a, draw
        i[PENDING] = best
        f[CHANCE] = np.nan  # an integral without closed form: left to thompson_law
    return i[PENDING]


@njit
def thompson_update(f, i, rng, arm, loss):
    A = i[N_ARMS]
    if arm < 0 or arm >= A:
        return WRONG_ARM
    if f[_DISCOUNT] != 1.0:
        for a in range(_REWARDS, _REWARDS + 2 * A):
            f[a] *= f[_DISCOUNT]
    f[_REWARDS + arm] += 1.0 - loss
    f[_REWARDS + A + arm] += loss
    status = close_round(f, i, arm, loss)
    next_stage(i)
    return status


def thompson_law(f: np.ndarray, i: np.ndarray, out: np.ndarray) -> None:
    """Write P(arm a draws most), the integral of prod_{b != a} F_b(F_a^{-1}(u)) over u."""
    A = int(i[N_ARMS])
    first = 1.0 + f[_REWARDS : _REWARDS + A]
    second = 1.0 + f[_REWARDS + A : _REWARDS + 2 * A]
    u = 0.5 * (_NODES + 1.0)
    for a in range(A):
        quantiles = special.betaincinv(first[a], second[a], u)
        beaten = np.ones_like(u)
        for b in range(A):
            if b != a:
                beaten *= special.betainc(first[b], second[b], quantiles)
        out[a] = _NODE_WEIGHTS @ beaten
    out /= out.sum()


@njit
def thompson_play(f, i, rng, losses, offset, scale, arms, seen, chances, log):
    for t in range(len(losses)):
        arm = thompson_select(f, i, rng)
        arms[t] = arm
        seen[t] = losses[t, arm]
        chances[t] = f[CHANCE]
        thompson_update(f, i, rng, arm, (losses[t, arm] - offset) / scale)
    return len(losses), 0


def _are_rewards_sound(f: np.ndarray, i: np.ndarray) -> bool:
    return bool(np.all(f[_REWARDS:] >= 0.0) and 0.0 < f[_DISCOUNT] <= 1.0)


THOMPSON = PolicyKernels(
    thompson_select, thompson_update, thompson_law, thompson_play, _are_rewards_sound
)
