"""The static learner: 1/2-Tsallis-INF or Exp3-IX on estimates from both kinds of epoch."""

import math

import numpy as np

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
        static_losses(f, i)[arm] += loss / chance
        _refresh_tsallis(f, i, 1)
    else:
        eta = f[ETA_IN]
        q[arm] *= math.exp(-eta * loss / (chance + 0.5 * eta))
        _renormalise(q)


@njit
def feed_estimate(f, i, values, repeats, arm, correction):
    """Feed the unbiased estimate ``repeats * values + correction e_arm`` as ``repeats`` rounds."""
    if i[BASE] == TSALLIS_BASE:
        L = static_losses(f, i)
        for a in range(i[N_ARMS]):
            L[a] += repeats * values[a]
        L[arm] += correction
        _refresh_tsallis(f, i, repeats)
    else:
        q = static_law(f, i)
        eta = f[ETA_IN]
        least = np.min(values)
        for a in range(i[N_ARMS]):
            q[a] *= math.exp(-eta * repeats * (values[a] - least))
        q[arm] *= math.exp(min(-eta * correction, 700.0))
        _renormalise(q)


@njit
def _refresh_tsallis(f, i, repeats):
    i[FED] += repeats
    L = static_losses(f, i)
    f[NORMALISER] = recentre(L, f[NORMALISER])
    eta = 2.0 / math.sqrt(float(i[FED]))
    f[NORMALISER] = tsallis_law(L, eta, f[NORMALISER], static_law(f, i))


@njit
def _renormalise(q):
    """Divide by the actual sum; no arm vanishes for good."""
    total = np.sum(q)
    for a in range(len(q)):
        q[a] = max(q[a] / total, _LEAST_CHANCE)
