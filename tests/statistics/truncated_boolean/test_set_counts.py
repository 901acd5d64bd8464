"""Counts of every family equal what changed copies and ``contains`` say."""

import numpy as np
import pytest
from scipy import sparse
from set_families import brute_flips, brute_masks, brute_pair_counts, members, with_explicit

from skfrontier.algos import Cardinality, ExplicitSet, FullCube, MembershipOracle, pack_bits

N_FEATURES = 24
FAMILIES = list(with_explicit(N_FEATURES, np.random.default_rng(0)))


def case(name, seed, n_rows):
    rng = np.random.default_rng(seed)
    truncation = with_explicit(N_FEATURES, rng)[name]
    if name == "explicit":
        X = truncation.points[rng.integers(len(truncation.points), size=n_rows)]
    else:
        X = members(truncation, N_FEATURES, n_rows, rng)
    assert len(X) >= min(200, n_rows), "the test set is too rare"
    return truncation, X, rng


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", FAMILIES)
def test_counts_equal_brute_force(name, seed):
    truncation, X, rng = case(name, seed, 3000 if seed == 0 else 1000)
    flags = brute_flips(truncation, X)
    np.testing.assert_array_equal(truncation.flips(X), flags)
    m1, m0 = truncation.flip_counts(X)
    assert m1.dtype == m0.dtype == np.int64
    np.testing.assert_array_equal(m1, (flags & (X == 1)).sum(0))
    np.testing.assert_array_equal(m0, (flags & (X == 0)).sum(0))
    pairs = truncation.candidate_pairs(N_FEATURES, 4, rng)[:60]
    expected = brute_pair_counts(truncation, X, pairs, np.ones(len(X)))
    np.testing.assert_array_equal(truncation.pair_counts(X, pairs), expected)
    assert expected.sum() == len(X) * len(pairs)


@pytest.mark.parametrize("name", FAMILIES)
def test_weighted_and_sparse_counts(name):
    truncation, X, rng = case(name, 1, 500)
    weights = rng.integers(0, 4, len(X))
    repeated = np.repeat(X, weights, axis=0)
    for rows in (X, X.astype(bool), X.astype(float), sparse.csr_matrix(X), np.asfortranarray(X)):
        np.testing.assert_array_equal(truncation.flip_counts(rows), truncation.flip_counts(X))
        np.testing.assert_allclose(
            truncation.flip_counts(rows, weights), truncation.flip_counts(repeated)
        )
    pairs = truncation.candidate_pairs(N_FEATURES, 2, rng)
    np.testing.assert_allclose(
        truncation.pair_counts(sparse.csr_array(X), pairs, weights),
        truncation.pair_counts(repeated, pairs),
    )


@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize("name", FAMILIES)
def test_masks_of_other_sizes(name, size):
    truncation, X, rng = case(name, 2, 200)
    subsets = np.array([rng.choice(N_FEATURES, size, replace=False) for _ in range(25)])
    masks = truncation.fibre_masks(X, subsets)
    np.testing.assert_array_equal(masks, brute_masks(truncation, X, subsets))
    fibre = truncation.fibre(X[0], subsets[0])
    codes = fibre @ (1 << np.arange(size))
    assert sum(1 << int(c) for c in codes) == masks[0, 0]


@pytest.mark.parametrize(
    "truncation", [FullCube(), Cardinality(min=5, max=12), Cardinality([3, 7])]
)
@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 1000])
def test_packed_counts(truncation, n_rows):
    rng = np.random.default_rng(n_rows)
    X = members(truncation, N_FEATURES, n_rows, rng)
    packed = pack_bits(X)
    assert truncation.contains(packed).all()
    np.testing.assert_array_equal(truncation.flip_counts(packed), truncation.flip_counts(X))
    np.testing.assert_array_equal(pack_bits(sparse.csr_array(X)).planes, packed.planes)


def test_packed_rows_are_refused_where_they_cannot_be_counted():
    packed = pack_bits([[0, 1], [1, 1]])
    with pytest.raises(TypeError, match="sample_weight"):
        Cardinality(min=1).flip_counts(packed, [1, 1])
    with pytest.raises(TypeError, match="PackedBits"):
        MembershipOracle(lambda X: X[:, 0] >= 0).flip_counts(packed)


def test_neighbours_of_points():
    rng = np.random.default_rng(0)
    for n in (1, 3, 7):
        S = ExplicitSet((rng.random((60, n)) < 0.5).astype(np.uint8))
        for i in range(n):
            flipped = S.points.copy()
            flipped[:, i] ^= 1
            np.testing.assert_array_equal(S.neighbours(i), S.find(flipped))
