"""Keys and recall sequences are what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfrontier.datasets import make_associative_recall, make_delta_rule_keys


@pytest.mark.parametrize("kind", ["random", "correlated", "equal"])
@pytest.mark.parametrize("gated", [False, True])
def test_keys(kind, gated):
    k, beta, g = make_delta_rule_keys(50, 20, 16, kind=kind, gated=gated, random_state=0)
    assert k.shape == (50, 20, 16)
    np.testing.assert_allclose(np.linalg.norm(k, axis=-1), 1)
    assert ((beta > 0) & (beta < 1)).all()
    cosines = (k @ k.transpose(0, 2, 1))[:, *np.tril_indices(20, -1)].mean()
    expected = {"random": 0, "correlated": 1 / (1 + 0.3**2), "equal": 1}[kind]
    assert cosines == pytest.approx(expected, abs=0.02)
    if kind == "equal":
        assert (beta == 0.99).all()
    if gated:
        assert g.shape == (50, 20)
        assert (g < 0).all()
    else:
        assert g is None
    again = make_delta_rule_keys(50, 20, 16, kind=kind, gated=gated, random_state=0)
    np.testing.assert_array_equal(again[0], k)


@given(st.integers(1, 6), st.data(), st.integers(0, 2**32 - 1))
def test_targets_are_the_last_values(n_pairs, data, seed):
    n_rewrites = data.draw(st.integers(0, n_pairs))
    facts = make_associative_recall(
        5, n_pairs=n_pairs, n_rewrites=n_rewrites, n_keys=8, n_values=3, random_state=seed
    )
    written = 2 * (n_pairs + n_rewrites)
    assert facts.tokens.shape == facts.targets.shape == (5, written + n_pairs)
    assert facts.n_tokens == 11
    for tokens, targets in zip(facts.tokens, facts.targets, strict=True):
        memory = dict(tokens[:written].reshape(-1, 2).tolist())
        assert len(memory) == n_pairs
        assert all(key < 8 <= value < 11 for key, value in memory.items())
        assert (targets[:written] == -1).all()
        assert sorted(tokens[written:]) == sorted(memory)
        assert [memory[key] for key in tokens[written:]] == targets[written:].tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_pairs": 0}, "n_pairs"),
        ({"n_pairs": 9, "n_keys": 8}, "n_keys must be at least 9"),
        ({"n_rewrites": 9}, "n_rewrites must be at most 8"),
        ({"n_values": 0}, "n_values"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        make_associative_recall(3, **options)
    with pytest.raises(ValueError, match="kind"):
        make_delta_rule_keys(1, 2, 3, kind="same")
