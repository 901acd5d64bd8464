"""Label propagation on signed graphs: the operator ``Q = -L_UU^-1 L_UL`` by rooted forests."""

from skfrontier.algos.graphs.propagation.adjacency import (
    is_balanced,
    signed_laplacian,
    symmetrize_signed,
)
from skfrontier.algos.graphs.propagation.equilibria import (
    friedkin_johnsen_equilibrium,
    leader_follower_equilibrium,
)
from skfrontier.algos.graphs.propagation.estimate import ForestEstimate, PairEstimate
from skfrontier.algos.graphs.propagation.forest import sample_forest
from skfrontier.algos.graphs.propagation.grounded import GroundedSignedGraph, build_grounded_graph
from skfrontier.algos.graphs.propagation.pairs import forest_entries
from skfrontier.algos.graphs.propagation.push import push_residual
from skfrontier.algos.graphs.propagation.vectors import forest_apply
from skfrontier.algos.graphs.propagation.walks import absorbing_walk_entries

__all__ = [
    "ForestEstimate",
    "GroundedSignedGraph",
    "PairEstimate",
    "absorbing_walk_entries",
    "build_grounded_graph",
    "forest_apply",
    "forest_entries",
    "friedkin_johnsen_equilibrium",
    "is_balanced",
    "leader_follower_equilibrium",
    "push_residual",
    "sample_forest",
    "signed_laplacian",
    "symmetrize_signed",
]
