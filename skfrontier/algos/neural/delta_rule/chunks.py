"""The delta rule chunk by chunk: within one, a triangular system; between them, the state.

For a chunk of tokens with cumulative log-decays G and the state S before it, the values that are written
are U = (I + L)^-1 (beta (V - e^G K S)); the outputs are e^G Q S + tril(Q K^T e^(G_i - G_j)) U; and the
state becomes e^(G_C) S + (e^(G_C - G) K)^T U.
"""

import numpy as np

from skfrontier.algos.neural.delta_rule.matrix import (
    chunk_matrix,
    cumulative_decay,
    decay_between,
)
from skfrontier.algos.neural.delta_rule.options import Options
from skfrontier.algos.neural.triangular_inversion.inversion import invert_stack
from skfrontier.algos.neural.triangular_inversion.matrices import stacked
from skfrontier.algos.neural.triangular_inversion.settings import Settings


def by_chunks(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    beta: np.ndarray,
    g: np.ndarray | None,
    state: np.ndarray,
    options: Options,
) -> np.ndarray:
    """Output (B, T, HV, V); ``state`` (B, HV, K, V) is moved on. Float32 or float64."""
    B, T, HV, V = v.shape
    group = HV // q.shape[2]
    if v.size == 0:
        return np.empty_like(v)
    C = min(options.chunk_size, T)
    Q, K = (_chunked(np.repeat(x, group, axis=2), C) for x in (q * v.dtype.type(options.scale), k))
    values, strengths = _chunked(v, C), _chunked(beta[..., None], C)
    G = None if g is None else cumulative_decay(_chunked(g[..., None], C)[..., 0])
    E = None if G is None else decay_between(G, v.dtype)
    L = chunk_matrix(K, strengths[..., 0], E)
    inverse = invert_stack(stacked(L), Settings(method=options.inversion))[0].reshape(L.shape)
    attention = Q @ np.swapaxes(K, -1, -2)
    if E is not None:
        attention *= E
    attention = np.tril(attention)
    recalled_keys = K  # what the state before the chunk is read with, by keys and by queries
    kept_keys = K  # what is written into the state after it
    last = np.ones((B, HV, L.shape[2], 1, 1), v.dtype)
    if G is not None:
        since_start = np.exp(G).astype(v.dtype)[..., None]
        recalled_keys, Q = since_start * K, since_start * Q
        kept_keys = np.exp(G[..., -1:] - G).astype(v.dtype)[..., None] * K
        last = since_start[..., -1:, :]
    fresh = inverse @ (strengths * values)
    erased = inverse @ (strengths * recalled_keys)
    output = np.empty_like(values)
    for chunk in range(L.shape[2]):
        U = fresh[:, :, chunk] - erased[:, :, chunk] @ state
        output[:, :, chunk] = Q[:, :, chunk] @ state + attention[:, :, chunk] @ U
        state *= last[:, :, chunk]
        state += np.swapaxes(kept_keys[:, :, chunk], -1, -2) @ U
    return np.ascontiguousarray(output.reshape(B, HV, -1, V)[:, :, :T].swapaxes(1, 2))


def _chunked(x: np.ndarray, C: int) -> np.ndarray:
    """(B, T, heads, d) as (B, heads, chunks, C, d); missing tokens at the end are zero and change nothing."""
    B, T, heads, d = x.shape
    padded = np.pad(x, ((0, 0), (0, -T % C), (0, 0), (0, 0)))
    return np.ascontiguousarray(padded.swapaxes(1, 2)).reshape(B, heads, -1, C, d)
