"""Generators (``make_*``), small shipped data (``load_*``) and downloads (``fetch_*``)."""

from skfrontier.datasets.decisions.bandits import (
    WithdrawingAdversary,
    fetch_open_bandit,
    make_adversarial_bandit,
    make_bernoulli_bandit,
    make_classification_bandit,
    make_drifting_bandit,
    make_hidden_window_bandit,
    make_model_selection_bandit,
    make_switching_bandit,
)
from skfrontier.datasets.geometry.chamfer import (
    fetch_modelnet10,
    load_digit_clouds,
    make_chamfer_pair,
    make_superquadrics,
)
from skfrontier.datasets.graphs.clustering import (
    Contacts,
    GraphStep,
    GraphStream,
    fetch_high_school,
    fetch_primary_school,
    make_evolving_sbm,
    make_knn_stream,
    make_sbm_edges,
)

__all__ = [
    "Contacts",
    "GraphStep",
    "GraphStream",
    "WithdrawingAdversary",
    "fetch_high_school",
    "fetch_modelnet10",
    "fetch_open_bandit",
    "fetch_primary_school",
    "load_digit_clouds",
    "make_adversarial_bandit",
    "make_bernoulli_bandit",
    "make_chamfer_pair",
    "make_classification_bandit",
    "make_drifting_bandit",
    "make_evolving_sbm",
    "make_hidden_window_bandit",
    "make_knn_stream",
    "make_model_selection_bandit",
    "make_sbm_edges",
    "make_superquadrics",
    "make_switching_bandit",
]
