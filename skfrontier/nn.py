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

from skfrontier.algos.neural.delta_rule.nn import DeltaNet, DeltaNetState
from skfrontier.algos.neural.output_residual.nn import DynamicResidualLinear, replace_linear
from skfrontier.algos.optim.gauss_newton.nn import FastGaussNewton, FGNStepInfo

__all__ = [
    "DeltaNet",
    "DeltaNetState",
    "DynamicResidualLinear",
    "FGNStepInfo",
    "FastGaussNewton",
    "replace_linear",
]
