"""CORRAL (Agarwal, Luo, Neyshabur and Schapire 2017) over bases of the FixedShare family.

A log-barrier learner over bases with a learning rate of its own for each, which grows whenever the
base is played rarely. Only the base that was drawn learns, from its loss divided by the probability
of drawing it. State per base: probabilities ``p`` and ``pbar`` (mixed with uniform), rate,
threshold ``rho``, the parameters and the law ``q`` of the base.
"""

import math

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.decisions.bandits.exponential_weights import (
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
    STAGE,
    PolicyKernels,
    close_round,
    empty_state,
    is_law,
    next_stage,
    refusal,
)

EXP3_IX_BASE = 0.0  # stands where a FixedShare base has its number of segments
_BISECTIONS = 60
_FIELDS = 7
_P, _PBAR, _RATE, _RHO, _ETA, _SHARE, _SEGMENTS = range(_FIELDS)
_BASES = OWN_FLOATS
_N_BASES, _CHOSEN = range(OWN_INTS, OWN_INTS + 2)


def corral_state(
    n_arms: int, horizon: int | None, *, bases: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the state of an unused policy; ``bases`` holds segment numbers or ``EXP3_IX_BASE``."""
    n_arms = int(n_arms)  # arithmetic of narrow numpy integers would wrap
    M = len(bases)
    f, i = empty_state(n_arms, horizon, floats=_BASES + M * (_FIELDS + n_arms))
    i[_N_BASES] = M
    fields = f[_BASES : _BASES + _FIELDS * M].reshape(_FIELDS, M)
    fields[_P] = fields[_PBAR] = 1.0 / M
    fields[_SEGMENTS] = bases
    f[_BASES + _FIELDS * M :] = 1.0 / n_arms
    _begin_stage(f, i)
    return f, i


@inner
def _base_law(i, k):
    """Where the law of base ``k`` begins."""
    return _BASES + _FIELDS * i[_N_BASES] + k * i[N_ARMS]


@njit
def _begin_stage(f, i):
    """Rates of the meta learner and of the bases for the length T of the stage."""
    T = float(i[STAGE])
    A = float(i[N_ARMS])
    M = i[_N_BASES]
    for k in range(M):
        word = _BASES + k
        f[word + _RATE * M] = 2.0 / math.sqrt(T)
        f[word + _RHO * M] = 2.0 * M
        segments = f[word + _SEGMENTS * M]
        if segments == EXP3_IX_BASE:
            eta = math.sqrt(2.0 * math.log(A) / (A * T))
            share = 0.0
        else:
            eta, share = fixed_share_rates(i[N_ARMS], i[STAGE], segments)
        f[word + _ETA * M] = eta
        f[word + _SHARE * M] = share


@njit
def corral_select(f, i, rng):
    if i[PENDING] < 0:
        M = i[_N_BASES]
        pbar = _BASES + _PBAR * M
        chosen = draw_from(f, pbar, M, rng)
        arm = draw_from(f, _base_law(i, chosen), i[N_ARMS], rng)
        i[_CHOSEN] = chosen
        i[PENDING] = arm
        chance = 0.0
        for k in range(M):
            chance += f[pbar + k] * f[_base_law(i, k) + arm]
        f[CHANCE] = chance
    return i[PENDING]


@inner
def log_barrier_step(p, rates, chosen, estimate):
    """Move ``p`` by 1/p_k += rate_k (l_k - lam), l the estimate at ``chosen`` and 0 elsewhere.

    ``lam`` in [0, estimate] makes the result sum to one; the sum grows with lam, so bisect.
    """
    low = 0.0
    high = estimate
    for _ in range(_BISECTIONS):
        lam = 0.5 * (low + high)
        total = 0.0
        for k in range(len(p)):
            inverse = 1.0 / p[k] + rates[k] * ((estimate if k == chosen else 0.0) - lam)
            if inverse < 1.0:  # this entry alone would reach one
                total = 2.0
                break
            total += 1.0 / inverse
        if total > 1.0:
            high = lam
        else:
            low = lam
    total = 0.0
    for k in range(len(p)):
        p[k] = 1.0 / (1.0 / p[k] + rates[k] * ((estimate if k == chosen else 0.0) - low))
        total += p[k]
    for k in range(len(p)):
        p[k] /= total


@inner
def _meta_step(f, i, estimate):
    """Log-barrier step, mixing with uniform, and faster rates for bases that became rare."""
    T = float(i[STAGE])
    M = i[_N_BASES]
    p = f[_BASES : _BASES + M]
    pbar = f[_BASES + _PBAR * M : _BASES + (_PBAR + 1) * M]
    rates = f[_BASES + _RATE * M : _BASES + (_RATE + 1) * M]
    rho = f[_BASES + _RHO * M : _BASES + (_RHO + 1) * M]
    log_barrier_step(p, rates, i[_CHOSEN], estimate)
    for k in range(M):
        pbar[k] = (1.0 - 1.0 / T) * p[k] + 1.0 / (T * M)
        if 1.0 / pbar[k] > rho[k]:
            rho[k] = 2.0 / pbar[k]
            rates[k] *= math.exp(1.0 / math.log(max(T, 3.0)))


@njit
def corral_update(f, i, rng, arm, loss):
    status = refusal(i, arm)
    if status < 0:
        return status
    M = i[_N_BASES]
    chosen = i[_CHOSEN]
    chance = f[_BASES + _PBAR * M + chosen]
    estimate = loss / chance
    eta = f[_BASES + _ETA * M + chosen]
    share = f[_BASES + _SHARE * M + chosen]
    q = _base_law(i, chosen)
    fixed_share_step(f, i[N_ARMS], q, eta, 0.5 * eta / chance, share, arm, estimate)
    _meta_step(f, i, estimate)
    status = close_round(f, i, arm, loss)
    if next_stage(i):
        _begin_stage(f, i)
    return status


@njit
def corral_law(f, i, out):
    """The law with the draw of the base included, whether or not an arm is pending."""
    pbar = _BASES + _PBAR * i[_N_BASES]
    for a in range(i[N_ARMS]):
        out[a] = 0.0
        for k in range(i[_N_BASES]):
            out[a] += f[pbar + k] * f[_base_law(i, k) + a]


@njit
def corral_play(f, i, rng, losses, offset, scale, arms, seen, chances, log):
    for t in range(len(losses)):
        arm = corral_select(f, i, rng)
        arms[t] = arm
        seen[t] = losses[t, arm]
        chances[t] = f[CHANCE]
        corral_update(f, i, rng, arm, (losses[t, arm] - offset) / scale)
    return len(losses), 0


def _are_bases_sound(f: np.ndarray, i: np.ndarray) -> bool:
    M = int(i[_N_BASES])
    if not (0 <= i[_CHOSEN] < M and len(f) == _BASES + M * (_FIELDS + int(i[N_ARMS]))):
        return False
    p = f[_BASES : _BASES + M]
    laws = [p, f[_BASES + M : _BASES + 2 * M], *f[_BASES + _FIELDS * M :].reshape(M, -1)]
    return bool(p.min() > 0.0 and all(is_law(law) for law in laws))


CORRAL = PolicyKernels(corral_select, corral_update, corral_law, corral_play, _are_bases_sound)
