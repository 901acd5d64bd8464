"""Procrustes-Wasserstein alignment: which row is which, and the rigid map, at once."""

from skfrontier.algos.geometry.procrustes_wasserstein.continuation import soft_continuation
from skfrontier.algos.geometry.procrustes_wasserstein.directions import eigen_directions
from skfrontier.algos.geometry.procrustes_wasserstein.enumeration import sign_candidates
from skfrontier.algos.geometry.procrustes_wasserstein.exact_assignment import (
    AssignmentResult,
    exact_assignment,
)
from skfrontier.algos.geometry.procrustes_wasserstein.frank_wolfe import frank_wolfe_start
from skfrontier.algos.geometry.procrustes_wasserstein.metrics import (
    matching_accuracy,
    procrustes_wasserstein_distance,
    rotation_error_degrees,
)
from skfrontier.algos.geometry.procrustes_wasserstein.rigid_map import RigidMap, rigid_map
from skfrontier.algos.geometry.procrustes_wasserstein.sign_free import SoftStart, sign_free_start
from skfrontier.algos.geometry.procrustes_wasserstein.solve import (
    ProcrustesWassersteinResult,
    procrustes_wasserstein,
)
from skfrontier.algos.geometry.procrustes_wasserstein.sparse_assignment import (
    SparseAssignment,
    sparse_assignment,
)
from skfrontier.algos.geometry.procrustes_wasserstein.symmetry import AmbiguousAlignmentWarning
from skfrontier.algos.geometry.procrustes_wasserstein.theory import (
    cycle_bound,
    information,
    predict_recovery,
)

__all__ = [
    "AmbiguousAlignmentWarning",
    "AssignmentResult",
    "ProcrustesWassersteinResult",
    "RigidMap",
    "SoftStart",
    "SparseAssignment",
    "cycle_bound",
    "eigen_directions",
    "exact_assignment",
    "frank_wolfe_start",
    "information",
    "matching_accuracy",
    "predict_recovery",
    "procrustes_wasserstein",
    "procrustes_wasserstein_distance",
    "rigid_map",
    "rotation_error_degrees",
    "sign_candidates",
    "sign_free_start",
    "soft_continuation",
    "sparse_assignment",
]
