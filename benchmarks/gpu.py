"""What only a GPU can show: ``python -m benchmarks.gpu [--device cuda|cpu] [--quick] [--topic NAME]``.

A topic takes part with a module ``benchmarks/<domain>/_<topic>_on_gpu.py`` that defines
``rows(device, quick)``, an iterable of :class:`Row`. With ``quick`` the sizes are small enough for the
whole table to take seconds on a CPU, where its ratios mean nothing: it shows that everything runs. The full
table takes less than five minutes on one GPU.
"""

import argparse
import importlib
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

REPEATS = 5


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes
    ----------
    case : str
        The work and its size.
    contender : str
        Who did it.
    seconds : float
        Median wall time of one call, the device synchronised before and after.
    figure : str
        What else is to be told: an error, a rate, a share.
    """

    case: str
    contender: str
    seconds: float
    figure: str = ""


def seconds_of(work: Callable[[], Any], device: str, repeats: int = REPEATS) -> float:
    """Median wall time of ``work`` after one call to warm up."""
    times = []
    for _ in range(repeats + 1):
        synchronize(device)
        start = time.perf_counter()
        work()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def synchronize(device: str) -> None:
    """Wait until the device has done all that was asked of it."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def topics() -> dict[str, str]:
    """Module of each topic that takes part."""
    files = sorted(Path(__file__).parent.glob("*/_*_on_gpu.py"))
    return {
        file.stem[1 : -len("_on_gpu")]: f"benchmarks.{file.parent.name}.{file.stem}"
        for file in files
    }


def measure(
    device: str, *, quick: bool, only: Iterable[str] | None = None
) -> Iterator[tuple[str, Row]]:
    """Rows of all topics, each as soon as it is measured."""
    for topic, module in topics().items():
        if only is None or topic in only:
            for row in importlib.import_module(module).rows(device, quick):
                yield topic, row


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--quick", action="store_true", help="small sizes, seconds on a CPU")
    parser.add_argument("--topic", action="append", choices=topics(), help="only this one")
    options = parser.parse_args()
    name = (
        torch.cuda.get_device_name()
        if torch.device(options.device).type == "cuda"
        else options.device
    )
    print(f"torch {torch.__version__}, {name}\n\n| topic | case | contender | ms | |")
    print("|:--|:--|:--|--:|:--|")
    for topic, row in measure(options.device, quick=options.quick, only=options.topic):
        print(
            f"| {topic} | {row.case} | {row.contender} | {1000 * row.seconds:.3g} | {row.figure} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
