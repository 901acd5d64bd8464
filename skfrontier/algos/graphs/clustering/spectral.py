"""Spectral clustering of a graph whose nodes stand for several vertices."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from skfrontier.algos._validation import check_count, check_generator, check_interval
from skfrontier.algos.graphs.clustering.graph_input import check_adjacency
from skfrontier.algos.graphs.clustering.kmeans import kmeans

_DENSE_NODES = 400
_GAP_TOLERANCE = 1e-2
_NO_GAP = 1e-12  # differences of equal eigenvalues
# A gap is clear when no other candidate comes nearer to it than this share.
CLEAR_GAP = 0.2


@dataclass(frozen=True, eq=False)
class SpectralResult:
    """A clustering with what it was read from.

    Attributes
    ----------
    labels : int64 array of shape (n_nodes,)
        Cluster of each node, -1 where a node has no degree.
    n_clusters : int
        Number of clusters.
    eigenvalues : array
        Smallest eigenvalues of the normalised Laplacian (with ``tau > 0``: of its regularised form).
    embedding : array of shape (n_nodes, n_clusters)
        Rows that were clustered; zero where a node has no degree.
    gap_margin : float
        Share by which the eigengap chosen is larger than the next best one; NaN where the number of
        clusters was given.
    runner_up : int
        The number of clusters that the next best gap speaks for; 0 where there is none.
    """

    labels: np.ndarray
    n_clusters: int
    eigenvalues: np.ndarray
    embedding: np.ndarray
    gap_margin: float = np.nan
    runner_up: int = 0


def eigengap(eigenvalues: Any, kmin: int, kmax: int, n_nodes: int) -> tuple[int, float, int]:
    """Number of clusters by the largest gap between neighbouring eigenvalues.

    Parameters
    ----------
    eigenvalues : array-like
        Smallest eigenvalues of a normalised Laplacian, ascending, ``kmax + 1`` or all of them.
    kmin, kmax : int
        Least and largest answer.
    n_nodes : int
        Number of nodes. With no more than ``kmax`` of them all eigenvalues are known, and the value 1
        (where those without structure gather) is put after the last.

    Returns
    -------
    n_clusters : int
        ``argmax lambda_{k+1} - lambda_k``, the smallest where several are.
    margin : float
        ``1 - second / largest`` of the gaps: how clear the choice is, 1 where there is no other.
    runner_up : int
        Where the second largest gap is, 0 where there is no other.

    Notes
    -----
    The absolute gap: ratios are spoilt by a second eigenvalue near 0.

    Raises
    ------
    ValueError
        If ``kmin > kmax``.

    Examples
    --------
    >>> from skfrontier.algos import eigengap
    >>> eigengap([0, 0.01, 0.02, 0.6, 0.7], 2, 4, 100)[0]
    3
    """
    kmin, kmax = check_count(kmin, "kmin"), check_count(kmax, "kmax")
    if kmin > kmax:
        raise ValueError(f"kmin={kmin} must not be larger than kmax={kmax}.")
    values = np.asarray(eigenvalues, np.float64)
    if n_nodes <= kmax:
        values = np.append(values, 1.0)
    gaps = np.diff(values[: kmax + 1])
    candidates = gaps[kmin - 1 :]
    if len(candidates) == 0:
        return max(1, min(kmin, n_nodes)), 1.0, 0
    best = int(np.argmax(candidates))
    if len(candidates) == 1:
        return best + kmin, 1.0, 0
    others = candidates.copy()
    others[best] = -np.inf
    second = int(np.argmax(others))
    largest = candidates[best]
    margin = 1 - max(others[second], 0) / largest if largest > _NO_GAP else 0.0
    return best + kmin, float(margin), second + kmin


def spectral_cluster_weighted(
    A: Any,
    n_clusters: int | None = None,
    *,
    tau: float = 0.0,
    sizes: Any = None,
    kmin: int = 2,
    kmax: int = 30,
    n_init: int = 10,
    eigen_tol: float = 1e-3,
    random_state: Any = None,
) -> SpectralResult:
    """Spectral clustering of a graph, or of a quotient as if it were the graph.

    Nodes are embedded by the bottom eigenvectors of ``I - D^-1/2 A D^-1/2`` divided by ``sqrt(d)``
    and clustered by k-means weighted with d, where ``D = diag(row sums) + tau diag(sizes)``. On a
    quotient this is the objective of the whole graph, restricted to embeddings that are constant on
    blocks.

    Parameters
    ----------
    A : sparse matrix or array of shape (n, n)
        Symmetric, non-negative. The diagonal counts (see `quotient`).
    n_clusters : int or None, default=None
        Number of clusters, at most the number of nodes with a degree. None: by `eigengap`.
    tau : float, default=0.0
        Regularisation of sparse graphs, in units of degree per vertex.
    sizes : array-like of shape (n,) or None, default=None
        Vertices that each node stands for; None: one.
    kmin, kmax : int, default=2 and 30
        Least and largest number that `eigengap` may choose.
    n_init : int, default=10
        Runs of k-means.
    eigen_tol : float, default=1e-3
        Relative accuracy of the eigenvalues of large graphs.
    random_state : int, Generator, RandomState or None, default=None
        Randomness of the start vector and of k-means.

    Returns
    -------
    SpectralResult

    Raises
    ------
    ValueError
        If ``A`` is no adjacency matrix or a parameter is out of range.

    Notes
    -----
    Proven: a large ratio of lambda_{k+1} to the best k-way conductance means that k-means on this
    embedding misclassifies little volume (Peng, Sun, Zanetti; Macgregor, Sun). Cost: dense
    eigendecomposition up to 400 nodes, Lanczos beyond.

    References
    ----------
    R. Peng, H. Sun, L. Zanetti, "Partitioning well-clustered graphs: spectral clustering works!", SIAM
    Journal on Computing 2017, arXiv:1411.2021. P. Macgregor, H. Sun, ICML 2022, arXiv:2208.01724.
    T. Qin, K. Rohe, "Regularized spectral clustering under the degree-corrected stochastic blockmodel",
    NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import spectral_cluster_weighted
    >>> A = np.kron(np.eye(3), np.ones((4, 4)) - np.eye(4))
    >>> spectral_cluster_weighted(A, random_state=0).n_clusters
    3
    """
    A = check_adjacency(A, "A", keep_diagonal=True)
    tau = check_interval(tau, "tau", 0, np.inf, closed="left")
    sizes = np.ones(A.shape[0]) if sizes is None else np.asarray(sizes, np.float64)
    if sizes.shape != (A.shape[0],) or not np.isfinite(sizes).all() or (sizes < 0).any():
        raise ValueError(f"sizes must be non-negative numbers of shape ({A.shape[0]},).")
    if n_clusters is not None:
        n_clusters = check_count(n_clusters, "n_clusters")
    n_init = check_count(n_init, "n_init")
    eigengap([0.0], kmin, kmax, 1)  # checks them
    rng = check_generator(random_state)
    live = np.asarray(A.sum(axis=1)).ravel() > 0
    return spectral_cluster(
        A, live, tau * sizes, n_clusters, (kmin, kmax), n_init=n_init, tol=eigen_tol, rng=rng
    )


def spectral_cluster(
    A: sparse.csr_matrix,
    live: np.ndarray,
    ridge: np.ndarray,
    n_clusters: int | None,
    k_range: tuple[int, int],
    *,
    n_init: int,
    tol: float,
    rng: np.random.Generator,
) -> SpectralResult:
    """`spectral_cluster_weighted` of checked input; nodes that are not ``live`` get label -1."""
    n_nodes = len(live)
    if not live.all():
        A, ridge = A[live][:, live], ridge[live]
    n = A.shape[0]
    labels = np.full(n_nodes, -1, np.int64)
    if n == 0:
        return SpectralResult(labels, 0, np.empty(0), np.zeros((n_nodes, 0)))
    degree = np.asarray(A.sum(axis=1)).ravel() + ridge
    # A node that sampling left without edges has no direction of its own; its degree is immaterial.
    degree[degree <= 0] = degree.max(initial=0) or 1.0
    scale = 1 / np.sqrt(degree)
    margin, runner_up = np.nan, 0
    if n_clusters is None:
        kmin, kmax = k_range
        values, vectors = bottom_eigenvectors(A, scale, min(kmax + 1, n), _GAP_TOLERANCE, rng)
        k, margin, runner_up = eigengap(values, kmin, kmax, n)
        k = min(k, n)
    else:
        k = min(n_clusters, n)
        values, vectors = bottom_eigenvectors(A, scale, k, tol, rng)
    rows = np.ascontiguousarray(vectors[:, :k] * scale[:, None])
    if k == n:
        labels[live] = np.arange(n)
    else:
        labels[live] = kmeans(rows, degree, k, n_init, 50, rng).labels
    embedding = np.zeros((n_nodes, k))
    embedding[live] = rows
    return SpectralResult(labels, k, values, embedding, margin, runner_up)


def bottom_eigenvectors(
    A: sparse.csr_matrix,
    scale: np.ndarray,
    k: int,
    tol: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Smallest k eigenvalues and vectors of ``I - diag(scale) A diag(scale)``, ascending."""
    n = A.shape[0]
    if n <= _DENSE_NODES or k > n / 3:
        values, vectors = _dense(A.toarray() * scale * scale[:, None], k)
    else:
        N = sparse.csr_matrix(
            (A.data * np.repeat(scale, np.diff(A.indptr)) * scale[A.indices], A.indices, A.indptr),
            shape=A.shape,
        )
        n_parts, part = connected_components(N, directed=False)
        if n_parts == 1:
            values, vectors = _lanczos(N, k, tol, 1 / scale, rng)
        else:
            degree = np.asarray(A.sum(axis=1)).ravel()
            values, vectors = _by_component(N, part, degree, 1 / scale, k, tol, rng)
    order = np.argsort(-values, kind="stable")
    return 1 - values[order], vectors[:, order]


def _by_component(
    N: sparse.csr_matrix,
    part: np.ndarray,
    degree: np.ndarray,
    root: np.ndarray,
    k: int,
    tol: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Largest k eigenpairs of a graph in several pieces, the pieces of largest volume first.

    Each piece has its own eigenvalue near 1. Lanczos on the whole would see one direction of such a
    multiple eigenvalue and stop before rounding shows it the others.
    """
    volumes = np.bincount(part, degree)
    # No eigenvalue of a piece is larger than the largest share of a degree that is not regularisation.
    bound = np.zeros(len(volumes))
    np.maximum.at(bound, part, degree / root**2)
    by_part = np.argsort(part, kind="stable")
    sizes = np.bincount(part)
    ends = np.cumsum(sizes)
    values, columns = np.empty(0), []
    for piece in np.argsort(-volumes, kind="stable"):
        if len(values) >= k and bound[piece] <= np.sort(values)[-k] * (1 + 1e-9):
            continue
        members = by_part[ends[piece] - sizes[piece] : ends[piece]]
        inner = N[members][:, members]
        wanted = min(k, len(members))
        if len(members) <= _DENSE_NODES or wanted > len(members) / 3:
            own, vectors = _dense(inner.toarray(), wanted)
        else:
            own, vectors = _lanczos(inner, wanted, tol, root[members], rng)
        values = np.append(values, own)
        columns += [(members, vectors[:, j]) for j in range(len(own))]
    best = np.argsort(-values, kind="stable")[:k]
    embedded = np.zeros((N.shape[0], len(best)))
    for column, index in enumerate(best):
        members, vector = columns[index]
        embedded[members, column] = vector
    return values[best], embedded


def _dense(N: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    n = N.shape[0]
    return linalg.eigh(N, subset_by_index=(n - k, n - 1), check_finite=False, overwrite_a=True)


def _lanczos(
    N: sparse.csr_matrix, k: int, tol: float, root: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Largest k eigenpairs, from a start near the first eigenvector ``root``."""
    n = N.shape[0]
    start = root * (1 + 1e-3 * rng.standard_normal(n))
    # Clusters alike have eigenvalues nearly alike. With the usual basis of 20 vectors, on quotients, where
    # convergence is fast, most runs end before the last of eight such values has shown itself.
    for n_basis in (max(4 * k + 1, 40), max(8 * k, 160)):
        try:
            return eigsh(N, k, which="LA", tol=tol, ncv=min(n_basis, n - 1), v0=start)
        except ArpackNoConvergence:
            continue
    # many equal eigenvalues: what a shifted power iteration of a random block sees is as good
    block = np.linalg.qr(rng.standard_normal((n, k)))[0]
    for _ in range(100):
        block = np.linalg.qr(N @ block + block)[0]
    values, turn = np.linalg.eigh(block.T @ (N @ block))
    return values, block @ turn
