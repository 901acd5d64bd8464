"""What playing a policy on a loss matrix gives."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BanditResult:
    """Record of the rounds that a policy has played on known losses.

    Attributes
    ----------
    arms : ndarray of shape (T,), int32
        The arm played in each round.
    losses : ndarray of shape (T,)
        The loss of that arm, or its reward if the policy maximizes, in the units of the input.
    probabilities : ndarray of shape (T,)
        The probability with which the arm was drawn: 1 for index policies, NaN for Thompson
        sampling, whose law has no closed form.
    maximize : bool, default=False
        Whether ``losses`` are rewards. The regret functions read the matrix that they are given
        accordingly.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import BanditResult
    >>> result = BanditResult(np.array([0, 1]), np.array([0.5, 0.25]), np.array([0.5, 0.9]))
    >>> result.cumulative()
    array([0.5 , 0.75])
    """

    arms: np.ndarray
    losses: np.ndarray
    probabilities: np.ndarray
    maximize: bool = False

    def cumulative(self) -> np.ndarray:
        """Return the running sum of ``losses``, of shape (T,)."""
        return np.cumsum(self.losses)
