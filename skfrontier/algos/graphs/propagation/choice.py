"""Which solver ``auto`` takes: counts of operations, in units of one product with the graph's matrix."""

import numpy as np

from skfrontier.algos.graphs.propagation.exact import DENSE_UP_TO, ConjugateGradients
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.plan import PropagationPlan

FEW_SOLVES = 50  # for which nothing beats conjugate gradients
SLOW_WALKS = 100  # mean steps a node, beyond which forests are not tried
_FOREST = 5.0  # products that one forest costs
_ITERATION = 1.5  # products that one iteration costs
LOOSE = 0.1  # residual asked of the solver, as a share of the requested error


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


def gradients_cost(graph: GroundedSignedGraph, unit_row: int, n_solves: int, rtol: float) -> float:
    """Products for ``n_solves`` solves, from the iterations that one of them takes."""
    pilot = ConjugateGradients(graph, rtol)
    b = np.zeros(graph.n_unlabeled)
    b[unit_row] = 1.0
    pilot(b)
    return _ITERATION * (pilot.n_iterations + 1) * n_solves


def forests_cost(graph: GroundedSignedGraph, n_forests: float, touched_per_forest: float) -> float:
    """Products for forests, each of which touches so many numbers beside its own steps."""
    return n_forests * (_FOREST + touched_per_forest / max(1, graph.code.size))
