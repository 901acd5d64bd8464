"""Spectral clustering of a graph to which edges come, and from which they go."""

from typing import Any, Self

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skfrontier.algos import EdgeList
from skfrontier.algos._interrupts import undivided
from skfrontier.algos._validation import check_flag
from skfrontier.algos.graphs.clustering.graph_input import AdjacencyMatrix
from skfrontier.estimators.graphs.clustering.base import HierarchyClustering, check_vertices
from skfrontier.estimators.graphs.clustering.names import Edges, VertexNames, read_edges


class DynamicSpectralClustering(HierarchyClustering):
    """Spectral clusters of a growing and shrinking graph, on demand.

    An edge update costs O(depth), a query about n^(1/depth): the graph is kept together with ever
    smaller contractions of itself, and the smallest one that is still good is clustered.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: where the gap between eigenvalues is largest, with a warning where
        that is not clear.
    depth : int, default=3
        Number of levels d, the graph included: an update costs O(d), a query about n^(1/d). 1 is full
        spectral clustering at each query.
    beta : float, default=1.0
        A vertex leaves its block once the share ``beta`` of its degree has changed since the block was
        made. At most 0.5 where there are many deletions.
    micro_clusters : int, default=4
        Into how many blocks a cluster is contracted, at most.
    max_clusters, min_clusters : int, default=30 and 2
        Range for the eigengap.
    budget_scale : float, default=1.0
        Level l is made anew after ``budget_scale * n^(1 - l/d)`` vertices have left their blocks ...
    min_budget : int, default=64
        ... but not before so many.
    max_drift : float, default=1.0
        The graph itself is clustered again once the weight changed since the last time (counted at both
        ends) is more than this share of the volume then.
    max_moved : float, default=0.08
        So it is once votes have moved more than this share of its vertices: near the threshold of
        detection the clusters that they vote by were poor, and the graph tells more by now. The limit
        falls with the root of the votes held, down to half of it for a quarter of a vote a vertex.
    regularization : 'auto' or float, default='auto'
        What is added to each degree, as a share of the mean degree. 'auto': 0.25 for sparse graphs with
        a fringe of vertices of low degree, which else become clusters; 0 for others.
    refine_rate : float or None, default=0.1
        A vertex asks its neighbours for its label whenever this share of its degree has changed. None:
        never.
    sparsify : 'auto' or bool, default='auto'
        Whether a full solve takes a sample of the edges; 'auto': of dense graphs.
    sparsify_tau : float, default=3.0
        The sample has about ``sparsify_tau * n * ln n`` edges.
    n_init : int, default=10
        Runs of k-means (at most 3 on the graph itself).
    eigen_tol : float, default=1e-3
        Relative accuracy of the eigenvalues of levels with more than 400 nodes.
    stable_labels : bool, default=True
        Whether clusters keep their labels from query to query, by largest common volume.
    random_state : int, Generator, RandomState or None, default=None
        Randomness of the eigensolver's start and of k-means.
    verbose : int, default=0
        Whether each clustering is reported.

    Attributes
    ----------
    labels_ : int64 array of shape (n_vertices,)
        Labels by the last query, and the votes since; -1 where a vertex has no edge or was born later.
    n_clusters_ : int
        Number of clusters.
    cluster_ids_ : int array of shape (n_clusters,)
        Their labels, ascending.
    conductances_ : array of shape (n_clusters,)
        Cut over volume of each, exact at the time of the query.
    eigenvalues_ : array
        Smallest eigenvalues of the level that was clustered.
    gap_margin_ : float
        By what share the chosen eigengap beats the next one; NaN for a given number of clusters.
    last_query_ : dict
        Level, nodes, entries, rebuilt levels, regularisation, eigengap, what had changed since the full
        solve before (``drift``, ``moved``), ``unsettled`` (share of the volume at vertices that changed
        since their last vote or dissent from it; NaN without votes), and seconds.
    levels_ : list of dict
        Nodes, entries, pulled vertices, budget and staleness of each level now.
    n_vertices_, n_edges_, n_pending_, n_updates_ : int
        Size of the graph now, changes since the last query, edge changes since the fit.
    nodes_ : list
        Names of the vertices, where they have names.
    n_features_in_ : int
        Number of columns, where a matrix was fitted.

    See Also
    --------
    DynamicKNNSpectralClustering : Points that arrive, instead of edges.
    skfrontier.algos.Hierarchy : The structure underneath.

    Notes
    -----
    Proven: levels are exact quotients of the graph, so conductances are exact; updates cost O(depth)
    amortised for weights within a constant ratio; queries cost O~(n^(1/depth)) amortised where O(1)
    vertices leave their blocks between two of them (a batch that makes p of them leave costs
    O~(p n^(1/depth))); a block none of whose vertices has left keeps its inner conductance up to
    1/(1 + beta) under insertions. Observed: that the labels are those of full spectral clustering.

    Directions of edges are forgotten, self-loops dropped, repeated edges add up. Weights lie in
    1e-100 .. 1e100.

    References
    ----------
    S. Laenen, H. Sun, "Dynamic spectral clustering with provable approximation guarantee", ICML 2024,
    arXiv:2406.03152.

    Examples
    --------
    >>> from skfrontier.datasets import make_evolving_sbm
    >>> from skfrontier.estimators import DynamicSpectralClustering
    >>> stream = make_evolving_sbm(
    ...     200, 4, scenario="grow", n_steps=3, n_changed=9, random_state=0
    ... )
    >>> model = DynamicSpectralClustering(n_clusters=4, random_state=0).fit(stream.adjacency)
    >>> for edges, truth in stream:
    ...     labels = model.partial_fit(edges).query()
    >>> len(labels) == len(truth)
    True
    >>> model.last_query_["level"]
    2
    """

    def __init__(
        self,
        *,
        n_clusters=None,
        depth=3,
        beta=1.0,
        micro_clusters=4,
        max_clusters=30,
        min_clusters=2,
        budget_scale=1.0,
        min_budget=64,
        max_drift=1.0,
        max_moved=0.08,
        regularization="auto",
        refine_rate=0.1,
        sparsify="auto",
        sparsify_tau=3.0,
        n_init=10,
        eigen_tol=1e-3,
        stable_labels=True,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.depth = depth
        self.beta = beta
        self.micro_clusters = micro_clusters
        self.max_clusters = max_clusters
        self.min_clusters = min_clusters
        self.budget_scale = budget_scale
        self.min_budget = min_budget
        self.max_drift = max_drift
        self.max_moved = max_moved
        self.regularization = regularization
        self.refine_rate = refine_rate
        self.sparsify = sparsify
        self.sparsify_tau = sparsify_tau
        self.n_init = n_init
        self.eigen_tol = eigen_tol
        self.stable_labels = stable_labels
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None) -> Self:
        """Cluster a graph.

        Parameters
        ----------
        X : sparse or dense matrix (n, n), EdgeList, networkx graph, or pandas frame of edges
            Symmetric, non-negative. A frame has columns ``source`` and ``target``, and may have
            ``weight`` and ``time``. Vertices of a networkx graph or a frame, or of an `EdgeList` whose
            ends are no numbers, keep their names in ``nodes_``.
        y : None
            Ignored.

        Returns
        -------
        self : DynamicSpectralClustering

        Raises
        ------
        TypeError, ValueError
            If the graph or a parameter is not accepted.
        """
        names, graph = self._read_graph(X)
        self._begin(graph)
        self._keep_names(names)
        self._cluster()
        return self

    def partial_fit(self, edges, weights=None, *, n_vertices=None) -> Self:
        """Add edges; nothing is clustered until the next query.

        Parameters
        ----------
        edges : array-like of shape (m, 2), or what `fit` takes but a matrix
            Ends of the edges: ids, those beyond the last make new vertices; or names. Repeated edges
            add up.
        weights : array-like of shape (m,) or None, default=None
            Positive; None: 1 each.
        n_vertices : int or None, default=None
            Make at least so many vertices (where they have no names).

        Returns
        -------
        self : DynamicSpectralClustering
            An unfitted object starts with an empty graph.

        Raises
        ------
        TypeError, ValueError
            If the input is not accepted; then nothing has changed.
        """
        given = read_edges(edges, weights)
        if not self.__sklearn_is_fitted__():
            return self._first_edges(given, n_vertices)
        hierarchy = self._current()
        pairs, fresh = self._numbered(given, new=True)
        n_vertices = self._least_count(given, n_vertices, fresh)
        with undivided():
            hierarchy.insert(pairs, given.weights, n_vertices=n_vertices)
            self._commit(fresh)
        return self

    def delete(self, edges, weights=None) -> Self:
        """Take edges away, or weight from them. A vertex without edges stays, with label -1.

        Parameters
        ----------
        edges : array-like of shape (m, 2), or as in `partial_fit`
            Edges that are there.
        weights : array-like of shape (m,) or None, default=None
            How much each loses; None: all it has, however often it was added.

        Returns
        -------
        self : DynamicSpectralClustering

        Raises
        ------
        TypeError, ValueError
            If the input is not accepted, or an edge has less weight than it is to lose; then nothing
            has changed.
        """
        hierarchy = self._current()
        given = read_edges(edges, weights)
        pairs, _ = self._numbered(given, new=False)
        hierarchy.delete(pairs, given.weights)
        return self

    def add_vertices(self, count) -> np.ndarray:
        """Add vertices without edges.

        Parameters
        ----------
        count : int, or list of names where the vertices have names
            How many, or which.

        Returns
        -------
        int array
            Their ids.
        """
        hierarchy = self._current()
        if self._names is None:
            return hierarchy.add_vertices(count)
        if isinstance(count, int | np.integer | str):
            raise ValueError(f"count must be a list of names of new vertices, got {count!r}.")
        names = list(dict.fromkeys(count))
        taken = next((name for name in names if name in self._names), None)
        if taken is not None:
            raise ValueError(f"count has {taken!r}, which is a vertex already.")
        with undivided():
            ids = hierarchy.add_vertices(len(names))
            self._commit(names)
        return ids

    def query(self, vertices=None, *, full=False) -> np.ndarray:
        """Bring the clustering up to date and return labels.

        Parameters
        ----------
        vertices : array-like of ids or names, or None, default=None
            Whose labels, at O(depth) each; None: all.
        full : bool, default=False
            Whether to cluster the graph itself.

        Returns
        -------
        int64 array
            -1 for vertices without an edge.

        Raises
        ------
        ValueError
            If a vertex does not exist.
        """
        check_is_fitted(self)
        full = check_flag(full, "full")
        ids = None if vertices is None else self._vertex_ids(vertices)
        return self._cluster(full=full).labels(ids)

    def _read_graph(self, X: Any) -> tuple[VertexNames | None, Any]:
        if isinstance(X, nx.Graph):
            return self._named_graph(read_edges(X), VertexNames(X.nodes))
        if isinstance(X, EdgeList):
            given = read_edges(X)
            if given.named:
                return self._named_graph(given, VertexNames())
            return None, EdgeList(given.pairs, given.weights, X.n_vertices)
        if hasattr(X, "columns") and {"source", "target"} <= set(X.columns):
            return self._named_graph(read_edges(X), VertexNames())
        A = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        return None, AdjacencyMatrix(A, "X")

    def _least_count(self, given: Edges, n_vertices: Any, fresh: list) -> Any:
        """How many vertices there must be after the edges are in: those without edges count too."""
        if self._names is None:
            return given.n_vertices if n_vertices is None else n_vertices
        if n_vertices is not None or given.n_vertices is not None:
            raise ValueError("n_vertices must be None where vertices have names; use add_vertices.")
        return len(self._names.names) + len(fresh)

    def _named_graph(self, given: Edges, names: VertexNames) -> tuple[VertexNames, EdgeList]:
        pairs, fresh = names.number_all(given.pairs)
        names.commit(fresh)
        return names, EdgeList(pairs, given.weights, len(names.names))

    def _first_edges(self, given: Edges, n_vertices: Any) -> Self:
        names: VertexNames | None = None
        pairs, fresh = given.pairs, list[Any]()
        if given.named:
            names = VertexNames()
            pairs, fresh = names.number_all(given.pairs, given.vertices)
            given.n_vertices = len(fresh)
        n_vertices = given.n_vertices if n_vertices is None else n_vertices
        EdgeList(pairs, given.weights, n_vertices).matrix()  # raises before anything is kept
        with undivided():
            self._begin()
            self._keep_names(names)
            self._hierarchy.insert(pairs, given.weights, n_vertices=n_vertices)
            self._commit(fresh)
        return self

    def _keep_names(self, names: VertexNames | None) -> None:
        self._names = names
        if names is not None:
            self.nodes_ = names.names
        elif hasattr(self, "nodes_"):
            del self.nodes_

    def _numbered(self, given: Edges, *, new: bool) -> tuple[Any, list]:
        if self._names is None:
            if given.named:
                raise ValueError(
                    "edges must hold ids of vertices: the graph was fitted without names."
                )
            return given.pairs, []
        pairs = [tuple(pair) for pair in given.pairs]
        numbers, fresh = self._names.number_all(pairs, given.vertices if new else ())
        if fresh and not new:
            raise ValueError(f"edges has {fresh[0]!r}, which is no vertex of the graph.")
        return numbers, fresh

    def _commit(self, fresh: list) -> None:
        if self._names is not None:
            self._names.commit(fresh)

    def _vertex_ids(self, vertices: Any) -> np.ndarray:
        if self._names is not None:
            return self._names.numbers(vertices, "vertices")
        return check_vertices(vertices, self.n_vertices_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = True
        return tags
