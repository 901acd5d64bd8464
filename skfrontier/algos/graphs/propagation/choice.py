"""Which solver ``auto`` takes, and how far to push: counts of operations.

The unit is one entry of the graph's matrix in a product of scipy. Weights of other operations were measured
on graphs of 2e4 to 2e5 nodes of four families, where they varied by a factor of about two.
"""

import numpy as np

from skfrontier.algos.graphs.propagation.exact import DENSE_UP_TO, ConjugateGradients
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.pairs import BLOCK
from skfrontier.algos.graphs.propagation.plan import PropagationPlan

FEW_SOLVES = 4  # for which a pilot would cost as much as the work
SLOW_WALKS = 100  # mean steps a node, beyond which forests are not tried
LOOSE = 0.1  # residual asked of the solver, as a share of the requested error
_STEP = 35.0  # of a walk
_TOUCH = 6.0  # number read or written on the trees
_ITERATION = 4.5  # of conjugate gradients, for each entry of the matrix
PUSH = 80.0  # for each number of the residual that a push leaves


def fixed_choice(graph: GroundedSignedGraph, n_solves: int) -> str | None:
    """'direct' or 'cg' where no measurement is needed to know, else None."""
    if graph.n_unlabeled <= DENSE_UP_TO:
        return "direct"
    if n_solves <= FEW_SOLVES or graph.step_bound > SLOW_WALKS * graph.n_unlabeled:
        return "cg"
    return None


def loose_rtol(plan: PropagationPlan) -> float:
    """Residual at which conjugate gradients reach the requested error (observed, not proven)."""
    return max(plan.rtol, min(LOOSE * plan.target[0], LOOSE))


def gradients_cost(graph: GroundedSignedGraph, row: int, n_solves: int, rtol: float) -> float:
    """Cost of ``n_solves`` solves, from the iterations that the one for a row takes."""
    pilot = ConjugateGradients(graph, rtol)
    b = np.zeros(graph.n_unlabeled)
    b[row] = 1.0
    pilot(b)
    return _ITERATION * graph.code.size * (pilot.n_iterations + 1) * n_solves


def least_forests_cost(graph: GroundedSignedGraph) -> float:
    """Less than what one block of forests costs."""
    return BLOCK * _STEP * graph.step_bound


def forests_cost(steps: float, touched: float) -> float:
    """Cost of steps of walks, and of numbers read or written on the trees."""
    return _STEP * steps + _TOUCH * touched
