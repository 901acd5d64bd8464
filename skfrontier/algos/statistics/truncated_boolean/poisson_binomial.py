"""Sums of independent bits: the mass, the mean and samples of {x: |x| in K}, in O(n^1.5).

The table ``R[i, k]``, the law of the sum of the first i bits, is computed in a band around its mean only, and
of its n rows about sqrt(n) are kept: the rows between two of them are computed again when used. Where
the set is far from the mean the bits are tilted towards it, p_i = sigma(z_i + lam), so that no probability
underflows; separated runs of counts get a tilt each and are added in logarithms.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_count, check_finite, check_generator

_MAX_TILT = 40.0
_SHARED_SDS = 8.0  # runs this near to the mean share one pass without a tilt
_BAND_SDS, _BAND_EXTRA = 10.0, 8


def cardinality_moments(z: Any, allowed: Any) -> tuple[float, np.ndarray]:
    """Log-mass and mean of a product law restricted to rows with an allowed number of ones.

    Parameters
    ----------
    z : array-like of shape (n_features,)
        Logits.
    allowed : array-like of shape (n_features + 1,), dtype bool
        Whether k ones are allowed, for k = 0..n_features.

    Returns
    -------
    log_mass : float
        Logarithm of the probability of the set under the product law.
    mean : ndarray of shape (n_features,)
        Mean of the law restricted to the set.

    Raises
    ------
    ValueError
        If the shapes do not fit, nothing is allowed, or ``z`` is not finite.

    Notes
    -----
    Exact up to rounding and the tails beyond ten standard deviations; O(n^1.5) time, O(n) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import cardinality_moments
    >>> log_mass, mean = cardinality_moments(np.zeros(3), [False, True, True, True])
    >>> round(float(np.exp(log_mass)), 6), mean.round(6)
    (0.875, array([0.571429, 0.571429, 0.571429]))
    """
    z, allowed = _checked(z, allowed)
    runs = [_Run.of(z, counts) for counts in _runs(z, allowed)]
    log_masses = np.array([run.log_mass for run in runs])
    total = float(logsumexp(log_masses))
    means = np.array([run.mean() for run in runs])
    return total, np.exp(log_masses - total) @ means


def cardinality_sample(
    z: Any, allowed: Any, n_samples: int, random_state: Any = None
) -> np.ndarray:
    """Independent rows of a product law restricted to an allowed number of ones.

    Parameters
    ----------
    z : array-like of shape (n_features,)
        Logits.
    allowed : array-like of shape (n_features + 1,), dtype bool
        Whether k ones are allowed.
    n_samples : int
        Number of rows.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_samples, n_features), dtype uint8

    Raises
    ------
    ValueError
        As in `cardinality_moments`.

    Notes
    -----
    Exact: the number of ones is drawn first, then the bits from the last to the first.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import cardinality_sample
    >>> X = cardinality_sample(np.zeros(6), np.arange(7) == 5, 4, random_state=0)
    >>> X.sum(axis=1).tolist()
    [5, 5, 5, 5]
    """
    z, allowed = _checked(z, allowed)
    n_samples = check_count(n_samples, "n_samples", 0)
    rng = check_generator(random_state)
    runs = [_Run.of(z, counts) for counts in _runs(z, allowed)]
    log_masses = np.array([run.log_mass for run in runs])
    shares = np.exp(log_masses - logsumexp(log_masses))
    chosen = rng.choice(len(runs), n_samples, p=shares / shares.sum())
    X = np.empty((n_samples, len(z)), np.uint8)
    for r, run in enumerate(runs):
        rows = np.flatnonzero(chosen == r)
        if len(rows):
            X[rows] = run.sample(len(rows), rng)
    return X


@dataclass(frozen=True)
class _Run:
    """One pass: bits tilted by ``lam`` and the counts that it stands for."""

    p: np.ndarray  # tilted probabilities
    q: np.ndarray  # 1 - p, which rounds to 0 where p is nearly 1
    lows: np.ndarray  # first count of the band after i bits, i = 0..n
    kept: np.ndarray  # every sqrt(n)-th row of R, with a zero at either end
    last: np.ndarray  # row n
    weights: np.ndarray  # beta_n on the band of the last row
    log_mass: float

    @staticmethod
    def of(z: np.ndarray, counts: np.ndarray) -> "_Run":
        lam, centre = _tilt(z, counts)
        p, q = expit(z + lam), expit(-z - lam)
        lows, width = _band(p)
        kept, last = _prefix_rows(p, q, lows, width)
        inside = counts[(counts >= lows[-1]) & (counts < lows[-1] + width)]
        weights = np.zeros(width + 2)
        weights[inside - lows[-1] + 1] = np.exp(-lam * (inside - centre))
        softplus_gain = (np.logaddexp(0, z + lam) - np.logaddexp(0, z)).sum()
        with np.errstate(divide="ignore"):
            log_mass = np.log(last @ weights) + softplus_gain - lam * centre
        return _Run(p, q, lows, kept, last, weights, float(log_mass))

    def mean(self) -> np.ndarray:
        if self.log_mass == -np.inf:
            return np.zeros(len(self.p))
        return _restricted_means(self.p, self.q, self.lows, self.kept, self.last, self.weights)

    def sample(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        law = self.last * self.weights
        counts = self.lows[-1] - 1 + rng.choice(len(law), n_samples, p=law / law.sum())
        X = np.empty((n_samples, len(self.p)), np.uint8)
        step = max(1, 2**22 // max(1, len(self.p)))  # uniforms of 32 MiB at a time
        for start in range(0, n_samples, step):
            part = slice(start, min(start + step, n_samples))
            uniforms = rng.random((part.stop - start, len(self.p)))
            _sample_backwards(self.p, self.q, self.lows, self.kept, counts[part], uniforms, X[part])
        return X


def _checked(z: Any, allowed: Any) -> tuple[np.ndarray, np.ndarray]:
    z = np.asarray(z, dtype=np.float64)
    allowed = np.asarray(allowed)
    if z.ndim != 1:
        raise ValueError(f"z must be 1-D, got shape {z.shape}.")
    check_finite(z, "z")
    if allowed.shape != (len(z) + 1,) or allowed.dtype != np.bool_:
        raise ValueError(
            f"allowed must be {len(z) + 1} booleans, got shape {allowed.shape} of {allowed.dtype}."
        )
    if not allowed.any():
        raise ValueError("allowed must allow at least one count.")
    return z, allowed


def _runs(z: np.ndarray, allowed: np.ndarray) -> list[np.ndarray]:
    """Maximal runs of counts; those near the mean are united."""
    counts = np.flatnonzero(allowed)
    runs = np.split(counts, np.flatnonzero(np.diff(counts) > 1) + 1)
    p = expit(z)
    mean, sd = p.sum(), np.sqrt((p * (1 - p)).sum())
    near: list[np.ndarray] = []
    far: list[np.ndarray] = []
    for run in runs:
        distance = max(run[0] - mean, mean - run[-1], 0.0)
        (near if distance <= _SHARED_SDS * sd else far).append(run)
    # United without a tilt only if the mean lies between them; a single run finds its own tilt.
    if len(near) > 1 and not near[0][0] <= mean <= near[-1][-1]:
        return near + far
    return ([np.concatenate(near)] if near else []) + far


def _tilt(z: np.ndarray, counts: np.ndarray) -> tuple[float, int]:
    """The tilt, and the count on which its weights are 1."""
    n, mean = len(z), expit(z).sum()
    if counts[0] <= mean <= counts[-1]:
        return 0.0, int(counts[0])
    centre = int(counts[0] if mean < counts[0] else counts[-1])
    target = min(max(centre, 0.5), n - 0.5)

    def excess(lam: float) -> float:
        return float(expit(z + lam).sum() - target)

    top = _MAX_TILT + float(np.abs(z).max(initial=0.0))  # even against the strongest logits
    if excess(-top) > 0:
        return -top, centre
    if excess(top) < 0:
        return top, centre
    return float(brentq(excess, -top, top)), centre


def _band(p: np.ndarray) -> tuple[np.ndarray, int]:
    """First count of each row of the table, and the common width."""
    steps = np.arange(len(p) + 1)
    mean = np.concatenate([[0.0], np.cumsum(p)])
    half = _BAND_SDS * np.sqrt(np.concatenate([[0.0], np.cumsum(p * (1 - p))])) + _BAND_EXTRA
    lows = np.maximum(0, np.floor(mean - half)).astype(np.int64)
    lows = np.minimum.accumulate(lows[::-1])[::-1]  # it then rises by 0 or 1 a step
    highs = np.minimum(steps, np.ceil(mean + half)).astype(np.int64)
    return lows, int((highs - lows).max()) + 1


@inner
def _step(before, p, q, shift, after):
    """Law of the sum with one more bit; ``shift`` is how much its band starts later."""
    for a in range(1, before.shape[0] - 1):
        after[a] = q * before[a + shift] + p * before[a + shift - 1]


@njit
def _prefix_rows(p, q, lows, width):
    """Every sqrt(n)-th row of the table, and the last one."""
    n = p.shape[0]
    stride = int(np.sqrt(n)) + 1
    kept = np.zeros(((n + stride - 1) // stride, width + 2))
    row = np.zeros(width + 2)
    following = np.zeros(width + 2)
    row[1] = 1.0
    for i in range(n):
        if i % stride == 0:
            for a in range(width + 2):
                kept[i // stride, a] = row[a]
        _step(row, p[i], q[i], lows[i + 1] - lows[i], following)
        row, following = following, row
    return kept, row


@inner
def _rows_from(kept, block, p, q, lows, rows):
    """Rows of the table from a kept one up to and including the next; returns the first index and number."""
    n = p.shape[0]
    stride = int(np.sqrt(n)) + 1
    first = block * stride
    count = min(stride, n - first)
    for a in range(kept.shape[1]):
        rows[0, a] = kept[block, a]
    for j in range(count):
        _step(
            rows[j], p[first + j], q[first + j], lows[first + j + 1] - lows[first + j], rows[j + 1]
        )
    return first, count


@njit
def _restricted_means(p, q, lows, kept, last, weights):
    size = weights.shape[0]
    rows = np.zeros((int(np.sqrt(p.shape[0])) + 2, size))
    after = weights.copy()
    before = np.zeros(size)
    total = 0.0
    for a in range(size):
        total += last[a] * weights[a]
    means = np.empty(p.shape[0])
    for block in range(kept.shape[0] - 1, -1, -1):
        first, count = _rows_from(kept, block, p, q, lows, rows)
        for j in range(count - 1, -1, -1):
            i = first + j
            shift = lows[i + 1] - lows[i]
            one = 0.0
            for a in range(1, size - 1):
                up = after[a - shift + 1]
                one += rows[j, a] * up
                before[a] = q[i] * after[a - shift] + p[i] * up
            means[i] = p[i] * one / total
            before, after = after, before
    return means


@njit
def _sample_backwards(p, q, lows, kept, counts, uniforms, X):
    rows = np.zeros((int(np.sqrt(p.shape[0])) + 2, kept.shape[1]))
    left = counts.copy()  # ones that the bits still to be drawn must have
    for block in range(kept.shape[0] - 1, -1, -1):
        first, count = _rows_from(kept, block, p, q, lows, rows)
        for t in range(counts.shape[0]):
            k = left[t]
            for j in range(count - 1, -1, -1):
                i = first + j
                a = k - 1 - lows[i] + 1
                come = rows[j, a] if 1 <= a < kept.shape[1] - 1 else 0.0
                X[t, i] = uniforms[t, i] < p[i] * come / rows[j + 1, k - lows[i + 1] + 1]
                k -= np.int64(X[t, i])
            left[t] = k
