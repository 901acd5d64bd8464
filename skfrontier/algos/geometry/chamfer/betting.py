"""Anytime-valid bounds on a mean by betting, and the stop rule for a relative error."""

import math
from typing import Any

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_interval

_BISECTIONS = 40
_VARIANCE_FLOOR = 1e-12  # of the squared range: keeps the bets finite on constant draws


class BettingTotal:
    """Confidence sequence for a total ``V`` from draws whose conditional mean is ``V``.

    Draw ``i`` is a number ``z_i`` in ``[floor_i, ceiling_i]`` with ``E[z_i | past] = V``, where the
    bounds are known before the draw is made and may move from draw to draw. Two gamblers bet that
    ``V`` is larger, or smaller, than a candidate ``v``; at ``v = V`` their capitals

    ``K+(v) = prod_i (1 + min(bet_i, c / (v - floor_i)) (z_i - v))`` and
    ``K-(v) = prod_i (1 - min(bet_i, c / (ceiling_i - v)) (z_i - v))``

    are nonnegative martingales that start at one, so by Ville's inequality either ever exceeds
    ``2 / delta`` with probability at most ``delta / 2``. The candidates that made nobody rich form an
    interval, because ``K+`` falls and ``K-`` rises in ``v``.

    Parameters
    ----------
    epsilon : float
        Relative error at which :attr:`stopped` becomes true.
    delta : float
        Probability of failure, over the whole sequence.
    c : float, default=0.75
        The largest share of the capital that a bet may lose.
    """

    def __init__(self, epsilon: float, delta: float, c: float = 0.75) -> None:
        self.epsilon = check_interval(epsilon, "epsilon", 0.0, 1.0, closed="neither")
        self.delta = check_interval(delta, "delta", 0.0, 1.0, closed="neither")
        self.c = check_interval(c, "c", 0.0, 1.0, closed="neither")
        self._draws = np.empty((4, 64))  # rows: z, bet, floor, ceiling
        self.n_draws = 0
        self._unit = 0.0  # the first ceiling: draws are kept in it, so that no square overflows
        self._low, self._high = 0.0, math.inf
        self._best_low, self._best_high = 0.0, math.inf
        self.restart()

    def restart(self) -> None:
        """Forget the mean and the variance, not the bets: the draws to come vary otherwise."""
        self._moments = np.zeros(3)  # count, mean, sum of squared deviations

    @property
    def n_recent(self) -> int:
        """Number of draws since the last :meth:`restart`."""
        return int(self._moments[0])

    @property
    def mean(self) -> float:
        """Plain mean of the draws since the last :meth:`restart` (0 before the first)."""
        return float(self._moments[1] * self._unit)

    @property
    def standard_error(self) -> float:
        """Estimated standard deviation of :attr:`mean` (infinite before the second draw)."""
        n = self._moments[0]
        return self._unit * math.sqrt(self._moments[2] / (n * (n - 1))) if n > 1 else math.inf

    @property
    def squared_variation(self) -> float:
        """Estimated variance of a draw over the squared mean."""
        n, mean, squares = self._moments
        return float(squares / (n * mean * mean)) if n > 0 and mean > 0 else math.inf

    def update(self, z: np.ndarray, floor: float, ceiling: float) -> None:
        """Take a batch of draws, in the order in which they were made, and tighten the bounds."""
        if not ((z >= floor * (1 - 1e-9)) & (z <= ceiling * (1 + 1e-9))).all():
            raise ValueError("a draw lies outside the bounds that were promised for it.")
        if self._unit == 0:
            self._unit = ceiling
        z, floor, ceiling = z / self._unit, floor / self._unit, ceiling / self._unit
        n = self.n_draws + z.size
        if n > self._draws.shape[1]:
            grown = np.empty((4, max(n, 2 * self._draws.shape[1])))
            grown[:, : self.n_draws] = self._draws[:, : self.n_draws]
            self._draws = grown
        new = self._draws[:, self.n_draws : n]
        new[0], new[2], new[3] = z, floor, ceiling
        _place_bets(z, floor, ceiling, self.epsilon, self._moments, new[1])
        self.n_draws = n
        self._tighten()

    def bracket(self, floor: float, ceiling: float) -> None:
        """Take bounds of ``V`` that hold with certainty (once there are draws)."""
        self._best_low = max(self._best_low, floor / self._unit)
        self._best_high = min(self._best_high, ceiling / self._unit)

    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of ``V``, simultaneously valid at all times w.p. ``1 - delta``."""
        low, high = self._best_low, self._best_high
        if low > high:  # crossed, which has probability at most delta: the latest pair
            low, high = self._low, self._high
        return low * self._unit, high * self._unit if self._unit else math.inf

    @property
    def estimate(self) -> float:
        """The mean, moved as little as needed to be within ``epsilon`` of every value in bounds."""
        low, high = self.bounds()
        reach_low = max(low, (1 - self.epsilon) * high)
        reach_high = min(high, (1 + self.epsilon) * low)
        if reach_low > reach_high:
            return min(max(self.mean, low), high)  # not stopped: no value is within reach of all
        return min(max(self.mean, reach_low), reach_high)

    @property
    def stopped(self) -> bool:
        """Whether :attr:`estimate` is within ``epsilon`` of ``V`` on the event of the bounds."""
        low, high = self.bounds()
        if self.n_recent == 0 or (1 - self.epsilon) * high > (1 + self.epsilon) * low:
            return False
        # Where the upper bound is still the trivial one the clip would drag a good mean along.
        return abs(self.estimate - self.mean) <= self.epsilon / 4 * self.mean

    def _tighten(self) -> None:
        z, bet, floor, ceiling = self._draws[:, : self.n_draws]
        target = math.log(2 / self.delta)
        certain_low, certain_high = floor.max(), ceiling.min()
        start = min(max(z.mean(), certain_low), certain_high)
        self._low = _lower_bound(z, bet, floor, self.c, target, certain_low, start)
        self._high = _upper_bound(z, bet, ceiling, self.c, target, start, certain_high)
        self._best_low = max(self._best_low, self._low)
        self._best_high = min(self._best_high, self._high)


class BettingMeanCS:
    """Confidence sequence for the mean of draws in [0, 1], with a relative-error stop.

    Parameters
    ----------
    epsilon : float in (0, 1)
        The relative error at which :attr:`stopped` becomes true.
    delta : float in (0, 1)
        The probability with which the bounds may ever miss the mean.
    c : float in (0, 1), default=0.75
        The largest share of the capital that a bet may lose.

    Attributes
    ----------
    n_draws : int
        Number of draws seen.
    stopped : bool
        Whether every value within :meth:`bounds` lies within ``1 +- epsilon`` of :attr:`estimate`.
    estimate : float
        The sample mean, clipped into the values that are within ``epsilon`` of all of the bounds.

    Raises
    ------
    ValueError
        If a parameter lies outside (0, 1), or :meth:`update` gets a value outside [0, 1].

    Notes
    -----
    Proven: for independent draws (or draws whose mean given the past is constant), the mean ever
    leaves the bounds with probability at most ``delta``, whatever the distribution [1]_; hence
    ``estimate`` at the first time :attr:`stopped` holds is within ``1 +- epsilon`` with probability
    ``1 - delta``. Observed: the number of draws is about ``2 log(2/delta) v / epsilon**2`` with ``v``
    the squared coefficient of variation, plus ``log(2/delta)/epsilon * max(1, (1-mean)/mean)``.
    A batch of draws costs O(number of draws so far).

    References
    ----------
    .. [1] Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting",
       Journal of the Royal Statistical Society B 86 (2024), section 4.
    .. [2] Dagum, Karp, Luby, Ross, "An optimal algorithm for Monte Carlo estimation",
       SIAM Journal on Computing 29 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import BettingMeanCS
    >>> draws = np.random.default_rng(0).beta(2, 8, size=(200, 32))
    >>> sequence = BettingMeanCS(epsilon=0.1, delta=0.05)
    >>> for batch in draws:
    ...     sequence.update(batch)
    ...     if sequence.stopped:
    ...         break
    >>> abs(sequence.estimate - 0.2) < 0.02
    True
    """

    def __init__(self, epsilon: float, delta: float, c: float = 0.75) -> None:
        self._total = BettingTotal(epsilon, delta, c)

    def update(self, x: Any) -> None:
        """Take one draw or a 1-D batch of draws in [0, 1].

        Raises
        ------
        ValueError
            If a value is outside [0, 1] or NaN; nothing is changed then.
        """
        draws = np.atleast_1d(np.asarray(x))
        if (
            draws.dtype.kind not in "fiu"
            or draws.ndim != 1
            or not ((draws >= 0) & (draws <= 1)).all()
        ):
            raise ValueError(f"x must be a number or a 1-D array of numbers in [0, 1], got {x!r}.")
        if draws.size:
            self._total.update(draws.astype(np.float64), 0.0, 1.0)

    def bounds(self) -> tuple[float, float]:
        """Lower and upper confidence bound of the mean; (0, 1) before the first draw."""
        low, high = self._total.bounds()
        return low, min(high, 1.0)

    @property
    def n_draws(self) -> int:
        """Number of draws seen."""
        return self._total.n_draws

    @property
    def stopped(self) -> bool:
        """Whether the relative error is certified."""
        return self._total.stopped

    @property
    def estimate(self) -> float:
        """Estimate of the mean (0.5 before the first draw)."""
        return self._total.estimate if self.n_draws else 0.5


@njit
def _place_bets(z, floor, ceiling, epsilon, moments, bet):
    """Write the bet of each draw from the draws before it, and update the moments with it.

    ``epsilon * mean / variance`` is the growth-optimal bet against the alternative mean
    ``(1 +- epsilon) * mean``. One pseudo-draw at half the ceiling starts mean and variance.
    """
    n, mean, squares = moments
    for i in range(z.size):
        guess = (ceiling / 2 + n * mean) / (n + 1)
        variance = (ceiling * ceiling / 4 + squares) / (n + 1)
        bet[i] = epsilon * guess / max(variance, _VARIANCE_FLOOR * ceiling * ceiling)
        n += 1
        step = z[i] - mean
        mean += step / n
        squares += step * (z[i] - mean)
    moments[0], moments[1], moments[2] = n, mean, squares


@inner
def _log_capital_high(v, z, bet, floor, c):
    total = 0.0
    for i in range(z.size):
        room = v - floor[i]
        stake = min(bet[i], c / room) if room > 0 else bet[i]
        total += math.log1p(stake * (z[i] - v))
    return total


@inner
def _log_capital_low(v, z, bet, ceiling, c):
    total = 0.0
    for i in range(z.size):
        room = ceiling[i] - v
        stake = min(bet[i], c / room) if room > 0 else bet[i]
        total += math.log1p(-stake * (z[i] - v))
    return total


@njit
def _lower_bound(z, bet, floor, c, target, certain, mean):
    """Least ``v`` in (certain, mean] at which the gambler on larger values is not rich."""
    low, high = certain, mean
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if _log_capital_high(middle, z, bet, floor, c) < target:
            high = middle
        else:
            low = middle
    return low


@njit
def _upper_bound(z, bet, ceiling, c, target, mean, certain):
    """Largest ``v`` in [mean, certain) at which the gambler on smaller values is not rich."""
    low, high = mean, certain
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if _log_capital_low(middle, z, bet, ceiling, c) < target:
            low = middle
        else:
            high = middle
    return high
