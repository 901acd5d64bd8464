"""How far to push each row: deeper where a pilot says that forests would cost more."""

import numpy as np

from skfrontier.algos.graphs.propagation.choice import PUSH, forests_cost
from skfrontier.algos.graphs.propagation.pairs import BLOCK, PairSums
from skfrontier.algos.graphs.propagation.plan import DEFAULT_PUSH

_FACTOR = 3.0  # from one level to the next
_LEVELS = 6
# Observed on graphs of four families: what a level more does to variance and to the residual's size.
_VARIANCE, _SIZE = 0.35, 3.0


def push_deeper(sums: PairSums, rows: np.ndarray, cols: np.ndarray, tol: float) -> PairSums:
    """Push rows deeper while that is predicted to be cheaper than forests.

    Parameters
    ----------
    sums : PairSums
        A pilot block at the default push.
    rows, cols : int64 arrays
        Its pairs.
    tol : float
        Requested pooled standard error.

    Returns
    -------
    PairSums
        The pilot itself, or new sums that begin with forests after the pilot's, so that the choice does
        not depend on the forests that are averaged.
    """
    pushes = np.full(sums.residual.shape[0], DEFAULT_PUSH)
    row_need = (
        sums.row_mean(sums.estimate().stderr ** 2) / tol**2
    )  # blocks, by each row's own error
    best = sums
    for _ in range(_LEVELS):
        wanting = row_need > 1.0
        need = float(row_need.mean())
        after = float(np.where(wanting, _VARIANCE * row_need, row_need).mean())
        size = np.diff(best.residual.indptr)
        grown = np.where(wanting, _SIZE * size, size)
        steps = BLOCK * sums.n_steps / sums.n_forests
        touched = BLOCK * best.touched_per_forest
        now = forests_cost(steps, touched) * need
        later = forests_cost(steps, touched * grown.sum() / size.sum()) * max(1.0, after)
        if need <= 1.0 or later + PUSH * grown.sum() >= now:
            break
        pushes[wanting] /= _FACTOR
        deeper = PairSums(sums.graph, rows, cols, sums.base, push=pushes, first_block=sums.n_blocks)
        row_need = row_need * _squares(deeper) / np.maximum(_squares(best), 1e-300)
        best = deeper
    return best


def _squares(sums: PairSums) -> np.ndarray:
    """Squared length of each row's residual, to which the variance is about proportional."""
    return np.asarray(sums.residual.power(2).sum(axis=1)).ravel()
