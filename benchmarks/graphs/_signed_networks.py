"""Learning on signed networks of people: hidden signs of edges, hidden groups."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score

from benchmarks.harness import Case, Contender
from skfrontier import datasets
from skfrontier.algos import symmetrize_signed
from skfrontier.estimators import LabelPropagationOperator, SignedLabelPropagation

_SPLITS, _N_LEADERS, _HIDDEN = 3, 50, 0.1
NETWORKS = ("bitcoin_otc", "bitcoin_alpha", "wiki_elections", "twitter_referendum")


def network_cases(quick: bool) -> list[Case]:
    """Hidden signs on the networks, hidden groups among monks."""
    names = NETWORKS[:1] if quick else NETWORKS
    return [*(_hidden_signs(name) for name in names), _hidden_groups()]


def _hidden_signs(name: str) -> Case:
    def build() -> list[Contender]:
        A = symmetrize_signed(_adjacency(name), "sign")
        splits = [_split(A, seed) for seed in range(_SPLITS)]

        def contender(label: str, scores: Callable, note: str = "") -> Contender:
            def run() -> float:
                return float(np.mean([_auc(split, scores(split)) for split in splits]))

            return Contender(label, run, error=lambda auc: 1 - auc, note=note)

        return [
            contender("signed rows of Q", _row_products),
            contender(
                "positive edges only", lambda s: _row_products((positive_edges(s[0]), *s[1:]))
            ),
            contender("mean signs of both ends", _mean_signs, "no propagation"),
        ]

    size = f"{name}, 10 % of the edges hidden, {_SPLITS} splits (seeds 0 to {_SPLITS - 1}); error is 1 - AUC"
    return Case("Hidden signs of edges", size, build)


def _adjacency(name: str) -> sparse.csr_array:
    return getattr(datasets, f"fetch_{name}")().adjacency


def _split(A: sparse.csr_array, seed: int) -> tuple:
    """Training graph, and ends and signs of the hidden edges."""
    edges = sparse.triu(A, 1).tocoo()
    hidden = np.random.default_rng(seed).random(edges.nnz) < _HIDDEN
    shown = (edges.data[~hidden], (edges.row[~hidden], edges.col[~hidden]))
    half = sparse.coo_array(shown, shape=A.shape).tocsr()
    return half + half.T, edges.row[hidden], edges.col[hidden], edges.data[hidden] > 0


def positive_edges(A: sparse.csr_array) -> sparse.csr_array:
    """The graph without its negative edges."""
    positive = A.maximum(0)
    positive.eliminate_zeros()
    return positive


def _row_products(split: tuple) -> np.ndarray:
    """How alike the labels of both ends move: products of rows of ``Q`` for the largest hubs."""
    A, i, j, _ = split
    hubs = np.argsort(-np.diff(A.indptr), kind="stable")[:_N_LEADERS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # nodes that lost their last edge
        model = LabelPropagationOperator(rtol=1e-3, unreachable="zero").fit(A, hubs)
    Q = model.to_dense()
    return np.einsum("ij,ij->i", Q[i], Q[j])


def _mean_signs(split: tuple) -> np.ndarray:
    A, i, j, _ = split
    mean = A.sum(axis=1) / np.maximum(abs(A).sum(axis=1), 1)
    return mean[i] + mean[j]


def _auc(split: tuple, scores: np.ndarray) -> float:
    return roc_auc_score(split[3], scores)


def _hidden_groups() -> Case:
    n_splits, n_labels = 50, 2

    def build() -> list[Contender]:
        A, groups = datasets.fetch_sampson()

        def contender(label: str, adjacency: Any) -> Contender:
            def run() -> float:
                return float(np.mean([_accuracy(adjacency, groups, s) for s in range(n_splits)]))

            return Contender(label, run, error=lambda accuracy: 1 - accuracy)

        return [contender("signed", A), contender("positive edges only", positive_edges(A))]

    def _accuracy(A: sparse.csr_array, groups: np.ndarray, seed: int) -> float:
        rng = np.random.default_rng(seed)
        seen = np.full(groups.size, -1)
        for group in np.unique(groups):
            known = rng.choice(np.flatnonzero(groups == group), n_labels, replace=False)
            seen[known] = group
        model = SignedLabelPropagation(unlabeled=-1).fit(A, seen)
        return float((model.predict() == groups)[seen < 0].mean())

    size = (
        f"sampson, {n_labels} labels a group, {n_splits} splits (seeds 0 to {n_splits - 1}); error is "
        "the share of monks put into a wrong group"
    )
    return Case("Hidden groups", size, build)
