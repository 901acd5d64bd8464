"""The 1/2-Tsallis law of cumulative losses: q_a = 4 / (eta (L_a - x))^2 with sum q = 1."""

import math

from skfrontier.algos._numba import njit

_TOLERANCE = 1e-9
_MAX_STEPS = 50
_LARGE = 1e6


@njit
def tsallis_law(f, A, L, q, eta, x):
    """Write the law for ``A`` losses and rate ``eta``; return its normaliser ``x``.

    The losses begin at ``f[L]``, the law goes to ``f[q]`` and the words after it. Losses so large
    that their differences lose digits have their least one subtracted, in place and from ``x``.

    ``x`` on entry is a guess. Newton's method runs on phi(x) = (sum_a (L_a - x)^-2)^(-1/2), which
    is concave and, where one arm dominates, nearly linear: about two steps from the last round's x,
    where Newton on the sum itself takes twice as many. phi(x) = 2/eta at the solution, which lies
    between min L - 2 sqrt(A)/eta (all arms equal) and min L - 2/eta (one arm has everything).
    """
    least = f[L]
    for a in range(1, A):
        least = min(least, f[L + a])
    if abs(least) >= _LARGE:
        for a in range(A):
            f[L + a] -= least
        x -= least
        least = 0.0
    right = least - 2.0 / eta
    left = least - 2.0 * math.sqrt(A) / eta
    x = min(max(x, left), right)
    target = 0.5 * eta
    for _ in range(_MAX_STEPS):
        s2 = 0.0
        s3 = 0.0
        for a in range(A):
            inverse = 1.0 / (f[L + a] - x)
            square = inverse * inverse
            f[q + a] = square
            s2 += square
            s3 += square * inverse
        if abs(s2 - target * target) < _TOLERANCE * target * target:
            break
        x = min(max(x + (1.0 - math.sqrt(s2) / target) * s2 / s3, left), right)
    scale = 1.0 / s2
    for a in range(A):
        f[q + a] *= scale
    return x
