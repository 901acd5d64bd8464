"""Measure contenders on the same work: median time of interleaved runs, peak memory, growth.

The first run of a contender is a warm-up: kernels compile, caches fill. Then come up to ``ROUNDS`` timed
runs, the contenders taking turns so that a busy moment of the machine meets them all; one that has spent
``PATIENCE`` seconds is not run again. Memory is watched in a run of its own, or in the warm-up where
another run would take long.
"""

import ctypes
import gc
import importlib.util
import statistics
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil

ROUNDS = 3
PATIENCE = 20.0
_MEMORY_INTERVAL = 0.002


@dataclass(frozen=True)
class Contender:
    """One way to do the work of a case.

    Attributes
    ----------
    name : str
        Its name in the table.
    run : callable
        The measured work, without arguments. What it returns goes to ``error``.
    requires : str
        Module that must be importable; a contender without it is listed as missing.
    share : float
        Share of the work that ``run`` does, e.g. 0.01 for 1000 of 100000 queries, or 10 for ten seeds.
        Times are divided by it, and the row says so.
    error : callable or None
        Maps what ``run`` returned to its relative error. None where it cannot be told.
    bar : float or None
        Least ratio to the first contender of the case that this library wants to reach.
    note : str
        What the reader must know about this row.
    """

    name: str
    run: Callable[[], Any]
    requires: str = ""
    share: float = 1.0
    error: Callable[[Any], float] | None = None
    bar: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Case:
    """Contenders on one input.

    Attributes
    ----------
    name, size : str
        What is measured, and on how much.
    build : callable
        Makes the data and returns the contenders, this library first. Not measured.
    series, n : str and int
        Cases of one series are the same work at several ``n``: the growth exponent is fitted to them.
    long : bool
        Whether the case takes minutes and runs with ``--all`` only.
    """

    name: str
    size: str
    build: Callable[[], list[Contender]]
    series: str = ""
    n: int = 0
    long: bool = False


@dataclass(frozen=True)
class Row:
    """What was measured of one contender; seconds are for the whole work."""

    name: str
    missing: str = ""  # the module that is not installed
    cpu: float | None = None
    wall: float | None = None
    ratio: float | None = None
    error: float | None = None
    memory: float | None = None  # bytes above the start of the run
    runs: int = 0
    share: float = 1.0
    bar: float | None = None
    note: str = ""


@dataclass(frozen=True)
class CaseReport:
    """The rows of one case."""

    name: str
    size: str
    series: str
    n: int
    rows: list[Row]


@dataclass(frozen=True)
class _Sample:
    cpu: float
    wall: float
    result: Any


def run_case(case: Case) -> CaseReport:
    """Measure all contenders of a case."""
    contenders = case.build()
    present = [c for c in contenders if _installed(c.requires)]
    measured = _measure(present)
    unit = measured[present[0].name][0]
    rows = [
        _row(c, *measured[c.name], unit=unit)
        if c.name in measured
        else Row(c.name, missing=c.requires)
        for c in contenders
    ]
    return CaseReport(case.name, case.size, case.series, case.n, rows)


def growth_exponents(reports: Iterable[CaseReport]) -> dict[str, dict[str, float]]:
    """Slope of log CPU time over log n, for each series and contender."""
    points: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for report in reports:
        for row in report.rows if report.series else ():
            if row.cpu is not None:
                named = points.setdefault(report.series, {}).setdefault(row.name, [])
                named.append((report.n, row.cpu))
    return {
        series: {
            name: float(np.polyfit(*np.log(np.array(pairs)).T, 1)[0])
            for name, pairs in contenders.items()
            if len(pairs) > 1
        }
        for series, contenders in points.items()
    }


def _installed(module: str) -> bool:
    return not module or importlib.util.find_spec(module) is not None


def _measure(contenders: list[Contender]) -> dict[str, tuple[float, float, float, float, int]]:
    """CPU and wall seconds, error, memory and number of runs, by contender."""
    warm_up = {c.name: _with_peak_memory(c.run) for c in contenders}
    samples: dict[str, list[_Sample]] = {c.name: [] for c in contenders}
    for _ in range(ROUNDS):
        for c in contenders:
            if sum(sample.wall for sample in samples[c.name]) < PATIENCE:
                samples[c.name].append(_timed(c.run))
    memory = {
        c.name: _with_peak_memory(c.run) if samples[c.name][-1].wall < PATIENCE else warm_up[c.name]
        for c in contenders
    }
    return {
        c.name: (
            statistics.median(s.cpu for s in samples[c.name]) / c.share,
            statistics.median(s.wall for s in samples[c.name]) / c.share,
            c.error(samples[c.name][-1].result) if c.error else None,
            memory[c.name],
            len(samples[c.name]),
        )
        for c in contenders
    }


def _row(
    contender: Contender,
    cpu: float,
    wall: float,
    error: float | None,
    memory: float,
    runs: int,
    *,
    unit: float,
) -> Row:
    return Row(
        name=contender.name,
        cpu=cpu,
        wall=wall,
        ratio=cpu / unit,
        error=error,
        memory=memory,
        runs=runs,
        share=contender.share,
        bar=contender.bar,
        note=contender.note,
    )


def _timed(run: Callable[[], Any]) -> _Sample:
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    return _Sample(time.process_time() - cpu, time.perf_counter() - wall, result)


def _with_peak_memory(run: Callable[[], Any]) -> float:
    """By how many bytes the process grew at its largest during ``run``."""
    _release_memory()
    process = psutil.Process()
    start = peak = process.memory_info().rss
    finished = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not finished.wait(_MEMORY_INTERVAL):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        run()
    finally:
        finished.set()
        watcher.join()
    peak = max(peak, process.memory_info().rss)
    return float(peak - start)


def _release_memory() -> None:
    """Give freed memory back to the system, else the next run would hide in it."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(0)
