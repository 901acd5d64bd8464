"""Bandits made of learning problems: choosing a model, choosing a class."""

import math
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count, check_interval
from skfrontier.datasets.decisions.bandits.sequences import with_meta


def make_model_selection_bandit(
    X: Any,
    y: Any,
    estimators: Any,
    *,
    n_windows: int = 60,
    rounds_per_window: int = 500,
    noise: float = 0.9,
    random_state: Any = None,
    return_meta: bool = False,
) -> Any:
    """Validation error of model configurations on data whose noise comes and goes.

    For window v, Gaussian noise of scale noise (0.5 - 0.5 cos(2 pi v / 20)) is added to ``X``
    scaled to [0, 1]; every configuration is trained on 30, 60 or 300 random rows of it and its
    error on rows 500..900 of the permutation (the last 40 % of smaller data) is its loss for all
    rounds of the window. So the losses are exact and change only where a window ends.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        Classes.
    estimators : sequence of classifiers
        One arm each; fresh copies are trained.
    n_windows : int, default=60
        Number of windows.
    rounds_per_window : int, default=500
        Rounds of a window.
    noise : float, default=0.9
        Largest scale of the noise.
    random_state : int, numpy Generator or None, default=None
        Seed.
    return_meta : bool, default=False
        Also return a dict with ``change_points`` and ``n_segments``.

    Returns
    -------
    losses : ndarray of shape (n_windows * rounds_per_window, n_estimators)
    meta : dict
        Only if ``return_meta``.

    Raises
    ------
    ValueError
        If the data are not matrices of equal length, too few, or no estimator is given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skfrontier.datasets import make_model_selection_bandit
    >>> X, y = load_iris(return_X_y=True)
    >>> models = [GaussianNB(), KNeighborsClassifier()]
    >>> make_model_selection_bandit(X, y, models, n_windows=4, random_state=0).shape
    (2000, 2)
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    estimators = list(estimators)
    if X.ndim != 2 or y.shape != (len(X),) or len(X) < 5:
        raise ValueError(f"X and y must be (n, d) and (n,) with n >= 5, got {X.shape}, {y.shape}.")
    if not estimators:
        raise ValueError("estimators must hold at least one classifier, got none.")
    n_windows = check_count(n_windows, "n_windows")
    rounds_per_window = check_count(rounds_per_window, "rounds_per_window")
    noise = check_interval(noise, "noise", 0.0, np.inf, closed="left")
    rng = np.random.default_rng(random_state)
    n = len(X)
    test = slice(500, 900) if n >= 900 else slice(n - (2 * n) // 5, n)
    span = np.ptp(X, axis=0)
    X = (X - X.min(axis=0)) / np.where(span > 0.0, span, 1.0)
    errors = np.empty((n_windows, len(estimators)))
    for v in range(n_windows):
        scale = noise * (0.5 - 0.5 * math.cos(2.0 * math.pi * v / 20.0))
        noisy = X + scale * rng.standard_normal(X.shape)
        n_train = min(int(rng.choice((30, 60, 300))), test.start)
        order = rng.permutation(n)
        train, held_out = order[:n_train], order[test]
        for k, estimator in enumerate(estimators):
            model = type(estimator)(**estimator.get_params())
            model.fit(noisy[train], y[train])
            errors[v, k] = np.mean(model.predict(noisy[held_out]) != y[held_out])
    return with_meta(np.repeat(errors, rounds_per_window, axis=0), return_meta)


def make_classification_bandit(X: Any, y: Any) -> np.ndarray:
    """Classification of a stream as a bandit: one arm per class, loss 1 for every wrong class.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features; only their number of rows is used, as a check.
    y : array-like of shape (n_samples,)
        Classes in the order of the stream.

    Returns
    -------
    losses : ndarray of shape (n_samples, n_classes)
        Columns follow the sorted classes.

    Raises
    ------
    ValueError
        If ``X`` and ``y`` differ in length.

    Examples
    --------
    >>> from skfrontier.datasets import make_classification_bandit
    >>> make_classification_bandit([[0.0], [1.0]], ["a", "b"])
    array([[0., 1.],
           [1., 0.]])
    """
    y = np.asarray(y)
    if y.ndim != 1 or len(X) != len(y):
        raise ValueError(f"X and y must have equally many rows, got {len(X)} and {y.shape}.")
    classes, labels = np.unique(y, return_inverse=True)
    losses = np.ones((len(y), len(classes)))
    losses[np.arange(len(y)), labels] = 0.0
    return losses
