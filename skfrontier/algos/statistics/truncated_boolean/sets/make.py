"""Sets of every family for tests and examples, and sets from what users have at hand."""

from typing import Any

import numpy as np
from scipy.linalg import hadamard

from skfrontier.algos._validation import check_choice, check_count, check_generator
from skfrontier.algos.statistics.truncated_boolean.enumeration import ENUMERATION_LIMIT, cube
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet
from skfrontier.algos.statistics.truncated_boolean.sets.cardinality import Cardinality
from skfrontier.algos.statistics.truncated_boolean.sets.clauses import CNF, DNF
from skfrontier.algos.statistics.truncated_boolean.sets.empirical import EmpiricalSupport
from skfrontier.algos.statistics.truncated_boolean.sets.explicit import ExplicitSet
from skfrontier.algos.statistics.truncated_boolean.sets.full_cube import FullCube
from skfrontier.algos.statistics.truncated_boolean.sets.halfspaces import Halfspaces
from skfrontier.algos.statistics.truncated_boolean.sets.oracle import MembershipOracle
from skfrontier.algos.statistics.truncated_boolean.sets.parity import XorConstraints

KINDS = ("cardinality", "halfspace", "cnf", "dnf", "parity", "slice", "random", "hadamard")


def as_truncation(obj: Any, n_features: int) -> TruncationSet:
    """Turn what users have at hand into a truncation set.

    Parameters
    ----------
    obj : None, str, callable, array-like or TruncationSet
        None: no truncation; 'nonempty': at least one 1; 'support': an unknown set; a function of rows: a
        `MembershipOracle`; a two-dimensional array of zeros and ones: the points of an `ExplicitSet`.
    n_features : int
        Number of features of the data.

    Returns
    -------
    TruncationSet

    Raises
    ------
    ValueError
        If the set has another number of features, or no row of that length.
    TypeError
        If ``obj`` is none of these.

    Examples
    --------
    >>> from skfrontier.algos import as_truncation
    >>> as_truncation("nonempty", 3), as_truncation([[0, 1], [1, 1]], 2)
    (Cardinality(min=1, max=None), ExplicitSet(2 points, 2 features))
    """
    n_features = check_count(n_features, "n_features")
    truncation = _converted(obj)
    if truncation.n_features not in (None, n_features):
        raise ValueError(
            f"X has {n_features} features, but the truncation set has {truncation.n_features}."
        )
    if isinstance(truncation, Cardinality):
        truncation.allowed(n_features)
    return truncation


def make_truncation(kind: str, n_features: int, *, random_state: Any = None) -> TruncationSet:
    """A truncation set of a family, at random where the family has parameters.

    Parameters
    ----------
    kind : str
        'cardinality': at least 60 % ones; 'halfspace': integer costs within their half; 'cnf': random
        3-clauses, 1.5 per feature, satisfied by a hidden point; 'dnf': random terms of three, one per
        feature; 'parity': an even number of ones; 'slice': exactly a third ones; 'random': half of all
        vectors (at most 20 features); 'hadamard': the first-order Reed-Muller code, far-apart rows
        (``n_features`` a power of two).
    n_features : int
        Number of features.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    TruncationSet

    Raises
    ------
    ValueError
        If the kind is unknown or does not exist for so many features.

    Examples
    --------
    >>> from skfrontier.algos import make_truncation
    >>> make_truncation("cardinality", 10), make_truncation("hadamard", 8)
    (Cardinality(min=6, max=None), ExplicitSet(16 points, 8 features))
    """
    check_choice(kind, "kind", KINDS)
    n = check_count(n_features, "n_features")
    rng = check_generator(random_state)
    if kind == "cardinality":
        return Cardinality(min=-(-3 * n // 5))
    if kind == "slice":
        return Cardinality([max(1, n // 3)])
    if kind == "parity":
        return XorConstraints(np.ones((1, n), np.uint8))
    if kind == "halfspace":
        costs = rng.integers(1, 10, n)
        return Halfspaces(costs, costs.sum() // 2)
    if kind == "random":
        return _random_half(n, rng)
    if kind == "hadamard":
        return _reed_muller(n)
    return _random_cnf(n, rng) if kind == "cnf" else _random_dnf(n, rng)


def _converted(obj: Any) -> TruncationSet:
    if obj is None:
        return FullCube()
    if isinstance(obj, TruncationSet):
        return obj
    if isinstance(obj, str):
        name = check_choice(obj, "truncation", ("nonempty", "support"))
        return Cardinality(min=1) if name == "nonempty" else EmpiricalSupport()
    if callable(obj) and not isinstance(obj, type):
        return MembershipOracle(obj)
    if hasattr(obj, "__len__") and not isinstance(obj, type):
        return ExplicitSet(obj)
    raise TypeError(
        "truncation must be None, 'nonempty', 'support', a function of rows, an array of points or a "
        f"truncation set; got {obj!r}."
    )


def _random_half(n: int, rng: np.random.Generator) -> ExplicitSet:
    if n > ENUMERATION_LIMIT:
        raise ValueError(f"kind='random' needs n_features <= {ENUMERATION_LIMIT}, got {n}.")
    chosen = rng.permutation(1 << n)[: max(1, 1 << (n - 1))]
    return ExplicitSet(cube(n)[chosen])


def _reed_muller(n: int) -> ExplicitSet:
    if n & (n - 1):
        raise ValueError(f"kind='hadamard' needs n_features to be a power of two, got {n}.")
    signs = hadamard(n)
    return ExplicitSet(np.concatenate([(1 - signs) // 2, (1 + signs) // 2]))


def _random_groups(n: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    size = min(3, n)
    return [rng.choice(n, size, replace=False) for _ in range(count)]


def _random_cnf(n: int, rng: np.random.Generator) -> CNF:
    planted = rng.integers(0, 2, n)
    clauses = []
    for variables in _random_groups(n, -(-3 * n // 2), rng):
        signs = rng.integers(0, 2, len(variables))
        witness = rng.integers(len(variables))  # this literal is true in the planted point
        signs[witness] = planted[variables[witness]]
        clauses.append(
            [int(v + 1) if s else -int(v + 1) for v, s in zip(variables, signs, strict=True)]
        )
    return CNF(clauses, n)


def _random_dnf(n: int, rng: np.random.Generator) -> DNF:
    terms = []
    for variables in _random_groups(n, n, rng):
        signs = rng.choice([-1, 1], len(variables))
        terms.append([int(s * (v + 1)) for v, s in zip(variables, signs, strict=True)])
    return DNF(terms, n)
