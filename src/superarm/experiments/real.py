"""The study on real data: sets that nothing was tuned on, with what a practitioner would write beside the policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from superarm.environments.real import SETS, RealWorld
from superarm.errors import MissingData
from superarm.experiments.experiment import BENCHMARK, DataKind, Experiment, Maker, Setting
from superarm.experiments.kinds import by_kind
from superarm.experiments.own import BY_NAME
from superarm.experiments.paper import ZETA, known
from superarm.experiments.script import Script

STUDY, TOGETHER = "real", "all sets"
JUDGED = ("wine", "tumours", "genres", "groceries", "baskets", "on time", "delays", "spending")  # not for tuning
SEEDS = 3  # runs of each set
MAY_BREAK = 0.01  # of the certified groups
ALIKE = 0.005  # shares of kept promises that count as equal
PLAYED = ("cautious", "script")


def script(setting: Setting) -> Any:  # it answers with arms alone, as any policy of one's own may
    """The practitioner's script."""
    return Script(setting.seed)


SYSTEMS: dict[str, Maker] = {**BY_NAME, "script": script}


def real(*, look: bool = True) -> Experiment:
    """Every judged set that is here in turn, three runs each: T = 60. Without ``look`` no data are read."""
    left_out: dict[str, str] = {}
    sizes: dict[str, str] = {}
    for name in JUDGED if look else ():
        try:
            table = RealWorld(name).table
        except MissingData as missing:
            left_out[name] = str(missing)
        else:
            sizes[name] = f"{SETS[name].about}; {len(table)} items, {len(table.items)} records"
    if look and not sizes:
        raise MissingData(f"none of the sets of this study is here: {_together(left_out)}")
    here = [*sizes] or [*JUDGED]
    said = f"; left out: {_together(left_out)}" if left_out else ""
    return Experiment(
        **{**known(STUDY), "runs": SEEDS * len(here)},
        environment=lambda seed: RealWorld(here[0], seed),
        by_run=lambda run, seed: RealWorld(here[run % len(here)], seed),
        policies={name: SYSTEMS[name] for name in (*PLAYED, BENCHMARK)},
        systems=SYSTEMS,
        zeta=ZETA,
        settings={"sets": sizes, "left out": left_out, "told": "nothing", "script": "superarm.experiments.script"},
        data=f"{', '.join(here)}{said}",
        data_kind=DataKind.OTHER,
        describe=lambda world: str(world.name),
        findings=lambda frame: findings(frame, [here[run % len(here)] for run in range(1 + max(frame["run"]))]),
    )


def _together(left_out: dict[str, str]) -> str:
    """What is missing, said once for the sets that miss the same."""
    names: dict[str, list[str]] = {}
    for name, why in left_out.items():
        names.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(mine)} ({why})" for why, mine in names.items())


def findings(frame: pl.DataFrame, described: Sequence[str]) -> list[str]:
    """A line for each set, and one for all: what was certified and broke, kept, stated and earned, and who is ahead."""
    runs = pl.DataFrame({"run": range(len(described)), "set": described}, schema={"run": pl.Int64, "set": pl.String})
    counted = frame.join(runs, on="run").group_by("policy", "set").agg(pl.col("certified", "certified_broken").sum())
    counts = {(policy, kind): (sure, broken) for policy, kind, sure, broken in counted.rows()}
    rows = {(row["policy"], row["kind"]): row for row in by_kind(frame, described, together=TOGETHER).to_dicts()}
    lines = []
    for kind in dict.fromkeys(kind for _, kind in rows):
        mine = [(policy, rows[policy, kind]) for policy in dict.fromkeys(policy for policy, _ in rows)]
        parts = [f"{policy} {_measured(row, *_certified(counts, policy, kind))}" for policy, row in mine]
        lines.append(f"{kind}: {'; '.join(parts)}.{_ahead(dict(mine))}")
    sure, broken = _certified(counts, "cautious", TOGETHER)
    if sure:
        more = "More" if broken > MAY_BREAK * sure else "No more"
        lines.append(f"{more} certified groups of the cautious policy broke than the {100 * MAY_BREAK:g} % that may.")
    return lines


def _certified(counts: dict[tuple[str, str], tuple[int, int]], policy: str, kind: str) -> tuple[int, int]:
    some = [count for (whose, of), count in counts.items() if whose == policy and kind in (of, TOGETHER)]
    return sum(sure for sure, _ in some), sum(broken for _, broken in some)


def _measured(row: dict[str, Any], sure: int, broken: int) -> str:
    certified = f"certified {sure}, of which {broken} broke ({100 * broken / sure:.1f} %), " if sure else ""
    kept = "touched no group" if row["kept"] is None else f"kept {row['kept']:.3f}"
    stated = "" if row["stated"] is None else f" (stated {row['stated']:.3f})"
    return f"{certified}{kept}{stated}" + ("" if row["reward"] is None else f", reward {row['reward']:.3f}")


def _ahead(rows: dict[str, dict[str, Any]]) -> str:
    """Who earns more, and whether at the price of promises; nothing unless both were played."""
    if not {*PLAYED} <= {*rows} or any(rows[policy][what] is None for policy in PLAYED for what in ("kept", "reward")):
        return ""
    richer, other = sorted(PLAYED, key=lambda policy: -rows[policy]["reward"])
    if rows[richer]["kept"] >= rows[other]["kept"] - ALIKE:
        return f" Ahead: {richer}."
    return f" {richer.capitalize()} earns more, {other} keeps more."
