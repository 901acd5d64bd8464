"""Cross-validation of one regression at any training size: in closed form, and by brute force."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from skfrontier.algos._validation import (
    RandomState,
    as_numbers,
    check_choice,
    check_count,
    check_finite,
    check_generator,
    check_points,
)
from skfrontier.algos.graphs.structure.elimination import check_support
from skfrontier.algos.graphs.structure.families import BINARY, GAUSSIAN, family_codes, response
from skfrontier.algos.graphs.structure.gram import moments
from skfrontier.algos.graphs.structure.terms import fit_support

_ONE_FAMILY = ("gaussian", "ising", "binary", "poisson")


@dataclass(frozen=True)
class AcvTerms:
    """What cross-validation is a line in: ``2 n ACV = deviance + kappa * trace`` up to constants.

    Attributes
    ----------
    deviance : float
        ``n log(RSS/n)``, or twice the negative log-likelihood (without log y! for counts).
    trace : float
        Sandwich trace of the coefficients, about the number of columns under a correct model.
    rest : float
        Sandwich trace of the intercept, and of the variance of a Gaussian response.
    """

    deviance: float
    trace: float
    rest: float


@dataclass(frozen=True)
class LeaveManyOut:
    """Mean validation loss over random splits and its standard error."""

    mean: float
    stderr: float


def acv_terms(X: Any, y: Any, support: Any, *, family: str = "gaussian") -> AcvTerms:
    """Deviance and sandwich trace of an unpenalised regression on some columns.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_columns)
        At least 3 rows.
    y : array-like of shape (n_samples,)
        Response; 0/1 or -1/1 for 'ising', counts for 'poisson'.
    support : array-like of int
        Columns of ``X`` that enter, beside an intercept; may be empty.
    family : {"gaussian", "ising", "binary", "poisson"}, default="gaussian"
        Of the response.

    Returns
    -------
    AcvTerms

    Raises
    ------
    ValueError, TypeError
        If an argument is not of the stated form.

    Notes
    -----
    Cross-validation at all training sizes ``n_c`` is linear in ``kappa = 1 + n / n_c``, with these
    coefficients. The trace is taken after the intercept has been eliminated, and is never negative.

    Examples
    --------
    >>> from skfrontier.algos import acv_terms
    >>> terms = acv_terms([[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.1, 1.9, 3.2, 3.8], [0])
    >>> round(terms.deviance, 2), round(terms.trace, 2)
    (-20.03, 1.03)
    """
    X, y, support, code = _read(X, y, support, family)
    return _terms(X, y, support, code)


def acv_score(
    X: Any, y: Any, support: Any, n_train: int, *, family: str = "gaussian", order: int = 1
) -> float:
    r"""Approximate validation loss of a regression trained on ``n_train`` random rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_columns)
        At least 3 rows.
    y : array-like of shape (n_samples,)
        Response, see `acv_terms`.
    support : array-like of int
        Columns of ``X`` that enter.
    n_train : int
        Rows of a training set, at most all.
    family : {"gaussian", "ising", "binary", "poisson"}, default="gaussian"
        Of the response.
    order : {1, 2}, default=1
        2 adds what small training sets cost a Gaussian regression; for comparing values, not for selection.

    Returns
    -------
    float
        Mean loss of one held-out row: half of log variance plus squared error over variance, or the negative
        log-likelihood, without terms that depend on the response alone.

    Raises
    ------
    ValueError, TypeError
        If an argument is not of the stated form, or ``order`` is 2 for another family than 'gaussian'.

    Notes
    -----
    Order 1: one Newton step from the full fit to each training set and a second-order expansion of the
    validation loss, averaged over all training sets exactly. For squared loss it is Shao's APCV. For small
    training sets it falls short, of order s / n_train of the excess over the training loss (observed).
    Order 2 assumes a Gaussian design and a correct model, and is infinite unless ``n_train > s + 3``.

    References
    ----------
    J. Shao, "Linear model selection by cross-validation", JASA, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import acv_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 3))
    >>> y = X[:, 0] + rng.standard_normal(200)
    >>> acv_score(X, y, [0], 50) < acv_score(X, y, [0, 1, 2], 50) < acv_score(X, y, [], 50)
    True
    """
    X, y, support, code = _read(X, y, support, family)
    n = len(y)
    rows = check_count(n_train, "n_train", 1, n)
    if check_count(order, "order", 1, 2) == 2 and code != GAUSSIAN:
        raise ValueError("order must be 1 for families other than 'gaussian'.")
    terms = _terms(X, y, support, code)
    training = terms.deviance / (2 * n) + (0.5 if code == GAUSSIAN else 0.0)
    if order == 2:
        return training + _second_order_excess(n, rows, support.size)
    return training + (1 + n / rows) * (terms.trace + terms.rest) / (2 * n)


def _second_order_excess(n: int, rows: int, size: int) -> float:
    """Expected excess over the training loss under a Gaussian design and a correct model."""
    k = size + 1
    if rows <= size + 3:
        return np.inf
    log_variance = 0.5 * (special.digamma((rows - k) / 2) + np.log(2 / rows))
    log_variance_of_all = 0.5 * (special.digamma((n - k) / 2) + np.log(2 / n))
    squared = (rows + 1) * (rows - 2) / (2 * (rows - k - 2) * (rows - size - 2))
    return float(log_variance + squared - 0.5 - log_variance_of_all)


def leave_many_out_score(
    X: Any,
    y: Any,
    support: Any,
    n_train: int,
    *,
    n_splits: int = 100,
    family: str = "gaussian",
    random_state: RandomState = None,
) -> LeaveManyOut:
    """The same by brute force: refit on random rows, validate on the others.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_columns)
        At least 3 rows.
    y : array-like of shape (n_samples,)
        Response, see `acv_terms`.
    support : array-like of int
        Columns of ``X`` that enter.
    n_train : int
        Rows of a training set, at least one more than fitted coefficients and fewer than all.
    n_splits : int, default=100
        Random splits.
    family : {"gaussian", "ising", "binary", "poisson"}, default="gaussian"
        Of the response.
    random_state : int, Generator, RandomState or None, default=None
        Of the splits.

    Returns
    -------
    LeaveManyOut
        Its standard error counts splits, not the data.

    Raises
    ------
    ValueError, TypeError
        If an argument is not of the stated form.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import acv_score, leave_many_out_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 3))
    >>> y = X[:, 0] + rng.standard_normal(400)
    >>> brute = leave_many_out_score(X, y, [0], 100, random_state=0)
    >>> abs(brute.mean - acv_score(X, y, [0], 100)) < 0.01
    True
    """
    X, y, support, code = _read(X, y, support, family)
    rows = check_count(n_train, "n_train", support.size + 2, len(y) - 1)
    splits = check_count(n_splits, "n_splits", 2)
    rng = check_generator(random_state)
    losses = np.empty(splits)
    for split in range(splits):
        order = rng.permutation(len(y))
        losses[split] = _held_out_loss(X[:, support], y, order[:rows], order[rows:], code)
    return LeaveManyOut(float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(splits)))


def _held_out_loss(
    X: np.ndarray, y: np.ndarray, training: np.ndarray, validation: np.ndarray, code: int
) -> float:
    center = X[training].mean(axis=0)
    A, target = np.ascontiguousarray((X[training] - center).T), y[training]
    everything = np.arange(X.shape[1])
    held_out, truth = X[validation] - center, y[validation]
    if code == GAUSSIAN:
        mean = target.mean()
        unit = target.std() or 1.0
        (deviance, _, _), b = fit_support(A, (target - mean) / unit, code, everything)
        variance = np.exp(deviance / len(training))
        squares = ((truth - mean) / unit - held_out @ b) ** 2
        return float(np.log(unit) + 0.5 * np.log(variance) + 0.5 * squares.mean() / variance)
    if target.min() == target.max():
        return np.inf  # one class, or no counts: no fit exists
    _, theta = fit_support(A, target, code, everything)
    eta = theta[0] + held_out @ theta[1:]
    loss = np.logaddexp(0.0, eta) if code == BINARY else np.exp(eta)
    return float(np.mean(loss - truth * eta))


def _terms(X: np.ndarray, y: np.ndarray, support: np.ndarray, code: int) -> AcvTerms:
    features = np.zeros((support.size, len(y)))
    for row, column in zip(features, support, strict=True):
        mean, spread = moments(X[:, column], f"column {column} of X")
        if spread > 0:
            row[:] = (X[:, column] - mean) / spread
    # without a unit small residuals would pass for rounding
    mean, unit = moments(y, "y") if code == GAUSSIAN else (0.0, 1.0)
    fit, _ = fit_support(features, (y - mean) / (unit or 1.0), code, np.arange(support.size))
    deviance, trace, rest = map(float, fit)
    return AcvTerms(deviance + 2 * len(y) * float(np.log(unit or 1.0)), trace, rest)


def _read(
    X: Any, y: Any, support: Any, family: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    check_choice(family, "family", _ONE_FAMILY)
    X = check_points(X, "X", min_points=3).astype(np.float64, copy=False)
    y = as_numbers(y, "y")
    if y.shape != (len(X),) or y.dtype.kind not in "fiub":
        raise ValueError(f"y must hold {len(X)} numbers, one a row of X; got shape {y.shape}.")
    check_finite(y, "y")
    code = int(family_codes(family, 1)[0])
    y = y.astype(np.float64)
    if code != GAUSSIAN:
        y = response(y, code, "y")
    if y.min() == y.max():
        raise ValueError("y must not be constant.")
    support = check_support(support, X.shape[1])
    if support.size > len(X) - 2:
        raise ValueError(f"support must have at most {len(X) - 2} columns for {len(X)} rows.")
    return X, y, support, code
