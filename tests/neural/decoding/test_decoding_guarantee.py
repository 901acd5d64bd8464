"""What a certificate promises, against brute force over joint laws."""

from itertools import permutations, product

import numpy as np
import pytest

from skfrontier.algos import decode_masked, frechet_commit, token_confidence
from skfrontier.datasets import make_template_sequences


def random_joint(rng):
    """A joint law of 2 to 4 variables with 2 or 3 values, most of its mass near one outcome or a few."""
    shape = (int(rng.integers(2, 4)),) * int(rng.integers(2, 5))
    law = rng.dirichlet(np.full(np.prod(shape), rng.choice([0.05, 0.2, 1.0]))).reshape(shape)
    if rng.random() < 0.6:
        law *= 1 - (share := rng.uniform(0.3, 0.95))
        law[tuple(int(rng.integers(s)) for s in shape)] += share
    return law


def certificate(law, with_runner_up):
    sides = [law.sum(axis=tuple(set(range(law.ndim)) - {j})) for j in range(law.ndim)]
    tokens = np.array([side.argmax() for side in sides])
    deficits = [np.delete(side, side.argmax()).sum() for side in sides]
    runner_up = [np.delete(side, side.argmax()).max() for side in sides]
    result = frechet_commit(
        deficits=deficits, runner_up=runner_up if with_runner_up else None, min_commit=0
    )
    return tokens, result


def sequential(law, order):
    """One position at a time, each time the most probable value given those before."""
    given = [slice(None)] * law.ndim
    for j in order:
        conditional = law[tuple(given)]
        axis = sum(isinstance(g, slice) for g in given[:j])
        side = conditional.sum(axis=tuple(set(range(conditional.ndim)) - {axis}))
        given[j] = int(side.argmax())
    return given


@pytest.mark.parametrize("with_runner_up", [False, True])
def test_certified_means_joint_mode_and_any_order(with_runner_up):
    rng = np.random.default_rng(0)
    certified = 0
    for _ in range(3000):
        law = random_joint(rng)
        tokens, result = certificate(law, with_runner_up)
        chosen = np.flatnonzero(result.commit)
        if len(chosen) < 2:
            continue
        certified += 1
        rest = tuple(set(range(law.ndim)) - set(chosen))
        joint = law.sum(axis=rest)
        values = np.sort(joint.ravel())
        assert joint[tuple(tokens[chosen])] == values[-1] > values[-2]
        assert joint[tuple(tokens[chosen])] >= result.lower_bound - 1e-12
        for order in permutations(range(joint.ndim)):
            assert sequential(joint, order) == list(tokens[chosen])
    assert certified > 500


def sharp_law(deficits):
    """P(x*) = 1 - sum d, and d_j on x* with position j changed."""
    law = {(0,) * len(deficits): 1 - sum(deficits)}
    for j, d in enumerate(deficits):
        law[tuple(int(i == j) for i in range(len(deficits)))] = d
    return law


@pytest.mark.parametrize("n", range(2, 7))
@pytest.mark.parametrize("gap", [-1e-3, 1e-3])
def test_certificate_is_sharp(n, gap):
    d = np.linspace(1, 1.5, n)
    d *= (1 - gap) / (d.sum() + d.max())  # G = gap
    law = sharp_law(d)
    assert min(law.values()) >= 0
    sides = [sum(p for z, p in law.items() if z[j]) for j in range(n)]
    np.testing.assert_allclose(sides, d)
    mode = max(product((0, 1), repeat=n), key=lambda z: law.get(z, 0.0))
    result = frechet_commit(deficits=d, min_commit=n)
    assert result.score == pytest.approx(gap, abs=1e-12)
    assert result.certified == (gap > 0) == (mode == (0,) * n)


def one_at_a_time(model, order):
    x = np.full(len(order), -1)
    for j in order:
        x[j] = model.marginals(x)[j].argmax()
    return x


@pytest.mark.parametrize("rule", ["frechet", "factor"])
def test_templates_decode_as_one_token_at_a_time_in_that_order(rule):
    for seed in range(15):
        model = make_template_sequences(3, 64, 20, random_state=seed)
        result = decode_masked(model.marginals, 64, rule=rule)
        assert result.all_certified
        np.testing.assert_array_equal(one_at_a_time(model, result.order), result.tokens)


def test_low_thresholds_do_not():
    agree = []
    for seed in range(40):
        model = make_template_sequences(3, 64, 20, random_state=seed)
        result = decode_masked(
            model.marginals, 64, rule="threshold", rule_params={"threshold": 0.5}
        )
        agree.append((one_at_a_time(model, result.order) == result.tokens).all())
    assert np.mean(agree) < 0.9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_deficits_of_wide_gaps(dtype):
    logits = np.zeros((50, 30), dtype)
    logits[:, 3] = np.linspace(1, 40, 50)
    found = token_confidence(logits)
    exact = 29 / (np.exp(logits[:, 3].astype(float)) + 29)
    np.testing.assert_allclose(found.deficit, exact, rtol=1e-6)
    np.testing.assert_allclose(found.runner_up, exact / 29, rtol=1e-6)
    np.testing.assert_allclose(found.confidence, 1 - exact, rtol=1e-12)
    assert (found.token == 3).all()


def test_token_confidence_edges():
    assert token_confidence([[1e308, -1e308]]).deficit.tolist() == [0.0]
    found = token_confidence([[[-np.inf, 2.0], [1.0, 1.0]]])
    assert found.token.tolist() == [[1, 0]]
    assert found.deficit.tolist() == [[0, 0.5]]
    assert token_confidence(np.empty((0, 4))).token.shape == (0,)
    assert token_confidence([3.0]).deficit == 0
    for bad in ([np.nan, 1.0], [np.inf, 0.0], [-np.inf, -np.inf]):
        with pytest.raises(ValueError, match="logits must be finite"):
            token_confidence(bad)
    with pytest.raises(ValueError, match="at least one token"):
        token_confidence(np.empty((3, 0)))
    with pytest.raises(ValueError, match="real numbers"):
        token_confidence(["a"])
