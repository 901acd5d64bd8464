"""Magnitudes at the ends of floating point, integers that wrap, missing values, fits that fail."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from signed_references import dense_operator

from skfrontier.algos import (
    build_grounded_graph,
    friedkin_johnsen_equilibrium,
    leader_follower_equilibrium,
    symmetrize_signed,
)
from skfrontier.datasets import make_signed_random
from skfrontier.estimators import (
    LabelPropagationOperator,
    SignedLabelPropagation,
    SignedLabelPropagationRegressor,
)

N, LABELED = 40, np.array([2, 9, 17])
SCALES = [
    2.0**-1074,
    2.0**-1030,
    2.0**-660,
    2.0**660,
    2.0**1000,
]  # powers of two: no rounding, no ties


@pytest.fixture(scope="module")
def network():
    """Every node on a cycle, so that a label reaches all."""
    A = make_signed_random(N, 5, 0.3, model="er", random_state=0).toarray()
    ring = np.arange(N)
    A[ring, ring - 1] = A[ring - 1, ring] = -1.0
    return A


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("solver", ["direct", "cg", "multitree"])
def test_scale_of_weights_does_not_matter(network, scale, solver):
    options = {"solver": solver, "random_state": 0, "n_forests": 32}
    u = np.arange(N)[:, None]
    plain = LabelPropagationOperator(**options).fit(network, LABELED)
    scaled = LabelPropagationOperator(**options).fit(network * scale, LABELED)
    np.testing.assert_allclose(scaled.to_dense(), plain.to_dense(), atol=1e-7)
    np.testing.assert_allclose(scaled.query(u, LABELED), plain.query(u, LABELED), atol=1e-7)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_scale_of_values_does_not_matter_to_a_solver(network, scale):
    y = np.array([1.0, -2.0, 0.5])
    model = LabelPropagationOperator(solver="cg").fit(network, LABELED)
    np.testing.assert_allclose(model.transform(y * scale) / scale, model.transform(y), atol=1e-7)


def test_edges_of_no_weight_beside_the_others(network):
    A = network.copy()
    A[5, 30] = A[30, 5] = 1e-310  # would overflow where a push divides by a degree
    A[:, 7] = A[7, :] = 0.0
    A[7, 8] = A[8, 7] = 1e-320
    with pytest.warns(UserWarning, match="1 nodes are reached by no label"):
        model = LabelPropagationOperator(solver="multitree", random_state=0).fit(A, LABELED)
    assert not model.reachable_[7]
    assert np.isfinite(model.query(np.setdiff1d(np.arange(N), 7)[:, None], LABELED)).all()


def test_the_diagonal_has_no_scale(network):
    heavy = network + np.diag(np.full(N, 1e300))
    np.testing.assert_allclose(
        np.delete(LabelPropagationOperator().fit(heavy, LABELED).to_dense(), LABELED, axis=0),
        dense_operator(network, LABELED),
        atol=1e-12,
    )


def test_stubborn_nodes_of_tiny_weights(network):
    innate = np.linspace(-1, 1, N)
    plain = friedkin_johnsen_equilibrium(network, innate, 2.0)
    tiny = friedkin_johnsen_equilibrium(network * 1e-200, innate, 2e-200)
    np.testing.assert_allclose(tiny, plain, atol=1e-12)


@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.coo_matrix])
def test_sums_of_duplicates_do_not_wrap(kind):
    entries = np.array([100, 100, 100, 100], dtype=np.int8)
    A = kind((entries, ([0, 1, 0, 1], [1, 0, 1, 0])), shape=(2, 2))
    assert build_grounded_graph(A, [0]).degree == [200.0]
    assert symmetrize_signed(A)[0, 1] == 400.0


def test_rows_of_new_nodes_do_not_wrap(network):
    seen = np.where(np.arange(N) < 2, np.arange(N), -1)
    model = SignedLabelPropagation(unlabeled=-1).fit(network, seen)
    links = sparse.coo_array(
        (np.array([100, 100, 10], dtype=np.int8), ([0, 0, 0], [0, 0, 1])), shape=(1, N)
    )
    np.testing.assert_allclose(model.predict_proba(links), [[20 / 21, 1 / 21]])


@pytest.mark.parametrize("hole", [None, np.nan, "pandas"])
def test_missing_values_among_objects_are_unlabelled(network, hole):
    if hole == "pandas":
        hole = pytest.importorskip("pandas").NA
    y = np.full(N, hole, dtype=object)
    y[LABELED] = ["left", "right", "left"]
    codes = np.full(N, -1)
    codes[LABELED] = [0, 1, 0]
    named = SignedLabelPropagation().fit(network, y)
    coded = SignedLabelPropagation(unlabeled=-1).fit(network, codes)
    assert named.classes_.tolist() == ["left", "right"]
    assert (named.classes_[coded.transduction_] == named.transduction_).all()


@pytest.mark.parametrize("graph", ["precomputed", "knn"])
@pytest.mark.parametrize(
    ("estimator", "y", "bad"),
    [
        (SignedLabelPropagation, np.arange(N) % 2, np.zeros(N - 5)),
        (SignedLabelPropagationRegressor, np.arange(N), np.full(N - 5, np.nan)),
    ],
)
def test_a_fit_that_fails_changes_nothing(network, graph, estimator, y, bad):
    model = estimator(graph=graph).fit(network, y)
    before = {name: pickle.dumps(value) for name, value in vars(model).items()}
    with pytest.raises(ValueError, match="y must"):
        model.fit(network[:-5, :-5], bad)
    after = {name: pickle.dumps(value) for name, value in vars(model).items()}
    assert after == before


def test_names_of_what_is_wrong(network):
    model = LabelPropagationOperator().fit(network, LABELED)
    for call, name in ((model.rows, "u"), (model.columns, "l")):
        with pytest.raises(ValueError, match=f"{name} must be a node or a 1-D array"):
            call(np.array([[2, 9]]))
    with pytest.raises(ValueError, match="adjacency must be 2-D"):
        LabelPropagationOperator().fit(sparse.coo_array(np.ones(3)), [0])
    with pytest.raises(ValueError, match="unlabeled must be 'auto' or one value"):
        SignedLabelPropagation(unlabeled=[0, 1]).fit(network, np.arange(N))
    with pytest.raises(ValueError, match=r"leaders must lie in 0\.\."):
        leader_follower_equilibrium(network, [N], [1.0])
    with pytest.raises(ValueError, match="stubbornness must have shape"):
        friedkin_johnsen_equilibrium(network, np.ones(N), np.ones(3))
    with pytest.raises(ValueError, match="stubbornness must hold real numbers"):
        friedkin_johnsen_equilibrium(network, np.ones(N), 1j)
    with pytest.raises(ValueError, match="innate must have one row a node"):
        friedkin_johnsen_equilibrium(network, np.ones(3), 1.0)


def test_equilibria_say_what_they_missed(network):
    with pytest.warns(UserWarning, match="16 forests reached an error"):
        leader_follower_equilibrium(
            network, [1, 5], [1.0, -1.0], solver="multitree", tol=1e-3, max_forests=16
        )


def test_push_alone_has_a_relative_error_too():
    # One label decides: the push brackets its entry, and no forest is drawn.
    path = np.diag([1.0, 1e-6, 1.0], 1) + np.diag([1.0, 1e-6, 1.0], -1)
    model = LabelPropagationOperator(solver="multitree", push=1e-9, tol=0.01).fit(path, [0, 3])
    model.query([1], [3])
    assert model.n_forests_ == 0
    assert model.achieved_ <= 0.01
