"""Classification and regression on signed graphs."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.semi_supervised import LabelPropagation

from skfrontier.datasets import make_signed_communities
from skfrontier.estimators import SignedLabelPropagation, SignedLabelPropagationRegressor


def communities(seed, n=4000, share=0.02):
    A, y = make_signed_communities(n, 2, 20, 0.2, random_state=seed)
    known = np.random.default_rng(seed).choice(n, int(share * n), replace=False)
    seen = np.full(n, -1)
    seen[known] = y[known]
    hidden = seen < 0
    return A, y, seen, hidden


def test_signs_help():
    signed, unsigned, sampled = [], [], []
    for seed in range(2):
        A, y, seen, hidden = communities(seed)
        positive = A.maximum(0)
        classifier = SignedLabelPropagation(solver="cg", unlabeled=-1)
        signed.append((classifier.fit(A, seen).predict() == y)[hidden].mean())
        forests = SignedLabelPropagation(
            solver="multitree", n_forests=64, unlabeled=-1, random_state=0
        )
        sampled.append((forests.fit(A, seen).predict() == y)[hidden].mean())
        # Without negative edges all scores have the sign of the labels' majority: cut at the median.
        scores = clone(classifier).fit(positive, seen).decision_scores_[:, 1]
        unsigned.append(((scores > np.median(scores)) == y)[hidden].mean())
    assert np.mean(signed) >= 0.88
    assert np.mean(signed) - np.mean(unsigned) >= 0.06
    assert abs(np.mean(sampled) - np.mean(signed)) <= 0.01


def test_two_class_distributions_are_half_one_plus_the_value():
    A, _, seen, _ = communities(0, 500, 0.05)
    model = SignedLabelPropagation(solver="direct", unlabeled=-1).fit(A, seen)
    x = model.operator_.transform(2.0 * seen[seen >= 0] - 1.0)
    np.testing.assert_allclose(model.label_distributions_[:, 1], (1 + x) / 2, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba().sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.transduction_[seen >= 0], seen[seen >= 0])


def test_unsigned_distributions_are_harmonic():
    A, _ = make_signed_communities(300, 1, 8, 0.0, random_state=0)
    y = np.full(300, -1)
    y[:9] = np.arange(9) % 3
    model = SignedLabelPropagation(solver="direct").fit(A, y)
    Q = model.operator_.to_dense()
    np.testing.assert_allclose(model.label_distributions_, Q @ np.eye(3)[y[:9]], atol=1e-9)


def test_names_of_classes_may_be_text():
    A = np.array([[0, 1, -1], [1, 0, 0], [-1, 0, 0]])
    model = SignedLabelPropagation(unlabeled="?").fit(A, np.array(["a", "?", "b"], dtype=object))
    assert model.predict().tolist() == ["a", "a", "b"]


def test_what_is_unlabelled():
    A = np.ones((4, 4))
    nan = np.nan
    assert SignedLabelPropagation().fit(A, [1, -1, 1, -1]).classes_.tolist() == [-1, 1]
    assert SignedLabelPropagation().fit(A, [1, -1, 2, -1]).classes_.tolist() == [1, 2]
    assert SignedLabelPropagation().fit(A, [1, nan, 2, -1]).classes_.tolist() == [1, 2]
    assert SignedLabelPropagation(unlabeled=0).fit(A, [1, 0, -1, 0]).classes_.tolist() == [-1, 1]
    assert SignedLabelPropagation(unlabeled=nan).fit(A, [1, nan, -1, 0]).classes_.size == 3
    with pytest.warns(UserWarning, match="unlabeled=0"):
        model = SignedLabelPropagation().fit(A, [1, 0, -1, 0])
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="class"):
        SignedLabelPropagation().fit(A, [1, nan, nan, nan])


def test_unreachable_nodes_get_the_average():
    A = sparse.block_diag([np.ones((3, 3)), np.ones((2, 2))])
    with pytest.warns(UserWarning, match="2 nodes"):
        model = SignedLabelPropagation().fit(A, [5, 5, 6, -1, -1])
    np.testing.assert_allclose(model.label_distributions_[3:], [[2 / 3, 1 / 3]] * 2)
    with pytest.warns(UserWarning, match="2 nodes"):
        values = SignedLabelPropagationRegressor().fit(A, [1, 2, 6, np.nan, np.nan]).predict()
    np.testing.assert_allclose(values[3:], 3.0)


def test_new_nodes_take_a_signed_mean():
    A, _, seen, _ = communities(1, 800, 0.1)
    model = SignedLabelPropagation(unlabeled=-1).fit(A, seen)
    rows = A[:50]
    np.testing.assert_array_equal(
        model.predict(rows), (rows @ model.decision_scores_).argmax(axis=1)
    )
    assert model.predict(sparse.csr_array((1, 800)))[0] == model.classes_[model._prior.argmax()]
    with pytest.raises(ValueError, match="800 features"):
        model.predict(np.ones((2, 3)))


def test_features_beside_scikit_learn():
    X, y = load_iris(return_X_y=True)
    ours, peers = [], []
    for seed in range(5):
        seen = np.where(np.random.default_rng(seed).random(150) < 0.2, y, -1)
        peer = LabelPropagation(kernel="knn", n_neighbors=10, max_iter=10_000).fit(X, seen)
        peers.append((peer.transduction_ == y).mean())
        model = SignedLabelPropagation(graph="knn", unlabeled=-1).fit(X, seen)
        ours.append((model.transduction_ == y).mean())
        assert model.predict(X).shape == (150,)
    assert np.mean(ours) >= np.mean(peers) - 0.03


def test_regression_of_features():
    X, _ = load_iris(return_X_y=True)
    values = np.where(np.random.default_rng(0).random(150) < 0.3, X[:, 2], np.nan)
    fitted = SignedLabelPropagationRegressor(graph="knn").fit(X, values)
    assert np.abs(fitted.predict() - X[:, 2]).mean() < 0.3
    assert fitted.score(X, X[:, 2]) > 0.9


def test_errors_of_scores():
    A, _, seen, hidden = communities(2, 1000, 0.05)
    exact = SignedLabelPropagation(solver="direct", unlabeled=-1).fit(A, seen)
    assert not exact.stderr_.any()
    sampled = SignedLabelPropagation(
        solver="multitree", tol=0.02, unlabeled=-1, random_state=0
    ).fit(A, seen)
    error = sampled.decision_scores_ - exact.decision_scores_
    assert 0 < sampled.stderr_[hidden].mean() < 0.05
    assert np.mean(error[hidden] ** 2) < 9 * np.mean(sampled.stderr_[hidden] ** 2)
