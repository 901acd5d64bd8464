"""The closed-form rigid map between paired points: rotation, translation, scale."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfrontier.algos._validation import as_numbers, check_finite, check_flag, check_points


@dataclass(frozen=True, eq=False)
class RigidMap:
    """The map ``x -> scale * rotation @ x + translation``.

    Attributes
    ----------
    rotation : ndarray of shape (n_features, n_features)
        Orthogonal matrix.
    translation : ndarray of shape (n_features,)
        Shift, in the units of the data.
    scale : float
        Factor on lengths.
    """

    rotation: np.ndarray
    translation: np.ndarray
    scale: float = 1.0

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Map rows of ``X`` of shape (n, n_features); float32 stays float32."""
        moved = X @ (self.scale * self.rotation.T).astype(X.dtype)
        moved += self.translation.astype(X.dtype)
        return moved

    def invert(self) -> "RigidMap":
        """The map that undoes this one."""
        rotation = self.rotation.T
        return RigidMap(rotation, -(rotation @ self.translation) / self.scale, 1 / self.scale)


def rigid_map(
    X: Any,
    Y: Any,
    *,
    weights: Any = None,
    allow_reflection: bool = True,
    translation: bool = True,
    scaling: bool = False,
) -> RigidMap:
    """The rigid map of least squares from rows of ``X`` to the same rows of ``Y``.

    Parameters
    ----------
    X, Y : array-like of shape (n_points, n_features)
        Paired points.
    weights : array-like of shape (n_points,) or None, default=None
        Weights of the pairs, not negative and not all zero.
    allow_reflection : bool, default=True
        Whether the determinant of the rotation may be -1.
    translation : bool, default=True
        Whether a shift is fitted. Without it nothing is centred.
    scaling : bool, default=False
        Whether a factor on lengths is fitted.

    Returns
    -------
    RigidMap

    Raises
    ------
    ValueError
        If the arrays differ in shape, are empty or not finite, or if weights are negative, all zero or
        of another length.

    Notes
    -----
    Proven optimal [1]_. Where the points span less than the space, the map is one of several
    minimisers. O(n d^2 + d^3).

    References
    ----------
    .. [1] Umeyama, "Least-squares estimation of transformation parameters between two point patterns",
       IEEE Transactions on Pattern Analysis and Machine Intelligence 13 (1991).

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.algos import rigid_map
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> found = rigid_map(X, X @ [[0, 1], [-1, 0]] + 3)
    >>> found.rotation.round(6) + 0.0
    array([[ 0., -1.],
           [ 1.,  0.]])
    >>> found.translation.round(6)
    array([3., 3.])
    """
    X, Y = check_points(X, "X", min_points=1), check_points(Y, "Y", min_points=1)
    if X.shape != Y.shape:
        raise ValueError(f"X and Y must be paired rows of one shape; got {X.shape} and {Y.shape}.")
    w = _check_weights(weights, len(X))
    return fit_rigid_map(
        X,
        Y,
        w,
        allow_reflection=check_flag(allow_reflection, "allow_reflection"),
        translation=check_flag(translation, "translation"),
        scaling=check_flag(scaling, "scaling"),
    )


def fit_rigid_map(
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    allow_reflection: bool,
    translation: bool,
    scaling: bool,
) -> RigidMap:
    """`rigid_map` of input that is known to be good."""
    n_features = X.shape[1]
    if translation:
        x_mean, y_mean = weighted_mean(X, weights), weighted_mean(Y, weights)
        X, Y = X - x_mean.astype(X.dtype), Y - y_mean.astype(Y.dtype)
    weighted = X if weights is None else X * weights[:, None].astype(X.dtype)
    moment = (Y.T @ weighted).astype(np.float64)
    rotation, kept = polar_factor(moment, allow_reflection=allow_reflection)
    scale = 1.0
    if scaling:
        spread = float(np.einsum("ij,ij->", weighted, X, dtype=np.float64))
        scale = kept / spread if spread > 0 and kept > 0 else 1.0
    shift = y_mean - scale * rotation @ x_mean if translation else np.zeros(n_features)
    return RigidMap(rotation, shift, scale)


def polar_factor(moment: np.ndarray, *, allow_reflection: bool = True) -> tuple[np.ndarray, float]:
    """The orthogonal Q of largest trace(Q^T moment), and that trace.

    Without reflections the axis of the smallest singular value gives way.
    """
    left, singular, right = np.linalg.svd(moment)
    if not allow_reflection and np.linalg.det(left) * np.linalg.det(right) < 0:
        left[:, -1] *= -1
        singular[-1] *= -1
    return left @ right, float(singular.sum())


def weighted_mean(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Mean of rows in float64."""
    if weights is None:
        return X.mean(axis=0, dtype=np.float64)
    return weights @ X / weights.sum()


def _check_weights(weights: Any, n: int) -> np.ndarray | None:
    if weights is None:
        return None
    array = as_numbers(weights, "weights")
    if array.dtype.kind not in "fiub" or array.shape != (n,):
        raise ValueError(f"weights must be {n} numbers, one a pair; got shape {array.shape}.")
    array = array.astype(np.float64)
    check_finite(array, "weights")
    if array.min() < 0 or not array.sum() > 0:
        raise ValueError("weights must not be negative, and not all zero.")
    return array
