"""How to invert: the method and its options, checked once."""

from dataclasses import dataclass
from typing import Any

from skfrontier.algos._validation import check_choice, check_count, check_flag, check_interval

METHODS = ("auto", "substitution", "recursive", "neumann", "newton")
MOST_REFINEMENTS = 2


@dataclass(frozen=True)
class Settings:
    """Options of an inversion, valid."""

    method: str = "auto"
    refinements: int | None = (
        None  # None: wider arithmetic and one rounding where precision is half
    )
    base: int = 16
    guard: bool = True
    growth_limit: float = 4.0

    @property
    def in_half(self) -> bool:
        """Whether half-precision matrices are to be multiplied in half precision."""
        return self.refinements is not None


def check_settings(method: Any, refine: Any, base: Any, guard: Any, growth_limit: Any) -> Settings:
    """Return the options of a call, or raise naming the one that is wrong."""
    return Settings(
        check_choice(method, "method", METHODS),
        _check_refine(refine),
        check_count(base, "base"),
        check_flag(guard, "guard"),
        check_interval(growth_limit, "growth_limit", 0.0, float("inf")),
    )


def _check_refine(refine: Any) -> int | None:
    if isinstance(refine, str):
        check_choice(refine, "refine", ("auto",))
        return None
    return check_count(refine, "refine", 0, MOST_REFINEMENTS)
