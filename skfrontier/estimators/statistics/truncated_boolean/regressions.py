"""Logits that depend on covariates, or on the other bits, from rows recorded only inside a set."""

import warnings
from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from skfrontier.algos._validation import check_count, check_flag, check_interval, check_n_jobs
from skfrontier.algos.statistics.truncated_boolean.logistic import LogisticFit, logistic_regression
from skfrontier.algos.statistics.truncated_boolean.rows import binary_rows, dense
from skfrontier.algos.statistics.truncated_boolean.sets import (
    EmpiricalSupport,
    TruncationSet,
    as_truncation,
)
from skfrontier.estimators.statistics.truncated_boolean.identification import NotIdentifiedWarning
from skfrontier.estimators.statistics.truncated_boolean.input import (
    read_rows,
    read_weights,
    refuse_outside,
    unchanged_on_error,
)


class TruncatedLogisticRegression(BaseEstimator):
    """Logistic regression of several bits, recorded only where together they lie in a set.

    Parameters
    ----------
    truncation : TruncationSet, None, str, callable or array-like, default=None
        The set of the bits, see `skfrontier.algos.as_truncation`.
    l2 : float, default=0.0
        Ridge penalty on the coefficients, not on intercepts.
    fit_intercept : bool, default=True
        Whether each bit has an intercept.
    max_iter : int, default=100
        Most Newton steps for a bit.
    tol : float, default=1e-8
        Step (in standard deviations of the columns), or gradient per unit of weight, at which they stop.
    n_jobs : int or None, default=None
        Number of joblib threads over bits.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Coefficients of the logits before truncation.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    coef_stderr_, intercept_stderr_ : ndarray
        Their standard errors; infinite where the data cannot tell a coefficient (collinear covariates, or no
        row in which the bit can be flipped).
    influence_ : ndarray of shape (n_outputs,)
        Share of the rows in which the bit can be flipped.
    truncation_ : TruncationSet
        The set.
    n_features_in_ : int
        Number of covariates.

    See Also
    --------
    TruncatedBooleanProduct : Without covariates.

    Notes
    -----
    Given the covariates, the other bits, and that bit i can be flipped inside the set, the bit is a coin with
    the logit ``intercept + coef . x``: proven for every set. So each bit is a logistic regression on the rows
    in which it can be flipped. Standard errors are those of that regression (asymptotic). Covariates are
    standardised while fitting; coefficients and penalties are in their own units.

    References
    ----------
    .. [1] Besag, "Statistical analysis of non-lattice data", The Statistician 1975.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.estimators import TruncatedLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((20_000, 1))
    >>> Y = rng.random((20_000, 2)) < 1 / (1 + np.exp(-X * [1.0, -1.0]))
    >>> seen = Y.any(axis=1)
    >>> model = TruncatedLogisticRegression("nonempty").fit(X[seen], Y[seen])
    >>> bool(np.abs(model.coef_ - [[1.0], [-1.0]]).max() < 0.15)
    True
    """

    def __init__(
        self, truncation=None, *, l2=0.0, fit_intercept=True, max_iter=100, tol=1e-8, n_jobs=None
    ):
        self.truncation = truncation
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None):
        """Fit one regression for each bit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Covariates.
        y : array-like of shape (n_samples, n_outputs) or (n_samples,)
            Bits, zeros and ones, every row in the set.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row was seen.

        Returns
        -------
        self : TruncatedLogisticRegression

        Raises
        ------
        ValueError
            If a row of y is outside the set or not of zeros and ones.
        """
        with unchanged_on_error(self):
            intercept = check_flag(self.fit_intercept, "fit_intercept")
            settings = _settings(self)
            X = validate_data(self, X, dtype=np.float64)
            bits = _read_bits(y, X.shape[0])
            weights = read_weights(sample_weight, X)
            truncation = _known_set(self.truncation, bits)
            flags = truncation.flips(bits)
            A = np.column_stack([np.ones(len(X)), X]) if intercept else X
            n_outputs = bits.shape[1]
            coef, stderr = _fit_each(
                [A] * n_outputs,
                bits,
                flags,
                weights,
                [0 if intercept else None] * n_outputs,
                settings,
                self.n_jobs,
            )
            first = int(intercept)
            self.coef_, self.coef_stderr_ = coef[:, first:], stderr[:, first:]
            self.intercept_ = coef[:, 0] if intercept else np.zeros(len(coef))
            self.intercept_stderr_ = stderr[:, 0] if intercept else np.zeros(len(coef))
            self.influence_ = np.average(flags, axis=0, weights=weights)
            self.truncation_ = truncation
        return self

    def predict_proba(self, X):
        """Probabilities of ones before truncation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Covariates.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return expit(X @ self.coef_.T + self.intercept_)

    def __sklearn_tags__(self):
        """Several targets, each of zeros and ones."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


class TruncatedIsing(BaseEstimator):
    """Bits that interact in pairs, from rows recorded only inside a set.

    The density of a row is proportional to ``exp(fields.x + sum_{i<j} interactions_ij x_i x_j)`` on the set.

    Parameters
    ----------
    truncation : TruncationSet, None, str, callable or array-like, default=None
        The set, see `skfrontier.algos.as_truncation`.
    l1, l2 : float, default=0.0
        Penalties on the interactions in each bit's regression; l1 makes most of them zero.
    binarize : float or None, default=None
        Numbers above it become ones. None: X must hold zeros and ones.
    max_iter : int, default=100
        Most Newton steps for a bit.
    tol : float, default=1e-8
        Step (in standard deviations of the columns), or gradient per unit of weight, at which they stop.
    n_jobs : int or None, default=None
        Number of joblib threads over bits.

    Attributes
    ----------
    fields_ : ndarray of shape (n_features,)
        Logits of the bits while all others are 0.
    interactions_ : ndarray of shape (n_features, n_features)
        Symmetric, zero diagonal.
    fields_stderr_ : ndarray of shape (n_features,)
        Standard errors.
    interactions_stderr_ : ndarray of shape (n_features, n_features)
        Upper bounds of the standard errors: those of the two regressions, averaged. Infinite where neither
        can tell the interaction.
    influence_ : ndarray of shape (n_features,)
        Share of the rows in which the bit can be flipped.
    truncation_ : TruncationSet
        The set.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    TruncatedBooleanProduct : Without interactions.

    Notes
    -----
    Pseudo-likelihood on flippable rows: given the other bits, and that bit i can be flipped, its logit is
    ``fields_i + sum_j interactions_ij x_j`` for every set (proven). The two regressions that see an
    interaction are averaged, unless only one can tell it; the standard deviation of an average is at most
    the average of the two.

    References
    ----------
    .. [1] Besag, "Statistical analysis of non-lattice data", The Statistician 1975.
    .. [2] Galanis, Goldberg, Zhang, ICALP 2025, arXiv:2502.07135 (truncation by formulas).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.estimators import TruncatedIsing
    >>> rng = np.random.default_rng(0)
    >>> X = (rng.random((5000, 4)) < 0.4).astype(int)
    >>> X = X[X.any(axis=1)]
    >>> model = TruncatedIsing("nonempty").fit(X)
    >>> bool(np.abs(model.interactions_).max() < 0.4)
    True
    """

    def __init__(
        self,
        truncation=None,
        *,
        l1=0.0,
        l2=0.0,
        binarize=None,
        max_iter=100,
        tol=1e-8,
        n_jobs=None,
    ):
        self.truncation = truncation
        self.l1 = l1
        self.l2 = l2
        self.binarize = binarize
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def fit(self, X, y=None, sample_weight=None):
        """Fit one regression for each bit and average what two of them see.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of the set: zeros and ones, unless ``binarize`` is a number.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row was seen.

        Returns
        -------
        self : TruncatedIsing

        Raises
        ------
        ValueError
            If a row is outside the set or not of zeros and ones.
        """
        with unchanged_on_error(self):
            settings = _settings(self)
            settings["l1"] = check_interval(self.l1, "l1", 0.0, np.inf, closed="left")
            rows = dense(read_rows(self, X, self.binarize, reset=True))
            weights = read_weights(sample_weight, rows)
            truncation = _known_set(self.truncation, rows)
            flags = truncation.flips(rows)
            n = rows.shape[1]
            others = rows.astype(np.float64)
            designs = (_with_intercept_at(others, i) for i in range(n))
            coef, stderr = _fit_each(
                designs, rows, flags, weights, list(range(n)), settings, self.n_jobs
            )
            self.fields_, self.fields_stderr_ = np.diag(coef).copy(), np.diag(stderr).copy()
            self.interactions_, self.interactions_stderr_ = _united(coef, stderr)
            self.influence_ = np.average(flags, axis=0, weights=weights)
            self.truncation_ = truncation
        return self

    def __sklearn_tags__(self):
        """Sparse rows are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _settings(estimator: Any) -> dict[str, Any]:
    check_n_jobs(estimator.n_jobs)
    return {
        "l2": check_interval(estimator.l2, "l2", 0.0, np.inf, closed="left"),
        "max_iter": check_count(estimator.max_iter, "max_iter"),
        "tol": check_interval(estimator.tol, "tol", 0.0, np.inf, closed="neither"),
    }


def _read_bits(y: Any, n_samples: int) -> np.ndarray:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: y holds the bits.")
    table = check_array(y, ensure_2d=False, input_name="y")
    bits = dense(binary_rows(table[:, None] if table.ndim == 1 else table, "y"))
    if len(bits) != n_samples:
        raise ValueError(f"y must have as many rows as X, got {len(bits)} and {n_samples}.")
    return bits


def _known_set(truncation: Any, rows: np.ndarray) -> TruncationSet:
    found = as_truncation(truncation, rows.shape[1])
    if isinstance(found, EmpiricalSupport):
        raise ValueError("truncation must be a known set here; an unknown one ('support') is not.")
    refuse_outside(found, rows)
    return found


def _fit_each(
    designs: Any,
    bits: np.ndarray,
    flags: np.ndarray,
    weights: np.ndarray | None,
    intercepts: Sequence[int | None],
    settings: dict[str, Any],
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and standard errors, one regression a row, each on the rows in which its bit can flip."""

    def fit(A: np.ndarray, i: int) -> LogisticFit:
        rows = flags[:, i]
        w = np.ones(int(rows.sum())) if weights is None else weights[rows]
        y = bits[rows, i].astype(float)
        return logistic_regression(A[rows], y, w, intercept=intercepts[i], **settings)

    fits = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
        joblib.delayed(fit)(A, i) for i, A in enumerate(designs)
    )
    stderr = np.array([found.stderr for found in fits])
    _warn_of_regressions(stderr, np.array([found.converged for found in fits]))
    return np.array([found.coef for found in fits]), stderr


def _warn_of_regressions(stderr: np.ndarray, converged: np.ndarray) -> None:
    failed = np.flatnonzero(~converged)
    if len(failed):
        warnings.warn(
            f"the regressions of {len(failed)} bits did not converge (first: {failed[0]}): a bit may take "
            "one value only where it can be flipped, or be separable by the others or the covariates (a "
            "positive l2 keeps those coefficients finite), or max_iter is too small.",
            ConvergenceWarning,
            stacklevel=4,
        )
    unknown = np.flatnonzero(np.isinf(stderr).any(axis=1))
    if len(unknown):
        warnings.warn(
            f"the regressions of {len(unknown)} bits leave coefficients unidentified (first: bit "
            f"{unknown[0]}): columns are collinear or constant in the rows in which the bit can be flipped, "
            "or there is no such row. Their standard errors are infinite; a positive l2 makes a choice.",
            NotIdentifiedWarning,
            stacklevel=4,
        )


def _with_intercept_at(rows: np.ndarray, i: int) -> np.ndarray:
    design = rows.copy()
    design[:, i] = 1.0
    return design


def _united(coef: np.ndarray, stderr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Interactions and bounds of their errors from the two regressions that see each: from both on average,
    or from the only one that can tell it."""
    known = np.isfinite(stderr)
    use = (known | ~known.T).astype(float)  # both where neither can tell
    count = use + use.T
    errors = np.where(known, stderr, 0.0) * use
    interactions = (coef * use + (coef * use).T) / count
    bounds = np.where(known | known.T, (errors + errors.T) / count, np.inf)
    np.fill_diagonal(interactions, 0.0)
    np.fill_diagonal(bounds, 0.0)
    return interactions, bounds
