"""Exact distance from each point to its nearest reference: the methods and the choice between them."""

import math
import warnings
from typing import Any, Literal, Protocol, overload

import numpy as np

from skfrontier.algos._validation import check_choice, check_flag, check_n_jobs, check_points
from skfrontier.algos.geometry.chamfer.brute import BruteSearch
from skfrontier.algos.geometry.chamfer.grid import MOST_FEATURES as GRID_FEATURES
from skfrontier.algos.geometry.chamfer.grid import GridSearch
from skfrontier.algos.geometry.chamfer.lp import LpSearch
from skfrontier.algos.geometry.chamfer.metric import Metric, OverflowWarning
from skfrontier.algos.geometry.chamfer.power_sums import QUARTER_POWERS
from skfrontier.algos.geometry.chamfer.scaling import check_directions
from skfrontier.algos.geometry.chamfer.tree import MOST_FEATURES as TREE_FEATURES
from skfrontier.algos.geometry.chamfer.tree import STEEPEST_P, TreeSearch

METHODS = ("auto", "brute", "tree", "grid")

# Nanoseconds on one core with AVX2. The choice between methods follows these figures and never a
# clock: it must not depend on what else the machine is doing.
PAIR_PRODUCT = 0.8  # one pair of points, whatever the number of features: p = 2, angles
PAIR_ABSOLUTE = 1.8  # p = 1, whose kernel goes through few features slowly
PAIR = 0.4  # other p
PRODUCT = 0.026  # one feature of one pair: matrix product (p = 2, angles)
ABSOLUTE = 0.065  # p = 1
QUARTER = 0.3  # p = 1.25, 1.5, 1.75
POWER = 0.9  # other p
TREE_QUERY = 12.0  # times 2**d log2(n_B); less on clustered points, more on uniform ones
TREE_POWERS = 2.5  # times that, for p whose powers are neither squares nor absolute values
GRID_QUERY = 700.0

GRID_LEAST_POINTS = 2000  # fewer references are not worth a grid
GRID_CROWDED = 32.0  # references a cell from which on a tree is faster


class ExactSearch(Protocol):
    """What every search class offers: nearest references of a batch of rows."""

    method: str  # the name that results carry

    def query(self, A: np.ndarray, n_jobs: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return distances (float64, power not applied) and row numbers, ties to the lowest row."""
        ...


def exact_cost(n_A: float, n_B: float, d: int, metric: Metric, method: str = "auto") -> float:
    """Return the predicted nanoseconds of an exact search on one core; infinity if not applicable.

    Parameters
    ----------
    n_A, n_B : float
        Numbers of queries and of references.
    d : int
        Number of features.
    metric : Metric
        The distance.
    method : {'auto', 'brute', 'tree', 'grid'}, default='auto'
        'auto' is the least of the three.
    """
    if method == "auto":
        return min(exact_cost(n_A, n_B, d, metric, each) for each in METHODS[1:])
    if method == "brute":
        pair = {1.0: PAIR_ABSOLUTE, 2.0: PAIR_PRODUCT}.get(metric.p, PAIR)
        return n_A * n_B * (_feature_cost(metric) * d + pair)
    if method == "tree":
        steep = STEEPEST_P < metric.p < math.inf
        if d > TREE_FEATURES or steep:
            return math.inf
        powers = 1.0 if metric.p in (1.0, 2.0, math.inf) else TREE_POWERS
        return TREE_QUERY * powers * n_A * 2.0**d * math.log2(n_B + 1)
    grid_fits = d <= GRID_FEATURES and metric.p == 2.0 and not metric.angular
    return GRID_QUERY * n_A if grid_fits and n_B >= GRID_LEAST_POINTS else math.inf


def _feature_cost(metric: Metric) -> float:
    if metric.p == 2.0:
        return PRODUCT
    if metric.p == 1.0:
        return ABSOLUTE
    return QUARTER if metric.p in QUARTER_POWERS else POWER


def prepare_search(
    B: np.ndarray, metric: Metric, method: str = "auto", *, block_size: int = 4096
) -> ExactSearch:
    """Return the search structure of ``method`` over validated references ``B``.

    ``block_size`` bounds the references that an all-pairs search compares at a time.

    Raises
    ------
    ValueError
        If ``method`` is unknown or cannot search with this metric or number of features.
    """
    check_choice(method, "method", METHODS)
    if method == "grid":
        return GridSearch(B, metric)
    if method == "tree":
        return TreeSearch(B, metric)
    if method == "brute":
        return _all_pairs(B, metric, block_size)
    n_B, d = B.shape
    costs = {each: exact_cost(1.0, n_B, d, metric, each) for each in METHODS[1:]}
    cheapest = min(costs, key=lambda each: costs[each])
    if cheapest == "grid":
        grid = GridSearch(B, metric)
        if grid.occupancy <= GRID_CROWDED:
            return grid
        cheapest = "tree"
    return TreeSearch(B, metric) if cheapest == "tree" else _all_pairs(B, metric, block_size)


def _all_pairs(B: np.ndarray, metric: Metric, block_size: int) -> ExactSearch:
    kind = BruteSearch if metric.p == 2.0 else LpSearch
    return kind(B, metric, block_size)


@overload
def nearest_distances(
    A: Any,
    B: Any,
    *,
    p: float = ...,
    metric: str = ...,
    method: str = ...,
    return_index: Literal[False] = ...,
    n_jobs: Any = ...,
) -> np.ndarray: ...
@overload
def nearest_distances(
    A: Any,
    B: Any,
    *,
    p: float = ...,
    metric: str = ...,
    method: str = ...,
    return_index: Literal[True],
    n_jobs: Any = ...,
) -> tuple[np.ndarray, np.ndarray]: ...
def nearest_distances(
    A: Any,
    B: Any,
    *,
    p: float = 2.0,
    metric: str = "minkowski",
    method: str = "auto",
    return_index: bool = False,
    n_jobs: Any = None,
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Exact distance from each row of ``A`` to its nearest row of ``B``.

    Parameters
    ----------
    A : array-like of shape (n_A, n_features)
        The query points; may be empty.
    B : array-like of shape (n_B, n_features)
        The reference points, at least one unless ``A`` is empty.
    p : float, default=2.0
        The norm of ``metric='minkowski'``, from 1 to infinity.
    metric : {'minkowski', 'euclidean', 'sqeuclidean', 'manhattan', 'angular'}, default='minkowski'
        'sqeuclidean' is the squared Euclidean distance, 'angular' the angle over pi, in [0, 1].
    method : {'auto', 'brute', 'tree', 'grid'}, default='auto'
        'brute' measures all pairs, 'tree' is a kd-tree (``p <= 16`` or infinite), 'grid' are
        uniform cells (``p = 2``, at most 3 features). 'auto' takes what a fixed cost formula
        predicts to be cheapest. All give the same values.
    return_index : bool, default=False
        Whether to return the nearest rows too.
    n_jobs : int or None, default=None
        Number of joblib threads over blocks of queries. The values do not depend on it.

    Returns
    -------
    distances : ndarray of shape (n_A,), float64
    index : ndarray of shape (n_A,), intp
        Only if ``return_index``. Of equally near rows, the lowest.

    Raises
    ------
    ValueError
        If an input is not a finite, real, 2-D array, the numbers of features differ, ``B`` is empty
        while ``A`` is not, a row is zero with 'angular', or a parameter is out of its range.

    Notes
    -----
    Guaranteed: each distance is that of float64 differences of the given (float32 or float64)
    coordinates, whatever their common scale or offset (distances below about 1e-160 of the largest
    coordinate may come out as zero). 'brute' with ``p = 2`` runs at the speed of a
    matrix product in the precision of the input, bounds the rounding error of every entry, and
    measures again every reference that the bounds cannot rule out. Work: ``n_A n_B n_features`` for
    'brute', memory a few megabytes beyond one prepared copy of ``B``; about ``2**n_features log
    n_B`` a query for 'tree', a few cells a query for 'grid'.

    Reporting the nearest neighbour of every point exactly is believed to take nearly quadratic time
    in high dimension; for the *sum* of the distances there are near-linear estimates [1]_ [2]_.

    References
    ----------
    .. [1] A. Bakshi, P. Indyk, R. Jayaram, S. Silwal, E. Waingarten, "A Near-Linear Time Algorithm
       for the Chamfer Distance", NeurIPS 2023, arXiv:2307.03043.
    .. [2] Y. Feng, P. Indyk, "Even Faster Algorithm for the Chamfer Distance", ICALP 2025,
       arXiv:2505.08957.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos.geometry.chamfer.exact import nearest_distances
    >>> A = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> B = np.array([[0.0, 1.0], [0.0, 0.0]])
    >>> nearest_distances(A, B)
    array([0.        , 4.24264069])
    >>> distances, index = nearest_distances(A, B, metric="manhattan", return_index=True)
    >>> distances, index
    (array([0., 6.]), array([1, 0]))
    """
    measure = Metric.from_names(metric, p)
    check_choice(method, "method", METHODS)
    check_flag(return_index, "return_index")
    check_n_jobs(n_jobs)
    A, B = check_pair(A, B, measure)
    if len(A) == 0:
        distances, index = np.empty(0), np.empty(0, np.intp)
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # infinities are reported below
            distances, index = prepare_search(B, measure, method).query(A, n_jobs)
        distances = apply_power(distances, measure.power)
    return (distances, index) if return_index else distances


def check_pair(A: Any, B: Any, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
    """Return both point sets validated, with one dtype and one number of features."""
    A = check_points(A, "A")
    B = check_points(B, "B", min_points=1 if len(A) else 0)
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"A and B must have the same number of features, got {A.shape[1]} and {B.shape[1]}."
        )
    if metric.angular:
        A, B = check_directions(A, "A"), check_directions(B, "B")
    dtype = np.result_type(A, B)
    return A.astype(dtype, copy=False), B.astype(dtype, copy=False)


def apply_power(distances: np.ndarray, power: float) -> np.ndarray:
    """Return ``distances ** power``, warning where the result overflows to infinity."""
    with np.errstate(over="ignore"):
        powers = distances if power == 1.0 else distances**power
    warn_infinite(powers)
    return powers


def warn_infinite(distances: np.ndarray) -> None:
    """Warn where distances between finite points came out infinite."""
    if np.isinf(distances).any():
        warnings.warn(
            "a distance exceeds the largest float64 and is reported as infinity; scale the points "
            "down first.",
            OverflowWarning,
            stacklevel=4,
        )
