"""The whole alignment: recovery, stopping rules, invariances, hard cases; and each of its soft parts."""

import importlib
import warnings

import numpy as np
import pytest

from skfrontier.algos import (
    AmbiguousAlignmentWarning,
    eigen_directions,
    exact_assignment,
    frank_wolfe_start,
    matching_accuracy,
    procrustes_wasserstein,
    procrustes_wasserstein_distance,
    rigid_map,
    rotation_error_degrees,
    sign_candidates,
    sign_free_start,
    soft_continuation,
)
from skfrontier.algos.geometry.procrustes_wasserstein.ping_pong import Alternation
from skfrontier.algos.geometry.procrustes_wasserstein.rigid_map import RigidMap
from skfrontier.algos.geometry.procrustes_wasserstein.settings import Settings
from skfrontier.algos.geometry.procrustes_wasserstein.sign_free import (
    SoftStart,
    axis_model,
    is_settled,
    sign_free_cost,
)
from skfrontier.algos.geometry.procrustes_wasserstein.sinkhorn import (
    AnchorPairs,
    soft_matching,
    squared_distances,
)
from skfrontier.datasets import make_procrustes_wasserstein, make_shape_pair, make_view_pair

starts = importlib.import_module("skfrontier.algos.geometry.procrustes_wasserstein.starts")


def planted(seed=0, n=300, d=20, **options):
    return make_procrustes_wasserstein(n, d, random_state=seed, **options)


def accuracy(data, **options):
    result = procrustes_wasserstein(data.X, data.Y, random_state=0, **options)
    return matching_accuracy(result.assignment, data.assignment)


@pytest.mark.parametrize(
    ("exponent", "noise"),
    [(0, 0.1), (0, 0.3), (0.5, 0.1), (0.5, 0.3), (1, 0.1), (1, 0.2), (1.5, 0.1)],
)
def test_recovers_every_row(exponent, noise):
    for seed in range(3):
        data = planted(seed, spectrum_exponent=exponent, noise=noise)
        assert accuracy(data, method="directions") == 1


def test_beyond_exact_recovery_it_is_as_good_as_the_true_rotation():
    found, known = [], []
    for seed in range(4):
        data = planted(seed, spectrum_exponent=1, noise=0.3)
        found.append(accuracy(data))
        oracle = exact_assignment(data.X @ data.rotation.T, data.Y)
        known.append(matching_accuracy(oracle.assignment, data.assignment))
    assert np.mean(found) >= np.mean(known) - 0.01


def test_label_is_never_exact_on_a_wrong_result():
    for seed in range(3):
        data = planted(seed, spectrum_exponent=0.5, noise=0.55, n=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = procrustes_wasserstein(data.X, data.Y, random_state=0, n_candidates=2)
        wrong = matching_accuracy(result.assignment, data.assignment) < 1
        assert not (wrong and result.recovery == "exact")


def test_no_directions_warns():
    data = planted(0, n=100, d=5, spectrum_exponent=0, noise=0.8)
    with pytest.warns(UserWarning, match="no reliable directions"):
        procrustes_wasserstein(data.X, data.Y, random_state=0, n_candidates=2)


@pytest.mark.parametrize("n", [4, 8, 25])
def test_noiseless_clouds_of_any_size(n):
    d = 3 if n < 8 else 5
    data = planted(n, n=n, d=d, noise=0.0)
    result = procrustes_wasserstein(data.X, data.Y, random_state=0)
    np.testing.assert_array_equal(result.assignment, data.assignment)
    assert result.cost <= 1e-20 * np.trace(np.cov(data.Y.T))


@pytest.mark.parametrize(
    ("exponent", "overlap", "n", "d", "noise"), [(1, 0.6, 500, 20, 0.05), (0, 0.8, 500, 20, 0.05)]
)
def test_partial_overlap_with_a_shift(exponent, overlap, n, d, noise):
    for seed in range(2):
        data = planted(seed, n=n, d=d, spectrum_exponent=exponent, noise=noise, overlap=overlap)
        shifted = procrustes_wasserstein(data.X + 0.5, data.Y, random_state=0)
        assert matching_accuracy(shifted.assignment, data.assignment) >= 0.99


def test_swapped_clouds_give_the_inverse():
    data = planted(0, n=150, d=6, noise=0.05)
    one = procrustes_wasserstein(data.X, data.Y, random_state=0)
    other = procrustes_wasserstein(data.Y, data.X, random_state=0)
    np.testing.assert_array_equal(one.assignment, other.inverse_assignment)
    np.testing.assert_allclose(one.rotation, other.rotation.T, atol=1e-8)
    assert one.cost == pytest.approx(other.cost, rel=1e-8)


def test_more_rows_in_x_than_in_y():
    data = planted(1, n=300, d=8, noise=0.03, overlap=0.8)
    result = procrustes_wasserstein(data.Y, data.X, random_state=0)
    np.testing.assert_array_equal(result.inverse_assignment, data.assignment)
    assert (result.assignment == -1).sum() == 60
    residual = data.Y @ result.rotation.T + result.translation - data.X[result.assignment]
    matched = result.assignment >= 0
    assert result.cost == pytest.approx((residual[matched] ** 2).sum(axis=1).mean(), rel=1e-8)


def test_invariance_to_the_frame_and_to_the_order_of_rows():
    data = planted(2, n=200, d=6, noise=0.05)
    rng = np.random.default_rng(0)
    turn, order = np.linalg.qr(rng.normal(size=(6, 6)))[0], rng.permutation(200)
    base = procrustes_wasserstein(data.X, data.Y, random_state=0)
    turned = procrustes_wasserstein(data.X @ turn + 3, data.Y, random_state=0)
    np.testing.assert_array_equal(base.assignment, turned.assignment)
    assert base.cost == pytest.approx(turned.cost, rel=1e-8)
    np.testing.assert_allclose(turned.rotation, base.rotation @ turn, atol=1e-8)
    shuffled = procrustes_wasserstein(data.X[order], data.Y, random_state=0)
    np.testing.assert_array_equal(shuffled.assignment, base.assignment[order])


def test_cost_is_at_most_the_planted_one():
    for seed in range(3):
        data = planted(seed, n=200, d=10, noise=0.1)
        result = procrustes_wasserstein(data.X, data.Y, random_state=0)
        fitted = rigid_map(data.X, data.Y[data.assignment])
        residual = fitted.apply(data.X) - data.Y[data.assignment]
        assert result.recovery == "exact"
        assert result.cost <= (residual**2).sum(axis=1).mean() * (1 + 1e-10)


def test_distance_is_symmetric_and_above_its_lower_bound():
    rng = np.random.default_rng(0)
    for _ in range(4):
        X, Y = rng.normal(size=(40, 3)) * [3, 2, 1], rng.normal(size=(40, 3)) * [2, 2, 1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            there = procrustes_wasserstein_distance(X, Y, random_state=0, translation=False)
            back = procrustes_wasserstein_distance(Y, X, random_state=0, translation=False)
        gap = np.linalg.svd(X, compute_uv=False) - np.linalg.svd(Y, compute_uv=False)
        assert there >= np.linalg.norm(gap) / np.sqrt(40) - 1e-12
        assert there == pytest.approx(back, rel=0.25)  # both are upper bounds of one value
    data = planted(0, n=100, d=4, noise=0.02)
    one = procrustes_wasserstein_distance(data.X, data.Y, random_state=0)
    other = procrustes_wasserstein_distance(data.Y, data.X, random_state=0)
    assert one == pytest.approx(other, rel=1e-8)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_symmetric_shapes_are_called_ambiguous(noise):
    data = make_shape_pair("ellipsoid", 240, noise=noise, random_state=0)
    with pytest.warns(AmbiguousAlignmentWarning, match="another map costs"):
        result = procrustes_wasserstein(data.X, data.Y, random_state=0)
    assert result.cost_gap <= 1.05
    assert result.cost <= 3.3 * max(noise, 1e-12) ** 2


@pytest.mark.parametrize("kind", ["dented_ellipsoid", "trefoil_tube", "helix_cone"])
def test_shapes_without_symmetry_are_not(kind):
    data = make_shape_pair(kind, 400, noise=0.01, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AmbiguousAlignmentWarning)
        result = procrustes_wasserstein(data.X, data.Y, random_state=0)
    assert rotation_error_degrees(result.rotation, data.rotation) < 1


def test_proper_rotations_only():
    data = make_shape_pair("dented_ellipsoid", 300, noise=0.0, reflection=False, random_state=1)
    kept = procrustes_wasserstein(data.X, data.Y, allow_reflection=False, random_state=0)
    assert np.linalg.det(kept.rotation) == pytest.approx(1)
    np.testing.assert_array_equal(kept.assignment, data.assignment)
    mirrored = procrustes_wasserstein(
        data.X * [1, 1, -1], data.Y, allow_reflection=False, random_state=0
    )
    assert np.linalg.det(mirrored.rotation) == pytest.approx(1)
    assert mirrored.cost > kept.cost + 1e-6


def test_scaling_and_translation_are_planted_ones():
    data = planted(0, n=200, d=8, noise=0.02, scale=3.0, translation=7.0)
    result = procrustes_wasserstein(data.X, data.Y, scaling=True, random_state=0)
    assert result.scale == pytest.approx(3, rel=0.02)
    np.testing.assert_array_equal(result.assignment, data.assignment)
    free = procrustes_wasserstein(data.X, data.X[::-1], translation=False, random_state=0)
    assert (free.translation == 0).all()


def test_anchors_are_honoured_and_help():
    data = planted(0, n=300, d=20, spectrum_exponent=0, noise=0.3)
    rows = np.arange(0, 300, 12)
    anchors = np.column_stack([rows, data.assignment[rows]])
    result = procrustes_wasserstein(data.X, data.Y, anchors=anchors, random_state=0)
    np.testing.assert_array_equal(result.assignment, data.assignment)
    wrong = np.array([[0, data.assignment[1]], [1, data.assignment[0]]])
    forced = procrustes_wasserstein(data.X, data.Y, anchors=wrong, random_state=0)
    np.testing.assert_array_equal(forced.assignment[[0, 1]], wrong[:, 1])
    few = procrustes_wasserstein(data.X, data.Y, anchors=anchors[:3], random_state=0)
    np.testing.assert_array_equal(few.assignment[anchors[:3, 0]], anchors[:3, 1])


def with_unrelated_rows(seed):
    """Rows 0..399 of X have partners, 400..499 none; and 100 rows of Y have none."""
    data = planted(seed, n=500, d=10, noise=0.02, overlap=0.8)
    other = np.random.default_rng(seed + 100).permuted(data.X, axis=0)[:100]
    return np.vstack([data.X, other]), data.Y, np.append(data.assignment, np.full(100, -1))


def test_outliers_stay_unmatched():
    for seed in range(2):
        X, Y, truth = with_unrelated_rows(seed)
        price = (6 * 0.02) ** 2 * 10
        result = procrustes_wasserstein(X, Y, outlier_cost=price, random_state=0)
        matched = result.assignment >= 0
        right = (result.assignment == truth) & matched
        assert right.sum() >= 0.97 * matched.sum()
        assert right.sum() >= 0.97 * 400


def test_the_outlier_price_is_met_gradually():
    # From a map that is off, the price alone would match next to nothing.
    X, Y, truth = with_unrelated_rows(0)
    settings = Settings(outlier_cost=(6 * 0.02) ** 2 * 10)
    known = rigid_map(X[:400], Y[truth[:400]])
    turn = np.eye(10)
    turn[:2, :2] = [[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]]
    off = RigidMap(known.rotation @ turn, known.translation)
    alternation = Alternation(X, Y, settings, AnchorPairs.none(), proper=False)
    tight, _ = alternation._match(off, settings.outlier_cost)
    gradually = alternation.run(off)
    assert (tight >= 0).sum() < 250
    assert ((gradually.assignment == truth) & (truth >= 0)).sum() >= 388
    assert gradually.n_iter > len(gradually.totals)  # wide rounds came first


def test_too_few_matched_pairs_warn():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 4)), 50 + 30 * rng.normal(size=(30, 4))
    with pytest.warns(UserWarning, match="outlier_cost"):
        procrustes_wasserstein(X, Y, outlier_cost=1e-6, random_state=0)


def test_alternation_never_raises_the_cost():
    data = planted(0, n=150, d=5, noise=0.4, spectrum_exponent=0.5)
    settings = Settings(tol=0.0)
    alternation = Alternation(data.X, data.Y, settings, AnchorPairs.none(), proper=False)
    start = RigidMap(np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0], np.zeros(5))
    totals = np.array(alternation.run(start).totals)
    assert len(totals) > 2
    assert (np.diff(totals) <= 1e-10 * totals[:-1]).all()


def test_max_iter_and_refine_stop_early():
    data = planted(0, n=150, d=5, noise=0.4, spectrum_exponent=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"method": "identity", "random_state": 0}
        short = procrustes_wasserstein(data.X, data.Y, max_iter=2, **options)
        full = procrustes_wasserstein(data.X, data.Y, **options)
        once = procrustes_wasserstein(data.X, data.Y, refine=False, **options)
    assert (once.n_iter, short.n_iter) == (1, 2)
    assert full.n_iter > 2
    assert full.cost <= short.cost


def test_methods_start_where_they_say():
    data = planted(0, n=100, d=3, noise=0.02)
    for method in ("frank-wolfe", "random", "identity"):
        result = procrustes_wasserstein(
            data.Y[data.assignment] if method == "identity" else data.X,
            data.Y,
            method=method,
            n_candidates=30,
            random_state=0,
        )
        assert result.method in (method, "symmetry")
        np.testing.assert_array_equal(result.assignment, data.assignment)
    dense = procrustes_wasserstein(data.X, data.Y, matching="dense", random_state=0)
    sparse = procrustes_wasserstein(data.X, data.Y, matching="sparse", random_state=0)
    np.testing.assert_array_equal(dense.assignment, sparse.assignment)


def test_result_does_not_depend_on_jobs_and_repeats():
    data = planted(3, spectrum_exponent=0.5, noise=0.45)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [
            procrustes_wasserstein(
                data.X, data.Y, n_jobs=jobs, random_state=7, n_candidates=4, method="directions"
            )
            for jobs in (1, 2, 1)
        ]
    for other in results[1:]:
        np.testing.assert_array_equal(other.assignment, results[0].assignment)
        np.testing.assert_array_equal(other.rotation, results[0].rotation)
        np.testing.assert_array_equal(other.candidate_costs, results[0].candidate_costs)


def test_starts_stop_when_settled_or_agreed(monkeypatch):
    """One settled start ends the search, two that agree do, others go on to the last."""
    data = planted(0, n=40, d=3, noise=0.05)
    A, B = data.X @ eigen_directions(data.X)[1], data.Y @ eigen_directions(data.Y)[1]
    model = axis_model(A, B)
    turns = [np.diag(s) for s in ([1, 1, 1], [1, 1, -1], [1, -1, 1], [1, 1, -1.0], [-1, 1, 1])]

    def scripted(confidences, excess=1.0):
        variances = np.full(3, excess * model.variance)
        monkeypatch.setattr(
            starts,
            "soft_start",
            lambda A, B, m, i, *rest: SoftStart(turns[i], variances, confidences[i], 1),
        )
        rng = np.random.default_rng(0)
        return starts._sign_free(A, B, model, Settings(n_candidates=5), AnchorPairs.none(), rng)

    found, settled = scripted([0.5, 0.99, 0.5, 0.5, 0.5])
    assert (len(found), settled) == (2, True)
    found, settled = scripted([0.5] * 5)  # the fourth repeats the second
    assert (len(found), settled) == (4, True)
    turns[3] = np.diag([-1, -1, 1.0])
    found, settled = scripted([0.5] * 5)
    assert (len(found), settled) == (5, False)
    found, settled = scripted([0.99] * 5, excess=2.0)  # sure, but noisier than it should be
    assert (len(found), settled) == (5, False)


def test_a_sure_but_noisy_start_is_not_settled():
    data = planted(0, n=50, d=3, noise=0.1)
    model = axis_model(data.X, data.Y)
    assert is_settled(SoftStart(np.eye(3), np.full(3, model.variance), 0.96, 1), model)
    assert not is_settled(SoftStart(np.eye(3), np.full(3, 1.3 * model.variance), 0.96, 1), model)
    assert not is_settled(SoftStart(np.eye(3), np.full(3, model.variance), 0.94, 1), model)


def test_sign_free_cost_is_the_folded_likelihood():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(6, 4)) * [4, 3, 2, 1], rng.normal(size=(7, 4)) * [4, 3, 2, 1]
    model = axis_model(A, B, noise_variance=0.3)
    cost = sign_free_cost(A, B, model)
    for i in range(6):
        for k in range(7):
            total = 0.0
            for j in range(4):
                kept = 1 / (1 + model.tau2[j].sum())
                v = 0.3 + kept * (model.tau2[j] * A[i] ** 2).sum()
                m = np.sqrt(kept) * abs(A[i, j])
                b = abs(B[k, j])
                both = np.exp(-((b - m) ** 2) / (2 * v)) + np.exp(-((b + m) ** 2) / (2 * v))
                total += np.log(v) - 2 * np.log(both)
            assert cost[i, k] == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("at_most", [True, False])
def test_sinkhorn_sums_and_anchors(at_most):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(12, 2)), rng.normal(size=(20, 2))
    anchors = AnchorPairs(np.array([3]), np.array([5]))
    cost = squared_distances(A, B)
    P = soft_matching(cost.copy(), half_scale=0.1, at_most=at_most, anchors=anchors)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-10)
    assert P[3, 5] == 1
    assert P[:, 5].sum() == 1
    sums = np.delete(P.sum(axis=0), 5)
    if at_most:
        assert sums.max() <= 1.05
        assert sums.min() < 0.8 * 11 / 19  # columns may stay emptier than their share
    else:
        np.testing.assert_allclose(sums, 11 / 19, rtol=0.02)
    ratios = P[0, [0, 1]] * P[1, [1, 0]]  # scaling keeps cross ratios
    kernel = np.exp(-0.1 * cost)
    expected = (kernel[0, 0] * kernel[1, 1]) / (kernel[0, 1] * kernel[1, 0])
    assert ratios[0] / ratios[1] == pytest.approx(expected, rel=1e-8)


def test_equal_eigenvalues_are_no_obstacle():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        left = np.linalg.qr(rng.normal(size=(300, 8)))[0]
        left = np.linalg.qr(left - left.mean(axis=0))[0]
        X = left * np.sqrt(300) * np.sqrt([4, 3, 2, 1, 1, 1, 0.6, 0.4])
        truth = rng.permutation(300)
        Y = np.empty_like(X)
        turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
        Y[truth] = X @ turn.T + 0.03 * rng.normal(size=X.shape)
        result = procrustes_wasserstein(X, Y, random_state=0)
        np.testing.assert_array_equal(result.assignment, truth)


def test_starts_as_functions():
    data = planted(0, n=250, d=6, noise=0.05)
    X, Y = data.X - data.X.mean(axis=0), data.Y - data.Y.mean(axis=0)
    U, V = eigen_directions(X)[1], eigen_directions(Y)[1]
    A, B, truth = X @ U, Y @ V, V.T @ data.rotation @ U
    for start in (0, 1, 2):
        again = [sign_free_start(A, B, start=start, random_state=3).rotation for _ in range(2)]
        np.testing.assert_array_equal(*again)
    assert np.abs(sign_free_start(A, B).rotation - truth).max() < 0.1
    (k, signs), *_ = sign_candidates(A, B, n_directions=3, n_candidates=4, random_state=0)
    rotation, temperature = soft_continuation(A, B, signs, k)
    assert np.abs(rotation - truth).max() < 0.1
    assert temperature == pytest.approx(0.05**2, rel=0.3)
    Q = frank_wolfe_start(X, Y, n_iter=20)
    np.testing.assert_allclose(Q @ Q.T, np.eye(6), atol=1e-10)


def test_large_clouds_take_the_tree_way(monkeypatch):
    for module in ("starts", "nearest_rows", "symmetry"):
        name = f"skfrontier.algos.geometry.procrustes_wasserstein.{module}.DENSE_ENTRIES"
        monkeypatch.setattr(name, 0)
    hard = planted(0, n=1500, d=12, noise=0.02)
    result = procrustes_wasserstein(hard.X, hard.Y, random_state=0)
    assert (result.method, result.n_directions) == ("enumeration", 4)
    np.testing.assert_array_equal(result.assignment, hard.assignment)
    soft = planted(0, n=1500, d=6, noise=0.03)
    result = procrustes_wasserstein(soft.X, soft.Y, random_state=0)
    assert matching_accuracy(result.assignment, soft.assignment) > 0.99


def test_views_of_digits():
    pytest.importorskip("sklearn")
    data = make_view_pair(kind="noise", noise=2.0, random_state=0)
    assert accuracy(data) > 0.99


def test_degenerate_clouds():
    same = np.ones((5, 3))
    with pytest.warns(UserWarning, match="one of several"):
        result = procrustes_wasserstein(same, same, random_state=0)
    np.testing.assert_array_equal(result.assignment, np.arange(5))
    np.testing.assert_allclose(result.rotation, np.eye(3))
    assert result.cost == 0
    line = np.random.default_rng(0).normal(size=(30, 1))
    data = procrustes_wasserstein(line, -line[::-1], random_state=0)
    assert data.cost < 1e-20
    twice = np.repeat(np.random.default_rng(1).normal(size=(20, 3)), 2, axis=0)
    assert procrustes_wasserstein(twice, twice[::-1], random_state=0).cost < 1e-20


@pytest.mark.parametrize(("n", "d"), [(6, 10), (20, 40)])
def test_fewer_points_than_features(n, d):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    turn, order = np.linalg.qr(rng.normal(size=(d, d)))[0], rng.permutation(n)
    with pytest.warns(UserWarning, match="one of several"):
        result = procrustes_wasserstein(X, X[order] @ turn, random_state=0)
    np.testing.assert_array_equal(result.assignment, np.argsort(order))
    np.testing.assert_allclose(result.rotation @ result.rotation.T, np.eye(d), atol=1e-10)
    assert result.cost < 1e-18


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: sign_free_start(np.zeros((3, 2)), np.zeros((2, 2))), "no more rows"),
        (lambda: sign_free_start(np.zeros((2, 2)), np.zeros((2, 2)), start=-1), "start"),
        (lambda: soft_continuation(np.zeros((2, 2)), np.zeros((2, 2)), [[1.0]], 3), "k must"),
        (lambda: soft_continuation(np.zeros((2, 2)), np.zeros((2, 2)), [[1.0]], 2), "R0"),
        (lambda: frank_wolfe_start(np.zeros((2, 2)), np.zeros((2, 3))), "features"),
        (lambda: procrustes_wasserstein(np.zeros((2, 2)), np.zeros((2, 3))), "features"),
    ],
)
def test_bad_input_of_functions(call, named):
    with pytest.raises(ValueError, match=named):
        call()


@pytest.mark.parametrize(("n_x", "d", "scaling"), [(2, 3, True), (2, 2, False), (3, 6, False)])
def test_too_few_pairs_for_residuals_are_never_called_exact(n_x, d, scaling):
    # the map passes through any pairs: a residual of zero is no sign of a right matching
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n_x, d)), rng.normal(size=(12, d))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = procrustes_wasserstein(X, Y, scaling=scaling, random_state=0)
    assert result.recovery == "unreliable"
    assert result.failure_bound == 1


def test_soft_continuation_repeats_with_its_seed():
    data = planted(0, n=600, d=4, noise=0.05)
    A, B = data.X @ eigen_directions(data.X)[1], data.Y @ eigen_directions(data.Y)[1]
    runs = [
        soft_continuation(A, B, np.eye(2), 2, n_final=0, random_state=seed) for seed in (1, 1, 2)
    ]
    assert runs[0][1] == runs[1][1] != runs[2][1]
    with pytest.raises(ValueError, match="random_state"):
        soft_continuation(A, B, np.eye(2), 2, random_state=-1)
