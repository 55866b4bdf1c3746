"""The trade-off explorer: reward against group regret, and which policies are beaten in neither."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from superarm.experiments.experiment import BENCHMARK
from superarm.experiments.measures import LATE, summary
from superarm.experiments.results import settings_in
from superarm.report import theme
from superarm.report.earned import WHY_NO_SHARE, earned
from superarm.report.figure import Figure, runs_of
from superarm.report.label_places import places, steps
from superarm.report.numbers import number, percent
from superarm.report.panels import CHOSEN, panel, seen, text_at
from superarm.report.theme import Style
from superarm.report.ticks import up_to, written, zero_and_decades

TITLE = "Reward against group regret"
WIDTH, HEIGHT = 660, 380
NARROW, PHONE = 520, 270  # pixels below which names have other places, and for which these are found
_UNIT = (
    "A reward of 1 is that of the clairvoyant, which knows the truth and keeps every promise that can be kept: the "
    "benchmark."
)
TIPS = {
    "reward, pooled": "reward_ratio_pooled",
    "reward, mean of runs": "reward_ratio_mean",
    "reward per run": "reward_mean",
    "group regret": "group_regret_mean",
    "group regret, std": "group_regret_std",
    "promises kept": "satisfied_pooled",
    f"promises kept after round {LATE}": "satisfied_late",
    "broken per run": "broken",
    "predicted per run": "predicted",
    "select, median ms": "select_ms",
}


def tradeoff(frame: pl.DataFrame) -> Figure:
    """Reward against group regret, a point for each policy and setting."""
    looks = theme.styles(frame)
    table = points(frame)
    said, others = (
        ", ".join(
            f"{row['policy']} (reward {number(row['earned'])}, regret {number(row['group_regret_mean'])})"
            for row in table.filter(pl.col("pareto") == kept).sort("group_regret_mean").iter_rows(named=True)
        )
        for kept in (True, False)
    )
    return Figure(
        name="tradeoff",
        title=TITLE,
        caption=_caption(frame, table, looks),
        alternative=f"Reward and group regret. Not dominated: {said or 'none'}. The others: {others or 'none'}.",
        panels=() if table.is_empty() else (_panel(table, looks),),
        looks=looks,
        columns=1,
        width=WIDTH,
    )


def _caption(frame: pl.DataFrame, table: pl.DataFrame, looks: Mapping[str, Style]) -> str:
    """Exactly what is drawn, and nothing that is not."""
    bars = "" if runs_of(frame) > 1 else " (none here: there is one run)"
    said = (
        "Every point is a policy: higher is more reward, further left is less group regret, which says by how much "
        f"promises were missed in a run. {_UNIT if earned(table).is_share else WHY_NO_SHARE} The horizontal axis is "
        "logarithmic from its second mark on, so that 0 has a place. Lines through a point: ± one sample standard "
        f"deviation over the runs{bars}, cut at the edges. "
    )
    if not table.is_empty() and (table["earned"] < _ends(table)[0]).any():
        said += "A triangle at the lower edge: less reward than the axis shows. "
    said += (
        "Filled points, joined by the dashed line: no other policy, apart from the clairvoyant, has as much reward "
        "with as little group regret. "
    )
    if any(style.base != policy for policy, style in looks.items()):
        said += "In this chart all settings of a policy have the same colour. "
    return said + "Where names would overlap, some are left out: point at a policy to read its name."


def points(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per policy, in the order of the legends: its figures of the summary, and whether it is ``pareto``.

    ``earned`` and ``earned_spread`` are the reward that is drawn (see :mod:`superarm.report.earned`). The benchmark is
    never ``pareto``: it knows the truth. Policies without both figures are left out.
    """
    frame = theme.checked(frame)
    both = pl.col("earned", "group_regret_mean")
    table = summary(frame)
    shown = earned(table)
    table = table.with_columns(earned=pl.col(shown.column), earned_spread=pl.col(shown.spread)).filter(
        pl.all_horizontal(both.is_finite().fill_null(False))
    )
    table = table.join(frame.select("policy", "settings").unique("policy"), on="policy", maintain_order="left")
    rivals = table.select("group_regret_mean", gain=pl.when(pl.col("policy") != BENCHMARK).then("earned"))
    front = pareto(rivals["group_regret_mean"].to_list(), rivals["gain"].to_list())
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
    """Reward against group regret; the Pareto points filled and joined."""
    is_share = earned(table).is_share
    regrets = table["group_regret_mean"].to_list()
    ticks = zero_and_decades(regrets)
    unit = ticks[1]
    end = max(2.0 * unit, 1.6 * max(regrets))
    scale_x = alt.Scale(type="symlog", constant=unit, domain=[0.0, end], nice=False)
    low, high = _ends(table)
    scale_y = alt.Scale(domain=[low, high], nice=False, zero=False)
    axis = alt.Axis(values=up_to(end, ticks), labelExpr=written(ticks), labelOverlap=True, grid=True)

    def across(field: str) -> alt.X:
        return alt.X(f"{field}:Q").title("group regret, mean over the runs").scale(scale_x).axis(axis)

    def up(field: str) -> alt.Y:
        title = "reward / clairvoyant's" if is_share else "reward per run, mean over the runs"
        return alt.Y(f"{field}:Q").title(title).scale(scale_y).axis(tickCount=6, labelPadding=12)

    rows = table.with_columns(
        left=(pl.col("group_regret_mean") - pl.col("group_regret_std")).clip(0.0, end),
        right=(pl.col("group_regret_mean") + pl.col("group_regret_std")).clip(0.0, end),
        bottom=(pl.col("earned") - pl.col("earned_spread")).clip(low, high),
        top=(pl.col("earned") + pl.col("earned_spread")).clip(low, high),
        drawn=pl.col("earned").clip(low, high),
        beneath=pl.col("earned") < low,
    )
    families = [looks[policy].base for policy in rows["policy"]]
    names = [
        policy if family == policy else _short(policy, settings)
        for policy, settings, family in zip(rows["policy"], rows["settings"], families, strict=True)
    ]

    def at(regret: float, reward: float) -> tuple[float, float]:
        """Shares of the width and the height, as the scale symlog has them."""
        return math.log1p(regret / unit) / math.log1p(end / unit), (high - reward) / (high - low)

    shares = [at(regret, drawn) for regret, drawn in zip(regrets, rows["drawn"], strict=True)]
    # From the upper left to the lower right end of the bars of each point; of one run there are none.
    ends = [
        (*at(left, top), *at(right, bottom)) if None not in (left, right, top, bottom) else None
        for left, right, top, bottom in rows.select("left", "right", "top", "bottom").iter_rows()
    ]
    first = sorted(range(len(shares)), key=lambda i: (table["policy"][i] != BENCHMARK, not table["pareto"][i]))
    rows = rows.with_columns(name=pl.Series(names, dtype=pl.String), base=pl.Series(families, dtype=pl.String))
    aligned = []
    for width in (WIDTH, PHONE):
        spots = [(width * x, HEIGHT * y) for x, y in shares]
        lines = steps([spots[i] for i in first if table["pareto"][i]])
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
    # All settings of a policy have its colour, unless they have names of their own:
    # the ordinal range of the configuration.
    tint = alt.Color("base:O").scale(domain=theme.bases_of(looks)).sort(None).legend(None)
    base = alt.Chart().encode(color=tint, opacity=seen(1, 0.1), tooltip=tooltip)
    faint = base.encode(opacity=seen(0.45, 0.05))
    shape = alt.when("datum.beneath").then(alt.value("triangle-down")).otherwise(alt.value("circle"))
    dots = base.encode(x=across("group_regret_mean"), y=up("drawn"), shape=shape)

    def named(width: int, elsewhere: str) -> alt.Chart:
        """Names at the places found for this width, not seen on screens elsewhere."""
        mark = text_at(align=f"datum.align{width}", dx=f"datum.dx{width}", dy=f"datum.dy{width}")
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
    return panel(layers, rows, TITLE, HEIGHT)


def _ends(table: pl.DataFrame) -> tuple[float, float]:
    """The ends of the reward's axis, with the bars above its points.

    Shares below half of the largest, or of the clairvoyant's, are beneath it: they would squeeze all others together.
    """
    highest = max(table["earned"])
    near = table
    if earned(table).is_share and highest > 0.0:
        near = table.filter(pl.col("earned") >= 0.5 * min(1.0, highest))
    tops = (near["earned"] + near["earned_spread"]).fill_null(highest).fill_nan(highest)
    lowest, top = min(near["earned"]), max(highest, *tops)
    pad = 0.08 * (top - lowest) or 0.05
    return lowest - pad, top + pad


def _short(policy: str, settings: str) -> str:
    """What to write beside a point: its settings, or its name where it has none."""
    pairs = settings_in(settings).items()
    return (
        ", ".join(f"{key} {str(value).lower() if isinstance(value, bool) else value}" for key, value in pairs) or policy
    )
