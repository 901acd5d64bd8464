"""Which of the masked positions to commit: the Fréchet rule and the rules in use."""

from typing import Any

import numpy as np

from skfrontier.algos._torch import are_tensors
from skfrontier.algos._validation import as_numbers, check_choice, check_count, check_interval
from skfrontier.algos.neural.decoding import rules
from skfrontier.algos.neural.decoding.result import CommitResult

_NO_LIMIT = np.iinfo(np.int64).max


def frechet_commit(
    confidences: Any = None,
    *,
    deficits: Any = None,
    mask: Any = None,
    margin: float = 0.0,
    runner_up: Any = None,
    calibration_error: float = 0.0,
    min_commit: int = 1,
    max_commit: int | None = None,
) -> CommitResult:
    """Commit the largest set of positions whose tokens are provably their joint mode.

    Parameters
    ----------
    confidences : array-like or tensor of shape (L,) or (B, L), or None
        Probability of the most probable token of each position.
    deficits : array-like or tensor of the same shape, or None
        One minus that, as :func:`token_confidence` gives it without rounding. Exactly one of the two is
        needed; deficits are better.
    mask : bool array-like or tensor of the same shape, or None
        The positions that may be committed; None: all.
    margin : float in [0, 1), default=0.0
        By how much the bounds must be apart. More commits less.
    runner_up : array-like or tensor of the same shape, or None
        Probability of the second most probable token. It gives a sharper certificate.
    calibration_error : float >= 0, default=0.0
        By how much the true probability of a token may lie below its confidence, or that of the runner-up
        above the one given.
    min_commit : int, default=1
        Commit at least so many of the masked positions, certified or not: after those that pass come the
        most confident others.
    max_commit : int or None, default=None
        Commit at most so many.

    Returns
    -------
    CommitResult
        Of the kind and on the device of the input.

    Raises
    ------
    ValueError
        If both or neither of ``confidences`` and ``deficits`` are given, shapes differ, a value at a
        masked position is no probability, a runner-up exceeds its deficit, or a parameter is out of
        range. Values of tensors are not looked at, which would make the host wait for the device: a
        position with a bad value is not committed, and its row has the score NaN and no certificate.
    TypeError
        If tensors and arrays are mixed, or tensors lie on different devices.

    Notes
    -----
    With deficits :math:`d_{(1)} \\le \\ldots \\le d_{(n)}` of a set, its tokens have joint probability
    at least :math:`1 - \\sum_j d_{(j)}`, any others at most :math:`d_{(n)}`. If :math:`G_n`, the
    difference, is positive, the tokens are the unique joint mode, and decoding the positions one at a
    time, in any order, each time the most probable token given those before, ends with the same tokens.
    Proven, whatever the joint law, by union and Fréchet bounds [1]_; the equivalence in any order, the
    optimality of the prefix (no set of n positions has a larger :math:`G`) and the certificate with
    runners-up, which replaces :math:`d_{(n)}` by the largest of them, are extensions of this library,
    proven in the user guide.

    A set is accepted if :math:`G_n` exceeds ``margin`` by 4 n 2^-53, more than the rounding of the sums.
    Confidences in float32, float16 or bfloat16 may have been rounded up: half the spacing below one is
    added to their deficits. A single committed token is the most probable one of its own marginal and
    needs no certificate unless ``calibration_error`` is positive.

    Ties go to the lower position. O(L + n log L) a row for n committed positions; tensors are sorted,
    O(L log L), without a transfer to the host.

    References
    ----------
    .. [1] Kasa et al., *Fast-dLLM++*, arXiv:2606.02955, 2026.

    Examples
    --------
    >>> from skfrontier.algos import frechet_commit
    >>> result = frechet_commit([0.99, 0.95, 0.82, 0.78, 0.74], margin=0.3)
    >>> result.commit
    array([ True,  True,  True,  True, False])
    >>> print(f"{result.score:.2f} {result.lower_bound:.2f} {result.certified}")
    0.32 0.54 True
    """
    eta = check_interval(calibration_error, "calibration_error", 0.0, np.inf, closed="left")
    least = check_count(min_commit, "min_commit", 0)
    most = None if max_commit is None else check_count(max_commit, "max_commit", least)
    return _commit(
        confidences,
        deficits,
        mask,
        rules.FRECHET,
        check_interval(margin, "margin", 0.0, 1.0, closed="left"),
        min_commit=least,
        max_commit=most,
        runner_up=runner_up,
        calibration_error=eta,
    )


def factor_commit(
    confidences: Any = None,
    *,
    deficits: Any = None,
    mask: Any = None,
    factor: float = 1.0,
    min_commit: int = 1,
    variant: str = "inequality",
) -> CommitResult:
    """Commit the most confident n positions with (n + 1) d_(n) < factor, the factor rule of Fast-dLLM.

    Parameters
    ----------
    confidences, deficits, mask
        As in :func:`frechet_commit`.
    factor : float > 0, default=1.0
        Bound on (n + 1) times the largest deficit.
    min_commit : int, default=1
        Commit at least so many of the masked positions.
    variant : {'inequality', 'published'}, default='inequality'
        What to do at the edges. 'inequality': exactly what the inequality says, which for ``factor`` up
        to one is a subset of what :func:`frechet_commit` certifies. 'published': what the authors'
        program does, see Notes.

    Returns
    -------
    CommitResult
        ``score`` and ``certified`` are those of :func:`frechet_commit` for the committed set, margin 0.

    Raises
    ------
    ValueError, TypeError
        As for :func:`frechet_commit`.

    Notes
    -----
    The published program differs in three ways. It always commits the most confident position (as
    ``min_commit=1`` does). Equality passes, confidences are read as they are, and there is no allowance
    for rounding. And **if at most the least confident of all masked positions fails, that one is
    committed as well**: of two masked positions it always commits both, whatever their confidences. Such
    a commit need not be certified.

    References
    ----------
    .. [1] Wu et al., *Fast-dLLM*, arXiv:2505.22618, 2025.

    Examples
    --------
    >>> from skfrontier.algos import factor_commit
    >>> factor_commit([0.99, 0.95, 0.82, 0.78, 0.74], factor=0.7).n_commit
    2
    >>> last = factor_commit([0.99, 0.01], variant="published")
    >>> last.n_commit, last.certified
    (2, False)
    """
    variant = check_choice(variant, "variant", ("inequality", "published"))
    return _commit(
        confidences,
        deficits,
        mask,
        rules.FACTOR if variant == "inequality" else rules.FACTOR_PUBLISHED,
        check_interval(factor, "factor", 0.0, np.inf, closed="neither"),
        min_commit=check_count(min_commit, "min_commit", 0),
    )


def threshold_commit(
    confidences: Any = None,
    *,
    deficits: Any = None,
    mask: Any = None,
    threshold: float = 0.9,
    min_commit: int = 1,
) -> CommitResult:
    """Commit all positions whose confidence is at least ``threshold``.

    Parameters
    ----------
    confidences, deficits, mask
        As in :func:`frechet_commit`. Confidences are compared as they are.
    threshold : float in [0, 1], default=0.9
        Least confidence.
    min_commit : int, default=1
        Commit at least so many of the masked positions.

    Returns
    -------
    CommitResult
        ``score`` and ``certified`` are those of :func:`frechet_commit` for the committed set, margin 0.

    Raises
    ------
    ValueError, TypeError
        As for :func:`frechet_commit`.

    Notes
    -----
    A rule without a guarantee: many positions just above the threshold need not have their tokens
    together.

    Examples
    --------
    >>> from skfrontier.algos import threshold_commit
    >>> threshold_commit([0.99, 0.95, 0.82, 0.78, 0.74]).n_commit
    2
    >>> threshold_commit([0.6] * 5, threshold=0.5).certified
    False
    """
    return _commit(
        confidences,
        deficits,
        mask,
        rules.THRESHOLD,
        check_interval(threshold, "threshold", 0.0, 1.0),
        min_commit=check_count(min_commit, "min_commit", 0),
    )


def top_k_commit(
    confidences: Any = None, *, deficits: Any = None, mask: Any = None, k: int = 1
) -> CommitResult:
    """Commit the ``k`` most confident positions.

    Parameters
    ----------
    confidences, deficits, mask
        As in :func:`frechet_commit`.
    k : int, default=1
        How many; all masked positions where there are fewer.

    Returns
    -------
    CommitResult
        ``score`` and ``certified`` are those of :func:`frechet_commit` for the committed set, margin 0.

    Raises
    ------
    ValueError, TypeError
        As for :func:`frechet_commit`.

    Notes
    -----
    With ``k=1`` this is one token at a time, the most confident first.

    Examples
    --------
    >>> from skfrontier.algos import top_k_commit
    >>> top_k_commit([0.5, 0.9, 0.7], k=2).commit
    array([False,  True,  True])
    """
    k = check_count(k, "k", 1, _NO_LIMIT)
    return _commit(confidences, deficits, mask, rules.TOP_K, float(k), min_commit=0, max_commit=k)


def _commit(
    confidences: Any,
    deficits: Any,
    mask: Any,
    rule: int,
    parameter: float,
    *,
    min_commit: int,
    max_commit: int | None = None,
    runner_up: Any = None,
    calibration_error: float = 0.0,
) -> CommitResult:
    """Check the input, apply the rule to it as a batch, and undo the batch."""
    if (confidences is None) == (deficits is None):
        raise ValueError("Give either confidences or deficits, one of the two.")
    complement = deficits is None
    name, values = ("confidences", confidences) if complement else ("deficits", deficits)
    tensors = are_tensors(**{name: values}, mask=mask, runner_up=runner_up)
    if not tensors:
        values = _numbers(values, name)
        mask = np.ones(values.shape, bool) if mask is None else np.asarray(mask)
        runner_up = None if runner_up is None else _numbers(runner_up, "runner_up")
    else:
        _check_tensors(**{name: values}, mask=mask, runner_up=runner_up)
        mask = _all_true(values) if mask is None else mask
    _check_shapes(name, values, mask, runner_up)

    value_rounding = _half_spacing(values)
    rounding = value_rounding if complement else 0.0
    runner_rounding = 0.0 if runner_up is None else _half_spacing(runner_up)
    tolerance = 1e-12 + value_rounding + runner_rounding
    settings: dict[str, Any] = {
        "pad": rounding + calibration_error,
        "runner_pad": runner_rounding + calibration_error,
        "rule": rule,
        "parameter": parameter,
        "min_commit": min(min_commit, _NO_LIMIT),
        "max_commit": _NO_LIMIT if max_commit is None else min(max_commit, _NO_LIMIT),
    }
    batched = values.ndim == 2
    if not batched:
        values, mask = values[None], mask[None]
        runner_up = None if runner_up is None else runner_up[None]
    exact_single = calibration_error == 0
    if tensors:
        from skfrontier.algos.neural.decoding import nn

        result = nn.commit_prefixes(
            values,
            complement,
            mask,
            runner_up,
            tolerance=tolerance,
            exact_single=exact_single,
            **settings,
        )
        fields = [getattr(result, field) for field in result.__dataclass_fields__]
        return result if batched else CommitResult(*(field[0] for field in fields))

    values, mask = _read_only(values, np.float64), _read_only(mask, np.bool_)
    if runner_up is None:
        alternatives = values[:0, :0]
    else:
        alternatives = _read_only(runner_up, np.float64)
        _check_runner_up(alternatives, 1 - values if complement else values, mask, tolerance)
    commit, n_commit, score, lower_bound, bad = rules.commit_prefixes(
        values, complement, mask, alternatives, runner_up is not None, *settings.values()
    )
    if bad[0] >= 0:
        where = tuple(int(i) for i in bad[0 if batched else 1 :])
        raise ValueError(
            f"{name} must lie in [0, 1] at masked positions, got {values[bad[0], bad[1]]} at "
            f"{name}{list(where)}."
        )
    certified = score > rules.SLACK * n_commit
    if exact_single:
        certified |= n_commit <= 1
    if batched:
        return CommitResult(commit, n_commit, score, lower_bound, certified)
    return CommitResult(
        commit[0], int(n_commit[0]), float(score[0]), float(lower_bound[0]), bool(certified[0])
    )


def _numbers(values: Any, name: str) -> np.ndarray:
    array = as_numbers(values, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    return array


def _check_tensors(**tensors: Any) -> None:
    from skfrontier.algos.neural.decoding import nn

    for name, tensor in tensors.items():
        if tensor is not None:
            nn.check_real(tensor, name)


def _all_true(values: Any) -> Any:
    from torch import bool as torch_bool

    return values.new_ones(values.shape, dtype=torch_bool)


def _check_shapes(name: str, values: Any, mask: Any, runner_up: Any) -> None:
    shape = tuple(values.shape)
    if len(shape) not in (1, 2):
        raise ValueError(f"{name} must have shape (L,) or (B, L), got {shape}.")
    if str(mask.dtype).removeprefix("torch.") != "bool":
        raise ValueError(f"mask must be boolean, got dtype {mask.dtype}.")
    for other, array in (("mask", mask), ("runner_up", runner_up)):
        if array is not None and tuple(array.shape) != shape:
            raise ValueError(
                f"{other} must have the shape of {name}, {shape}; got {tuple(array.shape)}."
            )


def _half_spacing(values: Any) -> float:
    """How far a number below one may have been rounded; zero in float64, where the slack covers it."""
    if isinstance(values, np.ndarray):
        spacing = float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else 0.0
    else:
        from torch import finfo

        spacing = finfo(values.dtype).eps if values.dtype.is_floating_point else 0.0
    # The spacing is that above one; below it is half as wide.
    return spacing / 4 if spacing > np.finfo(np.float64).eps else 0.0


def _read_only(array: np.ndarray, dtype: Any) -> np.ndarray:
    """The array as the kernel takes it: one layout and one protection, so that it compiles once."""
    view = np.require(array, dtype, ["C", "A"]).view()
    view.setflags(write=False)
    return view


def _check_runner_up(
    runner_up: np.ndarray, deficits: np.ndarray, mask: np.ndarray, tolerance: float
) -> None:
    wrong = mask & ~((runner_up >= 0) & (runner_up <= deficits + tolerance))
    # Where the deficit itself is no probability, that is the error to tell.
    wrong &= (deficits >= 0) & (deficits <= 1)
    if wrong.any():
        row, j = (int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(
            "runner_up must lie between 0 and the deficit at masked positions, got "
            f"{runner_up[row, j]} with deficit {deficits[row, j]} at position {j} of row {row}."
        )
