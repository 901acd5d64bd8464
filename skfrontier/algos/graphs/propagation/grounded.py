"""The graph that is sampled: unlabelled nodes, killed at the labels, signs made as positive as possible."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._numba import njit
from skfrontier.algos._validation import as_numbers, check_finite
from skfrontier.algos.graphs.propagation.adjacency import read_adjacency, signed_components
from skfrontier.algos.graphs.propagation.alias import fill_alias_tables

_LARGEST_EXPONENT = 300  # of the largest weight, to the base 2
_SMALLEST_SHARE = 2.0**-800  # of it


@dataclass(frozen=True)
class GroundedSignedGraph:
    """The reachable unlabelled nodes ``U`` of a signed graph, ready for sampling and solving.

    Made by :func:`build_grounded_graph`. Signs are stored in the gauge of a breadth-first tree:
    ``S'[u, v] = gauge[u] * S[u, v] * gauge[v]``, so that a balanced component has none that is negative.

    Attributes
    ----------
    n_nodes : int
        Number of nodes of the whole graph.
    labeled : int64 array of shape (n_labeled,)
        The labelled nodes, ascending.
    nodes : int64 array of shape (n_unlabeled,)
        The nodes of ``U`` in the order of all arrays below: those next to a label come first.
    indptr : int64 array of shape (n_unlabeled + 1,)
        Where the slots of a node begin.
    code : int32 array of shape (n_slots,)
        ``2 v + (S'[u, v] < 0)`` for a neighbour ``v``, -1 where a walk is killed; kills come first.
    weight : float64 array of shape (n_slots,), or empty
        Absolute weights of the slots; empty where all are ``unit``.
    unit : float
        The common absolute weight of all edges, or 0.
    threshold, other : float32 and int32 arrays of shape (n_slots,), or empty
        Alias tables of the slots of a weighted graph.
    killing, degree : float64 arrays of shape (n_unlabeled,)
        Absolute weights to labels and anchors, and to everything.
    n_boundary : int
        Number of nodes with ``killing > 0``, the first ones.
    lift : bool array of shape (n_unlabeled,)
        Whether the node's component is frustrated, and so walked on both sheets.
    gauge : int8 array of shape (n_unlabeled,)
        +1 or -1.
    boundary : csr_array of shape (n_unlabeled, n_labeled)
        ``A_UL`` in the gauge: row ``u`` times ``gauge[u]``.
    reachable, balanced : bool arrays of shape (n_nodes,)
        Of the component of the graph without labels; True at labelled nodes.
    step_bound : float
        Lower bound of the mean number of steps of a forest.
    """

    n_nodes: int
    labeled: np.ndarray
    nodes: np.ndarray
    indptr: np.ndarray
    code: np.ndarray
    weight: np.ndarray
    unit: float
    threshold: np.ndarray
    other: np.ndarray
    killing: np.ndarray
    degree: np.ndarray
    n_boundary: int
    lift: np.ndarray
    gauge: np.ndarray
    boundary: sparse.csr_array
    reachable: np.ndarray
    balanced: np.ndarray
    step_bound: float

    @property
    def n_unlabeled(self) -> int:
        """Number of unlabelled nodes that a label (or anchor) reaches."""
        return self.nodes.size

    def source(self, y: Any) -> np.ndarray:
        """Right-hand side ``A_UL y`` of values at the labels, shape (n_unlabeled,) or (n_unlabeled, c)."""
        y = np.asarray(y)
        dtype = np.float32 if y.dtype == np.float32 else np.float64
        return self.ungauged((self.boundary @ y).astype(dtype, copy=False))

    def ungauged(self, values: np.ndarray) -> np.ndarray:
        """Multiply the rows by the gauge, which is its own inverse."""
        gauge = self.gauge.astype(values.dtype)
        return gauge * values if values.ndim == 1 else gauge[:, None] * values


def build_grounded_graph(
    adjacency: Any, labeled: Any, *, anchor_weight: Any = None
) -> GroundedSignedGraph:
    """Take the labelled nodes out of a signed graph and keep what they, or anchors, reach.

    Parameters
    ----------
    adjacency : sparse matrix, array-like or networkx graph of shape (n, n)
        Symmetric, weights of either sign; the diagonal is ignored.
    labeled : array-like of int, or bool mask of shape (n,)
        The labelled nodes. May be empty if there are anchors.
    anchor_weight : array-like of shape (n,), default=None
        Nonnegative weight that ties each unlabelled node to a private value of its own
        (stubbornness). Ignored at labelled nodes.

    Returns
    -------
    GroundedSignedGraph

    Raises
    ------
    ValueError
        If the adjacency is not a real finite symmetric matrix, ``labeled`` is empty, has duplicates or
        nodes out of range, or an anchor weight is negative.

    Notes
    -----
    O(n + nnz) time; about 4 bytes an entry and 40 a node (16 more an entry where weights differ).
    Weights of which the largest is beyond ``2^300`` or below ``2^-300`` are multiplied by a power of two
    that makes it about 1, on which the operator does not depend; weights ``2^800`` times smaller than the
    largest are no edges.

    Examples
    --------
    >>> from skfrontier.algos import build_grounded_graph
    >>> path = [[0, 1, 0], [1, 0, -1], [0, -1, 0]]
    >>> graph = build_grounded_graph(path, [0])
    >>> graph.nodes, graph.killing, graph.degree
    (array([1, 2]), array([1., 0.]), array([2., 1.]))
    """
    matrix = read_adjacency(adjacency)
    n = matrix.shape[0]
    labels = read_labeled(labeled, n, may_be_empty=anchor_weight is not None)
    anchors = read_anchors(anchor_weight, n)
    matrix, anchors = _within_range(matrix, anchors)
    blocked = np.zeros(n, dtype=np.bool_)
    blocked[labels] = True
    indptr = matrix.indptr.astype(np.int64, copy=False)
    component, gauge, balanced, grounded = signed_components(
        indptr, matrix.indices, matrix.data, blocked, anchors > 0
    )
    reachable = blocked | np.append(grounded, False)[component]
    nodes, n_boundary = _boundary_first(matrix, indptr, blocked, reachable, anchors)
    position = np.full(n, -1, dtype=np.int32)
    position[nodes] = np.arange(nodes.size, dtype=np.int32)
    position[labels] = np.arange(labels.size, dtype=np.int32)
    unit = 0.0 if anchors.any() else _common_weight(indptr, matrix.indices, matrix.data)
    slots, label_edges = np.empty((2, nodes.size + 1), dtype=np.int64)
    _count_slots(
        indptr, matrix.indices, matrix.data, blocked, nodes, anchors, unit > 0, slots, label_edges
    )
    # Allocated here and not in the kernel: numpy asks the system for huge pages, which random reads need.
    code = np.empty(slots[-1], dtype=np.int32)
    weight = np.empty(slots[-1] if unit == 0 else 0)
    killing, degree, label_of, label_weight = _fill_slots(
        indptr, matrix.indices, matrix.data, blocked, nodes, position, gauge, anchors, unit,
        slots, label_edges, code, weight,
    )  # fmt: skip
    threshold = np.empty(weight.size, dtype=np.float32)
    other = np.empty(weight.size, dtype=np.int32)
    if unit == 0:
        fill_alias_tables(slots, code, weight, threshold, other)
    is_balanced = np.append(balanced, True)[component]
    return GroundedSignedGraph(
        n_nodes=n,
        labeled=labels,
        nodes=nodes,
        indptr=slots,
        code=code,
        weight=weight,
        unit=unit,
        threshold=threshold,
        other=other,
        killing=killing,
        degree=degree,
        n_boundary=n_boundary,
        lift=~is_balanced[nodes],
        gauge=gauge[nodes],
        boundary=sparse.csr_array(
            (label_weight, label_of, label_edges), shape=(nodes.size, labels.size)
        ),
        reachable=reachable,
        balanced=is_balanced,
        step_bound=_step_bound(component[nodes], killing, degree, ~is_balanced[nodes]),
    )


def read_labeled(
    labeled: Any, n_nodes: int, *, may_be_empty: bool = False, name: str = "labeled"
) -> np.ndarray:
    """Return labelled nodes, given as indices or as a mask, as ascending int64 indices.

    Raises
    ------
    ValueError
        If there are none, duplicates, indices out of range, or a mask of another length.
    """
    nodes = as_numbers(labeled, name)
    if nodes.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {nodes.shape}.")
    if nodes.dtype == np.bool_:
        if nodes.size != n_nodes:
            raise ValueError(f"{name} is a mask of {nodes.size} nodes, the graph has {n_nodes}.")
        nodes = np.flatnonzero(nodes)
    elif nodes.size and nodes.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold node indices or be a bool mask, got {nodes.dtype}.")
    if nodes.size == 0 and not may_be_empty:
        raise ValueError(f"{name} must name at least one node, got none.")
    if nodes.size and (nodes.min() < 0 or nodes.max() >= n_nodes):
        wrong = nodes[(nodes < 0) | (nodes >= n_nodes)][0]
        raise ValueError(f"{name} must lie in 0..{n_nodes - 1}, got {wrong}.")
    ascending, counts = np.unique(nodes, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"{name} has node {ascending[counts > 1][0]} more than once.")
    return ascending.astype(np.int64)


def read_anchors(anchor_weight: Any, n_nodes: int, name: str = "anchor_weight") -> np.ndarray:
    """Return one nonnegative float64 weight a node; zeros for None.

    Raises
    ------
    ValueError
        If the weights are not real, finite and nonnegative, or not one a node.
    """
    if anchor_weight is None:
        return np.zeros(n_nodes)
    anchors = as_numbers(anchor_weight, name)
    if anchors.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {anchors.dtype}.")
    anchors = anchors.astype(np.float64)
    if anchors.shape != (n_nodes,):
        raise ValueError(f"{name} must have shape ({n_nodes},), got {anchors.shape}.")
    check_finite(anchors, name)
    if (anchors < 0).any():
        raise ValueError(f"{name} must not be negative, got {anchors.min()}.")
    return anchors


def _within_range(
    matrix: sparse.csr_array, anchors: np.ndarray
) -> tuple[sparse.csr_array, np.ndarray]:
    """The weights, scaled where products of three of them could overflow or vanish."""
    least, largest = _weight_range(
        matrix.indptr.astype(np.int64, copy=False), matrix.indices, matrix.data, anchors
    )
    _, exponent = math.frexp(largest)
    if least >= largest * _SMALLEST_SHARE and abs(exponent) <= _LARGEST_EXPONENT:
        return matrix, anchors
    scaled, tied = matrix.copy(), np.ldexp(anchors, -exponent)
    scaled.data = np.ldexp(matrix.data, -exponent)
    for weights in (scaled.data, tied):
        weights[np.abs(weights) < _SMALLEST_SHARE] = 0.0
    return scaled, tied


@njit
def _weight_range(indptr, indices, data, anchors):
    """Smallest and largest absolute weight that is not zero, the diagonal left out; 0 if there is none."""
    least, largest = np.inf, 0.0
    for u in range(indptr.size - 1):
        for e in range(indptr[u], indptr[u + 1]):
            size = abs(data[e])
            if indices[e] != u and size > 0.0:
                least, largest = min(least, size), max(largest, size)
        if anchors[u] > 0.0:
            least, largest = min(least, anchors[u]), max(largest, anchors[u])
    return least, largest


def _boundary_first(
    matrix: sparse.csr_array,
    indptr: np.ndarray,
    blocked: np.ndarray,
    reachable: np.ndarray,
    anchors: np.ndarray,
) -> tuple[np.ndarray, int]:
    """Order ``U``: nodes next to a label or anchored, then the others.

    All roots of all forests are then among the first states, close together in memory.
    """
    touched = _touches(indptr, matrix.indices, matrix.data, blocked) | (anchors > 0)
    inner = reachable & ~blocked
    first = np.flatnonzero(inner & touched)
    return np.concatenate([first, np.flatnonzero(inner & ~touched)]), first.size


@njit
def _touches(indptr, indices, data, blocked):
    touched = np.zeros(blocked.size, dtype=np.bool_)
    for u in range(blocked.size):
        if blocked[u]:
            for e in range(indptr[u], indptr[u + 1]):
                if data[e] != 0.0:
                    touched[indices[e]] = True
    return touched


@njit
def _common_weight(indptr, indices, data):
    """The absolute weight of all edges, or 0 where they differ."""
    common = 0.0
    for u in range(indptr.size - 1):
        for e in range(indptr[u], indptr[u + 1]):
            size = abs(data[e])
            if indices[e] == u or size == 0.0:
                continue
            if common == 0.0:
                common = size
            elif common != size:
                return 0.0
    return common


@njit
def _count_slots(indptr, indices, data, blocked, nodes, anchors, unit, slots, label_edges):
    """Write where the slots and the label edges of each node begin."""
    slots[0] = label_edges[0] = 0
    for i in range(nodes.size):
        u = nodes[i]
        n_labels = n_inner = 0
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if v == u or data[e] == 0.0:
                continue
            if blocked[v]:
                n_labels += 1
            else:
                n_inner += 1
        kills = n_labels if unit else int(n_labels > 0 or anchors[u] > 0.0)
        slots[i + 1] = slots[i] + kills + n_inner
        label_edges[i + 1] = label_edges[i] + n_labels


@njit
def _fill_slots(
    indptr, indices, data, blocked, nodes, position, gauge, anchors, unit, slots, label_edges, code,
    weight,
):  # fmt: skip
    """Write codes and weights; returns killing weights, degrees, and the label edges."""
    label_of = np.empty(label_edges[-1], dtype=np.int32)
    label_weight = np.empty(label_edges[-1])
    killing = np.zeros(nodes.size)
    degree = np.empty(nodes.size)
    for i in range(nodes.size):
        u = nodes[i]
        killed = anchors[u]
        total = 0.0
        at = slots[i + 1]
        edge = label_edges[i + 1]
        for e in range(indptr[u + 1] - 1, indptr[u] - 1, -1):  # neighbours fill the row's end
            v = indices[e]
            if v == u or data[e] == 0.0:
                continue
            if blocked[v]:
                killed += abs(data[e])
                edge -= 1
                label_of[edge] = position[v]
                label_weight[edge] = gauge[u] * data[e]
                continue
            at -= 1
            negative = (data[e] < 0.0) != (gauge[u] != gauge[v])
            code[at] = 2 * position[v] + int(negative)
            total += abs(data[e])
            if unit == 0.0:
                weight[at] = abs(data[e])
        for kill in range(slots[i], at):
            code[kill] = -1
            if unit == 0.0:
                weight[kill] = killed
        killing[i] = killed
        degree[i] = total + killed
    return killing, degree, label_of, label_weight


def _step_bound(
    component: np.ndarray, killing: np.ndarray, degree: np.ndarray, lift: np.ndarray
) -> float:
    """Lower bound of the mean number of steps, from the constant mode of each component.

    The steps on one sheet are the trace of the inverse of ``I - diag(1/d) |S|``. A
    component's least eigenvalue is at most ``sum k / sum d`` (its Rayleigh quotient at the constant
    vector), and every state takes at least one step.
    """
    if not killing.size:
        return 0.0
    kills = np.bincount(component, killing)
    present = kills > 0
    slowest = np.bincount(component, degree)[present] / kills[present]
    return float(max(slowest.sum(), degree.size) + np.count_nonzero(lift))
