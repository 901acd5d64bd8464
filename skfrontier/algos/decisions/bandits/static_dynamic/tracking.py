"""Epochs that track exact losses: sweep all arms once, then exploit the best value last seen.

After the sweep, m(a) is the value last seen of arm a and b = argmin m. Each round plays b, or with
probability rho a uniform arm of the others. The doubly robust estimate of all losses,

    chat(a) = m(a) + 1{I = a} (c(a) - m(a)) / pi(a),

is unbiased for every oblivious sequence and has variance only while m is out of date.
"""

from skfrontier.algos._numba import inner
from skfrontier.algos.decisions.bandits.random import uniform, uniform_below
from skfrontier.algos.decisions.bandits.rounds import CHANCE, N_ARMS, ROUNDS
from skfrontier.algos.decisions.bandits.static_dynamic.certificate import (
    enter_certificate,
    interrupt_certificate,
)
from skfrontier.algos.decisions.bandits.static_dynamic.layout import (
    BEST,
    GAIN,
    LAST_CHANGE,
    LENGTH,
    LOOKS,
    MODE,
    N_CHANGES,
    ORDER,
    POSITION,
    RHO,
    SEEN,
    SWEPT,
    TOLERANCE,
    TRACKING,
    M,
    Q,
    floats,
    ints,
)
from skfrontier.algos.decisions.bandits.static_dynamic.learner import feed_estimate, feed_sweep

_FRESH_EPOCHS = 2


@inner
def begin_sweep(i):
    i[POSITION] = 0
    order = ints(i, ORDER)
    for a in range(i[N_ARMS]):
        i[order + a] = a


@inner
def is_fresh(i):
    """Whether every arm was looked at within the last two epochs."""
    looks = ints(i, LOOKS)
    oldest = i[looks]
    for a in range(1, i[N_ARMS]):
        oldest = min(oldest, i[looks + a])
    return i[ROUNDS] - oldest <= _FRESH_EPOCHS * i[LENGTH]


@inner
def sweep_arm(f, i, rng):
    """The next arm of a random order, of which only one step is drawn at a time."""
    left = i[N_ARMS] - i[POSITION]
    position = ints(i, ORDER) + i[POSITION]
    if left > 1:
        other = position + uniform_below(left, rng)
        i[position], i[other] = i[other], i[position]
    f[CHANCE] = 1.0 / left
    return i[position]


@inner
def learn_from_sweep(f, i, arm, loss):
    """Enter a value of the sweep; when it is complete, use its values and feed the learner."""
    interrupt_certificate(i)
    f[floats(i, SEEN) + arm] = loss
    f[GAIN] -= loss
    i[POSITION] += 1
    if i[POSITION] < i[N_ARMS]:
        return
    _take_over_sweep(f, i)
    f[GAIN] += i[N_ARMS] * expected_prediction(f, i)
    feed_sweep(f, i)
    i[MODE] = TRACKING


@inner
def _take_over_sweep(f, i):
    """Let m be what the sweep saw; count a change of the best arm that came after the last."""
    m, seen = floats(i, M), floats(i, SEEN)
    order, looks = ints(i, ORDER), ints(i, LOOKS)
    A = i[N_ARMS]
    is_new = False
    for a in range(A):
        change = abs(f[seen + a] - f[m + a])
        if change > f[TOLERANCE] and i[looks + a] >= i[LAST_CHANGE]:
            is_new = True
        f[m + a] = f[seen + a]
    best = _lowest_prediction(f, i)
    now = i[ROUNDS]
    if i[SWEPT] == 1 and is_new and best != i[BEST]:
        i[N_CHANGES] += 1
        i[LAST_CHANGE] = now
    for position in range(A):
        i[looks + i[order + position]] = now - (A - 1) + position
    i[BEST] = best
    i[SWEPT] = 1


@inner
def _lowest_prediction(f, i):
    """Argmin m, the lowest index of ties."""
    m = floats(i, M)
    best = 0
    for a in range(1, i[N_ARMS]):
        if f[m + a] < f[m + best]:
            best = a
    return best


@inner
def expected_prediction(f, i):
    """The dot product of q and m."""
    q, m = floats(i, Q), floats(i, M)
    expected = 0.0
    for a in range(i[N_ARMS]):
        expected += f[q + a] * f[m + a]
    return expected


@inner
def tracking_arm(f, i, rng):
    A = i[N_ARMS]
    best = i[BEST]
    f[CHANCE] = 1.0 if A == 1 else 1.0 - f[RHO]
    if A == 1 or uniform(rng) >= f[RHO]:
        return best
    f[CHANCE] = f[RHO] / (A - 1)
    other = uniform_below(A - 1, rng)
    return other + 1 if other >= best else other


@inner
def tracking_law(f, i, out):
    A = i[N_ARMS]
    for a in range(A):
        out[a] = f[RHO] / max(A - 1, 1)
    out[i[BEST]] = 1.0 - f[RHO] if A > 1 else 1.0


@inner
def sweep_law(i, out):
    """Uniform on the arms that the sweep has not seen."""
    A = i[N_ARMS]
    order = ints(i, ORDER)
    for a in range(A):
        out[a] = 0.0
    for position in range(i[POSITION], A):
        out[i[order + position]] = 1.0 / (A - i[POSITION])


@inner
def learn_from_tracking(f, i, arm, loss):
    """Feed the doubly robust estimate, then refresh m and count a change of the best arm."""
    enter_certificate(f, i, arm, loss)
    feed_doubly_robust(f, i, arm, loss)
    last_value = floats(i, M) + arm
    last_look = ints(i, LOOKS) + arm
    if loss != f[last_value]:
        is_change = abs(loss - f[last_value]) > f[TOLERANCE]
        f[last_value] = loss
        best = _lowest_prediction(f, i)
        if is_change and best != i[BEST] and i[last_look] >= i[LAST_CHANGE]:
            i[N_CHANGES] += 1
            i[LAST_CHANGE] = i[ROUNDS]
        i[BEST] = best
    i[last_look] = i[ROUNDS]


@inner
def feed_doubly_robust(f, i, arm, loss):
    """Enter the gain over the static learner and feed it chat, both around the predictions m."""
    correction = (loss - f[floats(i, M) + arm]) / f[CHANCE]
    f[GAIN] += expected_prediction(f, i) + f[floats(i, Q) + arm] * correction - loss
    feed_estimate(f, i, arm, correction)
