"""Write the measured ratios into the README: ``python -m benchmarks.readme``.

A cell of the README's table that reads ``<!--measured:TOPIC-->...<!--end-->`` is filled from
``docs/benchmarks/TOPIC.json``, so that no number there is typed by hand.
"""

import re
from pathlib import Path

from benchmarks import report

_ROOT = Path(__file__).parents[1]
README = _ROOT / "README.md"
_CELL = re.compile(r"<!--measured:(\w+)-->.*?<!--end-->")


def filled(text: str) -> str:
    """Return the README's text with every measured cell filled."""
    return _CELL.sub(_cell, text)


def _cell(match: re.Match[str]) -> str:
    topic = match[1]
    file = _ROOT / "docs" / "benchmarks" / f"{topic}.json"
    ratio = headline(report.load(file)) if file.exists() else "not measured yet"
    return f"<!--measured:{topic}-->{ratio}<!--end-->"


def headline(measured: report.TopicReport) -> str:
    """Say by how much this library is faster in the topic's headline case."""
    case_name, peer = measured.headline
    case = next(case for case in measured.cases if case.name == case_name)
    row = next(row for row in case.rows if row.name == peer)
    return f"{row.ratio:.0f} times faster than `{peer}` ({case_name}: {case.size})"


if __name__ == "__main__":
    README.write_text(filled(README.read_text()))
