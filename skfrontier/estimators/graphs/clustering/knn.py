"""Spectral clustering of points that arrive, on the graph of their nearest neighbours."""

import copy
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skfrontier.algos._interrupts import undivided
from skfrontier.algos._validation import check_count, check_flag
from skfrontier.estimators.graphs.clustering.base import HierarchyClustering, check_vertices
from skfrontier.estimators.graphs.clustering.points import PointIndex


class DynamicKNNSpectralClustering(HierarchyClustering):
    """Spectral clusters of a growing set of points.

    Each new point is joined to its nearest neighbours among the earlier ones; the clusters of the graph
    are kept by a `DynamicSpectralClustering`, which explains most parameters.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: where the gap between eigenvalues is largest, with a warning where
        that is not clear.
    n_neighbors : int, default=10
        Neighbours of a new point.
    metric : str or callable, default='euclidean'
        Any that `sklearn.neighbors.NearestNeighbors` takes, but 'precomputed'; it cannot be changed
        without a new fit.
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
    labels_ : int64 array of shape (n_samples_seen,)
        Label of each row so far.
    n_clusters_, cluster_ids_, conductances_, eigenvalues_, gap_margin_, last_query_, levels_
        As in `DynamicSpectralClustering`, of the graph of neighbours.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    DynamicSpectralClustering : The same for a graph.

    Notes
    -----
    `fit` joins two points where either is among the ``n_neighbors`` nearest of the other;
    `partial_fit` joins each new point to its ``n_neighbors`` nearest earlier ones. Edges have weight 1
    and are never removed, so the graph depends on the order of arrival (observed: clusters hardly do).
    Neighbours are exact: an index over the older points, and brute force over the newest until it is
    made anew.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skfrontier.estimators import DynamicKNNSpectralClustering
    >>> X = load_digits().data
    >>> model = DynamicKNNSpectralClustering(n_clusters=10, random_state=0).fit(X[:1000])
    >>> model.partial_fit(X[1000:1100]).labels_.shape
    (1100,)
    """

    def __init__(
        self,
        *,
        n_clusters=None,
        n_neighbors=10,
        metric="euclidean",
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
        self.n_neighbors = n_neighbors
        self.metric = metric
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
        """Cluster points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : None
            Ignored.

        Returns
        -------
        self : DynamicKNNSpectralClustering
        """
        n_neighbors = check_count(self.n_neighbors, "n_neighbors")
        if isinstance(self.metric, str) and self.metric == "precomputed":
            raise ValueError(
                "metric must not be 'precomputed': points that come have no distances."
            )
        X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=1)
        points = PointIndex(X, self.metric)
        self._begin(points.neighbor_graph(n_neighbors))
        self._points = points
        self._cluster()
        return self

    def partial_fit(self, X, y=None) -> Self:
        """Add points and bring the clustering up to date.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            The points.
        y : None
            Ignored.

        Returns
        -------
        self : DynamicKNNSpectralClustering
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X)
        hierarchy = self._current()
        n_neighbors = check_count(self.n_neighbors, "n_neighbors")
        if self.metric is not self._points.metric and self.metric != self._points.metric:
            raise ValueError(
                f"metric={self.metric!r} is not that of the points before, "
                f"{self._points.metric!r}; fit again."
            )
        X = validate_data(self, X, dtype=self._points.dtype, reset=False)
        points = copy.copy(self._points)
        edges = points.append(X, n_neighbors)
        with undivided():
            hierarchy.insert(edges, n_vertices=len(points))
            self._points = points
        self._cluster()
        return self

    def query(self, vertices=None, *, full=False) -> np.ndarray:
        """Labels of rows seen so far.

        Parameters
        ----------
        vertices : int array-like or None, default=None
            Which rows; None: all.
        full : bool, default=False
            Whether to cluster the whole graph anew.

        Returns
        -------
        int64 array
        """
        check_is_fitted(self)
        full = check_flag(full, "full")
        ids = None if vertices is None else check_vertices(vertices, self.n_vertices_)
        return self._cluster(full=full).labels(ids)
