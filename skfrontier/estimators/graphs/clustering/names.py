"""Graphs in the forms that users have, and the vertices' names kept beside their numbers."""

from collections.abc import Hashable, Iterable
from typing import Any

import networkx as nx
import numpy as np

from skfrontier.algos import EdgeList


class VertexNames:
    """Numbers of named vertices, in the order in which the names came."""

    def __init__(self, names: Iterable[Hashable] = ()):
        self.names: list[Hashable] = []
        self._index: dict[Hashable, int] = {}
        self.commit(list(dict.fromkeys(names)))

    def __contains__(self, name: Hashable) -> bool:
        return name in self._index

    def number_all(
        self, pairs: list[tuple[Any, Any]], others: Iterable[Hashable] = ()
    ) -> tuple[np.ndarray, list[Hashable]]:
        """Numbers of the ends of edges, and the names that are new; nothing is kept yet.

        Parameters
        ----------
        pairs : list of pairs of names
            The edges.
        others : iterable of names
            Vertices that may have no edge.

        Raises
        ------
        ValueError
            If a name is missing: None, or not equal to itself.
        """
        fresh: dict[Hashable, int] = {}
        known = self._index
        numbers = np.empty((len(pairs), 2), np.int64)
        for row, pair in enumerate(pairs):
            for side, name in enumerate(pair):
                number = known.get(name)
                if number is None:
                    number = fresh.setdefault(name, len(known) + len(fresh))
                numbers[row, side] = number
        for name in others:
            if name not in known:
                fresh.setdefault(name, len(known) + len(fresh))
        missing = next((name for name in fresh if name is None or not _is_itself(name)), None)
        if missing is not None or None in fresh:
            raise ValueError(f"edges must name two vertices each, got {missing!r} for one.")
        return numbers, list(fresh)

    def commit(self, names: list[Hashable]) -> None:
        """Keep new names."""
        for name in names:
            self._index[name] = len(self.names)
            self.names.append(name)

    def numbers(self, names: Iterable[Hashable], what: str) -> np.ndarray:
        """Numbers of names that are known.

        Raises
        ------
        ValueError
            For the first that is not.
        """
        found = []
        for name in names:
            number = self._index.get(name)
            if number is None:
                raise ValueError(f"{what} has {name!r}, which is no vertex of the graph.")
            found.append(number)
        return np.array(found, np.int64)


class Edges:
    """Edges as they were given: pairs of ids or of names, with weights.

    ``pairs`` is an array where the ids are numbers of vertices, else a list of pairs of names. There may
    be vertices without edges: ``vertices`` are names, ``n_vertices`` is a number.
    """

    def __init__(
        self,
        pairs: Any,
        weights: Any,
        *,
        named: bool,
        vertices: Iterable[Hashable] = (),
        n_vertices: int | None = None,
    ):
        self.pairs = pairs
        self.weights = weights
        self.named = named
        self.vertices = vertices
        self.n_vertices = n_vertices


def read_edges(edges: Any, weights: Any = None) -> Edges:
    """Bring edges in any accepted form into one.

    Parameters
    ----------
    edges : array-like (m, 2), list of pairs, EdgeList, networkx graph, or pandas frame
        A frame has the columns ``source`` and ``target``, and may have ``weight`` and ``time``: rows are
        then taken in the order of time. Directions are forgotten: what goes both ways adds up.
    weights : array-like of shape (m,) or None, default=None
        Where ``edges`` does not hold them itself.

    Raises
    ------
    ValueError
        If weights come twice, a directed graph is given, or the pairs are no pairs.
    """
    if isinstance(edges, nx.Graph):
        _no_second_weights(weights, "a networkx graph")
        if edges.is_directed():
            raise ValueError(
                "the graph is directed; clusters are those of an undirected graph: "
                "use .to_undirected()."
            )
        triples = list(edges.edges(data="weight", default=1))
        return Edges(
            [t[:2] for t in triples], [t[2] for t in triples], named=True, vertices=list(edges)
        )
    if isinstance(edges, EdgeList):
        _no_second_weights(weights, "an EdgeList")
        given = read_edges(edges.edges, edges.weights)
        given.n_vertices = edges.n_vertices
        return given
    if hasattr(edges, "columns") and {"source", "target"} <= set(edges.columns):
        if "time" in edges.columns:
            edges = edges.sort_values("time", kind="stable")
        if "weight" in edges.columns:
            _no_second_weights(weights, "a frame with the column weight")
            weights = edges["weight"].to_numpy()
        return Edges(list(zip(edges["source"], edges["target"], strict=True)), weights, named=True)
    if isinstance(edges, np.ndarray) and edges.dtype.kind in "iuf":
        return Edges(edges, weights, named=False)
    return _read_pairs(edges, weights)


def _read_pairs(edges: Any, weights: Any) -> Edges:
    try:
        pairs = [tuple(pair) for pair in edges]
    except TypeError:
        raise ValueError(f"edges must be pairs of vertices, got {edges!r}.") from None
    ends = {type(end) for pair in pairs for end in pair}
    if all(issubclass(kind, int | float | np.number) and kind is not bool for kind in ends):
        return Edges(np.array(pairs) if pairs else np.empty((0, 2), int), weights, named=False)
    wrong = next((pair for pair in pairs if len(pair) != 2), None)
    if wrong is not None:
        raise ValueError(f"edges must have shape (n_edges, 2): pairs of vertices, got {wrong!r}.")
    return Edges(pairs, weights, named=True)


def _is_itself(name: Any) -> bool:
    try:
        return bool(name == name)
    except TypeError:  # pandas' NA
        return False


def _no_second_weights(weights: Any, what: str) -> None:
    if weights is not None:
        raise ValueError(f"weights must be None for {what}, which holds its own.")
