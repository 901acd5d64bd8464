"""The delta rule token by token: one pass over the state for each."""

import itertools
from typing import Any

import joblib
import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.neural.delta_rule.matrix import FORGOTTEN

# Sums may be reordered and multiplications fused with additions; values are finite.
_REORDER = {"reassoc", "contract", "nsz"}


def by_tokens(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    beta: np.ndarray,
    g: np.ndarray | None,
    state: np.ndarray,
    scale: float,
    n_jobs: Any,
) -> np.ndarray:
    """Output (B, T, HV, V); ``state`` (B, HV, K, V) is moved on. Float32 or float64, in C order."""
    B, T, HV = v.shape[:3]
    output = np.empty_like(v)
    if output.size == 0:
        return output
    decay = (
        np.ones((B, T, HV), v.dtype)
        if g is None
        else np.exp(np.maximum(g.astype(np.float64), FORGOTTEN)).astype(v.dtype)
    )
    arrays = (q, k, v, beta, decay, v.dtype.type(scale), state, output)
    shares = np.linspace(0, B * HV, joblib.effective_n_jobs(n_jobs) + 1).astype(np.int64)
    if len(shares) == 2:
        _follow_heads(*arrays, 0, B * HV)
    else:
        joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
            joblib.delayed(_follow_heads)(*arrays, int(low), int(high))
            for low, high in itertools.pairwise(shares)
        )
    return output


@njit(fastmath=_REORDER)
def _follow_heads(q, k, v, beta, decay, scale, state, output, low, high):
    """All tokens of the heads low..high-1, numbered over sequences and heads of values."""
    T, HV = v.shape[1], v.shape[2]
    group = HV // q.shape[2]
    V = v.shape[3]
    u, o, recalled = np.empty(V, v.dtype), np.empty(V, v.dtype), np.empty(V, v.dtype)
    for number in range(low, high):
        b, hv = number // HV, number % HV
        h = hv // group
        S = state[b, hv]
        _recall(S, k[b, 0, h], recalled)
        for t in range(T):
            following = k[b, min(t + 1, T - 1), h]
            a, strength = decay[b, t, hv], beta[b, t, hv]
            value, out = v[b, t, hv], output[b, t, hv]
            for j in range(V):
                u[j] = strength * (value[j] - a * recalled[j])
                o[j] = 0
                recalled[j] = 0
            _write_and_read(S, a, k[b, t, h], u, q[b, t, h], o, following, recalled)
            for j in range(V):
                out[j] = scale * o[j]


@inner
def _recall(S, key, recalled):
    """Recalled = S^T key."""
    for j in range(len(recalled)):
        recalled[j] = 0
    for i in range(len(key)):
        for j in range(len(recalled)):
            recalled[j] += key[i] * S[i, j]


@inner
def _write_and_read(S, a, key, u, query, o, following, recalled):
    """S <- a S + key u^T, o += S^T query, recalled += S^T following: four rows of S at a time."""
    K, V = S.shape
    i = 0
    while i + 4 <= K:
        k0, k1, k2, k3 = key[i], key[i + 1], key[i + 2], key[i + 3]
        q0, q1, q2, q3 = query[i], query[i + 1], query[i + 2], query[i + 3]
        f0, f1, f2, f3 = following[i], following[i + 1], following[i + 2], following[i + 3]
        S0, S1, S2, S3 = S[i], S[i + 1], S[i + 2], S[i + 3]
        for j in range(V):
            s0 = a * S0[j] + k0 * u[j]
            s1 = a * S1[j] + k1 * u[j]
            s2 = a * S2[j] + k2 * u[j]
            s3 = a * S3[j] + k3 * u[j]
            S0[j], S1[j], S2[j], S3[j] = s0, s1, s2, s3
            o[j] += q0 * s0 + q1 * s1 + q2 * s2 + q3 * s3
            recalled[j] += f0 * s0 + f1 * s1 + f2 * s2 + f3 * s3
        i += 4
    while i < K:
        row = S[i]
        for j in range(V):
            s = a * row[j] + key[i] * u[j]
            row[j] = s
            o[j] += query[i] * s
            recalled[j] += following[i] * s
        i += 1
