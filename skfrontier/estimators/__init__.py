"""scikit-learn classes; each validates its input, calls the algorithm, and keeps the result."""

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
from skfrontier.estimators.geometry.chamfer import (
    ChamferDistance,
    ChamferNearestClouds,
    ChamferTransformer,
    TwoPassChamfer,
)
from skfrontier.estimators.graphs.clustering import (
    DynamicKNNSpectralClustering,
    DynamicSpectralClustering,
    UnclearGapWarning,
)

__all__ = [
    "UCB1",
    "BanditOverBandit",
    "BaseBandit",
    "ChamferDistance",
    "ChamferNearestClouds",
    "ChamferTransformer",
    "CorralBandit",
    "DiscountedUCB",
    "DynamicKNNSpectralClustering",
    "DynamicSpectralClustering",
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
    "TwoPassChamfer",
    "UnclearGapWarning",
]
