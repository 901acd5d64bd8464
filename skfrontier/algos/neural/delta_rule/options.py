"""Options of a call of the delta rule, valid."""

from dataclasses import dataclass

METHODS = ("auto", "recurrent", "chunk")
NORM_EPS = 1e-6  # added to squared norms before the root


@dataclass(frozen=True)
class Options:
    """How to compute; see :func:`delta_rule`."""

    scale: float
    chunk_size: int = 64
    method: str = "auto"
    inversion: str = "auto"
    l2norm: bool = False
