"""What the functions of the topic return."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CommitResult:
    """Positions to commit, and what is certain about them.

    Arrays or tensors with one entry for each row of a batch. Without a batch dimension they are plain
    numbers, or tensors of dimension zero.

    Attributes
    ----------
    commit : bool array of shape (L,) or (B, L)
        The positions to commit.
    n_commit : int or int64 array of shape (B,)
        How many they are.
    score : float or float64 array of shape (B,)
        Certificate G of the committed set: the lower bound on the probability of its tokens, less the
        upper bound on that of any other tokens there.
    lower_bound : float or float64 array of shape (B,)
        Lower bound on the joint probability of the committed tokens; below zero it says nothing.
    certified : bool or bool array of shape (B,)
        Whether the committed tokens are proven to be the unique joint mode of their positions. One
        position alone needs no proof, unless confidences may be off: its token is a mode of its
        marginal, the lower one of two equally probable.
    """

    commit: Any
    n_commit: Any
    score: Any
    lower_bound: Any
    certified: Any


@dataclass(frozen=True)
class TokenConfidence:
    """The most probable token of each position, and by how much.

    Attributes
    ----------
    token : int64 array of shape (...)
        The most probable token; the lower one of equals.
    confidence : float64 array of shape (...)
        Its probability.
    deficit : float64 array of shape (...)
        The probability of all others, not rounded through the confidence.
    runner_up : float64 array of shape (...)
        The largest probability among the others.
    """

    token: Any
    confidence: Any
    deficit: Any
    runner_up: Any


@dataclass(frozen=True)
class DecodeResult:
    """A decoded sequence, and how it came about.

    Attributes
    ----------
    tokens : int64 array of shape (L,)
        The sequence.
    n_steps : int
        Number of calls of the model.
    order : int64 array of shape (number of decoded positions,)
        The positions in the order in which they were committed; those of one step by falling
        confidence.
    commit_sizes : int64 array of shape (n_steps,)
        How many positions each step committed.
    all_certified : bool
        Whether every step was certified. Then a decoder that commits one position at a time in the
        same ``order`` gives the same tokens.
    """

    tokens: Any
    n_steps: int
    order: Any
    commit_sizes: Any
    all_certified: bool
