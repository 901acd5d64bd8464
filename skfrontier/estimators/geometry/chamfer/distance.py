"""Chamfer distance to a fitted reference cloud: queries, clouds as features, and streams."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skfrontier.algos._validation import check_count
from skfrontier.algos.geometry.chamfer.candidates import check_sampling_metric
from skfrontier.algos.geometry.chamfer.distance import check_weights, directed_distance
from skfrontier.algos.geometry.chamfer.exact import apply_power
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.plan import Plan
from skfrontier.algos.geometry.chamfer.reference import Reference
from skfrontier.algos.geometry.chamfer.result import ChamferResult
from skfrontier.algos.geometry.chamfer.scaling import check_directions
from skfrontier.algos.geometry.chamfer.stream import DistanceStream
from skfrontier.estimators.geometry.chamfer.input import read_clouds, read_points


class ChamferDistance(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Chamfer distance of any number of clouds to one fitted reference cloud.

    Quadtrees and searches over the reference are made once, so that a second query pays for its own
    points only. **Large queries give an estimate**: see ``method`` and ``epsilon``.

    Parameters
    ----------
    p : float, default=2.0
        The l_p norm, ``1 <= p <= 2``; larger p by the exact methods only.
    metric : str, default='minkowski'
        'minkowski', 'euclidean', 'sqeuclidean', 'manhattan' or 'angular' (angle over pi).
    power : float, default=1.0
        Exponent of each distance.
    reduction : str, default='sum'
        'sum' over the query points, or their weighted 'mean'.
    method : str, default='auto'
        'auto', 'brute', 'tree', 'grid', 'sample' or 'uniform', as in
        :func:`~skfrontier.algos.chamfer_distance`: 'auto' is exact while that takes about two seconds
        of one core, and samples beyond.
    epsilon : float or None, default=0.05
        Relative error of an estimate; 0 or None asks for exact values.
    delta : float, default=0.05
        Probability with which an estimate may miss ``epsilon``.
    n_trees, n_projections : int, default=2 and 8
        Quadtrees, and projections in each, of the sampler.
    n_slots : int, default=1024
        Number of points kept from a stream.
    random_state : int, RandomState instance or None, default=None
        Seed of trees and draws, taken when fitted: equal queries then get equal answers.
    n_jobs : int or None, default=None
        Number of joblib threads. Results do not depend on it.

    Attributes
    ----------
    reference_ : ndarray of shape (n_reference, n_features)
        The reference points.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the reference was given as a frame with string names.

    See Also
    --------
    skfrontier.algos.chamfer_distance : The same for one pair of clouds, with the guarantee in full.
    TwoPassChamfer : Both clouds streamed.

    Notes
    -----
    Proven, for any data: an estimate is within ``1 +- epsilon`` with probability ``1 - delta``
    (confidence sequence by betting [1]_ on importance-sampled ratios, see
    :func:`~skfrontier.algos.chamfer_distance`). That holds for each answer by itself: the errors of
    several queries, or of several results of one stream, share their seed and need not average out.
    A stream is held in ``n_slots`` rows whatever its length; no sketch of both clouds in one pass can do
    this within any factor, so the reference is stored.

    References
    ----------
    .. [1] Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", Journal of
       the Royal Statistical Society B 86 (2024).
    .. [2] Bakshi, Indyk, Jayaram, Silwal, Waingarten, "A near-linear time algorithm for the Chamfer
       distance", NeurIPS 2023, arXiv:2307.03043.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.estimators import ChamferDistance
    >>> rng = np.random.default_rng(0)
    >>> model = ChamferDistance(reduction="mean", random_state=0).fit(rng.normal(size=(500, 3)))
    >>> near, far = rng.normal(size=(200, 3)), rng.normal(5, 1, size=(200, 3))
    >>> model.query(near) < model.query(far)
    True
    >>> model.transform([near, far]).shape
    (2, 1)
    """

    def __init__(
        self,
        *,
        p=2.0,
        metric="minkowski",
        power=1.0,
        reduction="sum",
        method="auto",
        epsilon=0.05,
        delta=0.05,
        n_trees=2,
        n_projections=8,
        n_slots=1024,
        random_state=None,
        n_jobs=None,
    ):
        self.p = p
        self.metric = metric
        self.power = power
        self.reduction = reduction
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.n_trees = n_trees
        self.n_projections = n_projections
        self.n_slots = n_slots
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Take the reference cloud.

        Parameters
        ----------
        X : array-like of shape (n_reference, n_features)
            Reference points, at least one; float32 stays float32.
        y : None
            Ignored.

        Returns
        -------
        self : ChamferDistance

        Raises
        ------
        ValueError
            If a parameter lies outside its range or the points are not a finite 2-D array.
        """
        plan = self._plan()
        X = self._directions(read_points(self, X, reset=True), plan.metric)
        seed = check_random_state(self.random_state).randint(2**31, size=4)
        self._start(X, plan, seed)
        self.reset()
        return self

    def partial_fit(self, X, y=None):
        """Add points to the reference; a stream under way is kept.

        The parameters in force are those of the last :meth:`fit`.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            More reference points.
        y : None
            Ignored.

        Returns
        -------
        self : ChamferDistance
        """
        if not hasattr(self, "reference_"):
            return self.fit(X)
        X = self._directions(read_points(self, X, reset=False), self._plan_.metric)
        self._start(np.concatenate([self.reference_, X]), self._plan_, self._seed)
        return self

    def query(self, A, weights=None, return_info=False):
        """Chamfer distance from a cloud to the reference.

        Parameters
        ----------
        A : array-like of shape (n_A, n_features)
            Query points; none at all gives 0 for ``reduction='sum'``.
        weights : array-like of shape (n_A,), default=None
            Nonnegative weights.
        return_info : bool, default=False
            Whether to return a :class:`~skfrontier.algos.ChamferResult` as well.

        Returns
        -------
        value : float
            The distance.
        info : ChamferResult
            Only with ``return_info=True``.
        """
        check_is_fitted(self)
        A = self._check_queries(A)
        info = self._distance(A, check_weights(weights, A.shape[0], "weights"))
        return (info.value, info) if return_info else info.value

    def score_samples(self, X):
        """Minus the exact distance (to the ``power``) of each point to the reference.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_points,)
            Higher is closer; the sum is minus the Chamfer distance.
        """
        check_is_fitted(self)
        X = self._directions(read_points(self, X, reset=False), self._plan_.metric)
        return -apply_power(self._reference.nearest(X)[0], self._plan_.metric.power)

    def transform(self, X):
        """Chamfer distance of each of several clouds to the reference.

        Parameters
        ----------
        X : list of arrays, array of shape (n_clouds, n_points, n_features), or (points, offsets)
            The clouds. A 2-D array is read as one point per cloud.

        Returns
        -------
        ndarray of shape (n_clouds, 1)
            The distances.
        """
        check_is_fitted(self)
        clouds = read_clouds(self, X, reset=False)
        clouds = replace(clouds, points=self._directions(clouds.points, self._plan_.metric))
        return np.array([[self._distance(cloud, None).value] for cloud in clouds])

    def observe(self, A, weights=None):
        """Take the next chunk of a stream of query points.

        Parameters
        ----------
        A : array-like of shape (n_points, n_features)
            The chunk.
        weights : array-like of shape (n_points,), default=None
            Nonnegative weights.

        Returns
        -------
        self : ChamferDistance
        """
        check_is_fitted(self)
        check_sampling_metric(self._plan_.metric)
        A = self._check_queries(A)
        weights = check_weights(weights, A.shape[0], "weights")
        self._stream.observe(A, weights, self._reference.trees())
        return self

    def result(self):
        """Chamfer distance of all chunks seen since :meth:`fit` or :meth:`reset`.

        Returns
        -------
        ChamferResult
            With ``epsilon_achieved`` above ``epsilon`` where the slots did not suffice.

        Warns
        -----
        ConvergenceWarning
            If ``epsilon`` was not reached with ``n_slots`` slots.
        """
        check_is_fitted(self)
        info = self._stream.result(
            self._plan_, lambda batch: self._reference.nearest(self._stream.slots.rows[batch])[0]
        )
        warn_unless_reached(info, self._plan_.epsilon)
        return info

    def reset(self):
        """Forget the stream, not the reference.

        Returns
        -------
        self : ChamferDistance
        """
        check_is_fitted(self)
        self._stream = DistanceStream(
            check_count(self.n_slots, "n_slots"),
            self._plan_.metric.power,
            np.random.default_rng(self._seed[::-1]),
        )
        return self

    def _plan(self) -> Plan:
        check_count(self.n_slots, "n_slots")
        return Plan(
            metric=Metric.from_names(self.metric, self.p, self.power),
            method=self.method,
            epsilon=self.epsilon,
            delta=self.delta,
            n_trees=self.n_trees,
            n_projections=self.n_projections,
            reduction=self.reduction,
            n_jobs=self.n_jobs,
        )

    def _start(self, reference: np.ndarray, plan: Plan, seed: np.ndarray) -> None:
        self._plan_ = plan
        self._seed = seed
        self._reference = Reference(reference, plan, np.random.default_rng(seed))
        self.reference_ = reference
        self._n_features_out = 1

    def _check_queries(self, A: Any) -> np.ndarray:
        return self._directions(read_points(self, A, reset=False, min_points=0), self._plan_.metric)

    @staticmethod
    def _directions(X: np.ndarray, metric: Metric) -> np.ndarray:
        return check_directions(X, "X") if metric.angular else X

    def _distance(self, A: np.ndarray, weights: np.ndarray | None) -> ChamferResult:
        rng = np.random.default_rng(self._seed)
        return directed_distance(A, self._reference, weights, self._plan_, rng)


def warn_unless_reached(info: ChamferResult, epsilon: float) -> None:
    """Warn where a stream's slots ran out before the requested relative error was certified."""
    if info.epsilon_achieved > epsilon:
        warnings.warn(
            f"The slots certify a relative error of {info.epsilon_achieved:.3g}, not {epsilon:g}; "
            "raise n_slots (the error falls with its square root), or ask for a larger epsilon.",
            ConvergenceWarning,
            stacklevel=3,
        )
