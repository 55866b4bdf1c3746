"""What a study has shown, in a few sentences for people who read nothing else."""

from __future__ import annotations

from typing import Any

import polars as pl

from superarm.experiments.experiment import BENCHMARK
from superarm.experiments.measures import summary
from superarm.experiments.paper import DEMONSTRATION
from superarm.report import theme
from superarm.report.earned import WHY_NO_SHARE, Earned, earned
from superarm.report.numbers import number, percent

MOST = 5  # policies that the story tells of
WELL_KNOWN = ("cautious", "tcgp-ucb", "uniform")  # of more policies, these, and the best in promises and in reward


def story(frame: pl.DataFrame) -> str:
    """Promises kept and reward of each policy, or of the telling ones; the one that kept most comes first."""
    table = summary(theme.checked(frame)).filter(pl.col("policy") != BENCHMARK)
    shown = earned(table)
    table = table.drop_nulls(shown.column)
    rows = table.sort("satisfied_pooled", descending=True, nulls_last=True, maintain_order=True).to_dicts()
    policies = len(rows)
    if policies > MOST:
        richest = max(rows, key=lambda row: row[shown.column])
        rows = [row for row in rows if row in (rows[0], richest) or row["policy"] in WELL_KNOWN]
    if not rows:
        return ""
    first, *others = rows
    best = "best reward" if first["satisfied_pooled"] is None else "reward of the best choice that keeps them all"
    whole = f" of the {best}" if shown.is_share else " per run"
    said = f"{_subject(first)} {_kept(first, shown, ' of its promises')}{whole}."
    if others:
        said += f" {'; '.join(f'{_subject(row)} {_kept(row, shown)}' for row in others)}."
    if len(rows) < policies:
        said += f" These are {len(rows)} of {policies} policies; the table below has all."
    if not shown.is_share:
        return f"{said} {WHY_NO_SHARE}"
    if any(row[shown.column] > 1 and (row["satisfied_pooled"] or 1.0) < 1 for row in rows):
        said += " More than 1 can be earned only by breaking promises."
    return said


def _subject(row: dict[str, Any]) -> str:
    words = DEMONSTRATION.get(row["policy"])
    return f"{row['policy']}, which {words}," if words else str(row["policy"])


def _kept(row: dict[str, Any], shown: Earned, whose: str = "") -> str:
    reward = f"earned {number(row[shown.column])}"
    share = row["satisfied_pooled"]
    return reward if share is None else f"kept {percent(share)}{whose} and {reward}"
