"""Panels of points: reward against group regret, and broken promises against predicted ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import altair as alt
import polars as pl

from superarm.experiments.naming import base_of
from superarm.experiments.promises import SETTLED
from superarm.report.curves import thinned
from superarm.report.labels import SIDES, placed
from superarm.report.panels import CHOSEN, POWERS, colour, dashes, panel, present, round_axis, seen
from superarm.report.summary import number, percent
from superarm.report.theme import Style, base_styles, stated_settings

MOST_DECADES = 6  # that a scale with a zero shows
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


def tradeoff(table: pl.DataFrame, looks: Mapping[str, Style], *, width: int, height: int) -> alt.LayerChart:
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


def broken_over_time(
    curve: pl.DataFrame, looks: Mapping[str, Style], *, title: str, height: int = 260
) -> alt.LayerChart:
    """Broken promises (thick) and predicted ones (thin) up to round t.

    Parameters
    ----------
    curve
        policy, t, kind ("broken" or "predicted"), mean
    looks
        of all policies of the page
    title
        over the panel
    height
        of the panel in pixels
    """
    there = present(curve, looks)
    tooltip = [
        alt.Tooltip("policy:N"),
        alt.Tooltip("kind:N"),
        alt.Tooltip("t:Q").title("round"),
        alt.Tooltip("mean:Q").title("promises").format(",.4~r"),
    ]
    lines = alt.Chart().encode(
        x=round_axis(curve),
        y=alt.Y("mean:Q").title("promises a run").axis(tickCount=5),
        color=colour(looks, there),
        strokeDash=dashes(looks, there),
        opacity=seen(1, 0.1),
        tooltip=tooltip,
    )
    layers = [
        lines.transform_filter("datum.kind == 'broken'").mark_line(strokeWidth=2.4),
        lines.transform_filter("datum.kind == 'predicted'").mark_line(strokeWidth=1),
    ]
    return panel(layers, thinned(curve), title, height)


def broken_by_run(table: pl.DataFrame, looks: Mapping[str, Style], *, title: str, height: int = 260) -> alt.LayerChart:
    """Broken against predicted promises: rings for runs, dots for their means, and the line where both are equal.

    Parameters
    ----------
    table
        policy, run, predicted, broken
    looks
        of all policies of the page
    title
        over the panel
    height
        of the panel in pixels
    """
    ticks = zero_and_decades([*table["predicted"], *table["broken"]])
    scale = alt.Scale(type="symlog", constant=ticks[1], domain=[-0.25 * ticks[1], ticks[-1]], nice=False)
    axis = alt.Axis(values=ticks, labelExpr=POWERS, labelOverlap=True, labelFlush=False, grid=True)
    x = alt.X("predicted:Q").title("predicted a run").scale(scale).axis(axis)
    y = alt.Y("broken:Q").title("broken a run").scale(scale).axis(axis)
    tooltip = [
        alt.Tooltip("policy:N"),
        *(alt.Tooltip(f"{field}:Q").format(",.4~r") for field in ("predicted", "broken")),
    ]
    base = alt.Chart().encode(x=x, y=y, color=colour(looks, ()), tooltip=tooltip)
    means = table.group_by("policy", maintain_order=True).agg(pl.col("predicted", "broken").mean())
    ends = pl.DataFrame({"predicted": [0.0, ticks[-1]], "broken": [0.0, ticks[-1]]})
    kinds = {"run": table.drop("run"), "mean": means, "equal": ends}
    rows = pl.concat([part.with_columns(kind=pl.lit(kind)) for kind, part in kinds.items()], how="diagonal")
    layers = [
        alt.Chart().transform_filter("datum.kind == 'equal'").mark_line(strokeWidth=1, style="front").encode(x=x, y=y),
        base.transform_filter("datum.kind == 'run'")
        .mark_point(size=30, strokeWidth=1.2)
        .encode(opacity=seen(0.55, 0.05)),
        base.transform_filter("datum.kind == 'mean'").mark_point(filled=True, size=90).encode(opacity=seen(1, 0.1)),
    ]
    return panel(layers, rows, title, height)


def zero_and_decades(values: Iterable[float]) -> list[float]:
    """Ticks of a scale that is logarithmic from its first power of ten on, and linear from there down to 0.

    Examples
    --------
    >>> zero_and_decades([0.0, 0.3, 20.0])
    [0.0, 0.1, 1.0, 10.0, 100.0]
    """
    positive = [value for value in values if value > 0.0] or [1.0]
    last = math.floor(math.log10(max(positive))) + 1
    first = min(last - 1, max(math.floor(math.log10(min(positive))), last - MOST_DECADES))
    return [0.0, *(10.0**power for power in range(first, last + 1))]


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
