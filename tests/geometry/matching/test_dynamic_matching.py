"""The estimator: ids, answers, every metric and method, pickling, and calls that must be refused."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from matching_references import optimum, optimum_of
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skfrontier.algos import MatchingResult, c_transform, matching_lower_bound
from skfrontier.estimators import DynamicMatching

SPOTS = np.random.default_rng(5).integers(0, 5, (60, 2)).astype(float)
D = cdist(SPOTS, SPOTS)


def taxicab(x, y):
    return float(np.abs(np.asarray(x) - np.asarray(y)).sum())


def all_taxicab(x, others):
    return np.abs(np.asarray(others) - np.asarray(x)).sum(axis=1)


all_taxicab.vectorized = True


class Stock:
    """Calls to the function are counted, and may fail."""

    def __init__(self):
        self.calls, self.fails_at = 0, None

    def __call__(self, x, y):
        self.calls += 1
        if self.calls == self.fails_at:
            return np.nan
        return taxicab(x, y)


CONFIGURATIONS = {
    "exact": {"method": "exact"},
    "exact p=1.5": {"method": "exact", "p": 1.5},
    "exact p=2": {"method": "exact", "p": 2},
    "exact p=3": {"method": "exact", "p": 3},
    "eager": {"method": "exact", "lazy": False},
    "squares": {"metric": "sqeuclidean"},
    "norm 3": {"metric": "minkowski", "metric_params": {"p": 3}},
    "anytime": {"method": "anytime", "max_scans": 3},
    "metric": {"method": "metric"},
    "metric p=2": {"method": "metric", "p": 2, "stretch": 3},
    "geometric": {"method": "geometric", "n_candidates": 5},
    "geometric, norm inf": {"method": "geometric", "metric": "chebyshev"},
    "precomputed": {"metric": "precomputed", "metric_params": {"D": D}},
    "precomputed metric": {
        "metric": "precomputed", "metric_params": {"D": D}, "method": "metric", "p": 2,
    },
    "callable": {"metric": taxicab},
    "vectorized": {"metric": all_taxicab, "method": "metric", "stretch": 3},
    "callable exact": {"metric": taxicab, "method": "exact", "p": 2},
    "callable anytime": {"metric": all_taxicab, "method": "anytime", "max_scans": 2},
    "line": {"p": 2},
}  # fmt: skip


def true_costs(model, name, A, B):
    p = model.p
    if model.metric == "precomputed":
        return D[np.ix_(A, B)] ** p
    if callable(model.metric):
        return cdist(A, B, "cityblock") ** p
    if name == "norm 3":
        return cdist(A, B, "minkowski", p=3)
    return cdist(A, B, model.metric) ** p


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_stream_of_updates_and_pickles(name):
    rng = np.random.default_rng(len(name))
    model = DynamicMatching(random_state=0, **CONFIGURATIONS[name])
    indices, d = model.metric == "precomputed", 1 if name == "line" else 2
    points, twin = ({}, {}), None
    for step in range(40):
        changes = {}
        for side, letter in enumerate("ab"):
            n_new = rng.binomial(3, 0.5 + 0.4 * np.sin(step / 6))
            if n_new:
                new = rng.integers(60, size=n_new) if indices else rng.normal(size=(n_new, d))
                changes[f"insert_{letter}"] = new
            if len(points[side]) > 4 and rng.random() < 0.6:
                changes[f"delete_{letter}"] = rng.choice(list(points[side]), 2, replace=False)
        models = [model] if twin is None else [model, twin]
        new_ids, *_ = [each.update(**changes) for each in models]
        for side, letter in enumerate("ab"):
            for old in changes.get(f"delete_{letter}", ()):
                del points[side][int(old)]
            new = changes.get(f"insert_{letter}", ())
            points[side].update(zip(new_ids[side].tolist(), new, strict=True))
        if not all(points):
            continue
        for side in range(2):
            assert model.ids(side).tolist() == list(points[side])
            assert np.array_equal(
                np.array(model.points(side)), np.array(list(points[side].values()))
            )
        a, b = (np.array(list(points[side].values())) for side in range(2))
        costs = true_costs(model, name, a, b)
        check_answer(model, costs, points)
        if twin is not None:
            mine, other = model.query(), twin.query()
            assert mine.cost == other.cost
            assert mine.lower_bound == other.lower_bound
            assert np.array_equal(mine.ids_b, other.ids_b)
        twin = pickle.loads(pickle.dumps(model))


def check_answer(model, costs, points):
    best, result = optimum_of(costs), model.query()
    slack = 1e-9 * (1 + best)
    assert isinstance(result, MatchingResult)
    assert result.lower_bound - slack <= best <= result.cost + slack
    assert 0 <= result.lower_bound <= result.cost
    if model.method_ == "exact":
        assert abs(result.cost - best) <= slack
        assert abs(result.lower_bound - best) <= slack
    if model.method_ == "metric":
        assert model.wp_cost_ <= model.guarantee_ * best ** (1 / model.p) * (1 + 1e-9) + slack
    rows = [list(points[0]).index(i) for i in result.ids_a]
    columns = [list(points[1]).index(i) for i in result.ids_b]
    assert len(rows) == len(set(columns)) == min(costs.shape)
    assert (np.diff(result.ids_a) > 0).all()
    paired = costs[rows, columns]
    power = 2 if model.metric == "sqeuclidean" else model.p
    assert result.distances**power == pytest.approx(paired, rel=1e-9, abs=1e-9)
    assert result.cost == pytest.approx(paired.sum(), rel=1e-9, abs=1e-9)
    assert np.array_equal(model.match_of("a", result.ids_a), result.ids_b)
    assert np.array_equal(model.match_of(1, result.ids_b), result.ids_a)
    u, v = model.potentials_
    assert (u[:, None] + v <= costs + 1e-9 * (1 + costs.max())).all()
    assert matching_lower_bound(u, v) <= best + slack


def test_another_process_goes_on_identically(tmp_path):
    rng = np.random.default_rng(0)
    model = DynamicMatching(method="geometric", random_state=3)
    model.fit(rng.random((60, 2)), rng.random((70, 2)))
    change = {"insert_a": rng.random((5, 2)), "delete_b": [3, 8]}
    (tmp_path / "model.pkl").write_bytes(pickle.dumps((model, change)))
    code = (
        "import pickle, sys; m, c = pickle.load(open(sys.argv[1], 'rb'));"
        "m.update(**c); print(m.cost_.hex(), m.lower_bound_.hex())"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model.pkl")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    model.update(**change)
    assert finished.stdout.split() == [model.cost_.hex(), model.lower_bound_.hex()]


def test_names_of_any_kind():
    model = DynamicMatching().fit([[0.0], [2.0]], [[1.0], [5.0], [9.0]], ids_a=["x", ("y", 2)])
    assert model.match_of("a", ["x", ("y", 2)]).tolist() == [0, 1]
    assert model.match_of("b", [0, 1, 2]).tolist() == ["x", ("y", 2), None]
    assert model.insert("a", [[4.0]], ids=[7]).tolist() == [7]
    assert model.insert("a", [[4.5]]).tolist() == [8]
    assert model.ids("a").tolist() == ["x", ("y", 2), 7, 8]
    # an id that leaves in the same call may come again
    model.update(delete_a=["x"], insert_a=[[3.0]], ids_a=["x"])
    assert model.ids(0).tolist() == [("y", 2), 7, 8, "x"]


def test_wasserstein_distance_and_trimmed():
    rng = np.random.default_rng(0)
    A, B = rng.random((30, 2)), rng.random((30, 2))
    model = DynamicMatching(p=2).fit(A, B)
    assert model.wasserstein_distance() == pytest.approx((optimum(A, B, 2) / 30) ** 0.5)
    assert model.wp_cost_ == pytest.approx(optimum(A, B, 2) ** 0.5)
    model.insert("b", [[5.0, 5.0]])
    with pytest.raises(ValueError, match=r"30 points in A, 31 in B.*trimmed=True"):
        model.wasserstein_distance()
    assert model.wasserstein_distance(trimmed=True) == pytest.approx((optimum(A, B, 2) / 30) ** 0.5)


def test_empty_sides():
    model = DynamicMatching().fit(np.empty((0, 2)), np.ones((3, 2)))
    result = model.query()
    assert (result.cost, result.lower_bound, result.gap, len(result.ids_a)) == (0, 0, 0, 0)
    with pytest.raises(ValueError, match="a side is empty"):
        model.wasserstein_distance(trimmed=True)
    model.delete("b", model.ids("b"))
    with pytest.raises(ValueError, match="both sides are empty"):
        model.wasserstein_distance()
    assert model.insert("a", []).size == 0
    for method in ("metric", "geometric", "anytime"):
        empty = DynamicMatching(method=method).fit(np.empty((0, 2)), np.empty((0, 2)))
        assert empty.cost_ == empty.lower_bound_ == 0
        assert empty.insert("a", np.ones((2, 2))).tolist() == [0, 1]
        assert empty.insert("b", np.zeros((1, 2))).tolist() == [0]
        assert empty.cost_ == pytest.approx(np.sqrt(2))


def test_automatic_choice(monkeypatch):
    module = "skfrontier.estimators.geometry.matching.engines"
    monkeypatch.setattr(f"{module}._EXACT_UP_TO", 20)
    rng = np.random.default_rng(0)

    def chosen(d, n=50, **options):
        return DynamicMatching(**options).fit(rng.random((n, d)), rng.random((n, d))).method_

    assert chosen(2, n=20) == "exact"
    assert chosen(1) == chosen(2, metric="sqeuclidean") == "exact"
    assert chosen(2) == chosen(4) == "geometric"
    assert chosen(2, p=2) == chosen(5) == "metric"
    model = DynamicMatching(random_state=0)
    A, B = rng.random((50, 2)), rng.random((50, 2))
    methods = []
    for x, y in zip(A, B, strict=True):
        model.insert("a", [x])
        model.insert("b", [y])
        methods.append(model.method_)
    assert methods[0] == "exact"
    assert methods[-1] == "geometric"
    assert model.ids("a").tolist() == list(range(50))
    assert optimum(A, B) * (1 - 1e-9) <= model.cost_ <= 1.3 * optimum(A, B)


def test_partial_fit_and_eager_and_lazy_agree():
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 3)), rng.integers(0, 2, 40)
    lazy, eager = DynamicMatching().partial_fit(X, y), DynamicMatching(lazy=False).partial_fit(X, y)
    assert lazy.cost_ == pytest.approx(eager.cost_, rel=1e-12)
    assert lazy.cost_ == pytest.approx(optimum(X[y == 0], X[y == 1]), rel=1e-9)
    words = DynamicMatching(metric=lambda x, y: abs(len(x) - len(y)))
    words.partial_fit(["a", "bbb", "cc"], [0, 1, 1])
    assert words.cost_ == 1


def test_certificates_by_mode():
    rng = np.random.default_rng(0)
    A, B = rng.random((150, 2)), rng.random((150, 2))
    best = optimum(A, B)
    for method in ("metric", "geometric", "exact"):
        model = DynamicMatching(method=method, random_state=0).fit(A, B)
        bounds = [model.query(certify=mode).lower_bound for mode in ("cheap", "auto", "dual")]
        assert 0 < bounds[0] <= bounds[1] * (1 + 1e-9)
        assert bounds[1] <= bounds[2] * (1 + 1e-9) <= best * (1 + 2e-9)
        none = model.query(certify=False)
        assert (none.lower_bound, none.gap) == (0, np.inf)
        assert np.isfinite(model.gap_)


def test_c_transform_is_the_largest_feasible_potential():
    rng = np.random.default_rng(0)
    X, Y, v = rng.random((20, 3)), rng.random((600, 3)), rng.normal(size=600)
    for p, metric, name, q in (
        (1, "euclidean", "euclidean", None), (2, "manhattan", "cityblock", None),
        (1.5, "chebyshev", "chebyshev", None), (1, "minkowski", "minkowski", 3),
    ):  # fmt: skip
        costs = cdist(X, Y, name, **({"p": q} if q else {})) ** p
        u = c_transform(X, Y, v, p=p, metric=metric, q=q)
        assert u == pytest.approx((costs - v).min(axis=1), rel=1e-12)
        assert np.array_equal(u, c_transform(X, Y, v, p=p, metric=metric, q=q, n_jobs=2))
    assert c_transform(Y, X, np.zeros(20)).shape == (600,)
    with pytest.raises(ValueError, match="one entry for each of the 600 rows"):
        c_transform(X, Y, v[:5])
    with pytest.raises(ValueError, match="same number of features"):
        c_transform(X, Y[:, :2], v)


def test_lower_bound_uses_the_smallest_potentials_of_the_larger_side():
    assert matching_lower_bound([1.0, 2.0], [0.0, -3.0, -1.0]) == 0.0
    assert matching_lower_bound([0.0, -3.0, 0.0], [3.0, 2.0]) == 2.0
    assert matching_lower_bound([], [1.0]) == 0.0
    with pytest.raises(ValueError, match="u must be finite"):
        matching_lower_bound([np.nan], [0.0])


# Calls that must be refused, and leave everything as it was.


def fitted(**options):
    rng = np.random.default_rng(0)
    return DynamicMatching(random_state=0, **options).fit(rng.random((12, 2)), rng.random((14, 2)))


BAD_CALLS = {
    "unknown ids": (lambda m: m.delete("a", [99, 98]), "delete_a holds unknown ids: 99, 98"),
    "repeated ids": (lambda m: m.delete("b", [1, 1]), "delete_b holds ids more than once: 1"),
    "live id": (lambda m: m.insert("a", [[0, 0]], ids=[3]), "there already: 3"),
    "number of ids": (lambda m: m.insert("a", [[0, 0]], ids=[31, 32]), "must hold 1 ids"),
    "unhashable": (lambda m: m.insert("a", [[0, 0]], ids=[[]]), "hashable"),
    "string of ids": (lambda m: m.delete("a", "12"), "sequence of ids"),
    "side": (lambda m: m.insert("c", [[0, 0]]), "side must be 'a', 'b', 0 or 1"),
    "side number": (lambda m: m.ids(2), "side must be"),
    "nan": (lambda m: m.insert("a", [[0, np.nan]]), "A must be finite"),
    "inf": (lambda m: m.update(insert_a=[[0, 1]], insert_b=[[0, np.inf]]), "B must be finite"),
    "features": (lambda m: m.insert("b", [[0, 0, 0]]), "must have 2 features"),
    "3-D": (lambda m: m.insert("b", np.zeros((1, 2, 2))), "2-D"),
    "objects": (lambda m: m.insert("b", [["x", "y"]]), "real numbers"),
    "late unknown": (lambda m: m.update(insert_a=[[0, 0]], delete_b=[77]), "unknown ids: 77"),
    "ids without points": (lambda m: m.update(ids_a=[5]), "no points for them"),
    "labels": (lambda m: m.partial_fit([[0, 0]], [2]), "hold 0"),
    "number of labels": (lambda m: m.partial_fit([[0, 0]], [0, 1]), "one entry for each"),
    "certify": (lambda m: m.query(certify="yes"), "certify must be"),
    "partner of unknown": (lambda m: m.match_of("a", [55]), "unknown ids"),
}


@pytest.mark.parametrize("method", ["exact", "metric", "geometric"])
@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_call_changes_nothing(name, method):
    call, message = BAD_CALLS[name]
    model = fitted(method=method)
    before = model.query()
    with pytest.raises(ValueError, match=message):
        call(model)
    after = model.query()
    assert (before.cost, before.lower_bound) == (after.cost, after.lower_bound)
    assert np.array_equal(before.ids_b, after.ids_b)
    assert model.ids("a").tolist() == list(range(12))
    assert model.insert("a", [[0.5, 0.5]]).tolist() == [12]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 0.5}, "p must lie in"),
        ({"p": np.inf}, "p must lie in"),
        ({"p": np.nan}, "p must lie in"),
        ({"metric": "cosine"}, "metric must be one of"),
        ({"metric": 3}, "metric must be a string or a callable"),
        ({"metric": "sqeuclidean", "p": 2}, "takes p=1 only"),
        ({"metric": "sqeuclidean", "method": "metric"}, "needs a metric"),
        ({"metric": "sqeuclidean", "method": "geometric"}, "needs a metric"),
        ({"metric": "minkowski", "metric_params": {"p": 0.5}}, "metric_params"),
        ({"metric": "minkowski", "metric_params": {"w": 1}}, "metric_params"),
        ({"metric": "precomputed"}, "needs metric_params"),
        ({"method": "best"}, "method must be one of"),
        ({"method": "geometric", "p": 2}, "needs p=1"),
        ({"method": "geometric", "metric": taxicab}, "needs points in R"),
        ({"grid_ratio": 3}, "grid_ratio must be 2, 4, 8 or 16"),
        ({"stretch": 0}, "stretch must be at least 1"),
        ({"max_scans": 0}, "max_scans must be at least 1"),
        ({"n_candidates": -1}, "n_candidates must be at least 0"),
        ({"search": "fast"}, "search must be one of"),
        ({"certify": True}, "certify must be"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"bounds": (1, 0), "method": "geometric"}, "bounds must be"),
        ({"bounds": 1, "method": "geometric"}, "bounds must be"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(**options)
    with pytest.raises(ValueError, match=message):
        DynamicMatching(**options).insert("a", [[0.0, 0.0]])


def test_bad_types():
    with pytest.raises(TypeError, match="p must be a real number"):
        fitted(p="1")
    with pytest.raises(TypeError, match="stretch must be an integer"):
        fitted(stretch=1.5)
    with pytest.raises(TypeError, match="lazy must be True or False"):
        fitted(lazy=1)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.array([[0, -1], [-1, 0.0]]), "negative"),
        (np.eye(2), "zero diagonal"),
        (np.array([[0, 1], [2, 0.0]]), "symmetric"),
        (np.array([[0, np.nan], [np.nan, 0.0]]), "finite"),
    ],
)
def test_bad_matrices(matrix, message):
    model = DynamicMatching(metric="precomputed", metric_params={"D": matrix})
    with pytest.raises(ValueError, match=message):
        model.fit([0], [1])


@pytest.mark.parametrize(
    ("indices", "message"),
    [([3], "0..2, got 3"), ([-1], "0..2"), ([0.5], "integer"), ([[0, 1]], "integer")],
)
def test_bad_indices(indices, message):
    model = DynamicMatching(metric="precomputed", metric_params={"D": np.ones((3, 3)) - np.eye(3)})
    model.fit([0, 0], [1, 2])
    assert model.cost_ == 2
    with pytest.raises(ValueError, match=message):
        model.insert("a", indices)
    assert model.n_a_ == 2


@pytest.mark.parametrize("method", ["exact", "anytime", "metric"])
@pytest.mark.parametrize("fails_at", [1, 7, 24, 30])
def test_failing_metric_is_rolled_back(method, fails_at):
    stock, rng = Stock(), np.random.default_rng(0)
    A, B, new = (
        rng.random((15, 2)).tolist(),
        rng.random((15, 2)).tolist(),
        rng.random((2, 2)).tolist(),
    )
    model = DynamicMatching(metric=stock, method=method, random_state=0).fit(A, B)
    before = model.query()
    stock.fails_at = stock.calls + fails_at
    with pytest.raises(ValueError, match="finite distances of at least 0"):
        model.update(insert_a=new, insert_b=new, delete_a=[1, 2], delete_b=[0])
    stock.fails_at = None
    after = model.query()
    assert before.cost == after.cost
    assert np.array_equal(before.ids_b, after.ids_b)
    assert model.ids("a").tolist() == list(range(15))
    model.update(insert_a=new, insert_b=new, delete_a=[1, 2], delete_b=[0])
    A, B = [x for i, x in enumerate(A) if i not in (1, 2)] + new, B[1:] + new
    best = optimum(A, B, metric="cityblock")
    assert best * (1 - 1e-9) <= model.cost_ <= 3 * best
    if method == "exact":
        assert model.cost_ == pytest.approx(best, rel=1e-9)


def test_distances_of_a_function_are_asked_for_once():
    stock, rng = Stock(), np.random.default_rng(0)
    model = DynamicMatching(metric=stock, method="exact")
    model.fit(rng.random((20, 2)).tolist(), rng.random((30, 2)).tolist())
    assert stock.calls == 20 * 30
    model.update(delete_a=[0], insert_a=[[0.1, 0.2]])
    assert stock.calls == 20 * 30 + 30


def test_parameters_are_frozen_until_the_next_fit():
    model = fitted()
    model.set_params(p=2)
    for call in (model.query, lambda: model.insert("a", [[0, 0]]), lambda: model.cost_):
        with pytest.raises(
            ValueError, match=r"p was changed to 2 after the fit with 1.0; fit again"
        ):
            call()
    model.set_params(p=1.0, n_jobs=1, certify="cheap", lazy=False)
    assert model.query().gap < 1e-9
    assert model.set_params(p=2).fit([[0.0]], [[2.0]]).cost_ == 4


def test_failed_fit_keeps_the_old_state():
    model = fitted()
    before = model.cost_
    with pytest.raises(ValueError, match="same number of features"):
        model.fit(np.zeros((2, 2)), np.zeros((2, 3)))
    assert model.cost_ == before


def test_refine_is_for_dual_methods():
    with pytest.raises(ValueError, match="refine works with the methods 'exact' and 'anytime'"):
        fitted(method="metric").refine()
    rng = np.random.default_rng(0)
    A, B = rng.random((80, 2)), rng.random((80, 2))
    model = DynamicMatching(method="anytime", max_scans=4).fit(A, B)
    assert model.gap_ > 0.05
    assert model.refine(0.02).gap_ <= 0.02
    assert model.refine().cost_ == pytest.approx(optimum(A, B), rel=1e-9)
    for method in ("exact", "anytime", "metric", "geometric"):
        again = DynamicMatching(method=method, random_state=0).fit(A, B).rebuild()
        assert again.cost_ >= optimum(A, B) * (1 - 1e-9)


def test_nothing_before_the_fit():
    model = DynamicMatching()
    for call in (model.query, lambda: model.ids("a"), lambda: model.cost_, model.rebuild):
        with pytest.raises(NotFittedError):
            call()
    with pytest.raises(NotFittedError):
        model.delete("a", [0])
    assert not hasattr(model, "cost_")


def test_clone_copy_and_input_is_untouched():
    model = fitted(method="metric", stretch=3)
    assert clone(model).get_params() == model.get_params()
    twin = copy.deepcopy(model)
    before = model.cost_
    twin.update(delete_a=twin.ids("a")[:5])
    assert model.cost_ == before
    assert model.n_a_ == 12
    A = np.asfortranarray(np.random.default_rng(0).random((9, 2)).astype(np.float32))
    A.setflags(write=False)
    B = A[::-1] + np.float32(1)
    assert DynamicMatching().fit(A, B[::2]).cost_ == pytest.approx(optimum(A, B[::2]), rel=1e-9)


@pytest.mark.parametrize("method", ["metric", "geometric"])
def test_same_seed_same_result_whatever_the_threads(method):
    rng = np.random.default_rng(0)
    A, B = rng.random((200, 2)), rng.random((230, 2))
    results = []
    for n_jobs in (None, 2):
        model = DynamicMatching(method=method, random_state=4, n_jobs=n_jobs).fit(A, B)
        model.update(delete_a=[1, 5], insert_b=A[:3])
        results.append(model.query(certify="dual"))
    assert results[0].cost == results[1].cost
    assert results[0].lower_bound == results[1].lower_bound
