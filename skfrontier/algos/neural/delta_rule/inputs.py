"""What the delta rule may be given: shapes and types, for arrays and tensors alike, then values of arrays."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._validation import as_numbers, check_finite

FLOATS = ("float16", "bfloat16", "float32", "float64")
HALF = ("float16", "bfloat16")


@dataclass(frozen=True)
class Sizes:
    """Sequences, tokens, heads of keys, of values, and their dimensions."""

    B: int
    T: int
    H: int
    HV: int
    K: int
    V: int


def check_shapes(q: Any, k: Any, v: Any, beta: Any, g: Any, initial_state: Any) -> Sizes:
    """Return the sizes of a call, or raise a ValueError naming the array that does not fit."""
    for name, array in (("q", q), ("k", k), ("v", v)):
        if len(array.shape) != 4:
            raise ValueError(
                f"{name} must have shape (B, T, heads, dimension), got {tuple(array.shape)}."
            )
    B, T, H, K = q.shape
    HV, V = v.shape[2:]
    _check_shape("k", k, (B, T, H, K), "as q")
    _check_shape("v", v, (B, T, HV, V), "with the sequences and tokens of q")
    if min(H, HV, K) == 0 or HV % H:
        raise ValueError(
            f"v must have a multiple of the {H} heads of q and k, and these one or more of dimension one or "
            f"more; got {HV} heads, dimension {K}."
        )
    _check_shape("beta", beta, (B, T, HV), "one a token and head of v")
    if g is not None:
        _check_shape("g", g, (B, T, HV), "one a token and head of v")
    if initial_state is not None:
        _check_shape("initial_state", initial_state, (B, HV, K, V), "(B, HV, K, V)")
    return Sizes(B, T, H, HV, K, V)


def _check_shape(name: str, array: Any, shape: tuple[int, ...], why: str) -> None:
    if tuple(array.shape) != shape:
        raise ValueError(f"{name} must have shape {shape}, {why}; got {tuple(array.shape)}.")


def check_types(q: Any, g: Any, initial_state: Any, **like_q: Any) -> None:
    """Raise a TypeError unless all have the floating type of ``q``.

    Where that is half precision, decays and states may be float32.
    """
    expected = type_name(q)
    if expected not in FLOATS:
        raise TypeError(f"q must have one of the types {', '.join(FLOATS)}, got {expected}.")
    state_types = (expected, "float32") if expected in HALF else (expected,)
    for name, array in like_q.items():
        if type_name(array) != expected:
            raise TypeError(f"{name} must be {expected} as q, got {type_name(array)}.")
    for name, array in (("g", g), ("initial_state", initial_state)):
        if array is not None and type_name(array) not in state_types:
            raise TypeError(f"{name} must be {' or '.join(state_types)}, got {type_name(array)}.")


def type_name(array: Any) -> str:
    """Name of the type of an array or tensor."""
    return str(array.dtype).removeprefix("torch.")


def as_arrays(**arrays: Any) -> tuple[Any, ...]:
    """The arguments as arrays in C order; None stays None."""
    return tuple(
        None if array is None else np.ascontiguousarray(as_numbers(array, name))
        for name, array in arrays.items()
    )


def check_values(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    beta: np.ndarray,
    g: np.ndarray | None,
    initial_state: np.ndarray | None,
    *,
    l2norm: bool,
) -> None:
    """Raise a ValueError for NaN, infinity or a growth that is no decay; warn of states that may grow."""
    finite = {"q": q, "k": k, "v": v, "beta": beta, "initial_state": initial_state}
    for name, array in finite.items():
        if array is not None:
            check_finite(array, name)
    if g is not None and not (g <= 0).all():  # -inf forgets everything, NaN is caught
        refuse_growth(float(g[~(g <= 0)][0]))
    squares = np.ones(k.shape[:-1]) if l2norm else np.square(k, dtype=np.float64).sum(axis=-1)
    strength = beta * np.repeat(squares, beta.shape[2] // k.shape[2], axis=2)
    limit = growth_limit(float(np.finfo(k.dtype).eps))
    if strength.max(initial=0.0) > limit or strength.min(initial=0.0) < 0:
        warn_of_growing_state()


def refuse_growth(value: float) -> None:
    """Raise for a positive log-decay."""
    raise ValueError(
        f"g: log-decay must be <= 0, got {value!r}; give the logarithm of a factor in [0, 1]."
    )


def growth_limit(eps: float) -> float:
    """Largest beta ||k||^2 without growth, with room for the rounding of a key of norm one."""
    return 2.0 * (1.0 + 8.0 * eps)


def warn_of_growing_state() -> None:
    """Say that the state may grow without limit."""
    warnings.warn(
        "beta * ||k||^2 is outside of [0, 2] for some token: such writes lengthen the state, which may grow "
        "without limit. Normalise the keys (l2norm=True) and keep beta in [0, 2].",
        UserWarning,
        stacklevel=4,
    )
