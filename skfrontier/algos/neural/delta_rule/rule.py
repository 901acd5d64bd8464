"""The gated delta rule: a memory that is corrected, token by token, towards what it should recall."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._torch import are_tensors
from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_flag,
    check_interval,
    check_n_jobs,
)
from skfrontier.algos.neural.delta_rule.chunks import by_chunks
from skfrontier.algos.neural.delta_rule.inputs import (
    Sizes,
    as_arrays,
    check_shapes,
    check_types,
    check_values,
)
from skfrontier.algos.neural.delta_rule.options import METHODS, NORM_EPS, Options
from skfrontier.algos.neural.delta_rule.recurrent import by_tokens
from skfrontier.algos.neural.triangular_inversion.settings import METHODS as INVERSIONS


@dataclass(frozen=True)
class DeltaRuleResult:
    """What the tokens read, and the memory after the last of them.

    Attributes
    ----------
    output : array or tensor of shape (B, T, HV, V)
        Of the type of the queries.
    final_state : array or tensor of shape (B, HV, K, V)
        Of the type of the queries, float32 where that is half precision.
    """

    output: Any
    final_state: Any


def delta_rule(
    q: Any,
    k: Any,
    v: Any,
    beta: Any,
    g: Any = None,
    *,
    scale: float | None = None,
    initial_state: Any = None,
    chunk_size: int = 64,
    method: str = "auto",
    inversion: str = "auto",
    l2norm: bool = False,
    n_jobs: Any = None,
) -> DeltaRuleResult:
    r"""Linear attention with the delta rule, gated or not.

    For each sequence and head the memory is a matrix S of shape (K, V). A token first lets it decay, S
    <- e^g S, then corrects what its key recalls towards its value, S <- S + beta k (v - S^T k)^T, and
    reads with its query, o = scale S^T q.

    Parameters
    ----------
    q, k : array or tensor of shape (B, T, H, K)
        Queries and keys.
    v : array or tensor of shape (B, T, HV, V)
        Values. HV is a multiple of H: each head of queries and keys serves HV / H consecutive heads of
        values.
    beta : array or tensor of shape (B, T, HV)
        Writing strengths. Memories cannot grow where 0 <= beta \|\|k\|\|^2 <= 2.
    g : array or tensor of shape (B, T, HV) or None, default=None
        Log-decays, at most 0; -inf forgets everything. None is no decay.
    scale : float or None, default=None
        Factor of the output; None is K^(-1/2).
    initial_state : array or tensor of shape (B, HV, K, V) or None, default=None
        Memory before the first token, e.g. the ``final_state`` of an earlier call; None is zero.
    chunk_size : int, default=64
        Tokens of a chunk; any number, also above T.
    method : {'auto', 'recurrent', 'chunk'}, default='auto'
        'recurrent' goes token by token, 'chunk' solves a triangular system for each chunk by matrix
        products. 'auto' is 'recurrent' for arrays and for tensors of a single token, else 'chunk'.
    inversion : {'auto', 'substitution', 'recursive', 'neumann', 'newton'}, default='auto'
        How 'chunk' inverts, see :func:`invert_unit_lower`.
    l2norm : bool, default=False
        Whether to divide queries and keys by their Euclidean norm (root of the square plus 1e-6).
    n_jobs : int or None, default=None
        Number of threads over sequences and heads, as in joblib; for arrays and 'recurrent' only.

    Returns
    -------
    DeltaRuleResult
        Of the kind and device of ``q``. For tensors, differentiable in all of them.

    Raises
    ------
    TypeError
        If arrays and tensors, devices or types are mixed. With half precision ``g`` and
        ``initial_state`` may be float32.
    ValueError
        If shapes do not fit, values are not finite, or a log-decay is positive.

    Warns
    -----
    UserWarning
        If beta \|\|k\|\|^2 is outside of [0, 2] for some token.

    Notes
    -----
    Both methods compute the same up to rounding (proven: the chunk form is the recurrence, solved; see
    [1]_ and [2]_). Half precision is computed in single precision and rounded once. Decays are added up
    in float64.

    The recurrence costs 4 K V multiply-adds a token and head. Chunks of C tokens cost about
    C (2 K + 2 V) + 3 K V + C^2 / 6, in matrix products. Tensors make the host wait once, for the checks.

    References
    ----------
    .. [1] Yang et al., *Parallelizing linear transformers with the delta rule over sequence length*,
       NeurIPS 2024, arXiv:2406.06484.
    .. [2] Yang, Kautz, Hatamizadeh, *Gated delta networks*, ICLR 2025, arXiv:2412.06464.

    Examples
    --------
    Two facts are written and recalled; the second key then gets another value.

    >>> import numpy as np
    >>> from skfrontier.algos import delta_rule
    >>> k = np.eye(2)[[0, 1, 1]].reshape(1, 3, 1, 2)
    >>> v = np.array([1.0, 2.0, 5.0]).reshape(1, 3, 1, 1)
    >>> result = delta_rule(k, k, v, np.ones((1, 3, 1)), scale=1.0)
    >>> result.output.ravel()
    array([1., 2., 5.])
    >>> result.final_state.ravel()
    array([1., 5.])
    """
    tensors = are_tensors(q=q, k=k, v=v, beta=beta, g=g, initial_state=initial_state)
    if not tensors:
        q, k, v, beta, g, initial_state = as_arrays(
            q=q, k=k, v=v, beta=beta, g=g, initial_state=initial_state
        )
    sizes = check_shapes(q, k, v, beta, g, initial_state)
    check_types(q, g, initial_state, k=k, v=v, beta=beta)
    options = Options(
        sizes.K**-0.5 if scale is None else _check_scale(scale),
        check_count(chunk_size, "chunk_size"),
        check_choice(method, "method", METHODS),
        check_choice(inversion, "inversion", INVERSIONS),
        check_flag(l2norm, "l2norm"),
    )
    check_n_jobs(n_jobs)
    if tensors:
        from skfrontier.algos.neural.delta_rule import nn

        nn.check_values(q, k, v, beta, g, initial_state, l2norm=options.l2norm)
        return DeltaRuleResult(*nn.delta_rule(q, k, v, beta, g, initial_state, options))
    check_values(q, k, v, beta, g, initial_state, l2norm=options.l2norm)
    return _on_arrays(q, k, v, beta, g, _start(q, initial_state, sizes), options, n_jobs)


def _on_arrays(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    beta: np.ndarray,
    g: np.ndarray | None,
    state: np.ndarray,
    options: Options,
    n_jobs: Any,
) -> DeltaRuleResult:
    """The call on checked arrays; ``state`` is moved on and has the type to compute in."""
    given = q.dtype
    q, k, v, beta = (array.astype(state.dtype, copy=False) for array in (q, k, v, beta))
    if options.l2norm:
        q, k = _normalised(q), _normalised(k)
    if options.method == "chunk":
        output = by_chunks(q, k, v, beta, g, state, options)
    else:
        output = by_tokens(q, k, v, beta, g, state, options.scale, n_jobs)
    return DeltaRuleResult(output.astype(given, copy=False), state)


def _check_scale(scale: Any) -> float:
    limit = float(np.finfo(np.float64).max)
    return check_interval(scale, "scale", -limit, limit)


def _start(q: np.ndarray, initial_state: np.ndarray | None, sizes: Sizes) -> np.ndarray:
    """The memory that the call moves on, never the caller's own, in the type to compute in."""
    work = np.float32 if q.dtype == np.float16 else q.dtype
    if initial_state is None:
        return np.zeros((sizes.B, sizes.HV, sizes.K, sizes.V), work)
    return initial_state.astype(work, copy=True)


def _normalised(x: np.ndarray) -> np.ndarray:
    squares = (x * x).sum(axis=-1, keepdims=True)
    return x / np.sqrt(squares + x.dtype.type(NORM_EPS))
