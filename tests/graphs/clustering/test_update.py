"""Updates: what they cost, what they leave, and in which order they may come."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skfrontier.algos import EdgeList, Hierarchy, block_log_affinity
from skfrontier.algos._numba import njit
from skfrontier.algos.graphs.clustering.adjacency import DEGREE, OPEN
from skfrontier.algos.graphs.clustering.edge_table import EMPTY, copy_entries, find_slot, pair_key
from skfrontier.algos.graphs.clustering.levels import TOP
from skfrontier.algos.graphs.clustering.update import ENTRIES_READ, OPEN_VOLUME, PULLS, VOTES
from skfrontier.datasets import make_sbm_edges


@njit
def slot_of(keys, first, mask, key):
    return find_slot(keys, first, mask, key)


@njit
def key_of(a, b):
    return pair_key(a, b)


def block_graph(seed, sizes=(30, 30, 30), p_in=0.4, p_out=0.03):
    return make_sbm_edges(sizes, p_in, p_out, seed), sum(sizes)


@pytest.fixture
def graph():
    edges, n = block_graph(0)
    graph = Hierarchy(EdgeList(edges, n_vertices=n), n_clusters=3, depth=3, min_budget=20)
    graph.cluster(random_state=0)
    return graph


def test_hub_that_lost_its_edges_is_read_in_proportion_to_what_it_has():
    n = 1500
    star = np.column_stack([np.zeros(n - 1, int), np.arange(1, n)])
    ring = np.column_stack([np.arange(1, n), np.roll(np.arange(1, n), 1)])
    graph = Hierarchy(
        EdgeList(np.concatenate([star, ring])), n_clusters=4, beta=0.05, max_drift=1e9
    )
    graph.cluster(random_state=0)
    graph.delete(star[15:])
    for turn in range(1000):
        if turn == 1:
            before = graph.tally.copy()
        (graph.insert if turn % 2 else graph.delete)(star[:1])
        graph._levels.arrays.info[0, TOP] = (
            1  # so that level 2 is made anew, and the hub is in a block
        )
        assert graph.cluster(random_state=0).level == 1
    read, pulls = (graph.tally - before)[[ENTRIES_READ, PULLS]]
    assert pulls >= 1000
    assert read / 1000 <= 100


def test_entries_read_per_change_are_bounded():
    """At most 2 (1 + 1 / beta) a change and level by pulls, 2 (1 + 1 / rate) by votes, and the slack."""
    rng = np.random.default_rng(0)
    edges, n = block_graph(1, (150, 150, 150), 0.1, 0.01)
    for beta, rate in ((1.0, None), (0.5, None), (1.0, 0.25)):
        graph = Hierarchy(
            EdgeList(edges, n_vertices=n),
            n_clusters=3, depth=3, beta=beta, refine_rate=rate, min_budget=30, max_drift=1e9,
        )  # fmt: skip
        graph.cluster(random_state=0)
        before, n_changes = graph.tally[ENTRIES_READ], 0
        for _ in range(60):
            new = rng.integers(0, n, (40, 2))
            new = new[new[:, 0] != new[:, 1]]
            graph.insert(new)
            n_changes += len(new)
            graph.cluster(random_state=0)
        bound = 2 * 2 * (1 + 1 / beta) + (2 * (1 + 1 / rate) if rate else 0)
        assert 0 < (graph.tally[ENTRIES_READ] - before) / n_changes <= bound


def test_singles_of_a_level_are_singles_of_the_finer_ones():
    rng = np.random.default_rng(3)
    edges, n = block_graph(2)
    graph = Hierarchy(EdgeList(edges, n_vertices=n), n_clusters=3, depth=4, min_budget=25)
    graph.cluster(random_state=0)
    for _ in range(40):
        new = rng.integers(0, n, (6, 2))
        graph.insert(new[new[:, 0] != new[:, 1]])
        singles = []
        for level in range(1, graph.n_maintained + 1):
            of = graph.level_map(level)
            singles.append(set(np.flatnonzero(of >= graph._levels.arrays.info[level, 2])))
        for finer, coarser in pairwise(singles):
            assert coarser <= finer
        if rng.random() < 0.2:
            graph.cluster(random_state=rng)


def test_open_votes_are_counted_as_they_come():
    rng = np.random.default_rng(5)
    edges, n = block_graph(4, p_in=0.2, p_out=0.1)
    weights = rng.random(len(edges)) + 0.1
    graph = Hierarchy(EdgeList(edges, weights, n), n_clusters=3, min_budget=20, max_moved=10)
    graph.cluster(random_state=0)
    touched, levels = np.zeros(n, bool), []
    dissenting = graph._log.arrays.weight[:, OPEN] > 0
    for turn in range(60):
        changed = edges[turn : turn + 2]
        if turn % 3:
            changed = rng.integers(0, n, (2, 2))
            changed = changed[changed[:, 0] != changed[:, 1]]
        (graph.insert if turn % 3 else graph.delete)(changed)
        touched[changed] = True
        weight = graph._log.arrays.weight[:n]
        counted = weight[:, OPEN] > 0
        np.testing.assert_allclose(weight[counted, OPEN], weight[counted, DEGREE])
        np.testing.assert_allclose(graph.tally[OPEN_VOLUME], weight[:, OPEN].sum(), atol=1e-9)
        assert not counted[~touched & ~dissenting].any()
        if turn % 10 == 9:
            report = graph.cluster(random_state=0)
            levels.append(report.level)
            weight = graph._log.arrays.weight[:n]
            expected = weight[:, OPEN].sum() / weight[:, DEGREE].sum()
            assert report.unsettled == pytest.approx(expected)
            if report.level == 0:
                touched[:] = False
                dissenting = weight[:, OPEN] > 0
    assert max(levels) > 0


def test_unsettled_volume_of_a_full_solve_is_that_of_dissenting_votes():
    edges, n = block_graph(6, (120, 120, 120), 0.06, 0.035)
    graph = Hierarchy(EdgeList(edges, n_vertices=n), n_clusters=3)
    report = graph.cluster(random_state=0)
    A, labels, degree = graph.adjacency(), graph.labels(), graph.degrees()
    known = labels >= 0
    member = np.eye(3)[labels] * known[:, None]
    affinity = block_log_affinity(member.T @ A @ member)
    prior = np.log(member.sum(axis=0) / known.sum())
    to = A @ member
    score = np.where(to > 0, to @ affinity.T + prior, -np.inf)
    dissents = known & (score.max(axis=1) > score[np.arange(n), labels])
    assert report.unsettled == pytest.approx(degree[dissents].sum() / degree.sum())
    assert 0 < report.unsettled < 1
    plain = Hierarchy(EdgeList(edges, n_vertices=n), n_clusters=3, refine_rate=None)
    assert np.isnan(plain.cluster(random_state=0).unsettled)


def test_the_limit_of_moves_falls_with_the_root_of_the_votes(graph):
    live = 90
    assert graph.moved_limit == pytest.approx(0.04)
    graph.tally[VOTES] += live / 2
    assert graph.moved_limit == pytest.approx(0.08 * np.sqrt(0.5))
    graph.tally[VOTES] += live * 9
    assert graph.moved_limit == pytest.approx(0.08)


def test_volumes_of_every_level_add_up_to_the_degrees(graph):
    graph.insert([(0, 1), (0, 40), (5, 95)])
    for level in range(1, graph.n_maintained + 1):
        assert graph.level_volumes(level).sum() == graph.degrees().sum()


def test_what_is_inserted_and_deleted_leaves_no_trace(graph):
    before = [graph.level_matrix(level).toarray() for level in range(3)]
    maps = [graph.level_map(level) for level in range(3)]
    new = [(0, 3), (1, 70), (50, 51), (2, 3)]
    graph.insert(new, [0.25, 0.5, 1.0, 2.0])
    graph.delete(new, [0.25, 0.5, 1.0, 2.0])
    for level in range(3):
        if (graph.level_map(level) == maps[level]).all():
            np.testing.assert_allclose(
                graph.level_matrix(level).toarray(), before[level], rtol=0, atol=1e-9
            )
    np.testing.assert_array_equal(graph.adjacency().toarray(), before[0])


def canonical_levels(graph):
    """Matrices of the maintained levels, nodes named by their smallest vertex."""
    matrices = []
    for level in range(1, graph.n_maintained + 1):
        of = graph.level_map(level)
        names, first = np.unique(of, return_index=True)
        order = names[np.argsort(first)]
        matrices.append(graph.level_matrix(level)[order][:, order].toarray())
    return matrices


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_order_and_batches_of_insertions_do_not_matter(seed, data):
    rng = np.random.default_rng(seed)
    edges, n = block_graph(seed)
    new = rng.integers(0, n, (12, 2))
    new = new[new[:, 0] != new[:, 1]]
    order = data.draw(st.permutations(range(len(new))))
    cut = data.draw(st.integers(0, len(new)))
    graphs = []
    for parts in ([new], [new[order][:cut], new[order][cut:]]):
        graph = Hierarchy(
            EdgeList(edges, n_vertices=n),
            n_clusters=3, depth=3, refine_rate=None, min_budget=40,
        )  # fmt: skip
        graph.cluster(random_state=0)
        for part in parts:
            graph.insert(part)
        graphs.append(graph)
    pulled = [graph._levels.arrays.stamp[:, :] & 1 for graph in graphs]
    if graphs[0].n_maintained == graphs[1].n_maintained and np.array_equal(*pulled):
        for first, second in zip(*map(canonical_levels, graphs), strict=True):
            np.testing.assert_array_equal(first, second)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_unpulled_blocks_keep_their_inner_conductance(seed):
    """The lemma: insertions that pull nobody out lower it by a factor of at most 1 + beta."""
    rng = np.random.default_rng(seed)
    n, beta = int(rng.integers(4, 9)), float(rng.choice([0.5, 1.0, 2.0]))
    A = np.triu(rng.integers(0, 3, (n, n)), 1).astype(float)
    A += A.T
    if (A.sum(1) == 0).any():
        return
    size = int(rng.integers(2, n + 1))
    block = np.arange(size)

    def inner_conductance(A):
        degree = A.sum(axis=1)
        best = np.inf
        for mask in range(1, 2**size - 1):
            T = block[[bool(mask >> i & 1) for i in range(size)]]
            rest = np.setdiff1d(block, T)
            if degree[T].sum() <= degree[block].sum() / 2:
                best = min(best, A[np.ix_(T, rest)].sum() / degree[T].sum())
        return best

    before, room = inner_conductance(A), beta * A.sum(axis=1)
    B = A.copy()
    for _ in range(20):
        u, v = rng.choice(n, 2, replace=False)
        w = rng.random()
        if (B[u].sum() + w - A[u].sum() < room[u]) and (B[v].sum() + w - A[v].sum() < room[v]):
            B[u, v] += w
            B[v, u] += w
    assert inner_conductance(B) >= before / (1 + beta) - 1e-12


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.floats(0.1, 5), st.booleans()),
        max_size=60,
    )
)
def test_the_log_is_the_graph(changes):
    """Insertions and deletions in any order against a dense matrix, with and without folding."""
    dense = np.zeros((10, 10))
    graph = Hierarchy(sparse.csr_matrix(dense), n_clusters=2)
    for u, v, w, fold in changes:
        if u == v:
            continue
        if dense[u, v] > 0 and w < 2.5:
            graph.delete([(u, v)])
            w = -dense[u, v]
        else:
            graph.insert([(u, v)], [w])
        dense[u, v] += w
        dense[v, u] += w
        if fold:
            graph._log.fold()
    np.testing.assert_allclose(graph.adjacency().toarray(), dense, atol=1e-12)
    pairs = np.argwhere(np.ones((10, 10)))
    np.testing.assert_allclose(graph.edge_weights(pairs), dense.ravel(), atol=1e-12)
    assert graph.n_edges == np.count_nonzero(np.triu(dense))


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.integers(0, 2**50), st.floats(-1e3, 1e3), max_size=30))
def test_table_against_a_dictionary(entries):
    keys, values = np.full(64, EMPTY, np.int64), np.zeros(64)
    for key, value in entries.items():
        slot = slot_of(keys, 0, 63, key)
        keys[slot], values[slot] = key, value
    larger, their_values = np.full(256, EMPTY, np.int64), np.zeros(256)
    assert copy_entries(keys, values, 0, 64, larger, their_values, 128, 127) == len(entries)
    for key, value in entries.items():
        assert their_values[slot_of(larger, 128, 127, key)] == value
    assert (larger[:128] == EMPTY).all()


def test_pair_key_does_not_know_order():
    assert key_of(3, 2**31 - 2) == key_of(2**31 - 2, 3) == (3 << 32) | (2**31 - 2)


def test_unit_changes_of_a_tiny_weight_beside_a_huge_one():
    graph = Hierarchy(EdgeList([(0, 1), (2, 3)], [1e9, 1e-9]), n_clusters=2, depth=2)
    graph.cluster(random_state=0)
    graph.insert([(3, 4)], [1e-9])
    graph.delete([(2, 3)])
    assert graph.cluster(random_state=0).n_clusters == 2
    assert graph.labels()[2] == -1
    assert graph.labels()[3] == graph.labels()[4] >= 0
