"""Many small triangular inverses: `invert_unit_lower` beside NumPy, PyTorch and LAPACK.

The matrices are those of delta-rule chunks. The error of a row is the largest of an entry, against
float64; in the cases on precision it is relative to the error of rounding the exact inverse, minus one: zero
is as good as the result's type allows. Cases on speed call a contender many times on a batch of moderate
size: with larger ones the system's handing out of fresh memory would be most of what is measured.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from benchmarks.harness import Case, Contender
from skfrontier.algos import delta_rule_matrix, invert_unit_lower, triangular_inverse_report
from skfrontier.datasets import make_delta_rule_keys

HEADLINE = ("Inverses of delta-rule chunks", "numpy.linalg.inv")
ENTRIES = 2**18  # of all matrices of a case
CALLS = 20
BARS = {"numpy": 3.0, "torch": 1.2, "lapack": 1.4}
HEAD = 128  # dimension of the keys
KINDS = ("random", "correlated", "equal")


def cases(quick: bool) -> list[Case]:
    """All cases of the topic."""
    entries = ENTRIES // 8 if quick else ENTRIES
    return [
        *(
            _speed_case(n, entries, dtype)
            for n in (16, 32, 64, 128)
            for dtype in (np.float32, np.float64)
        ),
        *(_large_case(n) for n in ((512,) if quick else (256, 512, 1024))),
        *(_single_precision_case(kind, n) for kind in KINDS for n in (64,)),
        *(
            _half_precision_case(kind, n, name)
            for kind in KINDS
            for n in ((64,) if quick else (64, 128))
            for name in ("float16", "bfloat16")
        ),
    ]


def _matrices(batch: int, n: int, kind: str = "random") -> np.ndarray:
    k, beta, _ = make_delta_rule_keys(batch, n, HEAD, kind=kind, random_state=0)
    return delta_rule_matrix(k, beta)


def _torch() -> Any:
    """The torch module on one thread, as the others; None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    return torch


def _speed_case(n: int, entries: int, dtype: type) -> Case:
    batch = entries // (n * n)

    def build() -> list[Contender]:
        L = _matrices(batch, n).astype(dtype)
        exact = invert_unit_lower(L.astype(np.float64))

        def error(T: Any) -> float:
            return float(np.abs(np.asarray(T) - exact).max())

        contenders = [
            Contender("invert_unit_lower", lambda: invert_unit_lower(L), error=error),
            *_array_peers(L, error),
            *_torch_peers(L, error),
        ]
        return [replace(each, run=partial(_last_of_many, each.run)) for each in contenders]

    size = f"{CALLS} times {batch} of n = {n}, {np.dtype(dtype).name}"
    return Case("Inverses of delta-rule chunks", size, build)


def _last_of_many(run: Callable[[], Any]) -> Any:
    for _ in range(CALLS - 1):
        run()
    return run()


def _array_peers(L: np.ndarray, error: Callable, *, bars: bool = True) -> list[Contender]:
    A = L + np.eye(L.shape[-1], dtype=L.dtype)
    invert = lapack.strtri if L.dtype == np.float32 else lapack.dtrtri
    identity = np.eye(L.shape[-1], dtype=L.dtype)

    def one_by_one() -> np.ndarray:
        T = np.empty_like(A)
        for i, matrix in enumerate(A):
            T[i] = invert(matrix, lower=1, unitdiag=1)[0]
        return T

    def solved_one_by_one() -> np.ndarray:
        T = np.empty_like(A)
        for i, matrix in enumerate(A):
            T[i] = solve_triangular(
                matrix, identity, lower=True, unit_diagonal=True, check_finite=False
            )
        return T

    return [
        Contender(
            "numpy.linalg.inv",
            lambda: np.linalg.inv(A),
            error=error,
            bar=BARS["numpy"] if bars else None,
        ),
        Contender(
            "LAPACK trtri, loop", one_by_one, error=error, bar=BARS["lapack"] if bars else None
        ),
        Contender("scipy solve_triangular, loop", solved_one_by_one, error=error),
    ]


def _torch_peers(L: np.ndarray, error: Callable) -> list[Contender]:
    torch = _torch()

    def solve() -> Any:
        return torch.linalg.solve_triangular(A, identity, upper=False, unitriangular=True)

    if torch is None:
        A = identity = tensor = None
    else:
        tensor = torch.from_numpy(L)
        identity = torch.eye(L.shape[-1], dtype=tensor.dtype).expand(tensor.shape)
        A = tensor + identity
    return [
        Contender(
            "torch.linalg.solve_triangular", solve, requires="torch", error=error, bar=BARS["torch"]
        ),
        Contender(
            "invert_unit_lower of a tensor",
            lambda: invert_unit_lower(tensor),
            requires="torch",
            error=error,
        ),
    ]


def _large_case(n: int) -> Case:
    def build() -> list[Contender]:
        L = _matrices(4, n)
        exact = invert_unit_lower(L, method="substitution")

        def error(T: np.ndarray) -> float:
            return float(np.abs(T - exact).max())

        return [
            Contender("invert_unit_lower", lambda: invert_unit_lower(L), error=error),
            Contender(
                "substitution", lambda: invert_unit_lower(L, method="substitution"), error=error
            ),
            *_array_peers(L, error, bars=False),
        ]

    return Case("Larger matrices", f"4 of n = {n}, float64", build)


def _unguarded(L: Any, method: str, **options: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return invert_unit_lower(L, method=method, guard=False, **options)


def _single_precision_case(kind: str, n: int) -> Case:
    def build() -> list[Contender]:
        L = _matrices(64, n, kind).astype(np.float32)
        exact = invert_unit_lower(L.astype(np.float64))
        growth = triangular_inverse_report(L, exact).power_growth.max()

        def error(T: np.ndarray) -> float:
            return float(np.abs(T - exact).max())

        return [
            Contender("substitution", lambda: invert_unit_lower(L), error=error),
            Contender("recursive", lambda: invert_unit_lower(L, method="recursive"), error=error),
            Contender(
                "numpy.linalg.inv", lambda: np.linalg.inv(L + np.eye(n, dtype=L.dtype)), error=error
            ),
            *(
                Contender(
                    f"{method}, no guard",
                    lambda method=method: _unguarded(L, method),
                    error=error,
                    note=f"powers of L reach {growth:.1e}",
                )
                for method in ("neumann", "newton")
            ),
        ]

    return Case("Single precision", f"{kind} keys, 64 of n = {n}; error absolute", build)


def _half_precision_case(kind: str, n: int, name: str) -> Case:
    def build() -> list[Contender]:
        torch = _torch()
        if torch is None:
            return [Contender("default", lambda: None)]
        L = torch.from_numpy(_matrices(64, n, kind)).to(getattr(torch, name))
        exact = torch.from_numpy(invert_unit_lower(L.double().numpy()))
        rounding = float((exact.to(L.dtype).double() - exact).abs().max())

        def error(T: Any) -> float:
            return float((T.double() - exact).abs().max()) / rounding - 1

        return [
            Contender("default", lambda: invert_unit_lower(L), error=error),
            *(
                Contender(
                    f"products in half precision, refine={refine}",
                    lambda refine=refine: invert_unit_lower(L, refine=refine),
                    error=error,
                )
                for refine in (0, 1, 2)
            ),
            Contender(
                "neumann in half precision, no guard",
                lambda: _unguarded(L, "neumann", refine=0),
                error=error,
            ),
        ]

    return Case("Half precision", f"{kind} keys, 64 of n = {n}, {name}", build)
