"""The commit rules: worked examples, order of commits, certificates, low precision, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfrontier.algos import (
    factor_commit,
    frechet_commit,
    threshold_commit,
    top_k_commit,
)

PROFILE = [0.99, 0.95, 0.82, 0.78, 0.74]
SLACK = 4 * 2.0**-53


def reference(deficits, mask, accept, order=None):
    """Longest prefix, in the order of deficits, whose every member is accepted; in plain Python."""
    order = sorted(np.flatnonzero(mask), key=lambda j: (deficits[j], j)) if order is None else order
    chosen = []
    for j in order:
        if not accept([*chosen, j]):
            break
        chosen.append(j)
    return chosen


def accept_frechet(deficits, alternatives, margin):
    def accept(chosen):
        total = 0.0
        for j in chosen:
            total += deficits[j]
        worst = max(alternatives[j] for j in chosen)
        return (1 - total) - worst > margin + SLACK * len(chosen)

    return accept


@pytest.mark.parametrize(("n", "score"), [(1, 0.98), (2, 0.89), (3, 0.58), (4, 0.32), (5, 0.02)])
def test_scores_of_the_worked_example(n, score):
    result = frechet_commit(PROFILE, max_commit=n)
    assert result.n_commit == n
    assert result.score == pytest.approx(score, abs=1e-12)
    assert result.certified is True


def test_rules_on_the_worked_example():
    assert frechet_commit(PROFILE, margin=0.30).n_commit == 4
    assert factor_commit(PROFILE, factor=0.70).n_commit == 2
    assert threshold_commit(PROFILE, threshold=0.9).n_commit == 2
    np.testing.assert_array_equal(
        top_k_commit(PROFILE, k=3).commit, [True, True, True, False, False]
    )


def test_rounding_does_not_certify_ties():
    assert frechet_commit(deficits=[0.1] * 11).n_commit == 8
    assert factor_commit(deficits=[0.1] * 11).n_commit == 8


def test_ties_go_to_the_lower_position():
    result = frechet_commit(deficits=[0.3, 0.2, 0.2, 0.2, 0.3])
    np.testing.assert_array_equal(result.commit, [False, True, True, True, False])
    np.testing.assert_array_equal(top_k_commit([0.5] * 4, k=2).commit, [True, True, False, False])


@pytest.mark.parametrize("seed", range(40))
def test_kernel_matches_plain_python(seed):
    rng = np.random.default_rng(seed)
    rows, length = 5, int(rng.integers(1, 40))
    deficits = np.round(rng.random((rows, length)) ** 3 * rng.choice([0.05, 0.3, 1.0]), 3)
    runner_up = deficits * rng.random(deficits.shape)
    mask = rng.random(deficits.shape) < 0.7
    margin = float(rng.choice([0.0, 0.25]))
    plain = frechet_commit(deficits=deficits, mask=mask, margin=margin, min_commit=0)
    sharp = frechet_commit(
        deficits=deficits, mask=mask, margin=margin, min_commit=0, runner_up=runner_up
    )
    for row in range(rows):
        d, r = deficits[row], runner_up[row]
        expected = reference(d, mask[row], accept_frechet(d, d, margin))
        assert sorted(expected) == list(np.flatnonzero(plain.commit[row]))
        alone = [j for j in np.flatnonzero(mask[row]) if (1 - d[j]) - r[j] > margin + SLACK]
        order = sorted(alone, key=lambda j: (d[j], j))
        expected = reference(d, mask[row], accept_frechet(d, r, margin), order)
        assert sorted(expected) == list(np.flatnonzero(sharp.commit[row]))


@pytest.mark.parametrize("seed", range(20))
def test_no_other_set_of_that_size_has_a_larger_certificate(seed):
    from itertools import combinations

    d = np.random.default_rng(seed).random(7) * 0.4
    for n in range(1, 8):
        scores = [1 - sum(d[list(s)]) - max(d[list(s)]) for s in combinations(range(7), n)]
        ours = frechet_commit(deficits=d, min_commit=n, max_commit=n)
        assert ours.n_commit == n
        assert ours.score == pytest.approx(max(scores), abs=1e-12)
        assert ours.certified == (n == 1 or max(scores) > 1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.1, 0.25, 0.5])
def test_flat_profiles_equal_the_factor_rule(margin):
    # Away from equality, up to 200 positions.
    for length in (1, 2, 7, 50, 200):
        for d in np.concatenate([np.linspace(0.0013, 0.6, 60), 1 / np.arange(2.0, 210)]):
            levels = np.arange(2, length + 2) * d
            if np.abs(levels - (1 - margin)).min() < 1e-9:
                continue
            flat = np.full(length, d)
            frechet = frechet_commit(deficits=flat, margin=margin, min_commit=0)
            factor = factor_commit(deficits=flat, factor=1 - margin, min_commit=0)
            assert frechet.n_commit == factor.n_commit


def test_factor_commits_a_subset_of_frechet():
    rng = np.random.default_rng(0)
    deficits = rng.random((10_000, 24)) ** rng.uniform(1, 6, (10_000, 1))
    for margin in (0.0, 0.25):
        frechet = frechet_commit(deficits=deficits, margin=margin, min_commit=0)
        factor = factor_commit(deficits=deficits, factor=1 - margin, min_commit=0)
        assert not (factor.commit & ~frechet.commit).any()
        assert frechet.n_commit.sum() > factor.n_commit.sum()
        assert factor.certified.all()


def published_reference(confidences, factor):
    """How many the published program commits: thresholds 1 - factor / (n + 1), the first of them void."""
    c = sorted(confidences, reverse=True)
    first_failure = next((i for i in range(1, len(c)) if c[i] < 1 - factor / (i + 2)), len(c) - 1)
    return first_failure + (first_failure in (0, len(c) - 1))


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_published_factor_variant(factor):
    rng = np.random.default_rng(1)
    for _ in range(500):
        c = 1 - rng.random(int(rng.integers(1, 9))) ** rng.uniform(0.2, 5)
        result = factor_commit(c, factor=factor, variant="published")
        assert result.n_commit == published_reference(c, factor)


def test_published_variant_takes_the_last_failing_position_along():
    confidences = [0.99, 0.98, 0.97, 0.01]
    assert factor_commit(confidences).n_commit == 3
    published = factor_commit(confidences, variant="published")
    assert published.n_commit == 4
    assert not published.certified
    # Two masked positions: always both.
    assert factor_commit([0.2, 0.1], variant="published").n_commit == 2
    assert factor_commit([0.2, 0.1]).n_commit == 1
    # When two fail, both variants agree.
    assert factor_commit([0.99, 0.98, 0.1, 0.1], variant="published").n_commit == 2
    # Equality passes there.
    assert factor_commit([0.75, 0.75, 0.75, 0, 0], variant="published").n_commit == 3
    assert factor_commit([0.75, 0.75, 0.75, 0, 0]).n_commit == 2


def test_confidences_of_low_precision_are_not_trusted_beyond_it(torch):
    ones = torch.ones(1000, dtype=torch.bfloat16)
    assert int(frechet_commit(ones).n_commit) == 510
    assert int(frechet_commit(ones.to(torch.float64)).n_commit) == 1000


def test_half_precision_arrays_are_not_trusted_beyond_it():
    d = 2.0**-12  # float16: (n + 1) d < 1
    assert frechet_commit(np.ones(5000, np.float16)).n_commit == int(1 / d) - 2
    assert factor_commit(np.ones(5000, np.float16)).n_commit == int(1 / d) - 2
    read_as_given = threshold_commit(np.ones(5000, np.float16), threshold=1.0)
    assert read_as_given.n_commit == 5000
    assert not read_as_given.certified
    assert top_k_commit(np.ones(5000, np.float16), k=5000).certified is False


def test_six_million_positions_by_their_deficits():
    assert abs(frechet_commit(deficits=np.full(6_000_000, 2e-7)).n_commit - 4_999_998) <= 2


def test_calibration_error_grows_every_deficit():
    eta = 0.02
    raised = np.array([0.01, 0.05, 0.1, 0.2]) + eta
    direct = frechet_commit(deficits=raised)
    told = frechet_commit(deficits=raised - eta, calibration_error=eta)
    assert told.n_commit == direct.n_commit
    assert told.score == pytest.approx(direct.score)
    # A single token is exact only if confidences are.
    assert frechet_commit([0.505]).certified
    assert not frechet_commit([0.505], calibration_error=eta).certified
    assert frechet_commit([0.9], calibration_error=eta).certified


def test_runner_up_certifies_more():
    deficits = np.full(3, 0.26)
    assert frechet_commit(deficits=deficits).n_commit == 2
    assert frechet_commit(deficits=deficits, runner_up=np.full(3, 0.05)).n_commit == 3
    # A position that is in no certified set does not stand in the way of another.
    result = frechet_commit(deficits=[0.5, 0.55], runner_up=[0.5, 0.1])
    np.testing.assert_array_equal(result.commit, [False, True])


def test_forced_commits_say_that_they_are():
    result = frechet_commit([0.6, 0.7, 0.5], min_commit=2)
    np.testing.assert_array_equal(result.commit, [True, True, False])
    assert not result.certified
    assert result.score == pytest.approx(1 - 0.7 - 0.4)
    single = frechet_commit([0.2, 0.3])
    assert single.n_commit == 1
    assert single.certified
    assert frechet_commit([0.2, 0.3], min_commit=0).n_commit == 0


@pytest.mark.parametrize("commit", [frechet_commit, factor_commit, threshold_commit, top_k_commit])
def test_nothing_masked(commit):
    result = commit([np.nan, 2.0], mask=[False, False])
    assert not result.commit.any()
    assert result.n_commit == 0
    assert result.certified is True
    empty = commit(np.empty((2, 0)))
    assert empty.commit.shape == (2, 0)
    assert empty.certified.all()


profiles = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@settings(max_examples=100, deadline=None)
@given(profiles, st.integers(0, 19), st.floats(0, 1))
def test_raising_a_confidence_never_commits_less(deficits, index, share):
    before = frechet_commit(deficits=deficits, min_commit=0).n_commit
    raised = np.array(deficits)
    raised[index % len(raised)] *= share
    assert frechet_commit(deficits=raised, min_commit=0).n_commit >= before


@settings(max_examples=100, deadline=None)
@given(profiles)
def test_a_certain_token_adds_one(deficits):
    before = frechet_commit(deficits=deficits, min_commit=0).n_commit
    # Rounding slack grows with n: stay off the edge.
    score = frechet_commit(deficits=deficits, min_commit=0).score
    if before and score < 1e-12:
        return
    assert frechet_commit(deficits=[0.0, *deficits], min_commit=0).n_commit == before + 1


@settings(max_examples=100, deadline=None)
@given(profiles, st.floats(0, 0.9), st.floats(0, 0.09), st.integers(0, 2**31))
def test_margins_nest_and_order_does_not_matter(deficits, margin, more, seed):
    d = np.unique(deficits)
    small = frechet_commit(deficits=d, margin=margin)
    large = frechet_commit(deficits=d, margin=margin + more)
    assert not (large.commit & ~small.commit).any()
    turn = np.random.default_rng(seed).permutation(len(d))
    np.testing.assert_array_equal(
        frechet_commit(deficits=d[turn], margin=margin).commit, small.commit[turn]
    )
    if small.certified and small.n_commit > 1:
        assert small.score > 0


@settings(max_examples=100, deadline=None)
@given(profiles, st.integers(0, 2**31), st.floats(0, 0.9))
def test_runners_up_never_commit_less(deficits, seed, margin):
    d = np.array(deficits)
    r = d * np.random.default_rng(seed).random(len(d))
    plain = frechet_commit(deficits=d, margin=margin, min_commit=0)
    sharp = frechet_commit(deficits=d, margin=margin, min_commit=0, runner_up=r)
    assert not (plain.commit & ~sharp.commit).any()


@settings(max_examples=60, deadline=None)
@given(profiles, st.integers(0, 2**31), st.integers(0, 5))
def test_only_masked_positions_and_at_least_min_commit(deficits, seed, least):
    mask = np.random.default_rng(seed).random(len(deficits)) < 0.6
    for result in (
        frechet_commit(deficits=deficits, mask=mask, min_commit=least),
        factor_commit(deficits=deficits, mask=mask, min_commit=least),
        threshold_commit(deficits=deficits, mask=mask, min_commit=least),
    ):
        assert not (result.commit & ~mask).any()
        assert result.n_commit == result.commit.sum() >= min(least, mask.sum())


def test_score_does_not_increase_with_the_set():
    d = np.random.default_rng(0).random(30) * 0.1
    scores = [frechet_commit(deficits=d, min_commit=n, max_commit=n).score for n in range(31)]
    assert scores[0] == 1
    assert (np.diff(scores) <= 0).all()


@pytest.mark.parametrize("c", [0.1, 0.3, 0.35, 0.45, 0.5, 0.9])
def test_a_confidence_equal_to_the_threshold_passes(c):
    assert threshold_commit([c] * 3, threshold=c).n_commit == 3  # not through 1 - (1 - c)
    assert threshold_commit([np.nextafter(c, 0)] * 3, threshold=c).n_commit == 1


def adversarial_profile(rng, gap):
    """Deficits whose certificate is ``-gap`` at most: the sharp law has another mode."""
    d = rng.random(int(rng.integers(2, 40))) ** rng.uniform(0.1, 4) + 1e-3
    return d * (1 + gap) / (d.sum() + d.max())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_confidences_that_rounded_up_certify_nothing_false(dtype):
    rng = np.random.default_rng(0)
    rounded_above = 0
    for _ in range(1000):
        d = adversarial_profile(rng, 1e-15)
        c = (1 - d).astype(dtype)
        naive = 1 - c.astype(float)
        rounded_above += 1 - naive.sum() - naive.max() > 1e-12
        assert not frechet_commit(c, min_commit=len(d)).certified
        assert frechet_commit(c).n_commit < len(d)
    assert rounded_above > 100 or dtype == "float64"


def test_deficits_of_low_precision_take_runners_up_of_high_precision():
    d = np.array([0.3, 0.1])
    for dtype in (np.float16, np.float32):
        assert frechet_commit(deficits=d.astype(dtype), runner_up=d).n_commit == 2
        assert frechet_commit(deficits=d, runner_up=d.astype(dtype)).n_commit == 2
        assert frechet_commit((1 - d).astype(dtype), runner_up=d).n_commit == 2


def test_runner_up_certificates_refuse_ties_too():
    # Two variables, P(0, 0) = P(1, 0): no certificate, whatever the precision of the halves.
    assert not frechet_commit(deficits=[0.5, 0.0], runner_up=[0.5, 0.0], min_commit=2).certified
    third = 1 / 3  # 1 - 2/3 - 1/3
    tied = frechet_commit(deficits=[third, third], runner_up=[third, third], min_commit=2)
    assert not tied.certified


def test_every_layout_uses_one_specialisation(tmp_path):
    from skfrontier.algos.neural.decoding.rules import commit_prefixes

    c = np.random.default_rng(0).random((4, 10))
    expected = frechet_commit(c, mask=c > 0.2).commit
    before = len(commit_prefixes.signatures)
    mapped = np.memmap(tmp_path / "c", c.dtype, "w+", shape=c.shape)
    mapped[:] = c
    mapped.flush()
    packed = np.zeros(c.shape, dtype=[("flag", "i1"), ("c", "f8")])  # unaligned
    packed["c"] = c
    for same in (
        np.asfortranarray(c),
        np.repeat(c, 2, axis=1)[:, ::2],
        np.memmap(tmp_path / "c", c.dtype, "r", shape=c.shape),
        packed["c"],
        c.astype(">f8"),
        c.tolist(),
    ):
        result = frechet_commit(same, mask=np.asfortranarray(c > 0.2), runner_up=None)
        np.testing.assert_array_equal(result.commit, expected)
    assert len(commit_prefixes.signatures) == before


def test_input_is_left_alone():
    c = np.random.default_rng(0).random((4, 9))
    c.setflags(write=False)
    strided = np.asfortranarray(c)[:, ::2]
    np.testing.assert_array_equal(
        frechet_commit(strided).commit, frechet_commit(strided.copy(order="C")).commit
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either confidences or deficits"),
        ({"confidences": [0.5], "deficits": [0.5]}, "either confidences or deficits"),
        ({"confidences": [0.5, 1.5]}, r"confidences must lie in \[0, 1\].*1.5 at confidences\[1\]"),
        ({"confidences": [[0.5, np.nan]]}, r"nan at confidences\[0, 1\]"),
        ({"deficits": [-0.1]}, "deficits must lie"),
        ({"confidences": 0.5}, r"shape \(L,\) or \(B, L\)"),
        ({"confidences": [0.5], "mask": [1]}, "mask must be boolean"),
        ({"confidences": [0.5], "mask": [True, False]}, "mask must have the shape"),
        ({"confidences": ["a"]}, "real numbers"),
        ({"confidences": [0.5], "margin": 1.0}, "margin"),
        ({"confidences": [0.5], "margin": -0.1}, "margin"),
        ({"confidences": [0.5], "calibration_error": -1e-3}, "calibration_error"),
        ({"confidences": [0.9], "runner_up": [0.2]}, "runner_up must lie"),
        ({"confidences": [0.9], "runner_up": [np.nan]}, "runner_up must lie"),
        ({"confidences": [0.9], "runner_up": [0.05, 0.1]}, "runner_up must have the shape"),
        ({"confidences": [0.9], "min_commit": -1}, "min_commit"),
        ({"confidences": [0.9], "min_commit": 3, "max_commit": 2}, "max_commit"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        frechet_commit(**arguments)


def test_bad_parameters_of_the_other_rules():
    with pytest.raises(ValueError, match="factor"):
        factor_commit([0.5], factor=0)
    with pytest.raises(ValueError, match="variant"):
        factor_commit([0.5], variant="other")
    with pytest.raises(ValueError, match="threshold"):
        threshold_commit([0.5], threshold=1.1)
    with pytest.raises(ValueError, match="k must"):
        top_k_commit([0.5], k=0)
