"""Times of the exact oracles against a mixed-integer program on the same rounds: ``python -m benchmarks.oracles``.

Both solvers run in one process with one thread, round by round in turn, so that whatever else the machine does meets
both alike. A round counts only if the two agree on it: neither value above the other's bound, and equal values where
both are proved best.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.families import FAMILIES, Family, Instance
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.milp import MILP
from superarm.oracles.oracle import Selection, SuperArmOracle
from superarm.oracles.whole_groups import BestWholeGroups

RESULTS = Path(__file__).parent / "results.md"
PACKAGES = ("numpy", "scipy", "numba")
AGREE = 1e-8  # relative: HiGHS proves no more
WANTED_RATIO = 30.0
WANTED_WORST = 100.0  # ms


@dataclass
class Row:
    """What was measured on one family."""

    family: Family
    own: list[float] = field(default_factory=list)  # ms
    peer: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    limits: int = 0  # rounds that the peer did not finish
    wrong: int = 0  # rounds on which the two disagree

    def cells(self) -> list[str]:
        low, middle, high = quartiles(self.ratios)
        more = ">= " if self.limits else ""
        verdict = f"{len(self.peer) - self.limits} of {len(self.peer) + self.wrong}"
        verdict += f", {self.limits} unfinished" if self.limits else ""
        return [
            f"{self.family.name}, {self.family.variant}",
            f"{statistics.median(self.own):.2f} / {max(self.own):.2f}",
            f"{statistics.median(self.peer):.1f} / {max(self.peer):.1f}",
            f"{more}{middle:.0f} ({low:.0f} to {high:.0f})",
            verdict if not self.wrong else f"{verdict}, {self.wrong} DISAGREE",
        ]


HEAD = ["family", "superarm, ms (median / worst)", "HiGHS, ms (median / worst)", "times faster (quartiles)", "agree"]


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def timed(oracle: SuperArmOracle, one: Instance) -> tuple[Selection, float]:
    """The answer and its time in ms, from the indices on: good subgroups are part of the work."""
    start = time.perf_counter()
    selection = oracle(one.index, one.round, one.good())
    return selection, 1e3 * (time.perf_counter() - start)


def agree(mine: Selection, theirs: Selection) -> bool:
    slack = AGREE * max(1.0, abs(mine.value))
    consistent = theirs.value <= mine.upper_bound + slack and mine.value <= theirs.upper_bound + slack
    return consistent and (theirs.gap > slack or abs(theirs.value - mine.value) <= slack)


def measure(family: Family, *, instances: int, seconds: float, least: int, limit: float, repeats: int = 3) -> Row:
    """Time both solvers on ``instances`` rounds; the slow one only until it has used up ``seconds``.

    It does ``least`` rounds all the same. The fast one is timed ``repeats`` times on each round and the median taken.
    """
    own: SuperArmOracle = BestWholeGroups() if family.name.startswith("F3") else Decomposition()
    row = Row(family)
    rounds = family.instances(instances)
    for oracle in (own, MILP(deadline=0.1)):
        timed(oracle, rounds[0])  # whatever happens once per process
    for one in rounds:
        runs = [timed(own, one) for _ in range(repeats)]
        mine, fast = runs[0][0], statistics.median(duration for _, duration in runs)
        if sum(row.peer) / 1e3 >= seconds and len(row.peer) >= least:
            row.own.append(fast)
            continue
        theirs, slow = timed(MILP(deadline=limit), one)
        if not agree(mine, theirs):
            row.wrong += 1
            continue
        row.own.append(fast)
        row.peer.append(slow)
        row.ratios.append(slow / fast)
        row.limits += theirs.gap > AGREE * max(1.0, abs(theirs.value))
    return row


def report(rows: list[Row], arguments: argparse.Namespace) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    lines = [
        "# Oracles, timed",
        "",
        "Written by `make bench`: rounds of the paper's size (`benchmarks/families.py`), from the indices to the super",
        "arm, good subgroups included. Both solvers in one process with one thread, round by round in turn; the ratio",
        "is of the two times of the same round. HiGHS is the `MILP` oracle, stopped after",
        f"{arguments.limit:.0f} s (the ratio is then a lower bound) and run on as many rounds as its share of the time",
        "allowed; superarm is `Decomposition`, or `BestWholeGroups` for F3. They agree to 1e-8 relative.",
        "",
        f"Python {platform.python_version()}, {packages}; {platform.system()} on {platform.machine()}.",
        "",
        "| " + " | ".join(HEAD) + " |",
        "| " + " | ".join("---" for _ in HEAD) + " |",
        *("| " + " | ".join(row.cells()) + " |" for row in rows),
        "",
        *verdicts(rows),
        "",
        "Picking whole groups (F3) is a filter and a sort; of the milliseconds that HiGHS takes there, nearly all are",
        "the fixed price of one call, so the ratio says little about either.",
        "",
    ]
    return "\n".join(lines)


def verdicts(rows: list[Row]) -> list[str]:
    """For each of the four families: the median ratio over all its rounds, and its worst round."""
    lines = []
    for name in dict.fromkeys(row.family.name for row in rows):
        mine = [row for row in rows if row.family.name == name]
        ratio = statistics.median(ratio for row in mine for ratio in row.ratios)
        worst = max(max(row.own) for row in mine)
        kept = ratio >= WANTED_RATIO and worst < WANTED_WORST and not any(row.wrong for row in mine)
        lines.append(
            f"- {name}: median ratio {ratio:.0f} (wanted: {WANTED_RATIO:.0f}), worst round {worst:.1f} ms "
            f"(wanted: below {WANTED_WORST:.0f}): {'kept' if kept else 'NOT KEPT'}"
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about one minute instead of six")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds that HiGHS may take for one round")
    parser.add_argument("--only", default="", help="only the families whose row contains this")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the table is written")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.limit = min(arguments.limit, 5.0)
    console = Console()
    families = [one for one in FAMILIES if arguments.only in f"{one.name}, {one.variant}"]
    quick = arguments.quick
    with threadpool_limits(limits=1):
        rows = [
            measure(
                family,
                instances=9 if quick else 30,
                seconds=2.0 if quick else 12.0,
                least=1 if quick else 3,
                limit=arguments.limit,
            )
            for family in track(families, description="timing", console=console, transient=True)
        ]
    table = Table(*HEAD, title="One round at paper size")
    for row in rows:
        table.add_row(*row.cells())
    console.print(table)
    for line in verdicts(rows):
        console.print(line)
    arguments.out.write_text(report(rows, arguments), encoding="utf-8")
    console.print(f"written to {arguments.out.name}")
    return int(any(row.wrong for row in rows))


if __name__ == "__main__":
    sys.exit(main())
