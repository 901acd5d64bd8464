"""What a bug report needs to know about the installation."""

import platform
import sys
from importlib import metadata

from skfrontier._version import __version__

_REQUIRED = (
    "numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl", "networkx", "pot", "pooch", "tqdm",
)  # fmt: skip
_OPTIONAL = ("matplotlib", "torch", "dask", "distributed", "faiss-cpu")


def _installed_version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def show_versions() -> None:
    """Print the versions of Python, this package and its dependencies.

    Examples
    --------
    >>> from skfrontier import show_versions
    >>> show_versions()  # doctest: +ELLIPSIS
    scikit-frontier: ...
    """
    lines = {
        "scikit-frontier": __version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        **{name: _installed_version(name) for name in (*_REQUIRED, *_OPTIONAL)},
    }
    for name, version in lines.items():
        print(f"{name}: {version}")
