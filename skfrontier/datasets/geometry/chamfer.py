"""Point clouds for nearest-neighbour and Chamfer distances: generators, digits, ModelNet10."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from skfrontier.datasets._fetch import fetch_file

PAIR_KINDS = ("clusters", "lowrank", "unif", "outlier", "sparse", "sphere", "torus")


def make_superquadrics(
    n_clouds: int = 100,
    n_points: int = 512,
    *,
    noise: float = 0.02,
    n_classes: int = 10,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(random_state)
    axes = rng.uniform(0.3, 1.5, (n_classes, 3))
    exponents = rng.uniform(0.4, 2.5, n_classes)
    labels = rng.integers(n_classes, size=n_clouds)
    clouds = np.empty((n_clouds, n_points, 3))
    for cloud, label in zip(clouds, labels, strict=True):
        directions = rng.standard_normal((n_points, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        stretch = axes[label] * rng.uniform(0.97, 1.03, 3)
        cloud[:] = np.sign(directions) * np.abs(directions) ** exponents[label] * stretch
        cloud += noise * rng.standard_normal((n_points, 3))
    return clouds, labels
