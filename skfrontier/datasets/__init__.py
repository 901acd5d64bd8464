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
from skfrontier.datasets.graphs.propagation import (
    fetch_bitcoin_alpha,
    fetch_bitcoin_otc,
    fetch_cloister,
    fetch_congress,
    fetch_epinions,
    fetch_highland_tribes,
    fetch_sampson,
    fetch_slashdot,
    fetch_twitter_referendum,
    fetch_wiki_elections,
    make_signed_communities,
    make_signed_random,
)
from skfrontier.datasets.statistics.ballots import fetch_pabulib, fetch_preflib_nominations
from skfrontier.datasets.statistics.capture_histories import load_hares, load_lists
from skfrontier.datasets.statistics.truncated_boolean import make_truncated_boolean

__all__ = [
    "WithdrawingAdversary",
    "fetch_bitcoin_alpha",
    "fetch_bitcoin_otc",
    "fetch_cloister",
    "fetch_congress",
    "fetch_epinions",
    "fetch_highland_tribes",
    "fetch_modelnet10",
    "fetch_open_bandit",
    "fetch_pabulib",
    "fetch_preflib_nominations",
    "fetch_sampson",
    "fetch_slashdot",
    "fetch_twitter_referendum",
    "fetch_wiki_elections",
    "load_digit_clouds",
    "load_hares",
    "load_lists",
    "make_adversarial_bandit",
    "make_bernoulli_bandit",
    "make_chamfer_pair",
    "make_classification_bandit",
    "make_drifting_bandit",
    "make_hidden_window_bandit",
    "make_model_selection_bandit",
    "make_signed_communities",
    "make_signed_random",
    "make_superquadrics",
    "make_switching_bandit",
    "make_truncated_boolean",
]
