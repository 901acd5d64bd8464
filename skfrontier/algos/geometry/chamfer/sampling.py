"""The certified sampler: importance sampling by upper bounds, stopped by a confidence sequence.

Each query point has an upper bound of its term, from the quadtree candidates. Points whose term has been
computed exactly form the known part; the remainder is estimated from draws in proportion to the bounds.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from skfrontier.algos.geometry.chamfer.betting import BettingTotal
from skfrontier.algos.geometry.chamfer.candidates import ZOrderTrees
from skfrontier.algos.geometry.chamfer.exact import ExactSearch
from skfrontier.algos.geometry.chamfer.terms import TermScale

FIRST_BATCH, LARGEST_BATCH = 32, 4096
_SETTLING_DRAWS = 256  # before which mean and variance are not trusted to change the plan
_LOOSE = 0.2  # mean of opt/D below which finer candidates are worth their time
_MAX_REFINEMENTS, _REFINED_TREES, _REFINED_WINDOW = 2, 2, 2
_SAFETY = 1.2  # on the predicted number of draws still needed


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

    @classmethod
    def certain(cls, value: float, n_exact: int) -> "SampledSum":
        """Return the sum of ``n_exact`` terms that were all computed."""
        return cls(value, value, value, 0.0, value, n_draws=0, n_exact=n_exact, exact=True)


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
        self.floor = self.known_sum * (1 - rounding(self.terms.size))
        self.ceiling = (self.known_sum + self.unknown_sum) * (1 + rounding(self.terms.size))

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
    """Exact and upper-bound terms of rows of A."""

    def __init__(
        self,
        A: np.ndarray,
        weights: np.ndarray | None,
        scale: TermScale,
        search: ExactSearch,
        n_jobs: int | None,
    ) -> None:
        self.A = A
        self.weights = weights
        self.scale = scale
        self.search = search
        self.n_jobs = n_jobs

    def exact(self, rows: np.ndarray | slice) -> np.ndarray:
        """Terms of the given rows by exact nearest-neighbour search."""
        distances, _ = self.search.query(self.A[rows], n_jobs=self.n_jobs)
        return self.scale.terms(distances, None if self.weights is None else self.weights[rows])

    def bounds(self, trees: ZOrderTrees, window: int = 1) -> np.ndarray:
        """Upper bounds of all terms from the candidates of the trees."""
        distances = trees.bounds(self.A, window=window, n_jobs=self.n_jobs)
        return self.scale.terms(distances, self.weights)


def rounding(n: int) -> float:
    """Relative bound of the rounding of a sum of ``n`` nonnegative terms, in any order."""
    return 4 * (n + 8) * np.finfo(np.float64).eps


def exact_sum(evaluator: TermEvaluator) -> SampledSum:
    """Compute every term."""
    n = evaluator.A.shape[0]
    return SampledSum.certain(float(evaluator.exact(slice(None)).sum()), n)


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

    if not math.isfinite(upper_bound):  # an overflow: nothing can be drawn in proportion to it
        return exact_sum(evaluator)
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
    return replace(
        SampledSum.certain(remainder.known_sum, remainder.n_exact),
        upper_bound=upper_bound,
        n_draws=total.n_draws,
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
    return _SAFETY * 2 * log_term * total.squared_variation / total.epsilon / total.epsilon
