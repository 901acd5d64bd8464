"""A graph that changes, the levels over it, and the clustering that answers and rebuilds at once."""

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._interrupts import undivided
from skfrontier.algos._validation import check_count, check_generator
from skfrontier.algos.graphs.clustering.adjacency import (
    DEGREE,
    N_NEIGHBORS,
    ROUNDING,
    AdjacencyLog,
    edge_weights,
)
from skfrontier.algos.graphs.clustering.graph_input import (
    MAX_VERTICES,
    AdjacencyMatrix,
    EdgeList,
    check_edges,
    vertex_count,
)
from skfrontier.algos.graphs.clustering.levels import BUDGET, N_NODES, N_PULLED, Levels
from skfrontier.algos.graphs.clustering.partition import (
    label_prior,
    persistent_ids,
    refine_by_votes,
    split_clusters,
)
from skfrontier.algos.graphs.clustering.quotient import (
    block_log_affinity,
    block_weights,
    conductances,
)
from skfrontier.algos.graphs.clustering.settings import Settings
from skfrontier.algos.graphs.clustering.sparsify import sparsify
from skfrontier.algos.graphs.clustering.spectral import SpectralResult, spectral_cluster
from skfrontier.algos.graphs.clustering.update import MOVES, OPEN_VOLUME, VOTES, apply_edges

_FULL_SOLVE_INITS = 3
_SPARSE_RIDGE = 0.25
_DENSE_FACTOR = 4
_FEWEST_VOTES = 0.25  # a vertex, of which `moved_limit` takes account
_FEWEST_SINGLES = 2**16


@dataclass(frozen=True, eq=False)
class ClusterReport:
    """What one clustering of a hierarchy found, and on what.

    Attributes
    ----------
    level : int
        Level that was clustered; 0 is the graph.
    n_nodes, n_entries : int
        Its size: nodes with an edge, and entries of its matrix.
    rebuilt : tuple of int
        Levels that were made anew.
    n_clusters : int
        Number of clusters.
    cluster_ids : int array of shape (n_clusters,)
        Their labels, ascending.
    conductances : array of shape (n_clusters,)
        Cut over volume of each, in the graph itself, at the time of the query.
    eigenvalues : array
        Smallest eigenvalues of the level.
    regularization : float
        What was added to the degree of each vertex.
    gap_margin : float
        How much larger the chosen eigengap is than the next, as a share; NaN for a given number.
    runner_up : int
        Number of clusters that the next gap speaks for.
    drift : float
        Weight changed since the full solve before (both ends), over the volume that there was then.
    moved : float
        Moves by votes since then, over the vertices with an edge that there were.
    unsettled : float
        Share of the volume at vertices whose edges changed since they voted, or whose last vote was for
        another label than they have; without those that were in no block when they last changed, which
        the query clustered one by one. NaN where there are no votes.
    seconds : float
        Wall time.
    """

    level: int = 0
    n_nodes: int = 0
    n_entries: int = 0
    rebuilt: tuple[int, ...] = ()
    n_clusters: int = 0
    cluster_ids: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    conductances: np.ndarray = field(default_factory=lambda: np.empty(0))
    eigenvalues: np.ndarray = field(default_factory=lambda: np.empty(0))
    regularization: float = 0.0
    gap_margin: float = np.nan
    runner_up: int = 0
    drift: float = 0.0
    moved: float = 0.0
    unsettled: float = np.nan
    seconds: float = 0.0


class Hierarchy:
    """Clusters of a graph that changes, through a chain of ever smaller quotients.

    The functional layer under `DynamicSpectralClustering`, which explains the parameters.

    Parameters
    ----------
    A : sparse matrix, array or EdgeList
        The graph to begin with: symmetric, non-negative, self-loops are ignored.
    **parameters
        Any of those of `DynamicSpectralClustering` but ``random_state`` and ``verbose``.

    Attributes
    ----------
    settings : Settings
        The parameters.
    n_vertices, n_edges : int
        Size of the present graph.
    n_pending : int
        Edge changes and new vertices since the last clustering.
    n_updates : int
        Edge changes ever.
    report : ClusterReport or None
        Of the last clustering.

    Raises
    ------
    TypeError, ValueError
        If a parameter or the graph is not accepted.

    Notes
    -----
    Proven: each maintained level is the exact quotient of the graph by the composed map, whatever the
    order of events, so cuts and volumes read from it are exact; its eigenvalues are at least the
    graph's; an edge change moves O(depth) entries, amortised; a query costs, up to logarithms and
    the iterations of the eigensolver, n^(1/depth) amortised where O(1) vertices leave their blocks
    between two queries. Not proven: a bound on the misclassified volume through all levels.

    References
    ----------
    S. Laenen, H. Sun, "Dynamic spectral clustering with provable approximation guarantee", ICML 2024,
    arXiv:2406.03152. The chain of levels with its budgets, votes, deletions and persistent labels are
    this library's own.

    Examples
    --------
    >>> from skfrontier.algos import EdgeList, Hierarchy
    >>> triangles = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
    >>> graph = Hierarchy(EdgeList(triangles), n_clusters=2, depth=2)
    >>> graph.cluster(random_state=0).n_clusters
    2
    >>> graph.insert([(5, 6)])
    >>> graph.cluster(random_state=0).level
    1
    """

    def __init__(self, A: Any = None, **parameters: Any):
        self.settings = Settings(**parameters).checked()
        if A is None:
            A = sparse.csr_matrix((0, 0))
        graph = (A if isinstance(A, EdgeList | AdjacencyMatrix) else AdjacencyMatrix(A)).matrix()
        self._log = AdjacencyLog(graph)
        self._levels = Levels(self.settings.depth - 1, graph.shape[0])
        self._affinity = np.zeros((0, 0))
        self._prior = np.zeros(0)
        self.tally = np.zeros(5)
        self.n_pending = graph.shape[0]
        self.n_updates = 0
        self.report: ClusterReport | None = None
        self._settled: Settings | None = None
        self._volume_then = 0.0
        self._moves_then = self._votes_then = self._live_then = 0
        self._changed_weight = 0.0
        self._ridge = 0.0

    @property
    def n_vertices(self) -> int:
        """Number of vertices, isolated ones included."""
        return self._log.n_vertices

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return self._log.n_edges

    @property
    def drift(self) -> float:
        """Weight changed since the last full solve (both ends), over the volume that there was then."""
        if self._volume_then == 0:
            return np.inf
        return 2 * self._changed_weight / self._volume_then

    @property
    def moved(self) -> float:
        """Moves by votes since the last full solve, over the vertices with an edge that there were then.

        Where votes move many, the clusters that they vote by were poor: the graph tells more by now.
        """
        return (int(self.tally[MOVES]) - self._moves_then) / max(self._live_then, 1)

    @property
    def moved_limit(self) -> float:
        """How large `moved` may become before the graph is clustered again.

        It is ``max_moved`` once there was a vote for each vertex. The fewer votes it took to move so
        many, the larger the share of votes that the clusters lost: the limit falls with the root of
        their number, to a half at most, lest a handful of votes decide.
        """
        votes = (int(self.tally[VOTES]) - self._votes_then) / max(self._live_then, 1)
        return self.settings.max_moved * float(np.sqrt(np.clip(votes, _FEWEST_VOTES, 1)))

    @property
    def n_maintained(self) -> int:
        """The coarsest level whose matrix is kept up to date."""
        return self._levels.top

    def insert(self, edges: Any, weights: Any = None, *, n_vertices: int | None = None) -> None:
        """Add weight to edges; vertices up to the largest id are made.

        Parameters
        ----------
        edges : int array-like of shape (m, 2)
            Ends of the edges, repeated ones add up.
        weights : array-like of shape (m,) or None, default=None
            Positive; None: 1 each.
        n_vertices : int or None, default=None
            Make at least so many vertices.

        Raises
        ------
        TypeError, ValueError
            If the input is not accepted; then nothing has changed.
        """
        ids, strengths = check_edges(edges, weights)
        count = max(self.n_vertices, vertex_count(ids))
        if n_vertices is not None:
            count = max(count, check_count(n_vertices, "n_vertices", 0, MAX_VERTICES))
        with undivided():
            if count > self.n_vertices:
                self._grow(count - self.n_vertices)
            self._apply(ids, strengths)

    def delete(self, edges: Any, weights: Any = None) -> None:
        """Take edges away, or weight from them.

        Parameters
        ----------
        edges : int array-like of shape (m, 2)
            Ends of edges that are there.
        weights : array-like of shape (m,) or None, default=None
            How much is taken from each; None: all.

        Raises
        ------
        TypeError, ValueError
            If the input is not accepted, an edge is missing or has less weight than is to be taken;
            then nothing has changed.
        """
        ids, strengths = check_edges(edges, weights)
        missing = (ids >= self.n_vertices).any(axis=1)
        present = np.zeros(len(ids))
        known = ids[~missing]
        present[~missing] = edge_weights(self._log.arrays, known[:, 0], known[:, 1])
        key = (ids.min(axis=1, initial=MAX_VERTICES) << 32) | ids.max(axis=1, initial=0)
        _, same = np.unique(key, return_inverse=True)
        if weights is None:
            strengths = present
        asked = np.bincount(same, strengths)[same] if len(ids) else strengths
        bad = (present <= 0) | (asked > present * (1 + ROUNDING))
        if bad.any():
            first = int(np.argmax(bad))
            u, v = ids[first]
            raise ValueError(
                f"edges[{first}] = ({u}, {v}) has weight {present[first]:g} and cannot lose "
                f"{asked[first]:g}; nothing was changed."
                if present[first] > 0
                else f"edges[{first}] = ({u}, {v}) is not in the graph; nothing was changed."
            )
        with undivided():
            self._apply(ids, -strengths)

    def add_vertices(self, count: int) -> np.ndarray:
        """Add isolated vertices and return their ids."""
        count = check_count(count, "count", 0, MAX_VERTICES - self.n_vertices)
        first = self.n_vertices
        with undivided():
            if count:
                self._grow(count)
        return np.arange(first, first + count)

    def cluster(self, *, full: bool = False, random_state: Any = None) -> ClusterReport:
        """Bring the clustering up to date: one solve answers, and rebuilds the levels above it.

        Parameters
        ----------
        full : bool, default=False
            Whether to cluster the graph itself, whatever the levels could say.
        random_state : int, Generator, RandomState or None, default=None
            Randomness of the eigensolver's start and of k-means.

        Returns
        -------
        ClusterReport
            That of the last time, where nothing has changed since.
        """
        if self.is_current and self.report is not None and not full:
            return self.report
        begin = time.perf_counter()
        rng = check_generator(random_state)
        level = self._level_to_solve(full)
        drift, moved = self.drift, self.moved
        report = self._solve(level, rng)
        self.n_pending = 0
        self._settled = self.settings
        seconds = time.perf_counter() - begin
        self.report = replace(report, drift=drift, moved=moved, seconds=seconds)
        return self.report

    @property
    def is_current(self) -> bool:
        """Whether the last clustering is still that of the graph and the parameters."""
        return self.n_pending == 0 and self._settled == self.settings

    def labels(self, vertices: Any = None) -> np.ndarray:
        """Labels of vertices by the last clustering and the votes since; -1 for those born later."""
        if vertices is None:
            vertices = np.arange(self.n_vertices)
        return self._levels.ancestors(vertices, 0, self._levels.n_levels + 1).astype(np.int64)

    def edge_weights(self, edges: np.ndarray) -> np.ndarray:
        """Present weights of vertex pairs, 0 where there is no edge."""
        return edge_weights(self._log.arrays, edges[:, 0], edges[:, 1])

    def adjacency(self) -> sparse.csr_matrix:
        """The graph, as a new matrix."""
        return self._log.matrix()

    def degrees(self) -> np.ndarray:
        """Degree of each vertex."""
        return self._log.arrays.weight[: self.n_vertices, DEGREE].copy()

    def level_map(self, level: int) -> np.ndarray:
        """The node of a level that each vertex is in."""
        return self._levels.ancestors(np.arange(self.n_vertices), 0, level).astype(np.int64)

    def level_matrix(self, level: int) -> sparse.csr_matrix:
        """The matrix of a maintained level, or of the graph for level 0."""
        if check_count(level, "level", 0, self.n_maintained) == 0:
            return self.adjacency()
        return self._levels.matrix(level)

    def level_volumes(self, level: int) -> np.ndarray:
        """Volume of each node of a maintained level."""
        if check_count(level, "level", 0, self.n_maintained) == 0:
            return self.degrees()
        return self._levels.volumes(level).copy()

    def describe_levels(self) -> list[dict[str, Any]]:
        """Nodes, entries, pulled vertices, budget and staleness of each level."""
        rows: list[dict[str, Any]] = [
            {
                "n_nodes": self.n_vertices,
                "n_entries": self.n_edges,
                "pulled": 0,
                "budget": None,
                "stale": False,
            }
        ]
        arrays = self._levels.arrays
        for level in range(1, self._levels.n_levels + 1):
            stale = level > self.n_maintained
            rows.append(
                {
                    "n_nodes": int(arrays.info[level, N_NODES]),
                    "n_entries": 0 if stale else self._levels.n_entries(level),
                    "pulled": int(arrays.info[level, N_PULLED]),
                    "budget": int(arrays.info[level, BUDGET]),
                    "stale": stale,
                }
            )
        return rows

    def _grow(self, count: int) -> None:
        first = self.n_vertices
        self._log.add_vertices(count)
        self._levels.add_vertices(first, count)
        self.n_pending += count

    def _apply(self, ids: np.ndarray, changes: np.ndarray) -> None:
        us = np.ascontiguousarray(ids[:, 0])
        vs = np.ascontiguousarray(ids[:, 1])
        rate = self.settings.refine_rate or 0.0
        chunk = self._log.fold_limit // 2
        for begin in range(0, len(us), chunk):
            part = slice(begin, begin + chunk)
            self._log.reserve(len(us[part]))
            position = 0
            while position < len(us[part]):
                position, level, room = apply_edges(
                    us[part],
                    vs[part],
                    changes[part],
                    position,
                    self._log.arrays,
                    self._levels.arrays,
                    self._affinity,
                    self._prior,
                    self.settings.beta,
                    rate if len(self._affinity) else 0.0,
                    self.tally,
                )
                if level > 0:
                    self._levels.make_room(level, room)
        self.n_pending += len(us)
        self.n_updates += len(us)
        self._changed_weight += float(np.abs(changes).sum())

    def _level_to_solve(self, full: bool) -> int:
        settled = self._settled
        drifted = self.drift > self.settings.max_drift or self.moved > self.moved_limit
        if full or settled is None or drifted:
            return 0
        before, now = settled.n_clusters, self.settings.n_clusters
        raised = now is not None and (before is None or now > before)
        if raised and self.report is not None and now is not None:
            raised = now > self.report.n_clusters
        if raised and self.n_pending == 0:
            return 0  # blocks cannot be split
        return self.n_maintained

    def _solve(self, level: int, rng: np.random.Generator) -> ClusterReport:
        settings, levels = self.settings, self._levels
        if level == 0:
            A = self._log.fold()
            n_live = (self._log.arrays.vertex[: self.n_vertices, N_NEIGHBORS] > 0).astype(np.int64)
        else:
            A = levels.matrix(level)
            n_live = levels.n_live(level).copy()
        live = n_live > 0
        volume = np.asarray(A.sum(axis=1)).ravel()
        self._choose_ridge(level, volume.sum(), int(n_live.sum()))
        ridge = self._ridge * n_live
        found = self._spectral(level, A, live, ridge, rng)
        labels, k = found.labels, found.n_clusters
        dissenting = np.zeros(len(labels), bool)
        if level == 0 and settings.refine_rate is not None and k > 1:
            labels, dissenting = refine_by_votes(A, labels, k)
        previous = levels.ancestors(np.arange(len(live)), level, levels.n_levels + 1)
        if settings.stable_labels and k:
            ids = persistent_ids(labels, previous, volume, k)
        else:
            ids = np.arange(k)
        with undivided():
            self._store(level, A, n_live, labels, found, volume + ridge, ids, rng)
            if level == 0:
                self._volume_then = float(volume.sum())
                self._changed_weight = 0.0
                self._moves_then = int(self.tally[MOVES])
                self._votes_then = int(self.tally[VOTES])
                self._live_then = int(live.sum())
                self.tally[OPEN_VOLUME] = self._log.mark_voted(dissenting)
            named = np.where(labels >= 0, ids[labels], -1) if k else labels
            B = block_weights(A.indptr, A.indices, A.data, named, int(ids.max(initial=-1)) + 1)
            mean_weight = volume.sum() / max(2 * self.n_edges, 1)
            affinity = block_log_affinity(np.maximum(B, 0), mean_weight)
            self._affinity = affinity if k > 1 else np.zeros((0, 0))
            members = np.bincount(named[live], n_live[live], minlength=len(B)) if k else np.empty(0)
            self._prior = label_prior(members, mean_weight)
        order = np.sort(ids)
        return ClusterReport(
            level=level,
            n_nodes=int(live.sum()),
            n_entries=int(A.nnz),
            rebuilt=tuple(range(level + 1, levels.n_levels + 1)) if k else (),
            n_clusters=k,
            cluster_ids=order,
            conductances=conductances(B)[order],
            eigenvalues=found.eigenvalues,
            regularization=self._ridge,
            gap_margin=found.gap_margin,
            runner_up=found.runner_up,
            unsettled=self._open_share(float(volume.sum())),
        )

    def _open_share(self, volume: float) -> float:
        if self.settings.refine_rate is None:
            return np.nan
        return float(np.clip(self.tally[OPEN_VOLUME] / volume, 0, 1)) if volume > 0 else 0.0

    def _choose_ridge(self, level: int, volume: float, n_live: int) -> None:
        """Regularisation for sparse graphs with a fringe, settled by edge counts at each full solve."""
        setting = self.settings.regularization
        if n_live == 0:
            self._ridge = 0.0
        elif setting != "auto":
            self._ridge = float(setting * volume / n_live)
        elif level == 0:
            counts = self._log.arrays.vertex[: self.n_vertices, N_NEIGHBORS]
            counts = counts[counts > 0]
            mean = counts.mean()
            fringed = np.quantile(counts, 0.01) <= mean / 2
            sparse_enough = mean <= 3 * np.log(n_live)
            ridge = _SPARSE_RIDGE * volume / n_live if fringed and sparse_enough else 0.0
            self._ridge = float(ridge)

    def _spectral(
        self,
        level: int,
        A: sparse.csr_matrix,
        live: np.ndarray,
        ridge: np.ndarray,
        rng: np.random.Generator,
    ) -> SpectralResult:
        settings = self.settings
        if level == 0 and self._samples(A):
            A = sparsify(A, settings.sparsify_tau, int(rng.integers(2**62)))
        return spectral_cluster(
            A,
            live,
            ridge,
            settings.n_clusters,
            (settings.min_clusters, settings.max_clusters),
            n_init=min(settings.n_init, _FULL_SOLVE_INITS) if level == 0 else settings.n_init,
            tol=settings.eigen_tol,
            rng=rng,
        )

    def _samples(self, A: sparse.csr_matrix) -> bool:
        if self.settings.sparsify != "auto":
            return bool(self.settings.sparsify)
        n = max(A.shape[0], 2)
        return A.nnz / 2 > _DENSE_FACTOR * self.settings.sparsify_tau * n * np.log(n)

    def _store(
        self,
        level: int,
        A: sparse.csr_matrix,
        n_live: np.ndarray,
        labels: np.ndarray,
        found: SpectralResult,
        weights: np.ndarray,
        ids: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Write labels, and contract the levels above the one that was solved."""
        levels, settings = self._levels, self.settings
        if level == levels.n_levels or found.n_clusters == 0:
            named = np.where(labels >= 0, ids[labels], -1) if found.n_clusters else labels
            if level == levels.n_levels:
                levels.relabel(named)
            else:
                levels.forget(level)
            return
        piece, owner = split_clusters(
            found.embedding, weights, labels, found.n_clusters, settings.micro_clusters, rng
        )
        label = ids[owner]
        if (piece < 0).any():  # nodes without an edge share one block
            piece = np.where(piece < 0, len(owner), piece)
            label = np.append(label, -1)
        levels.contract(level, A, n_live, piece, label, self._budgets())

    def _budgets(self) -> np.ndarray:
        settings = self.settings
        share = 1 - np.arange(settings.depth) / settings.depth
        wanted = settings.budget_scale * max(self.n_vertices, 1) ** share
        wanted = np.maximum(settings.min_budget, np.floor(wanted))
        # nodes are kept ready for all; more than there are vertices do not come without a new solve
        return np.minimum(wanted, max(self.n_vertices, _FEWEST_SINGLES)).astype(np.int64)
