"""Costs of pairs: powers of l_q distances, or of entries of a matrix, one row at a time.

Points are columns: an array of shape (n_features, n_slots). A row of costs is then a few passes over
contiguous memory, which the compiler vectorizes.
"""

from dataclasses import dataclass, replace

import numpy as np

from skfrontier.algos._numba import inner, njit
from skfrontier.algos._validation import check_interval

MATRIX, L1, L2, LINF, LQ, TRANSPOSED = range(6)
NO_MATRIX = np.zeros((1, 1))
_CODES = {
    "manhattan": L1, "cityblock": L1, "l1": L1, "euclidean": L2, "l2": L2, "chebyshev": LINF,
    "linf": LINF, "infinity": LINF,
}  # fmt: skip
METRICS = (*_CODES, "minkowski", "sqeuclidean")


@dataclass(frozen=True)
class Cost:
    """What a pair of points costs: ``distance ** power``.

    Attributes
    ----------
    code : int
        Which distance: an l_q norm, or an entry of ``matrix`` at the rows and columns that the points name.
    q, power : float
        Exponents of the norm and of the cost.
    matrix : float64 array of shape (N, N)
        Distances, for ``code`` MATRIX.
    """

    code: int
    q: float
    power: float
    matrix: np.ndarray

    @property
    def swapped(self) -> "Cost":
        """The same cost with the sides exchanged."""
        codes = {MATRIX: TRANSPOSED, TRANSPOSED: MATRIX}
        return replace(self, code=codes.get(self.code, self.code))

    @property
    def args(self) -> tuple[int, float, float, np.ndarray]:
        """What kernels take."""
        return self.code, self.q, self.power, self.matrix

    @property
    def norm(self) -> float:
        """The order of the l_q norm, infinity for the largest coordinate."""
        return np.inf if self.code == LINF else self.q

    @property
    def distance(self) -> "Cost":
        """The distance itself: the cost with power 1."""
        return replace(self, power=1.0)


def vector_cost(metric: str, power: float = 1.0, q: float | None = None) -> Cost:
    """Return the cost of points in R^d.

    Parameters
    ----------
    metric : str
        One of `METRICS`; 'sqeuclidean' is the square of 'euclidean'.
    power : float
        The power p >= 1 of the distance.
    q : float or None
        The norm of 'minkowski', at least 1; infinity is 'chebyshev'. None is 2.

    Raises
    ------
    ValueError
        If the metric is not known, ``power`` is not a finite number of at least 1, or 'sqeuclidean' has
        another power than 1.
    """
    power = check_interval(power, "p", 1, np.inf, closed="left")
    if metric == "sqeuclidean":
        if power != 1:
            raise ValueError(
                f"metric 'sqeuclidean' takes p=1 only, got p={power}; use 'euclidean'."
            )
        return Cost(L2, 2.0, 2.0, NO_MATRIX)
    if metric == "minkowski":
        norm = 2.0 if q is None else check_interval(q, "metric_params['p']", 1, np.inf)
        code = {1.0: L1, 2.0: L2, np.inf: LINF}.get(norm, LQ)
        return Cost(code, norm, power, NO_MATRIX)
    if metric not in _CODES:
        raise ValueError(
            f"metric must be one of {', '.join(map(repr, METRICS))}, 'precomputed' or a callable; "
            f"got {metric!r}."
        )
    code = _CODES[metric]
    return Cost(code, {L1: 1.0, L2: 2.0}.get(code, np.inf), power, NO_MATRIX)


def matrix_cost(matrix: np.ndarray, power: float = 1.0) -> Cost:
    """Return the cost of points that are indices into a matrix of distances."""
    power = check_interval(power, "p", 1, np.inf, closed="left")
    return Cost(MATRIX, 1.0, power, matrix)


@inner
def raised(distance, power):
    """``distance ** power``, the common powers without a call."""
    if power == 1.0:
        return distance
    if power == 2.0:
        return distance * distance
    return distance**power


@njit
def pair_cost(code, q, power, matrix, P, i, Q, j):
    """Cost between column ``i`` of ``P`` and column ``j`` of ``Q``."""
    if code == MATRIX:
        return raised(matrix[np.int64(P[0, i]), np.int64(Q[0, j])], power)
    if code == TRANSPOSED:
        return raised(matrix[np.int64(Q[0, j]), np.int64(P[0, i])], power)
    total = 0.0
    if code == L2:
        for k in range(P.shape[0]):
            total += (P[k, i] - Q[k, j]) ** 2
        if power == 2.0:
            return total
        return raised(np.sqrt(total), power)
    if code == L1:
        for k in range(P.shape[0]):
            total += abs(P[k, i] - Q[k, j])
    elif code == LINF:
        for k in range(P.shape[0]):
            total = max(total, abs(P[k, i] - Q[k, j]))
    else:
        for k in range(P.shape[0]):
            total += abs(P[k, i] - Q[k, j]) ** q
        total = total ** (1.0 / q)
    return raised(total, power)


@njit
def cost_row(code, q, power, matrix, P, i, Q, n, row):
    """Write the costs between column ``i`` of ``P`` and the first ``n`` columns of ``Q`` to ``row``."""
    if code == MATRIX:
        at = np.int64(P[0, i])
        for j in range(n):
            row[j] = matrix[at, np.int64(Q[0, j])]
    elif code == TRANSPOSED:
        at = np.int64(P[0, i])
        for j in range(n):
            row[j] = matrix[np.int64(Q[0, j]), at]
    else:
        for j in range(n):
            row[j] = 0.0
        for k in range(P.shape[0]):
            x = P[k, i]
            if code == L2:
                for j in range(n):
                    row[j] += (x - Q[k, j]) * (x - Q[k, j])
            elif code == L1:
                for j in range(n):
                    row[j] += abs(x - Q[k, j])
            elif code == LINF:
                for j in range(n):
                    row[j] = max(row[j], abs(x - Q[k, j]))
            else:
                for j in range(n):
                    row[j] += abs(x - Q[k, j]) ** q
        if code == L2:
            if power == 2.0:
                return
            for j in range(n):
                row[j] = np.sqrt(row[j])
        elif code == LQ:
            for j in range(n):
                row[j] = row[j] ** (1.0 / q)
    if power == 2.0:
        for j in range(n):
            row[j] = row[j] * row[j]
    elif power != 1.0:
        for j in range(n):
            row[j] = row[j] ** power


@njit
def paired_costs(code, q, power, matrix, P, Q, result):
    """Write the costs between columns of the same number to ``result``."""
    for i in range(result.size):
        result[i] = pair_cost(code, q, power, matrix, P, i, Q, i)


@njit
def cost_matrix(code, q, power, matrix, P, Q, result):
    """Write the costs between all columns of ``P`` and ``Q`` to ``result``."""
    for i in range(P.shape[1]):
        cost_row(code, q, power, matrix, P, i, Q, Q.shape[1], result[i])
