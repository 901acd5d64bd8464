"""Pairs of clouds that are one cloud seen twice: Gaussian, shapes, views of data, cortical surfaces."""

import base64
import gzip
import importlib.util
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ortho_group

from skfrontier.algos._validation import (
    check_choice,
    check_count,
    check_flag,
    check_generator,
    check_interval,
    check_points,
)


class PlantedPair(dict):
    """What a generator planted; the entries are attributes too.

    ``X``, ``Y``, ``assignment`` (row of Y for each row of X), ``rotation``, ``scale``, ``translation``.

    Examples
    --------
    >>> from skfrontier.datasets import make_shape_pair
    >>> pair = make_shape_pair("helix_cone", 50, random_state=0)
    >>> pair.X is pair["X"]
    True
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return list(self)


def make_procrustes_wasserstein(
    n_samples: int = 500,
    n_features: int = 20,
    *,
    spectrum_exponent: float = 1.0,
    noise: float = 0.1,
    overlap: float = 1.0,
    n_extra: int = 0,
    scale: float = 1.0,
    translation: float = 0.0,
    reflection: bool = True,
    symmetric_noise: bool = False,
    random_state: Any = None,
) -> PlantedPair:
    """Two shuffled, rotated and noisy copies of a Gaussian cloud with a power-law spectrum.

    Parameters
    ----------
    n_samples, n_features : int, default=500 and 20
        Rows and columns of the cloud.
    spectrum_exponent : float, default=1.0
        The j-th variance is ``j ** -spectrum_exponent``; 0 is isotropic.
    noise : float, default=0.1
        Standard deviation of the noise in each coordinate, before scaling.
    overlap : float, default=1.0
        Share of rows that X keeps; Y keeps all.
    n_extra : int, default=0
        Number of rows of the same law that are added to Y alone.
    scale : float, default=1.0
        Factor on Y.
    translation : float, default=0.0
        Shift of each coordinate of Y.
    reflection : bool, default=True
        Whether the rotations may be improper.
    symmetric_noise : bool, default=False
        Whether both clouds get half of the noise variance.
    random_state : int, Generator, RandomState or None, default=None
        Seed.

    Returns
    -------
    PlantedPair
        With ``X``, ``Y``, ``assignment``, ``rotation``, ``scale``, ``translation`` and ``eigenvalues``;
        a row y of Y is ``scale * (rotation @ x + noise) + translation``.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.datasets import make_procrustes_wasserstein
    >>> data = make_procrustes_wasserstein(100, 3, noise=0.0, random_state=0)
    >>> bool(np.allclose(data.X @ data.rotation.T, data.Y[data.assignment]))
    True
    """
    n = check_count(n_samples, "n_samples", 2)
    d = check_count(n_features, "n_features")
    exponent = check_interval(spectrum_exponent, "spectrum_exponent", 0, np.inf, closed="left")
    sigma = check_interval(noise, "noise", 0, np.inf, closed="left")
    share = check_interval(overlap, "overlap", 0, 1, closed="right")
    n_extra = check_count(n_extra, "n_extra", 0)
    scale = check_interval(scale, "scale", 0, np.inf, closed="neither")
    shift = check_interval(translation, "translation", -np.inf, np.inf, closed="neither")
    proper = not check_flag(reflection, "reflection")
    both = check_flag(symmetric_noise, "symmetric_noise")
    rng = check_generator(random_state)
    eigenvalues = np.arange(1.0, d + 1) ** -exponent
    basis, rotation = _rotation(d, rng, proper=False), _rotation(d, rng, proper=proper)
    cloud = rng.standard_normal((n + n_extra, d)) * np.sqrt(eigenvalues) @ basis.T
    each = sigma / np.sqrt(2) if both else sigma
    Y = cloud @ rotation.T + each * rng.standard_normal(cloud.shape)
    X = cloud[:n]
    if both:
        X = X + each * rng.standard_normal(X.shape)
    kept = rng.permutation(n)[: max(2, round(share * n))]
    return _shuffled(X[np.sort(kept)], scale * Y + shift, np.sort(kept), rng)(
        rotation=rotation, scale=scale, translation=np.full(d, shift), eigenvalues=eigenvalues
    )


def make_shape_pair(
    kind: str = "dented_ellipsoid",
    n_samples: int = 500,
    *,
    noise: float = 0.02,
    reflection: bool = True,
    random_state: Any = None,
) -> PlantedPair:
    """A shape in three dimensions and a rotated, shuffled and noisy copy.

    Parameters
    ----------
    kind : str, default='dented_ellipsoid'
        'trefoil_tube', 'dented_ellipsoid' (no symmetry), 'helix_cone' or 'ellipsoid', whose points come in
        groups of eight mirror images: four proper and four improper maps are equally good.
    n_samples : int, default=500
        Number of points, for 'ellipsoid' a multiple of 8.
    noise : float, default=0.02
        Standard deviation of the noise on Y in each coordinate.
    reflection : bool, default=True
        Whether the rotation may be improper.
    random_state : int, Generator, RandomState or None, default=None
        Seed.

    Returns
    -------
    PlantedPair
        With ``X``, ``Y``, ``assignment``, ``rotation``, ``scale`` and ``translation``.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.

    Examples
    --------
    >>> from skfrontier.datasets import make_shape_pair
    >>> make_shape_pair("trefoil_tube", 200, random_state=0).X.shape
    (200, 3)
    """
    kind = check_choice(kind, "kind", tuple(_SHAPES))
    n = check_count(n_samples, "n_samples", 8)
    if kind == "ellipsoid" and n % 8:
        raise ValueError(f"n_samples must be a multiple of 8 for an ellipsoid, got {n}.")
    sigma = check_interval(noise, "noise", 0, np.inf, closed="left")
    proper = not check_flag(reflection, "reflection")
    rng = check_generator(random_state)
    X = _SHAPES[kind](n, rng)
    rotation = _rotation(3, rng, proper=proper)
    Y = X @ rotation.T + sigma * rng.standard_normal(X.shape)
    return _shuffled(X, Y, np.arange(n), rng)(rotation=rotation, scale=1.0, translation=np.zeros(3))


def make_view_pair(
    data: Any = None,
    *,
    kind: str = "noise",
    noise: float = 2.0,
    n_random_features: int = 500,
    n_components: int = 20,
    length_scale: float | None = None,
    random_state: Any = None,
) -> PlantedPair:
    """Two views of the same rows, the second one rotated and shuffled.

    Parameters
    ----------
    data : array-like of shape (n_samples, n_features) or None, default=None
        Rows; None takes scikit-learn's digits.
    kind : str, default='noise'
        'noise' adds noise to the second view; 'rff' makes two independent maps to random cosine features,
        each reduced to its principal components.
    noise : float, default=2.0
        Standard deviation of the noise, in the units of the data.
    n_random_features : int, default=500
        Cosine features of each view.
    n_components : int, default=20
        Principal components of each view that are kept.
    length_scale : float or None, default=None
        Width of the kernel that the cosine features approximate; None takes the square root of the
        data's total variance.
    random_state : int, Generator, RandomState or None, default=None
        Seed.

    Returns
    -------
    PlantedPair
        With ``X``, ``Y``, ``assignment``, ``rotation``, ``scale`` and ``translation``. For 'rff' the rotation
        is the one that was applied, after the two views were made.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.
    ImportError
        If ``data`` is None and scikit-learn is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from skfrontier.datasets import make_view_pair
    >>> rows = np.random.default_rng(0).normal(size=(50, 8))
    >>> make_view_pair(rows, kind="rff", n_components=5, random_state=0).Y.shape
    (50, 5)
    """
    kind = check_choice(kind, "kind", ("noise", "rff"))
    sigma = check_interval(noise, "noise", 0, np.inf, closed="left")
    n_random = check_count(n_random_features, "n_random_features")
    n_components = check_count(n_components, "n_components")
    rows = check_points(_digits() if data is None else data, "data", min_points=2)
    rows = rows.astype(np.float64)
    rng = check_generator(random_state)
    if kind == "noise":
        X, other = rows, rows + sigma * rng.standard_normal(rows.shape)
    else:
        if length_scale is None:
            length_scale = float(np.sqrt(rows.var(axis=0).sum()))
        width = check_interval(length_scale, "length_scale", 0, np.inf, closed="neither")
        X, other = (
            _principal(_cosines(rows, n_random, width, rng), n_components) for _ in range(2)
        )
    rotation = _rotation(X.shape[1], rng, proper=False)
    return _shuffled(X, other @ rotation.T, np.arange(len(X)), rng)(
        rotation=rotation, scale=1.0, translation=np.zeros(X.shape[1])
    )


def load_cortex_pair(
    surface_x: str = "white", surface_y: str = "pial", hemi: str = "left"
) -> PlantedPair:
    """Two surfaces of one hemisphere, vertex by vertex: FreeSurfer's fsaverage5.

    Parameters
    ----------
    surface_x, surface_y : str, default='white' and 'pial'
        'white', 'pial' or 'inflated'.
    hemi : str, default='left'
        'left' or 'right'.

    Returns
    -------
    PlantedPair
        ``X`` and ``Y`` of shape (10242, 3) in millimetres, in the same order; ``assignment`` is the
        identity. Nothing is rotated or shuffled.

    Raises
    ------
    ImportError
        If the package nilearn, which holds the files, is not installed.
    ValueError
        If a name is unknown.

    Notes
    -----
    The surfaces are FreeSurfer's fsaverage5 [1]_, as distributed inside nilearn; FreeSurfer's licence
    applies to them.

    References
    ----------
    .. [1] Fischl, Sereno, Tootell, Dale, "High-resolution intersubject averaging and a coordinate system
       for the cortical surface", Human Brain Mapping 8 (1999).

    Examples
    --------
    >>> from skfrontier.datasets import load_cortex_pair
    >>> load_cortex_pair("white", "pial").X.shape  # doctest: +SKIP
    (10242, 3)
    """
    check_choice(surface_x, "surface_x", tuple(_SURFACES))
    check_choice(surface_y, "surface_y", tuple(_SURFACES))
    check_choice(hemi, "hemi", ("left", "right"))
    spec = importlib.util.find_spec("nilearn")
    if spec is None or spec.origin is None:
        raise ImportError(
            "the surfaces are in the package nilearn, which is not installed: pip install nilearn"
        )
    folder = Path(spec.origin).parent / "datasets" / "data" / "fsaverage5"
    X, Y = (
        _gifti_points(folder / f"{_SURFACES[name]}_{hemi}.gii.gz")
        for name in (surface_x, surface_y)
    )
    return PlantedPair(
        X=X,
        Y=Y,
        assignment=np.arange(len(X)),
        rotation=np.eye(3),
        scale=1.0,
        translation=np.zeros(3),
    )


def _rotation(d: int, rng: np.random.Generator, *, proper: bool) -> np.ndarray:
    """Haar orthogonal matrix, with determinant 1 if ``proper``."""
    if d == 1:
        return np.ones((1, 1)) if proper else rng.choice([-1.0, 1.0], size=(1, 1))
    rotation = ortho_group.rvs(d, random_state=rng)
    if proper and np.linalg.det(rotation) < 0:
        rotation[:, 0] *= -1
    return rotation


def _shuffled(
    X: np.ndarray, Y: np.ndarray, partner: np.ndarray, rng: np.random.Generator
) -> Callable[..., PlantedPair]:
    """Shuffle the rows of Y and keep track of the partners."""
    place = rng.permutation(len(Y))
    shuffled = np.empty_like(Y)
    shuffled[place] = Y

    def pair(**planted: Any) -> PlantedPair:
        return PlantedPair(X=X, Y=shuffled, assignment=place[partner].astype(np.int64), **planted)

    return pair


def _sphere(n: int, rng: np.random.Generator) -> np.ndarray:
    points = rng.standard_normal((n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def _dented_ellipsoid(n: int, rng: np.random.Generator) -> np.ndarray:
    directions = _sphere(n, rng)
    where = np.array([0.6, 0.5, 0.62])
    depth = 0.4 * np.exp(-((directions - where) ** 2).sum(axis=1) / 0.3)
    return directions * [3.0, 2.0, 1.0] * (1 - depth)[:, None]


def _ellipsoid(n: int, rng: np.random.Generator) -> np.ndarray:
    corner = _sphere(n // 8, rng) * [3.0, 2.0, 1.0]
    mirrors = np.array(np.meshgrid([1, -1], [1, -1], [1, -1])).reshape(3, -1).T
    return (corner[None] * mirrors[:, None]).reshape(-1, 3)


def _trefoil_tube(n: int, rng: np.random.Generator) -> np.ndarray:
    t = 2 * np.pi * rng.random(n)
    knot = np.column_stack(
        [np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)]
    )
    # thicker towards one side, which breaks the threefold symmetry
    return knot * [1.0, 1.3, 1.0] + (0.2 + 0.1 * np.cos(t))[:, None] * _sphere(n, rng)


def _helix_cone(n: int, rng: np.random.Generator) -> np.ndarray:
    t = rng.random(n)
    angle, radius = 6 * np.pi * t, 1.5 * (1 - 0.8 * t)
    helix = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 4 * t])
    return helix + 0.1 * _sphere(n, rng)


_SHAPES: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "trefoil_tube": _trefoil_tube,
    "dented_ellipsoid": _dented_ellipsoid,
    "helix_cone": _helix_cone,
    "ellipsoid": _ellipsoid,
}
_SURFACES = {"white": "white", "pial": "pial", "inflated": "infl"}


def _digits() -> np.ndarray:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError("the digits are in scikit-learn: pip install scikit-learn") from error
    return load_digits().data


def _cosines(rows: np.ndarray, n_random: int, width: float, rng: np.random.Generator) -> np.ndarray:
    """Random Fourier features of a Gaussian kernel."""
    frequencies = rng.standard_normal((rows.shape[1], n_random)) / width
    phases = 2 * np.pi * rng.random(n_random)
    return np.sqrt(2 / n_random) * np.cos(rows @ frequencies + phases)


def _principal(features: np.ndarray, n_components: int) -> np.ndarray:
    left, singular, _ = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
    return left[:, :n_components] * singular[:n_components]


def _gifti_points(path: Path) -> np.ndarray:
    """Coordinates from a GIFTI file: the array of intent pointset, float32, in base 64 and gzipped."""
    root = ElementTree.fromstring(gzip.decompress(path.read_bytes()))
    for array in root.iter("DataArray"):
        if array.get("Intent") == "NIFTI_INTENT_POINTSET":
            order = "<" if array.get("Endian") == "LittleEndian" else ">"
            packed = base64.b64decode(array.findtext("Data", ""))
            values = np.frombuffer(zlib.decompress(packed), dtype=f"{order}f4")
            return values.reshape(-1, 3).astype(np.float64)
    raise ValueError(f"{path} holds no points.")
