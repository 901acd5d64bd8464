"""Ctrl-C at any moment: a change is made whole or not at all, and answers stay true."""

import pickle

import numpy as np
import pytest
from interrupting import interruptions
from matching_references import optimum

from skfrontier.estimators import DynamicMatching

# interrupts in the clean-up of generators are dropped by Python, with this warning
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def distance(x, y):
    return abs(x[0] - y[0]) + abs(x[1] - y[1])


KINDS = {
    "exact": {"method": "exact"},
    "anytime": {"method": "anytime", "max_scans": 4},
    "metric": {"method": "metric", "random_state": 0},
    "geometric": {"method": "geometric", "random_state": 0},
    "exact, objects": {"method": "exact", "metric": distance},
    "metric, objects": {"method": "metric", "metric": distance, "random_state": 0},
}


def given(points, kind):
    return [tuple(x) for x in points] if "objects" in kind else points


def best(model):
    A, B = (np.array(model.points(side)) for side in "ab")
    return optimum(A, B, metric="cityblock" if callable(model.metric) else "euclidean")


def everything(model):
    return [model.ids(side).tolist() for side in "ab"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lazy", [True, False])
def test_change_is_whole_or_nothing(kind, lazy):
    rng = np.random.default_rng(0)
    A, B, new = rng.random((40, 2)), rng.random((44, 2)), rng.random((6, 2))
    start = DynamicMatching(lazy=lazy, **KINDS[kind]).fit(given(A, kind), given(B, kind))
    blob = pickle.dumps(start)

    def change(model):
        if lazy:
            model.insert("a", given(new, kind))
        else:
            model.update(insert_a=given(new, kind), delete_b=[3, 5])

    done = pickle.loads(blob)
    change(done)
    states = [everything(start), everything(done)]
    for model in interruptions(lambda: pickle.loads(blob), change):
        assert everything(model) in states
        if everything(model) == states[0]:
            change(model)
        result = model.query()
        assert result.lower_bound <= best(model) * (1 + 1e-9)
        assert result.cost >= best(model) * (1 - 1e-9)
        assert result.cost == pytest.approx(done.query().cost, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_answer_can_be_asked_for_again(kind):
    rng = np.random.default_rng(1)
    start = DynamicMatching(**KINDS[kind]).fit(
        given(rng.random((40, 2)), kind), given(rng.random((40, 2)), kind)
    )
    start.insert("a", given(rng.random((9, 2)), kind))
    start.insert("b", given(rng.random((4, 2)), kind))
    start.delete("b", [7, 9])
    blob = pickle.dumps(start)
    for model in interruptions(lambda: pickle.loads(blob), DynamicMatching.query):
        result = model.query()
        assert len(result.ids_a) == len(set(result.ids_a)) == len(set(result.ids_b)) == 42
        assert result.cost >= best(model) * (1 - 1e-9)
        assert result.lower_bound <= best(model) * (1 + 1e-9)
        if "exact" in kind:
            assert result.cost == pytest.approx(best(model), rel=1e-9)
