"""Policies that draw the arm from weights, for losses chosen by an adversary."""

from typing import Any

import numpy as np

from skfrontier.algos._validation import check_interval
from skfrontier.algos.decisions.bandits.exponential_weights import (
    EXP3,
    EXP3_IX,
    EXP3_P,
    EXP3_S,
    FIXED_SHARE,
    TSALLIS_INF,
    WEIGHTS,
    weights_state,
)
from skfrontier.estimators.decisions.bandits.base import BaseBandit, check_segments


class Exp3(BaseBandit):
    """Exponential weights on importance-weighted losses.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned; it matters only where ``eta`` is None. None: the rate falls with
        the rounds played. More rounds than this: stages of doubling length, whose rate follows from
        the length, with the state kept.
    eta : float or None, default=None
        Learning rate of all rounds. None: sqrt(2 ln A / (A T)), or sqrt(ln A / (A t)) in round t
        without a horizon.
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
    Static regret at most sqrt(2 A T ln A) in expectation against an oblivious adversary for a known
    horizon and the default rate (proven, Bubeck and Cesa-Bianchi 2012, theorem 3.1; the policy is
    that of Auer et al. 2002 without its uniform exploration). More rounds than ``horizon``: the
    default rate follows the doubled stages, which is not covered.
    O(A) exponentials per round, O(A) memory.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit
    problem", SIAM Journal on Computing 32 (2002).

    S. Bubeck, N. Cesa-Bianchi, "Regret analysis of stochastic and nonstochastic multi-armed bandit
    problems", 2012, arXiv:1204.5721.

    Examples
    --------
    >>> from skfrontier.estimators import Exp3
    >>> policy = Exp3(3, horizon=1000, random_state=0)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = WEIGHTS

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        eta: float | None = None,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.eta = eta
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        eta = self.eta
        if eta is not None:
            eta = check_interval(eta, "eta", 0.0, np.inf, closed="neither")
        return weights_state(EXP3, n_arms, horizon, eta=eta)


class Exp3IX(BaseBandit):
    """Exp3 with implicit exploration: loss estimates divided by q + eta/2.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned; it matters only where ``eta`` is None. None: the rate falls with
        the rounds played. More rounds than this: stages of doubling length, whose rate follows from
        the length, with the state kept.
    eta : float or None, default=None
        Learning rate of all rounds. None: sqrt(2 ln A / (A T)), or sqrt(ln A / (A t)) in round t
        without a horizon.
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
    Static regret O(sqrt(A T ln A)) with high probability for the default rate (proven, Neu 2015).
    O(A) exponentials per round, O(A) memory.

    References
    ----------
    G. Neu, "Explore no more", 2015, arXiv:1506.03271.

    Examples
    --------
    >>> from skfrontier.estimators import Exp3IX
    >>> policy = Exp3IX(3, horizon=1000, random_state=0)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = WEIGHTS

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        eta: float | None = None,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.eta = eta
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        eta = self.eta
        if eta is not None:
            eta = check_interval(eta, "eta", 0.0, np.inf, closed="neither")
        return weights_state(EXP3_IX, n_arms, horizon, eta=eta)


class Exp3P(BaseBandit):
    """Exp3 on gains with upper confidence bonuses.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: stages of doubling length, whose
        parameters follow from the length, with the state kept.
    delta : float, default=0.05
        Probability with which the regret bound may fail.
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
    Static regret O(sqrt(A T ln(A T / delta))) with probability 1 - delta (proven, Auer et al. 2002,
    section 6).
    O(A) exponentials per round, O(A) memory.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit
    problem", SIAM Journal on Computing 32 (2002).

    Examples
    --------
    >>> from skfrontier.estimators import Exp3P
    >>> policy = Exp3P(3, horizon=1000, random_state=0)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = WEIGHTS

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        delta: float = 0.05,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.delta = delta
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        delta = check_interval(self.delta, "delta", 0.0, 1.0, closed="neither")
        return weights_state(EXP3_P, n_arms, horizon, delta=delta)


class Exp3S(BaseBandit):
    """Exp3 whose arms share weight, for losses that switch.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: stages of doubling length, whose
        parameters follow from the length, with the state kept.
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
    Regret O(sqrt(S A T ln(A T))) in expectation against every sequence of arms with S segments, if
    ``n_segments`` is S and the horizon known (proven, Auer et al. 2002, section 8). After each step
    every weight receives e / (A T) of the total before the step.
    O(A) time per round, O(A) memory.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit
    problem", SIAM Journal on Computing 32 (2002).

    Examples
    --------
    >>> from skfrontier.estimators import Exp3S
    >>> policy = Exp3S(3, horizon=1000, random_state=0)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = WEIGHTS

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        n_segments: float = 10,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.n_segments = n_segments
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        n_segments = check_segments(self.n_segments, horizon)
        return weights_state(EXP3_S, n_arms, horizon, n_segments=n_segments)


class FixedShareBandit(BaseBandit):
    """Exp3-IX whose arms share weight: a simple and strong tracker.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: stages of doubling length, whose
        parameters follow from the length, with the state kept.
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
    Regret O(sqrt(S A T ln(A T / S))) against every sequence of arms with S segments, if
    ``n_segments`` is S (proven, Neu 2015). Its static regret grows likewise with S: trackers pay
    for exploring. O(A) time per round, O(A) memory.

    References
    ----------
    G. Neu, "Explore no more", 2015, arXiv:1506.03271 (section 4.2).

    Examples
    --------
    >>> from skfrontier.estimators import FixedShareBandit
    >>> policy = FixedShareBandit(3, horizon=1000, random_state=0)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = WEIGHTS

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        n_segments: float = 10,
        loss_range: tuple[float, float] = (0.0, 1.0),
        maximize: bool = False,
        random_state: Any = None,
    ):
        self.n_arms = n_arms
        self.horizon = horizon
        self.n_segments = n_segments
        self.loss_range = loss_range
        self.maximize = maximize
        self.random_state = random_state

    def _new_state(self, n_arms: int, horizon: int | None) -> tuple[np.ndarray, np.ndarray]:
        n_segments = check_segments(self.n_segments, horizon)
        return weights_state(FIXED_SHARE, n_arms, horizon, n_segments=n_segments)


class TsallisINF(BaseBandit):
    """Follow the leader regularised by the 1/2-Tsallis entropy.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    horizon : int or None, default=None
        Number of rounds planned. None, or more rounds than this: the policy does not depend on it.
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
    Static regret at most 4 sqrt(A T) + 1 in expectation against an oblivious adversary, logarithmic
    for independent losses with a gap (proven, Zimmert and Seldin 2021).
    O(A) per round times about two Newton steps, O(A) memory.

    References
    ----------
    J. Zimmert, Y. Seldin, "Tsallis-INF: an optimal algorithm for stochastic and adversarial
    bandits", 2021, arXiv:1807.07623.

    Examples
    --------
    >>> from skfrontier.estimators import TsallisINF
    >>> policy = TsallisINF(3, random_state=0)
    >>> arm = policy.select()
    >>> policy.update(arm, loss=0.25).counts_[arm]
    np.int64(1)
    """

    _kernels = WEIGHTS

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
        return weights_state(TSALLIS_INF, n_arms, horizon)
