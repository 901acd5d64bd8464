"""An adversary that reacts to the arms played."""

import math
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count, check_interval


class WithdrawingAdversary:
    """An adversary that reacts: it takes a bargain away once it has been found.

    Two arms. Arm 0 always loses 0.5. Arm 1 loses 1, except in one window a block, at a random
    place, where it loses 0 until it is first played there (that play still loses 0), then 1 again.
    Against it no policy can have small static and small dynamic regret at once; against the same
    windows left alone (``oblivious_losses``) one can.

    Parameters
    ----------
    n_rounds : int
        Number of rounds T.
    n_segments : int
        Number S of segments aimed at: blocks last 2 T / S rounds.
    alpha : float, default=0.0
        Windows last sqrt(T) / S^alpha rounds.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    T. Marinov, J. Zimmert, "The Pareto frontier of model selection for general contextual bandits",
    2021, arXiv:2110.13282.

    Examples
    --------
    >>> from skfrontier.datasets import WithdrawingAdversary
    >>> adversary = WithdrawingAdversary(1000, 10, random_state=0)
    >>> adversary.loss_vector(0).shape, adversary.oblivious_losses().shape
    ((2,), (1000, 2))
    """

    def __init__(
        self, n_rounds: int, n_segments: int, alpha: float = 0.0, random_state: Any = None
    ):
        self.n_rounds = check_count(n_rounds, "n_rounds")
        self.n_segments = check_count(n_segments, "n_segments")
        self.alpha = check_interval(alpha, "alpha", 0.0, 1.0)
        rng = np.random.default_rng(random_state)
        block = max(1, 2 * n_rounds // n_segments)
        width = min(block, max(1, round(math.sqrt(n_rounds) / n_segments**alpha)))
        self._window = np.full(n_rounds, -1)  # which window a round belongs to
        for k in range(n_rounds // block):
            start = k * block + int(rng.integers(block - width + 1))
            self._window[start : start + width] = k
        self._withdrawn = np.zeros(max(1, n_rounds // block), dtype=bool)

    def loss_vector(self, t: int) -> np.ndarray:
        """Return the losses of both arms in round ``t``, given the arms observed so far."""
        window = self._window[self._check_round(t)]
        bargain = window >= 0 and not self._withdrawn[window]
        return np.array([0.5, 0.0 if bargain else 1.0])

    def observe(self, t: int, arm: int) -> None:
        """Tell the adversary which arm was played in round ``t``."""
        window = self._window[self._check_round(t)]
        if arm == 1 and window >= 0:
            self._withdrawn[window] = True

    def oblivious_losses(self) -> np.ndarray:
        """Return the losses with the same windows, none withdrawn, of shape (n_rounds, 2)."""
        return np.column_stack([np.full(self.n_rounds, 0.5), np.where(self._window >= 0, 0.0, 1.0)])

    def _check_round(self, t: int) -> int:
        if not 0 <= t < self.n_rounds:
            raise ValueError(f"t must lie in 0..{self.n_rounds - 1}, got {t!r}.")
        return t
