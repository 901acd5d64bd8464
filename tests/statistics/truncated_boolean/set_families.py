"""Truncation sets of every family, and the slow way to everything: asking ``contains``."""

import numpy as np

from skfrontier.algos import (
    CNF,
    DNF,
    Cardinality,
    ExplicitSet,
    FullCube,
    Halfspaces,
    Intersection,
    MembershipOracle,
    XorConstraints,
    make_truncation,
)


def structured_sets(n, rng):
    """One or more sets of every family with n features, each with plenty of points."""
    H = rng.integers(0, 2, (3, n))
    H[:, : n // 3] = H[:, n // 3 : 2 * (n // 3)]  # some equal columns
    H[:, -2:] = 0
    costs = rng.integers(1, 10, n)
    real = rng.standard_normal((3, n))
    long_clauses = [
        [int(v + 1) * int(rng.choice([-1, 1])) for v in rng.choice(n, 7, replace=False)]
        for _ in range(4 * n)
    ]
    return {
        "cube": FullCube(),
        "at least": Cardinality(min=n // 2),
        "gaps": Cardinality([n // 3, n // 3 + 1, n // 2, n // 2 + 2]),
        "slice": Cardinality([n // 2]),
        "knapsack": Halfspaces(costs, costs.sum() // 2),
        "signed costs": Halfspaces(rng.integers(-4, 5, n), 2),
        "halfspaces": Halfspaces(real, np.full(3, 0.3)),
        "3-cnf": make_truncation("cnf", n, random_state=rng),
        "cnf": CNF(long_clauses, n),
        "dnf": make_truncation("dnf", n, random_state=rng),
        "long dnf": DNF([[1], *long_clauses[: n // 2]], n),
        "xor": XorConstraints(H, rng.integers(0, 2, 3) * 0),
        "ballot": Intersection(Cardinality(min=1, max=n // 2), Halfspaces(costs, costs.sum() // 2)),
        "oracle": MembershipOracle(lambda X: X[:, 0] <= X[:, 1:].max(axis=1)),
    }


def members(truncation, n, count, rng, tries=400):
    """Up to ``count`` rows of the set, found by rejection, with duplicates."""
    found = [np.zeros((0, n), np.uint8)]
    for _ in range(tries):
        density = rng.uniform(0.2, 0.8)
        X = (rng.random((4000, n)) < density).astype(np.uint8)
        found.append(X[truncation.contains(X)])
        if sum(map(len, found)) >= count:
            break
    return np.concatenate(found)[:count]


def with_explicit(n, rng):
    """The structured sets, and a list of points with many neighbours among them."""
    sets = structured_sets(n, rng)
    seeds = (rng.random((60, n)) < 0.5).astype(np.uint8)
    near = np.repeat(seeds, 40, axis=0)
    near ^= (rng.random(near.shape) < 1.5 / n).astype(np.uint8)
    sets["explicit"] = ExplicitSet(near)
    return sets


def brute_flips(truncation, X):
    """Change every bit of every row and ask."""
    flags = np.zeros(X.shape, bool)
    for i in range(X.shape[1]):
        Y = X.copy()
        Y[:, i] ^= 1
        flags[:, i] = truncation.contains(Y)
    return flags


def brute_masks(truncation, X, subsets):
    """Set the coordinates of every subset to every corner and ask."""
    masks = np.zeros((len(X), len(subsets)), np.uint16)
    for e, T in enumerate(subsets):
        for c in range(1 << len(T)):
            Y = X.copy()
            for a, i in enumerate(T):
                Y[:, i] = (c >> a) & 1
            masks[:, e] |= truncation.contains(Y).astype(np.uint16) << c
    return masks


def brute_pair_counts(truncation, X, pairs, weights):
    """Pair counts from the brute-force masks."""
    masks = brute_masks(truncation, X, pairs)
    counts = np.zeros((len(pairs), 16, 4))
    for e, (i, j) in enumerate(pairs):
        np.add.at(counts[e], (masks[:, e], X[:, i] + 2 * X[:, j]), weights)
    return counts
