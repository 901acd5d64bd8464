"""What holds for any points and any changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matching_references import optimum

from skfrontier.estimators import DynamicMatching

SETTINGS = settings(max_examples=30, deadline=None)


@st.composite
def two_sides(draw, d=None, same_size=False):
    d = draw(st.integers(1, 3)) if d is None else d
    n_a = draw(st.integers(1, 12))
    n_b = n_a if same_size else draw(st.integers(1, 12))
    seed, ties = draw(st.integers(0, 10**6)), draw(st.booleans())
    rng = np.random.default_rng(seed)
    if ties:
        return rng.integers(0, 3, (n_a, d)).astype(float), rng.integers(0, 3, (n_b, d)).astype(
            float
        )
    return rng.normal(size=(n_a, d)), rng.normal(size=(n_b, d))


POWERS = st.sampled_from([1, 1.5, 2, 3])


def exact(A, B, p=1):
    return DynamicMatching(p=p, method="exact").fit(A, B)


@SETTINGS
@given(two_sides(), POWERS)
def test_exact_is_optimal_and_feasible(sides, p):
    A, B = sides
    model = exact(A, B, p)
    assert model.cost_ == pytest.approx(optimum(A, B, p), rel=1e-9, abs=1e-9)
    assert 0 <= model.lower_bound_ <= model.cost_


@SETTINGS
@given(two_sides(), POWERS, st.sampled_from("ab"))
def test_insert_then_delete_restores_the_cost(sides, p, side):
    model = exact(*sides, p)
    before = model.cost_
    new = model.insert(side, [sides[0][0] + 0.5])
    assert np.isfinite(model.cost_)
    assert model.delete(side, new).cost_ == pytest.approx(before, rel=1e-9, abs=1e-9)


@SETTINGS
@given(two_sides(), POWERS, st.randoms(use_true_random=False))
def test_order_sides_translation_and_scale(sides, p, random):
    A, B = sides
    cost = exact(A, B, p).cost_
    order = random.sample(range(len(A)), len(A))
    assert exact(A[order], B, p).cost_ == pytest.approx(cost, rel=1e-9, abs=1e-9)
    assert exact(B, A, p).cost_ == pytest.approx(cost, rel=1e-9, abs=1e-9)
    assert exact(A + 3.5, B + 3.5, p).cost_ == pytest.approx(cost, rel=1e-8, abs=1e-8)
    assert exact(2.5 * A, 2.5 * B, p).cost_ == pytest.approx(2.5**p * cost, rel=1e-9, abs=1e-9)


@SETTINGS
@given(two_sides(), POWERS)
def test_a_point_on_both_sides_never_costs(sides, p):
    model = exact(*sides, p)
    before = model.cost_
    same = [np.full(sides[0].shape[1], 0.7)]
    model.update(insert_a=same, insert_b=same)
    assert model.cost_ <= before + 1e-9 * (1 + before)


@SETTINGS
@given(two_sides(), POWERS)
def test_more_choice_never_costs(sides, p):
    A, B = sorted(sides, key=len)
    model = exact(A, B, p)
    before = model.cost_
    model.insert("b", [np.full(A.shape[1], 0.3)])
    assert model.cost_ <= before + 1e-9 * (1 + before)


@SETTINGS
@given(two_sides(d=1, same_size=True), POWERS)
def test_line_is_sorted(sides, p):
    A, B = sides
    cost = (np.abs(np.sort(A[:, 0]) - np.sort(B[:, 0])) ** p).sum()
    assert exact(A, B, p).cost_ == pytest.approx(cost, rel=1e-9, abs=1e-9)
    assert DynamicMatching(p=p).fit(A, B).cost_ == pytest.approx(cost, rel=1e-9, abs=1e-9)


@SETTINGS
@given(two_sides(), POWERS)
def test_one_level_of_hubs_is_exact(sides, p):
    A, B = sides
    model = DynamicMatching(p=p, method="metric", stretch=1, random_state=0).fit(A, B)
    assert model.guarantee_ == 1
    assert model.cost_ == pytest.approx(optimum(A, B, p), rel=1e-9, abs=1e-9)


@SETTINGS
@given(two_sides(), st.integers(1, 3), st.sampled_from(["anytime", "metric", "geometric"]))
def test_every_method_is_bounded_from_both_sides(sides, n, method):
    A, B = sides
    model = DynamicMatching(method=method, max_scans=n, stretch=n, n_candidates=n, random_state=0)
    model.fit(A, B)
    best = optimum(A, B)
    result = model.query()
    assert result.lower_bound <= best * (1 + 1e-9) + 1e-12
    assert result.cost >= best * (1 - 1e-9)
    assert len(set(result.ids_b.tolist())) == min(len(A), len(B))
