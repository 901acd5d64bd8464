"""Errors, coverage and efficiency over repetitions."""

import numpy as np
import pytest

from skfrontier.algos import DNF, Cardinality, ExplicitSet, FullCube, combine_moves, make_truncation
from skfrontier.algos.statistics.truncated_boolean import conditional_fit
from skfrontier.algos.statistics.truncated_boolean.combination import (
    share_from_counts,
    share_from_means,
)
from skfrontier.algos.statistics.truncated_boolean.enumeration import ExponentialFamily, cube
from skfrontier.datasets import make_truncated_boolean
from skfrontier.estimators import TruncatedBooleanProduct


def fit(S, X, **settings):
    return TruncatedBooleanProduct(
        S, **{"random_state": 0, "unidentified": "ignore", **settings}
    ).fit(X)


def covers(model, z, **settings):
    low, high = model.conf_int(**settings).T
    return (low <= z) & (z <= high)


def test_error_falls_with_the_root_of_the_rows():
    S = Cardinality(min=77)
    sizes, errors = (1000, 4000, 16_000), []
    for N in sizes:
        found = []
        for seed in range(4):
            X, z, _ = make_truncated_boolean(
                N, 128, truncation=S, random_state=seed, return_params=True
            )
            error = fit(S, X, covariance="diagonal").natural_parameters_ - z
            found.append(np.sqrt((error**2).mean()))
        errors.append(np.median(found))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.62 <= slope <= -0.38


def test_variance_of_flips_is_that_of_the_flippable_rows():
    q, N, repeats = 3, 20_000, 150
    S = DNF([[-1], [i + 2 for i in range(q)]], q + 1)  # bit 0 is free only when the gate is open
    points = S.enumerate(q + 1)
    alpha = S.flips(points)[:, 0].mean()
    z = np.zeros(q + 1)
    estimates = [
        fit(
            S,
            make_truncated_boolean(N, q + 1, truncation=S, z=z, random_state=seed),
            moves="flips",
            covariance="diagonal",
        ).natural_parameters_[0]
        for seed in range(repeats)
    ]
    # A variance over 150 normal draws has a relative standard error of sqrt(2 / 149), 0.116.
    assert N * alpha * np.var(estimates) / 4 == pytest.approx(1, abs=4 * 0.116)


def test_coverage_of_intervals():
    S = Cardinality(min=14)
    z = np.random.default_rng(0).uniform(-2, 2, 20)
    wald, exact, default = [], [], []
    for seed in range(100):
        X = make_truncated_boolean(400, 20, truncation=S, z=z, random_state=seed)
        model = fit(S, X, moves="flips", covariance="diagonal")
        wald.append(covers(model, z))
        exact.append(covers(model, z, kind="exact"))
        default.append(covers(fit(S, X), z))
    # 2000 dependent intervals: 0.95 +- 3 standard errors of at most 0.01.
    assert 0.92 <= np.mean(wald) <= 0.98
    assert 0.92 <= np.mean(default) <= 0.98
    assert np.mean(exact) >= 0.93


def test_pairs_on_a_slice_are_nearly_the_likelihood():
    S = Cardinality([20])
    ratios = []
    for seed in range(3):
        X, z, _ = make_truncated_boolean(
            2000, 100, truncation=S, random_state=seed, return_params=True
        )
        centred = z - z.mean()
        pairs, likelihood = (
            np.sqrt(((fit(S, X, **settings).natural_parameters_ - centred) ** 2).mean())
            for settings in ({}, {"method": "mle"})
        )
        ratios.append(pairs / likelihood)
    assert np.median(ratios) <= 1.05


def test_unknown_set_is_less_biased_than_taking_the_rows_for_it():
    S = make_truncation("random", 10, random_state=0)
    z = np.random.default_rng(1).uniform(-1, 1, 10)
    corrected, taken, covered = [], [], []
    for seed in range(25):
        X = make_truncated_boolean(1000, 10, truncation=S, z=z, random_state=seed)
        model = fit("support", X)
        corrected.append(model.natural_parameters_ - z)
        covered.append(covers(model, z))
        taken.append(fit(ExplicitSet(X), X, moves="flips").natural_parameters_ - z)
    bias = np.abs(np.mean(corrected, axis=0)).max()
    assert bias <= 0.10
    assert np.abs(np.mean(taken, axis=0)).max() >= 2 * bias
    assert np.mean(covered) >= 0.90


def test_default_beats_flips_on_a_set_without_structure():
    S = make_truncation("random", 10, random_state=0)
    z = np.random.default_rng(1).uniform(-1, 1, 10)
    best = np.linalg.inv(ExponentialFamily(S.points).covariance(z)) / 3000
    ours, flips, covered, shares = [], [], [], []
    for seed in range(15):
        X = make_truncated_boolean(3000, 10, truncation=S, z=z, random_state=seed)
        model, plain = fit(S, X), fit(S, X, moves="flips")
        assert model.moves_ == "optimal"
        ours.append(((model.natural_parameters_ - z) ** 2).sum())
        flips.append(((plain.natural_parameters_ - z) ** 2).sum())
        covered.append(covers(model, z))
        shares.append(plain.efficiency_ - np.trace(best) / (plain.stderr_**2).sum())
    assert np.mean(ours) <= 0.75 * np.mean(flips)
    assert 0.90 <= np.mean(covered) <= 0.995
    assert abs(np.mean(shares)) <= 0.05


def test_bounds_of_the_efficiency_are_ordered():
    S = make_truncation("halfspace", 12, random_state=0)
    X = make_truncated_boolean(3000, 12, truncation=S, random_state=0)
    model = fit(S, X, moves="flips")
    trace = (model.stderr_**2).sum()
    from_counts = share_from_counts(3000, *model.counts_, trace)
    from_means = share_from_means(3000, X.mean(axis=0), trace)
    assert from_counts <= from_means + 1e-12
    assert from_means <= model.efficiency_ + 0.02
    stays = fit(S, X, target_efficiency=0.0)
    assert stays.moves_ == "flips"


def test_rows_that_cannot_move_change_only_the_influence():
    S = ExplicitSet(np.vstack([cube(5)[:8], [[1, 1, 1, 1, 1]]]))  # the last point has no neighbour
    X = cube(5)[np.random.default_rng(0).integers(0, 8, 200)]
    alone = np.ones((50, 5), np.uint8)
    assert not S.flips(alone[:1]).any()
    before, after = fit(S, X, moves="flips"), fit(S, np.vstack([X, alone]), moves="flips")
    np.testing.assert_array_equal(before.natural_parameters_, after.natural_parameters_)
    np.testing.assert_array_equal(before.stderr_, after.stderr_)
    assert (after.influence_[:3] < before.influence_[:3]).all()


def test_combination_without_truncation_is_the_flips():
    X = (np.random.default_rng(0).random((500, 4)) < 0.4).astype(int)
    found = combine_moves(X, FullCube(), [[0, 1], [2, 3]])
    plain = fit(None, X, moves="flips")
    np.testing.assert_allclose(found.z, plain.natural_parameters_, atol=1e-10)


def test_many_features_are_combined_in_blocks(monkeypatch):
    S = make_truncation("random", 10, random_state=0)
    X, z, _ = make_truncated_boolean(3000, 10, truncation=S, random_state=0, return_params=True)
    whole, plain = fit(S, X), fit(S, X, moves="flips")
    monkeypatch.setattr(conditional_fit, "_STACKED_LIMIT", 5)
    blocks = fit(S, X)
    assert blocks.moves_ == "optimal"
    assert blocks.covariance_ is None
    assert (blocks.stderr_**2).sum() < 0.8 * (plain.stderr_**2).sum()
    # One block holds all ten coordinates here, so only the standard errors differ, by their 64 signs.
    np.testing.assert_allclose(blocks.natural_parameters_, whole.natural_parameters_, atol=1e-4)
    assert np.abs((blocks.natural_parameters_ - z) / blocks.stderr_).max() < 5
    sliced = Cardinality([4])
    Y = make_truncated_boolean(500, 10, truncation=sliced, random_state=0)
    assert fit(sliced, Y, moves="optimal").moves_ == "pairs"
