"""Inverses of many small triangular matrices."""

from skfrontier.algos.neural.triangular_inversion.inversion import invert_lower, invert_unit_lower
from skfrontier.algos.neural.triangular_inversion.report import (
    InverseReport,
    triangular_inverse_report,
)

__all__ = ["InverseReport", "invert_lower", "invert_unit_lower", "triangular_inverse_report"]
