"""Which maps to start from, method by method, with a rule for when one is enough."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from tqdm.auto import tqdm

from skfrontier.algos.geometry.procrustes_wasserstein.continuation import continued
from skfrontier.algos.geometry.procrustes_wasserstein.enumeration import (
    neighbour_scale,
    ranked_signs,
    signs_by_neighbours,
)
from skfrontier.algos.geometry.procrustes_wasserstein.frank_wolfe import frank_wolfe_start
from skfrontier.algos.geometry.procrustes_wasserstein.large_start import (
    hard_matching_suffices,
    refine_hard,
    refine_soft,
    sample_size,
)
from skfrontier.algos.geometry.procrustes_wasserstein.nearest_rows import (
    DENSE_ENTRIES,
    NearestRows,
)
from skfrontier.algos.geometry.procrustes_wasserstein.rigid_map import polar_factor
from skfrontier.algos.geometry.procrustes_wasserstein.settings import Settings
from skfrontier.algos.geometry.procrustes_wasserstein.sign_free import (
    AxisModel,
    is_settled,
    soft_start,
)
from skfrontier.algos.geometry.procrustes_wasserstein.sinkhorn import AnchorPairs

SAME_MAP = 0.05  # largest entry by which two maps differ that count as one
_FRANK_WOLFE_ROWS = 1500
_ANCHOR_ROUNDS = 15


@dataclass(frozen=True, eq=False)
class Start:
    """A map between the axes to start from; ``residual`` ranks it, lower is better."""

    rotation: np.ndarray
    residual: float
    method: str
    n_directions: int = 0


@dataclass(frozen=True, eq=False)
class Starts:
    """What was found, best first, and whether one of them convinced by itself."""

    found: list[Start]
    settled: bool


def find_starts(
    A: np.ndarray,
    B: np.ndarray,
    model: AxisModel,
    settings: Settings,
    anchors: AnchorPairs,
    rng: np.random.Generator,
    *,
    proper: bool,
) -> Starts:
    """Starts of ``settings.method`` on the common axes; deterministic given the generator."""
    method = settings.method
    if method == "random":
        return Starts(_random_starts(A.shape[1], settings.n_candidates, rng), False)
    if method == "frank-wolfe":
        return Starts([_frank_wolfe(A, B)], False)
    anchored = _anchored(A, B, anchors)
    if len(A) * len(B) > DENSE_ENTRIES:
        found, settled = _large(A, B, model, settings, rng, proper=proper)
    else:
        found, settled = _sign_free(A, B, model, settings, anchors, rng)
        if not settled:
            found += _enumerated(A, B, settings, anchors, rng, proper=proper)
            if method == "auto" and len(B) <= _FRANK_WOLFE_ROWS:
                found.append(_frank_wolfe(A, B))
    ranked = sorted(anchored + found, key=lambda start: start.residual)
    return Starts(ranked, settled)


def distinct_starts(starts: list[Start], margin: float) -> list[Start]:
    """The best start, and those within a factor of its residual that differ from it."""
    best = starts[0]
    others = [
        start
        for start in starts[1:]
        if start.residual <= margin * best.residual and not same_map(start, best)
    ]
    return [best, *others]


def same_map(one: Start, other: Start) -> bool:
    """Whether two starts ended in one map."""
    return float(np.abs(one.rotation - other.rotation).max()) < SAME_MAP


def _sign_free(
    A: np.ndarray,
    B: np.ndarray,
    model: AxisModel,
    settings: Settings,
    anchors: AnchorPairs,
    rng: np.random.Generator,
) -> tuple[list[Start], bool]:
    """Sign-free starts until one is settled or two agree; batches of n_jobs, judged in order."""
    seed = int(rng.integers(2**63))
    found: list[Start] = []
    for batch in _batches(settings):
        tasks = (delayed(soft_start)(A, B, model, i, seed, anchors) for i in batch)
        for soft in Parallel(n_jobs=settings.n_jobs, prefer="threads")(tasks):
            start = Start(soft.rotation, float(soft.axis_variances.sum()), "sign-free")
            agreed = any(same_map(start, other) for other in found)
            found.append(start)
            if is_settled(soft, model) or agreed:
                return found, True
    return found, False


def _batches(settings: Settings) -> Iterator[range]:
    size = effective_n_jobs(settings.n_jobs)
    firsts = range(0, settings.n_candidates, size)
    for first in tqdm(firsts, desc="starts", disable=not settings.verbose):
        yield range(first, min(first + size, settings.n_candidates))


def _enumerated(
    A: np.ndarray,
    B: np.ndarray,
    settings: Settings,
    anchors: AnchorPairs,
    rng: np.random.Generator,
    *,
    proper: bool,
) -> list[Start]:
    n_axes = A.shape[1]
    candidates = ranked_signs(
        A,
        B,
        settings.directions((3, 5), n_axes),
        settings.n_candidates,
        rng,
        proper=1.0 if proper else None,
    )

    def refine(k: int, signs: np.ndarray) -> Start:
        temperature = neighbour_scale(B[:, :k]) / k
        rotation, left = continued(A, B, signs, temperature, anchors)
        return Start(rotation, n_axes * left, "enumeration", k)

    tasks = (delayed(refine)(k, signs) for k, signs in candidates)
    return Parallel(n_jobs=settings.n_jobs, prefer="threads")(tasks)


def _large(
    A: np.ndarray,
    B: np.ndarray,
    model: AxisModel,
    settings: Settings,
    rng: np.random.Generator,
    *,
    proper: bool,
) -> tuple[list[Start], bool]:
    """Sign vectors by neighbours, refined on a sample of rows."""
    n_axes = A.shape[1]
    (k, *_) = settings.directions((4,), n_axes)
    sample = A[rng.permutation(len(A))[: sample_size(len(A), n_axes)]]
    search = NearestRows(B)
    hard = hard_matching_suffices(A, model)
    found = []
    for signs in signs_by_neighbours(A, B, k, rng, proper=1.0 if proper else None):
        if hard:
            rotation, residual = refine_hard(sample, signs, search)
        else:
            rotation, residual = refine_soft(sample, signs, search, settings.n_neighbors)
        found.append(Start(rotation, n_axes * residual, "enumeration", k))
    best = min(start.residual for start in found)
    return found, best <= 2 * n_axes * model.variance


def _anchored(A: np.ndarray, B: np.ndarray, anchors: AnchorPairs) -> list[Start]:
    """The map of the anchors: signs where they are few, Procrustes where they determine it."""
    if len(anchors) == 0:
        return []
    n_axes = A.shape[1]
    moment = B[anchors.columns].T @ A[anchors.rows]
    if len(anchors) < n_axes or np.linalg.matrix_rank(A[anchors.rows]) < n_axes:
        rotation = np.diag(np.where(np.diag(moment) < 0, -1.0, 1.0))
    else:
        rotation, _ = polar_factor(moment)
    if len(A) * len(B) > DENSE_ENTRIES:
        return [Start(rotation, 0.0, "anchors")]
    some = A[:: max(1, len(A) // 500)] @ rotation.T
    temperature = float(np.median(NearestRows(B).nearest(some)[0])) / n_axes
    rotation, left = continued(
        A, B, rotation, max(temperature, 1e-300), anchors, n_final=_ANCHOR_ROUNDS
    )
    return [Start(rotation, n_axes * left, "anchors")]


def _random_starts(n_axes: int, count: int, rng: np.random.Generator) -> list[Start]:
    """Rotations drawn uniformly."""
    draws = (polar_factor(rng.standard_normal((n_axes, n_axes)))[0] for _ in range(count))
    return [Start(rotation, 0.0, "random") for rotation in draws]


def _frank_wolfe(A: np.ndarray, B: np.ndarray) -> Start:
    rotation = frank_wolfe_start(A, B)
    distance, _ = NearestRows(B).nearest(A @ rotation.T)
    return Start(rotation, float(distance.mean()), "frank-wolfe")
