"""Units, magnitudes and separated counts: what must not change the answer, and what is refused."""

import numpy as np
import pytest

from skfrontier.algos import acv_score, acv_terms, expected_false_edges, leave_many_out_score
from skfrontier.datasets import make_gaussian_graph
from skfrontier.estimators import GraphACV


@pytest.fixture(scope="module")
def chain():
    return make_gaussian_graph(300, 12, graph="chain", random_state=0)[0]


@pytest.mark.parametrize("unit", [1e-9, 1e-5, 1e6])
def test_terms_follow_the_unit_of_the_response(unit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + rng.standard_normal(300)
    one, other = acv_terms(X, y, [0, 1]), acv_terms(X, y * unit, [0, 1])
    assert other.deviance == pytest.approx(one.deviance + 600 * np.log(unit))
    assert (other.trace, other.rest) == pytest.approx((one.trace, one.rest))
    for score in (acv_score, lambda *args: leave_many_out_score(*args, random_state=0).mean):
        shift = score(X, y * unit, [0], 50) - score(X, y, [0], 50)
        assert shift == pytest.approx(np.log(unit))


@pytest.mark.parametrize("precision", ["mle", "nodewise"])
def test_precision_follows_the_units_of_the_columns(chain, precision):
    units = 10.0 ** np.random.default_rng(0).integers(-8, 9, 12)
    one = GraphACV(precision=precision).fit(chain).precision_
    other = GraphACV(precision=precision).fit(chain * units).precision_
    np.testing.assert_allclose(other * np.outer(units, units), one, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-200, 1e-160, 1e160, 1e200])
def test_magnitudes_without_squares_are_refused(chain, factor):
    with pytest.raises(ValueError, match="column 0 of X must have values whose squares"):
        GraphACV().fit(chain * factor)
    with pytest.raises(ValueError, match="column 1 of X must have values whose squares"):
        acv_terms(chain * factor, chain[:, 0], [1])
    with pytest.raises(ValueError, match="y must have values whose squares"):
        acv_terms(chain, chain[:, 0] * factor, [1])


def test_copies_of_counts_are_neighbours():
    rng = np.random.default_rng(0)
    for _ in range(5):  # 0/1 counts are predicted with certainty: the residuals vanish
        counts = rng.integers(0, 2, (30, 6))
        counts[:, 1] = counts[:, 0]
        scores = GraphACV(family="poisson", n_train=1.0).fit(counts).directed_scores_
        assert 10 < scores[0, 1] < 60
        assert 10 < scores[1, 0] < 60


def test_large_counts_are_fitted():
    counts = np.random.default_rng(0).poisson(1e14, (200, 3)).astype(float)
    assert abs(GraphACV(family="poisson").fit(counts).score(counts)) < 1e3


def test_a_list_of_one_family_is_that_family(chain):
    names = ["gaussian"] * 12
    assert expected_false_edges(9.0, 20, 12, family=names) == expected_false_edges(9.0, 20, 12)
    assert GraphACV(family=names).fit(chain[:40]).kappa_ == GraphACV().fit(chain[:40]).kappa_


def test_parameters_set_after_the_fit_do_not_change_its_graphs(chain):
    few = chain[:40]
    model = GraphACV(rule="and").fit(few)
    model.set_params(rule="or", family="ising")
    np.testing.assert_array_equal(model.graph_at("auto"), model.adjacency_)
