"""Recent algorithm papers as scikit-learn style estimators and solvers.

The layers are imported by name, so that ``import skfrontier`` itself stays light:

- :mod:`skfrontier.estimators`: scikit-learn classes,
- :mod:`skfrontier.algos`: the same algorithms as plain functions on arrays,
- :mod:`skfrontier.datasets`: generators and loaders of the data they are measured on.
"""

from skfrontier._show_versions import show_versions
from skfrontier._version import __version__

__all__ = ["__version__", "show_versions"]
