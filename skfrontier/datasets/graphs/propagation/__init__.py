"""Signed graphs: generators and data."""

from skfrontier.datasets.graphs.propagation.networks import (
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
)
from skfrontier.datasets.graphs.propagation.random_graphs import (
    make_signed_communities,
    make_signed_random,
)

__all__ = [
    "fetch_bitcoin_alpha",
    "fetch_bitcoin_otc",
    "fetch_cloister",
    "fetch_congress",
    "fetch_epinions",
    "fetch_highland_tribes",
    "fetch_sampson",
    "fetch_slashdot",
    "fetch_twitter_referendum",
    "fetch_wiki_elections",
    "make_signed_communities",
    "make_signed_random",
]
