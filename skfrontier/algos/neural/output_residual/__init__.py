"""Cheaper linear layers: a static low-rank part, and a correction of its output computed from the input."""

from skfrontier.algos.neural.output_residual.cost import matmul_cost
from skfrontier.algos.neural.output_residual.factors import (
    LowRankFactors,
    low_rank_factors,
    residual_sketch,
)
from skfrontier.algos.neural.output_residual.product import (
    DynamicProduct,
    adaptive_matmul,
    dynamic_matmul,
)

__all__ = [
    "DynamicProduct",
    "LowRankFactors",
    "adaptive_matmul",
    "dynamic_matmul",
    "low_rank_factors",
    "matmul_cost",
    "residual_sketch",
]
