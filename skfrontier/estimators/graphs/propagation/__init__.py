"""Label propagation on signed graphs."""

from skfrontier.estimators.graphs.propagation.labels import (
    SignedLabelPropagation,
    SignedLabelPropagationRegressor,
)
from skfrontier.estimators.graphs.propagation.operator import LabelPropagationOperator

__all__ = [
    "LabelPropagationOperator",
    "SignedLabelPropagation",
    "SignedLabelPropagationRegressor",
]
