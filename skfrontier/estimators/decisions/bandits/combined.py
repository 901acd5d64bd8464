"""Policies that choose among other policies."""

from typing import Any

import numpy as np

from skfrontier.algos.decisions.bandits.bandit_over_bandit import (
    BANDIT_OVER_BANDIT,
    bandit_over_bandit_state,
)
from skfrontier.algos.decisions.bandits.corral import CORRAL, EXP3_IX_BASE, corral_state
from skfrontier.estimators.decisions.bandits.base import BaseBandit, check_segments


class BanditOverBandit(BaseBandit):
    """A tracker restarted in blocks; a bandit chooses how fast it tracks.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: stages of doubling length, whose
        parameters follow from the length, with the state kept.
    loss_range : tuple of two floats, default=(0.0, 1.0)
        The least and the largest loss that ``update`` accepts.
    maximize : bool, default=False
        Whether ``update`` and ``run`` take rewards instead of losses.
    random_state : int, RandomState instance or None, default=None
        Seed of the policy's own generator.

    Attributes
    ----------
    n_rounds_ : int
        Rounds played.
    counts_ : ndarray of shape (n_arms,)
        How often each arm was played.
    total_loss_ : float
        Sum of the observed losses (rewards if ``maximize``).

    Notes
    -----
    Blocks of ceil(sqrt(A T)) rounds run FixedShareBandit for 1, 2, 4, ... segments, chosen by
    Exp3-IX on the losses of past blocks. The source restarts sliding-window UCB instead and
    chooses its window; its bound does not carry over literally.
    O(A) time per round, O(A) memory.

    References
    ----------
    W. C. Cheung, D. Simchi-Levi, R. Zhu, "Learning to optimize under non-stationarity", 2019,
    arXiv:1810.03024.

    Examples
    --------
    >>> from skfrontier.estimators import BanditOverBandit
    >>> policy = BanditOverBandit(3, horizon=1000, random_state=0)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = BANDIT_OVER_BANDIT

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        return bandit_over_bandit_state(n_arms, horizon)


class CorralBandit(BaseBandit):
    """Log-barrier choice among base policies, of which only the drawn one learns.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: stages of doubling length, whose
        parameters follow from the length, with the state kept.
    bases : sequence of {"exp3ix", float} or None, default=None
        The base policies: ``"exp3ix"`` is Exp3IX, a number S is FixedShareBandit with S segments.
        None: ``("exp3ix", n_segments)``.
    n_segments : float, default=10
        Number of stretches with constant losses that the policy is tuned to.
    loss_range : tuple of two floats, default=(0.0, 1.0)
        The least and the largest loss that ``update`` accepts.
    maximize : bool, default=False
        Whether ``update`` and ``run`` take rewards instead of losses.
    random_state : int, RandomState instance or None, default=None
        Seed of the policy's own generator.

    Attributes
    ----------
    n_rounds_ : int
        Rounds played.
    counts_ : ndarray of shape (n_arms,)
        How often each arm was played.
    total_loss_ : float
        Sum of the observed losses (rewards if ``maximize``).

    Notes
    -----
    The source's scheme: regret against the better base O(sqrt(M T)) plus a cost for feeding it
    rarely is proven there for stable bases and a tuned rate (Agarwal et al. 2017). That the bases
    used here are stable in its sense is not shown, and the rate is 2 / sqrt(T): observed.
    O(M A) time per round and memory for M bases.

    References
    ----------
    A. Agarwal, H. Luo, B. Neyshabur, R. E. Schapire, "Corralling a band of bandit algorithms",
    2017, arXiv:1612.06246.

    Examples
    --------
    >>> from skfrontier.estimators import CorralBandit
    >>> policy = CorralBandit(3, horizon=1000, random_state=0)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = CORRAL

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        bases: Any = None,
        n_segments: float = 10,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.bases = bases
        self.n_segments = n_segments
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        bases = ("exp3ix", self.n_segments) if self.bases is None else self.bases
        if not isinstance(bases, tuple | list | np.ndarray):
            raise TypeError(f"bases must be a tuple, a list or None, got {bases!r}.")
        if len(bases) == 0:
            raise ValueError("bases must name at least one policy, got none.")
        codes = [
            EXP3_IX_BASE
            if isinstance(base, str) and base == "exp3ix"
            else check_segments(base, horizon, "bases" if self.bases is not None else "n_segments")
            for base in bases
        ]
        return corral_state(n_arms, horizon, bases=np.array(codes))
