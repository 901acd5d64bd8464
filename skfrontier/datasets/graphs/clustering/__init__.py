"""Graphs that change: block models, neighbours of arriving points, contacts in schools."""

from skfrontier.datasets.graphs.clustering.block_models import make_evolving_sbm, make_sbm_edges
from skfrontier.datasets.graphs.clustering.contacts import (
    Contacts,
    fetch_high_school,
    fetch_primary_school,
)
from skfrontier.datasets.graphs.clustering.knn_stream import make_knn_stream
from skfrontier.datasets.graphs.clustering.stream import GraphStep, GraphStream

__all__ = [
    "Contacts",
    "GraphStep",
    "GraphStream",
    "fetch_high_school",
    "fetch_primary_school",
    "make_evolving_sbm",
    "make_knn_stream",
    "make_sbm_edges",
]
