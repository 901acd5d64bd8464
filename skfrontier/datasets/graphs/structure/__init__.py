"""Tables with a graph behind them."""

from skfrontier.datasets.graphs.structure.graphs import make_graph
from skfrontier.datasets.graphs.structure.tables import (
    make_gaussian_graph,
    make_ising,
    make_mixed_tree,
)

__all__ = ["make_gaussian_graph", "make_graph", "make_ising", "make_mixed_tree"]
