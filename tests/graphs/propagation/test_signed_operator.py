"""The operator: all forms of question, all solvers, persistence."""

import pickle
import subprocess
import sys

import networkx
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skfrontier.algos import friedkin_johnsen_equilibrium, leader_follower_equilibrium
from skfrontier.datasets import make_signed_communities, make_signed_random
from skfrontier.estimators import LabelPropagationOperator


@pytest.fixture(scope="module")
def network():
    A = make_signed_random(400, 6, 0.2, model="ba", random_state=0)
    return A, np.arange(0, 400, 10)


@pytest.fixture(scope="module")
def exact(network):
    return LabelPropagationOperator(solver="direct").fit(*network).to_dense()


def fitted(network, solver, **options):
    return LabelPropagationOperator(solver=solver, random_state=0, **options).fit(*network)


@pytest.mark.parametrize(
    ("solver", "options", "tolerance"),
    [("direct", {}, 1e-8), ("cg", {}, 1e-6), ("cg", {"preconditioner": "amg"}, 1e-6)],
)
def test_questions_agree(network, exact, solver, options, tolerance):
    if "preconditioner" in options:
        pytest.importorskip("pyamg")
    model = fitted(network, solver, **options)
    nodes, labels = np.arange(400), model.labeled_
    np.testing.assert_allclose(model.to_dense(), exact, atol=tolerance)
    np.testing.assert_allclose(model.rows(nodes), exact, atol=tolerance)
    np.testing.assert_allclose(model.rows([3, 1]), exact[[3, 1]], atol=tolerance)
    np.testing.assert_allclose(model.columns(labels[[5, 2]]), exact[:, [5, 2]], atol=tolerance)
    np.testing.assert_allclose(model.query(nodes[:, None], labels), exact, atol=tolerance)
    np.testing.assert_allclose(model.query(7, labels[3]), exact[7, 3], atol=tolerance)
    y = np.random.default_rng(0).standard_normal((40, 3))
    np.testing.assert_allclose(model.transform(y), exact @ y, atol=10 * tolerance)
    np.testing.assert_allclose(model.transform(y[:, 0]), exact @ y[:, 0], atol=10 * tolerance)


def test_sampled_answers_are_near_and_say_how_near(network, exact):
    model = fitted(network, "multitree", tol=0.01, relative=False)
    labels = model.labeled_
    y = np.random.default_rng(1).choice([-1.0, 1.0], 40)
    x, std = model.transform(y, return_std=True)
    assert model.solver_ == "multitree"
    assert model.achieved_ <= 0.01
    assert np.sqrt(np.mean((x - exact @ y) ** 2)) <= 0.01
    assert (std[labels] == 0).all()
    u = np.setdiff1d(np.arange(400), labels)
    value, std, (low, high) = model.query(u[:, None], labels, return_std=True, return_interval=True)
    truth = exact[u]
    assert np.sqrt(np.mean((value - truth) ** 2)) <= 0.012
    assert np.mean((low <= truth) & (truth <= high)) >= 0.93
    rows, row_std = model.rows(u, return_std=True)
    assert np.sqrt(np.mean((rows - truth) ** 2)) <= 0.012
    assert np.mean(((rows - truth) / np.maximum(row_std, 1e-12)) ** 2) < 4
    columns, column_std = model.columns(labels[:3], return_std=True)
    assert columns.shape == column_std.shape == (400, 3)
    assert np.sqrt(np.mean((columns - exact[:, :3]) ** 2)) <= 0.012


def test_proven_intervals_and_brackets_hold(network, exact):
    model = fitted(network, "multitree", interval="bernstein", tol=0.05)
    u, labels = np.arange(400)[:, None], model.labeled_
    _, (low, high) = model.query(u, labels, return_interval=True)
    assert np.mean((low - 1e-12 <= exact) & (exact <= high + 1e-12)) >= 0.999
    bottom, top = model.bracket(u, labels)
    assert ((bottom - 1e-12 <= exact) & (exact <= top + 1e-12)).all()
    assert ((bottom <= low + 1e-12) & (high <= top + 1e-12)).all()


def test_automatic_push_keeps_what_was_asked(network, exact):
    model = fitted(network, "multitree", push="auto", tol=0.005)
    u, labels = np.setdiff1d(np.arange(400), network[1])[:, None], model.labeled_
    value, (low, high) = model.query(u, labels, return_interval=True)
    truth = exact[u, np.arange(labels.size)]
    assert model.achieved_ <= 0.005
    assert np.sqrt(np.mean((value - truth) ** 2) / np.mean(truth**2)) <= 0.0065
    assert np.mean((low <= truth) & (truth <= high)) >= 0.93
    shallow = fitted(network, "multitree", tol=0.005)
    shallow.query(u, labels)
    assert model.n_forests_ <= shallow.n_forests_


def test_push_alone_answers_where_it_is_enough(network, exact):
    model = fitted(network, "multitree", push=1e-12, tol=1e-3)
    u = np.arange(1, 6)
    value, (low, high) = model.query(u, 0, return_interval=True)
    assert model.n_forests_ == 0
    np.testing.assert_allclose(value, exact[u, 0], atol=1e-6)
    assert ((low <= exact[u, 0] + 1e-15) & (exact[u, 0] <= high + 1e-15)).all()


def test_top_leaders(network, exact):
    model = fitted(network, "auto")
    who, weight = model.top_leaders([3, 5, 10], k=4)
    for node, leaders, values in zip([3, 5, 10], who, weight, strict=True):
        order = np.argsort(-abs(exact[node]), kind="stable")[:4]
        np.testing.assert_allclose(abs(values), abs(exact[node, order]), atol=1e-8)
        np.testing.assert_allclose(values, model.query(node, leaders), atol=1e-8)
    assert model.top_leaders(3, k=1000)[0].shape == (1, 40)


def test_linear_operator(network, exact):
    linear = fitted(network, "direct").as_linear_operator()
    rng = np.random.default_rng(0)
    y, x = rng.standard_normal(40), rng.standard_normal(400)
    np.testing.assert_allclose(linear @ y, exact @ y, atol=1e-9)
    np.testing.assert_allclose(linear.T @ x, exact.T @ x, atol=1e-6)
    np.testing.assert_allclose(linear @ np.eye(40), exact, atol=1e-9)


def test_labelled_nodes_have_the_identity(network):
    model = fitted(network, "multitree", n_forests=16)
    value, std = model.query([0, 0, 10], [0, 10, 10], return_std=True)
    np.testing.assert_array_equal(value, [1, 0, 1])
    np.testing.assert_array_equal(std, 0)
    assert model.n_forests_ == 0
    np.testing.assert_array_equal(model.rows(10), np.eye(40)[[1]])


def test_unreachable_nodes():
    A = np.zeros((7, 7))
    A[0, 1] = A[2, 3] = A[4, 5] = A[5, 6] = A[4, 6] = 1
    A[4, 6] = -1  # nodes 4, 5, 6 are a frustrated triangle without a label
    A += A.T
    with pytest.warns(UserWarning, match="5 nodes are reached by no label"):
        model = LabelPropagationOperator().fit(A, [0])
    np.testing.assert_array_equal(model.reachable_, [1, 1, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(model.balanced_, [1, 1, 1, 1, 0, 0, 0])
    x = model.transform([3.0])
    np.testing.assert_array_equal(x[:2], 3.0)
    assert np.isnan(x[2:]).all()
    assert np.isnan(model.query(4, 0))
    with pytest.warns(UserWarning, match="unreachable='zero'"):
        zero = LabelPropagationOperator(unreachable="zero").fit(A, [0])
    np.testing.assert_array_equal(zero.transform([3.0])[2:], 0.0)
    with pytest.raises(ValueError, match="5 nodes"):
        LabelPropagationOperator(unreachable="raise").fit(A, [0])


def test_all_nodes_labelled():
    model = LabelPropagationOperator(solver="multitree").fit(np.ones((3, 3)), [0, 1, 2])
    np.testing.assert_array_equal(model.transform([1.0, 2.0, 3.0]), [1, 2, 3])
    assert model.n_forests_ == 0


def test_isolated_label():
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 0] = A[1, 2] = A[2, 1] = 1
    model = LabelPropagationOperator().fit(A, [0, 3])
    np.testing.assert_array_equal(model.columns(3)[:, 0], [0, 0, 0, 1])
    for solver in ("multitree", "cg"):
        other = LabelPropagationOperator(solver=solver, n_forests=16).fit(A, [0, 3])
        np.testing.assert_allclose(other.to_dense(), model.to_dense(), atol=1e-12)


def test_tiny_label_weight_is_no_problem_for_solvers():
    A = make_signed_random(100, 6, 0.0, random_state=0).toarray()
    A[0] *= 1e-12
    A[:, 0] *= 1e-12
    linked = np.flatnonzero(A[:, 0])
    model = LabelPropagationOperator(solver="direct", unreachable="zero")
    np.testing.assert_allclose(model.fit(A, [0]).transform([1.0])[linked], 1.0, rtol=1e-2)
    with pytest.warns(UserWarning, match="cg"):
        LabelPropagationOperator(solver="multitree").fit(A, [0])


def test_input_forms(network, exact):
    A, labeled = network
    mask = np.zeros(400, dtype=bool)
    mask[labeled] = True
    coo = sparse.coo_array(A)
    halves = sparse.coo_array(
        (np.tile(coo.data / 2, 2), (np.tile(coo.row, 2), np.tile(coo.col, 2))), shape=A.shape
    )
    forms = (A.toarray(), sparse.lil_array(A), halves, sparse.csc_matrix(A), A.astype("int8"),
             networkx.from_scipy_sparse_array(A))  # fmt: skip
    for form in forms:
        model = LabelPropagationOperator(solver="direct").fit(form, mask)
        np.testing.assert_allclose(model.to_dense(), exact, atol=1e-12)


def test_input_is_not_changed():
    A = sparse.csr_array((np.array([2.0, 0.0, 2.0]), np.array([2, 1, 0]), np.array([0, 2, 2, 3])),
                         shape=(3, 3))  # fmt: skip
    copy = A.copy()
    for array in (A.data, A.indices, A.indptr):
        array.flags.writeable = False
    with pytest.warns(UserWarning, match="1 nodes"):
        LabelPropagationOperator().fit(A, [0])
    np.testing.assert_array_equal(A.indices, copy.indices)
    np.testing.assert_array_equal(A.data, copy.data)


def test_single_precision_is_kept(network, exact):
    y = np.random.default_rng(0).standard_normal(40).astype(np.float32)
    for solver in ("direct", "cg", "multitree"):
        x = fitted(network, solver, n_forests=512).transform(y)
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, exact @ y, atol=0.1 if solver == "multitree" else 1e-5)


def test_same_seed_same_answers_and_pickles(network, tmp_path):
    model = fitted(network, "multitree", n_forests=32)
    y = np.ones(40)
    first = model.transform(y)
    np.testing.assert_array_equal(model.transform(y), first)
    np.testing.assert_array_equal(clone(model).fit(*network).transform(y), first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(y), first)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    code = (
        f"import pickle, numpy as np; m = pickle.load(open({str(tmp_path / 'model.pkl')!r}, 'rb'));"
        f"np.save({str(tmp_path / 'x.npy')!r}, m.transform(np.ones(40)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), first)


def test_auto_takes_the_direct_solver_for_small_graphs(network):
    model = fitted(network, "auto")
    model.transform(np.ones(40))
    assert model.solver_ == "direct"
    assert model.n_forests_ == 0


def test_auto_on_a_larger_graph():
    A = make_signed_random(6000, 8, 0.2, model="skew", random_state=0)
    labeled = np.arange(0, 6000, 10)
    with pytest.warns(UserWarning, match="reached by no label"):
        model = LabelPropagationOperator(random_state=0).fit(A, labeled)
    u = np.setdiff1d(np.flatnonzero(model.reachable_), labeled)
    model.transform(np.ones(600))
    assert model.solver_ == "cg"
    model.rows(u[:5])
    assert model.solver_ == "cg"
    value = model.query(u, np.resize(labeled, u.size))
    assert model.solver_ in ("cg", "multitree")
    model.set_params(solver="cg")
    truth = model.query(u[::50], np.resize(labeled, u.size)[::50])
    assert np.abs(value[::50] - truth).max() < 0.1


def test_failed_fit_keeps_what_was_fitted(network):
    model = fitted(network, "direct")
    before = model.to_dense()
    with pytest.raises(ValueError, match="labeled"):
        model.fit(network[0], [])
    np.testing.assert_array_equal(model.to_dense(), before)


def test_too_few_forests_warn(network):
    model = fitted(network, "multitree", max_forests=16, tol=1e-3)
    with pytest.warns(ConvergenceWarning, match="16 forests"):
        model.transform(np.random.default_rng(0).standard_normal(40))
    assert model.achieved_ > 1e-3
    with pytest.warns(ConvergenceWarning, match="16 forests"):
        model.query(np.arange(400), 0)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        LabelPropagationOperator().transform([1.0])


def test_leaders_and_followers():
    A, y = make_signed_communities(300, avg_degree=8, sign_noise=0.0, random_state=0)
    camps = np.where(y == 0, 1.0, -1.0)
    leaders = np.array([7, 3])  # not ascending
    x = leader_follower_equilibrium(A, leaders, camps[leaders])
    np.testing.assert_allclose(x, camps, atol=1e-9)
    mask = np.zeros(300, dtype=bool)
    mask[leaders] = True
    np.testing.assert_allclose(
        leader_follower_equilibrium(A, mask, camps[[3, 7]]), camps, atol=1e-9
    )


@pytest.mark.parametrize("solver", ["direct", "cg", "multitree"])
def test_stubborn_nodes(solver):
    A = make_signed_random(80, 6, 0.3, weights="uniform", random_state=0).toarray()
    rng = np.random.default_rng(0)
    innate, weight = rng.standard_normal((80, 2)), rng.uniform(0.5, 3.0, 80)
    x = friedkin_johnsen_equilibrium(
        A, innate, weight, solver=solver, n_forests=4096, random_state=0
    )
    L = np.diag(abs(A).sum(axis=1) + weight) - A
    exact = np.linalg.solve(L, weight[:, None] * innate)
    np.testing.assert_allclose(x, exact, atol=0.05 if solver == "multitree" else 1e-6)


@pytest.mark.parametrize("question", ["query", "rows", "transform"])
def test_adaptive_sampling_shows_its_progress(network, capsys, question):
    A, labeled = network[:2]
    for verbose in (0, 1):
        model = LabelPropagationOperator(
            solver="multitree", random_state=0, unreachable="zero", verbose=verbose
        ).fit(A, labeled)
        if question == "query":
            model.query(np.arange(20)[:, None], labeled[0])
        elif question == "rows":
            model.rows(np.arange(20))
        else:
            model.transform(np.ones(len(labeled)))
        assert ("forests" in capsys.readouterr().err) == bool(verbose)
