"""Opinions at rest on signed graphs: leaders and followers, and stubborn nodes."""

import warnings
from typing import Any

import numpy as np

from skfrontier.algos._validation import as_numbers, check_choice, check_finite
from skfrontier.algos.graphs.propagation.adjacency import read_adjacency
from skfrontier.algos.graphs.propagation.grounded import (
    GroundedSignedGraph,
    build_grounded_graph,
    read_anchors,
    read_labeled,
)
from skfrontier.algos.graphs.propagation.plan import PropagationPlan
from skfrontier.algos.graphs.propagation.random import base_seed
from skfrontier.algos.graphs.propagation.solve import solve_values


def leader_follower_equilibrium(
    adjacency: Any,
    leaders: Any,
    opinions: Any,
    *,
    unreachable: str = "nan",
    random_state: Any = None,
    **options: Any,
) -> np.ndarray:
    """Opinions where every follower holds the signed weighted mean of its neighbours' opinions.

    Parameters
    ----------
    adjacency : sparse matrix, array-like or networkx graph of shape (n, n)
        Symmetric, weights of either sign.
    leaders : array-like of int of shape (n_leaders,)
        Nodes whose opinion is fixed.
    opinions : array-like of shape (n_leaders,) or (n_leaders, n_topics)
        Theirs, in the order of ``leaders``.
    unreachable : {"nan", "zero", "raise"}, default="nan"
        What followers hold whom no leader reaches.
    random_state : int, Generator, RandomState or None, default=None
        Seed, where forests are sampled.
    **options
        ``solver``, ``tol`` and the other options of ``LabelPropagationOperator``.

    Returns
    -------
    ndarray of shape (n,) or (n, n_topics)

    Raises
    ------
    ValueError
        If an input is not of the stated form.

    Warns
    -----
    UserWarning
        If ``tol`` or ``rtol`` was not reached.

    References
    ----------
    Zhou, Sun, Xu, Li, Zhang, "Signed opinion dynamics", arXiv:2407.10680.

    Examples
    --------
    >>> from skfrontier.algos import leader_follower_equilibrium
    >>> leader_follower_equilibrium([[0, 1, 0], [1, 0, -1], [0, -1, 0]], [0], [0.5])
    array([ 0.5,  0.5, -0.5])
    """
    leaders = as_numbers(leaders, "leaders")
    opinions = _read_opinions(opinions, "opinions")
    matrix = read_adjacency(adjacency)
    graph = build_grounded_graph(matrix, read_labeled(leaders, matrix.shape[0], name="leaders"))
    if opinions.shape[0] != graph.labeled.size:
        raise ValueError(
            f"opinions must have one row a leader ({graph.labeled.size}), got {opinions.shape}."
        )
    order = np.arange(graph.labeled.size) if leaders.dtype == np.bool_ else np.argsort(leaders)
    known = opinions[order]
    values = _equilibrium(graph, graph.source(known), unreachable, random_state, options)
    values[graph.labeled] = known
    return values


def friedkin_johnsen_equilibrium(
    adjacency: Any,
    innate: Any,
    stubbornness: Any,
    *,
    unreachable: str = "nan",
    random_state: Any = None,
    **options: Any,
) -> np.ndarray:
    """Opinions where each node balances its innate opinion with its neighbours' signed ones.

    At rest ``(d_u + s_u) x_u = s_u * innate_u + sum_v A_uv x_v`` with the stubbornness ``s``.

    Parameters
    ----------
    adjacency : sparse matrix, array-like or networkx graph of shape (n, n)
        Symmetric, weights of either sign.
    innate : array-like of shape (n,) or (n, n_topics)
        Innate opinions.
    stubbornness : float or array-like of shape (n,)
        Nonnegative weights of the innate opinions.
    unreachable : {"nan", "zero", "raise"}, default="nan"
        What nodes hold whom no stubborn node reaches.
    random_state : int, Generator, RandomState or None, default=None
        Seed, where forests are sampled.
    **options
        ``solver``, ``tol`` and the other options of ``LabelPropagationOperator``.

    Returns
    -------
    ndarray of shape (n,) or (n, n_topics)

    Raises
    ------
    ValueError
        If an input is not of the stated form.

    Warns
    -----
    UserWarning
        If ``tol`` or ``rtol`` was not reached.

    Notes
    -----
    An innate opinion is the label of a private neighbour of weight ``s_u``.

    Examples
    --------
    >>> from skfrontier.algos import friedkin_johnsen_equilibrium
    >>> friedkin_johnsen_equilibrium([[0, 1], [1, 0]], [1.0, 0.0], [1.0, 1.0]).round(3)
    array([0.667, 0.333])
    """
    innate = _read_opinions(innate, "innate")
    matrix = read_adjacency(adjacency)
    n = matrix.shape[0]
    if innate.shape[0] != n:
        raise ValueError(f"innate must have one row a node ({n}), got {innate.shape}.")
    weight = as_numbers(stubbornness, "stubbornness")
    weight = read_anchors(np.full(n, weight) if weight.ndim == 0 else weight, n, "stubbornness")
    none = np.empty(0, dtype=np.int64)
    graph = build_grounded_graph(matrix, none, anchor_weight=weight)
    source = (innate[graph.nodes].T * graph.killing.astype(innate.dtype)).T
    return _equilibrium(graph, source, unreachable, random_state, options)


def _read_opinions(opinions: Any, name: str) -> np.ndarray:
    values = as_numbers(opinions, name)
    if values.ndim not in (1, 2) or values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be a 1-D or 2-D array of numbers, got {opinions!r}.")
    check_finite(values, name)
    return values.astype(np.float32 if values.dtype == np.float32 else np.float64, copy=False)


def _equilibrium(
    graph: GroundedSignedGraph,
    source: np.ndarray,
    unreachable: str,
    random_state: Any,
    options: dict[str, Any],
) -> np.ndarray:
    """Solve, and spread over all nodes."""
    check_choice(unreachable, "unreachable", ("nan", "zero", "raise"))
    missing = int(np.count_nonzero(~graph.reachable))
    if missing and unreachable == "raise":
        raise ValueError(f"{missing} nodes are not reached by any fixed opinion.")
    plan = PropagationPlan(**options)
    solution = solve_values(graph, source, plan, base_seed(random_state))
    if shortfall := solution.shortfall(plan):
        warnings.warn(shortfall, UserWarning, stacklevel=3)
    fill = 0.0 if unreachable == "zero" else np.nan
    values = np.full((graph.n_nodes, *source.shape[1:]), fill, dtype=source.dtype)
    values[graph.nodes] = solution.value if source.ndim == 2 else solution.value[:, 0]
    return values
