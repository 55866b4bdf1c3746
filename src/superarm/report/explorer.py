"""The trade-off explorer: reward against group regret, and which policies nobody beats in both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt
import polars as pl

from superarm.experiments.experiment import BENCHMARK, base_of
from superarm.experiments.promises import SETTLED
from superarm.report import theme
from superarm.report.figure import Figure, runs_of
from superarm.report.panels import CHOSEN, POWERS, panel, seen, zero_and_decades
from superarm.report.summary import number, percent, summary
from superarm.report.theme import Style, base_styles, stated_settings

CHARACTER, LINE = 6.1, 13.0  # pixels that a name of 11 pixels takes
REACH = 5.0  # of a point, in pixels


@dataclass(frozen=True, kw_only=True)
class Side:
    """Where a name stands relative to its point: the alignment of the text, and by how many pixels it is moved."""

    align: Literal["left", "center", "right"]
    baseline: Literal["top", "middle", "bottom"]
    dx: float
    dy: float


# Corners first: bars of a point, and lines between points, leave it along the axes.
SIDES = {
    "above right": Side(align="left", baseline="bottom", dx=6, dy=-4),
    "below right": Side(align="left", baseline="top", dx=6, dy=5),
    "above left": Side(align="right", baseline="bottom", dx=-6, dy=-4),
    "below left": Side(align="right", baseline="top", dx=-6, dy=5),
    "right": Side(align="left", baseline="middle", dx=9, dy=0),
    "left": Side(align="right", baseline="middle", dx=-9, dy=0),
    "above": Side(align="center", baseline="bottom", dx=0, dy=-8),
    "below": Side(align="center", baseline="top", dx=0, dy=9),
    # A line further off, where the near places are taken.
    "far above right": Side(align="left", baseline="bottom", dx=6, dy=-17),
    "far below right": Side(align="left", baseline="top", dx=6, dy=18),
    "far above left": Side(align="right", baseline="bottom", dx=-6, dy=-17),
    "far below left": Side(align="right", baseline="top", dx=-6, dy=18),
}

_Box = tuple[float, float, float, float]  # left, top, right, bottom


def placed(
    spots: Sequence[tuple[float, float]], names: Sequence[str], width: float, height: float, first: Sequence[int]
) -> list[str | None]:
    """The side of each point on which its name covers no point and no other name; None where there is no such side.

    Parameters
    ----------
    spots
        of the points, in pixels from the left and from the top
    names
        of the points
    width, height
        of the panel; names stay inside
    first
        the points in the order in which they choose
    """
    taken = [(x - REACH, y - REACH, x + REACH, y + REACH) for x, y in spots]
    sides: list[str | None] = [None] * len(spots)
    for i in first:
        for name, side in SIDES.items():
            box = _box(spots[i], names[i], side)
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                sides[i] = name
                break
    return sides


def _box(spot: tuple[float, float], name: str, side: Side) -> _Box:
    wide = CHARACTER * len(name)
    left = spot[0] + side.dx - {"left": 0.0, "center": 0.5, "right": 1.0}[side.align] * wide
    top = spot[1] + side.dy - {"top": 0.0, "middle": 0.5, "bottom": 1.0}[side.baseline] * LINE
    return (left, top, left + wide, top + LINE)


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


TIPS = {
    "reward, pooled": "reward_ratio_pooled",
    "reward, mean of runs": "reward_ratio_mean",
    "group regret": "group_regret_mean",
    "group regret, std": "group_regret_std",
    "satisfied, pooled": "satisfied_pooled",
    f"satisfied after round {SETTLED}": "satisfied_late",
    "broken a run": "broken",
    "predicted a run": "predicted",
    "select, median ms": "select_ms",
}
NARROW = 520  # pixels below which names at points would lie on each other


def _panel(table: pl.DataFrame, looks: Mapping[str, Style], *, width: int, height: int) -> alt.LayerChart:
    """Reward ratio against group regret; the Pareto points filled and joined.

    Parameters
    ----------
    table
        rows of the summary with ``pareto``
    looks
        of all policies of the page
    width, height
        in pixels, for which names are placed beside the points
    """
    regrets = table["group_regret_mean"].to_list()
    ticks = zero_and_decades(regrets)
    unit = ticks[1]
    # A little beyond 0, so that a point there stands clear of the axis; and no further than the points.
    start, end = -0.25 * unit, max(2.0 * unit, 1.6 * max(regrets))
    scale_x = alt.Scale(type="symlog", constant=unit, domain=[start, end], nice=False)
    low, high = _ends_without_stragglers(table["reward_ratio_pooled"].to_list())
    scale_y = alt.Scale(domain=[low, high], nice=False, zero=False)

    def across(field: str) -> alt.X:
        axis = alt.Axis(
            values=[tick for tick in ticks if tick <= end],
            labelExpr=POWERS,
            labelOverlap=True,
            labelFlush=False,
            grid=True,
        )
        return alt.X(f"{field}:Q").title("group regret, mean over the runs").scale(scale_x).axis(axis)

    def up(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q").title("reward / benchmark's, pooled").scale(scale_y).axis(tickCount=6)

    rows = table.with_columns(
        base=pl.col("policy").map_elements(base_of, return_dtype=pl.String),
        name=pl.col("policy").map_elements(_short, return_dtype=pl.String),
        left=(pl.col("group_regret_mean") - pl.col("group_regret_std")).clip(0.0, end),
        right=(pl.col("group_regret_mean") + pl.col("group_regret_std")).clip(0.0, end),
        bottom=(pl.col("reward_ratio_pooled") - pl.col("reward_ratio_spread")).clip(low, high),
        top=(pl.col("reward_ratio_pooled") + pl.col("reward_ratio_spread")).clip(low, high),
        shown=pl.col("reward_ratio_pooled").clip(low, high),
        beneath=pl.col("reward_ratio_pooled") < low,
    )
    whole = _symlog(end, unit) - _symlog(start, unit)
    spots = [
        (width * (_symlog(regret, unit) - _symlog(start, unit)) / whole, height * (high - shown) / (high - low))
        for regret, shown in zip(regrets, rows["shown"], strict=True)
    ]
    first = sorted(range(len(spots)), key=lambda i: not table["pareto"][i])
    sides = placed(spots, rows["name"].to_list(), width, height, first)
    rows = rows.with_columns(side=pl.Series(sides, dtype=pl.String))
    rows, tooltip = _told(rows)
    # All settings of a policy have its colour: the ordinal range of the configuration.
    tint = alt.Color("base:O").scale(domain=list(base_styles(looks))).sort(None).legend(None)
    base = alt.Chart().encode(color=tint, opacity=seen(1, 0.1), tooltip=tooltip)
    faint = base.encode(opacity=seen(0.45, 0.05))
    shape = alt.when("datum.beneath").then(alt.value("triangle-down")).otherwise(alt.value("circle"))
    dots = base.encode(x=across("group_regret_mean"), y=up("shown"), shape=shape)
    layers = [
        alt.Chart()
        .transform_filter("datum.pareto")
        .mark_line(strokeWidth=1.2, strokeDash=[4, 3], interpolate="step-after", style="front")
        .encode(x=across("group_regret_mean"), y=up("shown"), order="group_regret_mean:Q"),
        faint.transform_filter("isValid(datum.left)")
        .mark_rule(strokeWidth=1.2)
        .encode(x=across("left"), x2="right:Q", y=up("shown")),
        faint.transform_filter("isValid(datum.bottom)")
        .mark_rule(strokeWidth=1.2)
        .encode(x=across("group_regret_mean"), y=up("bottom"), y2="top:Q"),
        dots.transform_filter("!datum.pareto").mark_point(size=64, strokeWidth=1.8, filled=False),
        dots.transform_filter("datum.pareto").mark_point(size=110, filled=True),
    ]
    named = alt.Chart().encode(
        x=across("group_regret_mean"),
        y=up("shown"),
        text="name:N",
        opacity=alt.when(f"width < {NARROW}")
        .then(alt.value(0))
        .when(CHOSEN)
        .then(alt.value(1))
        .otherwise(alt.value(0.1)),
    )
    layers += [
        named.transform_filter(f"datum.side == '{side}'").mark_text(
            align=look.align, baseline=look.baseline, dx=look.dx, dy=look.dy
        )
        for side, look in SIDES.items()
        if side in sides
    ]
    drawn = ["policy", "group_regret_mean", "base", "name", "side", "pareto", "shown", "beneath"]
    told = [f"tip{place}" for place in range(len(TIPS))]
    rows = rows.select(*drawn, "left", "right", "bottom", "top", *told)
    return panel(layers, rows, "Reward and group regret", height)


def _told(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[alt.Tooltip]]:
    """The figures that a tooltip shows, as text in columns tip0, tip1, ...: Vega would call a missing number NaN."""
    said = [
        pl.col(column)
        .map_elements(percent if column.startswith("satisfied") else number, return_dtype=pl.String, skip_nulls=False)
        .alias(f"tip{place}")
        for place, column in enumerate(TIPS.values())
    ]
    tooltip = [
        alt.Tooltip("policy:N"),
        *(alt.Tooltip(f"tip{place}:N").title(title) for place, title in enumerate(TIPS)),
        alt.Tooltip("pareto:N").title("not dominated"),
    ]
    return rows.with_columns(said), tooltip


def _ends_without_stragglers(ratios: list[float]) -> tuple[float, float]:
    """The ends of the reward's axis; what is below half of the largest reward would squeeze all others together."""
    highest = max(ratios)
    near = [ratio for ratio in ratios if ratio >= 0.5 * highest] if highest > 0.0 else ratios
    pad = 0.08 * (highest - min(near)) or 0.05
    return min(near) - pad, highest + pad


def _symlog(value: float, unit: float) -> float:
    """The scale of the same name: linear near 0, logarithmic beyond ``unit``."""
    return math.copysign(math.log1p(abs(value) / unit), value)


def _short(policy: str) -> str:
    """What to write beside a point: its settings, or its name where it has none."""
    settings = stated_settings(policy)
    return ", ".join(f"{key} {value}" for key, value in settings.items()) or policy


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
    bars = "" if runs_of(frame) > 1 else " (none here: there is one run)"
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
        panels=() if table.is_empty() else (_panel(table, looks, width=WIDTH, height=HEIGHT),),
        looks=looks,
        columns=1,
        width=WIDTH,
    )


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
