"""One correction of a rounded inverse by its residual, computed in a wider type."""

import numpy as np

from skfrontier.algos.neural.triangular_inversion.arithmetic import wider


def refined(L: np.ndarray, T: np.ndarray) -> np.ndarray:
    """T + T R, R = I - (I + L) T, rounded to the type of T once; the residual is squared by it.

    With S = T - I, the residual is -(L + S + L S): nothing of size one is subtracted.
    """
    wide = wider(T.dtype)
    lower: np.ndarray = np.tril(L, -1).astype(wide)
    S: np.ndarray = np.tril(T, -1).astype(wide)
    R = -(lower + S + lower @ S)
    S += R + S @ R
    S[:, np.arange(T.shape[-1]), np.arange(T.shape[-1])] = 1
    return S.astype(T.dtype)
