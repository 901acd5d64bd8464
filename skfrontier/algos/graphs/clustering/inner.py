"""``njit`` for kernels that only kernels call: without wrappers for Python they compile twice as fast."""

from skfrontier.algos._numba import njit

inner = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
