"""Tables with a graph behind them."""

from skfrontier.datasets.graphs.structure.graphs import make_graph
from skfrontier.datasets.graphs.structure.measured import fetch_sachs, fetch_stock_moves
from skfrontier.datasets.graphs.structure.tables import (
    make_gaussian_graph,
    make_ising,
    make_mixed_tree,
)

__all__ = [
    "fetch_sachs",
    "fetch_stock_moves",
    "make_gaussian_graph",
    "make_graph",
    "make_ising",
    "make_mixed_tree",
]
