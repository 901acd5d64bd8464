"""Structure of graphical models by approximate cross-validation."""

from skfrontier.algos.graphs.structure.elimination import BackwardChain, backward_chain
from skfrontier.algos.graphs.structure.hull import Hull, acv_hull
from skfrontier.algos.graphs.structure.node_paths import directed_scores
from skfrontier.algos.graphs.structure.precision import ConstrainedPrecision, constrained_precision
from skfrontier.algos.graphs.structure.supports import LassoSupports, lasso_supports
from skfrontier.algos.graphs.structure.training_size import expected_false_edges, select_kappa
from skfrontier.algos.graphs.structure.validation_score import (
    AcvTerms,
    LeaveManyOut,
    acv_score,
    acv_terms,
    leave_many_out_score,
)

__all__ = [
    "AcvTerms",
    "BackwardChain",
    "ConstrainedPrecision",
    "Hull",
    "LassoSupports",
    "LeaveManyOut",
    "acv_hull",
    "acv_score",
    "acv_terms",
    "backward_chain",
    "constrained_precision",
    "directed_scores",
    "expected_false_edges",
    "lasso_supports",
    "leave_many_out_score",
    "select_kappa",
]
