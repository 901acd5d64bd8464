"""Softmax regression with a second-order solver, for few rows, many features and many classes."""

import warnings
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from skfrontier.algos import fit_softmax
from skfrontier.algos._validation import check_count, check_flag, check_interval


class FastGaussNewtonClassifier(LinearClassifierMixin, ClassifierMixin, BaseEstimator):
    """Multinomial logistic regression, fitted by Newton's method in the space of the rows.

    The model, its penalty and its optimum are those of `sklearn.linear_model.LogisticRegression`; the
    solver is for few rows, many features and many classes.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty: the objective is ``C sum_i s_i loss_i + ||coef||^2 / 2``.
    solver : {'auto', 'newton', 'fgn', 'lbfgs'}, default='auto'
        - 'newton': truncated Newton, preconditioned by Fast Gauss-Newton;
        - 'fgn': damped Fast Gauss-Newton steps, the published method;
        - 'lbfgs': L-BFGS, for more rows than features;
        - 'auto': 'newton' or 'lbfgs' by the cost that is expected of them.
    fit_intercept : bool, default=True
        Whether logits have intercepts, which are not penalised.
    damping : float or 'auto', default='auto'
        Added to the penalty in the damped curvature. 'auto': for 'newton' a share of the curvature
        that Fast Gauss-Newton leaves out, class by class; for 'fgn' a start of 1e-3, adapted by
        Levenberg-Marquardt.
    max_iter : int, default=100
        Most outer steps.
    tol : float, default=1e-4
        Stop when no entry of the gradient of the *mean* objective (that of above over ``C sum_i s_i``)
        is larger.
    cg_max_iter : int, default=200
        Most steps of conjugate gradients in an outer step.
    gram_limit : int, default=4000
        Most rows for which a matrix of n_samples² numbers is formed.
    class_weight : dict, 'balanced' or None, default=None
        Weights of the classes.
    warm_start : bool, default=False
        Start from the last fit where its shape fits.
    verbose : int, default=0
        Positive: a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        Intercepts; with three classes or more they sum to zero.
    n_iter_ : int
        Outer steps.
    n_cg_iter_ : int
        Steps of conjugate gradients in all.
    objective_ : float
        Mean objective: weighted mean loss plus ``||coef||^2 / (2 C sum_i s_i)``.
    gradient_norm_ : float
        Largest absolute entry of its gradient: how far the fit is from the optimum.
    curvature_gap_ : float
        Weighted mean of ``u_i (1 - ||q_i||^2)``, with u_i the probability of all wrong classes and q_i
        its distribution among them: trace of the curvature that Fast Gauss-Newton leaves out. Zero for
        two classes.
    solver_ : str
        The solver that ran.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where ``X`` has them.

    Raises
    ------
    ValueError
        In ``fit``: one class only, a parameter that is not accepted, or solver='newton' with more than
        ``gram_limit`` rows.

    Warns
    -----
    ConvergenceWarning
        If the gradient is larger than ``tol`` after ``max_iter`` steps.

    See Also
    --------
    skfrontier.algos.fit_softmax : The same on plain arrays, with costs and guarantees.

    Notes
    -----
    With many more rows than features L-BFGS is faster, and 'auto' takes it. float32 input is computed
    in float32, and the gradient then stops near 1e-6. Sparse input stays sparse.

    References
    ----------
    Korbit and Zanon, *Fast Gauss-Newton for Multiclass Cross-Entropy*, arXiv:2605.06081.

    Examples
    --------
    >>> from skfrontier.datasets import make_many_classes
    >>> from skfrontier.estimators import FastGaussNewtonClassifier
    >>> X, y = make_many_classes(300, 200, 50, sep=0.5, random_state=0)
    >>> model = FastGaussNewtonClassifier(tol=1e-6).fit(X, y)
    >>> model.solver_, model.score(X, y)
    ('newton', 1.0)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        solver: str = "auto",
        fit_intercept: bool = True,
        damping: float | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        cg_max_iter: int = 200,
        gram_limit: int = 4000,
        class_weight: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.damping = damping
        self.max_iter = max_iter
        self.tol = tol
        self.cg_max_iter = cg_max_iter
        self.gram_limit = gram_limit
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "FastGaussNewtonClassifier":
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels of two classes or more.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows. A class all of whose rows weigh nothing is kept.

        Returns
        -------
        self : FastGaussNewtonClassifier
            Fitted.
        """
        C = check_interval(self.C, "C", 0.0, np.inf, closed="neither")
        check_flag(self.warm_start, "warm_start")
        check_count(self.verbose, "verbose", 0)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains "
                f"only one class: {classes[0]!r}"
            )
        weight = self._weights(sample_weight, X, y, classes, labels)
        start = self._start(classes, X.shape[1])
        fit = fit_softmax(
            X,
            labels,
            l2=1.0 / (C * weight.sum()),
            solver=self.solver,
            fit_intercept=self.fit_intercept,
            damping=self.damping,
            max_iter=self.max_iter,
            tol=self.tol,
            cg_max_iter=self.cg_max_iter,
            gram_limit=self.gram_limit,
            sample_weight=weight,
            n_classes=len(classes),
            coef=start[0],
            intercept=start[1],
            verbose=self.verbose,
        )
        if not fit.converged:
            warnings.warn(
                f"{fit.solver} stopped after {fit.n_iter} steps with a gradient of {fit.gradient_norm:.1e}, "
                f"more than tol={self.tol:g}: raise max_iter or tol, scale the features, or lower C.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.classes_ = classes
        self.coef_ = fit.coef.astype(X.dtype, copy=False)
        self.intercept_ = fit.intercept.astype(X.dtype, copy=False)
        self.n_iter_ = fit.n_iter
        self.n_cg_iter_ = fit.n_cg
        self.objective_ = fit.objective
        self.gradient_norm_ = fit.gradient_norm
        self.curvature_gap_ = fit.curvature_gap
        self.solver_ = fit.solver
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        logits = self.decision_function(X)
        if logits.ndim == 1:
            return np.column_stack([expit(-logits), expit(logits)])
        return softmax(logits, axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities, exact also where these underflow.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        logits = self.decision_function(X)
        if logits.ndim == 1:
            return np.column_stack([log_expit(-logits), log_expit(logits)])
        return log_softmax(logits, axis=1)

    def _weights(
        self, sample_weight: Any, X: Any, y: np.ndarray, classes: np.ndarray, labels: np.ndarray
    ) -> np.ndarray:
        weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, copy=True, ensure_non_negative=True
        )
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            mass = np.bincount(labels, weights=weight, minlength=len(classes))
            share = weight.sum() / (len(classes) * np.where(mass > 0, mass, 1.0))
            weight *= share[labels]
        elif self.class_weight is not None:
            weight *= compute_class_weight(self.class_weight, classes=classes, y=y)[labels]
        if not weight.sum() > 0:
            raise ValueError("sample_weight, times class_weight, must not be zero for all samples.")
        return weight

    def _start(
        self, classes: np.ndarray, n_features: int
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        n_logits = 1 if len(classes) == 2 else len(classes)
        fits = (
            self.warm_start
            and hasattr(self, "coef_")
            and self.coef_.shape == (n_logits, n_features)
            and np.array_equal(self.classes_, classes)
        )
        return (self.coef_, self.intercept_) if fits else (None, None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
