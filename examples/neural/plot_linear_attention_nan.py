"""
Why your linear attention returned NaN
======================================

Layers with the delta rule (DeltaNet, Gated DeltaNet, Qwen3-Next) invert millions of small triangular
matrices I + L. The inverses are harmless: their entries have a bound near one, whatever the keys. The
*powers* of L are not: where keys resemble each other they grow by many orders of magnitude, and a method
that squares L again and again drowns in their rounding, or overflows.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skfrontier.algos import (
    delta_rule_inverse_bound,
    delta_rule_matrix,
    invert_unit_lower,
    triangular_inverse_report,
)

# %%
# Chunks of 64 tokens. Their keys share a direction, more and more of it; at one they are equal.

N, D, CHUNKS = 64, 128, 16
SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)


def chunks(share):
    """Keys whose inner products are about ``share``, and writing strengths."""
    rng = np.random.default_rng(0)
    common = rng.standard_normal((CHUNKS, 1, D))
    own = rng.standard_normal((CHUNKS, N, D))
    k = np.sqrt(share) * common + np.sqrt(1 - share) * own
    return k / np.linalg.norm(k, axis=-1, keepdims=True), rng.uniform(0.5, 1.0, (CHUNKS, N))


def to_bfloat16(x):
    """Round to bfloat16 where PyTorch is installed; its tensors are welcome as they are."""
    import torch

    return torch.from_numpy(x).to(torch.bfloat16)


PRECISIONS = {
    "float64": lambda x: x,
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "bfloat16": to_bfloat16,
}

# %%
# Four methods, all without help: no guard, and in half precision all products are in half precision, too.
# The last one is what :func:`invert_unit_lower` does when it is left alone.

METHODS = {
    "neumann": {"method": "neumann", "refine": 0, "guard": False},
    "newton": {"method": "newton", "refine": 0, "guard": False},
    "recursive": {"method": "recursive", "refine": 0},
    "default": {},
}


def as_float64(values):
    return np.asarray(values.double() if hasattr(values, "double") else values, np.float64)


def largest_error(L, options):
    """Largest error of an entry against float64; infinity for NaN."""
    exact = np.linalg.inv(np.eye(N) + as_float64(L))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        error = np.abs(as_float64(invert_unit_lower(L, **options)) - exact).max()
    return error if np.isfinite(error) else np.inf


available = dict(PRECISIONS)
try:
    import torch  # noqa: F401
except ImportError:
    del available["bfloat16"]

errors = {
    precision: {
        method: [
            largest_error(to_precision(delta_rule_matrix(*chunks(share))), options)
            for share in SHARES
        ]
        for method, options in METHODS.items()
    }
    for precision, to_precision in available.items()
}

# %%
# Lines that leave the top are errors above a million, overflow or NaN. The two methods made of powers lose
# most digits even in double precision, and all of them in the others. Going by halves is safe; the default
# comes down to the rounding of the exact inverse.

fig, axes = plt.subplots(1, len(errors), figsize=(3 * len(errors), 3.6), sharey=True)
styles = {"neumann": "C3-", "newton": "C1-", "recursive": "C0--", "default": "k-"}
top = 1e6
for ax, (precision, by_method) in zip(axes, errors.items(), strict=True):
    for method, values in by_method.items():
        drawn = np.clip(np.nan_to_num(values, posinf=1e9), 1e-17, 1e9)
        ax.semilogy(SHARES, drawn, styles[method], label=method)
    ax.axhline(1, color="0.7", lw=0.8)
    ax.set(title=precision, xlabel="likeness of the keys", ylim=(1e-17, top))
axes[0].set_ylabel("largest error (entries are about 1)")
axes[0].legend(frameon=False, fontsize=8)
fig.tight_layout()

# %%
# The reason, for one chunk each: entries of the inverse stay below the bound beta ``||k_i|| ||k_j||``,
# whereas the powers of L that 'neumann' and 'newton' pass through do not care about it.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
for share, colour in ((0.0, "C0"), (0.5, "C2"), (0.99, "C3")):
    k, beta = chunks(share)
    T = invert_unit_lower(delta_rule_matrix(k, beta))
    below = np.tril_indices(N, -1)
    bound = delta_rule_inverse_bound(k, beta)[0][below]
    left.plot(bound, np.abs(T[0][below]), ".", ms=2, color=colour, label=f"likeness {share:g}")
left.plot([0.5, 1], [0.5, 1], "k-", lw=0.8, label="the bound")
left.set(xlabel="bound", ylabel="entry of the inverse", yscale="log", ylim=(1e-7, 3))
left.legend(frameon=False, fontsize=8, markerscale=4)
growth = []
for share in SHARES:
    L = delta_rule_matrix(*chunks(share))
    growth.append(triangular_inverse_report(L, invert_unit_lower(L)).power_growth.max())
right.semilogy(SHARES, growth, "C3-", label="largest entry of L, L², L⁴, ...")
right.axhline(4, color="k", lw=0.8, label="where the guard steps in")
right.set(xlabel="likeness of the keys")
right.legend(frameon=False, fontsize=8)
fig.tight_layout()

# %%
# With the guard, which is on unless one turns it off, the user is told and gets the safe inverse.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    invert_unit_lower(delta_rule_matrix(*chunks(0.9)), method="neumann")
print(caught[0].message)
