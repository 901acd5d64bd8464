"""Is another map as good? Flips and turns of the winner that also lay one cloud onto the other."""

from itertools import combinations, product

import numpy as np

from skfrontier.algos.geometry.procrustes_wasserstein.nearest_rows import (
    DENSE_ENTRIES,
    NearestRows,
)
from skfrontier.algos.geometry.procrustes_wasserstein.rigid_map import RigidMap

AMBIGUOUS_GAP = 1.05
_PROBED_AXES = 5
_PROBED_ROWS = 500
_MIXED = 0.35  # mixing angle from which two axes may be any turn of each other
_TURNS = 12
_MARGIN = 1.5
_KEPT = 2


class AmbiguousAlignmentWarning(UserWarning):
    """Another map fits nearly as well: the clouds are symmetric, or the noise hides which map is right."""


def rival_maps(
    A: np.ndarray,
    found: RigidMap,
    search: NearestRows,
    tau2: np.ndarray,
    rng: np.random.Generator,
    *,
    proper: bool,
) -> list[RigidMap]:
    """The best flips and turns whose nearest-neighbour distances are near those of ``found``."""
    some = A[rng.permutation(len(A))[:_PROBED_ROWS]]
    least = float(search.nearest(found.apply(some))[0].mean())
    limit = _MARGIN * least + 1e-12 * float((search.B**2).sum()) / len(search.B)
    rivals = []
    for place, change in enumerate(_changes(tau2, A.shape[1], proper)):
        rotation = found.rotation @ change
        rival = RigidMap(rotation, found.translation, found.scale)
        distance = _mean_distance(rival.apply(some), search, limit)
        if distance <= limit:
            rivals.append((distance, place, rival))
    return [rival for _, _, rival in sorted(rivals, key=lambda entry: entry[:2])[:_KEPT]]


def _mean_distance(moved: np.ndarray, search: NearestRows, limit: float) -> float:
    """Mean squared distance to B; infinite where it is plainly above ``limit``.

    By Markov's inequality a mean within the limit has half of its terms within twice the limit: a
    bounded search on some of the rows tells most maps without their distances.
    """
    if len(moved) * len(search.B) <= DENSE_ENTRIES // 2:
        return float(search.nearest(moved)[0].mean())
    bound = np.sqrt(2 * limit)
    distance, _ = search.tree(search.B.shape[1]).query(moved, distance_upper_bound=bound)
    if np.isfinite(distance).mean() < 0.5:
        return np.inf
    return float(search.nearest(moved)[0].mean())


def _changes(tau2: np.ndarray, n_axes: int, proper: bool) -> list[np.ndarray]:
    """Sign flips of the leading axes, and turns within pairs of axes that are mixed."""
    leading = min(_PROBED_AXES, len(tau2))
    changes = []
    for signs in product((1.0, -1.0), repeat=leading):
        if min(signs) < 0 and (not proper or np.prod(signs) > 0):
            changes.append(np.diag(np.append(signs, np.ones(n_axes - leading))))
    for j, k in combinations(range(leading), 2):
        if tau2[j, k] > _MIXED**2:
            for angle in 2 * np.pi * np.arange(1, _TURNS) / _TURNS:
                turn = np.eye(n_axes)
                turn[[j, k], [j, k]] = np.cos(angle)
                turn[j, k], turn[k, j] = -np.sin(angle), np.sin(angle)
                changes.append(turn)
    return changes
