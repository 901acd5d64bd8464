"""Tables whose columns depend on each other along a graph."""

from typing import Any

import numpy as np
from scipy import sparse, special
from scipy.sparse import csgraph

from skfrontier.algos._validation import (
    RandomState,
    check_count,
    check_flag,
    check_generator,
    check_interval,
)
from skfrontier.datasets.graphs.structure.graphs import make_graph

_BASE_RATE = 3.0  # of counts


def make_gaussian_graph(
    n_samples: int,
    n_nodes: int,
    *,
    graph: str = "scale_free",
    weight_range: tuple[float, float] = (0.3, 0.6),
    random_sign: bool = True,
    delta: float = 0.2,
    df: float | None = None,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gaussian, or multivariate t, rows with a sparse precision matrix.

    Parameters
    ----------
    n_samples : int
        Rows.
    n_nodes : int
        Columns; a grid may have fewer.
    graph : str, default="scale_free"
        Kind, see `make_graph`.
    weight_range : tuple of 2 floats, default=(0.3, 0.6)
        Absolute entries of the precision matrix at edges, before scaling.
    random_sign : bool, default=True
        Whether their signs are random; else all are positive.
    delta : float, default=0.2
        Least eigenvalue of the precision matrix before scaling, positive: small values make strong relations.
    df : float or None, default=None
        Degrees of freedom of a multivariate t distribution, above 2; None is Gaussian.
    random_state : int, Generator, RandomState or None, default=None
        Of graph, weights and rows.

    Returns
    -------
    X : float64 array of shape (n_samples, n_nodes)
        Unit variances (times df / (df - 2) for t).
    adjacency : bool array of shape (n_nodes, n_nodes)
    precision : float64 array of shape (n_nodes, n_nodes)
        Of the Gaussian rows.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not of the stated form.

    Examples
    --------
    >>> from skfrontier.datasets import make_gaussian_graph
    >>> X, adjacency, precision = make_gaussian_graph(100, 20, graph="chain", random_state=0)
    >>> X.shape, int(adjacency.sum()) // 2
    ((100, 20), 19)
    """
    n = check_count(n_samples, "n_samples")
    delta = check_interval(delta, "delta", 0.0, np.inf, closed="neither")
    rng = check_generator(random_state)
    adjacency = make_graph(n_nodes, graph=graph, random_state=rng)
    W = _weights(adjacency, weight_range, random_sign, rng)
    least = np.linalg.eigvalsh(W)[0]
    covariance = np.linalg.inv(W + (abs(least) + delta) * np.eye(len(W)))
    scale = np.sqrt(np.diagonal(covariance))
    covariance /= np.outer(scale, scale)
    precision = (W + (abs(least) + delta) * np.eye(len(W))) * np.outer(scale, scale)
    X = rng.standard_normal((n, len(W))) @ np.linalg.cholesky(covariance).T
    if df is not None:
        df = check_interval(df, "df", 2.0, np.inf, closed="neither")
        X *= np.sqrt(df / rng.chisquare(df, n))[:, None]
    return X, adjacency, precision


def _weights(
    adjacency: np.ndarray, weight_range: Any, random_sign: bool, rng: np.random.Generator
) -> np.ndarray:
    """Symmetric random weights at the edges."""
    low, high = (check_interval(end, "weight_range", 0.0, np.inf) for end in weight_range)
    if low > high:
        raise ValueError(f"weight_range must rise, got {weight_range!r}.")
    i, j = np.nonzero(np.triu(adjacency))
    weights = rng.uniform(low, high, i.size)
    if check_flag(random_sign, "random_sign"):
        weights *= rng.choice([-1.0, 1.0], i.size)
    W = np.zeros(adjacency.shape)
    W[i, j] = W[j, i] = weights
    return W


def make_ising(
    n_samples: int,
    n_nodes: int,
    *,
    graph: str = "grid",
    weight_range: tuple[float, float] = (0.25, 0.5),
    field: float = 0.0,
    burn_in: int = 60,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Rows of -1 and 1 from an Ising model.

    :math:`P(x) \propto \exp(\sum_{i<j} W_{ij} x_i x_j + h \sum_i x_i)`.

    Parameters
    ----------
    n_samples : int
        Rows.
    n_nodes : int
        Columns; a grid may have fewer.
    graph : str, default="grid"
        Kind, see `make_graph`.
    weight_range : tuple of 2 floats, default=(0.25, 0.5)
        Absolute weights; signs are random.
    field : float, default=0.0
        The same for all nodes.
    burn_in : int, default=60
        Sweeps of the Gibbs chain that each row has for itself. Forests are sampled exactly and need none.
    random_state : int, Generator, RandomState or None, default=None
        Of graph, weights and rows.

    Returns
    -------
    X : int64 array of shape (n_samples, n_nodes)
    adjacency : bool array of shape (n_nodes, n_nodes)
    weights : float64 array of shape (n_nodes, n_nodes)

    Raises
    ------
    ValueError, TypeError
        If a parameter is not of the stated form.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.datasets import make_ising
    >>> X, adjacency, weights = make_ising(50, 9, random_state=0)
    >>> np.unique(X), int(adjacency.sum()) // 2
    (array([-1,  1]), 12)
    """
    n = check_count(n_samples, "n_samples")
    sweeps = check_count(burn_in, "burn_in")
    field = check_interval(field, "field", -np.inf, np.inf, closed="neither")
    rng = check_generator(random_state)
    adjacency = make_graph(n_nodes, graph=graph, random_state=rng)
    W = _weights(adjacency, weight_range, True, rng)
    count, label = csgraph.connected_components(sparse.csr_array(adjacency), directed=False)
    if adjacency.sum() // 2 == len(W) - count:
        X = _forest_draws(W, field, n, count, label, rng)
    else:
        X = _gibbs_draws(W, field, n, sweeps, rng)
    return X, adjacency, W


def _gibbs_draws(
    W: np.ndarray, field: float, n: int, sweeps: int, rng: np.random.Generator
) -> np.ndarray:
    """All rows at once, node by node."""
    X = rng.choice([-1.0, 1.0], (len(W), n))
    neighbours = [np.flatnonzero(row) for row in W]
    for _ in range(sweeps):
        for j, around in enumerate(neighbours):
            drive = field + W[j, around] @ X[around]
            X[j] = np.where(rng.random(n) < special.expit(2 * drive), 1.0, -1.0)
    return X.T.astype(np.int64)


def _forest_draws(
    W: np.ndarray, field: float, n: int, count: int, label: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Exact: the subtrees act on a node as a field, then parents are drawn before children."""
    graph = sparse.csr_array(W)
    X = np.zeros((len(W), n))
    for component in range(count):
        root = int(np.flatnonzero(label == component)[0])
        order, parent = csgraph.breadth_first_order(graph, root, directed=False)
        fields = np.full(len(W), field)
        for node in order[:0:-1]:
            pull = np.tanh(W[node, parent[node]]) * np.tanh(fields[node])
            fields[parent[node]] += np.arctanh(pull)
        for node in order:
            drive = fields[node] + (
                0.0 if node == root else W[node, parent[node]] * X[parent[node]]
            )
            X[node] = np.where(rng.random(n) < special.expit(2 * drive), 1.0, -1.0)
    return X.T.astype(np.int64)


def make_mixed_tree(
    n_samples: int,
    families: Any,
    *,
    graph: str = "scale_free",
    weight_range: tuple[float, float] = (0.4, 0.7),
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Columns of different families, each drawn given its parent in a random tree.

    Parameters
    ----------
    n_samples : int
        Rows.
    families : list of {"gaussian", "binary", "poisson"}
        Family of each column.
    graph : {"chain", "hub", "scale_free"}, default="scale_free"
        Kind of the tree, or forest, see `make_graph`.
    weight_range : tuple of 2 floats, default=(0.4, 0.7)
        Absolute effect of a parent, standardised, on mean, half of log odds, or twice the log rate; signs
        are random.
    random_state : int, Generator, RandomState or None, default=None
        Of graph, weights and rows.

    Returns
    -------
    X : float64 array of shape (n_samples, n_columns)
        Binary columns are 0/1; counts have mean about 3.
    adjacency : bool array of shape (n_columns, n_columns)
        The tree; columns that are no neighbours are independent given all others.

    Raises
    ------
    ValueError, TypeError
        If a family is unknown or the graph is no forest.

    Examples
    --------
    >>> from skfrontier.datasets import make_mixed_tree
    >>> X, adjacency = make_mixed_tree(100, ["gaussian", "binary", "poisson"], random_state=0)
    >>> X.shape, int(adjacency.sum()) // 2
    ((100, 3), 2)
    """
    n = check_count(n_samples, "n_samples")
    families = list(families)
    if not set(families) <= {"gaussian", "binary", "poisson"}:
        raise ValueError(
            f"families must hold 'gaussian', 'binary' and 'poisson' only, got {families!r}."
        )
    if graph not in ("chain", "hub", "scale_free"):
        raise ValueError(f"graph must be 'chain', 'hub' or 'scale_free', got {graph!r}.")
    rng = check_generator(random_state)
    adjacency = make_graph(len(families), graph=graph, random_state=rng)
    W = _weights(adjacency, weight_range, True, rng)
    X = np.zeros((n, len(families)))
    for j, family in enumerate(families):  # parents have smaller numbers in these graphs
        parents = np.flatnonzero(adjacency[j, :j])
        effect = sum((W[j, k] * _standardised(X[:, k], families[k]) for k in parents), np.zeros(n))
        X[:, j] = _child(effect, family, rng)
    return X, adjacency


def _standardised(column: np.ndarray, family: str) -> np.ndarray:
    if family == "binary":
        return 2 * column - 1
    return (np.log1p(column) - np.log1p(_BASE_RATE)) / 0.5 if family == "poisson" else column


def _child(effect: np.ndarray, family: str, rng: np.random.Generator) -> np.ndarray:
    if family == "binary":
        return (rng.random(effect.size) < special.expit(2 * effect)).astype(np.float64)
    if family == "poisson":
        return rng.poisson(_BASE_RATE * np.exp(0.5 * np.clip(effect, -4, 4))).astype(np.float64)
    return effect + rng.standard_normal(effect.size)
