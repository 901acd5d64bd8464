"""The distances that the topic knows: l_p raised to a power, and the angle."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_choice, check_interval

METRICS = ("minkowski", "euclidean", "sqeuclidean", "manhattan", "angular")


class OverflowWarning(UserWarning):
    """A distance, or a sum of distances, exceeds the largest float64."""


@dataclass(frozen=True)
class Metric:
    """``dist(a, b) ** power`` with ``dist`` the l_p norm of ``a - b``, or the angle over pi.

    Attributes
    ----------
    p : float
        The norm, ``p >= 1`` (2 when ``angular``: nearest by angle is nearest by l_2 on unit vectors).
    power : float
        The exponent of each distance before summing.
    angular : bool
        Whether ``dist`` is the angle between the two rows divided by pi.
    """

    p: float
    power: float
    angular: bool

    @classmethod
    def from_names(cls, metric: Any = "minkowski", p: Any = 2.0, power: Any = 1.0) -> "Metric":
        """Read the public parameters ``metric``, ``p`` and ``power``.

        Raises
        ------
        ValueError
            If ``metric`` is unknown, ``p`` lies outside [1, inf] or ``power`` outside (0, inf), or if
            the three contradict each other.
        """
        check_choice(metric, "metric", METRICS)
        p = check_interval(p, "p", 1.0, np.inf)
        power = check_interval(power, "power", 0.0, np.inf, closed="neither")
        if metric == "minkowski":
            return cls(p, power, angular=False)
        implied_p = 1.0 if metric == "manhattan" else 2.0
        if p not in (2.0, implied_p):
            raise ValueError(f"p={p:g} contradicts metric={metric!r}, which has p={implied_p:g}.")
        if metric == "sqeuclidean":
            if power not in (1.0, 2.0):
                raise ValueError(f"power={power:g} contradicts metric='sqeuclidean' (power 2).")
            power = 2.0
        return cls(implied_p, power, angular=metric == "angular")
