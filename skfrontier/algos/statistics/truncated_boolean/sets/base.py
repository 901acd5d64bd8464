"""What every truncation set can do; families override what they can do faster."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._numba import njit
from skfrontier.algos._validation import check_count, check_generator
from skfrontier.algos.statistics.truncated_boolean.corner_draws import redraw_corners
from skfrontier.algos.statistics.truncated_boolean.enumeration import (
    ENUMERATION_LIMIT,
    ExponentialFamily,
    cube,
)
from skfrontier.algos.statistics.truncated_boolean.packed_bits import PackedBits
from skfrontier.algos.statistics.truncated_boolean.rows import (
    binary_rows,
    binary_vector,
    check_columns,
    check_weights,
    dense_chunks,
)

MAX_FIBRE = 4  # coordinates that one fibre may change: its 16 corners fit a mask of 16 bits


class TruncationSet(ABC):
    """A set S of 0/1 vectors outside of which nothing was recorded.

    Subclasses define ``_contains`` on dense uint8 rows, and override the other underscored methods
    where their structure allows something faster than asking ``_contains`` about changed copies.

    Examples
    --------
    >>> from skfrontier.algos import TruncationSet
    >>> class FirstWins(TruncationSet):
    ...     def _contains(self, X):
    ...         return X[:, 0] >= X[:, 1]
    >>> FirstWins().flips([[1, 1], [0, 0]])
    array([[False,  True],
           [ True, False]])
    """

    n_features: int | None = None

    # --- what users call: validated input ------------------------------------------------------

    def contains(self, X: Any) -> np.ndarray:
        """Whether each row lies in the set.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Zeros and ones.

        Returns
        -------
        ndarray of shape (n_samples,), dtype bool
        """
        rows = self._rows(X)
        inside = [self._contains(chunk) for _, chunk in dense_chunks(rows)]
        return np.concatenate(inside) if inside else np.zeros(0, bool)

    def flips(self, X: Any) -> np.ndarray:
        """Which single bits of each row can change without leaving the set.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of the set.

        Returns
        -------
        ndarray of shape (n_samples, n_features), dtype bool
        """
        rows = self._rows(X)
        flags = [self._flips(chunk) for _, chunk in dense_chunks(rows)]
        return np.concatenate(flags) if flags else np.zeros(rows.shape, bool)

    def flip_counts(self, X: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Per coordinate, the rows in which it can be flipped, counted by its bit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of the set. `FullCube` and `Cardinality` also take `PackedBits`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        m1, m0 : ndarray of shape (n_features,)
            Flippable rows with a one, and with a zero: int64, or float64 with weights.

        Raises
        ------
        TypeError
            If packed rows are given to a set that cannot count them, or with weights.
        """
        if isinstance(X, PackedBits):
            return self._packed_flip_counts(X, sample_weight)
        rows = self._rows(X)
        weights = check_weights(sample_weight, rows.shape[0])
        return self._flip_counts(rows, weights)

    def fibre_masks(self, X: Any, subsets: Any) -> np.ndarray:
        """Which values of a few coordinates are allowed, the others staying as they are.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of the set.
        subsets : array-like of shape (n_subsets, t)
            t <= 4 distinct coordinates each.

        Returns
        -------
        ndarray of shape (n_samples, n_subsets), dtype uint16
            Bit c is set if the row with coordinate ``subsets[e, a]`` set to bit a of c, for all a, lies
            in the set.
        """
        rows = self._rows(X)
        subsets = check_subsets(subsets, rows.shape[1])
        masks = [self._fibre_masks(chunk, subsets) for _, chunk in dense_chunks(rows)]
        return np.concatenate(masks) if masks else np.zeros((0, len(subsets)), np.uint16)

    def pair_counts(self, X: Any, pairs: Any, sample_weight: Any = None) -> np.ndarray:
        """Count rows by pair, by which corners of the pair are allowed, and by the corner they are.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of the set.
        pairs : array-like of shape (n_pairs, 2)
            Two distinct coordinates (i, j) each.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        ndarray of shape (n_pairs, 16, 4)
            Entry (e, mask, c): weight of rows with corner ``c = x_i + 2 x_j`` whose allowed corners are
            the bits of ``mask``.
        """
        rows = self._rows(X)
        subsets = check_subsets(pairs, rows.shape[1], size=2)
        weights = check_weights(sample_weight, rows.shape[0])
        if weights is None:
            weights = np.ones(rows.shape[0])
        counts = np.zeros((len(subsets), 16, 4))
        for chunk_rows, chunk in dense_chunks(rows, 2 * len(subsets)):
            masks = self._fibre_masks(chunk, subsets)
            _add_pair_counts(chunk, subsets, masks, weights[chunk_rows], counts)
        return counts

    def fibre(self, x: Any, T: Any) -> np.ndarray:
        """The values that coordinates ``T`` may take in the set while the rest of ``x`` stays.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            A row.
        T : array-like of shape (t,)
            Distinct coordinates, at most 20.

        Returns
        -------
        ndarray of shape (k, t), dtype uint8
        """
        x = np.asarray(x)
        row = binary_vector(x, x.shape[0] if x.ndim else 0, "x")
        T = np.asarray(T, dtype=np.int64)
        corners = cube(len(T))
        copies = np.repeat(row[None], len(corners), axis=0)
        copies[:, T] = corners
        return corners[self.contains(copies)]

    def candidate_pairs(self, n_features: int, degree: int = 8, rng: Any = None) -> np.ndarray:
        """Pairs of coordinates to compare: a few random cycles, and what the set suggests.

        Parameters
        ----------
        n_features : int
            Number of coordinates.
        degree : int, default=8
            Pairs per coordinate; half as many random Hamiltonian cycles are united.
        rng : int, Generator or None
            Source of randomness.

        Returns
        -------
        ndarray of shape (n_pairs, 2)
            Distinct pairs i < j, sorted.
        """
        n = check_count(n_features, "n_features")
        rng = check_generator(rng)
        degree = check_count(degree, "degree", 2)
        cycles = [_cycle(rng.permutation(n)) for _ in range(max(1, degree // 2))]
        return distinct_pairs(np.concatenate([*cycles, self._suggested_pairs(n, degree, rng)]))

    # --- exact quantities, by enumeration unless the family knows better -----------------------

    def is_exact(self, n_features: int) -> bool:
        """Whether ``log_mass``, ``mean`` and ``sample_exact`` work for so many coordinates."""
        return n_features <= ENUMERATION_LIMIT

    def log_mass(self, z: Any) -> float:
        """Logarithm of the probability of the set under the product law with logits ``z``."""
        return self._family(z).log_mass(np.asarray(z, float))

    def mean(self, z: Any) -> np.ndarray:
        """Mean of the product law with logits ``z`` restricted to the set."""
        return self._family(z).mean(np.asarray(z, float))

    def sample_exact(self, z: Any, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Independent rows of the product law with logits ``z`` restricted to the set, uint8."""
        rng = check_generator(random_state)
        return self._family(z).sample(np.asarray(z, float), n_samples, rng)

    def enumerate(self, n_features: int) -> np.ndarray:
        """All points of the set, uint8, for at most 20 coordinates."""
        if n_features > ENUMERATION_LIMIT:
            raise ValueError(
                f"{type(self).__name__} with {n_features} features cannot be enumerated: exact mass, "
                f"mean and samples are available for at most {ENUMERATION_LIMIT} features, and for "
                "FullCube, Cardinality, ExplicitSet and Halfspaces with one row of integers for more."
            )
        points = cube(n_features)
        return points[self.contains(points)]

    def null_space(self, n_features: int) -> np.ndarray | None:
        """Directions that no data from this set can identify, or None where that is not known.

        Returns
        -------
        ndarray of shape (n_features, q) or None
            Orthonormal columns: z and z + v give the same law on the set.
        """
        if n_features > 12:
            return None
        return self._family(np.zeros(n_features)).null_space()

    # --- what families define or override: dense C-contiguous uint8 rows --------------------------

    @abstractmethod
    def _contains(self, X: np.ndarray) -> np.ndarray: ...

    def _flips(self, X: np.ndarray) -> np.ndarray:
        subsets = np.arange(X.shape[1], dtype=np.int64)[:, None]
        return self._fibre_masks(X, subsets) == 3

    def _fibre_masks(self, X: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        """Ask about changed copies, in batches."""
        n_corners = 1 << subsets.shape[1]
        masks = np.zeros((X.shape[0], len(subsets)), np.uint16)
        batch = max(1, 2**22 // max(1, X.size * n_corners))
        for start in range(0, len(subsets), batch):
            part = subsets[start : start + batch]
            copies = np.repeat(X[:, None, None], n_corners, axis=2)
            copies = np.repeat(copies, len(part), axis=1)  # (N, subsets, corners, n)
            for e, T in enumerate(part):
                copies[:, e, :, T] = cube(len(T)).T[:, None]
            inside = self._contains(copies.reshape(-1, X.shape[1]))
            bits = inside.reshape(X.shape[0], len(part), n_corners)
            masks[:, start : start + batch] = (bits << np.arange(n_corners)).sum(-1)
        return masks

    def _redraw(
        self,
        X: np.ndarray,
        subsets: np.ndarray,
        weights: np.ndarray,
        order: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Redraw the subsets of coordinates one after the other in every row, in place.

        ``weights`` (n_subsets, corners) is the law of each subset without the set.
        """
        for e in order:
            masks = self._fibre_masks(X, subsets[e : e + 1])[:, 0]
            redraw_corners(X, subsets[e], masks, weights[e], rng.random(len(X)))

    def _flip_counts(self, X: Any, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        m1, m0 = zero_counts(X.shape[1], weights)
        for rows, chunk in dense_chunks(X):
            flags = self._flips(chunk)
            if weights is None:
                _add_flip_counts(chunk, flags, m1, m0)
            else:
                _add_weighted_flip_counts(chunk, flags, weights[rows], m1, m0)
        return m1, m0

    def _packed_flip_counts(self, X: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        raise TypeError(
            f"{type(self).__name__} does not take PackedBits; only FullCube and Cardinality do."
        )

    def _suggested_pairs(
        self, n_features: int, degree: int, rng: np.random.Generator
    ) -> np.ndarray:
        return np.zeros((0, 2), np.int64)

    def _interacting_pairs(
        self, n_features: int, degree: int, rng: np.random.Generator
    ) -> np.ndarray | None:
        """The pairs that can say more than flips, or None where the family does not know."""
        return None

    def _rows(self, X: Any) -> Any:
        rows = binary_rows(X)
        check_columns(rows, self.n_features, type(self).__name__)
        return rows

    def _family(self, z: Any) -> ExponentialFamily:
        n = len(z)
        if self.n_features is not None and n != self.n_features:
            raise ValueError(
                f"z has {n} entries, but {type(self).__name__} has {self.n_features} features."
            )
        return ExponentialFamily(self.enumerate(n))


def zero_counts(n_features: int, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Two empty counters, integers unless there are weights."""
    dtype = np.int64 if weights is None else np.float64
    return np.zeros(n_features, dtype), np.zeros(n_features, dtype)


def check_subsets(subsets: Any, n_features: int, size: int | None = None) -> np.ndarray:
    """Return rows of distinct coordinates as int64."""
    array = np.asarray(subsets)
    if array.ndim != 2 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"subsets must be a 2-D array of coordinates, got shape {array.shape}.")
    t = array.shape[1]
    if (size is not None and t != size) or not 1 <= t <= MAX_FIBRE:
        wanted = f"{size}" if size else f"1 to {MAX_FIBRE}"
        raise ValueError(f"subsets must have {wanted} coordinates each, got {t}.")
    array = np.ascontiguousarray(array, dtype=np.int64)
    if array.size and not (array.min() >= 0 and array.max() < n_features):
        raise ValueError(f"subsets must name coordinates in 0..{n_features - 1}.")
    ordered = np.sort(array, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise ValueError("the coordinates of one subset must differ.")
    return array


def distinct_pairs(pairs: np.ndarray) -> np.ndarray:
    """Pairs with i < j, each once, sorted."""
    ordered = np.sort(pairs, axis=1)
    return np.unique(ordered[ordered[:, 0] < ordered[:, 1]], axis=0).astype(np.int64)


def all_pairs(n_features: int) -> np.ndarray:
    """All pairs i < j."""
    return np.stack(np.triu_indices(n_features, 1), axis=1).astype(np.int64)


def not_sparse(X: Any) -> bool:
    """Whether rows are a dense array."""
    return not sparse.issparse(X)


def _cycle(order: np.ndarray) -> np.ndarray:
    return np.stack([order, np.roll(order, -1)], axis=1)


@njit
def _add_pair_counts(X, pairs, masks, weights, counts):
    for t in range(X.shape[0]):
        w = weights[t]
        for e in range(pairs.shape[0]):
            corner = X[t, pairs[e, 0]] + 2 * X[t, pairs[e, 1]]
            counts[e, masks[t, e], corner] += w


@njit
def _add_flip_counts(X, flags, m1, m0):
    for t in range(X.shape[0]):
        for i in range(X.shape[1]):
            flag = np.int64(flags[t, i])
            bit = np.int64(X[t, i])
            m1[i] += flag & bit
            m0[i] += flag & (1 - bit)


@njit
def _add_weighted_flip_counts(X, flags, weights, m1, m0):
    for t in range(X.shape[0]):
        w = weights[t]
        for i in range(X.shape[1]):
            if flags[t, i]:
                if X[t, i]:
                    m1[i] += w
                else:
                    m0[i] += w
