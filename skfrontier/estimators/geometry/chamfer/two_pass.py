"""Chamfer distance of two streamed clouds, each read twice."""

from collections.abc import Callable, Iterable

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skfrontier.algos._validation import check_count, check_points
from skfrontier.algos.geometry.chamfer.distance import (
    ChamferResult,
    check_weights,
)
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.plan import Plan
from skfrontier.algos.geometry.chamfer.scaling import check_nonzero_rows
from skfrontier.algos.geometry.chamfer.stream import TwoPassStream
from skfrontier.estimators.geometry.chamfer.distance import warn_unless_reached

_STEPS = ("first_reference", "first_query", "second_reference")


class TwoPassChamfer(BaseEstimator):
    """Chamfer distance between two clouds that do not fit in memory, in two passes.

    First pass: all chunks of the reference cloud, then all chunks of the query cloud. Second pass: the
    chunks of the reference cloud again. Memory is ``O((n_slots + n_ref) n_features)``.

    Parameters
    ----------
    p : float, default=2.0
        The l_p norm, ``1 <= p <= 2``.
    metric : str, default='minkowski'
        'minkowski', 'euclidean', 'sqeuclidean', 'manhattan' or 'angular' (angle over pi).
    power : float, default=1.0
        Exponent of each distance.
    reduction : str, default='sum'
        'sum' over the query points, or their weighted 'mean'.
    epsilon : float, default=0.05
        Relative error of the estimate.
    delta : float, default=0.05
        Probability with which it may miss ``epsilon``.
    n_slots : int, default=1024
        Query points kept in the first pass.
    n_ref : int, default=4096
        Reference points kept in the first pass, from which the bounds come.
    n_trees, n_projections : int, default=2 and 8
        Quadtrees, and projections in each, over the kept reference points.
    random_state : int, RandomState instance or None, default=None
        Seed of the reservoirs.
    n_jobs : int or None, default=None
        Number of joblib threads. Results do not depend on it.

    Raises
    ------
    RuntimeError
        If a step is called out of order; the message names the step that is next.
    ValueError
        If a chunk is bad (nothing is changed then), or the second pass brings other points.

    See Also
    --------
    ChamferDistance : The reference cloud in memory, the query cloud streamed.

    Notes
    -----
    Proven: within ``1 +- epsilon`` with probability ``1 - delta`` where ``result`` reports
    ``epsilon_achieved <= epsilon``; the number of slots that this takes depends on the data. A single
    pass cannot give any factor in sublinear memory: deciding whether one point is in the other cloud is
    already the index problem of communication complexity.

    References
    ----------
    .. [1] Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", Journal of
       the Royal Statistical Society B 86 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.estimators import TwoPassChamfer
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.random((4000, 8)), rng.random((6000, 8))
    >>> stream = TwoPassChamfer(epsilon=0.1, random_state=0)
    >>> info = stream.run(lambda: np.array_split(A, 5), lambda: np.array_split(B, 7))
    >>> info.epsilon_achieved <= 0.1
    True
    """

    def __init__(
        self,
        *,
        p=2.0,
        metric="minkowski",
        power=1.0,
        reduction="sum",
        epsilon=0.05,
        delta=0.05,
        n_slots=1024,
        n_ref=4096,
        n_trees=2,
        n_projections=8,
        random_state=None,
        n_jobs=None,
    ):
        self.p = p
        self.metric = metric
        self.power = power
        self.reduction = reduction
        self.epsilon = epsilon
        self.delta = delta
        self.n_slots = n_slots
        self.n_ref = n_ref
        self.n_trees = n_trees
        self.n_projections = n_projections
        self.random_state = random_state
        self.n_jobs = n_jobs

    def reset(self) -> "TwoPassChamfer":
        """Begin anew, forgetting both clouds.

        Returns
        -------
        self : TwoPassChamfer
        """
        for name in ("_stream", "_step"):
            self.__dict__.pop(name, None)
        return self

    def first_reference(self, chunk) -> "TwoPassChamfer":
        """Take a chunk of the reference cloud in the first pass.

        Parameters
        ----------
        chunk : array-like of shape (n_points, n_features)
            Reference points.

        Returns
        -------
        self : TwoPassChamfer
        """
        self._check_step("first_reference")
        stream = self.__dict__.get("_stream") or self._new_stream()
        stream.first_reference(self._check_chunk(chunk, stream))
        self._stream = stream
        self._step = "first_reference"
        return self

    def first_query(self, chunk, weights=None) -> "TwoPassChamfer":
        """Take a chunk of the query cloud.

        Parameters
        ----------
        chunk : array-like of shape (n_points, n_features)
            Query points.
        weights : array-like of shape (n_points,), default=None
            Nonnegative weights.

        Returns
        -------
        self : TwoPassChamfer
        """
        self._check_step("first_query")
        chunk = self._check_chunk(chunk, self._stream)
        weights = check_weights(weights, chunk.shape[0], "weights")
        self._stream.first_query(chunk, weights)
        self._step = "first_query"
        return self

    def second_reference(self, chunk) -> "TwoPassChamfer":
        """Take a chunk of the reference cloud in the second pass.

        Parameters
        ----------
        chunk : array-like of shape (n_points, n_features)
            Reference points, the same as in the first pass, in any order and any chunks.

        Returns
        -------
        self : TwoPassChamfer
        """
        self._check_step("second_reference")
        self._stream.second_reference(self._check_chunk(chunk, self._stream))
        self._step = "second_reference"
        return self

    def result(self) -> ChamferResult:
        """Chamfer distance of the query cloud to the reference cloud.

        Returns
        -------
        ChamferResult
            With ``epsilon_achieved`` above ``epsilon`` where the slots did not suffice.

        Raises
        ------
        ValueError
            If the second pass had another number of points than the first.

        Warns
        -----
        ConvergenceWarning
            If ``epsilon`` was not reached with ``n_slots`` slots.
        """
        if self.__dict__.get("_step") != "second_reference":
            raise RuntimeError(f"result() came too early: {self._expected()}.")
        info = self._stream.result()
        warn_unless_reached(info, self._stream.plan.epsilon)
        return info

    def run(
        self,
        A_factory: Callable[[], Iterable],
        B_factory: Callable[[], Iterable],
    ) -> ChamferResult:
        """Make both passes over chunks that can be read again.

        Parameters
        ----------
        A_factory, B_factory : callable
            Return an iterable of chunks, arrays of shape (n_points, n_features), of the query and the
            reference cloud. ``B_factory`` is called twice.

        Returns
        -------
        ChamferResult
        """
        self.reset()
        for chunk in B_factory():
            self.first_reference(chunk)
        for chunk in A_factory():
            self.first_query(chunk)
        for chunk in B_factory():
            self.second_reference(chunk)
        return self.result()

    def _new_stream(self) -> TwoPassStream:
        plan = Plan(
            metric=Metric.from_names(self.metric, self.p, self.power),
            method="sample",
            epsilon=self.epsilon,
            delta=self.delta,
            n_trees=self.n_trees,
            n_projections=self.n_projections,
            reduction=self.reduction,
            n_jobs=self.n_jobs,
        )
        seed = check_random_state(self.random_state).randint(2**31, size=4)
        return TwoPassStream(
            plan,
            n_slots=check_count(self.n_slots, "n_slots"),
            n_ref=check_count(self.n_ref, "n_ref"),
            random_state=np.random.default_rng(seed),
        )

    def _check_chunk(self, chunk, stream: TwoPassStream) -> np.ndarray:
        chunk = check_points(chunk, "chunk")
        if stream.n_features not in (None, chunk.shape[1]):
            raise ValueError(
                f"chunk has {chunk.shape[1]} features, earlier chunks had {stream.n_features}."
            )
        if stream.plan.metric.angular:
            check_nonzero_rows(chunk, "chunk")
        return chunk

    def _check_step(self, step: str) -> None:
        current = self.__dict__.get("_step")
        position = -1 if current is None else _STEPS.index(current)
        if _STEPS.index(step) not in (position, position + 1):
            raise RuntimeError(f"{step}() is out of order: {self._expected()}.")

    def _expected(self) -> str:
        current = self.__dict__.get("_step")
        if current is None:
            return "first_reference() comes first"
        following = (*_STEPS[1:], "result")[_STEPS.index(current)]
        return f"after {current}() comes more of it, or {following}()"
