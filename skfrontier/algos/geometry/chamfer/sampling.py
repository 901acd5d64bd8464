"""The certified sampler: importance sampling by upper bounds, stopped by a confidence sequence.

Each query point has an upper bound of its term, from the quadtree candidates. Points whose term has been
computed exactly form the known part; the remainder is estimated from draws in proportion to the bounds.
"""

import math
from dataclasses import dataclass

import numpy as np

from skfrontier.algos.geometry.chamfer.betting import BettingTotal
from skfrontier.algos.geometry.chamfer.candidates import ZOrderTrees
from skfrontier.algos.geometry.chamfer.exact import ExactSearch
from skfrontier.algos.geometry.chamfer.metric import Metric

FIRST_BATCH, LARGEST_BATCH = 32, 4096
_SETTLING_DRAWS = 256  # before which mean and variance are not trusted to change the plan
_LOOSE = 0.2  # mean of opt/D below which finer candidates are worth their time
_MAX_REFINEMENTS, _REFINED_TREES, _REFINED_WINDOW = 2, 2, 2
_SAFETY = 1.2  # on the predicted number of draws still needed
ROUNDING = 1e-12  # relative, by which sums taken in different orders may differ


@dataclass(frozen=True)
class SampledSum:
    """Estimate of a sum of nearest-neighbour terms with its certificate."""

    value: float
    low: float
    high: float
    standard_error: float
    upper_bound: float  # the sum of the candidates' terms that the sampler started from
    n_draws: int
    n_exact: int
    exact: bool  # every term was computed in the end


class Remainder:
    """Terms of the sum: exact where known, upper bounds elsewhere.

    Parameters
    ----------
    bounds : float64 array of shape (n,)
        Weighted upper bounds of the terms; those that are zero are known to be zero.
    """

    def __init__(self, bounds: np.ndarray) -> None:
        self.terms = bounds
        self.known = bounds == 0
        self.n_exact = 0
        self._add_up()

    def _add_up(self) -> None:
        self._cumulative = np.cumsum(np.where(self.known, 0.0, self.terms))
        self.unknown_sum = float(self._cumulative[-1])
        self.known_sum = float(self.terms.sum(where=self.known))
        # Certain bounds of the total, however it is added up.
        self.floor = self.known_sum * (1 - ROUNDING)
        self.ceiling = (self.known_sum + self.unknown_sum) * (1 + ROUNDING)

    @property
    def complete(self) -> bool:
        """Whether every term is known."""
        return self.unknown_sum == 0

    def heavy(self, share: float) -> np.ndarray:
        """Rows, not known yet, whose bound is at least this share of the total."""
        return np.flatnonzero((self.terms >= share * self.ceiling) & ~self.known)

    def draw(self, n_draws: int, random_state: np.random.Generator) -> np.ndarray:
        """Draw rows that are not known, with replacement, in proportion to their bounds."""
        targets = random_state.random(n_draws) * self.unknown_sum
        rows = np.searchsorted(self._cumulative, targets, side="right")
        # A target rounded up to the total would fall off the end.
        return np.minimum(rows, np.searchsorted(self._cumulative, self.unknown_sum, side="left"))

    def reveal(self, rows: np.ndarray, terms: np.ndarray) -> None:
        """Replace the bounds of ``rows`` by their exact terms."""
        self.terms[rows] = terms
        self.known[rows] = True
        self.n_exact += rows.size
        self._add_up()

    def tighten(self, bounds: np.ndarray) -> None:
        """Lower the bounds of the unknown rows where the new ones are better."""
        np.minimum(self.terms, bounds, out=self.terms, where=~self.known)
        self.known |= self.terms == 0
        self._add_up()


class TermEvaluator:
    """Exact and upper-bound terms ``weight * dist ** power`` of rows of A."""

    def __init__(
        self,
        A: np.ndarray,
        weights: np.ndarray | None,
        metric: Metric,
        search: ExactSearch,
        n_jobs: int | None,
    ) -> None:
        self.A = A
        self.weights = weights
        self.metric = metric
        self.search = search
        self.n_jobs = n_jobs

    def exact(self, rows: np.ndarray) -> np.ndarray:
        """Terms of the given rows by exact nearest-neighbour search."""
        distances, _ = self.search.query(self.A[rows], n_jobs=self.n_jobs)
        weights = None if self.weights is None else self.weights[rows]
        return weighted_terms(distances, weights, self.metric.power)

    def all_exact(self) -> np.ndarray:
        """Terms of all rows by exact nearest-neighbour search."""
        distances, _ = self.search.query(self.A, n_jobs=self.n_jobs)
        return weighted_terms(distances, self.weights, self.metric.power)

    def bounds(self, trees: ZOrderTrees, window: int = 1) -> np.ndarray:
        """Upper bounds of all terms from the candidates of the trees."""
        return bound_terms(self.A, self.weights, trees, window=window, n_jobs=self.n_jobs)


def weighted_terms(distances: np.ndarray, weights: np.ndarray | None, power: float) -> np.ndarray:
    """Return ``weights * distances ** power``."""
    with np.errstate(over="ignore"):  # reported once, by the sum
        terms = distances if power == 1 else distances**power
        return terms if weights is None else terms * weights


def bound_terms(
    A: np.ndarray,
    weights: np.ndarray | None,
    trees: ZOrderTrees,
    *,
    window: int = 1,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Upper bounds of the terms of all rows of A, from the candidates of the trees."""
    bounds = trees.bounds(A, window=window, n_jobs=n_jobs)
    return weighted_terms(bounds, weights, trees.metric.power)


def sample_sum(
    evaluator: TermEvaluator,
    trees: ZOrderTrees,
    *,
    epsilon: float,
    delta: float,
    random_state: np.random.Generator,
) -> SampledSum:
    """Estimate the sum of all terms to within ``1 +- epsilon`` with probability ``1 - delta``.

    Where drawing would need more searches than there are terms left, the rest is computed exactly.

    Parameters
    ----------
    evaluator : TermEvaluator
        Exact terms and bounds.
    trees : ZOrderTrees
        Candidates to start from.
    epsilon, delta : float
        Relative error, and probability of missing it.
    random_state : Generator
        Source of the draws (and of finer trees, where needed).
    """
    remainder = Remainder(evaluator.bounds(trees))
    total = BettingTotal(epsilon, delta)
    upper_bound = remainder.ceiling
    n_refinements = 0

    # Expected in the first batch anyway: known from the start they cost nothing and add no variance.
    heavy = remainder.heavy(1 / FIRST_BATCH)
    remainder.reveal(heavy, evaluator.exact(heavy))
    while not remainder.complete:
        _draw_batch(remainder, evaluator, total, random_state)
        if total.stopped:
            low, high = total.bounds()
            return SampledSum(
                value=total.estimate,
                low=low,
                high=high,
                standard_error=total.standard_error,
                upper_bound=upper_bound,
                n_draws=total.n_draws,
                n_exact=remainder.n_exact,
                exact=False,
            )
        settled = total.n_recent >= _SETTLING_DRAWS
        if settled and n_refinements < _MAX_REFINEMENTS and total.mean < _LOOSE * remainder.ceiling:
            n_refinements += 1
            finer = trees.another(_REFINED_TREES, random_state, n_jobs=evaluator.n_jobs)
            remainder.tighten(evaluator.bounds(finer, _REFINED_WINDOW))
            total.restart()
        elif remainder.n_exact >= remainder.terms.size / 2 or (
            settled and _draws_needed(total) > np.count_nonzero(~remainder.known)
        ):
            rest = np.flatnonzero(~remainder.known)
            remainder.reveal(rest, evaluator.exact(rest))
    return SampledSum(
        value=remainder.known_sum,
        low=remainder.known_sum,
        high=remainder.known_sum,
        standard_error=0.0,
        upper_bound=upper_bound,
        n_draws=total.n_draws,
        n_exact=remainder.n_exact,
        exact=True,
    )


def _draw_batch(
    remainder: Remainder,
    evaluator: TermEvaluator,
    total: BettingTotal,
    random_state: np.random.Generator,
) -> None:
    """Draw, compute the drawn terms, tell the confidence sequence, and move them to the known part."""
    n_draws = min(max(total.n_draws // 8, FIRST_BATCH), LARGEST_BATCH)
    rows = remainder.draw(n_draws, random_state)
    unique, inverse = np.unique(rows, return_inverse=True)
    terms = evaluator.exact(unique)
    ratios = (terms / remainder.terms[unique])[inverse]
    draws = remainder.known_sum + remainder.unknown_sum * ratios
    total.update(draws, remainder.floor, remainder.ceiling)
    remainder.reveal(unique, terms)
    total.bracket(remainder.floor, remainder.ceiling)


def _draws_needed(total: BettingTotal) -> float:
    """Predicted number of further draws until the confidence sequence stops."""
    log_term = math.log(2 / total.delta)
    return _SAFETY * 2 * log_term * total.squared_variation / total.epsilon**2
