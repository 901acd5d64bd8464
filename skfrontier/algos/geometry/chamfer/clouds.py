"""Many point clouds of different sizes as one array of points with offsets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skfrontier.algos._validation import check_points


@dataclass(frozen=True)
class Clouds:
    """Point clouds one after the other.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features), float32 or float64
        The rows of all clouds.
    offsets : ndarray of shape (n_clouds + 1,), int64
        Cloud ``i`` is ``points[offsets[i]:offsets[i + 1]]``.
    """

    points: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        return self.points[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    @property
    def sizes(self) -> np.ndarray:
        """Number of points of each cloud."""
        return np.diff(self.offsets)

    def check_no_empty(self, name: str, reason: str) -> None:
        """Raise a ValueError naming the first empty cloud and the ``reason`` why none may be."""
        empty = np.flatnonzero(self.sizes == 0)
        if len(empty):
            raise ValueError(f"{name}[{empty[0]}] has no points; {reason}.")


def pack_clouds(clouds: Any, name: str) -> Clouds:
    """Validate and pack point clouds.

    Parameters
    ----------
    clouds : sequence of array-likes of shape (n_i, n_features), array of shape (n_clouds, n_points,
    \
n_features), pair (points, offsets) or Clouds
        In the pair, ``offsets`` is a 1-D integer array that rises from 0 to ``len(points)``.
    name : str
        The name of the parameter, for the error messages.

    Returns
    -------
    Clouds
        float32 if all clouds are, else float64. Points that are packed already are not copied.

    Raises
    ------
    ValueError
        If a cloud is not a finite, real, 2-D array, if the clouds differ in their number of
        features, if there is no cloud, or if the offsets do not fit.
    """
    if isinstance(clouds, Clouds):
        return clouds
    if _is_packed_pair(clouds):
        points = check_points(clouds[0], name)
        return Clouds(points, _checked_offsets(clouds[1], len(points), name))
    if sparse.issparse(clouds) or isinstance(clouds, str) or not np.iterable(clouds):
        raise ValueError(
            f"{name} must be a sequence of 2-D arrays, a 3-D array or a pair (points, offsets), got "
            f"{type(clouds).__name__}."
        )
    if isinstance(clouds, np.ndarray) and clouds.ndim not in (1, 3):
        raise ValueError(
            f"{name} must be a sequence of 2-D arrays, a 3-D array or a pair (points, offsets), got a "
            f"{clouds.ndim}-D array; put a single cloud in a list: [{name}]."
        )
    checked = [check_points(cloud, f"{name}[{i}]") for i, cloud in enumerate(clouds)]
    if not checked:
        raise ValueError(f"{name} must hold at least one cloud, got none.")
    for i, cloud in enumerate(checked):
        if cloud.shape[1] != checked[0].shape[1]:
            raise ValueError(
                f"all clouds of {name} must have the same number of features, got "
                f"{checked[0].shape[1]} in {name}[0] and {cloud.shape[1]} in {name}[{i}]."
            )
    offsets = np.cumsum([0, *map(len, checked)], dtype=np.int64)
    points = checked[0] if len(checked) == 1 else np.concatenate(checked)
    return Clouds(points, offsets)


def _is_packed_pair(clouds: Any) -> bool:
    return isinstance(clouds, tuple) and len(clouds) == 2 and np.ndim(clouds[1]) == 1


def _checked_offsets(offsets: Any, n_points: int, name: str) -> np.ndarray:
    array = np.asarray(offsets)
    if array.dtype.kind not in "iu" or len(array) < 2:
        raise ValueError(
            f"the offsets of {name} must be at least two integers, got {len(array)} of dtype "
            f"{array.dtype}."
        )
    array = array.astype(np.int64)
    if array[0] != 0 or array[-1] != n_points or (np.diff(array) < 0).any():
        raise ValueError(
            f"the offsets of {name} must rise from 0 to its number of points, {n_points}; got "
            f"{array[0]} to {array[-1]}{', not monotone' if (np.diff(array) < 0).any() else ''}."
        )
    return array
