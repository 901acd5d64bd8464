"""The project's ``njit`` and ``inner``: compilation flags are set here and nowhere else."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba
from numba.core.registry import CPUDispatcher

_FLAGS = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


@overload
def njit(kernel: _Kernel) -> _Kernel: ...
@overload
def njit(**options: Any) -> Callable[[_Kernel], _Kernel]: ...
def njit(kernel: Any = None, **options: Any) -> Any:
    """``numba.njit`` with the on-disk cache on and the GIL released.

    Division by zero follows IEEE 754, as in numpy, instead of raising: a kernel without exits is
    smaller and up to a quarter faster. No entry for C callers is compiled, because nobody passes
    kernels as function values: a sixth of the compile time.

    Where no cache folder can be written (a read-only installation without a home directory), the
    kernel is compiled anew in each process instead of failing at import.
    """
    if kernel is None:
        return lambda function: njit(function, **options)
    try:
        return numba.njit(kernel, cache=True, **{**_FLAGS, **options})
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        return numba.njit(kernel, **{**_FLAGS, **options})


class _InnerKernel(CPUDispatcher):
    """A compiled function that Python cannot enter: a call from there would crash the interpreter."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} can be called by compiled functions only.")


def inner(kernel: _Kernel) -> _Kernel:
    """`njit` for a kernel that only kernels call: no entry for Python, half of the compile time."""
    compiled: Any = njit(no_cpython_wrapper=True)(kernel)
    if isinstance(compiled, CPUDispatcher):  # not with compilation switched off
        compiled.__class__ = _InnerKernel
    return compiled
