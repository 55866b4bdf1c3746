"""Whether the policies of a study were honest: coverage and promises by run, verdicts, and what to warn of.

In a study the truth is known, so intervals are those of the expected outcomes, without noise. A mistake about the truth
lasts from round to round, so a run, not a round, counts once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from superarm.calibration.broken_promises import judge_promises
from superarm.calibration.coverage import LEVEL, judge
from superarm.calibration.verdict import Finding, Verdict
from superarm.report.curves import checked
from superarm.report.theme import ordered

WINDOW = 10  # rounds that a point of the coverage chart looks back on
OUTPUTS = {1: "covered_1", 2: "covered_2"}
WHAT_TO_DO = (
    "Learn the hyperparameters from the data (or shorten the lengthscale), and raise noise_std if repeated outcomes "
    "scatter more than it says; docs/calibration.md shows how to check a log of your own."
)


@dataclass(frozen=True, kw_only=True)
class Honesty:
    """The verdicts on one policy: of its intervals for each output, and of its promises if it predicts any."""

    policy: str
    intervals: tuple[Verdict, ...]
    promises: Verdict | None


def honesty(frame: pl.DataFrame) -> tuple[Honesty, ...]:
    """The verdicts on every policy that says what it believes, in the order of the legends."""
    frame = checked(frame)
    runs = (
        _with_arms(frame)
        .group_by("policy", "run", maintain_order=True)
        .agg(
            pl.col(*OUTPUTS.values()).sum(),
            seen=pl.col("looked_at").sum(),
            predicted=pl.col("predicted_broken").sum(),
            predicting=pl.col("predicted_broken").count(),
            broken=_broken().filter(pl.col("predicted_broken").is_not_null()).sum(),
        )
    )
    found = []
    for policy in ordered(frame["policy"]):
        mine = runs.filter(pl.col("policy") == policy)
        seen = mine.filter(pl.col("seen") > 0)
        sizes = seen["seen"].cast(pl.Float64).to_numpy()
        intervals = tuple(
            judge(f"{policy}, output {output}", {LEVEL: (seen[column].to_numpy() / sizes, sizes)}, unit="run")
            for output, column in OUTPUTS.items()
            if len(sizes)
        )
        told = mine.filter(pl.col("predicting") > 0)
        promises = None
        if told.height:
            promises = judge_promises(policy, told["predicted"].to_numpy(), told["broken"].to_numpy(), unit="run")
        if intervals or promises is not None:
            found.append(Honesty(policy=policy, intervals=intervals, promises=promises))
    return tuple(found)


def warnings(found: Iterable[Honesty]) -> list[str]:
    """What a reader must know before trusting the figures: a sentence on intervals, and one on promises."""
    found = tuple(found)
    narrow = [
        f"{one.policy} ({', '.join(f'{100 * v.observed:.0f} % of output {j}' for j, v in wrong)})"
        for one in found
        if (wrong := [(j, v) for j, v in enumerate(one.intervals, 1) if v.finding is Finding.OVERCONFIDENT])
    ]
    hopeful = [
        f"{one.policy} ({one.promises.observed:,.0f} broken, {one.promises.expected:,.1f} predicted)"
        for one in found
        if one.promises is not None and one.promises.finding is Finding.OVERCONFIDENT
    ]
    said = []
    if narrow:
        said.append(f"Intervals meant to hold {100 * LEVEL:.0f} % of the truth hold less of it: {'; '.join(narrow)}.")
    if hopeful:
        said.append(f"More promises broke than were predicted to: {'; '.join(hopeful)}.")
    return said


def in_a_line(found: Iterable[Honesty]) -> str | None:
    """The warnings in one line for a terminal, or None."""
    wrong = [
        one.policy
        for one in found
        if any(v.finding is Finding.OVERCONFIDENT for v in (*one.intervals, *([one.promises] if one.promises else [])))
    ]
    if not wrong:
        return None
    return f"overconfident: {', '.join(wrong)}; the report's section on calibration says in what, and what to do"


def coverage_by_round(frame: pl.DataFrame, output: int) -> pl.DataFrame:
    """The share of expected outcomes inside their intervals over the last rounds, all runs together: policy, t, mean.

    Policies without beliefs are left out, and so are rounds before which nothing was looked at.
    """
    column = OUTPUTS[output]
    rounds = (
        _with_arms(frame)
        .group_by("policy", "t", maintain_order=True)
        .agg(inside=pl.col(column).sum(), looked_at=pl.col("looked_at").sum())
        .sort("t", maintain_order=True)
    )
    place = {policy: number for number, policy in enumerate(ordered(frame["policy"]))}
    recent = pl.col("inside", "looked_at").rolling_sum(WINDOW, min_samples=1).over("policy", order_by="t")
    return (
        rounds.with_columns(recent)
        .filter(pl.col("looked_at") > 0)
        .select("policy", "t", mean=pl.col("inside") / pl.col("looked_at"))
        .with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in ("std", "low", "high"))
        .sort(pl.col("policy").replace_strict(place, return_dtype=pl.Int64), "t")
    )


def predicting(frame: pl.DataFrame) -> pl.DataFrame:
    """The rounds whose broken promises were predicted, with how many ``broke``."""
    return frame.drop_nulls("predicted_broken").with_columns(broke=_broken().cast(pl.Float64))


def _with_arms(frame: pl.DataFrame) -> pl.DataFrame:
    """How many arms were ``looked_at``: those picked where there was a belief."""
    return frame.with_columns(
        looked_at=pl.when(pl.col("covered_1").is_not_null()).then(pl.col("arms").list.len()).otherwise(0)
    )


def _broken() -> pl.Expr:
    return pl.col("groups_touched") - pl.col("groups_satisfied")
