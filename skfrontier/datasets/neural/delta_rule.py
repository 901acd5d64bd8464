"""Keys of delta-rule layers, from harmless to hard, and sequences whose facts have to be recalled."""

from dataclasses import dataclass

import numpy as np

from skfrontier.algos._validation import (
    RandomState,
    check_choice,
    check_count,
    check_flag,
    check_generator,
)

KINDS = ("random", "correlated", "equal")
NOISE = 0.3  # of correlated keys, relative to what they share
EQUAL_STRENGTH = 0.99
USUAL_DECAY = 3.0  # logit of the factor by which memories decay


def make_delta_rule_keys(
    batch: int,
    n: int,
    d: int,
    *,
    kind: str = "random",
    gated: bool = False,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Keys, writing strengths and log-decays as a delta-rule layer sees them.

    Parameters
    ----------
    batch, n, d : int
        Number of chunks, tokens of a chunk, dimension of a key.
    kind : {'random', 'correlated', 'equal'}, default='random'
        Keys in independent directions; a common direction plus 0.3 times an independent one, as for repeated
        or similar tokens; or the same key throughout, written with strength 0.99.
    gated : bool, default=False
        Whether there are decays.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    Returns
    -------
    k : ndarray of shape (batch, n, d)
        Keys of norm one.
    beta : ndarray of shape (batch, n)
        Sigmoids of standard normal numbers, 0.99 for equal keys.
    g : ndarray of shape (batch, n) or None
        Logarithms of sigmoids of 3 + standard normal numbers; None without ``gated``.

    Raises
    ------
    ValueError
        If a size is not positive or the kind is unknown.

    Examples
    --------
    >>> from skfrontier.algos import delta_rule_matrix, invert_unit_lower
    >>> from skfrontier.datasets import make_delta_rule_keys
    >>> k, beta, g = make_delta_rule_keys(10, 64, 128, kind="correlated", random_state=0)
    >>> invert_unit_lower(delta_rule_matrix(k, beta)).shape
    (10, 64, 64)
    """
    batch, n, d = (check_count(size, name) for name, size in (("batch", batch), ("n", n), ("d", d)))
    check_choice(kind, "kind", KINDS)
    check_flag(gated, "gated")
    rng = check_generator(random_state)
    common = rng.standard_normal((batch, 1, d))
    own = rng.standard_normal((batch, n, d))
    k = {
        "random": lambda: own,
        "correlated": lambda: common + NOISE * own,
        "equal": lambda: np.repeat(common, n, axis=1),
    }[kind]()
    k = k / np.linalg.norm(k, axis=-1, keepdims=True)
    beta = _sigmoid(rng.standard_normal((batch, n)))
    if kind == "equal":
        beta = np.full((batch, n), EQUAL_STRENGTH)
    g = np.log(_sigmoid(USUAL_DECAY + rng.standard_normal((batch, n)))) if gated else None
    return k, beta, g


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@dataclass(frozen=True)
class AssociativeRecall:
    """Sequences of facts and questions.

    Attributes
    ----------
    tokens : ndarray of shape (n_sequences, T), int64
        Keys are 0..n_keys - 1, values n_keys..n_tokens - 1.
    targets : ndarray of shape (n_sequences, T), int64
        The value that was last paired with the key, where a key is a question; -1 elsewhere.
    n_tokens : int
        Number of different tokens.
    """

    tokens: np.ndarray
    targets: np.ndarray
    n_tokens: int


def make_associative_recall(
    n_sequences: int,
    *,
    n_pairs: int = 8,
    n_rewrites: int = 0,
    n_keys: int = 32,
    n_values: int = 32,
    random_state: RandomState = None,
) -> AssociativeRecall:
    """Sequences of pairs, key and value, followed by all their keys as questions, in another order.

    Parameters
    ----------
    n_sequences : int
        Number of sequences.
    n_pairs : int, default=8
        Different keys of a sequence.
    n_rewrites : int, default=0
        How many of them are given another value, by a second pair after the first ones; up to ``n_pairs``.
    n_keys, n_values : int, default=32
        Keys and values to draw from, keys without repetition; at least ``n_pairs`` keys.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    Returns
    -------
    AssociativeRecall
        Sequences of length 2 (n_pairs + n_rewrites) + n_pairs.

    Raises
    ------
    ValueError
        If a number is too small or too large.

    References
    ----------
    .. [1] Yang et al., *Parallelizing linear transformers with the delta rule over sequence length*, NeurIPS
       2024, arXiv:2406.06484.

    Examples
    --------
    >>> from skfrontier.datasets import make_associative_recall
    >>> facts = make_associative_recall(1, n_pairs=2, n_keys=4, n_values=3, random_state=0)
    >>> facts.tokens.shape, (facts.targets >= 0).sum(), facts.n_tokens
    ((1, 6), np.int64(2), 7)
    """
    n_sequences = check_count(n_sequences, "n_sequences")
    n_pairs = check_count(n_pairs, "n_pairs")
    n_rewrites = check_count(n_rewrites, "n_rewrites", 0, n_pairs)
    n_keys = check_count(n_keys, "n_keys", n_pairs)
    n_values = check_count(n_values, "n_values")
    rng = check_generator(random_state)
    keys = rng.permuted(np.tile(np.arange(n_keys), (n_sequences, 1)), axis=1)[:, :n_pairs]
    written = np.concatenate([keys, keys[:, :n_rewrites]], axis=1)
    values = n_keys + rng.integers(n_values, size=written.shape)
    answers = np.concatenate([values[:, n_pairs:], values[:, n_rewrites:n_pairs]], axis=1)
    order = rng.permuted(np.tile(np.arange(n_pairs), (n_sequences, 1)), axis=1)
    pairs = np.stack([written, values], axis=-1).reshape(n_sequences, -1)
    questions = np.take_along_axis(keys, order, axis=1)
    asked = np.take_along_axis(answers, order, axis=1)
    return AssociativeRecall(
        np.concatenate([pairs, questions], axis=1),
        np.concatenate([np.full_like(pairs, -1), asked], axis=1),
        n_keys + n_values,
    )
