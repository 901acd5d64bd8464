"""Generators, small shipped data and downloads."""

from skfrontier.datasets.decisions.bandits import (
    WithdrawingAdversary,
    make_adversarial_bandit,
    make_bernoulli_bandit,
    make_classification_bandit,
    make_drifting_bandit,
    make_hidden_window_bandit,
    make_model_selection_bandit,
    make_switching_bandit,
)

__all__ = [
    "WithdrawingAdversary",
    "make_adversarial_bandit",
    "make_bernoulli_bandit",
    "make_classification_bandit",
    "make_drifting_bandit",
    "make_hidden_window_bandit",
    "make_model_selection_bandit",
    "make_switching_bandit",
]
