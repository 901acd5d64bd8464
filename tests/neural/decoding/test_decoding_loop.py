"""The decode loop and the toy laws that it is tried on."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from skfrontier.algos import decode_masked
from skfrontier.datasets import make_markov_sequences, make_template_sequences


def toy_models():
    for seed in range(6):
        noise = (0.02, 0.2, 0.5)[seed % 3]
        yield make_template_sequences(3, 5, 3, noise=noise, random_state=seed), 5, 3
        yield make_template_sequences(4, 6, 2, noise=0.3, shared=0.2, random_state=seed), 6, 2
        yield make_markov_sequences(5, 3, random_state=seed), 5, 3
        yield make_markov_sequences(6, 2, concentration=1.0, random_state=seed), 6, 2


@pytest.mark.parametrize(("model", "length", "n_tokens"), list(toy_models()))
def test_toy_laws_equal_enumeration(model, length, n_tokens):
    every = np.array(list(product(range(n_tokens), repeat=length)))
    p = np.exp(model.log_prob(every))
    assert p.sum() == pytest.approx(1)
    assert model.log_prob(model.mode()) == pytest.approx(np.log(p.max()))
    assert model.log_prob(every[3]) == pytest.approx(model.log_prob(every)[3])
    rng = np.random.default_rng(0)
    for share in (0.0, 0.3, 0.7, 1.0):
        x = np.where(rng.random(length) < share, every[rng.choice(len(every), p=p)], -1)
        agree = p * ((x < 0) | (every == x)).all(axis=1)
        expected = [
            [agree[every[:, j] == token].sum() for token in range(n_tokens)] for j in range(length)
        ]
        np.testing.assert_allclose(model.marginals(x), np.array(expected) / agree.sum(), atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        make_template_sequences(3, 3, 3, noise=0.2, random_state=0),
        make_markov_sequences(3, 3, random_state=0),
    ],
)
def test_samples_follow_the_law(model):
    n = 20_000
    every = np.array(list(product(range(3), repeat=3)))
    p = np.exp(model.log_prob(every))
    drawn = model.sample(n, random_state=0)
    shares = np.bincount(drawn @ [9, 3, 1], minlength=27) / n
    assert (np.abs(shares - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-9).all()
    np.testing.assert_array_equal(drawn, model.sample(n, random_state=0))


def test_toy_laws_refuse_bad_input():
    model = make_template_sequences(2, 4, 3, random_state=0)
    with pytest.raises(ValueError, match="x must have shape"):
        model.marginals([0, 1])
    with pytest.raises(ValueError, match=r"tokens in -1\.\.2"):
        model.marginals([0, 1, 2, 3])
    with pytest.raises(ValueError, match="integer tokens"):
        model.log_prob([0.5] * 4)
    with pytest.raises(ValueError, match="n_tokens"):
        make_template_sequences(2, 4, 1)
    with pytest.raises(ValueError, match="noise of at most"):
        make_template_sequences(2, 4, 3, noise=0.9, random_state=0).mode()
    with pytest.raises(ValueError, match="concentration"):
        make_markov_sequences(3, 3, concentration=0)


@pytest.mark.parametrize(("noise", "x"), [(0, [0, 1, 2, 0, 1, 2]), (1, [0] * 5 + [-1])])
def test_impossible_tokens_are_told(noise, x):
    templates = [[0] * 6, [1] * 6, [2] * 6] if noise == 0 else [[0] * 6]
    model = replace(
        make_template_sequences(len(templates), 6, 3, noise=noise, random_state=0),
        templates=np.array(templates),
    )
    with pytest.raises(ValueError, match="x must have positive probability"):
        model.marginals(x)


def test_models_repeat_for_a_seed():
    first, second = (make_template_sequences(3, 20, 7, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first.templates, second.templates)
    first, second = (make_markov_sequences(20, 7, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first.evidence, second.evidence)


@pytest.fixture(scope="module")
def model():
    return make_template_sequences(3, 24, 8, random_state=1)


@pytest.mark.parametrize(
    ("rule", "rule_params"),
    [
        ("frechet", None),
        ("frechet", {"margin": 0.25, "runner_up": True}),
        ("factor", {"factor": 0.75}),
        ("factor", {"variant": "published"}),
        ("threshold", {"threshold": 0.6}),
        ("top_k", {"k": 5}),
    ],
)
def test_every_position_is_decoded_once(model, rule, rule_params):
    result = decode_masked(model.marginals, 24, rule=rule, rule_params=rule_params)
    assert sorted(result.order) == list(range(24))
    assert result.commit_sizes.sum() == 24
    assert result.n_steps == len(result.commit_sizes)
    assert (result.tokens >= 0).all()


def test_one_token_a_step_is_certified_always(model):
    result = decode_masked(model.marginals, 24, rule="top_k")
    assert result.n_steps == 24
    assert result.all_certified


def test_blocks_come_from_the_left(model):
    result = decode_masked(model.marginals, 24, rule="top_k", rule_params={"k": 4}, block_length=10)
    assert [set(part // 10) for part in np.split(result.order, [10, 20])] == [{0}, {1}, {2}]
    assert result.commit_sizes.tolist() == [4, 4, 2, 4, 4, 2, 4]


def test_blocks_longer_than_the_sequence_are_no_blocks(model):
    expected = decode_masked(model.marginals, 24)
    for block_length in (24, 10**20):
        result = decode_masked(model.marginals, 24, block_length=block_length)
        np.testing.assert_array_equal(result.order, expected.order)


def test_given_tokens_stay(model):
    x0 = np.full(24, -1)
    x0[[3, 8]] = [2, 5]
    before = x0.copy()
    result = decode_masked(model.marginals, 24, x0=x0)
    assert result.tokens[[3, 8]].tolist() == [2, 5]
    assert len(result.order) == 22
    np.testing.assert_array_equal(x0, before)
    done = decode_masked(model.marginals, 24, x0=result.tokens)
    assert done.n_steps == 0
    assert done.all_certified
    assert done.order.size == 0


def test_bad_marginals_are_named(model):
    def broken(value):
        def marginals(x):
            P = model.marginals(x)
            P[5] = value
            return P

        return marginals

    for value in (0.2, np.nan, [2.0, -1.0, 0, 0, 0, 0, 0, 0]):
        with pytest.raises(ValueError, match="row 5"):
            decode_masked(broken(value), 24)
    given = np.full(24, -1)
    given[5] = 0
    decode_masked(broken(0.2), 24, x0=given)  # nobody looks at rows that are given
    with pytest.raises(ValueError, match="n_tokens"):
        decode_masked(lambda x: model.marginals(x)[:3], 24)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "best"}, "rule must be one of"),
        ({"rule_params": {"mask": None}}, "rule_params must not hold mask"),
        ({"rule_params": {"min_commit": 0}}, "min_commit"),
        ({"block_length": 0}, "block_length"),
        ({"x0": [0, 1]}, "x0 must have shape"),
        ({"x0": [0.5] * 24}, "x0 must hold integers"),
        ({"x0": [-2] * 24}, "x0 must hold tokens"),
    ],
)
def test_bad_arguments_are_named(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        decode_masked(model.marginals, 24, **arguments)
    with pytest.raises(TypeError):
        decode_masked(model.marginals, 24, rule_params={"k": 3})
    with pytest.raises(TypeError, match="runner_up"):
        decode_masked(model.marginals, 24, rule_params={"runner_up": [0.1]})
