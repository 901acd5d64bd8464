"""The meta learner: how likely the next epoch tracks (Blackwell approachability, two coordinates).

With weights theta = (w, beta) on (static, dynamic) regret, S segments and mixing u, an epoch tracks
with probability p = beta / (beta + u w sqrt(S)). The scaled regret vectors are

    z = ( -sqrt(S) 1O G,  ((1 - p) / p) 1O C G ),   C = 1/(2u),

G the gain of a tracking epoch (1O = 1) over the static learner. Then theta . z = -1/2 w sqrt(S) 1O
G whatever G is: the unknown advantage of tracking cancels and half of the negative static regret is
left as a reserve. FTRL with a log barrier has one number as its state,
delta = eta sum(z_2 - z_1), and the closed form of ``dynamic_weight``.
"""

import math

from skfrontier.algos._numba import inner, njit


@inner
def _weights(size):
    """The larger and the smaller weight for |delta| = size, both without cancellation."""
    s = math.sqrt(size * size + 4.0)
    larger = 0.5 + size / (2.0 * (s + 2.0))
    smaller = (2.0 + 4.0 / (s + size)) / (2.0 * (s + 2.0))
    return larger, smaller


@njit
def dynamic_weight(delta):
    """Weight beta = 1/2 + delta / (2 (sqrt(delta^2 + 4) + 2)), accurate for every delta."""
    larger, smaller = _weights(abs(delta))
    return larger if delta >= 0.0 else smaller


@njit
def static_weight(delta):
    """Weight w = 1 - beta, likewise."""
    return dynamic_weight(-delta)


@njit
def track_probability(delta, segments, mix):
    """Odds of tracking, beta / (beta + u w sqrt(S))."""
    beta = dynamic_weight(delta)
    return beta / (beta + mix * static_weight(delta) * math.sqrt(segments))


@njit
def meta_step(delta, gain, length, eta_scale):
    """Return delta after a tracking epoch; eta = eta_scale / (sqrt(S) length)."""
    beta = dynamic_weight(delta)
    w = static_weight(delta)
    clipped = min(max(gain / length, -1.0), 1.0)
    return delta + eta_scale * clipped * (1.0 + 0.5 * w / beta)
