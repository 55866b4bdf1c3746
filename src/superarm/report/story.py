"""What a study has shown, in a few sentences for people who read nothing else."""

from __future__ import annotations

from typing import Any

import polars as pl

from superarm.experiments.experiment import BENCHMARK
from superarm.experiments.measures import summary
from superarm.experiments.paper import DEMONSTRATION
from superarm.report import theme
from superarm.report.numbers import number, percent

MOST = 5  # policies that the story tells of
WELL_KNOWN = ("cautious", "tcgp-ucb", "uniform")  # of more policies, these, and the best in promises and in reward


def story(frame: pl.DataFrame) -> str:
    """Promises kept and reward of each policy, or of the telling ones; the one that kept most comes first."""
    table = summary(theme.checked(frame)).filter(pl.col("policy") != BENCHMARK).drop_nulls("reward_ratio_pooled")
    rows = table.sort("satisfied_pooled", descending=True, nulls_last=True, maintain_order=True).to_dicts()
    if len(rows) > MOST:
        richest = max(rows, key=lambda row: row["reward_ratio_pooled"])
        rows = [row for row in rows if row in (rows[0], richest) or row["policy"] in WELL_KNOWN]
    if not rows:
        return ""
    first, *others = rows
    best = "best reward" if first["satisfied_pooled"] is None else "reward of the best choice that keeps them all"
    said = f"{_subject(first)} {_kept(first, ' of its promises')} of the {best}."
    if others:
        said += f" {'; '.join(f'{_subject(row)} {_kept(row)}' for row in others)}."
    if any(row["reward_ratio_pooled"] > 1 for row in rows):
        said += " More than 1 can be earned only by breaking promises."
    return said


def _subject(row: dict[str, Any]) -> str:
    words = DEMONSTRATION.get(row["policy"])
    return f"{row['policy']}, which {words}," if words else str(row["policy"])


def _kept(row: dict[str, Any], whose: str = "") -> str:
    earned = f"earned {number(row['reward_ratio_pooled'])}"
    share = row["satisfied_pooled"]
    return earned if share is None else f"kept {percent(share)}{whose} and {earned}"
