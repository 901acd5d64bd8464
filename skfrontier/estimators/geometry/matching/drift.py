"""The estimator: Wasserstein distance of a sliding window to a reference, with tests of drift."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_generator,
    check_interval,
    check_n_jobs,
)
from skfrontier.algos.geometry.matching.certificate import transform
from skfrontier.algos.geometry.matching.costs import vector_cost
from skfrontier.algos.geometry.matching.drift_tests import ConformalBets, block_cost, split_test
from skfrontier.estimators.geometry.matching.dynamic_matching import DynamicMatching

_CALIBRATION_BLOCKS = 20
_CHANGEABLE = {"n_jobs"}


class WassersteinDriftMonitor(BaseEstimator):
    """Distance of the latest rows of a stream to a reference, and alarms with a stated false-alarm rate.

    Rows must be exchangeable where there is no drift. Rows that depend on their neighbours in time raise
    false alarms: take every k-th row, longer windows, or, for the permutation test, keep runs of rows
    together with ``run_length``.

    Parameters
    ----------
    window : int, default=500
        Rows of the sliding window and of the blocks that are tested.
    reference_slack : float, default=0.0
        The reference has ``window * (1 + reference_slack)`` rows. With slack the distance is a trimmed one,
        and an update much cheaper.
    p : float, default=1.0
        Power of the distance.
    metric : str, default='euclidean'
        'euclidean', 'manhattan', 'chebyshev', 'minkowski' (the norm 2) or 'sqeuclidean'.
    method : {'auto', 'exact', 'anytime', 'metric', 'geometric'}, default='auto'
        How the sliding distance is kept; see `DynamicMatching`. Tests always solve exactly.
    max_scans : int, default=64
        For 'anytime'.
    alpha : float, default=0.01
        False-alarm rate: per block with 'permutation', over the whole stream with 'conformal'.
    calibration : {'permutation', 'conformal'}, default='permutation'
        'permutation' compares the block with random splits of reference and block. 'conformal' compares its
        distance with those of blocks that were set aside, and bets; it needs 20 windows of rows beside the
        reference, and says something about all blocks together.
    n_permutations : int, default=199
        Splits of 'permutation'.
    run_length : int, default=1
        Consecutive rows that the splits keep together; it must divide the sizes of window and reference.
    random_state : int, Generator, RandomState or None, default=None
        Of the reference, the splits and the ties.
    n_jobs : int or None, default=None
        Threads for the splits.

    Attributes
    ----------
    distance_ : float
        Of the present window to the reference, to the power 1 / p; NaN until the first window is full.
    lower_bound_ : float
        Certified bound of that distance.
    history_ : list of (int, float)
        Rows seen and distance, after every row since then.
    p_value_, p_values_ : float and list of float
        Of the last block and of all blocks.
    e_value_ : float or None
        Evidence against the absence of drift, for 'conformal'.
    drift_detected_ : bool
        Whether the last block raised an alarm ('permutation'), or any has ('conformal').
    threshold_ : float or None
        Distance from which the block would have been unusual; None where that is not known.
    n_seen_ : int
        Rows seen since `fit`.
    reference_ : array of shape (n_reference, n_features)
        The reference.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Tests happen at the end of disjoint blocks only. 'permutation': for exchangeable rows the probability of
    an alarm in a block is at most alpha, at any sample size (proven); blocks share the reference, so nothing
    follows for the stream. 'conformal': the probability of an alarm at any time is at most alpha (proven:
    Ville's inequality). The sliding distance overlaps with itself and is for display.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.estimators import WassersteinDriftMonitor
    >>> rng = np.random.default_rng(0)
    >>> monitor = WassersteinDriftMonitor(window=50, alpha=0.05, random_state=0)
    >>> monitor = monitor.fit(rng.normal(size=(200, 2)))
    >>> monitor.partial_fit(rng.normal(size=(50, 2)) + 1).drift_detected_
    True
    """

    def __init__(
        self,
        *,
        window=500,
        reference_slack=0.0,
        p=1.0,
        metric="euclidean",
        method="auto",
        max_scans=64,
        alpha=0.01,
        calibration="permutation",
        n_permutations=199,
        run_length=1,
        random_state=None,
        n_jobs=None,
    ):
        self.window = window
        self.reference_slack = reference_slack
        self.p = p
        self.metric = metric
        self.method = method
        self.max_scans = max_scans
        self.alpha = alpha
        self.calibration = calibration
        self.n_permutations = n_permutations
        self.run_length = run_length
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None) -> Self:
        """Take the reference, and calibrate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows without drift, in order of time.
        y : None
            Ignored.

        Returns
        -------
        self : WassersteinDriftMonitor

        Raises
        ------
        ValueError
            If there are too few rows, or a parameter is out of range.
        """
        window, n_reference = self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=1)
        needed = n_reference
        if self.calibration == "conformal":
            needed += _CALIBRATION_BLOCKS * window
        if len(X) < needed:
            raise ValueError(
                f"n_samples={len(X)} is too few: window={self.window} with calibration="
                f"{self.calibration!r} needs at least {needed} rows."
            )
        rng = check_generator(self.random_state)
        chosen = self._reference_rows(len(X), n_reference, rng)
        cost = vector_cost(self.metric, self.p)
        self.reference_ = X[chosen]
        self._rng, self._cost = rng, cost
        self._matching = DynamicMatching(
            p=self.p,
            metric=self.metric,
            method=self.method,
            max_scans=self.max_scans,
            certify="cheap",
            random_state=int(rng.integers(2**31)),
        )
        self._matching.insert("b", self.reference_)
        self._block: list[np.ndarray] = []
        self.n_seen_ = 0
        self.history_: list[tuple[int, float]] = []
        self.distance_ = self.lower_bound_ = self.p_value_ = np.nan
        self.p_values_: list[float] = []
        self.e_value_: float | None = None
        self.threshold_: float | None = None
        self.drift_detected_ = False
        self._bets: ConformalBets | None = None
        if self.calibration == "conformal":
            rest = np.delete(X, chosen, axis=0)
            self._bets = ConformalBets(self._calibrated(rest, window))
            self.e_value_ = 1.0
        self._frozen = {k: v for k, v in self.get_params().items() if k not in _CHANGEABLE}
        return self

    def partial_fit(self, X, y=None) -> Self:
        """Push rows through the window, and test at the end of each block.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            New rows, the oldest first. Without a `fit` before they are the reference.
        y : None
            Ignored.

        Returns
        -------
        self : WassersteinDriftMonitor
        """
        if not hasattr(self, "_matching"):
            return self.fit(X)
        self._check_frozen()
        X = validate_data(self, X, dtype=np.float64, reset=False)
        for row in X:
            self._push(row)
        return self

    def score_samples(self, X) -> np.ndarray:
        """Minus the distance of each row to the nearest reference row: high is normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; the state does not change.

        Returns
        -------
        float64 array of shape (n_samples,)
        """
        check_is_fitted(self, "reference_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        P, Q = (np.ascontiguousarray(Z.T) for Z in (X, self.reference_))
        nothing = np.zeros(len(self.reference_))
        return -transform(self._cost.distance, P, Q, nothing, n_jobs=self.n_jobs)[0]

    def _push(self, row: np.ndarray) -> None:
        window = int(self.window)
        self.n_seen_ += 1
        oldest = self._matching.ids("a")[:1] if self.n_seen_ > window else None
        if self.n_seen_ < window:
            self._matching.insert("a", row[None])
        else:
            self._matching.update(delete_a=oldest, insert_a=row[None])
            smaller = min(window, len(self.reference_))
            root = 1 / self._matching.p
            self.distance_ = (self._matching.cost_ / smaller) ** root
            self.lower_bound_ = (self._matching.lower_bound_ / smaller) ** root
            self.history_.append((self.n_seen_, self.distance_))
        self._block.append(row)
        if len(self._block) == window:
            block, self._block = np.array(self._block), []
            self._test(block)

    def _test(self, block: np.ndarray) -> None:
        if self._bets is None:
            outcome = split_test(
                self._cost,
                self.reference_,
                block,
                n_permutations=int(self.n_permutations),
                alpha=self.alpha,
                run_length=int(self.run_length),
                rng=self._rng,
                n_jobs=self.n_jobs,
            )
            self.p_value_, self.threshold_ = outcome.p_value, outcome.threshold
            self.drift_detected_ = bool(outcome.p_value <= self.alpha)
        else:
            self.threshold_ = self._as_distance(np.quantile(self._bets.pool, 1 - self.alpha))
            distance = block_cost(self._cost, self.reference_, block)
            self.p_value_ = self._bets.p_value(distance, self._rng)
            self.e_value_ = self._bets.e_value
            self.drift_detected_ = bool(self.drift_detected_ or self.e_value_ >= 1 / self.alpha)
        self.p_values_.append(self.p_value_)

    def _as_distance(self, mean_cost: float) -> float:
        return float(mean_cost ** (1 / self.p))

    def _calibrated(self, rest: np.ndarray, window: int) -> np.ndarray:
        blocks = [rest[i : i + window] for i in range(0, len(rest) - window + 1, window)]
        return np.array([block_cost(self._cost, self.reference_, block) for block in blocks])

    def _reference_rows(self, n: int, n_reference: int, rng: np.random.Generator) -> np.ndarray:
        """Rows of the reference, in order of time; runs stay together."""
        run = int(self.run_length)
        starts = np.sort(rng.choice(n // run, n_reference // run, replace=False)) * run
        return (starts[:, None] + np.arange(run)).ravel()

    def _check_parameters(self) -> tuple[int, int]:
        window = check_count(self.window, "window")
        slack = check_interval(self.reference_slack, "reference_slack", 0, np.inf, closed="left")
        n_reference = int(round(window * (1 + slack)))
        alpha = check_interval(self.alpha, "alpha", 0, 1, closed="neither")
        check_choice(self.calibration, "calibration", ("permutation", "conformal"))
        n_permutations = check_count(self.n_permutations, "n_permutations")
        run = check_count(self.run_length, "run_length")
        check_count(self.max_scans, "max_scans")
        check_n_jobs(self.n_jobs)
        if self.calibration == "permutation" and alpha < 1 / (n_permutations + 1):
            raise ValueError(
                f"alpha={self.alpha} cannot be reached with n_permutations={self.n_permutations}: it must be "
                f"at least {1 / (n_permutations + 1):.3g}."
            )
        if window % run or n_reference % run:
            raise ValueError(
                f"run_length={run} must divide the window ({window}) and the reference ({n_reference})."
            )
        return window, n_reference

    def _check_frozen(self) -> None:
        for name, value in self._frozen.items():
            if getattr(self, name) is not value and getattr(self, name) != value:
                raise ValueError(
                    f"{name} was changed to {getattr(self, name)!r} after the fit with {value!r}; fit again."
                )
