"""All families of tables at all sizes, beside all peers: ``python -m benchmarks.graphs._structure_families``.

Takes hours, so that it is no part of the topic's ordinary run.
"""

from benchmarks import report
from benchmarks.graphs._structure_data import FAMILIES
from benchmarks.graphs.structure import SLOW, family_case
from benchmarks.harness import Case, run_case

_SHAPES = ((100, 50), (250, 50), (1000, 50), (100, 200), (250, 200), (1000, 500))


def cases(n_seeds: int = 10) -> list[Case]:
    """A case for each family and size; slow peers on narrow tables alone."""
    return [
        family_case(kind, n, p, n_seeds, slow=SLOW if p == 50 else ())
        for kind in FAMILIES
        for n, p in _SHAPES
    ]


if __name__ == "__main__":
    for case in cases():
        print(report.as_text(run_case(case)), flush=True)
