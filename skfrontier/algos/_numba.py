"""The project's ``njit``: compilation flags are set here and nowhere else."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


@overload
def njit(kernel: _Kernel) -> _Kernel: ...
@overload
def njit(**options: Any) -> Callable[[_Kernel], _Kernel]: ...
def njit(kernel: Any = None, **options: Any) -> Any:
    """``numba.njit`` with the on-disk cache on and the GIL released.

    Where no cache folder can be written (a read-only installation without a home directory), the
    kernel is compiled anew in each process instead of failing at import.
    """
    if kernel is None:
        return lambda function: njit(function, **options)
    try:
        return numba.njit(kernel, cache=True, nogil=True, **options)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        return numba.njit(kernel, nogil=True, **options)
