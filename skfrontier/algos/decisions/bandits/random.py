"""Random numbers of the policies: xoshiro256++ on four words that belong to the state."""

import math

import numpy as np

from skfrontier.algos._numba import inner, njit

_17, _23, _19, _41, _45, _11 = (np.uint64(bits) for bits in (17, 23, 19, 41, 45, 11))
_UNIT = 2.0**-53


def generator_words(seed: int) -> np.ndarray:
    """Return the four uint64 words of a generator that ``seed`` determines."""
    return np.random.SeedSequence(seed).generate_state(4, np.uint64)


@njit
def uniform(rng):
    """Return a double in [0, 1) and advance the generator (Blackman and Vigna's xoshiro256++)."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    total = s0 + s3
    word = ((total << _23) | (total >> _41)) + s0
    shifted = s1 << _17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    rng[0] = s0
    rng[1] = s1
    rng[2] = s2
    rng[3] = (s3 << _45) | (s3 >> _19)
    return float(word >> _11) * _UNIT


@inner
def uniform_below(n, rng):
    """Return an integer in 0..n-1, all equally likely."""
    return min(int(n * uniform(rng)), n - 1)


@inner
def draw_from(f, law, n, rng):
    """Draw an index from the ``n`` probabilities at ``f[law]``; rounding never selects a zero."""
    u = uniform(rng)
    below = 0.0
    for a in range(n):
        below += f[law + a]
        if u < below:
            return a
    last = n - 1
    while last > 0 and f[law + last] <= 0.0:
        last -= 1
    return last


@inner
def _standard_normal(rng):
    """One normal draw by Marsaglia's polar method (its twin is thrown away: no hidden state)."""
    while True:
        x = 2.0 * uniform(rng) - 1.0
        y = 2.0 * uniform(rng) - 1.0
        s = x * x + y * y
        if 0.0 < s < 1.0:
            return x * math.sqrt(-2.0 * math.log(s) / s)


@inner
def _standard_gamma(shape, rng):
    """One Gamma(shape, 1) draw for shape >= 1 (Marsaglia and Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = _standard_normal(rng)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - uniform(rng)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v


@njit
def beta_draw(a, b, rng):
    """One Beta(a, b) draw for a, b >= 1."""
    x = _standard_gamma(a, rng)
    return x / (x + _standard_gamma(b, rng))
