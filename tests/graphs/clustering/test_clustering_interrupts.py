"""Ctrl-C at any moment: changes are made whole or not at all, and queries can be repeated."""

import pickle

import numpy as np
import pytest
from interrupting import interruptions

from skfrontier.estimators import DynamicKNNSpectralClustering, DynamicSpectralClustering

# interrupts in the clean-up of generators are dropped by Python, with this warning
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def named(edges):
    return [(f"v{a}", f"v{b}") for a, b in edges]


def graph_model(names):
    edges = np.array([(i, j) for i in range(30) for j in range(i) if (i // 10) == (j // 10)])
    edges = np.vstack([edges, [(0, 10), (10, 20)]])
    model = DynamicSpectralClustering(n_clusters=3, random_state=0)
    return model.partial_fit(named(edges) if names else edges)


def content(model):
    return model.adjacency().toarray().tolist(), list(getattr(model, "nodes_", []))


NEW = [(30, 0), (30, 1), (31, 30), (12, 5)]


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda model, as_given: model.partial_fit(as_given(NEW)),
        lambda model, as_given: model.delete(as_given([(0, 10), (1, 2), (25, 24)])),
    ],
    ids=["insertion", "deletion"],
)
def test_change_is_whole_or_nothing(names, change):
    as_given = named if names else np.array
    model = graph_model(names)
    model.query()
    blob = pickle.dumps(model)
    done = change(pickle.loads(blob), as_given)
    states = [content(model), content(done)]
    for model in interruptions(lambda: pickle.loads(blob), lambda m: change(m, as_given)):
        assert content(model) in states
        if content(model) == states[0]:
            change(model, as_given)
        np.testing.assert_array_equal(model.query(), done.query())
        assert model.n_updates_ == done.n_updates_


def test_interrupted_query_can_be_repeated():
    model = graph_model(False)
    model.query()
    model.partial_fit(np.array(NEW))
    blob = pickle.dumps(model)
    groups = np.r_[np.repeat([0, 1, 2], 10), 0, 0]
    for model in interruptions(lambda: pickle.loads(blob), DynamicSpectralClustering.query):
        labels = model.query()
        assert len(set(labels)) == 3
        assert len(set(zip(labels.tolist(), groups.tolist(), strict=True))) == 3
        assert model.n_pending_ == 0


def test_points_and_edges_stay_together():
    rng = np.random.default_rng(0)
    model = DynamicKNNSpectralClustering(n_clusters=2, n_neighbors=3, random_state=0)
    model.fit(np.vstack([rng.normal(0, 1, (20, 2)), rng.normal(9, 1, (20, 2))]))
    blob, new = pickle.dumps(model), rng.normal(0, 1, (4, 2))
    for model in interruptions(lambda: pickle.loads(blob), lambda m: m.partial_fit(new)):
        assert len(model._points) == model.n_vertices_
        model.partial_fit(new + 0.01)
        assert len(model.labels_) == len(model._points)
