"""Show what the harness measured: text, JSON, Markdown and growth plots."""

import dataclasses
import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil

from benchmarks.harness import CaseReport, Row, growth_exponents

_COLUMNS = ("", "CPU s", "wall s", "ratio", "error", "memory", "")
_VERSIONS = (
    "scikit-frontier", "numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "torch",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class TopicReport:
    """All cases of a topic, and where they were measured."""

    topic: str
    quick: bool
    headline: tuple[str, str]  # case and contender
    measured_on: dict[str, str]
    cases: list[CaseReport]


def measured_on() -> dict[str, str]:
    """Processor, memory, threads and versions of this run."""
    memory = f"{psutil.virtual_memory().total / 2**30:.0f} GiB"
    threads = os.environ.get("OMP_NUM_THREADS", "as many as there are cores")
    versions = {name: _version(name) for name in _VERSIONS}
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores, {memory} of memory",
        "threads": f"{threads} (BLAS and OpenMP)",
        "Python": platform.python_version(),
        **{name: version for name, version in versions.items() if version},
    }


def as_text(case: CaseReport) -> str:
    """Aligned table of one case."""
    table = [_COLUMNS, *map(_cells, case.rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(_COLUMNS))]
    lines = [
        "  ".join(
            cell.ljust(width) if i in (0, len(_COLUMNS) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    return "\n".join([_title(case), *lines])


def as_myst(report: TopicReport) -> str:
    """MyST page: tables of all cases by name, the growth exponents, where they were measured."""
    parts = [_places(report)]
    for name, group in groupby(report.cases, key=lambda case: case.name):
        parts.append(f"## {name}")
        for case in group:
            parts += [f"**{case.size}**", _myst_table(case)]
    if growth := growth_lines(report.cases):
        parts += ["## Growth", *growth]
    return "\n\n".join(parts) + "\n"


def _myst_table(case: CaseReport) -> str:
    rule = "|:--" + "|--:" * (len(_COLUMNS) - 2) + "|:--|"
    lines = [_COLUMNS, *map(_cells, case.rows)]
    header, *rows = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([":::{div} measurements", header, rule, *rows, ":::"])


def growth_lines(cases: Iterable[CaseReport]) -> list[str]:
    """One sentence for each series."""
    return [
        f"{series}: time ~ n^k with k = "
        + ", ".join(f"{exponent:.2f} ({name})" for name, exponent in exponents.items())
        + "."
        for series, exponents in growth_exponents(cases).items()
    ]


def draw_growth(cases: Sequence[CaseReport], file: Path) -> bool:
    """Draw time over n, both logarithmic, one panel a series; False where there is no series."""
    from matplotlib.figure import Figure

    exponents = growth_exponents(cases)
    if not exponents:
        return False
    figure = Figure(figsize=(5.5 * len(exponents), 4), layout="constrained")
    axes = figure.subplots(1, len(exponents), squeeze=False)[0]
    for axis, (series, contenders) in zip(axes, exponents.items(), strict=True):
        for name, exponent in contenders.items():
            points = [
                (case.n, row.cpu)
                for case in cases
                if case.series == series
                for row in case.rows
                if row.name == name and row.cpu is not None
            ]
            axis.loglog(*zip(*points, strict=True), "o-", label=f"{name}: $n^{{{exponent:.2f}}}$")
        axis.set(title=series, xlabel="n", ylabel="CPU seconds")
        axis.grid(alpha=0.3, which="both")
        axis.legend()
    figure.savefig(file, dpi=150)
    return True


def without_bars(case: CaseReport) -> CaseReport:
    """Drop the bars, which are set for the full sizes."""
    rows = [dataclasses.replace(row, bar=None) for row in case.rows]
    return dataclasses.replace(case, rows=rows)


def save(report: TopicReport, file: Path) -> None:
    """Write a report as JSON."""
    file.write_text(json.dumps(dataclasses.asdict(report), indent=1) + "\n")


def load(file: Path) -> TopicReport:
    """Read a report that :func:`save` wrote."""
    fields = json.loads(file.read_text())
    cases = [
        CaseReport(**{**case, "rows": [Row(**row) for row in case["rows"]]})
        for case in fields.pop("cases")
    ]
    return TopicReport(**{**fields, "headline": tuple(fields["headline"]), "cases": cases})


def _title(case: CaseReport) -> str:
    return f"{case.name}: {case.size}"


def _places(report: TopicReport) -> str:
    facts = [f"- {name}: {value}" for name, value in report.measured_on.items()]
    quick = ["", "Measured at the quick sizes: a smoke test."] if report.quick else []
    return "\n".join(["Measured on", "", *facts, *quick])


def _cells(row: Row) -> tuple[str, ...]:
    if row.missing:
        return (row.name, "-", "-", "-", "-", "-", f"missing: {row.missing} is not installed")
    return (
        row.name,
        _number(row.cpu, _seconds),
        _number(row.wall, _seconds),
        _number(row.ratio, lambda ratio: f"{ratio:.3g}" if ratio < 1000 else f"{ratio:.0f}"),
        _number(row.error, lambda error: f"{error:.1e}" if error else "0"),
        _number(row.memory, lambda size: f"{size / 1e6:.0f} MB"),
        "; ".join(filter(None, [_bar(row), _share(row), _runs(row), row.note])),
    )


def _number(value: Any, form: Callable[[Any], str]) -> str:
    return "-" if value is None else form(value)


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def _bar(row: Row) -> str:
    if row.bar is None or row.ratio is None:
        return ""
    return f"bar {row.bar:.3g}: {'met' if row.ratio >= row.bar else 'MISSED'}"


def _share(row: Row) -> str:
    if row.share == 1:
        return ""
    if row.share > 1:
        return f"mean of {row.share:g} repetitions"
    return f"scaled from {100 * row.share:.2g} %"


def _runs(row: Row) -> str:
    return "one run" if row.runs == 1 else ""


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
