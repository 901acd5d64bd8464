"""Does it find graphs? Bars with fewer seeds than in the benchmark, which has them all."""

import numpy as np
import pytest

from skfrontier.datasets import fetch_sachs, make_gaussian_graph, make_ising
from skfrontier.estimators import GraphACV


def f1(found, truth):
    return 2 * np.sum(found & truth) / max(np.sum(found) + np.sum(truth), 1)


def fitted(X, **options):
    return GraphACV(precision=None, **options).fit(X)


def test_six_kinds_of_graphs():
    values = [
        f1(fitted(X).adjacency_, A)
        for kind in ("chain", "grid", "hub", "erdos_renyi", "scale_free", "band")
        for seed in range(3)
        for X, A, _ in [make_gaussian_graph(400, 80, graph=kind, random_state=seed)]
    ]
    assert np.mean(values) >= 0.945


@pytest.mark.parametrize("kind", ["chain", "grid", "hub", "band"])
def test_exact_recovery_with_many_rows(kind):
    exact, with_all_rows = [], []
    for seed in range(10):
        X, A, _ = make_gaussian_graph(
            1600, 64, graph=kind, random_sign=kind != "band", random_state=seed
        )
        model = fitted(X)
        exact.append((model.adjacency_ == A).all())
        with_all_rows.append((fitted(X, rule="and", n_train=1600).adjacency_ == A).all())
    assert np.mean(exact) >= 0.9
    assert np.mean(with_all_rows) <= 0.05  # cross-validation with small held-out sets


def test_independent_columns_stay_apart():
    edges = [
        len(fitted(np.random.default_rng(seed).standard_normal((500, 100))).edges_)
        for seed in range(15)
    ]
    assert np.mean(np.array(edges) == 0) >= 0.85
    assert np.mean(edges) <= 0.5


def test_heavy_tails_with_normal_scores():
    values, edges = [], []
    for seed in range(3):
        X, A, _ = make_gaussian_graph(1000, 100, graph="grid", df=5, random_state=seed)
        values.append(f1(fitted(X, transformation="npn").adjacency_, A))
        X = make_gaussian_graph(500, 100, graph="empty", df=5, random_state=seed)[0]
        edges.append(len(fitted(X, transformation="npn").edges_))
    assert np.mean(values) >= 0.97
    assert np.mean(edges) <= 0.5


@pytest.mark.parametrize("kind", ["erdos_renyi", "grid"])
def test_ising_graphs(kind):
    values = []
    for seed in range(2):
        X, A, _ = make_ising(1000, 100, graph=kind, random_state=seed)
        values.append(f1(fitted(X, family="ising").adjacency_, A))
    assert np.mean(values) >= 0.98


def test_logistic_path_gives_nearly_the_same_graph():
    X, _, _ = make_ising(800, 36, random_state=0)
    linear, logistic = (
        fitted(X, family="ising", path=path).adjacency_ for path in ("linear", "logistic")
    )
    assert np.sum(linear != logistic) <= 0.02 * np.sum(linear)


def test_proteins_of_a_reference_network():
    try:
        data = fetch_sachs(download_if_missing=False)
    except OSError as error:
        pytest.skip(str(error))
    assert f1(fitted(np.log(data.X)).adjacency_, data.adjacency) >= 0.55
