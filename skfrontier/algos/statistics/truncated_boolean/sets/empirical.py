"""An unknown set, of which only the observed rows are known."""

from typing import Any

import numpy as np

from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet


class EmpiricalSupport(TruncationSet):
    """The set is unknown: use the rows that were seen, and correct for having seen only those.

    It has no members before a fit: an estimator replaces it by the `ExplicitSet` of the distinct rows.
    Taking those for the set without the correction is biased, since a pair of neighbours enters only if
    both were seen (`support_conditional_fit`).

    Examples
    --------
    >>> from skfrontier.algos import EmpiricalSupport
    >>> from skfrontier.estimators import TruncatedBooleanProduct
    >>> X = [[0, 0], [0, 0], [0, 1], [1, 1], [0, 0], [0, 1], [0, 1]]
    >>> TruncatedBooleanProduct(EmpiricalSupport(), unidentified="ignore").fit(X).truncation_
    ExplicitSet(3 points, 2 features)
    """

    def __repr__(self) -> str:
        return "EmpiricalSupport()"

    def is_exact(self, n_features: int) -> bool:
        """Never: the set is not known."""
        return False

    def _contains(self, X: np.ndarray) -> np.ndarray:
        raise ValueError(
            "EmpiricalSupport knows no rows by itself: fit an estimator and use its truncation_."
        )

    def _family(self, z: Any) -> Any:
        return self._contains(np.zeros((0, 0), np.uint8))
