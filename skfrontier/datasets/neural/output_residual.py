"""Inputs of linear layers: groups in subspaces of their own, and patches of two photographs."""

import importlib.util
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count, check_generator, check_interval


def make_group_subspace(
    groups: int,
    n: int,
    a: int,
    rank: int,
    *,
    noise: float,
    random_state: Any = None,
) -> np.ndarray:
    """Groups of rows, each near a random subspace of its own.

    Parameters
    ----------
    groups : int
        Number of groups.
    n : int
        Rows of a group.
    a : int
        Number of features.
    rank : int
        Dimension of each subspace.
    noise : float
        Standard deviation of the noise on every entry, whose signal has variance one.
    random_state : int, Generator, RandomState or None, default=None
        Seed.

    Returns
    -------
    ndarray of shape (groups, n, a)
        ``Z_g B_g / sqrt(rank) + noise``, Z_g and B_g standard Gaussian.

    Examples
    --------
    >>> from skfrontier.datasets import make_group_subspace
    >>> make_group_subspace(3, 20, 10, 2, noise=0.1, random_state=0).shape
    (3, 20, 10)
    """
    groups, n = check_count(groups, "groups"), check_count(n, "n")
    a, rank = check_count(a, "a"), check_count(rank, "rank")
    noise = check_interval(noise, "noise", 0, np.inf, closed="left")
    rng = check_generator(random_state)
    Z = rng.standard_normal((groups, n, rank))
    B = rng.standard_normal((groups, rank, a))
    return Z @ B / np.sqrt(rank) + noise * rng.standard_normal((groups, n, a))


def load_photo_patches(patch: int = 8, window: int = 14) -> np.ndarray:
    """Patches of the two photographs that come with scikit-learn, window by window.

    Parameters
    ----------
    patch : int, default=8
        Side of a patch in pixels; patches do not overlap.
    window : int, default=14
        Side of a window in patches; the patches of a window are one group.

    Returns
    -------
    ndarray of shape (n_windows, window ** 2, 3 * patch ** 2)
        Colours over 255, less the mean patch. Windows row by row, the first photograph's before the
        second's; what is left over at the right and below is dropped.

    Raises
    ------
    ImportError
        If Pillow, which reads the photographs, is missing.
    ValueError
        If not even one window fits into a photograph.

    Examples
    --------
    >>> from skfrontier.datasets import load_photo_patches
    >>> load_photo_patches().shape  # doctest: +SKIP
    (30, 196, 192)
    """
    patch, window = check_count(patch, "patch"), check_count(window, "window")
    if importlib.util.find_spec("PIL") is None:
        raise ImportError(
            "load_photo_patches needs Pillow to read the photographs: pip install pillow."
        )
    from sklearn.datasets import load_sample_images

    photos = load_sample_images().images
    side = patch * window
    if min(size for photo in photos for size in photo.shape[:2]) < side:
        raise ValueError(
            f"patch={patch} times window={window} is larger than a photograph of "
            f"{photos[0].shape[:2]} pixels."
        )
    patches = np.concatenate([_windows(photo / 255.0, patch, window) for photo in photos])
    return patches - patches.mean(axis=(0, 1))


def _windows(photo: np.ndarray, patch: int, window: int) -> np.ndarray:
    side = patch * window
    rows, columns = photo.shape[0] // side, photo.shape[1] // side
    cut = photo[: rows * side, : columns * side]
    blocks = cut.reshape(rows, window, patch, columns, window, patch, 3)
    return blocks.transpose(0, 3, 1, 4, 2, 5, 6).reshape(rows * columns, window**2, 3 * patch**2)
