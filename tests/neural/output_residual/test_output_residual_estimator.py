"""The transformer: scikit-learn's checks, the choice of the split, groups, streams, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.algos import matmul_cost
from skfrontier.datasets import make_group_subspace
from skfrontier.estimators import OutputResidualApproximator


@parametrize_with_checks(
    [
        OutputResidualApproximator(random_state=0),
        OutputResidualApproximator(budget=0.9, structure="svd", random_state=0),
    ]
)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def layer():
    """Groups in their own subspaces, flattened, their labels, and a weight."""
    X = make_group_subspace(12, 60, 48, 3, noise=0.1, random_state=0)
    W = np.random.default_rng(1).normal(size=(48, 40))
    return X.reshape(-1, 48), np.repeat(np.arange(12), 60), W


def relative_miss(Y, X, W):
    return np.linalg.norm(Y - X @ W) / np.linalg.norm(X @ W)


def test_groups_of_low_rank_get_a_correction(layer):
    X, groups, W = layer
    model = OutputResidualApproximator(weight=W, budget=0.5, random_state=0).fit(X, groups=groups)
    assert model.dynamic_rank_ > 0
    assert len(model.search_) == 21
    static = OutputResidualApproximator(weight=W, budget=0.5, dynamic_rank=0).fit(X, groups=groups)
    fresh = make_group_subspace(48, 60, 48, 3, noise=0.1, random_state=5)
    labels, flat = np.repeat(np.arange(48), 60), fresh.reshape(-1, 48)
    outputs = [m.transform(flat, groups=labels) for m in (model, static)]
    misses = [relative_miss(Y, flat, W) for Y in outputs]
    assert misses[0] < 0.6 * misses[1]
    each = [
        relative_miss(Y, X, W) for Y, X in zip(outputs[0].reshape(48, 60, 40), fresh, strict=True)
    ]
    stderr = np.std(each, ddof=1) * np.sqrt(1 / 12 + 1 / 48)
    assert abs(model.calibration_error_ - misses[0]) < 4 * stderr
    model.transform(flat, groups=labels)
    assert model.transform_cost_ratio_ <= 0.5 + 4 * (48 + 2 * model.dynamic_rank_) / (48 * 40)


def test_the_hedge_takes_the_largest_correction_within_its_price(layer):
    X, groups, W = layer
    model = OutputResidualApproximator(weight=W, budget=0.5, hedge=0.3).fit(X, groups=groups)
    best = min(split.error for split in model.search_)
    near = [split for split in model.search_ if split.error <= 1.3 * best]
    assert model.dynamic_rank_ == max(split.dynamic_rank for split in near)
    plain = clone(model).set_params(hedge=0).fit(X, groups=groups)
    assert plain.calibration_error_ == best


@pytest.mark.parametrize("budget", [0.1, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("sizes", [[60] * 12, [700, 12, 4, 2, 1, 1], [240, 480]])
def test_multiply_adds_stay_within_the_budget(layer, budget, sizes):
    X, _, W = layer
    groups = np.repeat(np.arange(len(sizes)), sizes)
    model = OutputResidualApproximator(weight=W, budget=budget, n_probes=0, hedge=10)
    for calibration in (groups, np.repeat(np.arange(12), 60)):
        model.fit(X, groups=calibration).transform(X, groups=groups)
        assert model.transform_cost_ratio_ <= budget * (1 + 1e-12)
        assert model.cost_ratio_ <= budget * (1 + 1e-12)
    assert np.isnan(model.error_)


def test_scattered_groups_are_the_same_as_contiguous_ones(layer):
    X, groups, W = layer
    model = OutputResidualApproximator(weight=W, budget=0.5, random_state=0).fit(X, groups=groups)
    expected = model.transform(X, groups=groups)
    shuffled = np.random.default_rng(0).permutation(len(X))
    scattered = clone(model).fit(X[shuffled], groups=groups[shuffled].astype(str))
    assert scattered.dynamic_rank_ == model.dynamic_rank_
    output = model.transform(X[shuffled], groups=groups[shuffled])
    np.testing.assert_allclose(output, expected[shuffled], atol=1e-9)
    by_size = clone(model).set_params(group_size=60).fit(X)
    np.testing.assert_allclose(by_size.transform(X), expected, atol=1e-9)


def test_permuting_groups_permutes_the_rows(layer):
    X, _, W = layer
    model = OutputResidualApproximator(weight=W, budget=0.5, group_size=60).fit(X)
    blocks = np.random.default_rng(0).permutation(12)
    rows = (blocks[:, None] * 60 + np.arange(60)).ravel()
    np.testing.assert_allclose(model.transform(X[rows]), model.transform(X)[rows], atol=1e-10)


def test_one_group_gives_the_static_part_unless_a_rank_is_asked_for(layer):
    X, _, W = layer
    model = OutputResidualApproximator(weight=W, budget=0.5).fit(X)
    assert (model.dynamic_rank_, model.search_, model.structure_) == (0, [], "whitened")
    np.testing.assert_allclose(model.calibration_error_, relative_miss(model.transform(X), X, W))
    asked = OutputResidualApproximator(weight=W, budget=0.5, dynamic_rank=3).fit(X)
    assert asked.dynamic_rank_ == 3
    assert asked.sketch_.shape == (48, 3)
    assert matmul_cost(len(X), 48, 40, asked.rank_, 3) <= 0.5 * len(X) * 48 * 40


def test_bias_is_added_and_error_estimate_ignores_it(layer):
    X, _, W = layer
    plain = OutputResidualApproximator(weight=W, group_size=60, random_state=0).fit(X)
    biased = clone(plain).set_params(bias=np.full(40, 100.0)).fit(X)
    np.testing.assert_allclose(biased.transform(X), plain.transform(X) + 100, rtol=1e-12)
    assert biased.error_ == plain.error_


def test_error_estimate_is_near_the_error_in_most_draws(layer):
    X, _, W = layer
    fresh = make_group_subspace(6, 60, 48, 3, noise=0.1, random_state=5).reshape(-1, 48)
    near = 0
    for seed in range(100):
        model = OutputResidualApproximator(
            weight=W, budget=0.5, structure="whitened", dynamic_rank=4, group_size=60, n_probes=16,
            random_state=seed,
        ).fit(X)  # fmt: skip
        truth = relative_miss(model.transform(fresh), fresh, W)
        near += abs(model.error_ / truth - 1) <= 0.35
    assert near >= 95


def test_streamed_moments_are_those_of_all_rows(layer):
    X, _, W = layer
    whole = OutputResidualApproximator(weight=W, budget=0.5, random_state=0).fit(X)
    stream = OutputResidualApproximator(weight=W, budget=0.5, random_state=0)
    for chunk in np.split(X, 4):
        stream.partial_fit(chunk)
    np.testing.assert_allclose(stream.second_moment_, whole.second_moment_, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(stream.transform(X), whole.transform(X), atol=1e-8)
    np.testing.assert_allclose(stream.calibration_error_, whole.calibration_error_, rtol=1e-8)


def test_more_rows_keep_the_ranks_and_follow_the_new_law(layer):
    X, groups, W = layer
    model = OutputResidualApproximator(weight=W, budget=0.5, structure="whitened", dynamic_rank=0)
    model.fit(X, groups=groups)
    ranks = model.rank_, model.dynamic_rank_, model.structure_, len(model.search_)
    other = np.random.default_rng(3).normal(size=(5000, 2)) @ np.random.default_rng(4).normal(
        size=(2, 48)
    )
    before = relative_miss(model.transform(other[:60]), other[:60], W)
    model.partial_fit(10 * other)
    assert ranks == (model.rank_, model.dynamic_rank_, model.structure_, len(model.search_))
    after = relative_miss(model.transform(other[:60]), other[:60], W)
    assert after < before
    assert after < 0.01


@pytest.mark.parametrize("rank", ["auto", "adaptive"])
def test_pickled_model_continues_identically(layer, rank):
    X, _, W = layer
    model = OutputResidualApproximator(
        weight=W, budget=0.5, group_size=60, dynamic_rank=rank, random_state=0
    ).fit(X)
    for _ in range(2):
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.transform(X), model.transform(X))
        assert copy.error_ == model.error_
        model.partial_fit(X[:100])
        copy.partial_fit(X[:100])
        np.testing.assert_array_equal(copy.transform(X), model.transform(X))
    model.set_params(budget=0.9, group_size=7)  # parameters are those of the first call
    np.testing.assert_array_equal(copy.transform(X), model.transform(X))


def test_bad_partial_fit_changes_nothing(layer):
    X, _, W = layer
    model = OutputResidualApproximator(weight=W, budget=0.5, random_state=0).fit(X)
    state = pickle.dumps(model)
    for bad in (X[:, :5], np.full((2, 48), np.nan), "no"):
        with pytest.raises(ValueError):
            model.partial_fit(bad)
    assert pickle.dumps(model) == state


def test_adaptive_correction_keeps_its_error_when_the_inputs_change():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(96, 96))
    home = rng.normal(size=(1200, 8)) @ rng.normal(size=(8, 96)) + 0.01 * rng.normal(
        size=(1200, 96)
    )
    away = rng.normal(size=(600, 8)) @ rng.normal(size=(8, 96)) + 0.01 * rng.normal(size=(600, 96))
    options = {"weight": W, "budget": 0.3, "group_size": 200, "n_probes": 8, "random_state": 0}
    adaptive = OutputResidualApproximator(dynamic_rank="adaptive", tolerance=0.05, **options).fit(
        home
    )
    fixed = OutputResidualApproximator(hedge=0, **options).fit(home)
    assert relative_miss(adaptive.transform(home), home, W) < 0.06
    cheap = adaptive.transform_cost_ratio_
    assert relative_miss(adaptive.transform(away), away, W) < 0.1
    assert adaptive.transform_cost_ratio_ > cheap
    assert relative_miss(fixed.transform(away), away, W) > 0.3


@pytest.mark.parametrize("fill", [0.0, 3.0])
def test_constant_inputs_are_fine(fill):
    X = np.full((40, 6), fill)
    W = np.random.default_rng(0).normal(size=(6, 6))
    for rank in ("auto", "adaptive", 1):
        model = OutputResidualApproximator(
            weight=W, budget=0.9, group_size=10, dynamic_rank=rank, random_state=0
        )
        np.testing.assert_allclose(model.fit(X).transform(X), X @ W, atol=1e-9)
        assert model.error_ <= 1e-6


def test_float32_in_float32_out(layer):
    X, _, W = layer
    model = OutputResidualApproximator(weight=W, budget=0.5, group_size=60, random_state=0)
    expected = clone(model).fit(X).transform(X)
    small = model.fit(X.astype(np.float32))
    output = small.transform(X.astype(np.float32))
    assert output.dtype == small.residual_.dtype == small.sketch_.dtype == np.float32
    assert np.linalg.norm(output - expected) <= 1e-4 * np.linalg.norm(expected)


def test_names_and_pandas_output(layer):
    X, _, W = layer
    model = OutputResidualApproximator(weight=W).fit(X)
    names = model.get_feature_names_out()
    assert len(names) == 40
    assert names[0] == "outputresidualapproximator0"


def test_error_is_known_only_after_a_transform(layer):
    X, _, W = layer
    model = OutputResidualApproximator(weight=W).fit(X)
    with pytest.raises(AttributeError, match="not transformed"):
        _ = model.error_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 0}, "budget must lie in"),
        ({"budget": 1.5}, "budget must lie in"),
        ({"budget": 0.01}, r"too small for rank 1.*smallest is 0\.0459"),
        ({"weight": np.zeros(48)}, "weight must be 2-D"),
        ({"weight": np.zeros((5, 40))}, "weight has 5 rows, but X has 48"),
        ({"weight": np.full((48, 40), np.nan)}, "weight must be finite"),
        ({"bias": np.zeros(3)}, r"bias must hold 40.*\(3,\)"),
        ({"structure": "qr"}, "structure must be one of"),
        ({"dynamic_rank": "some"}, "dynamic_rank must be one of"),
        ({"dynamic_rank": 39}, "costs more than the budget.*largest is"),
        ({"dynamic_rank": -1}, "dynamic_rank must be at least 0"),
        ({"hedge": -0.1}, "hedge must lie in"),
        ({"group_size": 0}, "group_size must be at least 1"),
        ({"n_probes": -1}, "n_probes must be at least 0"),
        ({"dynamic_rank": "adaptive", "n_probes": 0}, "needs n_probes"),
        ({"tolerance": 0}, "tolerance must lie in"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_wrong_parameters_are_named(layer, change, message):
    X, _, W = layer
    with pytest.raises(ValueError, match=message):
        OutputResidualApproximator(**({"weight": W} | change)).fit(X)


def test_groups_of_the_wrong_length_are_named(layer):
    X, groups, W = layer
    with pytest.raises(ValueError, match="one label for each of the 720 rows"):
        OutputResidualApproximator(weight=W).fit(X, groups=groups[:-1])
