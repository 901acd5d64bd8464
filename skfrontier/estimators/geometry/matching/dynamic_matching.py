"""The estimator: minimum-cost matching of two point sets that change."""

import contextlib
import logging
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skfrontier.algos._interrupts import undivided
from skfrontier.algos._validation import check_count, check_flag, check_generator, check_interval
from skfrontier.algos.geometry.matching.certificate import MatchingResult, relative_gap
from skfrontier.algos.geometry.matching.exact import DualMatching
from skfrontier.algos.geometry.matching.geometric import GeometricMatching
from skfrontier.algos.geometry.matching.hub_flow import HubMatching
from skfrontier.algos.geometry.matching.matrix_cache import CachedMatching
from skfrontier.estimators.geometry.matching.changes import Change, checked_change
from skfrontier.estimators.geometry.matching.engines import chosen_method, new_engine
from skfrontier.estimators.geometry.matching.live_ids import LiveIds, as_array
from skfrontier.estimators.geometry.matching.parameters import (
    check_frozen,
    check_parameters,
    checked_certify,
    checked_side,
    frozen_parameters,
)
from skfrontier.estimators.geometry.matching.point_kinds import (
    IndexPoints,
    ObjectPoints,
    VectorPoints,
    point_kind,
)

_TRANSFORMS = 4e7  # pairs up to which 'auto' computes two c-transforms
_log = logging.getLogger(__name__)


class DynamicMatching(BaseEstimator):
    """Minimum-cost bipartite matching and Wasserstein distance under insertions and deletions.

    Two sets of points A and B change all the time; the cheapest matching of all points of the smaller one,
    its cost and a certified lower bound are kept up to date.

    Parameters
    ----------
    p : float, default=1.0
        A pair costs ``distance ** p``; at least 1.
    metric : str or callable, default='euclidean'
        'euclidean', 'manhattan', 'chebyshev', 'minkowski', 'sqeuclidean' (the square, with p=1; exact and
        anytime only), 'precomputed' (points are indices into ``metric_params['D']``) or a function
        ``(x, y) -> float`` of any objects; with an attribute ``vectorized = True`` it is called as
        ``(x, list of y)`` and returns an array.
    metric_params : dict or None, default=None
        ``{'p': q}`` for 'minkowski', ``{'D': matrix}`` for 'precomputed'. The triangle inequality is not
        checked; the factor of 'metric' needs it.
    method : {'auto', 'exact', 'anytime', 'metric', 'geometric'}, default='auto'
        'exact' is optimal. 'anytime' bounds the work of an update and is certified afterwards. 'metric' has a
        proven factor in any metric and needs no matrix. 'geometric' is for many points in few dimensions
        and p=1. 'auto': exact up to 5000 points a side and for one feature, beyond that geometric (p=1, at
        most four features) or metric.
    stretch : int, default=2
        Levels k of 'metric': a factor of at most 2k, about ``k n^(1 + 1/k)`` arcs.
    grid_ratio : {2, 4, 8, 16}, default=2
        Of the sides of cells, for 'geometric'.
    n_levels : int or None, default=None
        Levels of the grid; None: enough for the number of points.
    bounds : pair of array-like or None, default=None
        Lowest and highest coordinates to expect, for 'geometric'; points outside cost a rebuild.
    n_candidates : int, default=24
        Near points that a chain looks at; 0 keeps the matching inside grid cells alone.
    chain_depth, max_chains : int, default=64 and 8
        Length of a chain, and chains an update.
    max_scans : int, default=64
        Rows of distances that a search of 'anytime' may look at.
    search : {'auto', 'dense', 'tree'}, default='auto'
        How 'exact' scans rows: all distances of a row, vectorized, or with trees that rule most of them out.
        The results are the same. 'auto': trees from 4096 points a side and up to three features.
    lazy : bool, default=True
        Whether `insert` and `delete` leave the work to the next query; blocks are cheaper then.
    certify : {'auto', 'dual', 'cheap'} or False, default='auto'
        How the lower bound is computed. 'exact' and 'anytime' have it at hand. For 'metric', 'auto' costs up
        to two c-transforms where both sides have few points, 'dual' always. For 'geometric', 'auto' runs an
        auction at the first query and keeps its prices up to date from then on (up to four features and
        4e8 pairs; beyond that c-transforms of few points), and 'dual' does the same in finer steps, for every
        query and any number of points. 'cheap' costs little. False: the bound is 0.
    random_state : int, Generator, RandomState or None, default=None
        Of the sample of 'metric' and of the shift of the grid.
    n_jobs : int or None, default=None
        Threads for certificates.
    verbose : int, default=0
        From 1 on a change of method is logged.

    Attributes
    ----------
    cost_, wp_cost_ : float
        Sum of ``distance ** p`` over the pairs, and its root ``cost_ ** (1 / p)``.
    lower_bound_, gap_ : float
        No matching is cheaper than the bound; ``gap_ = cost_ / lower_bound_ - 1``.
    n_a_, n_b_ : int
        Number of points.
    method_ : str
        What runs.
    guarantee_ : float or None
        Proven factor of ``wp_cost_``: 1 for 'exact', that of `stretch_bound` for 'metric'.
    potentials_ : tuple of two float64 arrays
        Feasible dual potentials of A and B, in the order of `ids`.
    n_scans_, n_searches_ : int
        Rows, nodes or chain steps looked at, and searches or chains, since the fit.
    n_refits_ : int
        How often the state was made anew without being asked: for rounding or a point outside the bounds.
    n_features_in_ : int
        Number of features; 1 for indices and objects.

    Notes
    -----
    **Exact** keeps optimal dual potentials and repairs them by one or two shortest-path searches a change,
    O(s n d) for s scanned rows; proven, and checked by its own bound. Distances are in float64 whatever comes
    in. Those of a callable are computed once and kept, as n_a n_b floats; all other metrics need O(n d)
    memory. **Anytime** keeps the same potentials feasible; its gap is certified, not bounded beforehand.
    **Metric** has factor ``stretch_bound(stretch, p)`` for each state, proven by the distance-oracle
    construction of Thorup and Zwick; it is this library's reconstruction of a dynamic algorithm with factor
    2k (1 + eps). **Geometric** has expected cost at most ``s d L`` times the best plus a leaf term
    (proven for the floor that it never exceeds); that it stays near the best is observed. Its bound is
    valid at any time (proven); after an auction with step eps the gap is at most about eps mean edges a pair,
    and its pairs are taken where they are cheaper, so a certified query has a better matching.

    With unequal sizes the matching uses the best points of the larger side. Its cost is then not a
    Wasserstein distance; see `wasserstein_distance`.

    References
    ----------
    R. Jonker, A. Volgenant: A shortest augmenting path algorithm for dense and sparse linear assignment
    problems. Computing 38 (1987).

    G. A. Mills-Tettey, A. Stentz, M. B. Dias: The dynamic Hungarian algorithm for the assignment problem
    with changing costs. CMU-RI-TR-07-27 (2007).

    M. Thorup, U. Zwick: Approximate distance oracles. J. ACM 52 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.estimators import DynamicMatching
    >>> rng = np.random.default_rng(0)
    >>> model = DynamicMatching().fit(rng.random((200, 2)), rng.random((210, 2)))
    >>> new_ids, _ = model.update(delete_a=model.ids("a")[:2], insert_a=rng.random((2, 2)))
    >>> new_ids
    array([200, 201])
    >>> result = model.query()
    >>> len(result.ids_a), bool(result.gap < 1e-9)
    (200, True)
    """

    def __init__(
        self,
        *,
        p=1.0,
        metric="euclidean",
        metric_params=None,
        method="auto",
        stretch=2,
        grid_ratio=2,
        n_levels=None,
        bounds=None,
        n_candidates=24,
        chain_depth=64,
        max_chains=8,
        max_scans=64,
        search="auto",
        lazy=True,
        certify="auto",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.method = method
        self.stretch = stretch
        self.grid_ratio = grid_ratio
        self.n_levels = n_levels
        self.bounds = bounds
        self.n_candidates = n_candidates
        self.chain_depth = chain_depth
        self.max_chains = max_chains
        self.max_scans = max_scans
        self.search = search
        self.lazy = lazy
        self.certify = certify
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _answers: dict[str, Any]  # what has been computed since the last change

    # Changes.

    def fit(self, A, B, *, ids_a=None, ids_b=None) -> Self:
        """Match two point sets, and forget what was before.

        Parameters
        ----------
        A, B : array-like of shape (n_a, n_features) and (n_b, n_features)
            The points: rows; indices with ``metric='precomputed'``; objects with a callable.
        ids_a, ids_b : sequence of hashable or None, default=None
            Names of the points; None: 0, 1, 2, ...

        Returns
        -------
        self : DynamicMatching
        """
        fresh = _blank(self)
        fresh._begin()
        change = checked_change(fresh._kind, fresh._ids, {0: A, 1: B}, {0: ids_a, 1: ids_b}, {})
        fresh._make(change, flush=True)
        fresh._keep_in(self)
        return self

    def insert(self, side, points, ids=None) -> np.ndarray:
        """Add points to a side; without an earlier `fit` both sides start empty.

        Parameters
        ----------
        side : {'a', 'b', 0, 1}
            Where to.
        points : array-like of shape (n_new, n_features)
            The points.
        ids : sequence of hashable or None, default=None
            Their names; None: new integers.

        Returns
        -------
        ndarray of shape (n_new,)
            The ids.
        """
        side = checked_side(side)
        return self._change({side: points}, {side: ids}, {}, flush=not self._lazy())[side]

    def delete(self, side, ids) -> Self:
        """Remove points of a side.

        Parameters
        ----------
        side : {'a', 'b', 0, 1}
            Where from.
        ids : sequence of hashable
            Names of the points.

        Returns
        -------
        self : DynamicMatching
        """
        self._change({}, {}, {checked_side(side): ids}, flush=not self._lazy())
        return self

    def update(
        self,
        *,
        insert_a=None,
        insert_b=None,
        delete_a=None,
        delete_b=None,
        ids_a=None,
        ids_b=None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Remove and add points in one step, and bring the matching up to date.

        Parameters
        ----------
        insert_a, insert_b : array-like or None, default=None
            Points to add.
        delete_a, delete_b : sequence of hashable or None, default=None
            Ids, from before the call, to remove.
        ids_a, ids_b : sequence of hashable or None, default=None
            Names of the new points.

        Returns
        -------
        ids_a, ids_b : ndarray
            Ids of the new points.
        """
        points = {s: new for s, new in ((0, insert_a), (1, insert_b)) if new is not None}
        gone = {s: ids for s, ids in ((0, delete_a), (1, delete_b)) if ids is not None}
        new = self._change(points, {0: ids_a, 1: ids_b}, gone, flush=True)
        empty = np.empty(0, dtype=np.int64)
        return new.get(0, empty), new.get(1, empty)

    def partial_fit(self, X, y) -> Self:
        """Add rows to the sides that ``y`` names.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            The points.
        y : array-like of shape (n_new,)
            0 for side A, 1 for side B.

        Returns
        -------
        self : DynamicMatching
        """
        y = np.asarray(y)
        if y.ndim != 1 or not np.isin(y, (0, 1)).all():
            raise ValueError("y must be one-dimensional and hold 0 (side A) and 1 (side B) only.")
        if len(y) != len(X):
            raise ValueError(
                f"y must have one entry for each of the {len(X)} points, got {len(y)}."
            )
        if isinstance(X, list):
            points = {s: [x for x, side in zip(X, y, strict=True) if side == s] for s in range(2)}
        else:
            points = {s: np.asarray(X)[y == s] for s in range(2)}
        points = {s: rows for s, rows in points.items() if len(rows)}
        self._change(points, {}, {}, flush=not self._lazy())
        return self

    def refine(self, target_gap=0.0, max_searches=None) -> Self:
        """Search on until the gap is small enough; for the methods 'exact' and 'anytime'.

        Parameters
        ----------
        target_gap : float, default=0.0
            The gap to reach.
        max_searches : int or None, default=None
            At most so many searches.

        Returns
        -------
        self : DynamicMatching
        """
        target_gap = check_interval(target_gap, "target_gap", 0, np.inf)
        if max_searches is not None:
            max_searches = check_count(max_searches, "max_searches", 0)
        self._ready()
        if not isinstance(self._engine, DualMatching):
            raise ValueError(
                f"refine works with the methods 'exact' and 'anytime', not {self.method_!r}."
            )
        self._flush()
        self._engine.refine(target_gap, max_searches)
        self._answers = {}
        return self

    def rebuild(self) -> Self:
        """Start again from the present points.

        'metric' samples its hubs anew; 'geometric' shifts its grid, runs chains from every point and improves
        them by auction prices; 'exact' and 'anytime' solve again.

        Returns
        -------
        self : DynamicMatching
        """
        self._ready()
        self._engine.rebuild()
        self._answers = {}
        return self

    # Answers.

    def query(self, *, certify=None) -> MatchingResult:
        """The matching, its cost and a lower bound.

        Parameters
        ----------
        certify : {'auto', 'dual', 'cheap'}, False or None, default=None
            Instead of the parameter of the estimator.

        Returns
        -------
        MatchingResult
        """
        self._flush()
        # first: a certificate may find a better matching
        bound = self._bound(self.certify if certify is None else certify)
        cost, (slots_a, slots_b) = self._cost(), self._pairs()
        ids_a, ids_b = self._ids[0].names(slots_a), self._ids[1].names(slots_b)
        distances = self._distances(slots_a, slots_b)
        order = _sorted_order(ids_a)
        return MatchingResult(
            ids_a[order],
            ids_b[order],
            distances[order],
            cost,
            bound,
            relative_gap(cost, bound),
            self.method_,
            self.guarantee_,
        )

    def wasserstein_distance(self, *, trimmed=False) -> float:
        """Wasserstein distance of the empirical measures, ``(cost_ / n) ** (1 / p)``.

        Parameters
        ----------
        trimmed : bool, default=False
            Whether sizes may differ: the best points of the larger side are used then. That is another
            quantity, and no distance of measures.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If a side is empty, or sizes differ and ``trimmed`` is not set.
        """
        check_flag(trimmed, "trimmed")
        n_a, n_b = self.n_a_, self.n_b_
        if n_a == n_b == 0:
            raise ValueError("both sides are empty: there is no distance.")
        if n_a != n_b and not trimmed:
            raise ValueError(
                f"sizes differ: {n_a} points in A, {n_b} in B. Use trimmed=True for the distance of the "
                "best matching of the smaller side."
            )
        if min(n_a, n_b) == 0:
            raise ValueError(f"a side is empty: {n_a} points in A, {n_b} in B.")
        return (self.cost_ / min(n_a, n_b)) ** (1 / self._power())

    def ids(self, side) -> np.ndarray:
        """Ids of the points of a side, in order of insertion.

        Parameters
        ----------
        side : {'a', 'b', 0, 1}
            Which.

        Returns
        -------
        ndarray
            int64 where all ids are integers, else objects.
        """
        check_is_fitted(self)
        return as_array(list(self._ids[checked_side(side)].slot_of))

    def points(self, side):
        """Points of a side, in the order of `ids`.

        Parameters
        ----------
        side : {'a', 'b', 0, 1}
            Which.

        Returns
        -------
        float64 array of shape (n, n_features), int64 indices of shape (n,), or list of objects
        """
        check_is_fitted(self)
        side = checked_side(side)
        slots = np.array(list(self._ids[side].slot_of.values()), dtype=np.int64)
        return self._kind.given(self._stored(side)[slots])

    def match_of(self, side, ids) -> np.ndarray:
        """Partners of points.

        Parameters
        ----------
        side : {'a', 'b', 0, 1}
            The side of the points asked for.
        ids : sequence of hashable
            Their names.

        Returns
        -------
        ndarray
            Ids of the partners; -1, or None among ids that are no integers, where a point is free.
        """
        self._flush()
        side = checked_side(side)
        slots = self._ids[side].slots(self._ids[side].checked_known(ids, "ids"))
        pairs = self._pairs()
        partner_of = dict(zip(pairs[side].tolist(), pairs[1 - side].tolist(), strict=True))
        partners = [partner_of.get(int(slot), -1) for slot in slots]
        others = self._ids[1 - side]
        numbers = all(type(i) is int for i in others.slot_of)
        names = others.names(np.array([s for s in partners if s >= 0], dtype=np.int64)).tolist()
        found = iter(names)
        return as_array([next(found) if s >= 0 else (-1 if numbers else None) for s in partners])

    # Fitted attributes: work is done when they are read.

    @property
    def cost_(self) -> float:
        """Cost of the matching."""
        self._flush()
        return self._cost()

    @property
    def wp_cost_(self) -> float:
        """``cost_ ** (1 / p)``."""
        return self.cost_ ** (1 / self._power())

    @property
    def lower_bound_(self) -> float:
        """Certified lower bound of the cost of any matching."""
        self._flush()
        return self._bound(self.certify)

    @property
    def gap_(self) -> float:
        """``cost_ / lower_bound_ - 1``."""
        bound = self.lower_bound_  # first: a certificate may find a better matching
        return relative_gap(self.cost_, bound)

    @property
    def n_a_(self) -> int:
        """Number of points in A."""
        check_is_fitted(self)
        return self._engine.n(0)

    @property
    def n_b_(self) -> int:
        """Number of points in B."""
        check_is_fitted(self)
        return self._engine.n(1)

    @property
    def guarantee_(self) -> float | None:
        """Proven factor of ``wp_cost_``, where there is one."""
        check_is_fitted(self)
        if self.method_ == "exact":
            return 1.0
        return self._engine.factor if isinstance(self._engine, HubMatching) else None

    @property
    def potentials_(self) -> tuple[np.ndarray, np.ndarray]:
        """Feasible potentials of both sides, in the order of `ids`."""
        self._flush()
        by_slot = self._engine.potentials()
        result = []
        for side in range(2):
            slots = np.array(list(self._ids[side].slot_of.values()), dtype=np.int64)
            result.append(by_slot[side][np.searchsorted(np.sort(slots), slots)])
        return result[0], result[1]

    @property
    def n_scans_(self) -> int:
        """Rows, nodes or chain steps looked at since the fit."""
        self._flush()
        return self._engine.n_scans

    @property
    def n_searches_(self) -> int:
        """Searches or chains since the fit."""
        self._flush()
        return self._engine.n_searches

    @property
    def n_refits_(self) -> int:
        """How often the state was made anew without being asked."""
        self._flush()
        return self._engine.n_refits

    # How it is done.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_engine")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags

    def _begin(self) -> None:
        """Check the parameters and start with two empty sides."""
        kind = point_kind(self.metric, self.metric_params, self.p)
        check_parameters(self, kind)
        self._kind = kind
        self._rng = check_generator(self.random_state)
        self._ids = (LiveIds(), LiveIds())
        self._frozen = frozen_parameters(self)
        self._answers = {}
        self._decided_for = 0
        if not isinstance(kind, VectorPoints) or isinstance(kind, IndexPoints):
            self._start_engine(1)

    def _start_engine(self, n_features: int) -> None:
        self.n_features_in_ = self._kind.n_features = n_features
        self._choose(0)

    def _choose(self, n: int) -> None:
        self.method_ = chosen_method(self, self._kind, self.n_features_in_, n)
        self._engine = new_engine(self, self._kind, self.method_, self.n_features_in_, self._rng)

    def _lazy(self) -> bool:
        return check_flag(self.lazy, "lazy")

    def _change(self, points: dict, ids: dict, gone: dict, *, flush: bool) -> dict:
        """Make a change, or raise and leave everything as it was."""
        if not hasattr(self, "_ids"):
            if gone:
                raise NotFittedError("nothing has been inserted yet, so nothing can be deleted.")
            fresh = _blank(self)
            fresh._begin()
            new = fresh._make(checked_change(fresh._kind, fresh._ids, points, ids, {}), flush)
            fresh._keep_in(self)
            return new
        check_frozen(self, self._frozen)
        change = checked_change(self._kind, self._ids, points, ids, gone)
        saved = self._saved(flush)
        try:
            with self._interrupts_wait():
                return self._make(change, flush)
        except BaseException:
            if saved is not None:
                self.__dict__.update(saved)
            raise

    def _saved(self, flush: bool) -> dict | None:
        """What a failed change restores: with a user's metric any can fail."""
        engine = getattr(self, "_engine", None)
        if engine is None or isinstance(engine, GeometricMatching):
            return None
        if not isinstance(self._kind, ObjectPoints) and not (
            flush and isinstance(engine, DualMatching)
        ):
            return None
        ids = tuple(side.copy() for side in self._ids)
        return {**self.__dict__, "_engine": engine.snapshot(), "_ids": ids}

    def _interrupts_wait(self) -> contextlib.AbstractContextManager:
        """For changes that are not restored; a user's metric may take long, and can be interrupted."""
        if isinstance(self._kind, ObjectPoints):
            return contextlib.nullcontext()
        return undivided()

    def _make(self, change: Change, flush: bool) -> dict[int, np.ndarray]:
        """Make a change that has been checked."""
        if not hasattr(self, "_engine") and change.points:
            self._start_engine(next(iter(change.points.values())).shape[1])
        stored = {s: self._kind.stored(new) for s, new in change.points.items()}
        self._switch_if_grown(stored, change.leaving)
        slots: dict[int, np.ndarray] = {}
        try:
            for s, rows in stored.items():
                slots[s] = self._engine.insert(s, rows)
        except BaseException:
            for s, done in slots.items():
                self._engine.delete(s, done)
            raise
        for s, old in change.leaving.items():
            self._engine.delete(s, self._ids[s].slots(old))
            self._ids[s].remove(old)
        for s, fresh in slots.items():
            self._ids[s].add(change.names[s], fresh)
        self._answers = {}
        if flush and self.__sklearn_is_fitted__():
            self._flush()
        return {s: as_array(new) for s, new in change.names.items()}

    def _switch_if_grown(self, stored: dict, leaving: dict) -> None:
        """Choose the method again each time the larger side has doubled."""
        sizes = [
            self._engine.n(s) + len(stored.get(s, ())) - len(leaving.get(s, ())) for s in range(2)
        ] if hasattr(self, "_engine") else [0]  # fmt: skip
        if self.method != "auto" or max(sizes) <= 2 * self._decided_for:
            return
        self._decided_for = max(sizes)
        chosen = chosen_method(self, self._kind, self.n_features_in_, max(sizes))
        if chosen == self.method_:
            return
        if self.verbose:
            _log.warning("DynamicMatching goes on with the method %r.", chosen)
        old = [self._stored(s)[list(self._ids[s].slot_of.values())] for s in range(2)]
        self._choose(max(sizes))
        for s in range(2):
            if len(old[s]):
                names = list(self._ids[s].slot_of)
                self._ids[s].add(names, self._engine.insert(s, old[s]))

    def _flush(self) -> None:
        self._ready()
        self._engine.flush()

    def _ready(self) -> None:
        check_is_fitted(self)
        check_frozen(self, self._frozen)

    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        if "pairs" not in self._answers:
            self._answers["pairs"] = self._engine.pairs()
        return self._answers["pairs"]

    def _cost(self) -> float:
        if "cost" not in self._answers:
            self._answers["cost"] = self._engine.cost()
        return self._answers["cost"]

    def _bound(self, certify) -> float:
        mode = checked_certify(certify)
        if mode is False:
            return 0.0
        if mode not in self._answers:
            self._answers[mode] = min(self._new_bound(mode), self._cost())
        return self._answers[mode]

    def _new_bound(self, mode: str) -> float:
        if isinstance(self._engine, HubMatching):
            few = self._engine.n(0) * self._engine.n(1) <= _TRANSFORMS
            return self._engine.lower_bound(mode == "dual" or (mode == "auto" and few), self.n_jobs)
        if isinstance(self._engine, GeometricMatching):
            bound = self._engine.lower_bound(mode, self.n_jobs)
            for name in (
                "cost",
                "pairs",
            ):  # the search for a bound may have found a better matching
                self._answers.pop(name, None)
            return bound
        return self._engine.lower_bound()

    def _distances(self, slots_a: np.ndarray, slots_b: np.ndarray) -> np.ndarray:
        if isinstance(self._engine, CachedMatching):
            return self._engine.cost_of.matrix[slots_a, slots_b]
        P, Q = self._stored(0)[slots_a].T, self._stored(1)[slots_b].T
        return self._kind.rows.paired(P, Q)

    def _stored(self, side: int) -> np.ndarray:
        return self._engine.stored(side)

    def _power(self) -> float:
        return float(self.p)

    def _keep_in(self, other: "DynamicMatching") -> None:
        """Hand over the fitted state."""
        state = {k: v for k, v in self.__dict__.items() if k not in self.get_params()}
        for name in [k for k in other.__dict__ if k not in other.get_params()]:
            del other.__dict__[name]
        other.__dict__.update(state)


def _blank(model: DynamicMatching) -> DynamicMatching:
    """The same parameters, the very objects, without a fit."""
    return type(model)(**model.get_params(deep=False))


def _sorted_order(ids: np.ndarray) -> np.ndarray:
    try:
        return np.argsort(ids, kind="stable")
    except TypeError:
        return np.arange(len(ids))
