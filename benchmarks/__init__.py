"""Benchmarks: this library beside named peers, on the same work, in one process.

Run ``python -m benchmarks <topic>``. A topic is a module ``benchmarks/<domain>/<topic>.py`` with

``cases(quick) -> list of Case``
    What to measure. With ``quick`` the sizes are small enough for the whole topic to take about a
    minute: it shows that everything runs, its ratios mean little.
``HEADLINE``
    ``(case name, contender name)`` whose ratio stands in the README.

A :class:`~benchmarks.harness.Case` builds its data when its turn comes and returns its
:class:`~benchmarks.harness.Contender` list; the first of them is this library, and the ratio of every
other is its time divided by the first one's. See :mod:`benchmarks.harness` for how time and memory are
taken, and ``benchmarks/geometry/chamfer.py`` for an example.
"""

from pathlib import Path


def topic_modules() -> dict[str, str]:
    """Module of each topic."""
    files = sorted(Path(__file__).parent.glob("*/[!_]*.py"))
    return {file.stem: f"benchmarks.{file.parent.name}.{file.stem}" for file in files}
