"""Conditional likelihood of fibres: rows that differ in a few coordinates only.

A fibre is what the set leaves of the corners of a small face of the cube. Given that a row lies in it, its
law there is ``exp(z.corner)`` over the sum of the allowed corners, for every set. Rows with the same face,
the same allowed corners and the same corner are alike, so counts per cell carry all of the data.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg
from scipy.special import expit

from skfrontier.algos._numba import inner, njit
from skfrontier.algos.statistics.truncated_boolean.enumeration import cube
from skfrontier.algos.statistics.truncated_boolean.rows import dense_chunks

DENSE_LIMIT = 2048  # beyond this many coordinates the curvature stays sparse
PROXIMAL_STEPS = 50  # gradient steps that are allowed for each Newton step that would be


@dataclass(frozen=True)
class FibreCells:
    """Counts of rows by face, allowed corners and corner.

    Attributes
    ----------
    subsets : ndarray of shape (n_cells, t), dtype int64
        The coordinates of the face.
    masks : ndarray of shape (n_cells,), dtype int64
        Bit c: corner c is allowed.
    counts : ndarray of shape (n_cells, 2^t)
        Weight of the rows at each corner.
    """

    subsets: np.ndarray
    masks: np.ndarray
    counts: np.ndarray

    @property
    def total(self) -> float:
        """Weight of all rows, counted once per face."""
        return float(self.counts.sum())

    def informative(self) -> "FibreCells":
        """The cells in which something was seen and something could move."""
        many = (self.masks & (self.masks - 1)) != 0
        return self._where(many & (self.counts.sum(axis=1) > 0))

    def _where(self, chosen: np.ndarray) -> "FibreCells":
        return FibreCells(self.subsets[chosen], self.masks[chosen], self.counts[chosen])


@dataclass(frozen=True)
class Penalty:
    """``smoothing * sum[softplus(z) + softplus(-z)] + l2 |z|^2 / 2``: one pseudo-flip, and a ridge."""

    smoothing: float = 0.0
    l2: float = 0.0

    def value(self, z: np.ndarray) -> float:
        """The penalty."""
        flips = np.logaddexp(0, z) + np.logaddexp(0, -z)
        return float(self.smoothing * flips.sum() + self.l2 / 2 * (z @ z))

    def gradient(self, z: np.ndarray) -> np.ndarray:
        """Its gradient."""
        return self.smoothing * (2 * expit(z) - 1) + self.l2 * z

    def curvature(self, z: np.ndarray) -> np.ndarray:
        """The diagonal of its Hessian."""
        p = expit(z)
        return 2 * self.smoothing * p * (1 - p) + self.l2


def cells_of_pairs(K: np.ndarray, pairs: np.ndarray) -> FibreCells:
    """The non-empty cells of ``pair_counts``."""
    e, masks = np.nonzero(K.sum(axis=2))
    return FibreCells(pairs[e].astype(np.int64), masks.astype(np.int64), K[e, masks])


def count_cells(
    X: Any, truncation: Any, subsets: np.ndarray, weights: np.ndarray | None
) -> FibreCells:
    """Count rows by cell, for faces of 1 to 4 coordinates."""
    size = subsets.shape[1]
    n_corners = 1 << size
    keys, counts = [], []
    for rows, chunk in dense_chunks(X, 8 * len(subsets)):
        masks = truncation.fibre_masks(chunk, subsets).astype(np.int64)
        corners = np.zeros(masks.shape, np.int64)
        for a in range(size):
            corners |= chunk[:, subsets[:, a]].astype(np.int64) << a
        face = np.arange(len(subsets)) << (n_corners + size)
        flat = (face + (masks << size) + corners).ravel()
        w = np.ones(len(chunk)) if weights is None else weights[rows]
        found, place = np.unique(flat, return_inverse=True)
        keys.append(found)
        counts.append(np.bincount(place, np.repeat(w, len(subsets)), len(found)))
    return _merge_keys(np.concatenate(keys), np.concatenate(counts), subsets)


def _merge_keys(keys: np.ndarray, weights: np.ndarray, subsets: np.ndarray) -> FibreCells:
    size = subsets.shape[1]
    n_corners = 1 << size
    cells, place = np.unique(keys >> size, return_inverse=True)
    counts = np.zeros((len(cells), n_corners))
    np.add.at(counts, (place, keys & (n_corners - 1)), weights)
    return FibreCells(subsets[cells >> n_corners], cells & ((1 << n_corners) - 1), counts)


def cell_loss(cells: FibreCells, z: np.ndarray) -> tuple[float, np.ndarray]:
    """Minus the log-likelihood of the cells, and its gradient."""
    gradient = np.zeros(len(z))
    value = _loss(cells.subsets, cells.masks, cells.counts, z, gradient)
    return value, gradient


def cell_hessian(cells: FibreCells, z: np.ndarray) -> Any:
    """Hessian of `cell_loss`: dense up to 2048 coordinates, else CSR."""
    n, size = len(z), cells.subsets.shape[1]
    if n <= DENSE_LIMIT:
        H = np.zeros((n, n))
        _add_hessian(cells.subsets, cells.masks, cells.counts.sum(axis=1), z, H)
        return H
    blocks = np.empty((len(cells.masks), size, size))
    _hessian_blocks(cells.subsets, cells.masks, cells.counts.sum(axis=1), z, blocks)
    rows = np.repeat(cells.subsets, size, axis=1).ravel()
    columns = np.tile(cells.subsets, (1, size)).ravel()
    return sparse.coo_array((blocks.ravel(), (rows, columns)), shape=(n, n)).tocsr()


def minimise_cells(
    cells: FibreCells,
    z: np.ndarray,
    penalty: Penalty,
    *,
    l1: float = 0.0,
    max_iter: int = 500,
    tol: float = 1e-8,
) -> tuple[np.ndarray, int]:
    """Minimise the penalised loss from ``z``; returns the minimiser and the number of steps.

    Newton steps with backtracking; with ``l1`` accelerated proximal gradient steps. Stops when the
    gradient, per unit of weight, is at most ``tol`` everywhere.
    """
    cells = cells.informative()
    if l1 > 0:
        return _proximal_gradient(cells, z, penalty, l1, max_iter, tol)
    scale = max(cells.total, 1.0)
    value, gradient = _objective(cells, z, penalty)
    for step in range(max_iter):
        if np.abs(gradient).max(initial=0.0) <= tol * scale:
            return z, step
        direction = _solve(cell_hessian(cells, z), penalty.curvature(z), -gradient)
        z, value, gradient, moved = _backtrack(cells, z, penalty, value, gradient, direction)
        if not moved:
            return z, step + 1
    return z, max_iter


def cell_null_space(cells: FibreCells, n_features: int) -> np.ndarray:
    """Directions that no observed cell sees: the null space of its differences (n_features, q)."""
    seen = cells.informative()
    if not len(seen.masks):
        return np.eye(n_features)
    pairs = np.column_stack([seen.subsets, seen.masks])
    distinct = np.unique(pairs, axis=0)
    H = np.zeros((n_features, n_features))
    subsets, masks = distinct[:, :-1].copy(), distinct[:, -1].copy()
    _add_hessian(subsets, masks, np.ones(len(masks)), np.zeros(n_features), H)
    values, vectors = np.linalg.eigh(H)
    return vectors[:, values <= max(values[-1], 1.0) * n_features * 1e-12]


def corner_weights(subsets: np.ndarray, z: np.ndarray) -> np.ndarray:
    """exp(z.corner) of every face and corner, scaled by face to at most 1, (n_subsets, 2^t)."""
    scores = z[subsets] @ cube(subsets.shape[1]).T.astype(float)
    return np.exp(scores - scores.max(axis=1, initial=-np.inf, keepdims=True))


def add_fibre_scores(
    X: np.ndarray, masks: np.ndarray, subsets: np.ndarray, z: np.ndarray, scores: np.ndarray
) -> None:
    """Add to ``scores`` (N, n_features) each row's corner minus the mean corner of its fibre."""
    _add_fibre_scores(X, masks, subsets, corner_weights(subsets, z), scores)


def _objective(cells: FibreCells, z: np.ndarray, penalty: Penalty) -> tuple[float, np.ndarray]:
    value, gradient = cell_loss(cells, z)
    return value + penalty.value(z), gradient + penalty.gradient(z)


def _solve(H: Any, diagonal: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve with the penalty's curvature added; a hair more keeps flat directions finite."""
    hair = 1e-12 * max(1.0, float(abs(H).max())) if H.shape[0] else 0.0
    if sparse.issparse(H):
        A = (H + sparse.diags_array(diagonal + hair)).tocsr()
        M = sparse.diags_array(1 / A.diagonal())
        return sparse_linalg.cg(A, right, rtol=1e-10, M=M)[0]
    A = H + np.diag(diagonal + hair)
    try:
        return np.linalg.solve(A, right)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(A, right)[0]


def _backtrack(
    cells: FibreCells,
    z: np.ndarray,
    penalty: Penalty,
    value: float,
    gradient: np.ndarray,
    direction: np.ndarray,
) -> tuple[np.ndarray, float, np.ndarray, bool]:
    slope = gradient @ direction
    noise = 1e-12 * (1 + abs(value))  # below it the values cannot tell which point is better
    for halving in range(40):
        candidate = z + direction * 0.5**halving
        new_value, new_gradient = _objective(cells, candidate, penalty)
        if new_value <= value + 1e-4 * 0.5**halving * slope + noise:
            return candidate, new_value, new_gradient, bool(-slope > noise * 1e-3)
    return z, value, gradient, False


def _proximal_gradient(
    cells: FibreCells, z: np.ndarray, penalty: Penalty, l1: float, max_iter: int, tol: float
) -> tuple[np.ndarray, int]:
    """FISTA with restarts; the step is one over a bound of the curvature, by the rows' absolute sums."""
    scale = max(cells.total, 1.0)
    # The covariance of t bits has entries of at most 1/4, so these are absolute row sums of the curvature.
    size = cells.subsets.shape[1]
    totals = np.repeat(cells.counts.sum(axis=1), size)
    rows = np.bincount(cells.subsets.ravel(), totals, len(z)) * size / 4
    step = 1 / (rows.max(initial=0.0) + penalty.smoothing / 2 + penalty.l2 + 1e-12)
    ahead, momentum = z, 1.0
    for iteration in range(PROXIMAL_STEPS * max_iter):
        _, gradient = _objective(cells, ahead, penalty)
        moved = ahead - step * gradient
        new = np.sign(moved) * np.maximum(np.abs(moved) - step * l1, 0)
        if np.abs(new - ahead).max(initial=0.0) <= step * tol * scale:
            return new, iteration + 1
        if (ahead - new) @ (new - z) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - z)
        z, momentum = new, following
    return z, PROXIMAL_STEPS * max_iter


@inner
def _allowed_weights(T, mask, z, weights):
    """Probabilities of the allowed corners, and log-sum-exp over them."""
    top = -np.inf
    for c in range(weights.shape[0]):
        score = 0.0
        for a in range(T.shape[0]):
            if (c >> a) & 1:
                score += z[T[a]]
        weights[c] = score
        if (mask >> c) & 1:
            top = max(top, score)
    total = 0.0
    for c in range(weights.shape[0]):
        weights[c] = np.exp(weights[c] - top) if (mask >> c) & 1 else 0.0
        total += weights[c]
    for c in range(weights.shape[0]):
        weights[c] /= total
    return top + np.log(total)


@njit
def _loss(subsets, masks, counts, z, gradient):
    size, n_corners = subsets.shape[1], counts.shape[1]
    weights = np.empty(n_corners)
    value = 0.0
    for e in range(subsets.shape[0]):
        lse = _allowed_weights(subsets[e], masks[e], z, weights)
        total = 0.0
        for c in range(n_corners):
            total += counts[e, c]
        value += total * lse
        for a in range(size):
            excess = 0.0
            ones = 0.0
            for c in range(n_corners):
                if (c >> a) & 1:
                    excess += total * weights[c] - counts[e, c]
                    ones += counts[e, c]
            gradient[subsets[e, a]] += excess
            value -= ones * z[subsets[e, a]]
    return value


@inner
def _cell_covariance(T, mask, total, z, weights, block):
    _allowed_weights(T, mask, z, weights)
    size = T.shape[0]
    for a in range(size):
        for b in range(a, size):
            both = 0.0
            first = 0.0
            second = 0.0
            for c in range(weights.shape[0]):
                one_a = (c >> a) & 1
                one_b = (c >> b) & 1
                first += weights[c] * one_a
                second += weights[c] * one_b
                both += weights[c] * (one_a & one_b)
            block[a, b] = total * (both - first * second)
            block[b, a] = block[a, b]


@njit
def _add_hessian(subsets, masks, totals, z, H):
    size = subsets.shape[1]
    weights = np.empty(1 << size)
    block = np.empty((size, size))
    for e in range(subsets.shape[0]):
        _cell_covariance(subsets[e], masks[e], totals[e], z, weights, block)
        for a in range(size):
            for b in range(size):
                H[subsets[e, a], subsets[e, b]] += block[a, b]


@njit
def _hessian_blocks(subsets, masks, totals, z, blocks):
    weights = np.empty(1 << subsets.shape[1])
    for e in range(subsets.shape[0]):
        _cell_covariance(subsets[e], masks[e], totals[e], z, weights, blocks[e])


@njit
def _add_fibre_scores(X, masks, subsets, corner_weights, scores):
    size = subsets.shape[1]
    for t in range(X.shape[0]):
        for e in range(subsets.shape[0]):
            mask = masks[t, e]
            total = 0.0
            for c in range(corner_weights.shape[1]):
                if (mask >> c) & 1:
                    total += corner_weights[e, c]
            if total == 0.0:
                continue  # every allowed corner has underflowed
            for a in range(size):
                ones = 0.0
                for c in range(corner_weights.shape[1]):
                    if (mask >> c) & (c >> a) & 1:
                        ones += corner_weights[e, c]
                scores[t, subsets[e, a]] += X[t, subsets[e, a]] - ones / total
