"""Exact facts on the 256 vectors of eight bits: unbiased scores, convexity, efficiency."""

import numpy as np
import pytest

from skfrontier.algos import Cardinality, ExplicitSet, Halfspaces, make_truncation
from skfrontier.algos.statistics.truncated_boolean.edges import count_edges, edge_hessian
from skfrontier.algos.statistics.truncated_boolean.enumeration import ExponentialFamily, cube
from skfrontier.algos.statistics.truncated_boolean.fibre_cells import (
    Penalty,
    cell_hessian,
    cell_loss,
    count_cells,
)
from skfrontier.algos.statistics.truncated_boolean.scores import (
    edge_score_chunks,
    fibre_score_chunks,
    flip_score_chunks,
)
from skfrontier.estimators import TruncatedBooleanProduct

N = 8
SETS = [
    "at least 5",
    "at most 3",
    "knapsack",
    "random half",
    "3-cnf",
    "slice",
    "parity",
    "nonempty",
]
TABLE = SETS[:-1]


def truncation_of(name, rng):
    if name == "3-cnf":
        S = make_truncation("cnf", N, random_state=rng)  # 12 clauses
        assert S.n_groups == 12
        return S
    costs = rng.integers(1, 10, N)
    return {
        "at least 5": Cardinality(min=5),
        "at most 3": Cardinality(max=3),
        "knapsack": Halfspaces(costs, costs.sum() // 2),
        "random half": make_truncation("random", N, random_state=rng),
        "slice": Cardinality([3]),
        "parity": make_truncation("parity", N),
        "nonempty": Cardinality(min=1),
    }[name]


def law(name, draw):
    """Points, their probabilities, logits."""
    rng = np.random.default_rng([SETS.index(name), draw])
    S = truncation_of(name, rng)
    z = rng.standard_normal(N)
    family = ExponentialFamily(S.enumerate(N))
    return S, z, family, family.probabilities(z)


def all_subsets(size):
    from itertools import combinations

    return np.array(list(combinations(range(N), size)))


@pytest.mark.parametrize("draw", range(4))
@pytest.mark.parametrize("name", SETS)
def test_expected_scores_vanish_and_losses_are_convex(name, draw):
    S, z, family, D = law(name, draw)
    X = family.points
    for size in (1, 2, 3):
        subsets = all_subsets(size)
        score = sum(D[rows] @ u for rows, u in fibre_score_chunks(X, S, subsets, z))
        assert np.abs(score).max() <= 1e-12
        H = cell_hessian(count_cells(X, S, subsets, D).informative(), z)
        assert np.linalg.eigvalsh(H)[0] >= -1e-12
    ((_, u),) = flip_score_chunks(X, S, z)
    assert np.abs(D @ u).max() <= 1e-12
    masks = cube(N)[np.random.default_rng(draw).integers(1, 256, 10)]
    ((_, u),) = edge_score_chunks(X, S, masks, z)
    assert np.abs(D @ u).max() <= 1e-12
    d, counts = count_edges(X, S, masks, D)
    assert np.linalg.eigvalsh(edge_hessian(d, counts, z, Penalty()))[0] >= -1e-12


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_gradient_and_hessian_are_derivatives(size):
    S, z, family, D = law("random half", 0)
    cells = count_cells(family.points, S, all_subsets(size), D).informative()
    _, gradient = cell_loss(cells, z)
    H = cell_hessian(cells, z)
    step = 1e-5
    for i in range(N):
        e = np.zeros(N)
        e[i] = step
        (up, gup), (down, gdown) = cell_loss(cells, z + e), cell_loss(cells, z - e)
        assert (up - down) / (2 * step) == pytest.approx(
            gradient[i], abs=1e-7
        )  # rounding of the sum over the step
        np.testing.assert_allclose((gup - gdown) / (2 * step), H[i], atol=1e-7)


def best_trace(family, z, Q):
    P = np.eye(N) - Q @ Q.T
    return np.trace(np.linalg.pinv(P @ family.covariance(z) @ P, hermitian=True))


def fitted(S, family, D, **kwargs):
    model = TruncatedBooleanProduct(S, unidentified="ignore", **kwargs)
    return model.fit(family.points, sample_weight=1e6 * D)


@pytest.mark.parametrize("draw", range(4))
@pytest.mark.parametrize("name", TABLE)
def test_efficiency_and_recovery(name, draw):
    S, z, family, D = law(name, draw)
    for moves, least in (("optimal", 0.90), ("auto", 0.84)):
        model = fitted(S, family, D, moves=moves)
        Q = model.null_space_
        assert Q.shape[1] == family.null_space().shape[1]  # a formula can fix a bit
        share = best_trace(family, z, Q) / (1e6 * np.trace(model.covariance_))
        assert share >= (0.97 if name in ("slice", "parity") else least)
        error = model.natural_parameters_ - z
        assert np.abs(error - Q @ (Q.T @ error)).max() <= 1e-3


@pytest.mark.parametrize("draw", range(4))
@pytest.mark.parametrize("name", TABLE[:5])
def test_estimated_efficiency_of_flips(name, draw):
    S, z, family, D = law(name, draw)
    model = fitted(S, family, D, moves="flips")
    exact = best_trace(family, z, model.null_space_) / (
        1e6 * (model.stderr_[model.identified_] ** 2).sum()
    )
    assert model.efficiency_ == pytest.approx(min(exact, 1), abs=1e-3)


def test_faces_of_all_coordinates_are_the_likelihood():
    rng = np.random.default_rng(0)
    S = ExplicitSet(cube(4)[rng.permutation(16)[:9]])
    X = S.points[rng.integers(len(S.points), size=400)]
    kwargs = {"smoothing": 0.3, "unidentified": "ignore"}
    faces = TruncatedBooleanProduct(S, moves=4, **kwargs).fit(X)
    likelihood = TruncatedBooleanProduct(S, method="mle", **kwargs).fit(X)
    np.testing.assert_allclose(faces.natural_parameters_, likelihood.natural_parameters_, atol=1e-6)
