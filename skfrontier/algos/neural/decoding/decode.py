"""The decode loop: predict all masked positions, commit some, predict again."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from skfrontier.algos._torch import is_tensor
from skfrontier.algos._validation import check_choice, check_count
from skfrontier.algos.neural.decoding.commit import (
    factor_commit,
    frechet_commit,
    threshold_commit,
    top_k_commit,
)
from skfrontier.algos.neural.decoding.confidence import (
    SUM_TOLERANCE,
    no_law,
    probability_confidence,
)
from skfrontier.algos.neural.decoding.result import CommitResult, DecodeResult, TokenConfidence

_RULES: dict[str, Callable[..., CommitResult]] = {
    "frechet": frechet_commit,
    "factor": factor_commit,
    "threshold": threshold_commit,
    "top_k": top_k_commit,
}


def decode_masked(
    marginals: Callable[[Any], Any],
    length: int,
    *,
    rule: str = "frechet",
    rule_params: Mapping[str, Any] | None = None,
    block_length: int | None = None,
    x0: Any = None,
) -> DecodeResult:
    """Decode a masked sequence, committing several positions a step.

    Parameters
    ----------
    marginals : callable
        Maps a sequence of shape (length,), int64 with -1 at masked positions, to the probabilities of the
        tokens at each position given the ones that are there, shape (length, n_tokens). Rows of
        positions that are not masked are ignored. It must not change its argument.
    length : int
        Length of the sequence.
    rule : {'frechet', 'factor', 'threshold', 'top_k'}, default='frechet'
        The commit rule.
    rule_params : mapping or None, default=None
        Keyword arguments of the rule (``margin``, ``factor``, ``threshold``, ``k``, ...).
        ``runner_up=True`` lets 'frechet' use the second most probable tokens.
    block_length : int or None, default=None
        Decode block after block of so many positions, from the left; None: all at once.
    x0 : array-like or tensor of shape (length,), or None
        Start, -1 at masked positions; None: all masked. With a tensor, everything stays on its device,
        and ``marginals`` returns tensors.

    Returns
    -------
    DecodeResult

    Raises
    ------
    ValueError
        If a row of a masked position is not a probability vector (sum within 1e-6 of one), a shape is
        wrong, or a parameter is out of range.
    TypeError
        If ``rule_params`` has names that the rule does not know.

    Notes
    -----
    With ``all_certified`` the tokens are proven to be those of a decoder that commits one position
    at a time in the same order, provided that the marginals are those of one joint law; see
    :func:`frechet_commit`. That order need not be the one of a decoder that looks again after each
    token, nor is the result the mode of the whole law.

    Probabilities of the other tokens are summed in float64 for the deficits. A tensor makes the host
    wait once a step, to learn whether it was the last one.

    References
    ----------
    .. [1] Kasa et al., *Fast-dLLM++*, arXiv:2606.02955, 2026.
    .. [2] Wu et al., *Fast-dLLM*, arXiv:2505.22618, 2025.

    Examples
    --------
    >>> from skfrontier.algos import decode_masked
    >>> from skfrontier.datasets import make_template_sequences
    >>> model = make_template_sequences(3, 64, 20, random_state=0)
    >>> one = decode_masked(model.marginals, 64, rule="top_k")
    >>> many = decode_masked(model.marginals, 64)
    >>> bool((one.tokens == many.tokens).all()), many.all_certified, one.n_steps > many.n_steps
    (True, True, True)
    """
    length = check_count(length, "length", 1)
    block = (
        length if block_length is None else min(check_count(block_length, "block_length"), length)
    )
    rule = check_choice(rule, "rule", tuple(_RULES))
    parameters, with_runner_up = _rule_parameters(rule, rule_params)

    def commit(found: TokenConfidence, candidates: Any) -> CommitResult:
        if with_runner_up:
            parameters["runner_up"] = found.runner_up
        return _RULES[rule](deficits=found.deficit, mask=candidates, **parameters)

    if is_tensor(x0):
        from skfrontier.algos.neural.decoding import decode_nn

        return decode_nn.decode(marginals, _check_start(x0, length), block, commit)
    start = np.full(length, -1) if x0 is None else np.array(x0)
    return _decode(marginals, _check_start(start, length).astype(np.int64), block, commit)


def _decode(
    marginals: Callable[[np.ndarray], Any],
    x: np.ndarray,
    block: int,
    commit: Callable[[TokenConfidence, np.ndarray], CommitResult],
) -> DecodeResult:
    order: list[np.ndarray] = []
    all_certified = True
    if (x < -1).any():
        raise ValueError(f"x0 must hold tokens, or -1 where masked; got {x.min()}.")
    while (x == -1).any():
        masked = x == -1
        found = _check_marginals(marginals(x.copy()), masked)
        candidates = masked & (np.arange(len(x)) // block == masked.argmax() // block)
        step = commit(found, candidates)
        chosen = np.flatnonzero(step.commit)
        x[chosen] = found.token[chosen]
        order.append(chosen[np.argsort(found.deficit[chosen], kind="stable")])
        all_certified &= step.certified
    sizes = np.array([len(step) for step in order], dtype=np.int64)
    positions = np.concatenate([np.empty(0, np.int64), *order])
    return DecodeResult(x, len(order), positions, sizes, bool(all_certified))


def _rule_parameters(
    rule: str, rule_params: Mapping[str, Any] | None
) -> tuple[dict[str, Any], bool]:
    parameters = dict(rule_params or {})
    given = {"confidences", "deficits", "mask"} & set(parameters)
    if given:
        raise ValueError(f"rule_params must not hold {', '.join(sorted(given))}: the loop sets it.")
    if rule != "top_k":
        parameters["min_commit"] = check_count(
            parameters.get("min_commit", 1), "rule_params['min_commit']"
        )  # a step that commits nothing would repeat for ever
    with_runner_up = parameters.pop("runner_up", False) if rule == "frechet" else False
    if not isinstance(with_runner_up, bool | np.bool_):
        raise TypeError(
            f"rule_params['runner_up'] must be True or False, got {type(with_runner_up).__name__}."
        )
    return parameters, bool(with_runner_up)


def _check_start(x0: Any, length: int) -> Any:
    if tuple(x0.shape) != (length,):
        raise ValueError(f"x0 must have shape ({length},), got {tuple(x0.shape)}.")
    if "int" not in str(x0.dtype):
        raise ValueError(f"x0 must hold integers, -1 where masked; got dtype {x0.dtype}.")
    return x0


def _check_marginals(probabilities: Any, masked: np.ndarray) -> TokenConfidence:
    """Confidences of the rows, zero deficit where not masked; raises where a masked row is no law."""
    P = np.asarray(probabilities)
    if P.ndim != 2 or P.shape[0] != len(masked) or P.shape[1] == 0 or P.dtype.kind not in "fiub":
        raise ValueError(
            f"marginals must return real numbers of shape ({len(masked)}, n_tokens), got shape {P.shape}."
        )
    rows = P[masked].astype(np.float64)
    sums = rows.sum(axis=1)
    wrong = ~(np.abs(sums - 1) <= SUM_TOLERANCE) | (rows < 0).any(axis=1)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise no_law(int(np.flatnonzero(masked)[first]), sums[first], rows[first].min())
    found = probability_confidence(rows)
    fields: dict[str, np.ndarray] = {"token": np.zeros(len(masked), np.int64)}
    fields |= {name: np.zeros(len(masked)) for name in ("confidence", "deficit", "runner_up")}
    for name, full in fields.items():
        full[masked] = getattr(found, name)
    return TokenConfidence(**fields)
