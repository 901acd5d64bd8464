"""The public function: results, properties, parameters, bad input."""

import dataclasses
import pickle
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.spatial.distance import cdist

from skfrontier.algos import ChamferResult, OverflowWarning, chamfer_distance
from skfrontier.datasets import make_chamfer_pair

coordinates = st.integers(-4, 4).map(float)


def clouds(min_rows=1):
    """Two clouds of small integers, with ties and duplicates, and one number of features."""
    return st.integers(1, 4).flatmap(
        lambda d: st.tuples(
            *[
                hnp.arrays(
                    float, st.tuples(st.integers(min_rows, 9), st.just(d)), elements=coordinates
                )
                for _ in range(2)
            ]
        )
    )


def brute(A, B, p=2.0, power=1.0, weights=None):
    terms = cdist(A, B, "minkowski", p=p).min(axis=1) ** power
    return float(terms @ (np.ones(len(A)) if weights is None else weights))


def test_readme_numbers():
    value, info = chamfer_distance([[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0]], return_info=True)
    assert value == info.value == 5.0
    assert info.ci_low == info.ci_high == 5.0
    assert info.confidence == 1.0
    assert info.standard_error == info.epsilon_achieved == 0.0
    assert info.guaranteed
    assert info.n_exact == 2


@settings(max_examples=60, deadline=None)
@given(
    clouds(), st.sampled_from([1.0, 1.5, 1.9, 2.0, 3.0, np.inf]), st.sampled_from([0.5, 1.0, 2.0])
)
def test_exact_value_is_brute_force(pair, p, power):
    A, B = pair
    reference = (
        brute(A, B, p, power)
        if p < np.inf
        else (cdist(A, B, "chebyshev").min(axis=1) ** power).sum()
    )
    assert chamfer_distance(A, B, p=p, power=power) == pytest.approx(
        reference, rel=1e-12, abs=1e-12
    )


@settings(max_examples=60, deadline=None)
@given(clouds(), st.data())
def test_set_properties(pair, data):
    A, B = pair
    value = chamfer_distance(A, B)
    assert value >= 0
    assert chamfer_distance(A, np.concatenate([B, A])) == 0
    assert chamfer_distance(A, np.concatenate([B, B + 1])) <= value
    assert chamfer_distance(np.concatenate([A, A + 1]), B) == pytest.approx(
        value + chamfer_distance(A + 1, B)
    )
    order = data.draw(st.permutations(range(len(A))))
    assert chamfer_distance(A[order], B[::-1]) == pytest.approx(value)
    counts = data.draw(
        hnp.arrays(int, len(A), elements=st.integers(0, 3)).filter(lambda c: c.sum() > 0)
    )
    assert chamfer_distance(A, B, weights=counts) == pytest.approx(
        chamfer_distance(np.repeat(A, counts, axis=0), B)
    )


@settings(max_examples=40, deadline=None)
@given(
    clouds(), st.floats(0.01, 100), st.sampled_from([1.0, 1.5, 2.0]), st.sampled_from([1.0, 2.0])
)
def test_scaling_and_translation(pair, t, p, power):
    A, B = pair
    value = chamfer_distance(A, B, p=p, power=power)
    assert chamfer_distance(t * A, t * B, p=p, power=power) == pytest.approx(t**power * value)
    assert chamfer_distance(A + 7, B + 7, p=p, power=power) == pytest.approx(value, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(clouds())
def test_decreases_in_p(pair):
    A, B = pair
    values = [chamfer_distance(A, B, p=p) for p in (1, 1.25, 1.6, 2, 4, np.inf)]
    assert all(a >= b * (1 - 1e-12) for a, b in pairwise(values))


def test_orthogonal_invariance():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((50, 6)), rng.standard_normal((70, 6))
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    for metric in ("euclidean", "angular"):
        assert chamfer_distance(A @ Q, B @ Q, metric=metric) == pytest.approx(
            chamfer_distance(A, B, metric=metric), rel=1e-12
        )


def test_names_of_the_metrics_agree():
    rng = np.random.default_rng(0)
    A, B = rng.random((30, 4)), rng.random((40, 4))
    assert chamfer_distance(A, B, metric="euclidean") == chamfer_distance(A, B)
    assert chamfer_distance(A, B, metric="sqeuclidean") == chamfer_distance(A, B, power=2)
    assert chamfer_distance(A, B, metric="manhattan") == chamfer_distance(A, B, p=1)
    unit = (
        A / np.linalg.norm(A, axis=1, keepdims=True),
        B / np.linalg.norm(B, axis=1, keepdims=True),
    )
    cosine = (unit[0] @ unit[1].T).max(axis=1)
    assert chamfer_distance(A, B, metric="angular") == pytest.approx(
        np.arccos(cosine).sum() / np.pi
    )
    # the sum of largest similarities of late interaction retrieval
    assert len(A) - chamfer_distance(*unit, power=2) / 2 == pytest.approx(cosine.sum())


def test_reductions_and_symmetry():
    rng = np.random.default_rng(0)
    A, B = rng.random((30, 4)), rng.random((50, 4))
    v, w = rng.random(30), rng.random(50)
    assert chamfer_distance(A, B, weights=v, reduction="mean") == pytest.approx(
        brute(A, B, weights=v) / v.sum()
    )
    value, info = chamfer_distance(
        A, B, weights=v, weights_B=w, symmetric=True, reduction="mean", return_info=True
    )
    assert value == pytest.approx(
        brute(A, B, weights=v) / v.sum() + brute(B, A, weights=w) / w.sum()
    )
    assert value == info.forward.value + info.backward.value


def test_symmetric_estimate_halves_delta():
    A, B = make_chamfer_pair("clusters", n=3000, n_features=16, random_state=0)
    value, info = chamfer_distance(
        A, B, symmetric=True, method="sample", random_state=0, return_info=True
    )
    assert info.forward.confidence == info.backward.confidence == 0.975
    assert info.confidence == 0.95
    assert info.epsilon_achieved <= 0.05
    exact = chamfer_distance(A, B, symmetric=True, epsilon=0)
    assert value == pytest.approx(exact, rel=0.05)


def test_auto_is_exact_while_cheap_and_says_so():
    A, B = make_chamfer_pair("clusters", n=3000, n_features=32, random_state=0)
    _, info = chamfer_distance(A, B, return_info=True)
    assert info.method in ("brute", "tree", "grid")
    assert info.confidence == 1


def test_auto_samples_where_exact_is_slow():
    A, B = make_chamfer_pair("clusters", n=60_000, n_features=32, random_state=0)
    _, info = chamfer_distance(A, B, random_state=0, return_info=True)
    assert info.method == "sample"
    assert info.epsilon_achieved <= 0.05
    assert info.n_exact < 2000


def test_input_containers_give_one_value(tmp_path):
    rng = np.random.default_rng(0)
    A, B = rng.random((40, 3)), rng.random((30, 3))
    expected = chamfer_distance(A, B)
    np.save(tmp_path / "A.npy", A)
    doubled = np.repeat(np.repeat(A, 2, axis=0), 2, axis=1)
    variants = {
        "list": A.tolist(),
        "fortran": np.asfortranarray(A),
        "memmap": np.load(tmp_path / "A.npy", mmap_mode="r"),
        "strided": doubled[::2, ::2],
        "reversed": A[::-1],
        "frame": pd.DataFrame(A, columns=list("abc")),
        "object": A.astype(object),
        "matrix": np.asmatrix(A),
    }
    for name, variant in variants.items():
        assert chamfer_distance(variant, B) == pytest.approx(expected, rel=1e-13), name
        sampled = chamfer_distance(variant, B, method="sample", random_state=0)
        assert sampled == pytest.approx(expected, rel=0.05), name


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, np.float16, np.longdouble])
def test_other_number_types(dtype):
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 5, (40, 3)).astype(dtype), rng.integers(0, 5, (30, 3)).astype(dtype)
    assert chamfer_distance(A, B) == pytest.approx(brute(A.astype(float), B.astype(float)))


def test_mixed_types_are_computed_in_the_wider_one():
    rng = np.random.default_rng(0)
    A, B = rng.random((400, 12)), rng.random((300, 12)).astype(np.float32)
    exact = brute(A, B.astype(float))
    assert chamfer_distance(A, B) == pytest.approx(exact, rel=1e-12)
    assert chamfer_distance(A, B, method="sample", random_state=0) == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("p", [1.5, 2])
def test_block_size_does_not_change_the_value(p):
    A, B = make_chamfer_pair("clusters", n=500, n_features=12, random_state=0)
    expected = chamfer_distance(A, B, p=p, method="brute")
    for block_size in (1, 7, 100, 10_000):
        assert chamfer_distance(A, B, p=p, method="brute", block_size=block_size) == expected


@pytest.mark.parametrize("method", ["auto", "sample"])
@pytest.mark.parametrize("metric", ["euclidean", "angular"])
def test_torch_backend_gives_the_same_values(method, metric):
    pytest.importorskip("torch", reason="needs the extra scikit-frontier[torch]")
    A, B = make_chamfer_pair("clusters", n=2000, n_features=24, random_state=0)
    kwargs = {"metric": metric, "method": method, "epsilon": 0.05, "random_state": 0}
    assert chamfer_distance(A, B, backend="torch", **kwargs) == pytest.approx(
        chamfer_distance(A, B, **kwargs), rel=1e-6
    )


def test_inputs_stay_unchanged():
    A, B = make_chamfer_pair("clusters", n=500, n_features=12, random_state=0)
    before = A.copy(), B.copy()
    for method in ("brute", "sample", "uniform"):
        chamfer_distance(A, B, method=method, metric="angular", random_state=0)
    np.testing.assert_array_equal(A, before[0])
    np.testing.assert_array_equal(B, before[1])


def test_empty_clouds():
    empty, B = np.empty((0, 3)), np.ones((4, 3))
    assert chamfer_distance(empty, B) == 0.0
    assert chamfer_distance(empty, empty) == 0.0
    with pytest.raises(ValueError, match="A is empty"):
        chamfer_distance(empty, B, reduction="mean")
    with pytest.raises(ValueError, match="B must have at least 1 point"):
        chamfer_distance(B, empty)
    with pytest.raises(ValueError, match="A must have at least one point"):
        chamfer_distance(empty, B, symmetric=True)


@pytest.mark.parametrize("method", ["auto", "brute", "sample", "uniform"])
def test_single_points_constant_columns_and_equal_points(method):
    one, two = np.array([[1.0, 2.0]]), np.array([[4.0, 6.0]])
    kwargs = {"method": method, "random_state": 0}
    assert chamfer_distance(one, two, **kwargs) == 5.0
    assert chamfer_distance(one, one, **kwargs) == 0.0
    same = np.ones((50, 20))
    assert chamfer_distance(same, same, **kwargs) == 0.0
    constant = np.column_stack([np.ones(50), np.arange(50.0)])
    value = chamfer_distance(constant, constant + [3, 0], **kwargs)
    assert value == pytest.approx(150.0, rel=0.05)


@pytest.mark.parametrize("scale", [1e-290, 1e-160, 1e-23, 1e18, 1e150])
@pytest.mark.parametrize("method", ["brute", "sample"])
def test_any_units(scale, method):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((300, 12)), rng.standard_normal((300, 12))
    expected = chamfer_distance(A, B, method=method, random_state=0)
    value = chamfer_distance(A * scale, B * scale, method=method, random_state=0)
    assert value == pytest.approx(expected * scale, rel=1e-6)


def test_overflow_is_reported():
    A, B = np.full((3, 2), 1e200), np.full((1, 2), -1e200)
    with pytest.warns(OverflowWarning, match="rescale"):
        assert chamfer_distance(A, B, power=2) == np.inf


def test_large_offset_keeps_the_digits():
    rng = np.random.default_rng(0)
    B = (100 + rng.standard_normal((3000, 64))).astype(np.float32)
    A = (B + 1e-3 * rng.standard_normal(B.shape)).astype(np.float32)
    exact = brute(A.astype(float), B.astype(float))
    assert chamfer_distance(A, B, epsilon=0) == pytest.approx(exact, rel=1e-6)
    assert chamfer_distance(A, B, method="sample", random_state=0) == pytest.approx(exact, rel=0.05)


def test_random_state_kinds():
    A, B = make_chamfer_pair("clusters", n=2000, n_features=16, random_state=0)

    def estimate(random_state):
        return chamfer_distance(A, B, method="sample", random_state=random_state)

    assert estimate(3) == estimate(np.int64(3)) == estimate(np.random.default_rng(3))
    assert estimate(np.random.RandomState(3)) == estimate(np.random.RandomState(3))
    with pytest.raises(TypeError, match="random_state"):
        estimate("seed")


def test_result_is_frozen_and_pickles():
    _, info = chamfer_distance([[0.0]], [[1.0]], return_info=True)
    with pytest.raises(dataclasses.FrozenInstanceError):
        info.value = 2.0
    assert pickle.loads(pickle.dumps(info)) == info
    assert isinstance(info, ChamferResult)


GOOD = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.arange(3.0), "2-D"),
        (np.zeros((2, 2, 2)), "2-D"),
        (np.zeros((2, 3)), "same number of features, got 3 and 2"),
        (np.array([[np.nan, 0]]), r"A must be finite, got nan at A\[0, 0\]"),
        (np.array([[0, np.inf]]), r"A must be finite, got inf at A\[0, 1\]"),
        (np.array([[1j, 0]]), "real numbers"),
        (np.array([["a", "b"]]), "real numbers"),
        (sparse.csr_array(np.eye(2)), "sparse"),
        (np.ma.masked_array(np.ones((2, 2)), mask=np.eye(2)), "masked"),
        (np.empty((3, 0)), "at least one feature"),
        (None, "2-D"),
        ([[1, 2], [3]], "A must be a rectangular array"),
    ],
)
def test_bad_points_are_named(A, message):
    with pytest.raises(ValueError, match=message):
        chamfer_distance(A, GOOD)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"p": 0.5}, "p must lie"),
        ({"p": np.nan}, "p must lie"),
        ({"p": 3, "method": "sample"}, "1 <= p <= 2"),
        ({"p": 1.5, "metric": "euclidean"}, "contradicts"),
        ({"metric": "cosine"}, "metric must be one of"),
        ({"power": 0}, "power"),
        ({"power": np.inf}, "power"),
        ({"epsilon": 1.0}, "epsilon"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": 0, "method": "sample"}, "epsilon in"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"weights": [1, 1]}, "weights"),
        ({"weights": [1, -1, 1]}, "nonnegative"),
        ({"weights": [0, 0, 0]}, "all be zero"),
        ({"weights": [1, np.nan, 1]}, "weights must be finite"),
        ({"weights": ["a", "b", "c"]}, "weights"),
        ({"weights_B": [1, 1, 1]}, "weights_B"),
        ({"reduction": "max"}, "reduction"),
        ({"method": "best"}, "method"),
        ({"backend": "cuda"}, "backend"),
        ({"backend": "torch", "method": "tree"}, "compares all pairs"),
        ({"projection": "pca"}, "projection"),
        ({"n_trees": 0}, "n_trees"),
        ({"n_projections": 0}, "n_projections"),
        ({"block_size": 0}, "block_size"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_parameters_are_named(kwargs, message):
    with pytest.raises(ValueError, match=message):
        chamfer_distance(GOOD, GOOD, **kwargs)


def test_zero_rows_have_no_angle():
    with pytest.raises(ValueError, match="B has a zero row, B\\[1\\]"):
        chamfer_distance(GOOD, [[1, 0], [0, 0]], metric="angular")


@pytest.mark.parametrize(
    "kwargs", [{"p": "2"}, {"n_trees": 1.5}, {"epsilon": "0.1"}, {"power": None}]
)
def test_wrong_types_are_type_errors(kwargs):
    with pytest.raises(TypeError, match=next(iter(kwargs))):
        chamfer_distance(GOOD, GOOD, **kwargs)


def test_nothing_warns_on_plain_input():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chamfer_distance(GOOD, GOOD + 1)
        chamfer_distance(GOOD, GOOD + 1, method="sample", random_state=0)
