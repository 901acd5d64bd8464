"""Random calls of the delta rule, and the recurrence written out in float64."""

import numpy as np


def make_call(B, T, H, HV, K, V, *, dtype=np.float64, gated=True, strongest=2.0, seed=0):
    """q, k (of norm one), v, beta and g of a call."""
    rng = np.random.default_rng(seed)
    q, k = rng.standard_normal((2, B, T, H, K))
    k = k / np.linalg.norm(k, axis=-1, keepdims=True)
    v = rng.standard_normal((B, T, HV, V))
    beta = strongest * rng.random((B, T, HV))
    g = -0.1 * np.abs(rng.standard_normal((B, T, HV)))
    call = [x.astype(dtype) for x in (q, k, v, beta)]
    return [*call, g.astype(dtype) if gated else None]


def step_by_step(q, k, v, beta, g=None, state=None, scale=None):
    """Output and final state in float64, one token and head at a time."""
    q, k, v, beta = (np.asarray(x, np.float64) for x in (q, k, v, beta))
    B, T, HV, V = v.shape
    K, group = q.shape[3], HV // q.shape[2]
    scale = K**-0.5 if scale is None else scale
    S = np.zeros((B, HV, K, V)) if state is None else np.array(state, np.float64)
    output = np.zeros(v.shape)
    for b, h, t in np.ndindex(B, HV, T):
        key, query = k[b, t, h // group], q[b, t, h // group]
        if g is not None:
            S[b, h] *= np.exp(np.float64(g[b, t, h]))
        u = beta[b, t, h] * (v[b, t, h] - S[b, h].T @ key)
        S[b, h] += np.outer(key, u)
        output[b, t, h] = scale * (S[b, h].T @ query)
    return output, S


def in_torch(torch, call, device="cpu"):
    """The arrays of a call as tensors."""
    return [None if x is None else torch.from_numpy(x).to(device) for x in call]


def largest_difference(result, output, state):
    """Largest difference of a result to outputs and states."""
    parts = ((result.output, output), (result.final_state, state))
    return max(float(np.abs(np.asarray(a) - b).max(initial=0.0)) for a, b in parts)
