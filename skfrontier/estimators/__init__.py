"""scikit-learn classes; each validates its input, calls the algorithm, and keeps the result."""

from skfrontier.algos import AmbiguousAlignmentWarning
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
from skfrontier.estimators.geometry.matching import DynamicMatching, WassersteinDriftMonitor
from skfrontier.estimators.geometry.procrustes_wasserstein import ProcrustesWasserstein
from skfrontier.estimators.graphs.clustering import (
    DynamicKNNSpectralClustering,
    DynamicSpectralClustering,
    UnclearGapWarning,
)
from skfrontier.estimators.graphs.propagation import (
    LabelPropagationOperator,
    SignedLabelPropagation,
    SignedLabelPropagationRegressor,
)
from skfrontier.estimators.graphs.structure import (
    EdgePathDisplay,
    GraphACV,
    GraphDisplay,
    GraphPath,
)
from skfrontier.estimators.neural.output_residual import OutputResidualApproximator
from skfrontier.estimators.optim.gauss_newton import FastGaussNewtonClassifier
from skfrontier.estimators.statistics.truncated_boolean import (
    NotIdentifiedError,
    NotIdentifiedWarning,
    TruncatedBooleanProduct,
    TruncatedIsing,
    TruncatedLogisticRegression,
)

__all__ = [
    "UCB1",
    "AmbiguousAlignmentWarning",
    "BanditOverBandit",
    "BaseBandit",
    "ChamferDistance",
    "ChamferNearestClouds",
    "ChamferTransformer",
    "CorralBandit",
    "DiscountedUCB",
    "DynamicKNNSpectralClustering",
    "DynamicMatching",
    "DynamicSpectralClustering",
    "EdgePathDisplay",
    "Exp3",
    "Exp3IX",
    "Exp3P",
    "Exp3S",
    "FastGaussNewtonClassifier",
    "FixedShareBandit",
    "GraphACV",
    "GraphDisplay",
    "GraphPath",
    "LabelPropagationOperator",
    "MonitoredUCB",
    "NotIdentifiedError",
    "NotIdentifiedWarning",
    "OutputResidualApproximator",
    "ProcrustesWasserstein",
    "SignedLabelPropagation",
    "SignedLabelPropagationRegressor",
    "SlidingWindowUCB",
    "StaticDynamicBandit",
    "ThompsonBeta",
    "TruncatedBooleanProduct",
    "TruncatedIsing",
    "TruncatedLogisticRegression",
    "TsallisINF",
    "TwoPassChamfer",
    "UnclearGapWarning",
    "WassersteinDriftMonitor",
]
