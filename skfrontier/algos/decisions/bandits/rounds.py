"""What every policy records about a round: pending arm, counts, total loss, stages.

Integer words shared by all policies: the arm that waits for its loss (-1: none), the number of
finished rounds, the number of arms, the horizon given (-1: none), the length of the current stage
and the round at which it ends, a code for the kind of policy. From ``COUNTS`` on: how often each
arm was played. Words from ``OWN_INTS`` to ``COUNTS`` belong to the policy.
Float words: the total loss on the [0, 1] scale and the probability with which the pending arm was
drawn. Words from ``OWN_FLOATS`` on belong to the policy.

``update`` kernels return a status: ``NOTHING_PENDING`` and ``WRONG_ARM`` say that nothing was done,
bits of a positive status ask for the attention of the caller.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skfrontier.algos._numba import inner

PENDING, ROUNDS, N_ARMS, HORIZON, STAGE, STAGE_END, KIND = range(7)
OWN_INTS, COUNTS = 8, 32
TOTAL, CHANCE = range(2)
OWN_FLOATS = 2

NOTHING_PENDING, WRONG_ARM = -1, -2
EPOCH_CLOSED, BUFFER_FULL, HORIZON_PASSED = 1, 2, 4
SHORTEST_STAGE = 1024
MOST_ARMS = 2**31 - 1  # arms of a run are int32
MOST_ROUNDS = 2**53  # a count of rounds is exact as a float, and stages can double without overflow


@dataclass(frozen=True)
class PolicyKernels:
    """The compiled functions that make up a policy.

    ``select(f, i, rng) -> arm`` is idempotent until ``update(f, i, rng, arm, loss) -> status``;
    ``law(f, i, out)`` writes the law of the pending or else of the next arm and draws nothing;
    ``play(f, i, rng, losses, offset, scale, arms, seen, chances, log)`` loops over the first two
    and returns the number of rounds it has played and the number of lines it has written to the
    log. ``grow(f, i)`` returns longer state vectors, for policies whose memory grows with the
    horizon. ``is_sound(f, i)`` says whether every word of ``i`` that the kernels use as an index
    or a length lies in bounds and every law in ``f`` is one; states that come from outside pass it
    before a kernel sees them.
    """

    select: Callable
    update: Callable
    law: Callable
    play: Callable
    is_sound: Callable
    grow: Callable | None = None


def empty_state(
    n_arms: int,
    horizon: int | None,
    *,
    floats: int,
    ints: int = 0,
    kind: int = 0,
    shortest_stage: int = SHORTEST_STAGE,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors ``f`` and ``i`` of a policy that has played no round.

    ``ints`` words follow the counts in ``i``.
    """
    n_arms = int(n_arms)  # arithmetic of narrow numpy integers would wrap
    f = np.zeros(floats)
    i = np.zeros(COUNTS + n_arms + ints, dtype=np.int64)
    i[PENDING] = -1
    i[N_ARMS] = n_arms
    i[HORIZON] = -1 if horizon is None else horizon
    i[STAGE] = i[STAGE_END] = shortest_stage if horizon is None else horizon
    i[KIND] = kind
    return f, i


def is_header_sound(i: np.ndarray, n_arms: int) -> bool:
    """Whether the words that all policies share can belong to a policy with ``n_arms`` arms."""
    counts = i[COUNTS : COUNTS + n_arms]
    return bool(
        i[N_ARMS] == n_arms
        and -1 <= i[PENDING] < n_arms
        and counts.min() >= 0
        and i[ROUNDS] == counts.sum()
        and 0 <= i[ROUNDS] < i[STAGE_END]
        and 1 <= i[STAGE] <= i[STAGE_END]
    )


def is_law(p: np.ndarray) -> bool:
    """Whether ``p`` holds probabilities that sum to one."""
    return bool(np.all(p >= 0.0) and abs(p.sum() - 1.0) < 1e-6)


@inner
def refusal(i, arm):
    """Status of an update that must not happen because ``arm`` is not pending, else 0."""
    if i[PENDING] < 0:
        return NOTHING_PENDING
    if i[PENDING] != arm:
        return WRONG_ARM
    return 0


@inner
def close_round(f, i, arm, loss):
    """Enter the round in the books; return the bit that says whether the horizon was passed."""
    f[TOTAL] += loss
    i[COUNTS + arm] += 1
    i[ROUNDS] += 1
    i[PENDING] = -1
    return HORIZON_PASSED if i[ROUNDS] - 1 == i[HORIZON] else 0


@inner
def next_stage(i):
    """Open a stage of twice the length where the current one is over; say whether it was."""
    if i[ROUNDS] < i[STAGE_END]:
        return False
    i[STAGE] *= 2
    i[STAGE_END] += i[STAGE]
    return True
