"""Bandit policies as estimators."""

from skfrontier.estimators.decisions.bandits.adversarial import (
    Exp3,
    Exp3IX,
    Exp3P,
    Exp3S,
    FixedShareBandit,
    TsallisINF,
)
from skfrontier.estimators.decisions.bandits.base import BaseBandit
from skfrontier.estimators.decisions.bandits.combined import BanditOverBandit, CorralBandit
from skfrontier.estimators.decisions.bandits.static_dynamic import StaticDynamicBandit
from skfrontier.estimators.decisions.bandits.stochastic import (
    UCB1,
    DiscountedUCB,
    MonitoredUCB,
    SlidingWindowUCB,
    ThompsonBeta,
)

__all__ = [
    "UCB1",
    "BanditOverBandit",
    "BaseBandit",
    "CorralBandit",
    "DiscountedUCB",
    "Exp3",
    "Exp3IX",
    "Exp3P",
    "Exp3S",
    "FixedShareBandit",
    "MonitoredUCB",
    "SlidingWindowUCB",
    "StaticDynamicBandit",
    "ThompsonBeta",
    "TsallisINF",
]
