"""Deviance and sandwich trace of one support: cross-validation at every training size is a line in them.

For the unpenalised fit on a support let ``g_i`` be the gradients of the losses and ``H`` the sum of their
Hessians. One Newton step from the full fit to that on ``n_c`` random rows, averaged over all choices of the
rows, gives the validation loss

    2 n ACV = D + kappa T,    T = n / (n - 1) sum_i g_i' H^-1 g_i,    kappa = 1 + n / n_c.

The trace is split by eliminating the intercept first: the part of the coefficients, which selects, is never
negative; the parts of intercept and variance hardly differ between supports and only enter the value that is
reported.
"""

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.graphs.structure.cholesky import factor, solve
from skfrontier.algos.graphs.structure.families import BINARY, GAUSSIAN

_MAX_ITERATIONS = 30
_MAX_STEP = 4.0  # in the largest coefficient
_MAX_ETA = 30.0  # logit at which a probability is 0 or 1
_MAX_LOG_RATE = 300.0
_CERTAIN = 5e-5  # variance of a response that only separation predicts
_FLOOR = 1e-12  # of RSS/n
_ROUNDING = 1e-10  # RSS/n below which the residuals are rounding

# Sums may be taken in any order, so that they run in vector registers; nan and infinity stay.
_reordered = njit(fastmath={"reassoc", "contract"}, no_cpython_wrapper=True)


@inner
def _gaussian_terms(features, y, support, size, work):
    """``(D, T, rest)`` of least squares on centred ``y`` and columns; D is ``n log(RSS/n)``.

    ``rest`` is the trace of intercept and variance. ``work.b[:size]`` keeps the coefficients.
    """
    n = y.size
    A, H, b, e = work[0], work[1], work[2][0], work[2][1]
    for a in range(size):
        row = features[support[a]]
        for i in range(n):
            A[a, i] = row[i]
    for a in range(size):
        b[a] = _dot(A[a], y)
        for c in range(a + 1):
            H[a, c] = _dot(A[a], A[c])
        H[a, a] *= 1.0 + 1e-14
    factor(H, size)
    solve(H, b, size)
    for i in range(n):
        e[i] = y[i]
    for a in range(size):
        weight = b[a]
        for i in range(n):
            e[i] -= weight * A[a, i]
    squares, fourths = 0.0, 0.0
    for i in range(n):
        e[i] *= e[i]
        squares += e[i]
        fourths += e[i] * e[i]
    variance = squares / n
    correction = n / (n - 1.0)
    deviance = n * np.log(max(variance, _FLOOR))
    if variance < _ROUNDING:
        return deviance, float(size), 1.0
    trace = _whitened(A, H, e, 0, size) / variance
    kurtosis = fourths / n / variance**2
    return deviance, correction * trace, correction * (1.0 + 0.5 * (kurtosis - 1.0))


@inner
def _glm_terms(features, y, family, support, size, work):
    """``(D, T, rest)`` of a logistic or Poisson regression; D is twice the negative log-likelihood.

    There is always an intercept.
    ``work[2][0][:size + 1]`` keeps intercept and coefficients.
    """
    n = y.size
    A, H, theta, e = work[0], work[1], work[2][0], work[2][1]
    for i in range(n):
        A[0, i] = 1.0
    for a in range(size):
        row = features[support[a]]
        for i in range(n):
            A[a + 1, i] = row[i]
    nll = _newton(A, y, family, size + 1, H, theta, work[2])
    for i in range(n):
        e[i] *= e[i]
    correction = n / (n - 1.0)
    intercept = _whitened(A, H, e, 0, 1)
    trace = correction * _whitened(A, H, e, 1, size + 1)
    if _least(work[2][2], n) < _CERTAIN:  # residuals vanish, and say nothing about the next sample
        trace = max(trace, float(size))
    return 2.0 * nll, trace, correction * intercept


@inner
def _whitened(A, L, weights, start, size):
    """``sum_i weights_i |rows start.. of L^-1 a_i|^2``; overwrites ``A`` row by row up to ``size``.

    Rows before ``start`` must have been whitened by an earlier call.
    """
    n = weights.size
    total = 0.0
    for a in range(start, size):
        for c in range(a):
            share = L[a, c]
            for i in range(n):
                A[a, i] -= share * A[c, i]
        scale = 1.0 / L[a, a]
        for i in range(n):
            A[a, i] *= scale
        total += _weighted_dot(A[a], weights, A[a])
    return total


@inner
def _least(values, size):
    least = np.inf
    for i in range(size):
        least = min(least, values[i])
    return least


@inner
def _newton(A, y, family, size, H, theta, rows):
    """Fit, leave the factor of the Hessian in ``H`` and the residuals in ``rows[1]``; return the loss."""
    n = y.size
    e, w, step, old = rows[1], rows[2], rows[3], rows[4]
    mean = 0.0
    for i in range(n):
        mean += y[i] / n
    for a in range(size):
        theta[a] = 0.0
    theta[0] = _link(mean, family)
    nll = _loss(A, y, family, size, theta, e, w)
    for _ in range(_MAX_ITERATIONS):
        _hessian(A, w, size, H)
        for a in range(size):
            step[a] = _dot(A[a], e)
            old[a] = theta[a]
        solve(H, step, size)
        largest = 0.0
        for a in range(size):
            largest = max(largest, abs(step[a]))
        share = min(1.0, _MAX_STEP / largest) if largest > 0.0 else 1.0
        before = nll
        for _halving in range(20):
            for a in range(size):
                theta[a] = old[a] + share * step[a]
            nll = _loss(A, y, family, size, theta, e, w)
            if nll <= before + 1e-12 * abs(before):
                break
            share *= 0.5
        if abs(before - nll) <= 1e-9 * (abs(nll) + 1e-3):
            break
    _hessian(A, w, size, H)
    return nll


@inner
def _link(mean, family):
    if family == BINARY:
        return np.log(mean / (1.0 - mean))
    return np.log(mean)


@inner
def _loss(A, y, family, size, theta, e, w):
    """Negative log-likelihood (without log y!), with residuals ``y - mu`` in ``e`` and weights in ``w``."""
    n = y.size
    for i in range(n):
        w[i] = 0.0
    for a in range(size):
        weight = theta[a]
        for i in range(n):
            w[i] += weight * A[a, i]
    total = 0.0
    bound = _MAX_ETA if family == BINARY else _MAX_LOG_RATE
    for i in range(n):
        eta = min(max(w[i], -bound), bound)
        if family == BINARY:
            decay = np.exp(-abs(eta))
            total += np.log1p(decay) + max(eta, 0.0) - y[i] * eta
            mu = 1.0 / (1.0 + decay) if eta >= 0.0 else decay / (1.0 + decay)
            w[i] = mu * (1.0 - mu)
        else:
            mu = np.exp(eta)
            total += mu - y[i] * eta
            w[i] = mu
        e[i] = y[i] - mu
    return total


@inner
def _hessian(A, w, size, H):
    """Cholesky factor of ``A diag(w) A'`` with a ridge against separation."""
    n = w.size
    for a in range(size):
        for c in range(a + 1):
            H[a, c] = _weighted_dot(A[a], w, A[c])
        H[a, a] += 1e-8 * n
    factor(H, size)


@_reordered
def _dot(u, v):
    total = 0.0
    for i in range(v.size):
        total += u[i] * v[i]
    return total


@_reordered
def _weighted_dot(u, w, v):
    total = 0.0
    for i in range(v.size):
        total += u[i] * w[i] * v[i]
    return total


@inner
def _workspace(n, max_support):
    """Scratch for the terms of supports up to a size."""
    most = max_support + 1
    return (np.empty((most, n)), np.empty((most, most)), np.empty((5, max(n, most))))


@njit
def gaussian_terms_of_nodes(
    features, responses, family, nodes, mine, counts, sizes, supports, terms
):
    """Fill in ``terms[:, at, v]``, D, T and rest, for the candidates of some Gaussian nodes."""
    work = _workspace(features.shape[1], supports.shape[2])
    for at in mine:
        for v in range(counts[at]):
            terms[0, at, v], terms[1, at, v], terms[2, at, v] = _gaussian_terms(
                features, responses[nodes[at]], supports[at, v], sizes[at, v], work
            )


@njit
def glm_terms_of_nodes(features, responses, family, nodes, mine, counts, sizes, supports, terms):
    """The same for binary nodes or counts."""
    work = _workspace(features.shape[1], supports.shape[2])
    for at in mine:
        for v in range(counts[at]):
            terms[0, at, v], terms[1, at, v], terms[2, at, v] = _glm_terms(
                features, responses[nodes[at]], family, supports[at, v], sizes[at, v], work
            )


@njit
def _gaussian_fit(features, y, support):
    work = _workspace(y.size, support.size)
    terms = _gaussian_terms(features, y, support, support.size, work)
    return terms, work[2][0][: support.size].copy()


@njit
def _glm_fit(features, y, family, support):
    work = _workspace(y.size, support.size)
    terms = _glm_terms(features, y, family, support, support.size, work)
    return terms, work[2][0][: support.size + 1].copy()


def fit_support(
    features: np.ndarray, y: np.ndarray, family: int, support: np.ndarray
) -> tuple[tuple[float, float, float], np.ndarray]:
    """``(D, T, rest)`` and coefficients of one support, the intercept first unless Gaussian."""
    if family == GAUSSIAN:
        return _gaussian_fit(features, y, support)
    return _glm_fit(features, y, family, support)
