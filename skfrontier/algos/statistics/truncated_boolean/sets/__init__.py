"""Families of truncation sets."""

from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet
from skfrontier.algos.statistics.truncated_boolean.sets.cardinality import Cardinality
from skfrontier.algos.statistics.truncated_boolean.sets.clauses import CNF, DNF
from skfrontier.algos.statistics.truncated_boolean.sets.empirical import EmpiricalSupport
from skfrontier.algos.statistics.truncated_boolean.sets.explicit import ExplicitSet
from skfrontier.algos.statistics.truncated_boolean.sets.full_cube import FullCube
from skfrontier.algos.statistics.truncated_boolean.sets.halfspaces import Halfspaces
from skfrontier.algos.statistics.truncated_boolean.sets.intersection import Intersection
from skfrontier.algos.statistics.truncated_boolean.sets.make import as_truncation, make_truncation
from skfrontier.algos.statistics.truncated_boolean.sets.oracle import MembershipOracle
from skfrontier.algos.statistics.truncated_boolean.sets.parity import XorConstraints

__all__ = [
    "CNF",
    "DNF",
    "Cardinality",
    "EmpiricalSupport",
    "ExplicitSet",
    "FullCube",
    "Halfspaces",
    "Intersection",
    "MembershipOracle",
    "TruncationSet",
    "XorConstraints",
    "as_truncation",
    "make_truncation",
]
