"""The state machine: stages of epochs, each static or tracking by the toss of a coin."""

import math

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.decisions.bandits.random import draw_from, uniform
from skfrontier.algos.decisions.bandits.rounds import (
    CHANCE,
    EPOCH_CLOSED,
    N_ARMS,
    PENDING,
    ROUNDS,
    STAGE,
    STAGE_END,
    PolicyKernels,
    close_round,
    next_stage,
    refusal,
)
from skfrontier.algos.decisions.bandits.static_dynamic.certificate import (
    enter_certificate,
    is_noise_certain,
)
from skfrontier.algos.decisions.bandits.static_dynamic.layout import (
    AUTO,
    AUTO_FEEDBACK,
    BEST,
    BETA,
    BETWEEN,
    CONTINUES,
    DELTA,
    EPOCH_END,
    EPOCH_SCALE,
    EPOCH_START,
    ETA_IN,
    ETA_SCALE,
    EXPLORE_SCALE,
    FEEDBACK,
    GAIN,
    LENGTH,
    LOG,
    MIX,
    MODE,
    N_CHANGES,
    NOISY,
    NOISY_SINCE,
    NOISY_TRACKING,
    RHO,
    SEGMENTS,
    STATIC,
    SWEEP,
    TRACK,
    TRACKING,
    M,
    Q,
    floats,
    is_state_sound,
    static_dynamic_state,
)
from skfrontier.algos.decisions.bandits.static_dynamic.learner import feed_played
from skfrontier.algos.decisions.bandits.static_dynamic.meta import (
    dynamic_weight,
    meta_step,
    track_probability,
)
from skfrontier.algos.decisions.bandits.static_dynamic.noisy_tracking import (
    learn_from_noisy,
    noisy_arm,
    noisy_law,
    noisy_leader,
    observe_noisy,
)
from skfrontier.algos.decisions.bandits.static_dynamic.tracking import (
    begin_sweep,
    is_fresh,
    learn_from_sweep,
    learn_from_tracking,
    sweep_arm,
    sweep_law,
    tracking_arm,
    tracking_law,
)

LOG_FIELDS = ("start", "beta", "p_track", "tracked", "gain")


def new_static_dynamic(n_arms: int, horizon: int | None, **parameters):
    """Return the state of a policy that is about to begin its first epoch."""
    f, i = static_dynamic_state(n_arms, horizon, **parameters)
    _begin_stage(f, i)
    _announce_epoch(f, i)
    return f, i


@njit
def _begin_stage(f, i):
    """Epoch length, exploration and learning rate for the length T of the stage."""
    A = float(i[N_ARMS])
    T = float(i[STAGE])
    i[LENGTH] = max(2 * i[N_ARMS], math.ceil(min(T, f[EPOCH_SCALE] * math.sqrt(A * T))))
    f[ETA_IN] = math.sqrt(2.0 * math.log(A) / (A * T))
    _set_exploration(f, i)


@inner
def _set_exploration(f, i):
    A = float(i[N_ARMS])
    T = float(i[STAGE])
    f[RHO] = min(0.5, f[EXPLORE_SCALE] * math.sqrt(f[SEGMENTS] * A / T))


@njit
def _announce_epoch(f, i):
    """Fix the odds of the coming epoch; its coin is tossed when its first arm is asked for."""
    f[BETA] = dynamic_weight(f[DELTA])
    # with noise the factor sqrt(S) would hold tracking back long after it has paid; tracking that
    # loses ends soon enough without it, because delta then falls geometrically
    segments = 1.0 if i[NOISY] == 1 else f[SEGMENTS]
    f[TRACK] = track_probability(f[DELTA], segments, f[MIX])
    f[GAIN] = 0.0
    i[EPOCH_START] = i[ROUNDS]
    i[EPOCH_END] = min(i[ROUNDS] + i[LENGTH], i[STAGE_END])
    # an epoch that follows a tracking one need not look at every arm again; with S given it sweeps
    # all the same, as in the sketch of the user guide
    i[CONTINUES] = i[AUTO] == 1 and i[MODE] == TRACKING and is_fresh(i)
    i[MODE] = BETWEEN


@inner
def _enter_noisy_mode(f, i):
    """From here on the number of segments is estimated and m are means; delta and q stay.

    A tracking epoch goes on with the other kind of tracking: its estimates stay unbiased, because
    the change is decided before the next arm is drawn.
    """
    i[NOISY] = 1
    i[NOISY_SINCE] = i[ROUNDS] + 1  # the round in progress was exact
    i[N_CHANGES] = 0
    f[SEGMENTS] = 1.0
    if i[MODE] == TRACKING:
        i[MODE] = NOISY_TRACKING
    m = floats(i, M)
    for a in range(i[N_ARMS]):
        f[m + a] = 0.5
    _set_exploration(f, i)


@inner
def _begin_epoch(f, i, rng):
    if uniform(rng) >= f[TRACK]:
        i[MODE] = STATIC
    elif i[NOISY] == 1:
        i[MODE] = NOISY_TRACKING
    elif i[CONTINUES] == 1:
        i[MODE] = TRACKING
    else:
        i[MODE] = SWEEP
        begin_sweep(i)


@njit
def _end_epoch(f, i):
    """Log the epoch, let the meta learner learn from a tracking one, announce the next."""
    f[LOG] = i[EPOCH_START]
    f[LOG + 1] = f[BETA]
    f[LOG + 2] = f[TRACK]
    f[LOG + 3] = i[MODE] != STATIC
    f[LOG + 4] = f[GAIN]
    if i[MODE] == TRACKING or i[MODE] == NOISY_TRACKING:
        f[DELTA] = meta_step(f[DELTA], f[GAIN], float(i[LENGTH]), f[ETA_SCALE])
    length = i[LENGTH]
    if next_stage(i):
        _begin_stage(f, i)
        f[DELTA] *= length / i[LENGTH]
    _announce_epoch(f, i)


@njit
def static_dynamic_select(f, i, rng):
    if i[PENDING] >= 0:
        return i[PENDING]
    if i[MODE] == BETWEEN:
        _begin_epoch(f, i, rng)
    mode = i[MODE]
    if mode == STATIC:
        q = floats(i, Q)
        arm = draw_from(f, q, i[N_ARMS], rng)
        f[CHANCE] = f[q + arm]
    elif mode == SWEEP:
        arm = sweep_arm(f, i, rng)
    elif mode == TRACKING:
        arm = tracking_arm(f, i, rng)
    else:
        arm = noisy_arm(f, i, rng)
    i[PENDING] = arm
    return arm


@njit
def static_dynamic_update(f, i, rng, arm, loss):
    status = refusal(i, arm)
    if status < 0:
        return status
    mode = i[MODE]
    if mode == STATIC:
        if i[NOISY] == 1:
            observe_noisy(f, i, arm, loss)
        else:
            enter_certificate(f, i, arm, loss)
        feed_played(f, i, arm, loss)
    elif mode == SWEEP:
        learn_from_sweep(f, i, arm, loss)
    elif mode == TRACKING:
        learn_from_tracking(f, i, arm, loss)
    else:
        learn_from_noisy(f, i, arm, loss)
    if i[FEEDBACK] == AUTO_FEEDBACK and i[NOISY] == 0 and is_noise_certain(f, i):
        _enter_noisy_mode(f, i)
    if (i[AUTO] == 1 or i[NOISY] == 1) and 1.0 + i[N_CHANGES] > f[SEGMENTS]:
        f[SEGMENTS] = 2.0 * (1.0 + i[N_CHANGES])
        _set_exploration(f, i)
    status = close_round(f, i, arm, loss)
    if i[ROUNDS] == i[EPOCH_END]:
        _end_epoch(f, i)
        status |= EPOCH_CLOSED
    return status


@njit
def static_dynamic_law(f, i, out):
    """The law of the pending arm; without one, the law of the next, an epoch's coin included."""
    mode = i[MODE]
    q = floats(i, Q)
    if mode == STATIC:
        for a in range(i[N_ARMS]):
            out[a] = f[q + a]
    elif mode == SWEEP:
        sweep_law(i, out)
    elif mode == TRACKING:
        tracking_law(f, i, out)
    elif mode == NOISY_TRACKING:
        _noisy_law(f, i, out)
    else:
        A = i[N_ARMS]
        if i[NOISY] == 1:
            _noisy_law(f, i, out)
        elif i[CONTINUES] == 1:
            tracking_law(f, i, out)
        else:
            for a in range(A):
                out[a] = 1.0 / A
        for a in range(A):
            out[a] = (1.0 - f[TRACK]) * f[q + a] + f[TRACK] * out[a]


@inner
def _noisy_law(f, i, out):
    if i[PENDING] < 0:
        i[BEST] = noisy_leader(f, i)  # what the next select would write
    noisy_law(f, i, out)


@njit
def static_dynamic_play(f, i, rng, losses, offset, scale, arms, seen, chances, log):
    closed = 0
    for t in range(len(losses)):
        arm = static_dynamic_select(f, i, rng)
        arms[t] = arm
        seen[t] = losses[t, arm]
        chances[t] = f[CHANCE]
        status = static_dynamic_update(f, i, rng, arm, (losses[t, arm] - offset) / scale)
        if status & EPOCH_CLOSED:
            for field in range(5):
                log[closed, field] = f[LOG + field]
            closed += 1
            if closed == len(log):
                return t + 1, closed
    return len(losses), closed


STATIC_DYNAMIC = PolicyKernels(
    static_dynamic_select,
    static_dynamic_update,
    static_dynamic_law,
    static_dynamic_play,
    is_state_sound,
)
