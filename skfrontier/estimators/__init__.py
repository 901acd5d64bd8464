"""Estimators: scikit-learn classes over the functional core."""

from skfrontier.estimators.decisions.bandits import (
    UCB1,
    BanditOverBandit,
    BaseBandit,
    CorralBandit,
    DiscountedUCB,
    Exp3,
    Exp3IX,
    Exp3P,
    Exp3S,
    FixedShareBandit,
    MonitoredUCB,
    SlidingWindowUCB,
    StaticDynamicBandit,
    ThompsonBeta,
    TsallisINF,
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
