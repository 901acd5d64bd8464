"""Wrong inputs and the messages they get."""

import numpy as np
import pytest
from scipy import sparse

from skfrontier.algos import (
    absorbing_walk_entries,
    build_grounded_graph,
    forest_apply,
    forest_entries,
    friedkin_johnsen_equilibrium,
    leader_follower_equilibrium,
    push_residual,
    symmetrize_signed,
)
from skfrontier.datasets import make_signed_communities, make_signed_random
from skfrontier.estimators import (
    LabelPropagationOperator,
    SignedLabelPropagation,
    SignedLabelPropagationRegressor,
)

PATH = np.array([[0.0, 1, 0], [1, 0, -1], [0, -1, 0]])


@pytest.mark.parametrize(
    ("adjacency", "match"),
    [
        (np.ones((2, 3)), "square"),
        (np.ones(3), "2-D"),
        ([[0, np.nan], [np.nan, 0]], r"adjacency\[0, 1\]"),
        (sparse.csr_array(([1.0, np.inf], ([0, 1], [1, 0]))), r"adjacency\[1, 0\]"),
        ([[0, 1j], [1j, 0]], "real"),
        ([["a", "b"], ["b", "a"]], "real"),
        ([[0, 1], [2, 0]], "symmetrize_signed"),
        ([[0, 1], [0, 0]], r"\[0, 1\]"),
    ],
)
def test_adjacency(adjacency, match):
    with pytest.raises(ValueError, match=match):
        LabelPropagationOperator().fit(adjacency, [0])


def test_nearly_symmetric_is_symmetric():
    A = PATH.copy()
    A[0, 1] += 1e-12
    A[0, 2] = 1e-12  # without a partner
    model = LabelPropagationOperator().fit(A, [0])
    np.testing.assert_allclose(model.transform([2.0]), [2, 2, -2], atol=1e-9)


@pytest.mark.parametrize(
    ("labeled", "match"),
    [
        ([], "at least one"),
        ([0, 0], "more than once"),
        ([3], r"0\.\.2"),
        ([-1], r"0\.\.2"),
        ([0.5], "indices"),
        ([[0]], "1-D"),
        ([True, False], "mask"),
        (np.zeros(3, dtype=bool), "at least one"),
    ],
)
def test_labeled(labeled, match):
    with pytest.raises(ValueError, match=match):
        LabelPropagationOperator().fit(PATH, labeled)


@pytest.mark.parametrize(
    "options",
    [
        {"tol": 0}, {"tol": -1.0}, {"tol": np.nan}, {"smooth": -1}, {"push": 0}, {"n_forests": 15},
        {"n_forests": "many"}, {"max_forests": 3}, {"solver": "magic"}, {"criterion": "mean"},
        {"confidence": 1.0}, {"interval": "exact"}, {"rtol": 0.0}, {"preconditioner": "ilu"},
        {"push": "deep"}, {"unreachable": "drop"}, {"random_state": -1}, {"n_jobs": 0},
    ],
)  # fmt: skip
def test_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        LabelPropagationOperator(**options).fit(PATH, [0])


@pytest.mark.parametrize(
    "options", [{"smooth": 1.5}, {"n_forests": 32.0}, {"relative": 1}, {"rao_blackwell": "yes"}]
)
def test_types_of_options(options):
    with pytest.raises(TypeError, match=next(iter(options))):
        LabelPropagationOperator(**options).fit(PATH, [0])


def test_options_are_checked_again_when_used():
    model = LabelPropagationOperator().fit(PATH, [0])
    with pytest.raises(ValueError, match="tol"):
        model.set_params(tol=-1).transform([1.0])


def test_questions():
    model = LabelPropagationOperator().fit(PATH, [0])
    with pytest.raises(ValueError, match="not: 1, 2"):
        model.query([0, 1, 2], [1, 2, 0])
    with pytest.raises(ValueError, match=r"u must lie in 0\.\.2"):
        model.rows([5])
    with pytest.raises(ValueError, match="broadcast"):
        model.query([0, 1], [0, 0, 0])
    with pytest.raises(ValueError, match="node indices"):
        model.query(0.5, 0)
    with pytest.raises(ValueError, match="y must have shape"):
        model.transform([1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        model.transform([np.nan])
    with pytest.raises(ValueError, match="real numbers"):
        model.transform(["a"])
    with pytest.raises(ValueError, match="k must"):
        model.top_leaders(1, k=0)
    assert model.query([], 0).shape == (0,)
    assert model.rows(np.array([], dtype=int)).shape == (0, 1)
    assert model.transform(np.empty((1, 0))).shape == (3, 0)


def test_tight_tolerance_warns():
    with pytest.warns(UserWarning, match="cg"):
        LabelPropagationOperator(solver="multitree", tol=1e-6).fit(PATH, [0])


def test_functions():
    graph = build_grounded_graph(PATH, [0])
    with pytest.raises(ValueError, match="killing == 0"):
        forest_apply(graph, [1.0, 1.0])
    with pytest.raises(ValueError, match="shape"):
        forest_apply(graph, [1.0])
    with pytest.raises(ValueError, match="batches"):
        forest_apply(graph, [1.0, 0.0], batches=1)
    with pytest.raises(ValueError, match="cols must lie"):
        forest_entries(graph, [0], [1])
    with pytest.raises(ValueError, match="as long"):
        forest_entries(graph, [0], [0, 0])
    with pytest.raises(ValueError, match="as long"):
        absorbing_walk_entries(graph, [0], [0, 0])
    with pytest.raises(ValueError, match="integers"):
        push_residual(graph, [0.5])
    with pytest.raises(ValueError, match="rule"):
        symmetrize_signed(PATH, rule="max")
    with pytest.raises(ValueError, match="negative"):
        build_grounded_graph(PATH, [0], anchor_weight=[0, -1, 0])
    with pytest.raises(ValueError, match="opinions"):
        leader_follower_equilibrium(PATH, [0], [1.0, 2.0])
    with pytest.raises(ValueError, match="innate"):
        friedkin_johnsen_equilibrium(PATH, [[["a"]]], 1.0)


@pytest.mark.parametrize("kind", [SignedLabelPropagation, SignedLabelPropagationRegressor])
def test_targets(kind):
    with pytest.raises(ValueError, match="one entry a node"):
        kind().fit(PATH, [0, 1])
    with pytest.raises(ValueError, match="graph"):
        kind(graph="rbf").fit(PATH, [0, 1, 1])
    with pytest.raises(ValueError, match="at least"):
        kind().fit(PATH, [np.nan] * 3)


def test_generators():
    with pytest.raises(ValueError, match="square number"):
        make_signed_random(10, model="grid")
    with pytest.raises(ValueError, match="model"):
        make_signed_communities(10, model="skew")
    with pytest.raises(ValueError, match="negative"):
        make_signed_random(10, negative=2.0)
    with pytest.raises(ValueError, match="weights"):
        make_signed_random(10, weights="normal")
