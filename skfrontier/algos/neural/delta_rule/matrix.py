"""The triangular matrix of the delta rule, and the bound on its inverse."""

from typing import Any

import numpy as np

from skfrontier.algos._torch import are_tensors, is_tensor
from skfrontier.algos._validation import as_numbers

FORGOTTEN = -746.0  # exp of it is zero in float64: no decay has to be stronger


def delta_rule_matrix(k: Any, beta: Any, g: Any = None) -> Any:
    """Matrix L of the delta rule for one chunk of tokens: I + L is what has to be inverted.

    Parameters
    ----------
    k : array or tensor of shape (..., n, K)
        Keys of the tokens.
    beta : array or tensor of shape (..., n)
        Writing strengths.
    g : array or tensor of shape (..., n) or None, default=None
        Logarithms of the decay before each token, at most 0; None is no decay.

    Returns
    -------
    array or tensor of shape (..., n, n)
        L_ij = beta_i (k_i . k_j) exp(g_{j+1} + ... + g_i) below the diagonal, zero elsewhere; of the
        type of ``k``. For tensors, differentiable.

    Raises
    ------
    ValueError
        If shapes do not fit together.

    Notes
    -----
    Decays are added up in float64, whatever the type: after one very strong decay sums in single precision
    would have lost all that comes later.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import delta_rule_matrix
    >>> k = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> delta_rule_matrix(k, np.full(3, 0.5))
    array([[0. , 0. , 0. ],
           [0.3, 0. , 0. ],
           [0. , 0.4, 0. ]])
    """
    k, beta, g = _chunk_inputs(k, beta, g)
    if is_tensor(k):
        from skfrontier.algos.neural.delta_rule import nn

        return nn.chunk_matrix(k, beta, nn.decay_of(g, k.dtype))
    E = None if g is None else decay_between(cumulative_decay(g), k.dtype)
    return chunk_matrix(k, beta, E)


def delta_rule_inverse_bound(k: Any, beta: Any, g: Any = None) -> Any:
    r"""Bound on the entries of the inverse of I + L, L being :func:`delta_rule_matrix`.

    Parameters
    ----------
    k, beta, g
        As in :func:`delta_rule_matrix`, with 0 <= beta_i \|\|k_i\|\|^2 <= 2.

    Returns
    -------
    array or tensor of shape (..., n, n)
        beta_i \|\|k_i\|\| \|\|k_j\|\| exp(g_{j+1} + ... + g_i) below the diagonal, one on it, zero above.

    Raises
    ------
    ValueError
        If shapes do not fit together.

    Notes
    -----
    Proven: an entry of the inverse below the diagonal is -beta_i exp(..) k_i^T P k_j, where P is the
    product of I - beta_l k_l k_l^T over the tokens l between j and i, and none of these factors is
    longer than one where 0 <= beta_l \|\|k_l\|\|^2 <= 2. Outside of that range the bound does not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import delta_rule_inverse_bound, delta_rule_matrix, invert_unit_lower
    >>> rng = np.random.default_rng(0)
    >>> k = rng.standard_normal((64, 8))
    >>> k /= np.linalg.norm(k, axis=1, keepdims=True)
    >>> beta = rng.uniform(0, 2, 64)
    >>> T = invert_unit_lower(delta_rule_matrix(k, beta))
    >>> bool((abs(T) <= delta_rule_inverse_bound(k, beta) + 1e-12).all())
    True
    """
    k, beta, g = _chunk_inputs(k, beta, g)
    if is_tensor(k):
        from skfrontier.algos.neural.delta_rule import nn

        return nn.inverse_bound(k, beta, nn.decay_of(g, k.dtype))
    norms = np.sqrt((k * k).sum(axis=-1))
    bound = (beta * norms)[..., :, None] * norms[..., None, :]
    if g is not None:
        bound = bound * decay_between(cumulative_decay(g), k.dtype)
    return np.tril(bound, -1) + np.eye(k.shape[-2], dtype=k.dtype)


def _chunk_inputs(k: Any, beta: Any, g: Any) -> tuple[Any, Any, Any]:
    if not are_tensors(k=k, beta=beta, g=g):
        k, beta = as_numbers(k, "k"), as_numbers(beta, "beta")
        g = None if g is None else as_numbers(g, "g")
    if len(k.shape) < 2:
        raise ValueError(f"k must have shape (..., n, K), got {tuple(k.shape)}.")
    for name, values in (("beta", beta), ("g", g)):
        if values is not None and tuple(values.shape) != tuple(k.shape[:-1]):
            raise ValueError(
                f"{name} must have shape {tuple(k.shape[:-1])}, as k without its last axis, "
                f"got {tuple(values.shape)}."
            )
    return k, beta, g


def cumulative_decay(g: np.ndarray) -> np.ndarray:
    """Sums of the log-decays up to and including each token, in float64."""
    return np.maximum(g.astype(np.float64), FORGOTTEN).cumsum(axis=-1)


def decay_between(G: np.ndarray, dtype: Any) -> np.ndarray:
    """exp(G_i - G_j) for i >= j, and one above the diagonal, where it would overflow."""
    between = G[..., :, None] - G[..., None, :]
    return np.exp(np.minimum(between, 0.0, out=between).astype(dtype, copy=False))


def chunk_matrix(k: np.ndarray, beta: np.ndarray, E: np.ndarray | None) -> np.ndarray:
    """L of the delta rule from keys (..., n, K), strengths (..., n) and decays between tokens."""
    L = beta[..., None] * (k @ np.swapaxes(k, -1, -2))
    if E is not None:
        L = L * E
    return np.tril(L, -1)
