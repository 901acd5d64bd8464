"""Point clouds for nearest-neighbour and Chamfer distances: generators, digits, ModelNet10."""

import zipfile
from typing import Any, NamedTuple

import numpy as np

from skfrontier.datasets._fetch import fetch_file

PAIR_KINDS = ("clusters", "lowrank", "unif", "outlier", "sparse", "sphere", "torus")
DIGIT_KINDS = ("vectors", "ink")
MODELNET10_SUBSETS = ("train", "test")
MODELNET10_URL = "http://3dvision.princeton.edu/projects/2014/3DShapeNets/ModelNet10.zip"


def make_chamfer_pair(
    kind: str = "clusters",
    n: int = 1000,
    n_features: int = 16,
    *,
    random_state: Any = None,
    dtype: Any = "float32",
) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds of ``n`` points whose Chamfer distance is easy or hard in a known way.

    Parameters
    ----------
    kind : {'clusters', 'lowrank', 'unif', 'outlier', 'sparse', 'sphere', 'torus'},
    default='clusters'
        - 'clusters': 50 Gaussian clusters.
        - 'lowrank': near a 12-dimensional subspace.
        - 'unif': uniform in the unit cube.
        - 'outlier': A is B moved by 1e-3, except for ``max(2, n // 2000)`` rows that are moved by
        20
          and carry nearly the whole distance; B has rank 12.
        - 'sparse': A is B with heavy-tailed changes in 3% of the entries.
        - 'sphere': 200 clusters of unit vectors.
        - 'torus': the surface with radii 2 and 1, both angles uniform; three features.
    n : int, default=1000
        Number of points of each cloud.
    n_features : int, default=16
        Number of features; 'torus' always has three.
    random_state : int, Generator or None, default=None
        Seed of the generator.
    dtype : dtype, default='float32'
        Of the result.

    Returns
    -------
    A, B : ndarray of shape (n, n_features)

    Raises
    ------
    ValueError
        If ``kind`` is unknown.

    Examples
    --------
    >>> from skfrontier.datasets import make_chamfer_pair
    >>> A, B = make_chamfer_pair("outlier", n=100, n_features=8, random_state=0)
    >>> A.shape, B.dtype
    ((100, 8), dtype('float32'))
    """
    if kind not in PAIR_KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, PAIR_KINDS))}; got {kind!r}.")
    rng = np.random.default_rng(random_state)
    A, B = _PAIRS[kind](rng, n, n_features)
    return A.astype(dtype), B.astype(dtype)


_Pair = tuple[np.ndarray, np.ndarray]


def _clusters(rng: np.random.Generator, n: int, d: int) -> _Pair:
    centres = 2.0 * rng.standard_normal((50, d))
    A = centres[rng.integers(50, size=n)] + rng.standard_normal((n, d))
    B = centres[rng.integers(50, size=n)] + rng.standard_normal((n, d))
    return A, B


def _lowrank(rng: np.random.Generator, n: int, d: int) -> _Pair:
    W = rng.standard_normal((12, d))
    A = rng.standard_normal((n, 12)) @ W + 0.05 * rng.standard_normal((n, d))
    B = rng.standard_normal((n, 12)) @ W + 0.05 * rng.standard_normal((n, d))
    return A, B


def _uniform(rng: np.random.Generator, n: int, d: int) -> _Pair:
    return rng.random((n, d)), rng.random((n, d))


def _outlier(rng: np.random.Generator, n: int, d: int) -> _Pair:
    B = rng.standard_normal((n, 12)) @ rng.standard_normal((12, d))
    A = B + 1e-3 * rng.standard_normal((n, d))
    moved = rng.choice(n, size=min(n, max(2, n // 2000)), replace=False)
    A[moved] += 20.0 * rng.standard_normal((len(moved), d))
    return A, B


def _sparse(rng: np.random.Generator, n: int, d: int) -> _Pair:
    B = rng.standard_normal((n, d))
    changed = rng.random((n, d)) < 0.03
    return B + changed * rng.standard_t(1.5, (n, d)), B


def _sphere(rng: np.random.Generator, n: int, d: int) -> _Pair:
    def unit(X: np.ndarray) -> np.ndarray:
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    centres = unit(rng.standard_normal((200, d)))
    spread = 0.8 / np.sqrt(d)
    A = unit(centres[rng.integers(200, size=n)] + spread * rng.standard_normal((n, d)))
    B = unit(centres[rng.integers(200, size=n)] + spread * rng.standard_normal((n, d)))
    return A, B


def _torus(rng: np.random.Generator, n: int, d: int) -> _Pair:
    def surface() -> np.ndarray:
        u, v = rng.uniform(0.0, 2.0 * np.pi, (2, n))
        ring = 2.0 + np.cos(v)
        return np.column_stack([ring * np.cos(u), ring * np.sin(u), np.sin(v)])

    return surface(), surface()


_PAIRS = {
    "clusters": _clusters,
    "lowrank": _lowrank,
    "unif": _uniform,
    "outlier": _outlier,
    "sparse": _sparse,
    "sphere": _sphere,
    "torus": _torus,
}


def make_superquadrics(
    n_clouds: int = 100,
    n_points: int = 512,
    *,
    noise: float = 0.02,
    n_classes: int = 10,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Noisy point clouds of three-dimensional shapes between box, ellipsoid and star, by class.

    A point is a direction, uniform on the sphere, whose coordinates ``x`` become ``sign(x) |x|**e``
    times a length. Three axis lengths, uniform in [0.3, 1.5], and the exponent ``e``, uniform in
    [0.4, 2.5], belong to the class; each cloud varies the lengths by up to 3%.

    Parameters
    ----------
    n_clouds : int, default=100
        Number of clouds.
    n_points : int, default=512
        Number of points of each.
    noise : float, default=0.02
        Standard deviation of Gaussian noise on every coordinate.
    n_classes : int, default=10
        Number of shapes.
    random_state : int, Generator or None, default=None
        Seed of the generator.

    Returns
    -------
    clouds : ndarray of shape (n_clouds, n_points, 3)
    labels : ndarray of shape (n_clouds,)
        The class of each cloud, uniform.

    Examples
    --------
    >>> from skfrontier.datasets import make_superquadrics
    >>> clouds, labels = make_superquadrics(20, n_points=64, random_state=0)
    >>> clouds.shape, labels.shape
    ((20, 64, 3), (20,))
    """
    rng = np.random.default_rng(random_state)
    lengths = rng.uniform(0.3, 1.5, (n_classes, 3))
    exponents = rng.uniform(0.4, 2.5, n_classes)
    labels = rng.integers(n_classes, size=n_clouds)
    clouds = np.empty((n_clouds, n_points, 3))
    for cloud, label in zip(clouds, labels, strict=True):
        direction = rng.standard_normal((n_points, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        axes = lengths[label] * rng.uniform(0.97, 1.03, 3)
        cloud[:] = np.sign(direction) * np.abs(direction) ** exponents[label] * axes
        cloud += noise * rng.standard_normal((n_points, 3))
    return clouds, labels


class DigitClouds(NamedTuple):
    """Result of `load_digit_clouds`."""

    clouds: list[np.ndarray]
    weights: list[np.ndarray]
    labels: np.ndarray


def load_digit_clouds(kind: str = "vectors") -> DigitClouds:
    """scikit-learn's 8 x 8 handwritten digits as point clouds.

    Parameters
    ----------
    kind : {'vectors', 'ink'}, default='vectors'
        'vectors' is one cloud for each of the ten digits, whose points are the images (64 features,
        weight 1). 'ink' is one cloud for each image, whose points are the (row, column) of its
        pixels with ink, weighted by the ink.

    Returns
    -------
    DigitClouds
        Named tuple ``(clouds, weights, labels)``: two lists with an entry for each cloud, and the
        digits, ndarray of shape (n_clouds,).

    Raises
    ------
    ValueError
        If ``kind`` is unknown.

    Notes
    -----
    The images come with scikit-learn (from the UCI repository: E. Alpaydin, C. Kaynak, Optical
    Recognition of Handwritten Digits, CC BY 4.0).

    Examples
    --------
    >>> from skfrontier.datasets import load_digit_clouds
    >>> clouds, weights, labels = load_digit_clouds()
    >>> len(clouds), clouds[0].shape, labels[:3].tolist()
    (10, (178, 64), [0, 1, 2])
    """
    from sklearn.datasets import load_digits

    if kind not in DIGIT_KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, DIGIT_KINDS))}; got {kind!r}.")
    digits = load_digits()
    if kind == "vectors":
        clouds = [digits.data[digits.target == label] for label in range(10)]
        return DigitClouds(clouds, [np.ones(len(cloud)) for cloud in clouds], np.arange(10))
    pixels = [np.nonzero(image) for image in digits.images]
    return DigitClouds(
        [np.column_stack(where).astype(np.float64) for where in pixels],
        [image[where] for image, where in zip(digits.images, pixels, strict=True)],
        digits.target,
    )


class ModelNetClouds(NamedTuple):
    """Result of `fetch_modelnet10`."""

    clouds: list[np.ndarray]
    labels: np.ndarray
    class_names: list[str]


def fetch_modelnet10(
    subset: str = "test",
    *,
    n_points: int = 1024,
    random_state: Any = 0,
    data_home: Any = None,
    download_if_missing: bool = True,
) -> ModelNetClouds:
    """Points drawn uniformly from the surfaces of ModelNet10's furniture (a download of 450 MB).

    Parameters
    ----------
    subset : {'test', 'train'}, default='test'
        908 or 3991 models of ten classes.
    n_points : int, default=1024
        Number of points drawn from each surface.
    random_state : int, Generator or None, default=0
        Seed of the draws.
    data_home : path-like or None, default=None
        The cache folder; by default ``$SKFRONTIER_DATA``, else pooch's cache of this library.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    ModelNetClouds
        Named tuple ``(clouds, labels, class_names)``.

    Raises
    ------
    ValueError
        If ``subset`` is unknown.
    OSError
        If the file is missing and cannot or may not be downloaded; says where to put it.

    Notes
    -----
    Source: http://3dvision.princeton.edu/projects/2014/3DShapeNets/ModelNet10.zip, for academic
    research; copyrights stay with the authors of the models. The source publishes no checksum and
    this library pins none: what arrives over plain http is only checked to be a zip archive.

    References
    ----------
    .. [1] Z. Wu, S. Song, A. Khosla, F. Yu, L. Zhang, X. Tang, J. Xiao, "3D ShapeNets: A Deep
       Representation for Volumetric Shapes", CVPR 2015.
    """
    if subset not in MODELNET10_SUBSETS:
        raise ValueError(
            f"subset must be one of {', '.join(map(repr, MODELNET10_SUBSETS))}; got {subset!r}."
        )
    archive = fetch_file(
        MODELNET10_URL,
        "shapes/ModelNet10.zip",
        known_hash=None,
        data_home=data_home,
        download_if_missing=download_if_missing,
    )
    rng = np.random.default_rng(random_state)
    clouds, names = [], []
    try:
        with zipfile.ZipFile(archive) as models:
            for path in sorted(models.namelist()):
                parts = path.split("/")  # ModelNet10/<class>/<subset>/<model>.off
                if len(parts) == 4 and parts[2] == subset and parts[3].endswith(".off"):
                    if parts[0].startswith("__"):  # resource forks that macOS put into the archive
                        continue
                    vertices, triangles = _read_off(models.read(path).decode())
                    clouds.append(_surface_points(vertices, triangles, n_points, rng))
                    names.append(parts[1])
    except zipfile.BadZipFile as error:
        raise OSError(f"{archive} is not a zip archive; delete it and fetch again.") from error
    class_names = sorted(set(names))
    return ModelNetClouds(clouds, np.searchsorted(class_names, names), class_names)


def _read_off(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles of an OFF file; some have no space after 'OFF'."""
    words = text.removeprefix("OFF").split()
    n_vertices, n_faces = int(words[0]), int(words[1])
    end = 3 + 3 * n_vertices
    vertices = np.array(words[3:end], dtype=np.float64).reshape(n_vertices, 3)
    faces = np.array(words[end : end + 4 * n_faces], dtype=np.int64).reshape(n_faces, 4)
    return vertices, faces[:, 1:]


def _surface_points(
    vertices: np.ndarray, triangles: np.ndarray, n_points: int, rng: np.random.Generator
) -> np.ndarray:
    corner, second, third = (vertices[triangles[:, i]] for i in range(3))
    areas = np.linalg.norm(np.cross(second - corner, third - corner), axis=1)
    chosen = rng.choice(len(triangles), size=n_points, p=areas / areas.sum())
    u, v = rng.random((2, n_points, 1))
    folded = u + v > 1.0  # the other half of the parallelogram
    u, v = np.where(folded, 1.0 - u, u), np.where(folded, 1.0 - v, v)
    return corner[chosen] + u * (second - corner)[chosen] + v * (third - corner)[chosen]
