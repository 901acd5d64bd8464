"""The graph of nearest neighbours of points that arrive one after the other."""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_generator,
    check_points,
)
from skfrontier.datasets.graphs.clustering.stream import (
    NO_EDGES,
    GraphStep,
    GraphStream,
    adjacency_of,
)


def make_knn_stream(
    X: Any,
    y: Any,
    n_neighbors: int = 10,
    *,
    order: str = "class",
    batch: int = 50,
    random_state: Any = None,
) -> GraphStream:
    """Edges of a graph of nearest neighbours, in the order in which the points arrive.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        The points.
    y : array-like of shape (n,)
        Their classes.
    n_neighbors : int, default=10
        Two points are joined where either is among the ``n_neighbors`` nearest of the other, in the
        whole set.
    order : {"class", "random"}, default="class"
        Class after class, the classes and the points within one in random order; or all at random.
    batch : int, default=50
        Points in a step; the first batch is the graph at the start.
    random_state : int, Generator, RandomState or None, default=None
        Randomness of the order.

    Returns
    -------
    GraphStream
        Vertices are numbered as they arrive, labels number the classes of ``y`` in sorted order. An
        edge comes with the later of its ends, so a point may come before all of its edges: say
        ``partial_fit(edges, n_vertices=len(labels))``.

    Raises
    ------
    ValueError
        If a parameter is out of range or ``y`` has another length.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skfrontier.datasets import make_knn_stream
    >>> digits = load_digits()
    >>> stream = make_knn_stream(digits.data, digits.target, batch=100, random_state=0)
    >>> stream.adjacency.shape, len(stream)
    ((100, 100), 17)
    """
    points = check_points(X, "X", min_points=2)
    classes = np.unique(np.asarray(y), return_inverse=True)[1]
    n = len(points)
    if classes.shape != (n,):
        raise ValueError(f"y must have shape ({n},), got {classes.shape}.")
    check_choice(order, "order", ("class", "random"))
    k = check_count(n_neighbors, "n_neighbors", 1, n - 1)
    batch = check_count(batch, "batch")
    rng = check_generator(random_state)
    arrival = rng.permutation(n)
    if order == "class":
        rank = rng.permutation(classes.max() + 1)
        arrival = arrival[np.argsort(rank[classes[arrival]], kind="stable")]
    points, labels = points[arrival], classes[arrival]
    neighbors = cKDTree(points).query(points, k + 1)[1]
    edges = np.column_stack([np.repeat(np.arange(n), k + 1), neighbors.ravel()])
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    edges = edges[np.argsort(edges[:, 1], kind="stable")]
    bounds = np.append(np.arange(batch, n, batch), n)
    ends = np.searchsorted(edges[:, 1], bounds)
    steps = tuple(
        GraphStep(edges[low:high], labels[:count], NO_EDGES)
        for low, high, count in zip(ends[:-1], ends[1:], bounds[1:], strict=True)
    )
    return GraphStream(adjacency_of(edges[: ends[0]], bounds[0]), labels[: bounds[0]], steps)
