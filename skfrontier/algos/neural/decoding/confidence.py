"""Confidence, deficit and runner-up of every position, from logits or probabilities."""

from typing import Any

import numpy as np

from skfrontier.algos._torch import are_tensors
from skfrontier.algos._validation import as_numbers
from skfrontier.algos.neural.decoding.result import TokenConfidence

SUM_TOLERANCE = 1e-6  # by how much the sum of probabilities may differ from one
_CHUNK = 1 << 21  # entries that are turned into float64 at a time


def token_confidence(logits: Any) -> TokenConfidence:
    """Most probable token of each position, with the probability that is left for all others.

    The deficit is the softmax mass of the other tokens, summed in float64. Taken as ``1 - confidence``
    from float32 it would be a multiple of 6e-8 (float16: 5e-4, bfloat16: 4e-3), or zero, and a deficit of
    zero certifies anything.

    Parameters
    ----------
    logits : array-like or tensor of shape (..., n_tokens)
        Unnormalised log-probabilities; -inf for tokens that cannot occur.

    Returns
    -------
    TokenConfidence
        Arrays of shape (...), of the kind and on the device of ``logits``: tokens int64, the others
        float64.

    Raises
    ------
    ValueError
        If logits are NaN or +inf, a row is -inf throughout, or there are no tokens. Values of tensors
        are not looked at, which would make the host wait for the device: such rows are NaN, and the
        commit rules certify nothing there.

    Notes
    -----
    O(n_tokens) a position. Equal logits give the lower token. Where the gap to the others exceeds 745
    the deficit underflows to zero; the slack of the commit rules is far above what that hides.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import token_confidence
    >>> found = token_confidence(np.float32([[0, 40, 0], [1, 1, 0]]))
    >>> found.token
    array([1, 0])
    >>> print(f"{found.deficit[0]:.3g} {1 - found.confidence.astype(np.float32)[0]:.3g}")
    8.5e-18 0
    """
    if are_tensors(logits=logits):
        _check_tokens(tuple(logits.shape))
        from skfrontier.algos.neural.decoding import nn

        nn.check_real(logits, "logits")
        return nn.token_confidence(logits)
    array = as_numbers(logits, "logits")
    if array.dtype.kind not in "fiu":
        raise ValueError(f"logits must hold real numbers, got dtype {array.dtype}.")
    _check_tokens(array.shape)
    rows = array.reshape(-1, array.shape[-1])
    top = rows.max(axis=1)
    if not np.isfinite(top).all():
        row = int(np.flatnonzero(~np.isfinite(top))[0])
        raise ValueError(
            "logits must be finite or -inf, with a finite one at each position; "
            f"the largest at position {row} is {top[row]}."
        )
    with np.errstate(over="ignore"):  # a gap beyond the largest float is as good as infinite
        found = _in_chunks(rows, lambda part: np.exp(part - part.max(axis=1, keepdims=True)))
    return TokenConfidence(*(values.reshape(array.shape[:-1]) for values in found))


def probability_confidence(probabilities: np.ndarray) -> TokenConfidence:
    """The same for an array (n, n_tokens) whose rows are probabilities."""
    return TokenConfidence(*_in_chunks(probabilities, lambda part: part.copy()))


def no_law(row: int, total: float, least: float) -> ValueError:
    """What is raised where a row of marginals is no probability vector."""
    return ValueError(
        f"marginals must return rows of probabilities that sum to 1 within 1e-6; row {row} "
        f"sums to {total}, its least entry is {least}. In a precision below float32 sums are further off."
    )


def _in_chunks(rows: np.ndarray, weigh: Any) -> list[np.ndarray]:
    step = max(1, _CHUNK // rows.shape[1])
    parts = [
        _from_relative_weights(weigh(rows[start : start + step].astype(np.float64, copy=False)))
        for start in range(0, max(len(rows), 1), step)
    ]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _from_relative_weights(weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Token, confidence, deficit and runner-up of rows of weights, which are overwritten."""
    token = weights.argmax(axis=1)
    rows = np.arange(len(weights))
    top = weights[rows, token]
    weights[rows, token] = 0.0
    rest = weights.sum(axis=1)
    total = top + rest
    return token, top / total, rest / total, weights.max(axis=1) / total


def _check_tokens(shape: tuple[int, ...]) -> None:
    if not shape or shape[-1] == 0:
        raise ValueError(f"logits must have a last axis of at least one token, got shape {shape}.")
