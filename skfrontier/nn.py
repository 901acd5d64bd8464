"""Modules and optimizers for PyTorch, which the extra ``scikit-frontier[torch]`` brings in.

This is the one public module that imports torch. The functions of :mod:`skfrontier.algos` that say so in
their docstring take tensors, too, and return tensors of the same kind, type and device.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "skfrontier.nn needs PyTorch: pip install 'scikit-frontier[torch]'."
    ) from error

from skfrontier.algos.neural.output_residual.nn import DynamicResidualLinear, replace_linear

__all__ = ["DynamicResidualLinear", "replace_linear"]
