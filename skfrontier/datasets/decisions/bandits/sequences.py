"""Loss matrices with a known structure: switching, hidden windows, drift, noise."""

import math
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_choice, check_count, check_interval


def make_switching_bandit(
    n_rounds: int,
    n_arms: int,
    n_segments: int,
    gap: float | None = None,
    *,
    random_state: Any = None,
    return_meta: bool = False,
) -> Any:
    """Losses that are constant on segments between random change points.

    Parameters
    ----------
    n_rounds : int
        Number of rounds T.
    n_arms : int
        Number of arms A.
    n_segments : int
        Number of segments S, at most ``n_rounds``; the change points are a uniform (S-1)-subset of 1..T-1.
    gap : float or None, default=None
        None: every row is uniform on [0, 1]^A. Otherwise every loss is 0.5, that of one random arm
        a segment 0.5 - gap; two segments in a row may draw the same arm, ``n_segments`` of the meta
        data counts what really changes.
    random_state : int, numpy Generator or None, default=None
        Seed.
    return_meta : bool, default=False
        Also return a dict with ``change_points`` and ``n_segments``.

    Returns
    -------
    losses : ndarray of shape (n_rounds, n_arms)
    meta : dict
        Only if ``return_meta``.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from skfrontier.datasets import make_switching_bandit
    >>> losses, meta = make_switching_bandit(100, 3, 4, random_state=0, return_meta=True)
    >>> losses.shape, len(meta["change_points"])
    ((100, 3), 3)
    """
    n_rounds, n_arms = check_count(n_rounds, "n_rounds"), check_count(n_arms, "n_arms")
    n_segments = check_count(n_segments, "n_segments")
    if n_segments > n_rounds:
        raise ValueError(f"n_segments must be at most n_rounds={n_rounds}, got {n_segments}.")
    rng = np.random.default_rng(random_state)
    change_points = 1 + np.sort(rng.choice(n_rounds - 1, n_segments - 1, replace=False))
    if gap is None:
        rows = rng.random((n_segments, n_arms))
    else:
        gap = check_interval(gap, "gap", 0.0, 0.5)
        rows = np.full((n_segments, n_arms), 0.5)
        rows[np.arange(n_segments), rng.integers(n_arms, size=n_segments)] -= gap
    lengths = np.diff(change_points, prepend=0, append=n_rounds)
    return with_meta(np.repeat(rows, lengths, axis=0), return_meta)


def make_hidden_window_bandit(
    n_rounds: int,
    n_arms: int = 2,
    window: int | None = None,
    n_blocks: int | None = None,
    gap: float = 0.5,
    *,
    random_state: Any = None,
    return_meta: bool = False,
) -> Any:
    """One fair arm, and short hidden windows in which another is better.

    Arm 0 always loses 0.5, all others 1, but in each block one random other arm loses 0.5 - gap on
    a short window at a random place. Arm 0 is the best fixed arm: a tracker that looks for the
    windows pays for it in static regret, a policy that does not pays in dynamic regret.

    Parameters
    ----------
    n_rounds : int
        Number of rounds T.
    n_arms : int, default=2
        Number of arms A, at least 2.
    window : int or None, default=None
        Length of the windows, at most half a block. None: uniform on 0..half a block, anew each
        time.
    n_blocks : int or None, default=None
        Number of blocks, each of floor(T / n_blocks) rounds; at most T. None: as many blocks of
        floor(sqrt(T)) rounds as fit. Rounds after the last block have no window.
    gap : float, default=0.5
        How much better the arm of a window is than arm 0.
    random_state : int, numpy Generator or None, default=None
        Seed.
    return_meta : bool, default=False
        Also return a dict with ``change_points`` and ``n_segments``.

    Returns
    -------
    losses : ndarray of shape (n_rounds, n_arms)
    meta : dict
        Only if ``return_meta``.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    J. Qian, C.-Y. Wei, "Achieving optimal static and dynamic regret simultaneously in bandits with
    deterministic losses", 2026, arXiv:2602.07418.

    Examples
    --------
    >>> from skfrontier.datasets import make_hidden_window_bandit
    >>> losses = make_hidden_window_bandit(10_000, window=8, random_state=0)
    >>> int((losses[:, 1] == 0).sum())
    800
    """
    n_rounds, n_arms = check_count(n_rounds, "n_rounds"), check_count(n_arms, "n_arms", minimum=2)
    gap = check_interval(gap, "gap", 0.0, 0.5)
    if n_blocks is None:
        length = math.isqrt(n_rounds)
        n_blocks = n_rounds // length
    else:
        n_blocks = check_count(n_blocks, "n_blocks", maximum=n_rounds)
        length = n_rounds // n_blocks
    half = length // 2
    fixed = None if window is None else min(check_count(window, "window", minimum=0), half)
    rng = np.random.default_rng(random_state)
    losses = np.ones((n_rounds, n_arms))
    losses[:, 0] = 0.5
    for block in range(n_blocks):
        width = int(rng.integers(half + 1)) if fixed is None else fixed
        arm = int(rng.integers(1, n_arms))
        start = block * length + int(rng.integers(length - width + 1))
        losses[start : start + width, arm] = 0.5 - gap
    return with_meta(losses, return_meta)


def make_drifting_bandit(
    n_rounds: int,
    n_arms: int,
    n_cycles: float = 3,
    amplitude: float = 0.4,
    quantize: int | None = None,
    *,
    return_meta: bool = False,
) -> Any:
    """Sine waves, one for each arm, of equal frequency and spread phases.

    The loss of arm a in round t is 0.5 + amplitude sin(2 pi (n_cycles t / T + a / A)).

    Parameters
    ----------
    n_rounds : int
        Number of rounds T.
    n_arms : int
        Number of arms A.
    n_cycles : float, default=3
        Periods over all rounds.
    amplitude : float, default=0.4
        At most 0.5.
    quantize : int or None, default=None
        Round the losses to multiples of ``1 / quantize``.
    return_meta : bool, default=False
        Also return a dict with ``change_points`` and ``n_segments``.

    Returns
    -------
    losses : ndarray of shape (n_rounds, n_arms)
    meta : dict
        Only if ``return_meta``.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from skfrontier.datasets import make_drifting_bandit
    >>> make_drifting_bandit(4, 2, n_cycles=1, quantize=10)[:, 0]
    array([0.5, 0.9, 0.5, 0.1])
    """
    n_rounds, n_arms = check_count(n_rounds, "n_rounds"), check_count(n_arms, "n_arms")
    n_cycles = check_interval(n_cycles, "n_cycles", 0.0, np.inf, closed="left")
    amplitude = check_interval(amplitude, "amplitude", 0.0, 0.5)
    phase = n_cycles * np.arange(n_rounds)[:, None] / n_rounds + np.arange(n_arms) / n_arms
    losses = 0.5 + amplitude * np.sin(2.0 * np.pi * phase)
    if quantize is not None:
        levels = check_count(quantize, "quantize")
        losses = np.clip(np.round(losses * levels) / levels, 0.0, 1.0)
    return with_meta(losses, return_meta)


def make_bernoulli_bandit(means: Any, random_state: Any = None) -> np.ndarray:
    """Independent 0/1 losses with the given means.

    Parameters
    ----------
    means : array-like of shape (n_rounds, n_arms)
        Probabilities of a loss of one, such as the losses that another generator returns.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    losses : ndarray of shape (n_rounds, n_arms)

    Raises
    ------
    ValueError
        If a mean lies outside [0, 1].

    Examples
    --------
    >>> from skfrontier.datasets import make_bernoulli_bandit
    >>> make_bernoulli_bandit([[0.0, 1.0]] * 2, random_state=0)
    array([[0., 1.],
           [0., 1.]])
    """
    means = np.asarray(means, dtype=np.float64)
    if not (np.all(means >= 0.0) and np.all(means <= 1.0)):
        raise ValueError("means must lie in [0, 1].")
    rng = np.random.default_rng(random_state)
    return (rng.random(means.shape) < means).astype(np.float64)


def make_adversarial_bandit(
    n_rounds: int, n_arms: int, kind: str = "gap", *, random_state: Any = None
) -> np.ndarray:
    """The family behind the static lower bound: one arm better by sqrt(A / T), too little to see.

    Parameters
    ----------
    n_rounds : int
        Number of rounds T.
    n_arms : int
        Number of arms A.
    kind : {"gap"}, default="gap"
        "gap": Bernoulli losses with mean 0.5, those of one random arm 0.5 - sqrt(A / T).
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    losses : ndarray of shape (n_rounds, n_arms)

    Raises
    ------
    ValueError
        If a number is out of range or ``kind`` unknown.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit
    problem", SIAM Journal on Computing 32 (2002), section 5.

    Examples
    --------
    >>> from skfrontier.datasets import make_adversarial_bandit
    >>> make_adversarial_bandit(100, 4, random_state=0).shape
    (100, 4)
    """
    n_rounds, n_arms = check_count(n_rounds, "n_rounds"), check_count(n_arms, "n_arms")
    check_choice(kind, "kind", ("gap",))
    rng = np.random.default_rng(random_state)
    means = np.full(n_arms, 0.5)
    means[rng.integers(n_arms)] -= min(0.5, math.sqrt(n_arms / n_rounds))
    return (rng.random((n_rounds, n_arms)) < means).astype(np.float64)


def with_meta(losses: np.ndarray, return_meta: bool) -> Any:
    """Return the losses, with the rounds in which they change if wanted."""
    if not return_meta:
        return losses
    change_points = 1 + np.flatnonzero(np.any(losses[1:] != losses[:-1], axis=1))
    return losses, {"change_points": change_points, "n_segments": 1 + len(change_points)}
