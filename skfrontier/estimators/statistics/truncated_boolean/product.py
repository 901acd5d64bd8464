"""Independent bits of which only rows inside a set were recorded."""

import warnings
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_generator,
    check_interval,
    check_n_jobs,
)
from skfrontier.algos.statistics.truncated_boolean.combination import share_from_counts
from skfrontier.algos.statistics.truncated_boolean.conditional_fit import (
    FitOptions,
    TruncatedFit,
    column_means,
    fit_conditional,
    fit_flips,
    set_at_fault,
)
from skfrontier.algos.statistics.truncated_boolean.enumeration import unit_vectors
from skfrontier.algos.statistics.truncated_boolean.flip_counting import FlipCounts, count_flips
from skfrontier.algos.statistics.truncated_boolean.flips import conditional_logit
from skfrontier.algos.statistics.truncated_boolean.likelihood_fit import fit_likelihood
from skfrontier.algos.statistics.truncated_boolean.rows import binary_rows, dense
from skfrontier.algos.statistics.truncated_boolean.scores import identified_coordinates
from skfrontier.algos.statistics.truncated_boolean.sets import (
    EmpiricalSupport,
    TruncationSet,
    as_truncation,
)
from skfrontier.algos.statistics.truncated_boolean.sets.base import MAX_FIBRE
from skfrontier.algos.statistics.truncated_boolean.sgd import truncated_sgd
from skfrontier.algos.statistics.truncated_boolean.support import (
    distinct_rows,
    support_conditional_fit,
)
from skfrontier.estimators.statistics.truncated_boolean.identification import report_unidentified
from skfrontier.estimators.statistics.truncated_boolean.input import (
    read_rows,
    read_weights,
    refuse_outside,
    unchanged_on_error,
)
from skfrontier.estimators.statistics.truncated_boolean.law import FittedLaw

_MOVES = ("auto", "flips", "pairs", "optimal")
_METHODS = ("conditional", "mle", "sgd", "naive")
_KEPT_ROWS = 10_000


class TruncatedBooleanProduct(FittedLaw):
    """Logits of independent bits from rows that were recorded only inside a set.

    Parameters
    ----------
    truncation : TruncationSet, None, str, callable or array-like, default=None
        The set: see `skfrontier.algos.as_truncation`. None: no truncation; 'nonempty': rows with a one;
        'support': not known.
    method : {'conditional', 'mle', 'sgd', 'naive'}, default='conditional'
        'conditional': closed form and composite likelihood, for every set. 'mle': maximum likelihood, for
        sets with an exact mean. 'sgd': the published baseline. 'naive': column means, truncation ignored.
    moves : str, int or array-like, default='auto'
        What is compared within the set. 'flips': single bits, in closed form. 'pairs': two bits at a time.
        'optimal': both, with optimal weights. 'auto': flips where they reach ``target_efficiency``, else
        'optimal'; pairs where some bit can never be flipped. An integer 1 to 4: faces of so many bits. A 0/1
        array of shape (n_masks, n_features): joint flips of the coordinates of each mask.
    target_efficiency : float, default=0.85
        Share of the information with which 'auto' is content; 0 never leaves flips.
    smoothing : float, default=0.5
        Pseudo-flips per coordinate. 0 gives the unpenalised estimate, which can be infinite.
    l1, l2 : float, default=0.0
        Penalties ``l1 |z|_1`` and ``l2 |z|^2 / 2`` on the summed loss. Standard errors ignore l1.
    pair_degree : int, default=8
        Pairs per coordinate where there are more than 64 coordinates.
    min_flippable : int, default=1
        Flippable rows that every coordinate needs for 'auto' to use flips.
    unidentified : {'warn', 'raise', 'ignore'}, default='warn'
        What to do about parameters that the data cannot tell.
    covariance : {'auto', 'full', 'diagonal'}, default='auto'
        Whether to compute ``covariance_``; 'auto': up to 2048 features.
    max_oracle_calls : int, default=2000000
        Most rows that a membership function is asked about.
    max_block_evals : int, default=2000000000
        Most rows times pairs; above it a uniform subset of the rows is used.
    max_iter : int, default=500
        Most steps of the solvers.
    tol : float, default=1e-8
        Largest gradient per unit of weight at which they stop.
    binarize : float or None, default=None
        Numbers above it become ones. None: X must hold zeros and ones.
    sgd_params : dict or None, default=None
        Options of `skfrontier.algos.truncated_sgd`.
    n_jobs : int or None, default=None
        Number of joblib threads over rows.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness: random pairs, subsets of rows, draws.
    verbose : int, default=0
        Whether to say when only a part of the rows is used.

    Attributes
    ----------
    natural_parameters_ : ndarray of shape (n_features,)
        Logits z of the bits before truncation. Along unidentified directions they are 0.
    probabilities_ : ndarray of shape (n_features,)
        ``sigma(z)``.
    stderr_ : ndarray of shape (n_features,)
        Standard errors of the logits, infinite where they are not identified.
    covariance_ : ndarray of shape (n_features, n_features) or None
        Their covariance.
    influence_ : ndarray of shape (n_features,)
        Share of the rows in which the bit can be flipped.
    n_flippable_ : ndarray of shape (n_features,)
        Number (weight) of those rows.
    n_effective_ : ndarray of shape (n_features,)
        How many rows without truncation would have told as much about the bit.
    identified_ : ndarray of shape (n_features,), dtype bool
        Whether the data can tell the parameter.
    null_space_ : ndarray of shape (n_features, q)
        Orthonormal directions that they cannot tell.
    moves_ : str
        The moves that were used, or the method.
    pairs_ : ndarray of shape (n_pairs, 2)
        The pairs that were used.
    truncation_ : TruncationSet
        The set.
    counts_ : ndarray of shape (2, n_features)
        Flippable rows with a one, and with a zero.
    efficiency_ : float
        Share of the information that was used; a lower bound where that sufficed; NaN where neither can
        be told.
    n_iter_ : int
        Steps of the solver.
    n_samples_seen_ : float
        Number (weight) of rows.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    TruncatedLogisticRegression : Logits that depend on covariates.
    TruncatedIsing : Bits that interact.
    skfrontier.algos.conditional_logit : The closed form.

    Notes
    -----
    Given the other bits of a row in which bit i can be flipped inside the set, the bit is a coin with
    probability sigma(z_i): proven for every set, so the flip counts are binomial. Errors are of order
    ``sqrt(log(n) / (alpha N))`` with alpha the least influence (proven, see `conditional_logit`), whatever
    the mass of the set. Pairs and their combination are composite likelihoods: consistent for every set
    (proven), their efficiency is observed. Cost of flips: one pass, O(N n) or O(nnz).

    References
    ----------
    .. [1] Fotakis, Kalavasis, Tzamos, "Efficient parameter estimation of truncated Boolean product
       distributions", Algorithmica 2022, arXiv:2007.02392.
    .. [2] Varin, Reid, Firth, "An overview of composite likelihood methods", Statistica Sinica 2011.

    Examples
    --------
    >>> from skfrontier.algos import Cardinality
    >>> from skfrontier.datasets import make_truncated_boolean
    >>> from skfrontier.estimators import TruncatedBooleanProduct
    >>> S = Cardinality(min=370)
    >>> X, z, info = make_truncated_boolean(
    ...     20_000, 400, truncation=S, random_state=3, return_params=True)
    >>> model = TruncatedBooleanProduct(S).fit(X)
    >>> info["log_mass"] < -150, bool(abs(model.natural_parameters_ - z).max() < 0.25)
    (True, True)
    """

    def __init__(
        self,
        truncation=None,
        *,
        method="conditional",
        moves="auto",
        target_efficiency=0.85,
        smoothing=0.5,
        l1=0.0,
        l2=0.0,
        pair_degree=8,
        min_flippable=1,
        unidentified="warn",
        covariance="auto",
        max_oracle_calls=2_000_000,
        max_block_evals=2_000_000_000,
        max_iter=500,
        tol=1e-8,
        binarize=None,
        sgd_params=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.truncation = truncation
        self.method = method
        self.moves = moves
        self.target_efficiency = target_efficiency
        self.smoothing = smoothing
        self.l1 = l1
        self.l2 = l2
        self.pair_degree = pair_degree
        self.min_flippable = min_flippable
        self.unidentified = unidentified
        self.covariance = covariance
        self.max_oracle_calls = max_oracle_calls
        self.max_block_evals = max_block_evals
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.sgd_params = sgd_params
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None):
        """Estimate the logits.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of the set: zeros and ones, unless ``binarize`` is a number.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row was seen. Fractions are allowed; standard errors then come from the rows'
            scores.

        Returns
        -------
        self : TruncatedBooleanProduct

        Raises
        ------
        ValueError
            If a row is outside the set, X holds other numbers, or a parameter is wrong.
        NotIdentifiedError
            If a parameter cannot be told and ``unidentified='raise'``.
        """
        with unchanged_on_error(self):
            options = self._options()
            rows = read_rows(self, X, self.binarize, reset=True)
            weights = read_weights(sample_weight, rows)
            n = rows.shape[1]
            truncation = as_truncation(self.truncation, n)
            unknown_set = isinstance(truncation, EmpiricalSupport)
            if unknown_set:
                truncation = _observed_support(rows, weights)
            else:
                refuse_outside(truncation, rows)
            counts = self._count(rows, truncation, weights, options)
            if unknown_set:
                fit = self._fit_support(rows, weights)
            elif self.method == "conditional":
                fit = fit_conditional(rows, truncation, weights, counts, options)
            elif self.method == "mle":
                fit = fit_likelihood(rows, truncation, weights, options)
            else:
                fit = self._fit_baseline(rows, truncation, weights)
            self._say_used(rows, fit)
            _warn_infinite(fit)
            _warn_unfinished(fit)
            fault = False if unknown_set else set_at_fault(truncation, fit)
            report_unidentified(fit.null_space, self.unidentified, fault, fit.moves)
            self.truncation_ = truncation
            self._read_by = (self.truncation, self.binarize)
            self._set_result(fit, counts)
            self._column_means = column_means(rows, weights)
            self._fractional = weights is not None and bool((weights != np.floor(weights)).any())
            self._set_kept_rows(rows, weights, options.rng)
        return self

    def partial_fit(self, X, y=None, sample_weight=None):
        """Add rows to the counts of flips and update the estimate.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            More rows of the set.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row was seen.

        Returns
        -------
        self : TruncatedBooleanProduct

        Raises
        ------
        ValueError
            If the settings cannot stream, ``truncation`` or ``binarize`` have been replaced since the first
            rows, or the rows are invalid; nothing has changed then.

        Notes
        -----
        Counts are sums over rows: the result is that of ``fit`` with ``moves='flips'`` on all rows, but
        without ``covariance_``, and Gibbs samples start at rows of the first call.
        """
        with unchanged_on_error(self):
            options = self._options()
            self._check_streams()
            first = not hasattr(self, "counts_")
            rows = read_rows(self, X, self.binarize, reset=first)
            weights = read_weights(sample_weight, rows)
            truncation = as_truncation(self.truncation, rows.shape[1])
            if isinstance(truncation, EmpiricalSupport):
                raise ValueError(
                    "partial_fit cannot stream an unknown set: give a truncation set, or call fit."
                )
            if not first:
                self._check_unchanged()
                truncation = self.truncation_
            refuse_outside(truncation, rows)
            counts = self._count(rows, truncation, weights, options)
            ones = column_means(rows, weights) * counts.weight
            fractional = weights is not None and bool((weights != np.floor(weights)).any())
            if not first:
                old = float(self.n_samples_seen_)  # type: ignore[has-type]
                counts = FlipCounts(
                    self.counts_[0] + counts.m1,
                    self.counts_[1] + counts.m0,
                    old + counts.weight,
                    self._asked + counts.asked,
                )
                ones = ones + self._column_means * old
                fractional = fractional or self._fractional
            fit = fit_flips(None, None, None, counts, options)
            report_unidentified(fit.null_space, self.unidentified, None, fit.moves)
            self.truncation_ = truncation
            self._read_by = (self.truncation, self.binarize)
            self._set_result(fit, counts)
            self.efficiency_ = share_from_counts(counts.weight, counts.m1, counts.m0, fit.trace)
            self._column_means = ones / counts.weight
            self._fractional = fractional
            if first:
                self._set_kept_rows(rows, weights, options.rng)
        return self

    def _options(self) -> FitOptions:
        check_choice(self.method, "method", _METHODS)
        check_choice(self.unidentified, "unidentified", ("warn", "raise", "ignore"))
        covariance = check_choice(self.covariance, "covariance", ("auto", "full", "diagonal"))
        check_n_jobs(self.n_jobs)
        if self.sgd_params is not None and not isinstance(self.sgd_params, dict):
            raise TypeError(f"sgd_params must be a dict or None, got {self.sgd_params!r}.")

        def positive(name: str) -> float:
            return check_interval(getattr(self, name), name, 0.0, np.inf, closed="left")

        return FitOptions(
            moves=_checked_moves(self.moves),
            target_efficiency=check_interval(self.target_efficiency, "target_efficiency", 0.0, 1.0),
            smoothing=positive("smoothing"),
            l1=positive("l1"),
            l2=positive("l2"),
            pair_degree=check_count(self.pair_degree, "pair_degree", 2),
            min_flippable=positive("min_flippable"),
            covariance=covariance,
            max_oracle_calls=check_count(self.max_oracle_calls, "max_oracle_calls"),
            max_block_evals=check_count(self.max_block_evals, "max_block_evals"),
            max_iter=check_count(self.max_iter, "max_iter"),
            tol=check_interval(self.tol, "tol", 0.0, np.inf, closed="neither"),
            rng=check_generator(self.random_state),
        )

    def _count(
        self, rows: Any, truncation: TruncationSet, weights: np.ndarray | None, options: FitOptions
    ) -> FlipCounts:
        return count_flips(
            rows,
            truncation,
            weights,
            max_oracle_calls=options.max_oracle_calls,
            n_jobs=self.n_jobs,
            rng=options.rng,
        )

    def _check_streams(self) -> None:
        moves = self.moves if isinstance(self.moves, str) else repr(self.moves)
        if self.method != "conditional" or moves not in ("auto", "flips", "1"):
            raise ValueError(
                "partial_fit streams with method='conditional' and moves='flips' or 'auto' only; got "
                f"method={self.method!r}, moves={self.moves!r}."
            )

    def _check_unchanged(self) -> None:
        """Raise if rows are to be read in another way than those already counted."""
        for name, before in zip(("truncation", "binarize"), self._read_by, strict=True):
            now = getattr(self, name)
            scalar = isinstance(now, str | float | int)
            if now is not before and not (scalar and now == before):
                raise ValueError(
                    f"{name} was {before!r} for the rows already counted and is {now!r} now; it cannot "
                    "change between calls of partial_fit. Start with fit, or on a clone."
                )

    def _fit_support(self, rows: Any, weights: np.ndarray | None) -> TruncatedFit:
        if self.method != "conditional" or not (
            isinstance(self.moves, str) and self.moves in ("auto", "flips")
        ):
            raise ValueError(
                "an unknown set (EmpiricalSupport) needs method='conditional' and moves='auto' or 'flips'."
            )
        z, stderr = support_conditional_fit(
            rows, weights, smoothing=float(self.smoothing), l2=float(self.l2)
        )
        Q = unit_vectors(~np.isfinite(stderr))
        return TruncatedFit(z, stderr, None, Q, "support", np.zeros((0, 2), np.int64), np.nan, 0)

    def _fit_baseline(
        self, rows: Any, truncation: TruncationSet, weights: np.ndarray | None
    ) -> TruncatedFit:
        n = rows.shape[1]
        total = float(rows.shape[0] if weights is None else weights.sum())
        ones = column_means(rows, weights) * total
        z, stderr = conditional_logit(ones, total - ones, smoothing=float(self.smoothing))
        steps = 0
        if self.method == "sgd":
            if weights is not None:
                raise ValueError("method='sgd' does not take sample_weight.")
            params = {"random_state": check_generator(self.random_state), **(self.sgd_params or {})}
            found = truncated_sgd(rows, truncation, **params)
            z, steps, stderr = found.z, found.n_steps, np.full(n, np.nan)
            if not found.converged:
                warnings.warn(
                    f"the budget of {found.n_draws} draws was spent after {found.n_steps} steps: the mass "
                    "of the set is too small for rejection sampling. Use method='conditional'.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        nothing = np.zeros((n, 0))
        return TruncatedFit(
            z, stderr, None, nothing, self.method, np.zeros((0, 2), np.int64), np.nan, steps
        )

    def _say_used(self, rows: Any, fit: TruncatedFit) -> None:
        if self.verbose and rows.shape[0] * len(fit.pairs) > self.max_block_evals:
            print(
                f"{rows.shape[0]} rows times {len(fit.pairs)} pairs exceed max_block_evals: a uniform part "
                "of the rows was used for the pairs."
            )

    def _set_result(self, fit: TruncatedFit, counts: FlipCounts) -> None:
        z = fit.z
        p = expit(z)
        self.natural_parameters_ = z
        self.probabilities_ = p
        self.stderr_ = fit.stderr
        self.covariance_ = fit.covariance
        self.counts_ = np.stack([counts.m1, counts.m0])
        self.n_flippable_ = counts.m1 + counts.m0
        self._asked = counts.asked
        self.influence_ = self.n_flippable_ / counts.asked
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self.n_effective_ = np.nan_to_num(
                1 / (fit.stderr**2 * p * (1 - p)), nan=0.0, posinf=0.0
            )
        self.null_space_ = fit.null_space
        self.identified_ = identified_coordinates(fit.null_space)
        self.moves_ = fit.moves
        self.pairs_ = fit.pairs
        self.efficiency_ = fit.efficiency
        self.n_iter_ = fit.n_iter
        self.n_samples_seen_ = counts.weight

    def _set_kept_rows(
        self, rows: Any, weights: np.ndarray | None, rng: np.random.Generator
    ) -> None:
        """Keep some rows, bit-packed, as starts of Gibbs chains."""
        size = rows.shape[0]
        if weights is not None:
            chosen = rng.choice(size, min(_KEPT_ROWS, max(size, 1000)), p=weights / weights.sum())
        elif size > _KEPT_ROWS:
            chosen = np.sort(rng.choice(size, _KEPT_ROWS, replace=False))
        else:
            chosen = np.arange(size)
        self._kept_rows = np.packbits(dense(rows[chosen]), axis=1)

    def __sklearn_tags__(self):
        """Sparse rows are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _checked_moves(moves: Any) -> Any:
    if isinstance(moves, str):
        return check_choice(moves, "moves", _MOVES)
    if np.ndim(moves) == 0:
        return check_count(moves, "moves", 1, MAX_FIBRE)
    masks = np.ascontiguousarray(binary_rows(moves, "moves"))
    if not len(masks) or not masks.any(axis=1).all():
        raise ValueError("moves must hold at least one mask, and none without a coordinate.")
    return masks


def _observed_support(rows: Any, weights: np.ndarray | None) -> TruncationSet:
    kept = np.ones(rows.shape[0], bool) if weights is None else weights > 0
    return distinct_rows(dense(rows[kept]), np.ones(int(kept.sum())))[0]


def _warn_unfinished(fit: TruncatedFit) -> None:
    if not fit.converged:
        warnings.warn(
            f"the solver made {fit.n_iter} steps without reaching tol; raise max_iter.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _warn_infinite(fit: TruncatedFit) -> None:
    infinite = np.flatnonzero(~np.isfinite(fit.z))
    if len(infinite):
        warnings.warn(
            f"{len(infinite)} natural parameters are infinite (first: feature {infinite[0]}): the flippable "
            "rows show one value only. A positive smoothing keeps them finite.",
            UserWarning,
            stacklevel=3,
        )
