"""The trade-off explorer: reward against group regret, and which policies nobody beats in both."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from superarm.experiments.experiment import BENCHMARK
from superarm.report import captions, theme
from superarm.report.figure import Figure
from superarm.report.points import tradeoff as panel
from superarm.report.summary import number, summary

WIDTH, HEIGHT = 660, 380


def pareto(costs: Sequence[float], gains: Sequence[float]) -> list[bool]:
    """Which points are not dominated: no other costs no more and gains no less, and is better in one of the two.

    A point with a missing or undefined number is none of them.

    Examples
    --------
    >>> pareto([0.0, 1.0, 2.0, 2.0], [0.5, 0.9, 0.9, 1.0])
    [True, True, False, True]
    """
    finite = [i for i, pair in enumerate(zip(costs, gains, strict=True)) if all(map(_is_number, pair))]
    kept = [False] * len(costs)
    best, at = -math.inf, math.nan  # the largest gain so far, and the smallest cost that has it
    for i in sorted(finite, key=lambda i: (costs[i], -gains[i])):
        if gains[i] > best:
            best, at = gains[i], costs[i]
        kept[i] = gains[i] == best and costs[i] == at
    return kept


def points(frame: pl.DataFrame) -> pl.DataFrame:
    """One row a policy, in the order of the legends: its figures of the summary, and whether it is ``pareto``.

    The benchmark is never that: it knows the truth.
    """
    table = summary(frame).drop_nulls(["reward_ratio_pooled", "group_regret_mean"])
    rivals = table.with_columns(reward_ratio_pooled=pl.when(pl.col("policy") != BENCHMARK).then("reward_ratio_pooled"))
    front = pareto(rivals["group_regret_mean"].to_list(), rivals["reward_ratio_pooled"].to_list())
    return table.with_columns(pareto=pl.Series(front, dtype=pl.Boolean))


def tradeoff(frame: pl.DataFrame) -> Figure:
    """Reward ratio against group regret, a point for each policy and setting."""
    looks = theme.styles(frame["policy"])
    table = points(frame)
    undominated = table.filter("pareto").sort("group_regret_mean")
    said = ", ".join(
        f"{row['policy']} (reward {number(row['reward_ratio_pooled'])}, regret {number(row['group_regret_mean'])})"
        for row in undominated.iter_rows(named=True)
    )
    others = ", ".join(
        f"{row['policy']} ({number(row['reward_ratio_pooled'])}, {number(row['group_regret_mean'])})"
        for row in table.filter(~pl.col("pareto")).iter_rows(named=True)
    )
    bars = "" if captions.runs_of(frame) > 1 else " (none here: there is one run)"
    return Figure(
        name="tradeoff",
        title="Reward against broken promises",
        caption="Up is more reward, left is less group regret. Reward: summed over all rounds and runs, over the same "
        "sum of the benchmark, which keeps every promise that can be kept and is drawn for comparison. Group regret: "
        "summed over the rounds of a run, mean over the runs; its scale is logarithmic but for its first step, which "
        f"reaches down to 0. Bars: ± one sample standard deviation over the runs{bars}, cut at the edges; a "
        "triangle at the lower edge has less reward than the axis shows. "
        "Filled and joined: not dominated, which means that no other policy here has as much reward with as little "
        "group regret. One colour for all settings of a policy. The table beneath has every figure.",
        alternative=f"Reward ratio and group regret. Not dominated: {said or 'none'}. The others: {others or 'none'}.",
        panels=() if table.is_empty() else (panel(table, looks, width=WIDTH, height=HEIGHT),),
        looks=looks,
        columns=1,
        width=WIDTH,
    )


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
