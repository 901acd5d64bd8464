"""What a fitted law can say: probabilities, samples, mass, intervals, tests of fit."""

import warnings

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_generator,
    check_interval,
)
from skfrontier.algos.statistics.truncated_boolean.fit_tests import FitTest, pair_test, row_sum_test
from skfrontier.algos.statistics.truncated_boolean.flips import exact_interval
from skfrontier.algos.statistics.truncated_boolean.importance import importance_log_mass
from skfrontier.algos.statistics.truncated_boolean.sampling import gibbs_truncated, rejection_sample
from skfrontier.algos.statistics.truncated_boolean.sets.base import all_pairs, distinct_pairs
from skfrontier.estimators.statistics.truncated_boolean.input import (
    read_rows,
    read_weights,
    refuse_outside,
)

_LEAST_ESS = 50.0
_REJECTION_LOG_MASS = np.log(1e-3)
_MAX_TEST_PAIRS = 300
_LEAST_LOG_MASS = -600.0  # sizes beyond exp(600) leave no room for their errors


class FittedLaw(BaseEstimator):
    """Methods that need only fitted attributes: logits, their errors, the set and the counts of flips."""

    def score_samples(self, X):
        """Log-probability of rows inside the set; minus infinity outside.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        z = self._finite_logits()
        rows = read_rows(self, X, self.binarize, reset=False)
        normaliser = self.log_mass()[0] + np.logaddexp(0, z).sum()
        return np.where(self.truncation_.contains(rows), rows @ z - normaliser, -np.inf)

    def score(self, X, y=None, sample_weight=None):
        """Mean log-probability of the rows inside the set.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        scores = self.score_samples(X)
        weights = None if sample_weight is None else read_weights(sample_weight, scores[:, None])
        return float(np.average(scores, weights=weights))

    def sample(self, n_samples=1, *, random_state=None, method="auto", n_sweeps=20):
        """Draw rows of the fitted law inside the set.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState, Generator or None, default=None
            Source of randomness; None: that of the estimator.
        method : {'auto', 'exact', 'rejection', 'gibbs'}, default='auto'
            'exact' where the set can; 'rejection' if its mass exceeds 1e-3; else Gibbs sweeps that start at
            rows of the data.
        n_sweeps : int, default=20
            Gibbs sweeps.

        Returns
        -------
        ndarray of shape (n_samples, n_features), dtype uint8

        Raises
        ------
        ValueError
            If the method is not available, or rejection has spent ten million draws.

        Notes
        -----
        Gibbs rows are approximate: the law is stationary, and the start at rows of the data gives parts of
        the set that single moves do not connect their right shares.
        """
        z, truncation = self._finite_logits(), self.truncation_
        check_choice(method, "method", ("auto", "exact", "rejection", "gibbs"))
        n_samples = check_count(n_samples, "n_samples")
        rng = check_generator(self.random_state if random_state is None else random_state)
        if method == "auto":
            method = self._sampling_method()
        if method == "exact":
            if not truncation.is_exact(len(z)):
                raise ValueError(f"method='exact' is not available for {truncation!r}.")
            return truncation.sample_exact(z, n_samples, rng)
        if method == "rejection":
            X, draws, _ = rejection_sample(z, truncation, n_samples, rng)
            if len(X) < n_samples:
                raise ValueError(
                    f"only {len(X)} of {draws} draws were in the set; use method='gibbs'."
                )
            return X
        starts = np.unpackbits(self._kept_rows, axis=1, count=len(z))
        X0 = starts[rng.integers(len(starts), size=n_samples)]
        pairs = self.pairs_ if len(self.pairs_) else None
        return gibbs_truncated(X0, z, truncation, pairs=pairs, n_sweeps=n_sweeps, random_state=rng)

    def log_mass(self, *, method="auto", n_draws=20_000, random_state=None):
        """Logarithm of the probability of the set before truncation.

        Parameters
        ----------
        method : {'auto', 'exact', 'importance'}, default='auto'
            Exact where the set can, else importance sampling from the data's column means.
        n_draws : int, default=20000
            Draws of importance sampling.
        random_state : int, RandomState, Generator or None, default=None
            Source of randomness; None: that of the estimator.

        Returns
        -------
        value : float
            At the fitted logits; NaN if no draw fell in the set.
        stderr : float
            Standard error of the draws, 0 where exact. That of the logits is not included.
        """
        z, truncation = self._finite_logits(), self.truncation_
        check_choice(method, "method", ("auto", "exact", "importance"))
        exact = truncation.is_exact(len(z))
        if method == "exact" and not exact:
            raise ValueError(f"method='exact' is not available for {truncation!r}.")
        if exact and method != "importance":
            return truncation.log_mass(z), 0.0
        rng = check_generator(self.random_state if random_state is None else random_state)
        N = self.n_samples_seen_
        proposal = logit((self._column_means * N + 0.5) / (N + 1))
        found = importance_log_mass(
            z, proposal, truncation.contains, n_draws=n_draws, random_state=rng
        )
        if found.ess < _LEAST_ESS:
            warnings.warn(
                f"the effective number of draws is {found.ess:.1f}, below {_LEAST_ESS:.0f}: neither the mass "
                "nor its standard error can be trusted. Raise n_draws, or use a set with an exact mass.",
                UserWarning,
                stacklevel=2,
            )
        return found.log_mass, found.stderr

    def population_size(self):
        """Number of rows before truncation, recorded or not.

        Returns
        -------
        estimate : float
            ``N / mu(S)``.
        stderr : float
            Its standard error by the delta method, with that of a sampled mass.

        Raises
        ------
        ValueError
            If the mass depends on a direction that is not identified, a logit is infinite, or the size
            exceeds every float.
        """
        z, N = self._finite_logits(), self.n_samples_seen_
        value, mass_stderr = self.log_mass()
        exact = self.truncation_.is_exact(len(z))
        mean = self.truncation_.mean(z) if exact else self._column_means
        slope = mean - expit(z)  # of the log-mass
        if np.abs(self.null_space_.T @ slope).max(initial=0.0) > 1e-6:
            raise ValueError(
                "the mass of the set depends on a direction that is not identified (null_space_), so "
                "the population size cannot be told."
            )
        V = self.covariance_
        if V is None:
            V = np.diag(np.where(self.identified_, self.stderr_, 0.0) ** 2)
        if value < _LEAST_LOG_MASS:
            raise ValueError(
                f"the population is too large for a number: the set has a log-mass of {value:.1f}, "
                f"so its size is {N:g} times exp({-value:.1f})."
            )
        estimate = N * np.exp(-value)
        # Relative: the square of the estimate itself might overflow.
        relative = slope @ V @ slope + mass_stderr**2 - np.expm1(value) / N
        return float(estimate), float(estimate * np.sqrt(relative))

    def conf_int(self, level=0.95, *, kind="wald"):
        """Confidence intervals of the logits.

        Parameters
        ----------
        level : float, default=0.95
            Confidence, between 0 and 1.
        kind : {'wald', 'exact', 'simultaneous'}, default='wald'
            'wald': estimate and standard error. 'exact': Clopper-Pearson intervals of the flips, valid for
            every sample size. 'simultaneous': Wald intervals that hold for all features at once
            (Bonferroni).

        Returns
        -------
        ndarray of shape (n_features, 2)

        Raises
        ------
        ValueError
            If 'exact' is asked for and flips were not counted, or weights were fractions.
        """
        check_is_fitted(self)
        check_choice(kind, "kind", ("wald", "exact", "simultaneous"))
        level = check_interval(level, "level", 0.0, 1.0, closed="neither")
        if kind == "exact":
            if self.moves_ not in ("flips", "optimal"):
                raise ValueError(
                    f"kind='exact' needs a fit by flips; moves_ is {self.moves_!r}. Use kind='wald'."
                )
            if self._fractional:
                raise ValueError("kind='exact' needs integer weights; use kind='wald'.")
            return exact_interval(self.counts_[0], self.counts_[1], level)
        z = self.natural_parameters_
        miss = (1 - level) / (len(z) if kind == "simultaneous" else 1)
        half = norm.isf(miss / 2) * self.stderr_
        with np.errstate(invalid="ignore"):
            ends = np.column_stack([z - half, z + half])
        infinite = ~np.isfinite(half)
        ends[infinite] = -np.inf, np.inf
        return ends

    def gof_test(self, X, sample_weight=None, *, kind="rows"):
        """Test whether the bits are independent inside the set.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of the set, those of the fit or others.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row was seen.
        kind : {'rows', 'pairs'}, default='rows'
            'rows': does a flippable bit depend on the number of the others? Best against a common cause.
            'pairs': does it depend on any single other bit? Best against dependence of mixed signs.

        Returns
        -------
        statistic : float
            'rows': standard normal under the model, positive for positive dependence. 'pairs': a sum of
            squares, one per pair.
        pvalue : float
            Two-sided for 'rows'. Asymptotic.

        Raises
        ------
        ValueError
            If no row can be flipped.
        """
        check_is_fitted(self)
        check_choice(kind, "kind", ("rows", "pairs"))
        rows = read_rows(self, X, self.binarize, reset=False)
        weights = read_weights(sample_weight, rows)
        refuse_outside(self.truncation_, rows)
        m1, m0 = self.truncation_.flip_counts(rows, weights)
        if not (m1 + m0).any():
            raise ValueError("gof_test needs rows in which some bit can be flipped; there is none.")
        found: FitTest
        if kind == "rows":
            found = row_sum_test(rows, self.truncation_, m1, m0, weights)
        else:
            pairs = self._test_pairs(rows.shape[0])
            found = pair_test(rows, self.truncation_, m1, m0, pairs, weights)
        return found.statistic, found.pvalue

    def _test_pairs(self, n_samples: int) -> np.ndarray:
        """All pairs, or a random part of them: ten rows for each, and at most 300."""
        n = len(self.natural_parameters_)
        most = max(1, min(_MAX_TEST_PAIRS, n_samples // 10))
        if n * (n - 1) // 2 <= most:
            return all_pairs(n)
        rng = check_generator(0)
        draws = distinct_pairs(rng.integers(n, size=(4 * most, 2)))
        return draws[np.sort(rng.permutation(len(draws))[:most])]

    def _finite_logits(self) -> np.ndarray:
        """The logits, or an error if the law of the rows is a limit that has none."""
        check_is_fitted(self)
        z = self.natural_parameters_
        infinite = np.flatnonzero(~np.isfinite(z))
        if len(infinite):
            raise ValueError(
                f"the logit of feature {infinite[0]} is infinite: the fitted law is a limit. Fit with a "
                "positive smoothing."
            )
        return z

    def _sampling_method(self) -> str:
        if self.truncation_.is_exact(len(self.natural_parameters_)):
            return "exact"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a poor estimate only leads to the sweeps
            value, _ = self.log_mass(n_draws=2000)
        return "rejection" if value > _REJECTION_LOG_MASS else "gibbs"
