"""The exact oracles against a mixed-integer program on the same rounds.

Both run in one process, round by round in turn, so that whatever else the machine does meets both alike. A round counts
only if the two agree on it: neither value above the other's bound, and equal values where both are proved best.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.families import FAMILIES, Family, Instance
from benchmarks.page import Listing
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.milp.milp import MILP
from superarm.oracles.oracle import SuperArmOracle
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.selection import Selection

AGREE = 1e-8  # relative: HiGHS proves no more
LIMIT = 10.0  # seconds that HiGHS may take for one round
WANTED_RATIO = 30.0
WANTED_WORST = 100.0  # ms
HEADING = "Oracles"
NOTES = (
    "Times from the indices to the super arm, good subgroups included, on rounds of the paper's size "
    f"(`benchmarks/families.py`). superarm is `Decomposition`, or `BestWholeGroups` for F3. HiGHS is the `MILP` "
    f"oracle, stopped after {LIMIT:.0f} s (the ratio is then a lower bound). It is slow, so it plays only as many of "
    "the rounds as fit into its share of the time. Where both finish, they agree to 1e-8 relative. Picking whole "
    "groups (F3) is a filter and a sort; nearly all of the milliseconds that HiGHS takes there are the fixed cost of "
    "one call, so that ratio says little about either."
)


@dataclass
class Row:
    """What was measured on one family."""

    family: Family
    own: list[float] = field(default_factory=list)  # ms
    peer: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    limits: int = 0  # rounds that the peer did not finish
    wrong: int = 0  # rounds on which the two disagree

    def written(self) -> dict[str, Any]:
        def digits(values: list[float]) -> list[float]:
            return [float(f"{value:.4g}") for value in values]

        return {
            "family": self.family.name,
            "variant": self.family.variant,
            "own": digits([statistics.median(self.own), max(self.own)]) if self.own else None,
            "peer": digits([statistics.median(self.peer), max(self.peer)]) if self.peer else None,
            "ratios": digits(self.ratios),
            "limits": self.limits,
            "wrong": self.wrong,
        }


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def timed(oracle: SuperArmOracle, one: Instance) -> tuple[Selection, float]:
    """The answer and its time in ms, from the indices on: good subgroups are part of the work."""
    start = time.process_time()
    selection = oracle(one.index, one.round, one.good())
    return selection, 1e3 * (time.process_time() - start)


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


def run(*, small: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The section for the results."""
    rows = []
    for family in FAMILIES[3:6:2] if small else FAMILIES:
        say(f"{family.name}, {family.variant}")
        found = (
            measure(family, instances=2, seconds=0.2, least=1, limit=2.0, repeats=1)
            if small
            else measure(family, instances=30, seconds=8.0, least=3, limit=LIMIT)
        )
        rows.append(found.written())
    return {"rows": rows, "limit": LIMIT}


def listings(section: dict[str, Any]) -> list[Listing]:
    head = ["family", "superarm, ms (median / worst)", "HiGHS, ms (median / worst)", "x faster (quartiles)", "agree"]
    lines = []
    for row in section["rows"]:
        finished = len(row["ratios"]) - row["limits"]
        verdict = f"{finished} of {len(row['ratios']) + row['wrong']}"
        verdict += f", {row['limits']} unfinished" if row["limits"] else ""
        verdict += f", {row['wrong']} DISAGREE" if row["wrong"] else ""
        name = f"{row['family']}, {row['variant']}"
        if not row["ratios"]:
            lines.append([name, "", "", "", verdict])
            continue
        low, middle, high = quartiles(row["ratios"])
        more = ">= " if row["limits"] else ""
        lines.append(
            [
                name,
                f"{row['own'][0]:.2f} / {row['own'][1]:.2f}",
                f"{row['peer'][0]:.1f} / {row['peer'][1]:.1f}",
                f"{more}{middle:.0f} ({low:.0f} to {high:.0f})",
                verdict,
            ]
        )
    return [Listing(title="From the indices to the super arm, one round of the paper's size", head=head, rows=lines)]


def verdicts(section: dict[str, Any]) -> list[str]:
    """For each of the four families: the median ratio over all its rounds, and its worst round."""
    lines = []
    for name in dict.fromkeys(row["family"] for row in section["rows"]):
        mine = [row for row in section["rows"] if row["family"] == name]
        ratios = [ratio for row in mine for ratio in row["ratios"]]
        wrong = sum(row["wrong"] for row in mine)
        if wrong or not ratios:
            lines.append(f"{name}: {wrong} rounds on which the two DISAGREE")
            continue
        ratio, worst = statistics.median(ratios), max(row["own"][1] for row in mine)
        kept = ratio >= WANTED_RATIO and worst < WANTED_WORST
        lines.append(
            f"{name}: {ratio:.0f} x faster than HiGHS (wanted: {WANTED_RATIO:.0f}), worst round {worst:.1f} ms "
            f"(wanted: below {WANTED_WORST:.0f}): {'reached' if kept else 'NOT REACHED'}"
        )
    return lines
