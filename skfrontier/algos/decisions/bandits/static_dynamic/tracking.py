"""Epochs that track exact losses: sweep all arms once, then exploit the best value last seen.

After the sweep, m(a) is the value last seen of arm a and b = argmin m. Each round plays b, or with
probability rho a uniform arm of the others. The doubly robust estimate of all losses,

    chat(a) = m(a) + 1{I = a} (c(a) - m(a)) / pi(a),

is unbiased for every oblivious sequence and has variance only while m is out of date.
"""

from skfrontier.algos._numba import njit
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
    MODE,
    N_CHANGES,
    POSITION,
    RHO,
    SWEPT,
    TOLERANCE,
    TRACKING,
    last_looks,
    predictions,
    static_law,
    sweep_order,
    sweep_values,
)
from skfrontier.algos.decisions.bandits.static_dynamic.learner import feed_estimate, feed_sweep

_FRESH_EPOCHS = 2


@njit
def begin_sweep(i):
    i[POSITION] = 0
    order = sweep_order(i)
    for a in range(i[N_ARMS]):
        order[a] = a


@njit
def is_fresh(i):
    """Whether every arm was looked at within the last two epochs."""
    looks = last_looks(i)
    oldest = looks[0]
    for a in range(1, i[N_ARMS]):
        oldest = min(oldest, looks[a])
    return i[ROUNDS] - oldest <= _FRESH_EPOCHS * i[LENGTH]


@njit
def sweep_arm(f, i, rng):
    """The next arm of a random order, of which only one step is drawn at a time."""
    order = sweep_order(i)
    position = i[POSITION]
    left = i[N_ARMS] - position
    if left > 1:
        other = position + uniform_below(left, rng)
        order[position], order[other] = order[other], order[position]
    f[CHANCE] = 1.0 / left
    return order[position]


@njit
def learn_from_sweep(f, i, arm, loss):
    """Enter a value of the sweep; when it is complete, use its values and feed the learner."""
    interrupt_certificate(i)
    sweep_values(f, i)[arm] = loss
    f[GAIN] -= loss
    i[POSITION] += 1
    if i[POSITION] < i[N_ARMS]:
        return
    _take_over_sweep(f, i)
    m = predictions(f, i)
    q = static_law(f, i)
    for a in range(i[N_ARMS]):
        f[GAIN] += i[N_ARMS] * q[a] * m[a]
    feed_sweep(f, i, m)
    i[MODE] = TRACKING


@njit
def _take_over_sweep(f, i):
    """Let m be what the sweep saw; count a change of the best arm that came after the last."""
    m = predictions(f, i)
    seen = sweep_values(f, i)
    looks = last_looks(i)
    A = i[N_ARMS]
    is_new = False
    for a in range(A):
        if abs(seen[a] - m[a]) > f[TOLERANCE] and looks[a] >= i[LAST_CHANGE]:
            is_new = True
        m[a] = seen[a]
    best = _lowest(m)
    now = i[ROUNDS]
    if i[SWEPT] == 1 and is_new and best != i[BEST]:
        i[N_CHANGES] += 1
        i[LAST_CHANGE] = now
    for position in range(A):
        looks[sweep_order(i)[position]] = now - (A - 1) + position
    i[BEST] = best
    i[SWEPT] = 1


@njit
def _lowest(values):
    """argmin, the lowest index of ties."""
    best = 0
    for a in range(1, len(values)):
        if values[a] < values[best]:
            best = a
    return best


@njit
def tracking_arm(f, i, rng):
    A = i[N_ARMS]
    best = i[BEST]
    f[CHANCE] = 1.0 if A == 1 else 1.0 - f[RHO]
    if A == 1 or uniform(rng) >= f[RHO]:
        return best
    f[CHANCE] = f[RHO] / (A - 1)
    other = uniform_below(A - 1, rng)
    return other + 1 if other >= best else other


@njit
def tracking_law(f, i, out):
    A = i[N_ARMS]
    for a in range(A):
        out[a] = f[RHO] / max(A - 1, 1)
    out[i[BEST]] = 1.0 - f[RHO] if A > 1 else 1.0


@njit
def sweep_law(i, out):
    """Uniform on the arms that the sweep has not seen."""
    A = i[N_ARMS]
    order = sweep_order(i)
    for a in range(A):
        out[a] = 0.0
    for position in range(i[POSITION], A):
        out[order[position]] = 1.0 / (A - i[POSITION])


@njit
def learn_from_tracking(f, i, arm, loss):
    """Feed the doubly robust estimate, then refresh m and count a change of the best arm."""
    enter_certificate(f, i, arm, loss)
    A = i[N_ARMS]
    m = predictions(f, i)
    q = static_law(f, i)
    correction = (loss - m[arm]) / f[CHANCE]
    expected = q[arm] * correction
    for a in range(A):
        expected += q[a] * m[a]
    f[GAIN] += expected - loss
    feed_estimate(f, i, m, arm, correction)
    looks = last_looks(i)
    if loss != m[arm]:
        is_change = abs(loss - m[arm]) > f[TOLERANCE]
        m[arm] = loss
        best = _lowest(m)
        if is_change and best != i[BEST] and looks[arm] >= i[LAST_CHANGE]:
            i[N_CHANGES] += 1
            i[LAST_CHANGE] = i[ROUNDS]
        i[BEST] = best
    looks[arm] = i[ROUNDS]
