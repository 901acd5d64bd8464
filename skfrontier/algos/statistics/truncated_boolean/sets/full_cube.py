"""No truncation."""

from typing import Any

import numpy as np
from scipy import special

from skfrontier.algos._validation import check_generator
from skfrontier.algos.statistics.truncated_boolean.sets.cardinality import Cardinality


class FullCube(Cardinality):
    """All 0/1 vectors: nothing is truncated.

    Examples
    --------
    >>> from skfrontier.algos import FullCube
    >>> m1, m0 = FullCube().flip_counts([[0, 1], [1, 1]])
    >>> m1, m0
    (array([1, 2]), array([1, 0]))
    """

    def __init__(self) -> None:
        super().__init__(min=0)

    def __repr__(self) -> str:
        return "FullCube()"

    def log_mass(self, z: Any) -> float:
        """Zero: the cube has mass 1."""
        return 0.0

    def mean(self, z: Any) -> np.ndarray:
        """The probabilities themselves."""
        return special.expit(np.asarray(z, float))

    def sample_exact(self, z: Any, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Independent rows."""
        p = self.mean(z)
        draws = check_generator(random_state).random((n_samples, len(p)))
        return (draws < p).astype(np.uint8)
