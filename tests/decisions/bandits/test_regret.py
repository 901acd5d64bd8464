"""Regrets and the exact best switching sequence."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfrontier.algos import (
    best_switching_loss,
    dynamic_regret,
    regret_report,
    static_regret,
    switching_regret,
)
from skfrontier.algos.decisions.bandits.regret import _switching_frontier
from skfrontier.datasets import make_switching_bandit
from skfrontier.estimators import StaticDynamicBandit

matrices = st.tuples(st.integers(1, 30), st.integers(1, 4), st.integers(0, 2**32)).map(
    lambda shape: np.random.default_rng(shape[2]).integers(0, 4, shape[:2]) / 4
)


def enumerate_frontier(losses):
    T, A = losses.shape
    frontier = np.full(T, np.inf)
    for arms in itertools.product(range(A), repeat=T):
        switches = int(np.count_nonzero(np.diff(arms)))
        loss = losses[np.arange(T), arms].sum()
        frontier[switches:] = np.minimum(frontier[switches:], loss)
    return frontier


def test_frontier_equals_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(300):
        T, A = int(rng.integers(1, 8)), int(rng.integers(1, 5))
        losses = rng.random((T, A)) if rng.random() < 0.5 else rng.integers(0, 3, (T, A)) / 2
        expected = enumerate_frontier(losses)
        frontier, arms = best_switching_loss(losses, T, return_arms=True)
        np.testing.assert_allclose(frontier, expected, atol=1e-12)
        np.testing.assert_allclose(best_switching_loss(losses, T), expected, atol=1e-12)
        assert losses[np.arange(T), arms].sum() == pytest.approx(expected[-1])
        S = int(rng.integers(1, T + 1))
        arms = best_switching_loss(losses, S, return_arms=True)[1]
        assert 1 + np.count_nonzero(np.diff(arms)) <= S
        assert losses[np.arange(T), arms].sum() == pytest.approx(expected[S - 1])


def test_frontier_is_not_convex():
    """So a price per switch cannot find all of it."""
    rng = np.random.default_rng(1)
    frontiers = [best_switching_loss(rng.integers(0, 3, (7, 2)), 7) for _ in range(100)]
    assert any(np.diff(f, 2).min() < -1e-9 for f in frontiers)


def test_merging_equal_rows_changes_nothing():
    losses = make_switching_bandit(3000, 6, 40, random_state=0)
    rows = np.arange(len(losses))
    unmerged = _switching_frontier(losses, rows, np.ones_like(rows), 12)
    np.testing.assert_allclose(best_switching_loss(losses, 12), unmerged, rtol=1e-12)


@given(matrices, st.data())
@settings(max_examples=60, deadline=None)
def test_order_of_regrets(losses, data):
    T, A = losses.shape
    arms = np.array(data.draw(st.lists(st.integers(0, A - 1), min_size=T, max_size=T)))
    frontier = best_switching_loss(losses, T)
    assert np.all(np.diff(frontier) <= 1e-12)
    assert frontier[0] == pytest.approx(losses.sum(axis=0).min())
    assert frontier[-1] == pytest.approx(losses.min(axis=1).sum())
    S = data.draw(st.integers(1, T))
    switching = switching_regret(arms, losses, S)
    assert static_regret(arms, losses) - 1e-9 <= switching <= dynamic_regret(arms, losses) + 1e-9
    assert switching_regret(arms, losses, 1) == pytest.approx(static_regret(arms, losses))
    report = regret_report(arms, losses, n_segments=(1, S))
    assert report["switching"][S] == pytest.approx(switching)
    assert report["n_segments_true"] == 1 + np.any(losses[1:] != losses[:-1], axis=1).sum()


def test_cumulative_regrets_end_at_the_totals():
    losses = np.random.default_rng(0).random((50, 3))
    arms = np.random.default_rng(1).integers(3, size=50)
    for regret in (static_regret, dynamic_regret):
        curve = regret(arms, losses, cumulative=True)
        assert curve[-1] == pytest.approx(regret(arms, losses))
        assert curve[9] == pytest.approx(regret(arms[:10], losses[:10]))


def test_more_segments_than_rounds_count_as_all_rounds():
    losses = np.random.default_rng(0).random((5, 2))
    assert best_switching_loss(losses, 50).shape == (5,)
    assert switching_regret([0] * 5, losses, 50) == pytest.approx(dynamic_regret([0] * 5, losses))


@pytest.mark.parametrize(
    ("arms", "losses", "message"),
    [
        ([0, 1], [[0.0, 1.0]], "arms"),
        ([2], [[0.0, 1.0]], "arms must lie in 0..1"),
        ([-1], [[0.0, 1.0]], "arms must lie in 0..1"),
        ([0.5], [[0.0, 1.0]], "arms must be integers"),
        ([0], [0.0], "losses must be 2-D"),
        ([0], [[np.nan, 0.0]], "losses must be finite"),
    ],
)
def test_bad_input(arms, losses, message):
    with pytest.raises(ValueError, match=message):
        static_regret(arms, losses)


def test_bad_frontier_input():
    with pytest.raises(ValueError, match="max_segments"):
        best_switching_loss([[0.0]], 0)
    with pytest.raises(ValueError, match="at least 1 row"):
        best_switching_loss(np.empty((0, 2)), 1)


@pytest.mark.parametrize("function", [static_regret, dynamic_regret])
def test_rewards_are_read_as_the_policy_read_them(function):
    rewards = (np.random.default_rng(0).random((3000, 2)) < [0.3, 0.6]).astype(float)
    result = StaticDynamicBandit(2, maximize=True, random_state=0).run(rewards)
    assert function(result, rewards) == function(result.arms, -rewards)
    assert function(result, rewards) < 1500
    report = regret_report(result, rewards)
    assert report["static"] == static_regret(result.arms, -rewards)
    with pytest.raises(ValueError, match="another matrix"):
        function(result, 1 - rewards)


def test_a_result_belongs_to_its_matrix():
    losses = np.random.default_rng(0).random((200, 3))
    result = StaticDynamicBandit(3, random_state=0).run(losses)
    assert static_regret(result, losses) == static_regret(result.arms, losses)
    with pytest.raises(ValueError, match="another matrix"):
        regret_report(result, losses[::-1])
