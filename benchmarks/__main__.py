"""Command line: ``python -m benchmarks <topic> [--quick] [--all] [--json FILE] [--plot FILE]``."""

import argparse
import importlib
import os
from pathlib import Path
from types import ModuleType

# One thread everywhere unless a contender asks for more; read when the libraries are loaded.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from benchmarks import report, topic_modules  # noqa: E402
from benchmarks.harness import run_case  # noqa: E402


def run_topic(topic: str, module: ModuleType, *, quick: bool, long: bool) -> report.TopicReport:
    """Measure the cases of a topic, printing each table as it is ready."""
    done = []
    for case in module.cases(quick):
        if case.long and not long:
            print(f"{case.name}: {case.size}\nleft out, takes minutes: use --all\n", flush=True)
            continue
        measured = run_case(case)
        done.append(report.without_bars(measured) if quick else measured)
        print(report.as_text(done[-1]) + "\n", flush=True)
    print("\n".join(report.growth_lines(done)))
    return report.TopicReport(topic, quick, module.HEADLINE, report.measured_on(), done)


def main() -> None:
    """Run one topic from the command line."""
    modules = topic_modules()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("topic", choices=modules)
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute")
    parser.add_argument("--all", action="store_true", help="also the cases that take minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw time over size")
    options = parser.parse_args()

    module = importlib.import_module(modules[options.topic])
    measured = run_topic(options.topic, module, quick=options.quick, long=options.all)
    if options.json:
        report.save(measured, options.json)
    if options.plot and not report.draw_growth(measured.cases, options.plot):
        parser.error(f"{options.topic} has no series of sizes to plot.")


if __name__ == "__main__":
    main()
