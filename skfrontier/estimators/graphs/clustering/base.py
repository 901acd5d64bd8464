"""What the dynamic clusterings share: a hierarchy, its parameters, and what its last query says."""

import warnings
from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skfrontier.algos import Hierarchy
from skfrontier.algos._validation import check_generator
from skfrontier.algos.graphs.clustering.settings import Settings
from skfrontier.algos.graphs.clustering.spectral import CLEAR_GAP


class UnclearGapWarning(UserWarning):
    """The eigengap speaks nearly as loud for another number of clusters."""


def check_vertices(vertices: Any, n_vertices: int) -> np.ndarray:
    """Ids of vertices, as an integer array.

    Raises
    ------
    ValueError
        If they are no list of integers, or one is no vertex.
    """
    ids = np.asarray(vertices)
    if ids.size == 0:
        return np.empty(0, np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError(f"vertices must be a list of ids, got {ids.dtype} of shape {ids.shape}.")
    if ids.min() < 0 or ids.max() >= n_vertices:
        raise ValueError(f"vertices must lie in 0..{n_vertices - 1}, got {ids.min()}..{ids.max()}.")
    return ids


class HierarchyClustering(ClusterMixin, BaseEstimator):
    """Base of the classes that keep a `Hierarchy`; attributes are read from it and solve nothing."""

    _hierarchy: Hierarchy

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_hierarchy")

    # ---------------------------------------------------------------- the last query
    @property
    def labels_(self) -> np.ndarray:
        """Labels by the last query and the votes since; -1: no edge, or born later."""
        return self._fitted("labels_").labels()

    @property
    def n_clusters_(self) -> int:
        """Number of clusters that the last query found."""
        return self._report("n_clusters_").n_clusters

    @property
    def cluster_ids_(self) -> np.ndarray:
        """Labels of the clusters, ascending: ids of vanished clusters leave gaps."""
        return self._report("cluster_ids_").cluster_ids

    @property
    def conductances_(self) -> np.ndarray:
        """Cut over volume of each cluster of ``cluster_ids_``, exact at the time of the query."""
        return self._report("conductances_").conductances

    @property
    def eigenvalues_(self) -> np.ndarray:
        """Smallest eigenvalues of the level that was clustered."""
        return self._report("eigenvalues_").eigenvalues

    @property
    def gap_margin_(self) -> float:
        """Share by which the chosen eigengap beats the next one; NaN for a given number of clusters."""
        return self._report("gap_margin_").gap_margin

    @property
    def last_query_(self) -> dict[str, Any]:
        """Level, size, levels rebuilt, regularisation, gap, and seconds of the last query."""
        report = self._report("last_query_")
        names = (
            "level", "n_nodes", "n_entries", "rebuilt", "regularization", "gap_margin", "runner_up",
            "drift", "moved", "unsettled", "seconds",
        )  # fmt: skip
        return {name: getattr(report, name) for name in names}

    # ---------------------------------------------------------------- the present graph
    @property
    def n_pending_(self) -> int:
        """Edge changes and new vertices since the last query."""
        return self._fitted("n_pending_").n_pending

    @property
    def n_vertices_(self) -> int:
        """Number of vertices, isolated ones included."""
        return self._fitted("n_vertices_").n_vertices

    @property
    def n_edges_(self) -> int:
        """Number of edges."""
        return self._fitted("n_edges_").n_edges

    @property
    def n_updates_(self) -> int:
        """Edge changes since the fit."""
        return self._fitted("n_updates_").n_updates

    @property
    def levels_(self) -> list[dict[str, Any]]:
        """Nodes, entries, pulled vertices, budget and staleness of each level, the graph first."""
        return self._fitted("levels_").describe_levels()

    def adjacency(self) -> sparse.csr_matrix:
        """The present graph, as a new matrix.

        Returns
        -------
        csr matrix of shape (n_vertices, n_vertices)
        """
        check_is_fitted(self)
        return self._hierarchy.adjacency()

    # ---------------------------------------------------------------- for the classes
    def _fitted(self, name: str) -> Hierarchy:
        if "_hierarchy" not in self.__dict__:  # an AttributeError, for hasattr
            raise AttributeError(f"{type(self).__name__} is not fitted yet and has no {name}.")
        return self._hierarchy

    def _report(self, name: str) -> Any:
        report = self._fitted(name).report
        if report is None:
            raise AttributeError(f"there is no {name} before the first query.")
        return report

    def _settings(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(Settings)}

    def _begin(self, graph: Any = None) -> None:
        """Start a new hierarchy; nothing is changed if the parameters or the graph are refused."""
        rng = check_generator(self.random_state)
        self._hierarchy = Hierarchy(graph, **self._settings())
        self._rng = rng

    def _current(self) -> Hierarchy:
        """The hierarchy, under the parameters of now.

        Raises
        ------
        ValueError
            If the depth was changed, which only a new fit can do.
        """
        check_is_fitted(self)
        settings = Settings(**self._settings())
        if settings == self._hierarchy.settings:
            return self._hierarchy
        settings = settings.checked()
        if settings.depth != self._hierarchy.settings.depth:
            raise ValueError(
                f"depth={settings.depth} is not the depth of the fitted hierarchy, "
                f"{self._hierarchy.settings.depth}; fit again."
            )
        self._hierarchy.settings = settings
        return self._hierarchy

    def _cluster(self, *, full: bool = False) -> Hierarchy:
        """Bring the clustering up to date, and say where the answer needs care."""
        hierarchy = self._current()
        if hierarchy.is_current and not full:
            return hierarchy
        report = hierarchy.cluster(full=full, random_state=self._rng)
        self._note(f"level {report.level} of {report.n_nodes} nodes, {report.n_clusters} clusters")
        wanted = hierarchy.settings.n_clusters
        if wanted is not None and 0 < report.n_nodes < wanted:
            warnings.warn(
                f"n_clusters={wanted} is more than the {report.n_nodes} nodes that have an edge; "
                f"{report.n_clusters} clusters were made. Use fewer clusters, or query(full=True) if "
                "the graph has more vertices than this level.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if report.gap_margin < CLEAR_GAP:
            warnings.warn(
                f"the eigengap speaks for {report.n_clusters} clusters, and within "
                f"{report.gap_margin:.0%} as much for {report.runner_up}; look at eigenvalues_ or give "
                "n_clusters.",
                UnclearGapWarning,
                stacklevel=3,
            )
        return hierarchy

    def _note(self, message: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {message}")
