"""Loss matrices for bandits: generators, an adversary, learning problems, logged choices."""

from skfrontier.datasets.decisions.bandits.adversary import WithdrawingAdversary
from skfrontier.datasets.decisions.bandits.learning import (
    make_classification_bandit,
    make_model_selection_bandit,
)
from skfrontier.datasets.decisions.bandits.open_bandit import fetch_open_bandit
from skfrontier.datasets.decisions.bandits.sequences import (
    make_adversarial_bandit,
    make_bernoulli_bandit,
    make_drifting_bandit,
    make_hidden_window_bandit,
    make_switching_bandit,
)

__all__ = [
    "WithdrawingAdversary",
    "fetch_open_bandit",
    "make_adversarial_bandit",
    "make_bernoulli_bandit",
    "make_classification_bandit",
    "make_drifting_bandit",
    "make_hidden_window_bandit",
    "make_model_selection_bandit",
    "make_switching_bandit",
]
