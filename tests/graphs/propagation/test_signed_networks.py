"""Generators and the signed networks of people."""

import numpy as np
import pytest
from signed_references import dense_operator

from skfrontier import datasets
from skfrontier.algos import is_balanced, symmetrize_signed
from skfrontier.datasets import make_signed_communities, make_signed_random
from skfrontier.estimators import LabelPropagationOperator

NETWORKS = {
    "highland_tribes": (16, 58, True),
    "cloister": (18, 125, False),
    "congress": (219, 521, False),
    "bitcoin_alpha": (3783, 24186, False),
    "bitcoin_otc": (5881, 35592, False),
    "wiki_elections": (7115, 100693, False),
    "twitter_referendum": (10884, 251406, True),
}


def fetched(name):
    try:
        return getattr(datasets, f"fetch_{name}")(download_if_missing=False)
    except OSError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name):
    n_nodes, n_edges, undirected = NETWORKS[name]
    network = fetched(name)
    A = network.adjacency
    assert A.shape == (n_nodes, n_nodes) == (network.nodes.size,) * 2
    assert A.nnz == (2 * n_edges if undirected else n_edges)
    assert (A.data < 0).any()
    assert not A.diagonal().any()
    assert (abs(A - A.T).max() == 0) == undirected
    assert (np.diff(network.nodes) > 0).all()


def test_sampson():
    A, groups = fetched("sampson")
    assert A.shape == (25, 25)
    assert abs(A - A.T).max() == 0
    assert np.unique(groups).size == 5


def test_tribes_against_the_dense_operator():
    A = fetched("highland_tribes").adjacency
    Q = LabelPropagationOperator().fit(A, [0, 5]).to_dense()
    inner = np.setdiff1d(np.arange(16), [0, 5])
    np.testing.assert_allclose(Q[inner], dense_operator(A.toarray(), [0, 5]), atol=1e-10)


def test_traders_by_forests():
    A = symmetrize_signed(fetched("bitcoin_otc").adjacency)
    labeled = np.arange(0, 5881, 20)
    exact = LabelPropagationOperator(solver="cg", unreachable="zero")
    sampled = LabelPropagationOperator(
        solver="multitree", unreachable="zero", tol=0.02, random_state=0
    )
    y = np.random.default_rng(0).choice([-1.0, 1.0], labeled.size)
    with pytest.warns(UserWarning, match="reached by no label"):
        x = exact.fit(A, labeled).transform(y)
    with pytest.warns(UserWarning, match="reached by no label"):
        z = sampled.fit(A, labeled).transform(y)
    assert np.sqrt(np.mean((x - z) ** 2)) <= 0.02 * np.sqrt(np.mean(x**2)) * 1.2


def test_missing_file_is_named(tmp_path):
    with pytest.raises(OSError, match=r"bitcoinotc\.csv"):
        datasets.fetch_bitcoin_otc(data_home=tmp_path, download_if_missing=False)


def test_snap_files_are_read(tmp_path):
    (tmp_path / "signed").mkdir()
    np.savetxt(tmp_path / "signed" / "soc-sign-epinions.txt.gz", [[5, 9, 1], [9, 7, -1]], fmt="%d")
    network = datasets.fetch_epinions(data_home=tmp_path, download_if_missing=False)
    assert network.nodes.tolist() == [5, 7, 9]
    assert network.adjacency.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [0, -1, 0]]


@pytest.mark.parametrize("model", ["er", "ba", "grid", "skew"])
def test_random_signs(model):
    A = make_signed_random(2500, 8, 0.15, model=model, random_state=0)
    assert abs(A - A.T).max() == 0
    assert not A.diagonal().any()
    assert set(np.unique(A.data)) == {-1.0, 1.0}
    m = A.nnz / 2
    assert abs((A.data < 0).mean() - 0.15) < 5 * np.sqrt(0.15 * 0.85 / m)
    again = make_signed_random(2500, 8, 0.15, model=model, random_state=0)
    assert (again != A).nnz == 0


def test_preferential_attachment_has_hubs():
    even = np.diff(make_signed_random(5000, 10, model="er", random_state=0).indptr).max()
    hubs = np.diff(make_signed_random(5000, 10, model="ba", random_state=0).indptr).max()
    assert hubs > 5 * even


def test_communities_are_told_by_signs():
    A, y = make_signed_communities(900, 3, 10, 0.1, weights="uniform", random_state=0)
    coo = A.tocoo()
    agree = (coo.data > 0) == (y[coo.row] == y[coo.col])
    assert abs(agree.mean() - 0.9) < 0.02
    assert abs(coo.data).min() >= 0.2
    assert abs(coo.data).max() <= 2
    assert np.bincount(y).tolist() == [300] * 3
    clean, _ = make_signed_communities(900, 2, 10, 0.0, model="ba", random_state=0)
    assert is_balanced(clean)[0]
