"""What the residual of a solve says for certain of single entries of ``Q``.

With the residual ``r = b - L_UU x`` the error of ``x`` is ``L_UU^-1 r``. Nothing is assumed of how ``x`` was
found; only the rounding of the residual itself is left out.
"""

from dataclasses import replace

import numpy as np

from skfrontier.algos.graphs.propagation.exact import ConjugateGradients, multiply
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph
from skfrontier.algos.graphs.propagation.push import label_reach

_FIRST_RTOL, _LEAST_RTOL = 1e-3, 1e-12


def row_slack(graph: GroundedSignedGraph, b: np.ndarray, x: np.ndarray) -> float:
    """Times ``label_reach``: how far a row of ``Q`` from ``x ~ L_UU^-1 b`` can be from the true one.

    As for the residual of a push, ``|r L_UU^-1 A_Ul| <= |r|_1 max_v |A_vl| / k_v``.
    """
    return float(np.abs(b - multiply(graph, x)).sum())


def column_slack(graph: GroundedSignedGraph, b: np.ndarray, x: np.ndarray) -> float:
    """Times ``absorption_times``: how far ``x`` can be from ``L_UU^-1 b`` at a node.

    Entrywise ``|L_UU^-1| <= L_abs^-1``, so the error is at most ``max(|r| / d) L_abs^-1 d``.
    """
    return float((np.abs(b - multiply(graph, x)) / graph.degree).max(initial=0.0))


def absorption_times(graph: GroundedSignedGraph) -> np.ndarray:
    """Upper bounds of ``L_abs^-1 d``, the mean number of steps of a walk from each node to a label.

    A solution ``h`` that is not exact is checked and stretched: ``L_abs h >= c d`` with ``c > 0`` entails
    ``h / c >= L_abs^-1 d``, because ``L_abs^-1`` has no negative entry. Infinite where that fails.
    """
    unsigned = replace(graph, code=np.where(graph.code < 0, graph.code, graph.code & ~1))
    rtol = _FIRST_RTOL
    while rtol >= _LEAST_RTOL:
        h = ConjugateGradients(unsigned, rtol)(graph.degree)
        least = float((multiply(unsigned, h) / graph.degree).min())
        if least > 0.5:
            return h / least
        rtol /= 10
    return np.full(graph.n_unlabeled, np.inf)


def within_label_reach(
    graph: GroundedSignedGraph, value: np.ndarray, slack: np.ndarray, cols: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of ``value +- slack``, where they are not beyond what any entry of the column can be."""
    reach = label_reach(graph)[cols]
    return np.maximum(value - slack, -reach), np.minimum(value + slack, reach)
