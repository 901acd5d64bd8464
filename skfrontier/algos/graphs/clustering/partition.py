"""From a clustering of nodes to what the hierarchy keeps: swept labels, pieces, ids that persist."""

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from skfrontier.algos.graphs.clustering.kmeans import kmeans
from skfrontier.algos.graphs.clustering.quotient import block_log_affinity, block_weights
from skfrontier.algos.graphs.clustering.update import sweep_votes

_PIECE_ITERATIONS = 10
_N_SWEEPS = 2


def refine_by_votes(
    A: sparse.csr_matrix, labels: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Labels after two sweeps in which each vertex takes the label that its neighbours make likeliest.

    A sweep that would empty a cluster is not done. Also returned is which vertices would still move.
    """
    for _ in range(_N_SWEEPS):
        swept = _swept(A, labels, n_clusters)
        if len(np.unique(swept[swept >= 0])) < n_clusters:
            return labels, swept != labels
        labels = swept
    return labels, _swept(A, labels, n_clusters) != labels


def _swept(A: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    B = block_weights(A.indptr, A.indices, A.data, labels, n_clusters)
    mean_weight = A.data.sum() / max(A.nnz, 1)
    affinity = block_log_affinity(B, mean_weight)
    prior = label_prior(np.bincount(labels[labels >= 0], minlength=n_clusters), mean_weight)
    return sweep_votes(A.indptr, A.indices, A.data, labels, affinity, prior)


def label_prior(n_members: np.ndarray, mean_weight: float) -> np.ndarray:
    """What speaks for each label before any neighbour does: the log of its share of the vertices.

    In units of a typical edge, as the affinities are. Without it a large cluster loses to small ones
    every vertex whose neighbours are divided.
    """
    prior = np.zeros(len(n_members))
    known = n_members > 0
    prior[known] = mean_weight * np.log(n_members[known] / n_members.sum())
    return prior


def split_clusters(
    embedding: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
    n_pieces: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Cut each cluster into at most ``n_pieces`` by its embedding.

    Returns
    -------
    piece : int array, one for each node
        -1 where the label is.
    owner : int array, one for each piece
        The cluster that it is from.
    """
    piece = np.full(len(labels), -1, np.int64)
    owner: list[int] = []
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    for cluster in range(n_clusters):
        members = order[bounds[cluster] : bounds[cluster + 1]]
        if len(members) == 0:
            continue
        count = min(n_pieces, len(members))
        if count == len(members):
            part = np.arange(count)
        elif count == 1:
            part = np.zeros(len(members), np.int64)
        else:
            part = kmeans(
                embedding[members], weights[members], count, 1, _PIECE_ITERATIONS, rng
            ).labels
            part = np.unique(part, return_inverse=True)[1]
        piece[members] = part + len(owner)
        owner += [cluster] * (int(part.max()) + 1)
    return piece, np.array(owner, np.int64)


def persistent_ids(
    labels: np.ndarray, previous: np.ndarray, volume: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Id of each cluster: that of the old cluster with which it is matched, else the smallest free one.

    The matching makes the volume that keeps its id as large as it can be.
    """
    n_before = int(previous.max(initial=-1)) + 1
    known = (labels >= 0) & (previous >= 0)
    pairs = labels[known] * max(n_before, 1) + previous[known]
    overlap = np.bincount(pairs, volume[known], minlength=n_clusters * n_before)
    overlap = overlap.reshape(n_clusters, n_before)
    ids = np.full(n_clusters, -1, np.int64)
    for cluster, before in zip(*linear_sum_assignment(-overlap), strict=True):
        if overlap[cluster, before] > 0:
            ids[cluster] = before
    new = ids < 0
    taken = np.zeros(n_clusters + n_before, bool)
    taken[ids[~new]] = True
    free = np.flatnonzero(~taken)
    ids[new] = free[: new.sum()]
    return ids
