"""Structure of graphical models."""

from skfrontier.estimators.graphs.structure.display import EdgePathDisplay, GraphDisplay
from skfrontier.estimators.graphs.structure.graph_acv import GraphACV, GraphPath

__all__ = ["EdgePathDisplay", "GraphACV", "GraphDisplay", "GraphPath"]
