"""What a stream of graph changes looks like."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class GraphStep:
    """One batch of changes.

    Attributes
    ----------
    edges : int array of shape (m, 2)
        Edges that come.
    labels : int array of shape (n_vertices,)
        True clusters after the batch.
    removed : int array of shape (r, 2)
        Edges that go, before the others come.
    """

    edges: np.ndarray
    labels: np.ndarray
    removed: np.ndarray


@dataclass(frozen=True, eq=False)
class GraphStream:
    """A graph and how it changes; iteration gives ``(edges, labels)`` of each step.

    Attributes
    ----------
    adjacency : csr matrix of shape (n, n)
        The graph at the start.
    labels : int array of shape (n,)
        Its true clusters.
    steps : tuple of GraphStep
        The changes.
    """

    adjacency: sparse.csr_matrix
    labels: np.ndarray
    steps: tuple[GraphStep, ...]

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        if any(len(step.removed) for step in self.steps):
            raise ValueError("edges are removed in this stream: iterate over its steps instead.")
        return iter([(step.edges, step.labels) for step in self.steps])

    def __len__(self) -> int:
        return len(self.steps)


NO_EDGES = np.empty((0, 2), np.int64)


def adjacency_of(edges: np.ndarray, n: int) -> sparse.csr_matrix:
    """Symmetric matrix of edges of weight 1, repeated ones adding up."""
    ends = np.concatenate([edges, edges[:, ::-1]])
    return sparse.coo_matrix((np.ones(len(ends)), tuple(ends.T)), shape=(n, n)).tocsr()
