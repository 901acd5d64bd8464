"""Products in the precision of the matrices, and the one in which a residual is worth its price."""

import numpy as np


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """``A @ B`` in the type of both; half precision as accelerators do it: added up wider, rounded once."""
    if A.dtype == np.float16:
        return (A.astype(np.float32) @ B.astype(np.float32)).astype(np.float16)
    return A @ B


def wider(dtype: np.dtype) -> type:
    """The type in which the residual of a result of type ``dtype`` is computed."""
    return np.float32 if dtype == np.float16 else np.float64
