"""Is a block of rows from the distribution of the reference? Permutation and conformal answers."""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment

from skfrontier.algos.geometry.matching.costs import Cost, cost_matrix

_ENOUGH = 10  # splits at least as far apart, after which the answer is clear
_BATCH = 20  # splits between two looks
_EXPONENTS = np.arange(0.05, 1, 0.1)


@dataclass(frozen=True)
class SplitTest:
    """Outcome of a permutation test.

    Attributes
    ----------
    p_value : float
        Valid whether or not the test stopped early.
    threshold : float or None
        Quantile 1 - alpha of the distances of splits; None where the test stopped early.
    n_splits : int
        Splits that were looked at.
    """

    p_value: float
    threshold: float | None
    n_splits: int


def all_costs(cost: Cost, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Costs between rows of ``X`` and rows of ``Y``."""
    result = np.empty((len(X), len(Y)))
    P, Q = (np.ascontiguousarray(Z.T, dtype=np.float64) for Z in (X, Y))
    cost_matrix(*cost.args, P, Q, result)
    return result


def least_mean_cost(costs: np.ndarray) -> float:
    """Mean cost of the pairs of a cheapest matching of the smaller side."""
    return float(costs[linear_sum_assignment(costs)].mean())


def block_cost(cost: Cost, reference: np.ndarray, block: np.ndarray) -> float:
    """Mean cost of the cheapest matching of two sets of rows; by sorting on a line."""
    if reference.shape[1] == 1 and len(reference) == len(block):
        return _line_cost(reference[:, 0], block[:, 0], cost.power)
    return least_mean_cost(all_costs(cost, reference, block))


def _line_cost(x: np.ndarray, y: np.ndarray, power: float) -> float:
    return float((np.abs(np.sort(x) - np.sort(y)) ** power).mean())


def split_test(
    cost: Cost,
    reference: np.ndarray,
    block: np.ndarray,
    *,
    n_permutations: int,
    alpha: float,
    run_length: int,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> SplitTest:
    """Compare the distance of two sets of rows with those of random splits of all of them.

    ``run_length`` consecutive rows stay together, for rows that depend on their neighbours. It must divide
    both sizes.

    Notes
    -----
    The level is exact for exchangeable rows (or runs of rows): p = (1 + number of splits at least as far
    apart) / (1 + number of splits); after ten of them in l splits p = 10 / l, which is valid too (Besag
    and Clifford 1991).
    """
    pool = np.concatenate([reference, block])
    n, n_runs = len(reference), len(pool) // run_length
    orders = [_shuffled_runs(rng, n_runs, run_length) for _ in range(n_permutations)]
    on_a_line = pool.shape[1] == 1 and n == len(block)
    costs = None if on_a_line else all_costs(cost, pool, pool)

    def distance(order: np.ndarray) -> float:
        first, second = order[:n], order[n:]
        if costs is None:
            return _line_cost(pool[first, 0], pool[second, 0], cost.power)
        return least_mean_cost(costs[np.ix_(first, second)])

    observed = distance(np.arange(len(pool)))
    least = observed * (1 - 1e-12)  # ties in other orders of summation are ties
    seen: list[float] = []
    with Parallel(n_jobs=n_jobs, prefer="threads") as parallel:
        for start in range(0, n_permutations, _BATCH):
            seen += parallel(delayed(distance)(o) for o in orders[start : start + _BATCH])
            reached = np.flatnonzero(np.array(seen) >= least)
            if reached.size >= _ENOUGH:
                n_splits = int(reached[_ENOUGH - 1]) + 1
                return SplitTest(_ENOUGH / n_splits, None, n_splits)
    p_value = (1 + reached.size) / (1 + n_permutations)
    return SplitTest(p_value, float(np.quantile(seen, 1 - alpha)), n_permutations)


def _shuffled_runs(rng: np.random.Generator, n_runs: int, run_length: int) -> np.ndarray:
    starts = rng.permutation(n_runs) * run_length
    return (starts[:, None] + np.arange(run_length)).ravel()


class ConformalBets:
    """Bets against exchangeability: a martingale that grows when new distances are unusually large.

    Each p-value is uniform and independent of those before while the distances are exchangeable, because
    every distance joins the pool after it was judged. The mean of ``prod kappa p^(kappa - 1)`` over ten kappa
    is then a martingale that starts at 1, and reaches 1 / alpha with probability alpha at most, ever (Ville).

    Parameters
    ----------
    pool : array of shape (n,)
        Distances of blocks without drift.
    """

    def __init__(self, pool: np.ndarray):
        self.pool = np.sort(pool)
        self._log_bets = np.zeros(_EXPONENTS.size)

    def p_value(self, distance: float, rng: np.random.Generator) -> float:
        """Judge a distance, and keep it; ties are broken at random."""
        low, high = (np.searchsorted(self.pool, distance, side) for side in ("left", "right"))
        above, ties = self.pool.size - high, high - low
        share = (above + rng.random() * (1 + ties)) / (1 + self.pool.size)
        p = max(float(share), float(np.finfo(float).tiny))
        self.pool = np.insert(self.pool, low, distance)
        self._log_bets += np.log(_EXPONENTS) + (_EXPONENTS - 1) * np.log(p)
        return p

    @property
    def e_value(self) -> float:
        """The martingale: evidence against the absence of drift."""
        top = self._log_bets.max()
        with np.errstate(over="ignore"):
            return float(np.exp(top + np.log(np.exp(self._log_bets - top).mean())))
