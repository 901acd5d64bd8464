"""The 1/2-Tsallis law of cumulative losses: q_a = 4 / (eta (L_a - x))^2 with sum q = 1."""

import math

from skfrontier.algos._numba import njit

_TOLERANCE = 1e-9
_MAX_STEPS = 50


@njit
def tsallis_law(L, eta, x, q):
    """Write the law for losses ``L`` and rate ``eta`` to ``q``; return its normaliser ``x``.

    ``x`` on entry is a guess. Newton's method runs on phi(x) = (sum_a (L_a - x)^-2)^(-1/2), which
    is concave and, where one arm dominates, nearly linear: about two steps from the last round's x,
    where Newton on the sum itself takes twice as many. phi(x) = 2/eta at the solution, which lies
    between min L - 2 sqrt(A)/eta (all arms equal) and min L - 2/eta (one arm has everything).
    """
    least = L[0]
    for a in range(1, len(L)):
        least = min(least, L[a])
    right = least - 2.0 / eta
    left = least - 2.0 * math.sqrt(len(L)) / eta
    x = min(max(x, left), right)
    target = 0.5 * eta
    for _ in range(_MAX_STEPS):
        s2 = 0.0
        s3 = 0.0
        for a in range(len(L)):
            inverse = 1.0 / (L[a] - x)
            square = inverse * inverse
            q[a] = square
            s2 += square
            s3 += square * inverse
        if abs(s2 - target * target) < _TOLERANCE * target * target:
            break
        x = min(max(x + (1.0 - math.sqrt(s2) / target) * s2 / s3, left), right)
    scale = 1.0 / s2
    for a in range(len(L)):
        q[a] *= scale
    return x


@njit
def recentre(L, x):
    """Subtract min L from L and x in place once it is so large that differences lose digits."""
    least = L[0]
    for a in range(1, len(L)):
        least = min(least, L[a])
    if abs(least) < 1e6:
        return x
    for a in range(len(L)):
        L[a] -= least
    return x - least
