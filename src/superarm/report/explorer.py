"""The trade-off explorer: reward against group regret, and which policies are beaten in neither."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
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
NARROW, PHONE = 520, 300  # pixels below which names have other places, and for which these are found
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
        title="Reward against group regret",
        caption="Every point is a policy: higher is more reward, further left is less group regret, which says by how "
        "much promises were missed in a run. A reward of 1 is that of the benchmark, which knows the truth and keeps "
        "every promise that can be kept. The horizontal axis is logarithmic from its second mark on, so that 0 has a "
        f"place. Lines through a point: ± one sample standard deviation over the runs{bars}, cut at the edges. "
        "A triangle at the lower edge: less reward than the axis shows. Filled points, joined by the dashed line: no "
        "other policy has as much reward with as little group regret. All settings of a policy have one colour. "
        "Where names would lie on each other, some are left out: point at one to read it.",
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
    end = max(2.0 * unit, 1.6 * max(regrets))
    scale_x = alt.Scale(type="symlog", constant=unit, domain=[0.0, end], nice=False)
    low, high = _ends_without_stragglers(table["reward_ratio_pooled"].to_list())
    scale_y = alt.Scale(domain=[low, high], nice=False, zero=False)
    axis = alt.Axis(
        values=[tick for tick in ticks if tick <= end], labelExpr=POWERS, labelOverlap=True, labelFlush=False, grid=True
    )

    def across(field: str) -> alt.X:
        return alt.X(f"{field}:Q").title("group regret, mean over the runs").scale(scale_x).axis(axis)

    def up(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q").title("reward / benchmark's").scale(scale_y).axis(tickCount=6, labelPadding=12)

    rows = table.with_columns(
        left=(pl.col("group_regret_mean") - pl.col("group_regret_std")).clip(0.0, end),
        right=(pl.col("group_regret_mean") + pl.col("group_regret_std")).clip(0.0, end),
        bottom=(pl.col("reward_ratio_pooled") - pl.col("reward_ratio_spread")).clip(low, high),
        top=(pl.col("reward_ratio_pooled") + pl.col("reward_ratio_spread")).clip(low, high),
        drawn=pl.col("reward_ratio_pooled").clip(low, high),
        beneath=pl.col("reward_ratio_pooled") < low,
    )
    names = [_short(policy, settings) for policy, settings in rows.select("policy", "settings").iter_rows()]

    def at(regret: float, reward: float) -> tuple[float, float]:
        """Shares of the width and the height, as the scale symlog has them."""
        return math.log1p(regret / unit) / math.log1p(end / unit), (high - reward) / (high - low)

    shares = [at(regret, drawn) for regret, drawn in zip(regrets, rows["drawn"], strict=True)]
    # From the upper left to the lower right end of the bars of each point; of one run there are none.
    ends = [
        (*at(left, top), *at(right, bottom)) if None not in (left, right, top, bottom) else None
        for left, right, top, bottom in rows.select("left", "right", "top", "bottom").iter_rows()
    ]
    first = sorted(range(len(shares)), key=lambda i: not table["pareto"][i])
    rows = rows.with_columns(name=pl.Series(names, dtype=pl.String))
    aligned = []
    for width in (WIDTH, PHONE):
        spots = [(width * x, HEIGHT * y) for x, y in shares]
        lines = _steps([spots[i] for i in first if table["pareto"][i]])
        for (x, y), far in zip(spots, ends, strict=True):
            if far is not None:
                left, top, right, bottom = far
                lines.append((width * left, y - 1, width * right, y + 1))
                lines.append((x - 1, HEIGHT * top, x + 1, HEIGHT * bottom))
        found = places(spots, names, width, HEIGHT, first, lines)
        for i, (name, kind) in enumerate({"align": pl.String, "dx": pl.Float64, "dy": pl.Float64}.items()):
            rows = rows.with_columns(pl.Series(f"{name}{width}", [p and p[i] for p in found], dtype=kind))
            aligned.append(f"{name}{width}")
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

    def named(width: int, elsewhere: str) -> alt.Chart:
        """Names at the places found for this width, not seen on screens elsewhere."""
        mark = alt.MarkDef(
            type="text",
            baseline="middle",
            align=alt.ExprRef(f"datum.align{width}"),
            dx=alt.ExprRef(f"datum.dx{width}"),
            dy=alt.ExprRef(f"datum.dy{width}"),
        )
        visible = alt.when(elsewhere).then(alt.value(0)).when(CHOSEN).then(alt.value(1)).otherwise(alt.value(0.1))
        chart = alt.Chart(mark=mark).transform_filter(f"isValid(datum.align{width})")
        return chart.encode(x=across("group_regret_mean"), y=up("drawn"), text="name:N", opacity=visible)

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
        named(WIDTH, f"width < {NARROW}"),
        named(PHONE, f"width >= {NARROW}"),
    ]
    kept = ["policy", "group_regret_mean", "base", "name", "pareto", "drawn", "beneath", *aligned]
    bars = ["left", "right", "bottom", "top"]
    rows = rows.select(*kept, *bars, *(tip.alias(f"tip{i}") for i, tip in enumerate(tips)))
    return panel(layers, rows, "Reward and group regret", HEIGHT)


def places(
    spots: Sequence[tuple[float, float]],
    names: Sequence[str],
    width: float,
    height: float,
    first: Sequence[int],
    lines: Sequence[Box] = (),
) -> list[Place | None]:
    """The place beside each point where its name covers no point and no other name; None where there is none.

    Spots are in pixels from the left and from the top of a panel of this width and height, which names do not leave;
    ``first`` are the points in the order in which they choose. A name crosses one of the ``lines``, or is nearer to
    another point than to its own, only where it has no better place.
    """
    dots: list[Box] = [(x - REACH, y - REACH, x + REACH, y + REACH) for x, y in spots]
    found: list[Place | None] = [None] * len(spots)
    for i in [*first, *first]:  # the second time each knows where all others are
        others = [box_of(spots[j], names[j], place) for j, place in enumerate(found) if place and j != i]
        free = []
        for place in PLACES:
            left, top, right, bottom = box = box_of(spots[i], names[i], place)
            inside = left >= 0 and top >= 0 and right <= width and bottom <= height
            if inside and not any(overlap(box, other) for other in dots + others):
                crosses = any(overlap(box, line) for line in lines)
                own = _distance(box, spots[i])
                strange = any(_distance(box, spot) < own for j, spot in enumerate(spots) if j != i)
                free.append((crosses + strange, place))
        found[i] = min(free, key=lambda each: each[0])[1] if free else None  # of equals the first
    return found


def _steps(spots: Sequence[tuple[float, float]]) -> list[Box]:
    """The boxes of the line that joins these points: first across, then up."""
    joined = pairwise(sorted(spots))
    boxes = [((x, y, to, y), (to, min(y, up), to, max(y, up))) for (x, y), (to, up) in joined]
    return [(left - 1, top - 1, right + 1, bottom + 1) for both in boxes for left, top, right, bottom in both]


def _distance(box: Box, spot: tuple[float, float]) -> float:
    """From a point to the nearest place of a box."""
    left, top, right, bottom = box
    return math.hypot(max(left - spot[0], 0.0, spot[0] - right), max(top - spot[1], 0.0, spot[1] - bottom))


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


def _short(policy: str, settings: str) -> str:
    """What to write beside a point: its settings, or its name where it has none."""
    pairs = settings_in(settings).items()
    return (
        ", ".join(f"{key} {str(value).lower() if isinstance(value, bool) else value}" for key, value in pairs) or policy
    )
