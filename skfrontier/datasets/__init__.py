"""Generators (``make_*``), small shipped data (``load_*``) and downloads (``fetch_*``)."""

from skfrontier.datasets.geometry.chamfer import (
    fetch_modelnet10,
    load_digit_clouds,
    make_chamfer_pair,
    make_superquadrics,
)

__all__ = [
    "fetch_modelnet10",
    "load_digit_clouds",
    "make_chamfer_pair",
    "make_superquadrics",
]
