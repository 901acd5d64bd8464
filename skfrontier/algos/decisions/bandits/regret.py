"""Regrets of arms played on known losses, and the best sequence with few switches."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_count
from skfrontier.algos.decisions.bandits.loss_matrix import check_losses
from skfrontier.algos.decisions.bandits.result import BanditResult


def static_regret(arms: Any, losses: Any, cumulative: bool = False) -> Any:
    """Loss of the arms played minus that of the best fixed arm.

    Parameters
    ----------
    arms : array-like of shape (T,) or BanditResult
        Arms played.
    losses : array-like of shape (T, n_arms)
        Loss of every arm in every round; with a result of a policy that maximizes, the rewards that
        it was played on.
    cumulative : bool, default=False
        Return the regret after every round: the best arm is then that of the rounds so far.

    Returns
    -------
    float, or ndarray of shape (T,)

    Raises
    ------
    ValueError
        If ``losses`` is not a finite matrix or ``arms`` are not its columns, one a row.

    Examples
    --------
    >>> from skfrontier.algos import static_regret
    >>> static_regret([0, 1, 1], [[0.0, 1.0], [0.5, 1.0], [1.0, 0.0]])
    np.float64(-0.5)
    """
    arms, losses = _check_played(arms, losses)
    played = losses[np.arange(len(arms)), arms].astype(np.float64)
    if cumulative:
        return np.cumsum(played) - np.cumsum(losses, axis=0, dtype=np.float64).min(axis=1)
    return played.sum() - losses.sum(axis=0, dtype=np.float64).min()


def dynamic_regret(arms: Any, losses: Any, cumulative: bool = False) -> Any:
    """Loss of the arms played minus that of the best arm of every round.

    Parameters
    ----------
    arms : array-like of shape (T,) or BanditResult
        Arms played.
    losses : array-like of shape (T, n_arms)
        Loss of every arm in every round; with a result of a policy that maximizes, the rewards that
        it was played on.
    cumulative : bool, default=False
        Return the regret after every round.

    Returns
    -------
    float, or ndarray of shape (T,)

    Raises
    ------
    ValueError
        If ``losses`` is not a finite matrix or ``arms`` are not its columns, one a row.

    Examples
    --------
    >>> from skfrontier.algos import dynamic_regret
    >>> dynamic_regret([0, 1, 1], [[0.0, 1.0], [0.5, 1.0], [1.0, 0.0]], cumulative=True)
    array([0. , 0.5, 0.5])
    """
    arms, losses = _check_played(arms, losses)
    excess = losses[np.arange(len(arms)), arms].astype(np.float64) - losses.min(axis=1)
    return np.cumsum(excess) if cumulative else excess.sum()


def switching_regret(arms: Any, losses: Any, n_segments: int) -> float:
    """Loss of the arms played minus that of the best sequence with at most ``n_segments`` segments.

    Parameters
    ----------
    arms : array-like of shape (T,) or BanditResult
        Arms played.
    losses : array-like of shape (T, n_arms)
        Loss of every arm in every round; with a result of a policy that maximizes, the rewards that
        it was played on.
    n_segments : int
        Number of constant stretches that the best sequence may have.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If ``losses`` is not a finite matrix, ``arms`` are not its columns, or ``n_segments < 1``.

    Examples
    --------
    >>> from skfrontier.algos import switching_regret
    >>> switching_regret([0, 1, 1], [[0.0, 1.0], [0.5, 1.0], [1.0, 0.0]], n_segments=2)
    0.5
    """
    arms, losses = _check_played(arms, losses)
    played = losses[np.arange(len(arms)), arms].sum(dtype=np.float64)
    return float(played - best_switching_loss(losses, n_segments)[-1])


def regret_report(
    result_or_arms: Any, losses: Any, *, n_segments: int | Sequence[int] = (1,)
) -> dict[str, Any]:
    """Static, dynamic and switching regret of one run.

    Parameters
    ----------
    result_or_arms : BanditResult or array-like of shape (T,)
        What was played.
    losses : array-like of shape (T, n_arms)
        Loss of every arm in every round.
    n_segments : int or sequence of int, default=(1,)
        Numbers of segments of the sequences to compare with.

    Returns
    -------
    dict
        ``static`` and ``dynamic`` (floats), ``switching`` (number of segments -> regret) and
        ``n_segments_true``, one more than the number of rounds in which the losses changed (on noisy
        losses nearly every round: compare with the means, where they are known).

    Raises
    ------
    ValueError
        If ``losses`` is not a finite matrix, the arms are not its columns, or a number of segments
        is less than one.

    Examples
    --------
    >>> from skfrontier.algos import regret_report
    >>> report = regret_report([0, 1, 1], [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], n_segments=(1, 2))
    >>> report["switching"], report["n_segments_true"]
    ({1: 0.0, 2: 1.0}, 2)
    """
    arms, losses = _check_played(result_or_arms, losses)
    numbers = n_segments if isinstance(n_segments, Iterable) else (n_segments,)
    wanted = [check_count(s, "n_segments") for s in numbers]
    played = losses[np.arange(len(arms)), arms].sum(dtype=np.float64)
    frontier = best_switching_loss(losses, max(wanted, default=1))
    return {
        "static": float(static_regret(arms, losses)),
        "dynamic": float(dynamic_regret(arms, losses)),
        "switching": {s: float(played - frontier[min(s, len(frontier)) - 1]) for s in wanted},
        "n_segments_true": len(_run_starts(losses)),
    }


def best_switching_loss(losses: Any, max_segments: int, *, return_arms: bool = False) -> Any:
    """Least loss of any sequence of arms with at most 1, 2, ..., ``max_segments`` segments.

    Dynamic programming over d[s, a], the least loss of a sequence that ends in arm a and has at
    most s segments. Exact; the result is not convex in the number of segments, so no shortcut
    through a price per switch exists. Runs of equal rows are merged first, which changes nothing:
    switching inside a run never helps.

    Parameters
    ----------
    losses : array-like of shape (T, n_arms)
        Loss of every arm in every round.
    max_segments : int
        Largest number of segments; more than T count as T.
    return_arms : bool, default=False
        Also return the best sequence with ``max_segments`` segments.

    Returns
    -------
    frontier : ndarray of shape (min(max_segments, T),)
        Entry s - 1 is the least loss with at most s segments.
    arms : ndarray of shape (T,), int64
        The best sequence. Only if ``return_arms``.

    Raises
    ------
    ValueError
        If ``losses`` is not a finite matrix with at least one row, or ``max_segments < 1``.

    Notes
    -----
    O(R A S) time for R runs of equal rows and O(S A) memory; ``return_arms`` keeps R S (A/8 + 4)
    bytes.

    Examples
    --------
    >>> from skfrontier.algos import best_switching_loss
    >>> frontier, arms = best_switching_loss([[0, 1], [0, 1], [1, 0]], 3, return_arms=True)
    >>> frontier, arms
    (array([1., 0., 0.]), array([0, 0, 1]))
    """
    losses = np.ascontiguousarray(check_losses(losses, min_rounds=1), dtype=np.float64)
    max_segments = min(check_count(max_segments, "max_segments"), len(losses))
    starts = _run_starts(losses)
    lengths = np.diff(starts, append=len(losses))
    levels = min(max_segments, len(starts))  # more segments than runs do not help
    frontier = np.empty(max_segments)
    if not return_arms:
        frontier[:levels] = _switching_frontier(losses, starts, lengths, levels)
        frontier[levels:] = frontier[levels - 1]
        return frontier
    values, run_arms = _switching_sequence(losses, starts, lengths, levels)
    frontier[:levels] = values
    frontier[levels:] = frontier[levels - 1]
    return frontier, np.repeat(run_arms, lengths)


def _check_played(arms: Any, losses: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the arms as an index array and the losses as a finite matrix with as many rows.

    Of a result the matrix must be the one that was played; rewards come back as negative losses.
    """
    losses = check_losses(losses)
    result = arms if isinstance(arms, BanditResult) else None
    arms = np.asarray(arms if result is None else result.arms)
    if arms.ndim != 1 or len(arms) != len(losses):
        raise ValueError(
            f"arms must have one entry for each of the {len(losses)} rows of losses, got shape "
            f"{arms.shape}."
        )
    if arms.dtype.kind not in "iu" and len(arms):
        raise ValueError(f"arms must be integers, got dtype {arms.dtype}.")
    if len(arms) and not 0 <= arms.min() <= arms.max() < losses.shape[1]:
        raise ValueError(
            f"arms must lie in 0..{losses.shape[1] - 1}, got {arms.min()}..{arms.max()}."
        )
    arms = arms.astype(np.intp, copy=False)
    if result is None:
        return arms, losses
    if not np.allclose(losses[np.arange(len(arms)), arms], result.losses, rtol=1e-6, atol=1e-9):
        raise ValueError(
            "the result was played on another matrix: its losses are not those of its arms in losses."
        )
    return arms, -losses if result.maximize else losses


def _run_starts(losses: np.ndarray) -> np.ndarray:
    """First row of every run of equal rows."""
    if len(losses) == 0:
        return np.empty(0, dtype=np.int64)
    changes = np.zeros(len(losses), dtype=bool)
    changes[0] = True
    for a in range(losses.shape[1]):  # by columns: no temporary as large as the losses
        changes[1:] |= losses[1:, a] != losses[:-1, a]
    return np.flatnonzero(changes)


@inner
def _row_minimum(row):
    """The least entry and its place."""
    place = 0
    for a in range(1, len(row)):
        if row[a] < row[place]:
            place = a
    return row[place], place


@njit
def _switching_frontier(losses, starts, lengths, levels):
    """d[s, a] <- min(d[s, a], min_b d[s-1, b]) + c(a), levels from high to low, in place."""
    A = losses.shape[1]
    d = np.full((levels, A), np.inf)
    d[0] = 0.0
    lowest = np.full(levels, np.inf)
    lowest[0] = 0.0
    for run in range(len(starts)):
        row = losses[starts[run]]
        for s in range(min(run, levels - 1), -1, -1):
            entry = lowest[s - 1] if s > 0 else np.inf
            least = np.inf
            for a in range(A):
                value = min(d[s, a], entry) + lengths[run] * row[a]
                d[s, a] = value
                least = min(least, value)
            lowest[s] = least
    for s in range(1, levels):
        lowest[s] = min(lowest[s], lowest[s - 1])
    return lowest


@njit
def _switching_sequence(losses, starts, lengths, levels):
    """The same, with a bit per run, level and arm (entered here?) and the arm it came from."""
    A = losses.shape[1]
    R = len(starts)
    d = np.full((levels, A), np.inf)
    d[0] = 0.0
    source = np.zeros((R, levels), dtype=np.int32)
    entered = np.zeros((R, levels, (A + 7) // 8), dtype=np.uint8)
    for run in range(R):
        row = losses[starts[run]]
        for s in range(min(run, levels - 1), -1, -1):
            entry = np.inf
            if s > 0:
                entry, place = _row_minimum(d[s - 1])
                source[run, s] = place
            for a in range(A):
                if entry < d[s, a]:
                    entered[run, s, a // 8] |= np.uint8(1 << (a % 8))
                    d[s, a] = entry
                d[s, a] += lengths[run] * row[a]
    frontier = np.empty(levels)
    best_level = 0
    for s in range(levels):
        frontier[s] = _row_minimum(d[s])[0]
        if s > 0 and frontier[s] >= frontier[s - 1]:
            frontier[s] = frontier[s - 1]
        else:
            best_level = s
    arms = np.empty(R, dtype=np.int64)
    s = best_level
    arm = _row_minimum(d[s])[1]
    for run in range(R - 1, -1, -1):
        arms[run] = arm
        if entered[run, s, arm // 8] >> (arm % 8) & 1:
            arm = source[run, s]
            s -= 1
    return frontier, arms
