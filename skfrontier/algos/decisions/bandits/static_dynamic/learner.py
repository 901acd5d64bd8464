"""The static learner: 1/2-Tsallis-INF or Exp3-IX on estimates from both kinds of epoch."""

import math

from skfrontier.algos._numba import njit
from skfrontier.algos.decisions.bandits.rounds import N_ARMS
from skfrontier.algos.decisions.bandits.static_dynamic.layout import (
    BASE,
    ETA_IN,
    FED,
    NORMALISER,
    TSALLIS_BASE,
    static_law,
    static_losses,
)
from skfrontier.algos.decisions.bandits.tsallis import recentre, tsallis_law

_LEAST_CHANCE = 1e-300


@njit
def feed_played(f, i, arm, loss):
    """Feed the loss of an arm drawn from q itself (importance weighted)."""
    q = static_law(f, i)
    chance = max(q[arm], _LEAST_CHANCE)
    if i[BASE] == TSALLIS_BASE:
        i[FED] += 1
        static_losses(f, i)[arm] += loss / chance
        _refresh_tsallis(f, i)
    else:
        eta = f[ETA_IN]
        q[arm] *= math.exp(-eta * loss / (chance + 0.5 * eta))
        _renormalise(q)


@njit
def feed_estimate(f, i, values, arm, correction):
    """Feed the unbiased estimate ``values + correction e_arm`` of one round."""
    if i[BASE] == TSALLIS_BASE:
        i[FED] += 1
        L = static_losses(f, i)
        for a in range(i[N_ARMS]):
            L[a] += values[a]
        L[arm] += correction
        _refresh_tsallis(f, i)
    else:
        q = static_law(f, i)
        _tilt(q, values, f[ETA_IN])
        q[arm] *= math.exp(min(-f[ETA_IN] * correction, 700.0))
        _renormalise(q)


@njit
def feed_sweep(f, i, values):
    """Feed what a sweep of all A arms saw as A rounds with these losses."""
    A = i[N_ARMS]
    if i[BASE] == TSALLIS_BASE:
        i[FED] += A
        L = static_losses(f, i)
        for a in range(A):
            L[a] += A * values[a]
        _refresh_tsallis(f, i)
    else:
        q = static_law(f, i)
        _tilt(q, values, f[ETA_IN] * A)
        _renormalise(q)


@njit
def _refresh_tsallis(f, i):
    L = static_losses(f, i)
    f[NORMALISER] = recentre(L, f[NORMALISER])
    eta = 2.0 / math.sqrt(float(i[FED]))
    f[NORMALISER] = tsallis_law(L, eta, f[NORMALISER], static_law(f, i))


@njit
def _tilt(q, losses, eta):
    for a in range(len(q)):
        q[a] *= math.exp(-eta * losses[a])


@njit
def _renormalise(q):
    """Divide by the actual sum; no arm vanishes for good."""
    total = 0.0
    for a in range(len(q)):
        total += q[a]
    for a in range(len(q)):
        q[a] = max(q[a] / total, _LEAST_CHANCE)
