"""Prices that are kept through changes: always feasible, and near after an auction."""

import numpy as np
import pytest
from matching_references import optimum_of
from scipy.spatial.distance import cdist

from skfrontier.algos.geometry.matching.auction import find_values
from skfrontier.algos.geometry.matching.costs import vector_cost
from skfrontier.algos.geometry.matching.point_tree import new_tree, tree_fill
from skfrontier.algos.geometry.matching.prices import KeptPrices, Side
from skfrontier.algos.geometry.matching.store import PointSlots

METRICS = {
    "euclidean": (vector_cost("euclidean"), {}),
    "manhattan": (vector_cost("manhattan"), {"metric": "cityblock"}),
    "chebyshev": (vector_cost("chebyshev"), {"metric": "chebyshev"}),
    "minkowski": (vector_cost("minkowski", q=3.0), {"metric": "minkowski", "p": 3}),
}


EUCLIDEAN = (METRICS["euclidean"][0].code, 2.0)


class Stream:
    """Two sides of points that change, their prices, and the distances by brute force."""

    def __init__(self, metric, d, seed):
        self.rng = np.random.default_rng(seed)
        self.cost, self.scipy = METRICS[metric]
        self.stores = PointSlots(d), PointSlots(d)
        self.prices = KeptPrices(self.cost, 8)

    def change(self, side, n_new, n_gone):
        store = self.stores[side]
        gone = self.rng.choice(store.live, min(n_gone, store.n_alive), replace=False)
        store.remove(gone)
        self.prices.forget(side, gone)
        new = store.add(self.rng.random((n_new, store.points.shape[0])))
        self.prices.reserve(store.capacity)
        self.prices.forget(side, new)

    @property
    def sides(self):
        return tuple(self._side(store) for store in self.stores)

    def _side(self, store):
        tree = new_tree(store.points.shape[0], store.capacity)
        tree_fill(tree, store.points, store.live)
        return Side(store.points, store.live, tree)

    @property
    def distances(self):
        A, B = (store.points[:, store.live].T for store in self.stores)
        return cdist(A, B, **self.scipy)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_bound_holds_through_changes_and_the_auction_closes_it(metric, d):
    stream = Stream(metric, d, seed=d)
    stream.change(0, 40, 0)
    stream.change(1, 50, 0)
    stream.prices.start(stream.sides, stream.rng)
    for step in range(30):
        side = int(stream.rng.integers(2))
        stream.change(side, *stream.rng.integers(0, 12, 2))
        distances = stream.distances
        best, scale = optimum_of(distances), distances.max()
        u, v = stream.prices.potentials(stream.sides)
        assert (u[:, None] + v[None, :] <= distances + 1e-12 * scale).all()
        bound = stream.prices.bound(stream.sides)
        assert bound <= best
        if step % 3 == 2:
            m = min(distances.shape)
            stream.prices.improve(stream.sides, 0.1, best / m)
            assert stream.prices.bound(stream.sides) <= best
            a, b = stream.prices.pairs(stream.sides)
            assert len(a) == len(set(a)) == len(set(b)) == m
            rows, columns = (
                np.searchsorted(store.live, slots)
                for store, slots in zip(stream.stores, (a, b), strict=True)
            )
            cost = distances[rows, columns].sum()
            # each pair is within the step of what its bidder wants
            assert cost <= stream.prices.bound(stream.sides) + 0.1 * best * (1 + 1e-6)


def test_remembered_wishes_are_those_of_a_new_search():
    rng = np.random.default_rng(0)
    X, Y = rng.random((2, 60)), rng.random((2, 200))
    tree = new_tree(2, 200)
    tree_fill(tree, Y, np.arange(200))
    price = rng.random(200)
    near, beyond = np.full((60, 8), -1), np.full(60, -np.inf)
    value, bidders = np.empty(60), np.arange(60)
    for _ in range(20):
        find_values(*EUCLIDEAN, X, tree, Y, price, near, beyond, bidders, value)
        np.testing.assert_allclose(value, (cdist(X.T, Y.T) + price).min(axis=1), rtol=1e-12)
        risen = rng.choice(200, 20, replace=False)
        price[risen] += rng.exponential(0.1, 20)


def test_coinciding_points_have_the_bound_zero():
    stream = Stream("euclidean", 2, seed=0)
    for side in range(2):
        stream.change(side, 5, 0)
        stream.stores[side].points[:] = 0.25
    stream.prices.start(stream.sides, stream.rng)
    assert stream.prices.bound(stream.sides) == pytest.approx(0, abs=1e-12)


def test_one_bidder_and_one_object():
    stream = Stream("euclidean", 2, seed=0)
    stream.change(0, 1, 0)
    stream.change(1, 1, 0)
    stream.prices.start(stream.sides, stream.rng)
    stream.prices.improve(stream.sides, 0.1, 1.0)
    assert stream.prices.bound(stream.sides) == pytest.approx(stream.distances.sum())
