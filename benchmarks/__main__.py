"""``python -m benchmarks``: measure, show, and write down."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks import guard, report, targets
from benchmarks.measure import ONE_THREAD, machine


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Times of superarm, its peers, the floor."
    )
    parser.add_argument("--only", help=f"some of {', '.join(report.SUBJECTS)}, separated by commas")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to see that everything runs")
    parser.add_argument("--check", action="store_true", help="compare with the committed figures; 1 if slower")
    parser.add_argument("--render", action="store_true", help="measure nothing: write the pages from the results")
    parser.add_argument("--out", type=Path, help="folder of the results; by default that of the benchmarks")
    chosen = parser.parse_args(arguments)
    names = list(report.SUBJECTS) if chosen.only is None else [part.strip() for part in chosen.only.split(",")]
    if unknown := [name for name in names if name not in report.SUBJECTS]:
        parser.error(f"--only: {', '.join(unknown)}: not one of {', '.join(report.SUBJECTS)}")
    console = Console(highlight=False)
    folder: Path = chosen.out or report.HERE
    results = report.read(folder)
    os.environ.update(ONE_THREAD)  # of the processes that are started from here
    with threadpool_limits(limits=1):
        if chosen.check:
            return check(results, console, small=chosen.small)
        if not chosen.render:
            measure(results, names, console, small=chosen.small)
        console.print(targets.listing(results).terminal())
    if chosen.small and chosen.out is None:
        console.print("tiny sizes mean nothing: not written")
        return 0
    report.write(results, folder)
    console.print(f"written to {folder / 'results.md'}", soft_wrap=True)
    return 0


def measure(results: dict[str, object], names: list[str], console: Console, *, small: bool) -> None:
    """Replace the sections of these names."""
    for name in names:
        subject, start = report.SUBJECTS[name], time.perf_counter()
        where = machine()
        with console.status(name) as status:
            section = subject.run(small=small, say=lambda words, name=name: status.update(f"{name}: {words}"))
        results[name] = {"machine": where, **section}
        for listing in subject.listings(section):
            console.print(listing.terminal())
        for line in [*subject.verdicts(section), *section.get("missing", [])]:
            console.print(line, markup=False, soft_wrap=True)
        console.print(f"{name}: {time.perf_counter() - start:.0f} s\n")


def check(results: dict[str, object], console: Console, *, small: bool) -> int:
    """What got slower than the committed figures: 1 if anything did."""
    committed = results.get("guard")
    if not isinstance(committed, dict):
        console.print("there are no committed figures to compare with: make bench writes them")
        return 1
    here, there = machine()["processor"], committed["machine"]["processor"]
    if here != there:
        console.print(f"the committed figures are of another processor ({there}; here {here}): ratios may differ")
    with console.status("guard") as status:
        listings, slower = guard.check(committed, small=small, say=lambda words: status.update(f"guard: {words}"))
    for listing in listings:
        console.print(listing.terminal())
    for line in slower:
        console.print(line, markup=False, soft_wrap=True)
    if not slower:
        console.print("nothing got slower")
    return int(bool(slower))


if __name__ == "__main__":
    sys.exit(main())
