"""Index and posterior policies, for independent losses whose means stay or change."""

from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count, check_interval
from skfrontier.algos.decisions.bandits.change_monitor import MONITORED, monitored_state
from skfrontier.algos.decisions.bandits.index_policies import (
    DISCOUNTED,
    INDEX,
    SLIDING_WINDOW,
    index_state,
)
from skfrontier.algos.decisions.bandits.index_policies import (
    UCB1 as UCB1_KIND,
)
from skfrontier.algos.decisions.bandits.thompson import THOMPSON, thompson_state
from skfrontier.estimators.decisions.bandits.base import BaseBandit, check_segments

_MOST_WINDOW = 2**31 - 1


class UCB1(BaseBandit):
    """The lowest optimistic mean of all rounds.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: the policy does not depend on it.
    confidence : float, default=sqrt(2)
        Factor of the width sqrt(ln n / n_a) that is subtracted from an arm's mean loss.
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
    Logarithmic static regret for independent identically distributed losses with confidence sqrt(2)
    (proven, Auer et al. 2002); none against an adversary. Draws nothing: ``random_state`` is
    unused. O(A) time per round, O(A) memory.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit problem",
    Machine Learning 47 (2002).

    Examples
    --------
    >>> from skfrontier.estimators import UCB1
    >>> policy = UCB1(3)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = INDEX

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        confidence: float = 2.0**0.5,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.confidence = confidence
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        confidence = check_interval(self.confidence, "confidence", 0.0, np.inf, closed="left")
        return index_state(UCB1_KIND, n_arms, horizon, confidence=confidence)


class SlidingWindowUCB(BaseBandit):
    """The lowest optimistic mean of the last rounds.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: stages of doubling length, whose
        parameters follow from the length, with the state kept.
    n_segments : float, default=10
        Number of stretches with constant losses that the policy is tuned to.
    window : int or None, default=None
        Number of rounds remembered. None: 2 sqrt(T ln T / n_segments).
    confidence : float, default=sqrt(1/2)
        Factor of the width sqrt(ln n / n_a) that is subtracted from an arm's mean loss.
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
    Dynamic regret O(sqrt(S T ln T)) up to factors of the gaps for independent losses whose means
    have S segments and ``confidence > sqrt(1/2)``, strictly (proven, Garivier and Moulines 2011 for
    xi = confidence^2 > 1/2; the default is the limit); none against an adversary.
    O(A) time per round, O(A + window) memory.

    References
    ----------
    A. Garivier, E. Moulines, "On upper-confidence bound policies for switching bandit problems",
    ALT 2011, arXiv:0805.3415.

    Examples
    --------
    >>> from skfrontier.estimators import SlidingWindowUCB
    >>> policy = SlidingWindowUCB(3, horizon=1000)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = INDEX

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        n_segments: float = 10,
        window: int | None = None,
        confidence: float = 0.5**0.5,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.n_segments = n_segments
        self.window = window
        self.confidence = confidence
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        confidence = check_interval(self.confidence, "confidence", 0.0, np.inf, closed="left")
        window = self.window
        if window is not None:
            window = check_count(window, "window", maximum=_MOST_WINDOW)
        return index_state(
            SLIDING_WINDOW,
            n_arms,
            horizon,
            confidence=confidence,
            n_segments=check_segments(self.n_segments, horizon),
            window=window,
        )


class DiscountedUCB(BaseBandit):
    """The lowest optimistic mean with discounted rounds.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: stages of doubling length, whose
        parameters follow from the length, with the state kept.
    n_segments : float, default=10
        Number of stretches with constant losses that the policy is tuned to.
    discount : float or None, default=None
        Weight of a round one round later, in (0, 1]. None: 1 - sqrt(n_segments / T) / 4.
    confidence : float, default=sqrt(2)
        Factor of the width sqrt(ln n / n_a) that is subtracted from an arm's mean loss.
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
    Dynamic regret O(sqrt(S T) ln T) up to factors of the gaps for independent losses whose means
    have S segments and ``confidence > sqrt(2)``, strictly (proven, Garivier and Moulines 2011 for
    xi = confidence^2 / 4 > 1/2; the default is the limit); none against an adversary.
    O(A) time per round, O(A) memory.

    References
    ----------
    A. Garivier, E. Moulines, "On upper-confidence bound policies for switching bandit problems",
    ALT 2011, arXiv:0805.3415.

    Examples
    --------
    >>> from skfrontier.estimators import DiscountedUCB
    >>> policy = DiscountedUCB(3, horizon=1000)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = INDEX

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        n_segments: float = 10,
        discount: float | None = None,
        confidence: float = 2.0**0.5,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.n_segments = n_segments
        self.discount = discount
        self.confidence = confidence
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        confidence = check_interval(self.confidence, "confidence", 0.0, np.inf, closed="left")
        discount = self.discount
        if discount is not None:
            discount = check_interval(discount, "discount", 0.0, 1.0, closed="right")
        return index_state(
            DISCOUNTED,
            n_arms,
            horizon,
            confidence=confidence,
            n_segments=check_segments(self.n_segments, horizon),
            discount=discount,
        )


class ThompsonBeta(BaseBandit):
    """Thompson sampling with a Beta posterior for each arm.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: the policy does not depend on it.
    discount : float, default=1.0
        Weight of a round one round later, in (0, 1]; below one the policy forgets.
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
    Logarithmic static regret for independent Bernoulli losses at discount 1 (proven, Agrawal and
    Goyal 2012). Other losses enter as fractions of a success and a failure. ``probabilities``
    integrates numerically; ``run`` reports NaN.
    O(A) draws per round, O(A) memory.

    References
    ----------
    S. Agrawal, N. Goyal, "Further optimal regret bounds for Thompson sampling", 2012,
    arXiv:1209.3353.

    Examples
    --------
    >>> from skfrontier.estimators import ThompsonBeta
    >>> policy = ThompsonBeta(3, random_state=0)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = THOMPSON

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        discount: float = 1.0,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.discount = discount
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        discount = check_interval(self.discount, "discount", 0.0, 1.0, closed="right")
        return thompson_state(n_arms, horizon, discount=discount)


class MonitoredUCB(BaseBandit):
    """UCB1 that restarts when an arm's last losses jump.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: stages of doubling length, whose
        parameters follow from the length, with the state kept.
    n_segments : float, default=10
        Number of stretches with constant losses that the policy is tuned to.
    window : int, default=200
        Even number of last losses of an arm whose two halves are compared.
    confidence : float, default=sqrt(2)
        Factor of the width sqrt(ln n / n_a) that is subtracted from an arm's mean loss.
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
    Dynamic regret O(sqrt(S A T ln T)) for independent losses whose means have S long segments with
    visible jumps (proven, Cao et al. 2019); none against an adversary.
    O(A) time per round, O(A window) memory.

    References
    ----------
    Y. Cao, Z. Wen, B. Kveton, Y. Xie, "Nearly optimal adaptive procedure with change detection for
    piecewise-stationary bandit", 2019, arXiv:1802.03692.

    Examples
    --------
    >>> from skfrontier.estimators import MonitoredUCB
    >>> policy = MonitoredUCB(3, horizon=1000)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = MONITORED

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        n_segments: float = 10,
        window: int = 200,
        confidence: float = 2.0**0.5,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.n_segments = n_segments
        self.window = window
        self.confidence = confidence
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        confidence = check_interval(self.confidence, "confidence", 0.0, np.inf, closed="left")
        window = check_count(self.window, "window", minimum=2, maximum=_MOST_WINDOW)
        if window % 2:
            raise ValueError(f"window must be even, got {window}.")
        return monitored_state(
            n_arms,
            horizon,
            window=window,
            n_segments=check_segments(self.n_segments, horizon),
            confidence=confidence,
        )
