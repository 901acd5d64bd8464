"""Redrawing a few coordinates of a row among the corners that its set allows: the step of Gibbs sweeps."""

import numpy as np

from skfrontier.algos._numba import inner, njit


@inner
def draw_corner(mask, weights, uniform):
    """An allowed corner in proportion to its weight, or -1 if the weights of all of them have underflowed."""
    total = 0.0
    for c in range(weights.shape[0]):
        if (mask >> c) & 1:
            total += weights[c]
    if total == 0.0:
        return -1
    left = uniform * total
    chosen = -1
    for c in range(weights.shape[0]):
        if (mask >> c) & 1:
            chosen = c
            left -= weights[c]
            if left < 0:
                break
    return chosen


def redraw_corners(
    X: np.ndarray, T: np.ndarray, masks: np.ndarray, weights: np.ndarray, uniforms: np.ndarray
) -> None:
    """Redraw the coordinates T of all rows in place, given the allowed corners of each row."""
    _redraw_corners(X, T, masks, weights, uniforms)


@njit
def _redraw_corners(X, T, masks, weights, uniforms):
    for t in range(X.shape[0]):
        corner = draw_corner(masks[t], weights, uniforms[t])
        if corner >= 0:
            for a in range(T.shape[0]):
                X[t, T[a]] = (corner >> a) & 1
