"""The generators give what they say."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from skfrontier.datasets import (
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


@pytest.mark.parametrize("gap", [None, 0.3])
def test_switching(gap):
    losses, meta = make_switching_bandit(500, 4, 20, gap=gap, random_state=0, return_meta=True)
    assert losses.shape == (500, 4)
    assert losses.min() >= 0
    assert losses.max() <= 1
    assert meta["n_segments"] <= 20
    assert meta["n_segments"] == 20 or gap is not None  # equal rows may follow each other
    if gap is not None:
        np.testing.assert_allclose(np.sort(losses, axis=1), [[0.2, 0.5, 0.5, 0.5]] * 500)


def test_hidden_windows():
    losses, meta = make_hidden_window_bandit(
        10_000, 3, window=8, gap=0.4, random_state=1, return_meta=True
    )
    assert np.all(losses[:, 0] == 0.5)
    windows = losses[:, 1:].min(axis=1) < 1
    assert windows.sum() == 8 * 100
    assert set(np.unique(losses[:, 1:])) == {0.5 - 0.4, 1.0}
    assert meta["n_segments"] <= 1 + 2 * 100
    assert not make_hidden_window_bandit(1050, n_blocks=10, random_state=0)[1050:, 1:].any()


def test_drift():
    losses = make_drifting_bandit(1000, 4, 2, amplitude=0.3)
    t, a = 137, 2
    assert losses[t, a] == pytest.approx(0.5 + 0.3 * np.sin(2 * np.pi * (2 * t / 1000 + a / 4)))
    coarse = make_drifting_bandit(1000, 4, 2, quantize=10)
    np.testing.assert_allclose(coarse * 10, np.round(coarse * 10), atol=1e-9)


def test_noise_has_its_means():
    means = np.tile([0.1, 0.5, 0.8], (20_000, 1))
    draws = make_bernoulli_bandit(means, random_state=0)
    assert set(np.unique(draws)) == {0.0, 1.0}
    error = np.sqrt(means[0] * (1 - means[0]) / len(means))
    assert np.all(np.abs(draws.mean(axis=0) - means[0]) < 4 * error)
    assert make_adversarial_bandit(100, 4, random_state=0).shape == (100, 4)


def test_the_adversary_withdraws():
    adversary = WithdrawingAdversary(1000, 10, random_state=0)
    oblivious = adversary.oblivious_losses()
    start = int(np.argmin(oblivious[:, 1]))
    np.testing.assert_array_equal(adversary.loss_vector(start), [0.5, 0.0])
    adversary.observe(start, 0)
    np.testing.assert_array_equal(adversary.loss_vector(start + 1), [0.5, 0.0])
    adversary.observe(start + 1, 1)
    np.testing.assert_array_equal(adversary.loss_vector(start + 2), [0.5, 1.0])
    np.testing.assert_array_equal(adversary.oblivious_losses(), oblivious)
    with pytest.raises(ValueError, match="t must lie"):
        adversary.loss_vector(1000)


def test_model_selection():
    X, y = load_iris(return_X_y=True)
    models = [GaussianNB(), DecisionTreeClassifier(max_depth=1, random_state=0)]
    losses, meta = make_model_selection_bandit(
        X, y, models, n_windows=5, rounds_per_window=7, random_state=0, return_meta=True
    )
    assert losses.shape == (35, 2)
    assert np.all(np.diff(losses.reshape(5, 7, 2), axis=1) == 0)
    np.testing.assert_allclose(losses * 60, np.round(losses * 60), atol=1e-9)
    assert set(meta["change_points"]) <= {7, 14, 21, 28}
    again = make_model_selection_bandit(
        X, y, models, n_windows=5, rounds_per_window=7, random_state=0
    )
    np.testing.assert_array_equal(again, losses)
    assert not hasattr(models[0], "theta_")


def test_classification():
    losses = make_classification_bandit(np.zeros((3, 2)), [5, 7, 5])
    np.testing.assert_array_equal(losses, [[0, 1], [1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_switching_bandit(10, 2, 11), "n_segments"),
        (lambda: make_switching_bandit(10, 2, 3, gap=0.6), "gap"),
        (lambda: make_hidden_window_bandit(10, 1), "n_arms"),
        (lambda: make_drifting_bandit(10, 2, amplitude=0.6), "amplitude"),
        (lambda: make_bernoulli_bandit([[1.5]]), "means"),
        (lambda: make_adversarial_bandit(10, 2, kind="other"), "kind"),
        (lambda: WithdrawingAdversary(10, 2, alpha=2.0), "alpha"),
        (lambda: make_model_selection_bandit([[0.0]], [0], []), "X and y"),
        (lambda: make_classification_bandit([0], [0, 1]), "X and y"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_open_bandit():
    try:
        log = fetch_open_bandit(download_if_missing=False)
    except OSError as error:
        pytest.skip(str(error))
    assert all(values.shape == (10_000,) for values in log.values())
    assert set(np.unique(log["arm"])) == set(range(80))
    np.testing.assert_allclose(log["propensity"], 1 / 80)
    assert log["click"].sum() == 38


def test_open_bandit_names_are_checked():
    with pytest.raises(ValueError, match="campaign"):
        fetch_open_bandit(campaign="pets")
    with pytest.raises(OSError, match="random/men"):
        fetch_open_bandit(campaign="men", data_home="/nonexistent", download_if_missing=False)


@pytest.mark.parametrize(("n_rounds", "n_blocks"), [(1050, 10), (1999, 199), (100, 60), (7, 7)])
def test_hidden_windows_have_the_number_of_blocks_asked_for(n_rounds, n_blocks):
    length = n_rounds // n_blocks
    losses = make_hidden_window_bandit(
        n_rounds, 3, window=length // 2, n_blocks=n_blocks, random_state=0
    )
    assert (losses[:, 1:] == 0).sum() == n_blocks * (length // 2)
    assert not (losses[n_blocks * length :, 1:] == 0).any()
    with pytest.raises(ValueError, match="n_blocks must be at most"):
        make_hidden_window_bandit(n_rounds, 3, n_blocks=n_rounds + 1)
