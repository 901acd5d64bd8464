"""Truncated Boolean product distributions, with covariates and with interactions."""

from skfrontier.estimators.statistics.truncated_boolean.identification import (
    NotIdentifiedError,
    NotIdentifiedWarning,
)
from skfrontier.estimators.statistics.truncated_boolean.product import TruncatedBooleanProduct
from skfrontier.estimators.statistics.truncated_boolean.regressions import (
    TruncatedIsing,
    TruncatedLogisticRegression,
)

__all__ = [
    "NotIdentifiedError",
    "NotIdentifiedWarning",
    "TruncatedBooleanProduct",
    "TruncatedIsing",
    "TruncatedLogisticRegression",
]
