"""The whole alignment: own axes, starts, exact matching and map in turn, and a look for rivals."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_generator, check_points
from skfrontier.algos.geometry.procrustes_wasserstein.directions import Frames, principal_frames
from skfrontier.algos.geometry.procrustes_wasserstein.exact_assignment import inverted
from skfrontier.algos.geometry.procrustes_wasserstein.ping_pong import (
    Alignment,
    Alternation,
    too_few_matched,
)
from skfrontier.algos.geometry.procrustes_wasserstein.rigid_map import RigidMap, fit_rigid_map
from skfrontier.algos.geometry.procrustes_wasserstein.settings import Settings, check_anchors
from skfrontier.algos.geometry.procrustes_wasserstein.sign_free import AxisModel, axis_model
from skfrontier.algos.geometry.procrustes_wasserstein.sinkhorn import AnchorPairs
from skfrontier.algos.geometry.procrustes_wasserstein.starts import (
    Start,
    Starts,
    distinct_starts,
    find_starts,
)
from skfrontier.algos.geometry.procrustes_wasserstein.symmetry import (
    AMBIGUOUS_GAP,
    AmbiguousAlignmentWarning,
    rival_maps,
)
from skfrontier.algos.geometry.procrustes_wasserstein.theory import (
    RELIABLE_DIRECTIONS,
    cycle_bound,
    direction_information,
    information,
    predict_recovery,
    refitted_variance,
    squared_mixing,
    stray_bound,
)

_NEAR_BEST = 1.5
_OUTLIER_SHARE = 0.75


@dataclass(frozen=True, eq=False)
class ProcrustesWassersteinResult:
    """An alignment, and what is known of its quality.

    Attributes
    ----------
    rotation, translation, scale : ndarray (n_features, n_features), ndarray (n_features,), float
        The map ``x -> scale * rotation @ x + translation`` into the frame of Y.
    assignment : ndarray of shape (n_x,), int64
        Row of Y for each row of X, -1 where unmatched.
    inverse_assignment : ndarray of shape (n_y,), int64
        Row of X for each row of Y, -1 where unmatched.
    cost : float
        Mean squared residual of matched pairs; NaN without any.
    n_matched : int
        Number of matched pairs.
    certified : bool
        Whether the matching was proven optimal for the map that it was solved for.
    cost_gap : float
        Cost of the best rival map over that of this one; infinite if no rival was found, and near 1 for
        symmetric clouds.
    candidate_costs : ndarray
        Of each start, best first: the matched cost, or the soft residual where no exact matching was run.
    noise_variance : float
        Estimated variance of the noise in each coordinate.
    information : float
        Information of a matched pair in nats, see `information`.
    failure_bound : float
        `cycle_bound` at the estimated noise, inflated for the fitted rotation; plus, where rows stay
        unmatched, the expected number of rows that lie nearer to one of them than to their partner. 1
        where the pairs are too few to leave residuals under any map.
    recovery : str
        'exact', 'almost' or 'unreliable', see `predict_recovery`.
    mixing_angles : ndarray
        Predicted standard deviation of the mixing angle of adjacent axes, in radians.
    eigenvalues_x, eigenvalues_y : ndarray
        Variances along the principal axes.
    n_directions : int
        Axes whose signs were enumerated; 0 if none were.
    n_iter : int
        Matchings solved from the winning start.
    method : str
        Where the winner started: 'sign-free', 'enumeration', 'anchors', 'frank-wolfe', 'random',
        'identity', or 'symmetry' if it was a flip of another one.
    """

    rotation: np.ndarray
    translation: np.ndarray
    scale: float
    assignment: np.ndarray
    inverse_assignment: np.ndarray
    cost: float
    n_matched: int
    certified: bool
    cost_gap: float
    candidate_costs: np.ndarray
    noise_variance: float
    information: float
    failure_bound: float
    recovery: str
    mixing_angles: np.ndarray
    eigenvalues_x: np.ndarray
    eigenvalues_y: np.ndarray
    n_directions: int
    n_iter: int
    method: str


def procrustes_wasserstein(
    X: Any, Y: Any, *, anchors: Any = None, random_state: Any = None, **options: Any
) -> ProcrustesWassersteinResult:
    """Match the rows of two clouds and find the rigid map between them, without paired rows.

    Parameters
    ----------
    X, Y : array-like of shape (n_x, n_features) and (n_y, n_features)
        Two clouds of at least two points each.
    anchors : array-like of shape (m, 2), int, or None, default=None
        Pairs of rows (of X, of Y) that are known to match.
    random_state : int, Generator, RandomState or None, default=None
        Seed of restarts and samples.
    **options
        ``method``, ``n_directions``, ``n_candidates``, ``allow_reflection``, ``translation``, ``scaling``,
        ``outlier_cost``, ``n_neighbors``, ``matching``, ``refine``, ``max_iter``, ``tol``, ``n_jobs`` and
        ``verbose`` as in :class:`~skfrontier.estimators.ProcrustesWasserstein`.

    Returns
    -------
    ProcrustesWassersteinResult

    Raises
    ------
    ValueError, TypeError
        If a cloud or an option is not as described.

    Warns
    -----
    AmbiguousAlignmentWarning
        If another map with another matching costs less than 5 % more.
    UserWarning
        If directions carry too little, clouds have too few points, or too few pairs are left to fit a map.

    Notes
    -----
    The last matching is exact for its map where ``certified``; that the map is the best one is observed,
    not proven. See the user guide for when to expect it.

    References
    ----------
    .. [1] Even, Ganassali, Maier, Massoulie, "Aligning embeddings and geometric random graphs",
       NeurIPS 2024, arXiv:2405.14532.

    Examples
    --------
    >>> from skfrontier.algos import matching_accuracy, procrustes_wasserstein
    >>> from skfrontier.datasets import make_procrustes_wasserstein
    >>> data = make_procrustes_wasserstein(200, 10, noise=0.05, random_state=0)
    >>> result = procrustes_wasserstein(data.X, data.Y, random_state=0)
    >>> matching_accuracy(result.assignment, data.assignment), result.recovery
    (1.0, 'exact')
    """
    settings = Settings.checked(**options)
    X, Y = check_points(X, "X", min_points=2), check_points(Y, "Y", min_points=2)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X and Y must have the same number of features, got {X.shape[1]} and {Y.shape[1]}."
        )
    pairs = check_anchors(anchors, len(X), len(Y))
    rng = check_generator(random_state)
    return align(X, Y, settings, pairs, rng)


def align(
    X: np.ndarray,
    Y: np.ndarray,
    settings: Settings,
    anchors: AnchorPairs,
    rng: np.random.Generator,
) -> ProcrustesWassersteinResult:
    """`procrustes_wasserstein` on checked input."""
    swapped = len(X) > len(Y)
    first, second = (Y, X) if swapped else (X, Y)
    if swapped:
        anchors = AnchorPairs(anchors.columns, anchors.rows)
    frames = principal_frames(
        first, second, translation=settings.translation, scaling=settings.scaling
    )
    if min(len(X), len(Y)) <= X.shape[1] or frames.rank < X.shape[1]:
        warnings.warn(
            f"the clouds share {frames.rank} axes of variation among {X.shape[1]} features and "
            f"{len(first)} points: the rotation is one of several that fit equally well. The matching is "
            "not affected; drop constant columns or reduce both clouds where the rotation matters.",
            UserWarning,
            stacklevel=3,
        )
    search = _Search(frames, settings, anchors, rng)
    winner, method, gap, costs, starts = search.run()
    assignment = winner.assignment
    if swapped:
        assignment = inverted(assignment, len(X))
    result = _described(
        X, Y, assignment, settings, _input_map(frames, winner.map, swapped), frames, swapped
    )
    used = next((s.n_directions for s in starts.found if s.method == method), 0)
    result = replace(
        result,
        certified=winner.certified,
        cost_gap=gap,
        candidate_costs=costs,
        n_directions=used,
        n_iter=winner.n_iter,
        method=method,
    )
    _warn(result, starts, settings, frames, search.model)
    return result


class _Search:
    """Starts, their alternations and their rivals, between the axes of both clouds."""

    def __init__(
        self,
        frames: Frames,
        settings: Settings,
        anchors: AnchorPairs,
        rng: np.random.Generator,
    ) -> None:
        self.settings, self.anchors, self.rng, self.frames = settings, anchors, rng, frames
        self.A = frames.A.astype(np.float64, copy=False)
        self.B = frames.B.astype(np.float64, copy=False)
        self.n_axes = self.A.shape[1]
        spanning = self.n_axes == frames.U.shape[0]
        self.proper = spanning and not settings.allow_reflection
        r = frames.rank
        self.leading_a = np.ascontiguousarray(self.A[:, :r])
        self.leading_b = np.ascontiguousarray(self.B[:, :r])
        share = 1.0 if settings.outlier_cost is None else _OUTLIER_SHARE
        self.model: AxisModel = axis_model(self.leading_a, self.leading_b, common_share=share)
        self.alternation = Alternation(self.A, self.B, settings, anchors, self.proper)

    def run(self) -> tuple[Alignment, str, float, np.ndarray, Starts]:
        """Winner, where it came from, the gap to its best rival, the costs of all starts, the starts."""
        starts = self._starts()
        chosen = distinct_starts(starts.found, _NEAR_BEST)
        aligned = [(self.alternation.run(self._start_map(s.rotation)), s.method) for s in chosen]
        exact = {id(start): found.total for start, (found, _) in zip(chosen, aligned, strict=True)}
        costs = np.array([exact.get(id(start), start.residual) for start in starts.found])
        best = min(range(len(aligned)), key=lambda place: aligned[place][0].total)
        if self.settings.method != "identity":
            rivals = rival_maps(
                self.A,
                aligned[best][0].map,
                self.alternation.search,
                self.model.tau2,
                self.rng,
                proper=self.proper,
            )
            aligned += [(self.alternation.run(rival), "symmetry") for rival in rivals]
        best = min(range(len(aligned)), key=lambda place: aligned[place][0].total)
        winner, method = aligned[best]
        return winner, method, self._gap(winner, [found for found, _ in aligned]), costs, starts

    def _starts(self) -> Starts:
        if self.settings.method == "identity":
            rotation = self.frames.V.T @ self.frames.U
            return Starts([Start(rotation, 0.0, "identity")], True)
        return find_starts(
            self.leading_a,
            self.leading_b,
            self.model,
            self.settings,
            self.anchors,
            self.rng,
            proper=self.proper,
        )

    def _start_map(self, leading: np.ndarray) -> RigidMap:
        """A map of all axes; where only proper rotations may come, the best one near it."""
        rotation = np.eye(self.n_axes)
        rotation[: len(leading), : len(leading)] = leading
        if self.proper and np.linalg.det(rotation) < 0:
            rotation = self._best_flip(rotation)
        return RigidMap(rotation, np.zeros(self.n_axes), 1.0)

    def _best_flip(self, rotation: np.ndarray) -> np.ndarray:
        """The improper map with one axis turned round: the axis after which the clouds fit best."""
        some = self.A[:: max(1, len(self.A) // 200)]
        flips = [
            rotation * np.where(np.arange(self.n_axes) == j, -1, 1) for j in range(self.n_axes)
        ]
        search = self.alternation.search
        return min(flips, key=lambda flip: float(search.nearest(some @ flip.T)[0].mean()))

    def _gap(self, winner: Alignment, aligned: list[Alignment]) -> float:
        """Cost of the best alignment that pairs most rows otherwise, over that of the winner."""
        rivals = [
            found.total for found in aligned if (found.assignment == winner.assignment).mean() < 0.5
        ]
        if not rivals:
            return np.inf
        tiny = 1e-12 * float((self.B**2).sum()) / len(self.B)
        tiny = max(tiny, np.finfo(float).tiny)
        return (min(rivals) + tiny) / (winner.total + tiny)


def _input_map(frames: Frames, found: RigidMap, swapped: bool) -> RigidMap:
    """The map of the inputs, where the axes span their space; else a stand-in of the right shape."""
    rotation = frames.V @ found.rotation @ frames.U.T
    scale = found.scale * frames.scale
    shift = frames.V @ found.translation + frames.y_mean - scale * rotation @ frames.x_mean
    whole = RigidMap(rotation, shift, scale)
    return whole.invert() if swapped else whole


def _described(
    X: np.ndarray,
    Y: np.ndarray,
    assignment: np.ndarray,
    settings: Settings,
    fallback: RigidMap,
    frames: Frames,
    swapped: bool,
) -> ProcrustesWassersteinResult:
    """Refit the map on the matched pairs as they were given, and say what it is worth."""
    rows = np.flatnonzero(assignment >= 0)
    n_matched, n_features = len(rows), X.shape[1]
    found, cost = fallback, np.nan
    if n_matched:
        if settings.refine or not _is_orthogonal(fallback.rotation):
            found = fit_rigid_map(
                X[rows],
                Y[assignment[rows]],
                allow_reflection=settings.allow_reflection,
                translation=settings.translation,
                scaling=settings.scaling,
            )
        cost = _mean_residual(X[rows], Y[assignment[rows]], found)
    lam_x = frames.eigenvalues_y if swapped else frames.eigenvalues_x
    lam_y = frames.eigenvalues_x if swapped else frames.eigenvalues_y
    noise = _noise_variance(cost, n_matched, n_features, settings)
    lam = np.maximum(lam_x * found.scale**2, 0.0)
    floor = max(
        noise, 1e-24 * float(lam.sum()), np.finfo(float).tiny
    )  # noiseless: very informative
    label = "unreliable"
    bound, carried = 1.0, 0.0
    if n_matched > 1 and lam.sum() > 0:
        carried = information(lam, floor)
    # A map that passes through all pairs says nothing of the noise: no bound then.
    if carried > 0 and _residual_freedom(n_matched, n_features, settings) > 0:
        inflated = refitted_variance(floor, n_matched, n_features)
        strays = stray_bound(lam, inflated, n_matched, max(len(X), len(Y)) - n_matched)
        bound = min(1.0, cycle_bound(lam, inflated, n_matched) + strays)
        label = predict_recovery(lam, floor, n_matched)
        if label == "exact" and bound > 0.05:  # free rows of the larger cloud are in the way
            label = "almost"
    tau = np.sqrt(squared_mixing(lam, floor, len(X), len(Y), min(len(X), len(Y))))
    return ProcrustesWassersteinResult(
        rotation=found.rotation,
        translation=found.translation,
        scale=found.scale,
        assignment=assignment,
        inverse_assignment=inverted(assignment, len(Y)),
        cost=cost,
        n_matched=n_matched,
        certified=False,
        cost_gap=np.inf,
        candidate_costs=np.zeros(0),
        noise_variance=noise,
        information=carried,
        failure_bound=bound,
        recovery=label,
        mixing_angles=np.diagonal(tau, 1).copy(),
        eigenvalues_x=lam_x,
        eigenvalues_y=lam_y,
        n_directions=0,
        n_iter=0,
        method="",
    )


def _is_orthogonal(rotation: np.ndarray) -> bool:
    return bool(np.allclose(rotation @ rotation.T, np.eye(len(rotation)), atol=1e-8))


def _mean_residual(X: np.ndarray, Y: np.ndarray, found: RigidMap) -> float:
    residual = found.apply(X.astype(np.float64)) - Y
    return float(np.einsum("ij,ij->", residual, residual)) / len(X)


def _residual_freedom(n: int, n_features: int, settings: Settings) -> float:
    """Degrees of freedom of the residuals that the map has left; none where it passes through all pairs."""
    taken = n_features * (n_features - 1) / 2
    taken += n_features * settings.translation + settings.scaling
    return max(n * n_features - taken, 0.0)


def _noise_variance(cost: float, n: int, n_features: int, settings: Settings) -> float:
    """Residual variance with the degrees of freedom that the map took; without them where none is left."""
    if n == 0:
        return np.nan
    left = _residual_freedom(n, n_features, settings)
    return n * cost / left if left > 0 else cost / n_features


def _warn(
    result: ProcrustesWassersteinResult,
    starts: Starts,
    settings: Settings,
    frames: Frames,
    model: AxisModel,
) -> None:
    if settings.outlier_cost is not None and too_few_matched(
        result.assignment, len(result.translation)
    ):
        warnings.warn(
            f"only {result.n_matched} pairs are within outlier_cost={settings.outlier_cost:g}: too few "
            "for a map. Give a larger outlier_cost.",
            UserWarning,
            stacklevel=4,
        )
    if result.cost_gap < AMBIGUOUS_GAP:
        warnings.warn(
            f"another map costs only {result.cost_gap:.3f} times as much and pairs most rows otherwise. "
            "Give anchors, or allow_reflection=False if the map is known to be proper.",
            AmbiguousAlignmentWarning,
            stacklevel=4,
        )
    n = len(frames.A)
    lam = frames.eigenvalues_x[: frames.rank] * frames.scale**2
    carried = direction_information(lam, model.variance, n)
    directions_used = settings.method in ("auto", "directions")
    if directions_used and not starts.settled and carried < RELIABLE_DIRECTIONS * np.log(n):
        warnings.warn(
            "no reliable directions: they carry "
            f"{carried:.2g} nats of the {RELIABLE_DIRECTIONS * np.log(n):.2g} that a start usually needs, "
            "and no start convinced. Give anchors, or more points.",
            UserWarning,
            stacklevel=4,
        )
