"""The trade-off explorer: reward against group regret, and which policies are beaten in neither."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import altair as alt
import polars as pl

from superarm.experiments.experiment import BENCHMARK
from superarm.experiments.measures import LATE, summary
from superarm.experiments.results import settings_in
from superarm.report import theme
from superarm.report.figure import Figure, runs_of
from superarm.report.numbers import number, percent
from superarm.report.panels import CHOSEN, POWERS, panel, seen, zero_and_decades
from superarm.report.theme import Style

WIDTH, HEIGHT = 660, 380
NARROW = 520  # pixels below which names at points would lie on each other
TIPS = {
    "reward, pooled": "reward_ratio_pooled",
    "reward, mean of runs": "reward_ratio_mean",
    "group regret": "group_regret_mean",
    "group regret, std": "group_regret_std",
    "satisfied, pooled": "satisfied_pooled",
    f"satisfied after round {LATE}": "satisfied_late",
    "broken a run": "broken",
    "predicted a run": "predicted",
    "select, median ms": "select_ms",
}

CHARACTER, LINE, REACH = 6.1, 13.0, 5.0  # pixels of a name's letter and of its line, and of a point
Place = tuple[Literal["left", "right"], float, float]  # which end of a name is moved from its point, and by how much
Box = tuple[float, float, float, float]  # left, top, right, bottom
# Corners first: bars of a point, and lines between points, leave it along the axes. Then a line further off.
PLACES: tuple[Place, ...] = (
    *(
        ("left", 6, -10.5),
        ("left", 6, 11.5),
        ("right", -6, -10.5),
        ("right", -6, 11.5),
        ("left", 9, 0),
        ("right", -9, 0),
    ),
    *(("left", 6, -23.5), ("left", 6, 24.5), ("right", -6, -23.5), ("right", -6, 24.5)),
)


def tradeoff(frame: pl.DataFrame) -> Figure:
    """Reward ratio against group regret, a point for each policy and setting."""
    looks = theme.styles(frame)
    table = points(frame)
    said, others = (
        ", ".join(
            f"{row['policy']} (reward {number(row['reward_ratio_pooled'])}, regret {number(row['group_regret_mean'])})"
            for row in table.filter(pl.col("pareto") == kept).sort("group_regret_mean").iter_rows(named=True)
        )
        for kept in (True, False)
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
        panels=() if table.is_empty() else (_panel(table, looks),),
        looks=looks,
        columns=1,
        width=WIDTH,
    )


def points(frame: pl.DataFrame) -> pl.DataFrame:
    """One row a policy, in the order of the legends: its figures of the summary, and whether it is ``pareto``.

    The benchmark is never that: it knows the truth. Policies without both figures are left out.
    """
    frame = theme.checked(frame)
    both = pl.col("reward_ratio_pooled", "group_regret_mean")
    table = summary(frame).filter(pl.all_horizontal(both.is_finite().fill_null(False)))
    table = table.join(frame.select("policy", "base", "settings").unique("policy"), on="policy", maintain_order="left")
    rivals = table.with_columns(reward_ratio_pooled=pl.when(pl.col("policy") != BENCHMARK).then("reward_ratio_pooled"))
    front = pareto(rivals["group_regret_mean"].to_list(), rivals["reward_ratio_pooled"].to_list())
    return table.with_columns(pareto=pl.Series(front, dtype=pl.Boolean))


def pareto(costs: Sequence[float], gains: Sequence[float]) -> list[bool]:
    """Which points are not dominated: no other costs no more and gains no less, and is better in one of the two.

    A point with a missing or undefined number is none of them.

    Examples
    --------
    >>> pareto([0.0, 1.0, 2.0, 2.0], [0.5, 0.9, 0.9, 1.0])
    [True, True, False, True]
    """
    pairs = list(zip(costs, gains, strict=True))
    finite = [all(value is not None and math.isfinite(value) for value in pair) for pair in pairs]
    rivals = [pair for pair, known in zip(pairs, finite, strict=True) if known]

    def is_beaten(cost: float, gain: float) -> bool:
        return any(c <= cost and g >= gain and (c < cost or g > gain) for c, g in rivals)

    return [known and not is_beaten(*pair) for pair, known in zip(pairs, finite, strict=True)]


def _panel(table: pl.DataFrame, looks: Mapping[str, Style]) -> alt.LayerChart:
    """Reward ratio against group regret; the Pareto points filled and joined."""
    regrets = table["group_regret_mean"].to_list()
    ticks = zero_and_decades(regrets)
    unit = ticks[1]
    # A little beyond 0, so that a point there stands clear of the axis; and no further than the points.
    start, end = -0.25 * unit, max(2.0 * unit, 1.6 * max(regrets))
    scale_x = alt.Scale(type="symlog", constant=unit, domain=[start, end], nice=False)
    low, high = _ends_without_stragglers(table["reward_ratio_pooled"].to_list())
    scale_y = alt.Scale(domain=[low, high], nice=False, zero=False)
    axis = alt.Axis(
        values=[tick for tick in ticks if tick <= end], labelExpr=POWERS, labelOverlap=True, labelFlush=False, grid=True
    )

    def across(field: str) -> alt.X:
        return alt.X(f"{field}:Q").title("group regret, mean over the runs").scale(scale_x).axis(axis)

    def up(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q").title("reward / benchmark's, pooled").scale(scale_y).axis(tickCount=6)

    rows = table.with_columns(
        left=(pl.col("group_regret_mean") - pl.col("group_regret_std")).clip(0.0, end),
        right=(pl.col("group_regret_mean") + pl.col("group_regret_std")).clip(0.0, end),
        bottom=(pl.col("reward_ratio_pooled") - pl.col("reward_ratio_spread")).clip(low, high),
        top=(pl.col("reward_ratio_pooled") + pl.col("reward_ratio_spread")).clip(low, high),
        drawn=pl.col("reward_ratio_pooled").clip(low, high),
        beneath=pl.col("reward_ratio_pooled") < low,
    )
    names = [_short(policy, settings) for policy, settings in rows.select("policy", "settings").iter_rows()]
    whole = _symlog(end, unit) - _symlog(start, unit)
    spots = [
        (WIDTH * (_symlog(regret, unit) - _symlog(start, unit)) / whole, HEIGHT * (high - drawn) / (high - low))
        for regret, drawn in zip(regrets, rows["drawn"], strict=True)
    ]
    first = sorted(range(len(spots)), key=lambda i: not table["pareto"][i])
    found = places(spots, names, WIDTH, HEIGHT, first)
    aligned = {"align": pl.String, "dx": pl.Float64, "dy": pl.Float64}
    columns = [
        pl.Series(name, [p and p[i] for p in found], dtype=kind) for i, (name, kind) in enumerate(aligned.items())
    ]
    rows = rows.with_columns(*columns, name=pl.Series(names, dtype=pl.String))
    # Text, because Vega would call a missing number NaN.
    tips = [
        pl.col(column).map_elements(
            percent if column.startswith("satisfied") else number, return_dtype=pl.String, skip_nulls=False
        )
        for column in TIPS.values()
    ]
    tooltip = [
        alt.Tooltip("policy:N"),
        *(alt.Tooltip(f"tip{i}:N").title(title) for i, title in enumerate(TIPS)),
        alt.Tooltip("pareto:N").title("not dominated"),
    ]
    # All settings of a policy have its colour: the ordinal range of the configuration.
    tint = alt.Color("base:O").scale(domain=theme.bases_of(looks)).sort(None).legend(None)
    base = alt.Chart().encode(color=tint, opacity=seen(1, 0.1), tooltip=tooltip)
    faint = base.encode(opacity=seen(0.45, 0.05))
    shape = alt.when("datum.beneath").then(alt.value("triangle-down")).otherwise(alt.value("circle"))
    dots = base.encode(x=across("group_regret_mean"), y=up("drawn"), shape=shape)
    text = alt.MarkDef(
        type="text",
        baseline="middle",
        align=alt.ExprRef("datum.align"),
        dx=alt.ExprRef("datum.dx"),
        dy=alt.ExprRef("datum.dy"),
    )
    visible = alt.when(f"width < {NARROW}").then(alt.value(0)).when(CHOSEN).then(alt.value(1)).otherwise(alt.value(0.1))
    named = alt.Chart(mark=text).transform_filter("isValid(datum.align)")
    layers = [
        alt.Chart()
        .transform_filter("datum.pareto")
        .mark_line(strokeWidth=1.2, strokeDash=[4, 3], interpolate="step-after", style="front")
        .encode(x=across("group_regret_mean"), y=up("drawn"), order="group_regret_mean:Q"),
        faint.transform_filter("isValid(datum.left)")
        .mark_rule(strokeWidth=1.2)
        .encode(x=across("left"), x2="right:Q", y=up("drawn")),
        faint.transform_filter("isValid(datum.bottom)")
        .mark_rule(strokeWidth=1.2)
        .encode(x=across("group_regret_mean"), y=up("bottom"), y2="top:Q"),
        dots.transform_filter("!datum.pareto").mark_point(size=64, strokeWidth=1.8, filled=False),
        dots.transform_filter("datum.pareto").mark_point(size=110, filled=True),
        named.encode(x=across("group_regret_mean"), y=up("drawn"), text="name:N", opacity=visible),
    ]
    kept = ["policy", "group_regret_mean", "base", "name", "pareto", "drawn", "beneath", *aligned]
    bars = ["left", "right", "bottom", "top"]
    rows = rows.select(*kept, *bars, *(tip.alias(f"tip{i}") for i, tip in enumerate(tips)))
    return panel(layers, rows, "Reward and group regret", HEIGHT)


def places(
    spots: Sequence[tuple[float, float]], names: Sequence[str], width: float, height: float, first: Sequence[int]
) -> list[Place | None]:
    """The place beside each point where its name covers no point and no other name; None where there is none.

    Spots are in pixels from the left and from the top of a panel of this width and height, which names do not leave;
    ``first`` are the points in the order in which they choose.
    """
    taken: list[Box] = [(x - REACH, y - REACH, x + REACH, y + REACH) for x, y in spots]
    found: list[Place | None] = [None] * len(spots)
    for i in first:
        for place in PLACES:
            left, top, right, bottom = box = box_of(spots[i], names[i], place)
            inside = left >= 0 and top >= 0 and right <= width and bottom <= height
            if inside and not any(overlap(box, other) for other in taken):
                taken.append(box)
                found[i] = place
                break
    return found


def box_of(spot: tuple[float, float], name: str, place: Place) -> Box:
    """Where a name would lie."""
    end, dx, dy = place
    left = spot[0] + dx - (CHARACTER * len(name) if end == "right" else 0.0)
    return (left, spot[1] + dy - LINE / 2, left + CHARACTER * len(name), spot[1] + dy + LINE / 2)


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes share more than an edge."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _ends_without_stragglers(ratios: list[float]) -> tuple[float, float]:
    """The ends of the reward's axis; what is below half of the largest reward would squeeze all others together."""
    highest = max(ratios)
    near = [ratio for ratio in ratios if ratio >= 0.5 * highest] if highest > 0.0 else ratios
    pad = 0.08 * (highest - min(near)) or 0.05
    return min(near) - pad, highest + pad


def _symlog(value: float, unit: float) -> float:
    """The scale of the same name: linear near 0, logarithmic beyond ``unit``."""
    return math.copysign(math.log1p(abs(value) / unit), value)


def _short(policy: str, settings: str) -> str:
    """What to write beside a point: its settings, or its name where it has none."""
    pairs = settings_in(settings).items()
    return (
        ", ".join(f"{key} {str(value).lower() if isinstance(value, bool) else value}" for key, value in pairs) or policy
    )
