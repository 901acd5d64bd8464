"""Optimal matchings by scipy, and streams of changes."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist


def optimum(A, B, p=1.0, metric="euclidean", **params):
    """Cost of the cheapest matching."""
    costs = cdist(np.asarray(A), np.asarray(B), metric, **params) ** p
    return optimum_of(costs)


def optimum_of(costs):
    """Cost of the cheapest matching for a matrix of costs."""
    return float(costs[linear_sum_assignment(costs)].sum())


class Mirror:
    """The points that an engine should hold, by side and slot."""

    def __init__(self, engine):
        self.engine, self.points = engine, ({}, {})

    def insert(self, side, point):
        slot = int(self.engine.insert(side, np.atleast_2d(point))[0])
        self.points[side][slot] = np.asarray(point, dtype=float)

    def delete_random(self, side, rng):
        slots = list(self.points[side])
        if slots:
            slot = slots[rng.integers(len(slots))]
            self.engine.delete(side, np.array([slot]))
            del self.points[side][slot]

    def random_changes(self, rng, draw, step, most=30):
        """One to three changes; sizes cross again and again."""
        for _ in range(rng.integers(1, 4)):
            side = int(rng.integers(2))
            if rng.random() < 0.5 + 0.35 * np.sin(step / 12) and len(self.points[side]) < most:
                self.insert(side, draw())
            else:
                self.delete_random(side, rng)
        self.engine.flush()

    @property
    def both(self):
        """Points of both sides, None while one is empty."""
        if not all(self.points):
            return None
        return tuple(np.array(list(side.values())) for side in self.points)

    def check_pairs(self, distance):
        """The engine's pairs are a matching of the smaller side, and cost what it says."""
        a, b = self.engine.pairs()
        assert len(a) == len(set(a)) == len(set(b)) == min(map(len, self.points))
        total = sum(
            distance(self.points[0][i], self.points[1][j]) for i, j in zip(a, b, strict=True)
        )
        assert total == np.float64(self.engine.cost()) or abs(
            total - self.engine.cost()
        ) <= 1e-9 * (1 + total)


def grid_or_normal(rng, d, ties):
    """A sampler with many ties, or without."""
    if ties:
        return lambda: rng.integers(0, 4, d).astype(float)
    return lambda: rng.normal(size=d)
