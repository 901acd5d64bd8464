"""The functional core beside enumeration, direct sums and peers."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, gammaln, logsumexp

from skfrontier.algos import (
    CNF,
    Cardinality,
    ExplicitSet,
    Halfspaces,
    cardinality_moments,
    cardinality_sample,
    combine_moves,
    conditional_logit,
    estimated_efficiency,
    gibbs_truncated,
    importance_log_mass,
    make_truncation,
    move_null_space,
    pack_bits,
    pair_conditional_fit,
    support_conditional_fit,
    truncated_sgd,
)
from skfrontier.algos.statistics.truncated_boolean import poisson_binomial
from skfrontier.algos.statistics.truncated_boolean.block_combination import combine_in_blocks
from skfrontier.algos.statistics.truncated_boolean.conditional_fit import (
    FitOptions,
    fit_fibres,
)
from skfrontier.algos.statistics.truncated_boolean.enumeration import cube
from skfrontier.algos.statistics.truncated_boolean.fibre_cells import (
    Penalty,
    cell_loss,
    cell_null_space,
    cells_of_pairs,
    count_cells,
    minimise_cells,
)
from skfrontier.algos.statistics.truncated_boolean.fit_tests import (
    pair_test,
    row_sum_test,
    weighted_chi_square_tail,
)
from skfrontier.algos.statistics.truncated_boolean.flip_counting import count_flips
from skfrontier.algos.statistics.truncated_boolean.flips import penalised_logit
from skfrontier.algos.statistics.truncated_boolean.pairs import interacting
from skfrontier.algos.statistics.truncated_boolean.sets.base import TruncationSet, all_pairs
from skfrontier.algos.statistics.truncated_boolean.support import truncated_binomial
from skfrontier.datasets import make_truncated_boolean

bits = st.integers(0, 1)


def enumerated(truncation):
    """The same set as a bare list of points."""
    return ExplicitSet(truncation.enumerate(truncation.n_features or 10))


@pytest.mark.parametrize(
    "counts", [[0], [10], [3], [0, 10], [2, 3, 4], [9, 10], [0, 5], list(range(1, 11)), [1, 8]]
)
@pytest.mark.parametrize("scale", [0.5, 3.0, 12.0])
def test_cardinality_moments_equal_enumeration(counts, scale):
    z = np.random.default_rng(0).normal(0, scale, 10)
    S = Cardinality(counts)
    reference = ExplicitSet(S.enumerate(10))
    log_mass, mean = cardinality_moments(z, S.allowed(10))
    assert log_mass == pytest.approx(reference.log_mass(z), rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(mean, reference.mean(z), rtol=1e-8, atol=1e-12)


def test_two_far_counts_do_not_underflow():
    n = 3000
    log_mass, mean = cardinality_moments(np.zeros(n), np.isin(np.arange(n + 1), [0, n]))
    assert log_mass == pytest.approx((1 - n) * np.log(2), rel=1e-9)
    np.testing.assert_allclose(mean, 0.5, rtol=1e-9)


def test_banded_table_equals_the_full_one(monkeypatch):
    z = np.random.default_rng(0).uniform(-2, 2, 500)
    for allowed in (np.arange(501) >= 400, np.isin(np.arange(501), [100, 250, 251])):
        banded = cardinality_moments(z, allowed)
        with monkeypatch.context() as patch:
            patch.setattr(poisson_binomial, "_BAND_SDS", 1e9)
            full = cardinality_moments(z, allowed)
        assert banded[0] == pytest.approx(full[0], rel=1e-12)
        np.testing.assert_allclose(banded[1], full[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("S", "n"),
    [
        (Cardinality([2, 5]), 8),
        (Halfspaces([3, 1, 4, 1, 5, 9, 2, 6], 12), 8),
        (Halfspaces([-3, 1, -4, 1, 5, -9, 2, 6], -5), 8),
        (make_truncation("parity", 8), 8),
    ],
)
def test_exact_samples_follow_the_law(S, n):
    z = np.random.default_rng(1).uniform(-1.5, 1.5, n)
    X = S.sample_exact(z, 40_000, 0)
    assert S.contains(X).all()
    points = S.enumerate(n)
    scores = points @ z
    expected = np.exp(scores - logsumexp(scores)) * len(X)
    observed = np.bincount(ExplicitSet(points).find(X), minlength=len(points))
    order = ExplicitSet(points).find(points)
    assert stats.chisquare(observed[order], expected).pvalue > 1e-3


@pytest.mark.parametrize(
    "costs", [[3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [-3, 1, 0, -1, 5, 9, -2, 6, 0, 3]]
)
@pytest.mark.parametrize("bound", [0, 7, 15.5, 39])
def test_knapsack_equals_enumeration(costs, bound):
    z = np.random.default_rng(0).normal(0, 2, 10)
    S = Halfspaces(costs, bound)
    assert S._knapsack is not None
    reference = ExplicitSet(S.enumerate(10))
    assert S.log_mass(z) == pytest.approx(reference.log_mass(z), rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(S.mean(z), reference.mean(z), rtol=1e-9, atol=1e-12)


def test_knapsack_of_tiny_mass_is_the_cardinality():
    z = np.random.default_rng(0).uniform(-1, 1, 400)
    knapsack, at_least = Halfspaces(-np.ones(400), -370), Cardinality(min=370)
    assert knapsack.log_mass(z) == pytest.approx(at_least.log_mass(z), rel=1e-10)
    np.testing.assert_allclose(knapsack.mean(z), at_least.mean(z), rtol=1e-9)
    assert knapsack.sample_exact(z, 20, 0).sum(axis=1).min() >= 370


@pytest.mark.parametrize(("n", "k"), [(50, 30), (100, 85), (400, 370)])
def test_importance_mass_agrees_with_the_exact_one(n, k):
    S = Cardinality(min=k)
    z = np.random.default_rng(0).uniform(-1, 1, n)
    X = S.sample_exact(z, 20_000, 0)
    means = (X.sum(0) + 0.5) / 20_001
    value, stderr, ess = importance_log_mass(
        z, np.log(means / (1 - means)), S.contains, random_state=0
    )
    assert abs(value - S.log_mass(z)) <= 4 * stderr
    assert stderr <= 0.05
    assert ess > 50
    nothing = importance_log_mass(z, z, lambda rows: np.zeros(len(rows), bool), n_draws=10)
    assert np.isnan(nothing.log_mass)
    assert nothing.stderr == np.inf


def direct_moments(m, theta):
    """Sum over 1..m-1 in logarithms."""
    j = np.arange(1, m)
    logs = gammaln(m + 1) - gammaln(j + 1) - gammaln(m - j + 1) + j * theta
    p = np.exp(logs - logsumexp(logs))
    mean = p @ j
    return mean, p @ (j - mean) ** 2


@pytest.mark.parametrize("m", range(2, 10))
def test_truncated_binomial_equals_direct_summation(m):
    for theta in np.linspace(-60, 60, 41):
        mean, variance = truncated_binomial(m, theta)
        expected, spread = direct_moments(m, theta)
        assert mean == pytest.approx(expected, rel=1e-9)
        assert variance == pytest.approx(spread, rel=1e-6, abs=1e-13)


def test_support_fit_maximises_its_likelihood():
    rng = np.random.default_rng(0)
    X = cube(3)[rng.integers(0, 6, 300)]
    z, stderr = support_conditional_fit(X, smoothing=0.0)
    points, counts = np.unique(X, axis=0, return_counts=True)
    index = {tuple(p): c for p, c in zip(points.tolist(), counts, strict=True)}
    for i in range(3):
        score = information = 0.0
        for point, count in index.items():
            other = tuple(b ^ (a == i) for a, b in enumerate(point))
            if point[i] == 1 and other in index:
                mean, variance = direct_moments(count + index[other], z[i])
                score += count - mean
                information += variance
        assert score == pytest.approx(0, abs=1e-6)
        assert stderr[i] == pytest.approx(information**-0.5)
    unknown = support_conditional_fit([[0, 0], [1, 1]])
    np.testing.assert_array_equal(unknown[1], np.inf)


@given(st.integers(0, 10**6), st.integers(4, 9))
@settings(max_examples=60, deadline=None)
def test_signed_components_have_the_numerical_rank(seed, n):
    rng = np.random.default_rng(seed)
    S = ExplicitSet(cube(n)[rng.permutation(2**n)[: rng.integers(2, 3 * n)]])
    X = S.points[rng.integers(len(S.points), size=10)]
    pairs = all_pairs(n)[rng.random(n * (n - 1) // 2) < 0.7]
    if not len(pairs):
        return
    K = S.pair_counts(X, pairs)
    Q = move_null_space(K, pairs, n)
    R = cell_null_space(cells_of_pairs(K, pairs), n)
    assert Q.shape == R.shape
    np.testing.assert_allclose(Q @ Q.T, R @ R.T, atol=1e-8)
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-12)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_pair_counts_add_up_and_flips_are_bounded(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    S = ExplicitSet(cube(n)[rng.permutation(2**n)[: rng.integers(1, 2**n)]])
    X = S.points[rng.integers(len(S.points), size=20)]
    m1, m0 = S.flip_counts(X)
    assert ((m1 >= 0) & (m0 >= 0) & (m1 + m0 <= 20)).all()
    K = S.pair_counts(X, all_pairs(n))
    np.testing.assert_array_equal(K.sum(axis=(1, 2)), 20)
    order = rng.permutation(20)
    np.testing.assert_array_equal(S.flip_counts(X[order]), (m1, m0))
    first, second = S.flip_counts(X[:7]), S.flip_counts(X[7:])
    np.testing.assert_array_equal(np.add(first, second), (m1, m0))


def test_pair_fit_of_a_slice_is_the_bradley_terry_model():
    rng = np.random.default_rng(0)
    S = Cardinality([2])
    X = S.sample_exact(rng.uniform(-1, 1, 6), 500, 0)
    pairs = all_pairs(6)
    z, H, _ = pair_conditional_fit(S.pair_counts(X, pairs), pairs, 6, smoothing=0.0)
    wins = X.T.astype(float) @ (1 - X)
    for i in range(6):
        expected = sum((wins[i, j] + wins[j, i]) * expit(z[i] - z[j]) for j in range(6) if j != i)
        assert wins[i].sum() == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(H.sum(axis=1), 0, atol=1e-8)


def test_conditional_logit_of_pairs_equals_statsmodels():
    discrete = pytest.importorskip("statsmodels.discrete.conditional_models")
    from skfrontier.estimators import TruncatedBooleanProduct

    S = Cardinality([3])
    X = S.sample_exact(np.linspace(-1, 1, 7), 80, 0)
    rows, n = X.shape
    items = np.tile(np.eye(n)[:, 1:], (rows, 1))
    peer = discrete.ConditionalLogit(X.ravel(), items, groups=np.repeat(np.arange(rows), n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = np.concatenate([[0.0], peer.fit(disp=0, method="bfgs", gtol=1e-8).params])
    model = TruncatedBooleanProduct(S, method="mle", smoothing=0, unidentified="ignore").fit(X)
    z = model.natural_parameters_
    np.testing.assert_allclose(z - z[0], theirs, atol=2e-3)


@pytest.mark.parametrize("size", [2, 3])
def test_l1_solution_satisfies_its_optimality_conditions(size):
    S = make_truncation("random", 7, random_state=0)
    X = make_truncated_boolean(600, 7, truncation=S, random_state=0)
    subsets = np.array(list(itertools.combinations(range(7), size)))
    cells = count_cells(X, S, subsets, None).informative()
    l1 = float(np.median(np.abs(cell_loss(cells, np.zeros(7))[1])))  # about half become zero
    z, _ = minimise_cells(cells, np.zeros(7), Penalty(0.5, 0.1), l1=l1, tol=1e-10)
    gradient = cell_loss(cells, z)[1] + Penalty(0.5, 0.1).gradient(z)
    zero = z == 0
    assert zero.any()
    assert (~zero).any()
    assert (np.abs(gradient[zero]) <= l1 * (1 + 1e-6)).all()
    np.testing.assert_allclose(gradient[~zero], -l1 * np.sign(z[~zero]), rtol=1e-5)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=6),
    st.floats(0, 20),
    st.floats(0, 10),
)
@settings(max_examples=100, deadline=None)
def test_penalised_flips_are_minimisers(counts, l1, l2):
    m1, m0 = np.array(counts).T
    z = penalised_logit(m1, m0, smoothing=0.5, l1=l1, l2=l2)

    def loss(z):
        smooth = (m1 + m0 + 1) * np.logaddexp(0, z) - (m1 + 0.5) * z
        return smooth + l1 * np.abs(z) + l2 * z**2 / 2

    for step in (1e-3, -1e-3, 0.1, -0.1):
        assert (loss(z) <= loss(z + step) + 1e-9).all()


def test_theorem_holds_in_every_run():
    n, N, delta = 40, 4000, 0.1
    S = Cardinality(min=24)
    L = np.log(2 * n / delta)
    failures = 0
    for seed in range(60):
        X, z, _ = make_truncated_boolean(N, n, truncation=S, random_state=seed, return_params=True)
        m1, m0 = S.flip_counts(X)
        v, m = expit(z) * expit(-z), m1 + m0
        estimate, _ = conditional_logit(m1, m0, smoothing=0)
        certain = m >= 16 * L / v
        assert certain.any()
        failures += (np.abs(estimate - z)[certain] > 3 * np.sqrt(L / (m * v))[certain]).any()
    assert failures <= delta * 60


def test_far_apart_rows_are_all_zero_with_strong_fields():
    for n in (8, 16, 32):
        S = make_truncation("hadamard", n)
        z = np.full(n, -1.0)
        nonzero = 1 - np.exp(0 - logsumexp(S.points @ z))
        assert nonzero <= (len(S.points) - 1) * np.exp(-n / 2)


def test_combination_is_consistent_and_better_than_flips():
    S = make_truncation("random", 8, random_state=0)
    ours, flips = 0.0, 0.0
    for seed in range(10):
        X, z, _ = make_truncated_boolean(
            3000, 8, truncation=S, random_state=seed, return_params=True
        )
        found = combine_moves(X, S, all_pairs(8))
        ours += ((found.z - z) ** 2).sum()
        flips += ((conditional_logit(*S.flip_counts(X))[0] - z) ** 2).sum()
        assert np.abs((found.z - z) / np.sqrt(np.diag(found.covariance))).max() < 4.5
    assert ours < 0.8 * flips


def test_blocks_agree_with_the_full_combination_within_their_error():
    n = 90
    S = make_truncation("cnf", n, random_state=0)
    rng = np.random.default_rng(0)
    witness = gibbs_start(S, n, rng)
    X = gibbs_truncated(
        np.repeat(witness[None], 3000, 0), np.zeros(n), S, n_sweeps=6, random_state=0
    )
    pairs = S.candidate_pairs(n, 2, rng)
    full = combine_moves(X, S, pairs)
    K = S.pair_counts(X, pairs)
    m1, m0 = S.flip_counts(X)
    z, _ = conditional_logit(m1, m0)
    cells = cells_of_pairs(K, pairs)
    blocks = combine_in_blocks(X, S, pairs, cells, m1 + m0, z, Penalty(0.5), None, rng)
    stderr = np.sqrt(np.diag(full.covariance))
    # 64 signs: each standard error is good to 1 / sqrt(128), about 9 %.
    assert np.abs(blocks.stderr / stderr - 1).max() < 0.45
    assert abs((blocks.stderr / stderr).mean() - 1) < 0.05
    assert np.sqrt((((blocks.z - full.z) / stderr) ** 2).mean()) < 0.3


def gibbs_start(S, n, rng):
    """Some row of a formula, by random walks on broken clauses."""
    x = rng.integers(0, 2, n).astype(np.uint8)
    starts, variables, signs = S._groups[:3]
    for _ in range(100_000):
        broken = [
            g
            for g in range(len(starts) - 1)
            if (x[variables[starts[g] : starts[g + 1]]] != signs[starts[g] : starts[g + 1]]).all()
        ]
        if not broken:
            return x
        g = broken[rng.integers(len(broken))]
        x[variables[rng.integers(starts[g], starts[g + 1])]] ^= 1
    raise AssertionError("no solution was found")


def test_row_signs_estimate_the_sandwich(monkeypatch):
    from skfrontier.algos.statistics.truncated_boolean import conditional_fit, fibre_cells

    S = Cardinality([12])
    X = S.sample_exact(np.random.default_rng(0).uniform(-1, 1, 40), 1500, 0)
    pairs = S.candidate_pairs(40, 8, 0)
    exact = fit_fibres(X, S, None, pairs, FitOptions(rng=np.random.default_rng(0)))
    three = Cardinality([12, 13])
    Y = three.sample_exact(np.random.default_rng(0).uniform(-1, 1, 40), 1500, 0)
    exact = fit_fibres(Y, three, None, pairs, FitOptions(rng=np.random.default_rng(0)))
    monkeypatch.setattr(conditional_fit, "DENSE_LIMIT", 10)
    monkeypatch.setattr(fibre_cells, "DENSE_LIMIT", 10)
    signs = fit_fibres(Y, three, None, pairs, FitOptions(rng=np.random.default_rng(0)))
    np.testing.assert_allclose(signs.z, exact.z, atol=1e-6)
    assert signs.covariance is None
    assert np.abs(signs.stderr / exact.stderr - 1).max() < 0.45
    assert abs((signs.stderr / exact.stderr).mean() - 1) < 0.05


def test_estimated_efficiency_of_complete_rows_is_one():
    X = (np.random.default_rng(0).random((4000, 5)) < 0.3).astype(int)
    _, stderr = conditional_logit(X.sum(0), (1 - X).sum(0))
    assert estimated_efficiency(X, stderr) == pytest.approx(1, abs=0.01)
    assert estimated_efficiency(X, 2 * stderr) == pytest.approx(0.25, abs=0.01)
    assert np.isnan(estimated_efficiency(X[:15], stderr))


def test_sgd_reaches_the_truth_and_stops_on_its_budget():
    S = Cardinality(min=4)
    X, z, _ = make_truncated_boolean(5000, 6, truncation=S, random_state=0, return_params=True)
    fit = truncated_sgd(X, S, steps=4000, random_state=0)
    assert fit.converged
    assert fit.n_steps == 4000
    assert np.sqrt(((fit.z - z) ** 2).mean()) < 0.3
    stopped = truncated_sgd(X, S, steps=4000, max_draws=300, random_state=0)
    assert not stopped.converged
    assert stopped.n_draws <= 300


def test_gibbs_pairs_move_on_a_slice():
    S = Cardinality([3])
    z = np.linspace(-1, 1, 6)
    start = np.zeros((20_000, 6), np.uint8)
    start[:, :3] = 1
    X = gibbs_truncated(start, z, S, pairs=all_pairs(6), n_sweeps=8, random_state=0)
    assert (X.sum(axis=1) == 3).all()
    assert np.abs(X.mean(0) - S.mean(z)).max() < 5 * 0.5 / 20_000**0.5
    np.testing.assert_array_equal(gibbs_truncated(start[:5], z, S, random_state=0), start[:5])
    with pytest.raises(ValueError, match="lie in"):
        gibbs_truncated(np.ones((1, 6)), z, S)


class WithoutClauses(TruncationSet):
    """A formula that only says which corners are allowed: its sweeps are the general ones."""

    def __init__(self, formula):
        self.formula = formula
        self.n_features = formula.n_features

    def _contains(self, X):
        return self.formula._contains(X)

    def _fibre_masks(self, X, subsets):
        return self.formula._fibre_masks(X, subsets)


@pytest.mark.parametrize("with_pairs", [False, True])
@pytest.mark.parametrize("general", [False, True])
def test_gibbs_has_the_law_of_a_formula(general, with_pairs):
    """Started from the law, every coordinate and every product of two keeps its mean."""
    n, N = 9, 40_000
    formula = CNF([[1, 2, -3], [-1, 4], [5, -6, 7], [-7, 8, 9], [2, -9], [-4, -5, 6], [1]], n)
    S = WithoutClauses(formula) if general else formula
    z = np.linspace(-1.5, 1.5, n)
    start = formula.sample_exact(z, N, 0)
    pairs = all_pairs(n) if with_pairs else None
    X = gibbs_truncated(start, z, S, pairs=pairs, n_sweeps=6, random_state=1)
    assert formula.contains(X).all()
    assert (start != X).any(axis=1).mean() > 0.9
    points = formula.enumerate(n)
    p = np.exp(points @ z)
    products = (points.T * (p / p.sum())) @ points  # (i, i) is the mean of coordinate i
    found = X.T.astype(float) @ X / N
    error = np.abs(found - products) / np.sqrt(np.maximum(products * (1 - products), 1e-12) / N)
    assert error[products < 1 - 1e-9].max() < 4.5


def test_gibbs_on_a_formula_reaches_its_law_from_one_row():
    formula = make_truncation("cnf", 10, random_state=3)
    z = np.linspace(-1, 1, 10)
    points = formula.enumerate(10)
    start = np.repeat(points[:1], 20_000, axis=0)
    X = gibbs_truncated(start, z, formula, pairs=all_pairs(10), n_sweeps=40, random_state=0)
    assert np.abs(X.mean(axis=0) - formula.mean(z)).max() < 4.5 * 0.5 / 20_000**0.5
    again = gibbs_truncated(start, z, formula, pairs=all_pairs(10), n_sweeps=40, random_state=0)
    np.testing.assert_array_equal(X, again)
    assert (start == points[0]).all()


def test_counts_do_not_depend_on_chunks(monkeypatch):
    from skfrontier.algos.statistics.truncated_boolean import rows

    S = CNF([[1, 2], [-3, 4]], 5)
    X = make_truncated_boolean(700, 5, truncation=S, random_state=0)
    expected = S.flip_counts(X), S.pair_counts(X, all_pairs(5))
    monkeypatch.setattr(rows, "_CHUNK_BYTES", 100)
    np.testing.assert_array_equal(S.flip_counts(X), expected[0])
    np.testing.assert_array_equal(S.pair_counts(X, all_pairs(5)), expected[1])
    rng = np.random.default_rng(0)
    counts = count_flips(X, S, None, max_oracle_calls=10**6, n_jobs=None, rng=rng)
    np.testing.assert_array_equal((counts.m1, counts.m0), expected[0])


def test_every_bare_set_falls_back_on_contains():
    class Odd(TruncationSet):
        def _contains(self, X):
            return X.sum(axis=1) % 2 == 1

    even_masks = Odd().fibre_masks([[1, 0, 0]], [[0, 1]])
    assert even_masks[0, 0] == 0b0110
    assert not Odd().flips([[1, 0, 0]]).any()
    assert Odd().log_mass(np.zeros(3)) == pytest.approx(np.log(0.5))


@pytest.mark.parametrize(
    "call",
    [
        lambda: conditional_logit([1, 2], [1]),
        lambda: conditional_logit([-1], [1]),
        lambda: conditional_logit([1], [1], smoothing=-1),
        lambda: cardinality_moments([0.0], [True]),
        lambda: cardinality_moments([0.0], [False, False]),
        lambda: cardinality_moments([np.nan], [True, True]),
        lambda: cardinality_sample([0.0], [1, 0], 3),
        lambda: pair_conditional_fit(np.zeros((1, 16, 4)), [[0, 0]], 2),
        lambda: pair_conditional_fit(np.zeros((2, 16, 4)), [[0, 1]], 2),
        lambda: pair_conditional_fit(-np.ones((1, 16, 4)), [[0, 1]], 2),
        lambda: move_null_space(np.zeros((1, 16, 4)), [[0, 5]], 2),
        lambda: combine_moves(np.eye(3), Cardinality([1]), [[0, 1]]),
        lambda: estimated_efficiency(np.eye(3), [1.0]),
        lambda: support_conditional_fit([[0, 1]], [0.5]),
        lambda: importance_log_mass([0.0], [0.0, 1.0], lambda X: X[:, 0] > 0),
        lambda: truncated_sgd([[0, 1]], Cardinality(min=1), lam=0),
        lambda: pack_bits([[2]]),
        lambda: pack_bits([1]),
        lambda: Cardinality(min=1).fibre_masks([[0, 1]], [[0, 1, 2, 3, 4]]),
        lambda: Cardinality(min=1).pair_counts([[0, 1]], [[1, 1]]),
        lambda: make_truncated_boolean(5, 3, truncation=Cardinality(min=1), z=[1.0]),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(ValueError):
        call()


def test_weighted_chi_square_tail():
    equal = weighted_chi_square_tail(12.0, np.ones(5))
    assert equal == pytest.approx(stats.chi2.sf(12.0, 5), rel=1e-9)
    weights = np.array([3.0, 1.0, 0.5, 0.1])
    draws = np.random.default_rng(0).chisquare(1, (400_000, 4)) @ weights
    for value in (8.0, 12.0, 20.0):  # four cumulants fit the upper tail, not the middle
        share = (draws > value).mean()
        assert weighted_chi_square_tail(value, weights) == pytest.approx(share, abs=0.004)


def rows_of_ising(S, h, J, size, rng):
    """Exact rows of an Ising law inside the set."""
    points = S.enumerate(len(h))
    energy = points @ h + ((points @ J) * points).sum(axis=1)
    p = np.exp(energy - energy.max())
    return points[rng.choice(len(points), size, p=p / p.sum())]


def test_fit_tests_keep_their_size_and_complement_each_other():
    n, size, repeats = 8, 1000, 200
    S = Cardinality(min=4)
    h = np.random.default_rng(0).uniform(-1, 1, n)
    signs = np.triu(np.random.default_rng(1).choice([-1, 1], (n, n)), 1)
    laws = {
        "null": np.zeros((n, n)),
        "mixed": 0.25 * signs,
        "common": np.triu(np.full((n, n), 0.2), 1),
    }
    rejected = {name: np.zeros(2) for name in laws}
    for name, J in laws.items():
        for seed in range(repeats if name == "null" else 40):
            X = rows_of_ising(S, h, J, size, np.random.default_rng([seed, 7]))
            m1, m0 = S.flip_counts(X)
            tests = (
                row_sum_test(X, S, m1, m0, None),
                pair_test(X, S, m1, m0, all_pairs(n), None),
            )
            rejected[name] += [test.pvalue < 0.05 for test in tests]
    # Binomial with 0.05: four standard errors are 0.06 for 200 repeats.
    assert (rejected["null"] / repeats <= 0.11).all()
    assert (rejected["null"] > 0).all()
    assert rejected["mixed"][1] >= 36
    assert rejected["mixed"][0] <= 16
    assert rejected["common"][0] >= 32


def test_rejection_gives_up_with_the_acceptance(monkeypatch):
    from skfrontier.datasets.statistics import truncated_boolean

    monkeypatch.setattr(truncated_boolean, "_MAX_DRAWS", 20_000)
    rare = CNF([[i + 1] for i in range(30)])
    with pytest.raises(ValueError, match="acceptance below"):
        make_truncated_boolean(5, 30, truncation=rare)
    with pytest.raises(ValueError, match="exact"):
        make_truncated_boolean(5, 30, truncation=rare, method="exact")


def test_variables_without_a_common_clause_do_not_interact():
    S = make_truncation("cnf", 12, random_state=0)
    X = S.enumerate(12)
    claimed = {
        tuple(pair) for pair in S._interacting_pairs(12, 8, np.random.default_rng(0)).tolist()
    }
    pairs = all_pairs(12)
    found = {tuple(pair) for pair in pairs[interacting(S.pair_counts(X, pairs))].tolist()}
    assert found <= claimed
    assert found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-1, 3))
def test_exact_moments_with_extreme_logits(seed, exponent):
    """Logits of hundreds, for and against the set: nothing underflows, and 1 - p is not rounded away."""
    rng = np.random.default_rng(seed)
    n = 7
    z = rng.normal(size=n) * 10**exponent
    counts = rng.choice(n + 1, rng.integers(1, 4), replace=False).tolist()
    for S in (
        Cardinality(counts),
        Halfspaces(rng.integers(-5, 9, n), int(rng.integers(0, 10))),
    ):
        points = S.enumerate(n)
        scores = points @ z
        log_sum = logsumexp(scores)
        np.testing.assert_allclose(
            S.log_mass(z), log_sum - np.logaddexp(0, z).sum(), rtol=1e-9, atol=1e-9
        )
        np.testing.assert_allclose(S.mean(z), np.exp(scores - log_sum) @ points, atol=1e-8)
        assert S.contains(S.sample_exact(z, 20, 0)).all()
