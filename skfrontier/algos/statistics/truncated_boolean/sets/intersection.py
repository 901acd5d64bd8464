"""Several rules at once."""

from functools import reduce

import numpy as np

from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet
from skfrontier.algos.statistics.truncated_boolean.sets.empirical import EmpiricalSupport


class Intersection(TruncationSet):
    """Rows that lie in every one of some sets.

    Parameters
    ----------
    *sets : TruncationSet
        At least one.

    Raises
    ------
    TypeError
        If an argument is no set, or an `EmpiricalSupport`.
    ValueError
        If there is none, or they have different numbers of features.

    Notes
    -----
    A move is open if it is open in all of them. That the sets have a point in common is not checked.

    Examples
    --------
    >>> from skfrontier.algos import Cardinality, Halfspaces, Intersection
    >>> ballot = Intersection(Cardinality(min=1, max=2), Halfspaces([1.0, 2.0, 3.0], 4.0))
    >>> ballot.contains([[1, 0, 1], [0, 1, 1], [0, 0, 0]])
    array([ True, False, False])
    """

    def __init__(self, *sets: TruncationSet):
        if not sets:
            raise ValueError("Intersection needs at least one set.")
        for member in sets:
            if not isinstance(member, TruncationSet) or isinstance(member, EmpiricalSupport):
                raise TypeError(f"Intersection takes known truncation sets, got {member!r}.")
        sizes = {member.n_features for member in sets} - {None}
        if len(sizes) > 1:
            raise ValueError(f"the sets have different numbers of features: {sorted(sizes)}.")  # type: ignore[type-var]
        self.sets = sets
        self.n_features = next(iter(sizes), None)

    def __repr__(self) -> str:
        return f"Intersection({', '.join(map(repr, self.sets))})"

    def _contains(self, X: np.ndarray) -> np.ndarray:
        return reduce(np.logical_and, (member._contains(X) for member in self.sets))

    def _flips(self, X: np.ndarray) -> np.ndarray:
        return reduce(np.logical_and, (member._flips(X) for member in self.sets))

    def _fibre_masks(self, X: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        return reduce(np.bitwise_and, (member._fibre_masks(X, subsets) for member in self.sets))

    def _suggested_pairs(
        self, n_features: int, degree: int, rng: np.random.Generator
    ) -> np.ndarray:
        found = [member._suggested_pairs(n_features, degree, rng) for member in self.sets]
        return np.concatenate(found)
