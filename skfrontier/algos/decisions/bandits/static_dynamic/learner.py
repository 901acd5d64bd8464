"""The static learner: 1/2-Tsallis-INF or Exp3-IX on estimates from both kinds of epoch."""

import math

from skfrontier.algos._numba import inner
from skfrontier.algos.decisions.bandits.rounds import N_ARMS
from skfrontier.algos.decisions.bandits.static_dynamic.layout import (
    BASE,
    ETA_IN,
    FED,
    NORMALISER,
    NORMALISER_STEP,
    TSALLIS_BASE,
    L,
    M,
    Q,
    floats,
)
from skfrontier.algos.decisions.bandits.tsallis import tsallis_law

_LEAST_CHANCE = 1e-300


@inner
def feed_played(f, i, arm, loss):
    """Feed the loss of an arm drawn from q itself (importance weighted)."""
    own = floats(i, Q) + arm
    chance = max(f[own], _LEAST_CHANCE)
    if i[BASE] == TSALLIS_BASE:
        i[FED] += 1
        f[floats(i, L) + arm] += loss / chance
        _refresh_tsallis(f, i, f[NORMALISER])
    else:
        eta = f[ETA_IN]
        f[own] *= math.exp(-eta * loss / (chance + 0.5 * eta))
        _renormalise(f, i)


@inner
def feed_estimate(f, i, arm, correction):
    """Feed the unbiased estimate ``m + correction e_arm`` of one round."""
    if i[BASE] == TSALLIS_BASE:
        i[FED] += 1
        _add_predictions(f, i, 1.0)
        f[floats(i, L) + arm] += correction
        # the estimates grow evenly until a loss changes, and so does the normaliser
        before = f[NORMALISER]
        _refresh_tsallis(f, i, before + f[NORMALISER_STEP])
        f[NORMALISER_STEP] = f[NORMALISER] - before
    else:
        _tilt(f, i, f[ETA_IN])
        f[floats(i, Q) + arm] *= math.exp(min(-f[ETA_IN] * correction, 700.0))
        _renormalise(f, i)


@inner
def feed_sweep(f, i):
    """Feed what a sweep of all A arms saw, m, as A rounds with these losses."""
    A = i[N_ARMS]
    if i[BASE] == TSALLIS_BASE:
        i[FED] += A
        _add_predictions(f, i, float(A))
        _refresh_tsallis(f, i, f[NORMALISER])
    else:
        _tilt(f, i, f[ETA_IN] * A)
        _renormalise(f, i)


@inner
def _add_predictions(f, i, rounds):
    losses, m = floats(i, L), floats(i, M)
    for a in range(i[N_ARMS]):
        f[losses + a] += rounds * f[m + a]


@inner
def _refresh_tsallis(f, i, guess):
    eta = 2.0 / math.sqrt(float(i[FED]))
    f[NORMALISER] = tsallis_law(f, i[N_ARMS], floats(i, L), floats(i, Q), eta, guess)


@inner
def _tilt(f, i, eta):
    q, m = floats(i, Q), floats(i, M)
    for a in range(i[N_ARMS]):
        f[q + a] *= math.exp(-eta * f[m + a])


@inner
def _renormalise(f, i):
    """Divide by the actual sum; no arm vanishes for good."""
    q = floats(i, Q)
    total = 0.0
    for a in range(i[N_ARMS]):
        total += f[q + a]
    for a in range(i[N_ARMS]):
        f[q + a] = max(f[q + a] / total, _LEAST_CHANCE)
