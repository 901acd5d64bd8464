"""Exact distance from each point to its nearest reference: the methods and the choice between them."""

import math
import warnings
from typing import Any, Literal, Protocol, overload

import numpy as np

from skfrontier.algos._validation import check_choice, check_points
from skfrontier.algos.geometry.chamfer.brute import BruteSearch
from skfrontier.algos.geometry.chamfer.grid import MOST_FEATURES as GRID_FEATURES
from skfrontier.algos.geometry.chamfer.grid import GridSearch
from skfrontier.algos.geometry.chamfer.lp import LpSearch
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.power_sums import QUARTER_POWERS
from skfrontier.algos.geometry.chamfer.scaling import check_nonzero_rows
from skfrontier.algos.geometry.chamfer.tree import MOST_FEATURES as TREE_FEATURES
from skfrontier.algos.geometry.chamfer.tree import STEEPEST_P, TreeSearch

METHODS = ("auto", "brute", "tree", "grid")

# Nanoseconds on one core with AVX2. The choice between methods follows these figures and never a
# clock: it must not depend on what else the machine is doing.
PAIR = 0.4  # one pair of points, whatever the number of features
PRODUCT = 0.035  # one feature of one pair: matrix product (p = 2, angles)
ABSOLUTE = 0.07  # p = 1
QUARTER = 0.3  # p = 1.25, 1.5, 1.75
POWER = 0.8  # other p
TREE_QUERY = 400.0  # times 2**d
GRID_QUERY = 700.0

GRID_LEAST_POINTS = 2000  # fewer references are not worth a grid
GRID_CROWDED = 32.0  # references a cell from which on a tree is faster


class ExactSearch(Protocol):
    """What every search class offers: nearest references of a batch of rows."""

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
        return n_A * n_B * (_feature_cost(metric) * d + PAIR)
    if method == "tree":
        steep = STEEPEST_P < metric.p < math.inf
        return math.inf if d > TREE_FEATURES or steep else TREE_QUERY * n_A * 2.0**d
    grid_fits = d <= GRID_FEATURES and metric.p == 2.0 and not metric.angular
    return GRID_QUERY * n_A if grid_fits and n_B >= GRID_LEAST_POINTS else math.inf


def _feature_cost(metric: Metric) -> float:
    if metric.p == 2.0:
        return PRODUCT
    if metric.p == 1.0:
        return ABSOLUTE
    return QUARTER if metric.p in QUARTER_POWERS else POWER


def prepare_search(B: np.ndarray, metric: Metric, method: str = "auto") -> ExactSearch:
    """Return the search structure of ``method`` over validated references ``B``.

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
        return _all_pairs(B, metric)
    costs = {each: exact_cost(1.0, *B.shape, metric, each) for each in METHODS[1:]}
    cheapest = min(costs, key=lambda each: costs[each])
    if cheapest == "grid":
        grid = GridSearch(B, metric)
        if grid.occupancy <= GRID_CROWDED:
            return grid
        cheapest = "tree"
    return TreeSearch(B, metric) if cheapest == "tree" else _all_pairs(B, metric)


def _all_pairs(B: np.ndarray, metric: Metric) -> ExactSearch:
    return BruteSearch(B, metric) if metric.p == 2.0 else LpSearch(B, metric)
