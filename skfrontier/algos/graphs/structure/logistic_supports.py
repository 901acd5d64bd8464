"""Supports along the l1-penalised logistic path of a binary column: proximal Newton steps."""

import numpy as np

from skfrontier.algos._numba import inner
from skfrontier.algos.graphs.structure.supports import admit

_NEWTON_STEPS = 50
_MAX_SWEEPS = 200
_LEAST_WEIGHT = 1e-5


@inner
def logistic_path(features, y, node, usable, eps, tol, alphas, sizes, supports):
    """Fill in penalties, support sizes and supports; return how many, and whether it was cut short."""
    p, n = features.shape
    n_alphas, max_support = supports.shape
    b = np.zeros(p)
    active = np.empty(p, dtype=np.int64)
    closed = np.empty(p, dtype=np.bool_)
    slope = np.empty(p)
    rows = np.empty((3, n))  # linear predictor, residual y - mu, weights
    mean = 0.0
    for i in range(n):
        mean += y[i] / n
    intercept = np.log(mean / (1.0 - mean))
    for i in range(n):
        rows[0, i] = intercept
    n_active = 0
    _refresh(rows, y)
    _slopes(features, rows[1], slope)
    largest = 0.0
    for k in range(p):
        closed[k] = k == node or not usable[k]
        if not closed[k]:
            largest = max(largest, abs(slope[k]))
    if largest <= 0.0 or not usable[node]:
        return 0, False
    previous = largest
    for point in range(n_alphas):
        along = point / (n_alphas - 1) if n_alphas > 1 else 0.0
        alpha = largest * 0.999 * (eps / 0.999) ** along
        n_active = admit(slope, closed, active, n_active, 2.0 * alpha - previous)
        before = -1
        while n_active > before:
            for _ in range(_NEWTON_STEPS):
                if _newton_step(features, y, b, rows, active, n_active, alpha, tol) < tol:
                    break
            _slopes(features, rows[1], slope)
            before = n_active
            n_active = admit(slope, closed, active, n_active, alpha * (1.0 + 1e-6))
        size = 0
        for place in range(n_active):
            if b[active[place]] != 0.0:
                if size == max_support:
                    return point, True
                supports[point, size] = active[place]
                size += 1
        alphas[point], sizes[point] = alpha, size
        previous = alpha
    return n_alphas, False


@inner
def _refresh(rows, y):
    """Residuals and weights from the linear predictor."""
    for i in range(y.size):
        mu = 1.0 / (1.0 + np.exp(-rows[0, i]))
        rows[1, i] = y[i] - mu
        rows[2, i] = max(mu * (1.0 - mu), _LEAST_WEIGHT)


@inner
def _slopes(features, residual, slope):
    p, n = features.shape
    for k in range(p):
        total = 0.0
        for i in range(n):
            total += features[k, i] * residual[i]
        slope[k] = total / n


@inner
def _newton_step(features, y, b, rows, active, n_active, alpha, tol):
    """Minimise the penalised quadratic model by coordinate descent; return the largest change."""
    n = y.size
    eta, gap, w = rows[0], rows[1].copy(), rows[2]  # gap: gradient of the model, row by row
    old = np.empty(n_active)
    curvature = np.empty(n_active)
    total_weight = 0.0
    for i in range(n):
        total_weight += w[i]
    for place in range(n_active):
        old[place] = b[active[place]]
        row = features[active[place]]
        curvature[place] = 0.0
        for i in range(n):
            curvature[place] += w[i] * row[i] * row[i] / n
    for _ in range(_MAX_SWEEPS):
        shift = 0.0
        for i in range(n):
            shift += gap[i]
        shift /= total_weight
        for i in range(n):
            eta[i] += shift
            gap[i] -= w[i] * shift
        change = abs(shift)
        for place in range(n_active):
            a = active[place]
            row = features[a]
            pull = curvature[place] * b[a]
            for i in range(n):
                pull += row[i] * gap[i] / n
            new = 0.0
            if pull > alpha:
                new = (pull - alpha) / curvature[place]
            elif pull < -alpha:
                new = (pull + alpha) / curvature[place]
            step = new - b[a]
            if step != 0.0:
                b[a] = new
                change = max(change, abs(step))
                for i in range(n):
                    eta[i] += step * row[i]
                    gap[i] -= step * w[i] * row[i]
        if change < 0.1 * tol:
            break
    _refresh(rows, y)
    largest = 0.0
    for place in range(n_active):
        largest = max(largest, abs(b[active[place]] - old[place]))
    return largest
