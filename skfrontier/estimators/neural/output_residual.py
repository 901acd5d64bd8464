"""A linear map made cheaper, as a transformer."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_generator,
    check_interval,
    check_points,
)
from skfrontier.algos.neural.output_residual.approximation import (
    Approximation,
    approximate,
    check_budget,
    moments_of,
    refit,
    widened,
)
from skfrontier.algos.neural.output_residual.cost import matmul_cost, smallest_budget
from skfrontier.algos.neural.output_residual.factors import LowRankFactors
from skfrontier.algos.neural.output_residual.groups import row_groups
from skfrontier.algos.neural.output_residual.product import (
    corrected_product,
    grown_product,
    relative_error,
)


class OutputResidualApproximator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Approximate ``X @ weight + bias`` for a share of its arithmetic, corrected for the rows at hand.

    A static part of low rank is fitted to calibration inputs. What it misses in the *output* is
    projected onto a small basis computed from the rows of each group at run time. How the budget is
    split between the two is chosen on groups that are held out.

    Parameters
    ----------
    weight : array-like of shape (n_inputs, n_outputs) or None, default=None
        The map to approximate. None is the identity: a reconstruction of the inputs, whose rank the budget
        sets as for a square weight, at least one.
    bias : array-like of shape (n_outputs,) or None, default=None
        Added to the output.
    budget : float, default=0.25
        Share of the multiply-adds of the dense product, in (0, 1]. The probes of the error estimate come on
        top (see `transform_cost_ratio_`). The residual weight stays in memory: this saves arithmetic,
        not storage.
    structure : {'auto', 'whitened', 'svd', 'asvd'}, default='auto'
        How the static part is made, see `low_rank_factors`.
    dynamic_rank : 'auto', 'adaptive' or int, default='auto'
        Rank of the correction. 'auto' is chosen on held-out groups. 'adaptive' splits the budget in the
        same way, but lets each group take as many columns as its own probes ask for: fewer than the
        budget on easy groups, more (up to the dense product) on inputs unlike the calibration.
    hedge : float, default=0.1
        Of the splits whose held-out error is within ``1 + hedge`` of the best, the one with the largest
        correction is taken. It pays when later inputs follow another law. 0 is plain minimisation, which
        'adaptive' always takes: its correction comes on demand.
    group_size : int or None, default=None
        Number of consecutive rows of a group where ``groups`` is not given. None takes all rows of a
        call as one.
    n_probes : int, default=4
        Number of probes of the error estimate; 0 for none.
    tolerance : float or None, default=None
        With ``dynamic_rank='adaptive'``, the relative error at which a group's correction stops growing.
        None takes `calibration_error_`.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the probes.

    Attributes
    ----------
    rank_, dynamic_rank_ : int
        Rank of the static part, and largest rank of the correction. A group gets less where the budget
        does not allow it at the group's size. For 'adaptive', the rank that 'auto' would take.
    structure_ : str
        Kind of the static part.
    factors_ : LowRankFactors
        The static part.
    residual_ : ndarray of shape (n_inputs, n_outputs)
        The weight less the static part.
    sketch_ : ndarray of shape (n_inputs, width)
        Finds the basis of the correction; ``width`` is `dynamic_rank_`, more for 'adaptive'.
    cost_ratio_ : float
        Multiply-adds over those of the dense product at the mean size of the calibration groups, probes
        apart.
    calibration_error_ : float
        Relative error of the output on held-out groups; with fewer than two groups, and after
        `partial_fit`, of the static part on the calibration rows.
    search_ : list of Split
        All splits that were tried, with ``structure``, ``rank``, ``dynamic_rank``, ``error`` and
        ``cost_ratio``.
    second_moment_ : ndarray of shape (n_inputs, n_inputs)
        ``X.T @ X`` of all calibration rows, float64.
    n_features_in_ : int
        Number of inputs.
    error_ : float
        Of the last `transform`: estimate of ``||Y^ - Y||_F / ||Y||_F`` over all its rows, bias apart; NaN
        without probes.
    transform_cost_ratio_ : float
        Of the last `transform`: all its multiply-adds, probes included, over those of the dense product.

    Raises
    ------
    ValueError
        If a parameter is out of its range, the budget too small for rank one, or shapes disagree.

    See Also
    --------
    skfrontier.algos.dynamic_matmul : The product of one group.

    Notes
    -----
    The part of a group's output in the span of its basis is exact, and no static part of the rank of
    'whitened' has a smaller mean squared error on its own calibration rows (both proven, see
    `low_rank_factors`). That the correction wins on groups with outputs of low rank, and when the law of
    the inputs shifts, is observed.

    ``partial_fit`` adds rows to the second moment and solves for the static part and the sketch again,
    at the structure and ranks in use: one eigenproblem a call, so give it many rows at a time. The
    parameters are those of the first call.

    Calibrating by 'auto' holds out every fifth group by turns (every other from fifty groups on), and
    solves up to fifteen eigenproblems of ``O(n_outputs^3)`` for each of these folds.

    References
    ----------
    Wang et al., *SVD-LLM*, ICLR 2025, arXiv:2403.07378; Yuan et al., *ASVD*, arXiv:2312.05821; Halko,
    Martinsson, Tropp, SIAM Review 53 (2011). The correction and the choice of the split are this
    library's own.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.datasets import make_group_subspace
    >>> from skfrontier.estimators import OutputResidualApproximator
    >>> X = make_group_subspace(8, 100, 64, 3, noise=0.05, random_state=0).reshape(-1, 64)
    >>> W = np.random.default_rng(0).normal(size=(64, 64))
    >>> model = OutputResidualApproximator(weight=W, budget=0.4, group_size=100, random_state=0)
    >>> Y = model.fit(X).transform(X)
    >>> float(np.linalg.norm(Y - X @ W) / np.linalg.norm(X @ W)) < 0.15
    True
    """

    def __init__(
        self,
        *,
        weight: Any = None,
        bias: Any = None,
        budget: float = 0.25,
        structure: str = "auto",
        dynamic_rank: Any = "auto",
        hedge: float = 0.1,
        group_size: int | None = None,
        n_probes: int = 4,
        tolerance: float | None = None,
        random_state: Any = None,
    ):
        self.weight = weight
        self.bias = bias
        self.budget = budget
        self.structure = structure
        self.dynamic_rank = dynamic_rank
        self.hedge = hedge
        self.group_size = group_size
        self.n_probes = n_probes
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> "OutputResidualApproximator":
        """Calibrate on inputs like those to come.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_inputs)
            Calibration inputs. float32 and float64 are computed in as they are.
        y : None
            Ignored.
        groups : array-like of shape (n_samples,), optional
            Label of each row's group; by default consecutive rows by ``group_size``.

        Returns
        -------
        OutputResidualApproximator
            Itself.
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self._start(X)
        members = [
            X[rows] for rows in row_groups(len(X), self._settings["group_size"], groups).rows()
        ]
        self._moments = moments_of(members, X.shape[1])
        self._mean_size = len(X) / len(members)
        self._keep(self._calibrated(members))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> "OutputResidualApproximator":
        """Add rows to the second moment; structure and ranks stay as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_inputs)
            More calibration inputs.
        y : None
            Ignored.

        Returns
        -------
        OutputResidualApproximator
            Itself.
        """
        if not hasattr(self, "second_moment_"):
            X = validate_data(self, X, dtype=[np.float64, np.float32])
            self._start(X)
            self._moments = moments_of([X], X.shape[1])
            self._mean_size = float(len(X))
            self._keep(self._calibrated([X]))
            return self
        X = validate_data(self, X, dtype=self._dtype, reset=False)
        moments = self._moments.plus(X)
        old = self._approximation
        fresh = refit(self._weight, moments, old.split, old.budget, [])
        self._moments = moments
        self._keep(
            Approximation(
                fresh.factors, fresh.residual, fresh.sketch, fresh.split, old.budget, old.search
            )
        )
        return self

    def transform(self, X: Any, groups: Any = None) -> np.ndarray:
        """Approximate ``X @ weight + bias``, group by group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_inputs)
            Inputs.
        groups : array-like of shape (n_samples,), optional
            Label of each row's group; by default consecutive rows by ``group_size``.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            In the precision of the calibration inputs.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=self._dtype, reset=False)
        output = np.empty((len(X), self.residual_.shape[1]), self._dtype)
        squares, cost = 0.0, 0
        for rows in row_groups(len(X), self._settings["group_size"], groups).rows():
            group = X[rows]
            product = self._product(group)
            output[rows] = product.output
            squares += np.nan if product.error is None else product.error**2
            cost += self._cost_of(len(group), product.basis.shape[1])
        norm = float(np.vdot(output, output))
        self._last.update(
            error=relative_error(squares, norm), cost=cost / (len(X) * self.residual_.size)
        )
        if self._bias is not None:
            output += self._bias
        return output

    @property
    def error_(self) -> float:
        """Estimate of the relative error of the last `transform`."""
        return self._of_last_transform("error")

    @property
    def transform_cost_ratio_(self) -> float:
        """Multiply-adds of the last `transform` over those of the dense product."""
        return self._of_last_transform("cost")

    def _of_last_transform(self, name: str) -> float:
        # Kept in a dict made by fit: transform leaves the attributes of the estimator alone.
        last = getattr(self, "_last", {})
        if name not in last:
            raise AttributeError(f"{type(self).__name__} has not transformed anything yet.")
        return last[name]

    @property
    def _n_features_out(self) -> int:
        return int(self.residual_.shape[1])

    def _start(self, X: np.ndarray) -> None:
        """Check the parameters against the first inputs, and keep them as they are now."""
        n_inputs = X.shape[1]
        if self.weight is None:
            W = np.eye(n_inputs)
            check_interval(self.budget, "budget", 0, 1, closed="right")
            budget = max(float(self.budget), smallest_budget(n_inputs, n_inputs))
        else:
            W = check_points(self.weight, "weight").astype(np.float64, copy=False)
            if W.shape[0] != n_inputs:
                raise ValueError(
                    f"weight has {W.shape[0]} rows, but X has {n_inputs} features; it is used as X @ weight."
                )
            budget = check_budget(self.budget, W.shape)
        if isinstance(self.dynamic_rank, str):
            check_choice(self.dynamic_rank, "dynamic_rank", ("auto", "adaptive"))
        n_probes = check_count(self.n_probes, "n_probes", 0)
        if self.dynamic_rank == "adaptive" and n_probes == 0:
            raise ValueError("dynamic_rank='adaptive' needs n_probes of at least 1.")
        if self.tolerance is not None:
            check_interval(self.tolerance, "tolerance", 0, np.inf, closed="neither")
        if self.group_size is not None:
            check_count(self.group_size, "group_size")
        self._dtype = X.dtype
        self._weight = W
        self._bias = self._checked_bias(W.shape[1])
        self._settings = {
            "budget": budget,
            "structure": self.structure,
            "dynamic_rank": self.dynamic_rank,
            "hedge": self.hedge,
            "group_size": self.group_size,
            "tolerance": self.tolerance,
        }
        self._omega = check_generator(self.random_state).standard_normal((W.shape[1], n_probes))

    def _checked_bias(self, n_outputs: int) -> np.ndarray | None:
        if self.bias is None:
            return None
        bias = np.asarray(self.bias, dtype=np.float64)
        if bias.shape != (n_outputs,) or not np.isfinite(bias).all():
            raise ValueError(
                f"bias must hold {n_outputs} finite numbers, one a column of weight; got shape {bias.shape}."
            )
        return bias.astype(self._dtype)

    def _calibrated(self, members: list[np.ndarray]) -> Approximation:
        options = {name: self._settings[name] for name in ("budget", "structure", "hedge")}
        rank = self._settings["dynamic_rank"]
        if rank == "adaptive":  # a correction on demand needs no hedge
            rank, options["hedge"] = "auto", 0.0
        return approximate(self._weight, members, dynamic_rank=rank, **options)

    def _keep(self, approximation: Approximation) -> None:
        """Set what `transform` uses, in the precision of the inputs."""
        self._approximation = approximation
        if self._settings["dynamic_rank"] == "adaptive":
            approximation = widened(approximation, self._moments.second, self._mean_size)
        dtype = self._dtype
        self.factors_ = LowRankFactors(
            approximation.factors.left.astype(dtype), approximation.factors.right.astype(dtype)
        )
        self.residual_ = approximation.residual.astype(dtype)
        self.sketch_ = approximation.sketch.astype(dtype)
        self._probes = (approximation.residual @ self._omega).astype(dtype)
        split = approximation.split
        self.structure_ = split.structure
        self.rank_, self.dynamic_rank_ = split.rank, split.dynamic_rank
        self.cost_ratio_, self.calibration_error_ = split.cost_ratio, split.error
        self.search_ = approximation.search
        self.second_moment_ = self._moments.second
        self._last: dict[str, float] = {}

    def _product(self, group: np.ndarray) -> Any:
        """The product of one group, at the rank that the budget or its own probes allow."""
        probes = self._probes if self._probes.shape[1] else None
        if self._settings["dynamic_rank"] != "adaptive" or len(group) == 1:
            width = self._approximation.rank_for(len(group))
            return corrected_product(
                group, self.residual_, self.factors_, self.sketch_[:, :width], probes
            )
        tolerance = self._settings["tolerance"] or max(self.calibration_error_, 1e-6)
        return grown_product(
            group, self.residual_, self.factors_, self.sketch_, self._probes, tolerance, BLOCK
        )

    def _cost_of(self, n: int, width: int) -> int:
        """Multiply-adds of a group; a basis of all its rows stands for the whole product."""
        a, b = self.residual_.shape
        p = self._probes.shape[1]
        if width == n > 1:
            return matmul_cost(n, a, b, self.rank_, n_probes=p) + n * a * b
        return matmul_cost(n, a, b, self.rank_, width, n_probes=p)


BLOCK = 4  # columns by which an adaptive correction grows
