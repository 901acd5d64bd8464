"""Random families of loss matrices on which the regrets are measured."""

import numpy as np

from skfrontier.datasets import make_hidden_window_bandit, make_switching_bandit


def n_segments(losses):
    return 1 + int(np.any(losses[1:] != losses[:-1], axis=1).sum())


def _held(rows, lengths, n_rounds):
    """Rows repeated for the given lengths, cut or continued to n_rounds."""
    losses = np.repeat(rows, lengths, axis=0)[:n_rounds]
    if len(losses) < n_rounds:
        losses = np.vstack([losses, np.repeat(losses[-1:], n_rounds - len(losses), axis=0)])
    return losses


# ------------------------------------------------------------------ the four ordinary families
def switching(rng, T):
    S = int(2 ** rng.uniform(0, 9))
    return make_switching_bandit(T, int(rng.integers(2, 12)), S, random_state=rng)


def hidden_windows(rng, T):
    return make_hidden_window_bandit(
        T,
        int(rng.integers(2, 12)),
        window=int(rng.uniform(1, 60)),
        n_blocks=int(rng.uniform(5, 200)),
        random_state=rng,
    )


def narrow_switching(rng, T):
    losses = switching(rng, T)
    return 0.3 + rng.uniform(0.02, 0.5) * losses


def one_better_one_bad(rng, T):
    A = int(rng.integers(2, 12))
    S = int(2 ** rng.uniform(0, 9))
    rows = np.full((S, A), 0.5)
    for row in rows:
        better, bad = rng.choice(A, 2, replace=False)
        row[better] -= rng.uniform(0, 0.5)
        row[bad] = 1.0
    cuts = np.sort(rng.choice(T - 1, S - 1, replace=False)) + 1
    return np.repeat(rows, np.diff(cuts, prepend=0, append=T), axis=0)


ORDINARY = (switching, hidden_windows, narrow_switching, one_better_one_bad)


# ------------------------------------------------------------------------ eight harder families
def pareto_lengths(rng, T):
    A = int(rng.integers(2, 12))
    lengths = []
    while sum(lengths) < T:
        lengths.append(int(np.ceil(min(T, rng.pareto(rng.uniform(0.6, 1.3)) + 1))))
    rows = 0.5 + 0.5 * np.tanh(rng.standard_cauchy((len(lengths), A)))
    return _held(rows, lengths, T)


def many_arms(rng, T):
    S = int(2 ** rng.uniform(0, 9))
    return make_switching_bandit(T, int(rng.integers(50, 201)), S, random_state=rng)


def bursts(rng, T):
    A = int(rng.integers(2, 12))
    changes = np.zeros(T, dtype=bool)
    for _ in range(int(rng.integers(1, 16))):
        spacing = rng.integers(1, 21, size=int(rng.integers(5, 51)))
        at = int(rng.integers(1, T)) + np.cumsum(spacing)
        changes[at[at < T]] = True
    segment = np.cumsum(changes)
    return rng.random((segment[-1] + 1, A))[segment]


def periodic(rng, T):
    A = int(rng.integers(2, 12))
    rows = rng.random((int(rng.integers(2, 5)), A))
    hold = max(1, int(2 ** rng.uniform(1, 12)) // len(rows))
    return rows[(np.arange(T) // hold) % len(rows)]


def middle_ranks(rng, T):
    A = int(rng.integers(4, 12))
    S = int(2 ** rng.uniform(1, 9))
    rows = rng.uniform(0.3, 0.9, (S, A))
    rows[:, int(rng.integers(A))] = 0.1
    cuts = np.sort(rng.choice(T - 1, S - 1, replace=False)) + 1
    return np.repeat(rows, np.diff(cuts, prepend=0, append=T), axis=0)


def near_ties(rng, T):
    S = int(2 ** rng.uniform(0, 9))
    losses = make_switching_bandit(T, int(rng.integers(2, 12)), S, random_state=rng)
    return 0.5 + rng.uniform(0.003, 0.03) * losses


def one_improves(rng, T):
    A = int(rng.integers(2, 12))
    hold = max(1, int(2 ** rng.uniform(0, 12)))
    rows = np.full((-(-T // hold), A), 0.7)
    rows[np.arange(len(rows)), rng.integers(A, size=len(rows))] = rng.uniform(0, 0.6)
    return np.repeat(rows, hold, axis=0)[:T]


def wide_hidden_windows(rng, T):
    return make_hidden_window_bandit(
        T, int(rng.integers(2, 61)), gap=rng.uniform(0.05, 0.5), random_state=rng
    )


HARDER = (
    pareto_lengths,
    many_arms,
    bursts,
    periodic,
    middle_ranks,
    near_ties,
    one_improves,
    wide_hidden_windows,
)


# --------------------------------------------------------- ten families that nothing was tuned on
def random_walk_on_grid(rng, T):
    """Every arm walks on a grid by single steps at random times: changes are small and many."""
    A = int(rng.integers(2, 16))
    step = 1.0 / int(rng.integers(4, 20))
    moves = rng.integers(-1, 2, (T, A)) * (rng.random((T, A)) < 2.0 ** -rng.uniform(3, 12))
    walk = np.cumsum(moves * step, axis=0) + rng.random(A)
    return np.abs((walk + 1.0) % 2.0 - 1.0)  # reflected into [0, 1]


def seasons(rng, T):
    """Long calm and short hectic seasons alternate."""
    A = int(rng.integers(2, 16))
    lengths, calm = [], True
    while sum(lengths) < T:
        if calm:
            lengths.append(int(rng.uniform(500, 4000)))
        else:
            lengths.extend(rng.integers(1, 60, int(rng.integers(3, 60))).tolist())
        calm = not calm
    return _held(rng.random((len(lengths), A)), lengths, T)


def decoy(rng, T):
    """The best arm stays best on average, but is bad on rare short stretches."""
    A = int(rng.integers(2, 16))
    losses = np.tile(rng.uniform(0.4, 0.8, A), (T, 1))
    losses[:, 0] = 0.2
    for start in rng.integers(0, T, int(rng.integers(1, 80))):
        losses[start : start + int(rng.integers(1, 120)), 0] = 1.0
    return losses


def rotating_leader(rng, T):
    """The good arm is the next one after each stretch; the stretch length is drawn once."""
    A = int(rng.integers(2, 16))
    hold = max(2, int(2 ** rng.uniform(2, 11)))
    losses = np.full((T, A), rng.uniform(0.5, 1.0))
    losses[np.arange(T), (np.arange(T) // hold) % A] = rng.uniform(0.0, 0.4)
    return losses


def shrinking_segments(rng, T):
    """Segments get shorter and shorter, or the other way round."""
    A = int(rng.integers(2, 16))
    factor = rng.uniform(0.6, 0.95)
    lengths = [max(1, int(T * (1 - factor) * factor**k)) for k in range(60)]
    rows = rng.random((len(lengths), A))
    losses = _held(rows, lengths, T)
    return losses[::-1].copy() if rng.random() < 0.5 else losses


def late_change(rng, T):
    """One change, somewhere, between two orders of the arms that may differ little."""
    A = int(rng.integers(2, 40))
    rows = rng.random((2, A)) ** rng.uniform(0.5, 3)
    return _held(rows, [int(rng.uniform(0.02, 0.98) * T), T], T)


def sawtooth(rng, T):
    """Piecewise linear costs on a grid of 50 levels: a change nearly every round now and then."""
    A = int(rng.integers(2, 10))
    period = rng.uniform(200, 8000, A)
    phase = (np.arange(T)[:, None] + rng.uniform(0, T, A)) / period
    return np.round(50 * (phase % 1.0)) / 50


def correlated_blocks(rng, T):
    """All arms move together; only their differences matter."""
    A = int(rng.integers(2, 16))
    S = int(2 ** rng.uniform(1, 9))
    shared = make_switching_bandit(T, 1, S, random_state=rng) * 0.6
    own = make_switching_bandit(T, A, int(2 ** rng.uniform(0, 5)), random_state=rng) * 0.4
    return shared + own


def stable(rng, T):
    """Nothing changes."""
    A = int(rng.integers(2, 60))
    return np.tile(rng.beta(*rng.uniform(0.3, 3, 2), A), (T, 1))


def fast_periods(rng, T):
    """Two to four rows that repeat with a period of 2 to 40 rounds."""
    A = int(rng.integers(2, 12))
    rows = rng.random((int(rng.integers(2, 5)), A))
    hold = int(rng.integers(1, 11))
    return rows[(np.arange(T) // hold) % len(rows)]


FRESH = (
    random_walk_on_grid,
    seasons,
    decoy,
    rotating_leader,
    shrinking_segments,
    late_change,
    sawtooth,
    correlated_blocks,
    stable,
    fast_periods,
)


# -------------------------------------------------------- noisy families: (means, draws) of losses
def _bernoulli(rng, means):
    return (rng.random(means.shape) < means).astype(np.float64)


def noisy_switching(rng, T):
    """Bernoulli draws, 1 to 60 segments."""
    S = int(2 ** rng.uniform(0, 6))
    means = make_switching_bandit(T, int(rng.integers(2, 12)), S, random_state=rng)
    return means, _bernoulli(rng, means)


def beta_switching(rng, T):
    """Beta draws of a random concentration, 1 to 60 segments."""
    S = int(2 ** rng.uniform(0, 6))
    means = make_switching_bandit(T, int(rng.integers(2, 12)), S, random_state=rng)
    means = 0.05 + 0.9 * means
    concentration = 2.0 ** rng.uniform(0, 6)
    return means, rng.beta(means * concentration, (1 - means) * concentration)


def heteroscedastic(rng, T):
    """Every arm has a noise of its own, from none to +-0.2, uniform."""
    S = int(2 ** rng.uniform(0, 6))
    A = int(rng.integers(2, 12))
    means = 0.2 + 0.6 * make_switching_bandit(T, A, S, random_state=rng)
    return means, means + rng.uniform(-1, 1, means.shape) * rng.uniform(0, 0.2, A)


def noisy_drift(rng, T):
    """Bernoulli draws around slow sines with random frequencies."""
    A = int(rng.integers(2, 12))
    phase = rng.uniform(0.2, 4, A) * np.arange(T)[:, None] / T + rng.random(A)
    means = 0.5 + rng.uniform(0.05, 0.45, A) * np.sin(2 * np.pi * phase)
    return means, _bernoulli(rng, means)


def noisy_stable(rng, T):
    """Bernoulli draws, nothing changes, gaps from tiny to large."""
    A = int(rng.integers(2, 20))
    means = np.tile(0.5 + rng.uniform(0.01, 0.45) * rng.uniform(-1, 1, A), (T, 1))
    return means, _bernoulli(rng, means)


NOISY = (noisy_switching, beta_switching, heteroscedastic, noisy_drift, noisy_stable)
