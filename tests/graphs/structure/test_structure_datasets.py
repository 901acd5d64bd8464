"""Generators and measured tables."""

import hashlib
from itertools import product

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from skfrontier.datasets import (
    fetch_sachs,
    fetch_stock_moves,
    make_gaussian_graph,
    make_graph,
    make_ising,
    make_mixed_tree,
)

KINDS = (
    "chain", "grid", "hub", "erdos_renyi", "scale_free", "band", "empty", "watts_strogatz", "block_model",
    "geometric",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [2, 3, 7, 40])
def test_graphs_are_symmetric_and_repeat(kind, p):
    A = make_graph(p, graph=kind, random_state=1)
    assert A.dtype == bool
    assert (A == A.T).all()
    assert not A.diagonal().any()
    assert (make_graph(p, graph=kind, random_state=1) == A).all()


def test_numbers_of_edges():
    edges = {kind: make_graph(64, graph=kind, random_state=0).sum() // 2 for kind in KINDS}
    assert edges["chain"] == 63
    assert edges["grid"] == 2 * 8 * 7
    assert edges["hub"] == 64 - 7
    assert edges["erdos_renyi"] == 64
    assert edges["scale_free"] == 63
    assert edges["band"] == edges["watts_strogatz"] == 128
    assert edges["empty"] == 0
    assert make_graph(80, graph="grid").shape == (80, 80)
    assert nx.is_tree(nx.from_numpy_array(make_graph(64, graph="scale_free", random_state=0)))


def test_gaussian_rows_have_the_stated_precision():
    X, A, theta = make_gaussian_graph(20_000, 12, graph="grid", random_state=0)
    assert ((theta != 0) == (A | np.eye(12, dtype=bool))).all()
    cov = np.linalg.inv(theta)
    assert np.allclose(np.diagonal(cov), 1)
    assert np.abs(np.cov(X.T) - cov).max() < 5 / np.sqrt(20_000)
    partial = -theta / np.sqrt(np.outer(np.diagonal(theta), np.diagonal(theta)))
    assert np.abs(partial[A]).min() > 0.1


def test_t_rows_have_heavy_tails():
    X = make_gaussian_graph(5000, 6, df=5, random_state=0)[0]
    assert stats.kurtosis(X).mean() > 1
    assert X.var(axis=0) == pytest.approx(np.full(6, 5 / 3), rel=0.2)


@pytest.mark.parametrize(("kind", "p"), [("chain", 5), ("grid", 6), ("hub", 4)])
def test_ising_rows_follow_the_model(kind, p):
    n = 40_000
    X, _, W = make_ising(n, p, graph=kind, field=0.15, burn_in=30, random_state=0)
    states = np.array(list(product([-1, 1], repeat=len(W))))
    log_weight = 0.5 * np.einsum("si,ij,sj->s", states, W, states) + 0.15 * states.sum(axis=1)
    probability = np.exp(log_weight) / np.exp(log_weight).sum()
    code = ((X + 1) // 2) @ (2 ** np.arange(len(W))[::-1])
    seen = np.bincount(code, minlength=len(states))
    assert stats.chisquare(seen, n * probability).pvalue > 1e-4


def test_mixed_columns_are_of_their_families():
    families = ["gaussian", "binary", "poisson"] * 3
    X, A = make_mixed_tree(2000, families, random_state=0)
    assert set(np.unique(X[:, 1])) == {0, 1}
    assert (X[:, 2] == np.floor(X[:, 2])).all()
    assert nx.is_tree(nx.from_numpy_array(A))
    assert np.array_equal(X, make_mixed_tree(2000, families, random_state=0)[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_graph(1), "n_nodes must be at least 2"),
        (lambda: make_graph(5, graph="torus"), "graph must be one of"),
        (lambda: make_gaussian_graph(5, 5, df=2), "df must lie in"),
        (lambda: make_gaussian_graph(5, 5, weight_range=(0.5, 0.2)), "weight_range must rise"),
        (lambda: make_gaussian_graph(5, 5, delta=0), "delta must lie in"),
        (lambda: make_ising(5, 5, burn_in=0), "burn_in must be at least 1"),
        (lambda: make_mixed_tree(5, ["normal"]), "families must hold"),
        (lambda: make_mixed_tree(5, ["gaussian"] * 4, graph="grid"), "graph must be 'chain'"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_protein_cells():
    try:
        data = fetch_sachs(download_if_missing=False)
    except OSError as error:
        pytest.skip(str(error))
    assert data.X.shape == (7466, 11)
    assert (data.X > 0).all()
    assert data.adjacency.sum() == 36
    assert data.names[0] == "Raf"


def test_stock_moves():
    try:
        data = fetch_stock_moves(download_if_missing=False)
    except OSError as error:
        pytest.skip(str(error))
    assert data.X.shape == (1258, 56)
    assert len(data.symbols) == len(data.sectors) == 56
    assert np.all(np.diff(data.dates).astype(int) > 0)
    assert data.X[0, data.symbols.index("AAPL")] == 0.44


@pytest.mark.parametrize("fetch", [fetch_sachs, fetch_stock_moves])
def test_missing_files_are_named(fetch, tmp_path):
    with pytest.raises(OSError, match="graphs"):
        fetch(data_home=tmp_path, download_if_missing=False)


def test_table_of_prices_is_made_from_the_files_of_the_companies(tmp_path):
    try:
        expected = fetch_stock_moves(download_if_missing=False)
    except OSError as error:
        pytest.skip(str(error))
    folder = tmp_path / "graphs" / "financial-data"
    folder.mkdir(parents=True)
    for symbol, moves in zip(expected.symbols, expected.X.T, strict=True):
        rows = zip(expected.dates, moves, strict=True)
        lines = ["date,open,close", *(f"{day},0,{move:.4g}" for day, move in rows)]
        (folder / f"{symbol}.csv").write_text("\n".join(lines))
    made = fetch_stock_moves(data_home=tmp_path, download_if_missing=False)
    assert np.array_equal(made.X, expected.X)
    written = (tmp_path / "graphs" / "stock_moves.csv").read_bytes()
    assert hashlib.sha256(written).hexdigest().startswith("caf4c9cc")
