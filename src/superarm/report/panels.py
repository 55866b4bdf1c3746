"""The few kinds of panel that every figure is made of: curves with bands, regret against zeta, times, bounds.

A panel is an Altair chart without configuration: :mod:`superarm.report.theme` decides its colours and fonts. All have
one parameter, ``isolate``, a list of policies: while it is not empty, every other policy is dimmed. The page's legend
sets it in all charts at once. Data are attached last, to the whole panel: Altair copies a chart at every step.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import altair as alt
import polars as pl

from superarm.experiments.measures import over_runs
from superarm.report.theme import Style
from superarm.report.ticks import decades, written

ISOLATE = alt.param(name="isolate", value=[])
CHOSEN = "length(isolate) == 0 || indexof(isolate, datum.policy) >= 0"
CROWD = 10  # policies; with more, their bands would hide the lines
DRAWN = 200  # rounds that a curve shows at most: more than that is beyond a screen's pixels
DIGITS = 6  # significant digits of the numbers in a chart: far below a pixel


def curves(
    curve: pl.DataFrame,
    looks: Mapping[str, Style],
    *,
    name: str,
    title: str,
    y: str,
    domain: tuple[float, float] | None = None,
    alone: bool = False,
    percent: bool = False,
    rule: float | None = None,
    height: int = 240,
) -> alt.LayerChart:
    """Mean lines and ± std bands, and a rule at the nearest round whose tooltip lists every policy's mean.

    ``curve`` has policy, t, mean, std, low, high; ``looks`` those of all policies of the page, so that a policy keeps
    its colour where others are missing; ``name`` is that of the panel in the page: letters, digits and underscores.
    Bands are clipped at the ends of ``domain``, which has the ``rule``; None fits the axis to them. In a crowd only
    the bands of isolated policies are seen. ``alone``: the title names the only policy, so there is no legend, and no
    dashes, which break up a curve that jumps. A ``rule`` across is where the values should be.
    """
    there = present(curve, looks)
    crowded = len(there) > CROWD
    ticks = 5 if height > 150 else 3
    # Both domains are stated: the dots' layer is empty until a reader points at something, and Vega warns of that.
    if domain is None:
        ends = _vertical_ends(curve, crowded)
        scale = alt.Scale(domain=ends if rule is None else [min(*ends, rule), max(*ends, rule)], nice=ticks)
    else:
        scale = alt.Scale(domain=list(domain))
    axis = alt.Axis(tickCount=ticks, format=".0%") if percent else alt.Axis(tickCount=ticks)
    up = alt.Y("mean:Q").title(y).scale(scale).axis(axis)
    base = alt.Chart().encode(x=round_axis(curve), color=colour(looks, () if alone else there))
    band = base.mark_rule(strokeWidth=3) if is_one_round(curve) else base.mark_area(clip=True, strokeWidth=0)
    band = band.encode(
        y=alt.Y("low:Q").title(y).scale(scale).axis(axis),
        y2="high:Q",
        opacity=_isolated(0.13) if crowded else seen(0.13, 0.015),
    )
    line = base.mark_line(strokeWidth=1.8, strokeJoin="round", point=dots_of(curve)).encode(y=up, opacity=seen(1, 0.1))
    if not alone:
        line = line.encode(strokeDash=dashes(looks, there))
    hover = alt.selection_point(
        name=f"hover_{name}", fields=["t"], nearest=True, on="pointerover", clear="pointerout", empty=False
    )
    dots = base.transform_filter(hover).mark_point(filled=True, size=36).encode(y=up, opacity=seen(1, 0.1))
    form = ".1%" if percent else ",.4~r"
    # Names of policies hold dots and spaces, which mean something in a field's name: the columns are p0, p1, ...
    pointer = (
        alt.Chart()
        .transform_calculate(key=f"'p' + indexof({json.dumps(there)}, datum.policy)")
        .transform_pivot("key", value="mean", groupby=["t"])
        .mark_rule(strokeWidth=1)
        .encode(
            x=round_axis(curve),
            opacity=alt.when(hover).then(alt.value(0.7)).otherwise(alt.value(0)),
            tooltip=[
                alt.Tooltip("t:Q").title("round"),
                *(alt.Tooltip(f"p{i}:Q").title(_quoted(policy)).format(form) for i, policy in enumerate(there)),
            ],
        )
        .properties(name=f"{name}_rule")
        .add_params(hover)
    )
    drawn = thinned(curve).select("policy", "t", "mean", "low", "high")
    across = alt.Chart().mark_rule(strokeWidth=1.4, strokeDash=[2, 2])
    target = [] if rule is None else [across.encode(y=alt.datum(rule))]
    bands = [] if curve["low"].is_null().all() else [band]
    return panel([*bands, line, *target, dots, pointer], drawn, title, height)


def against_zeta(
    finals: pl.DataFrame, *, title: str, y: str, floor: float | None = None, height: int = 240
) -> alt.LayerChart:
    """Final regret of each run (rings), their mean (dots on a line) and ± std (bars) against zeta.

    ``finals`` has zeta, run, value, of which none can be below the ``floor``.
    """
    mean = over_runs(finals.select("zeta", "value"), "zeta").sort("zeta").with_columns(pl.col("low").clip(floor))
    x = alt.X("zeta:Q").title("trade-off parameter ζ").scale(domain=[0, 1])
    x = x.axis(values=mean["zeta"].to_list(), format=".4~f", labelOverlap=True)

    def up(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q").title(y).scale(zero=False, nice=5).axis(tickCount=5)

    names = {"zeta": "ζ", "mean": "mean", "std": "std"}
    tooltip = [alt.Tooltip(f"{field}:Q").title(text).format(",.4~r") for field, text in names.items()]
    base = alt.Chart().encode(x=x)
    means = base.transform_filter("isValid(datum.mean)")
    layers = [
        base.transform_filter("isValid(datum.value)")
        .mark_point(size=18, opacity=0.45, strokeWidth=1, style="accent")
        .encode(y=up("value")),
        means.mark_line(strokeWidth=1.8, style="accent").encode(y=up("mean")),
        means.mark_rule(strokeWidth=1.6, style="accent").encode(y=up("low"), y2="high:Q"),
        means.mark_point(filled=True, size=60, opacity=1, style="accent").encode(y=up("mean"), tooltip=tooltip),
    ]
    return panel(layers, pl.concat([finals.select("zeta", "value"), mean], how="diagonal"), title, height)


def intervals(table: pl.DataFrame, looks: Mapping[str, Style], powers: list[float], *, title: str) -> alt.LayerChart:
    """Milliseconds a round on a log scale: median (dot), quartiles (bar) and deciles (line) of each policy.

    ``table`` has policy, p10, p25, median, p75, p90. Each policy of the page has its row, so that panels can be read
    across. The axis reaches from the first to the last of the ``powers`` of ten.
    """
    scale = alt.Scale(type="log", domain=[powers[0], powers[-1]], nice=False)
    axis = alt.Axis(values=powers, labelExpr=written(powers), grid=True, labelOverlap=True)

    def across(field: str) -> alt.X:
        return alt.X(f"{field}:Q").title("milliseconds per round (log scale)").scale(scale).axis(axis)

    names = {"p10": "10 %", "p25": "25 %", "median": "median", "p75": "75 %", "p90": "90 %"}
    tooltip = [alt.Tooltip(f"{field}:Q").title(f"{text} (ms)").format(",.3~r") for field, text in names.items()]
    base = alt.Chart().encode(
        y=alt.Y("policy:N").title(None).scale(domain=list(looks)).axis(labelLimit=170, grid=False),
        color=colour(looks, ()),
        opacity=seen(1, 0.15),
        tooltip=[alt.Tooltip("policy:N"), *tooltip],
    )
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(x=across("p10"), x2="p90:Q"),
        base.mark_rule(strokeWidth=7, strokeCap="round", strokeOpacity=0.4).encode(x=across("p25"), x2="p75:Q"),
        base.mark_point(filled=True, size=70).encode(x=across("median")),
    ]
    return panel(layers, table, title, max(80, 26 * len(looks)))


def bounded(
    curve: pl.DataFrame, looks: Mapping[str, Style], *, title: str, y: str, height: int = 260
) -> alt.LayerChart:
    """Regret (thick, in the policy's dashes) and its bound (thin), each named at its end, on a log scale.

    ``curve`` has policy, t, kind ("regret" or "bound"), value; positive values only.
    """
    there = present(curve, looks)
    powers = decades(curve["value"].min(), curve["value"].max())
    up = alt.Y("value:Q").title(f"{y} (log scale)").scale(type="log", domain=[powers[0], powers[-1]], nice=False)
    up = up.axis(values=powers, labelExpr=written(powers), labelOverlap=True)
    tooltip = [
        alt.Tooltip("policy:N"),
        alt.Tooltip("kind:N"),
        alt.Tooltip("t:Q").title("round"),
        alt.Tooltip("value:Q").format(",.4~r"),
    ]
    base = alt.Chart().encode(x=round_axis(curve), y=up)
    lines = base.encode(
        color=colour(looks, there), strokeDash=dashes(looks, there), opacity=seen(1, 0.1), tooltip=tooltip
    )
    # Each kind is named where its longest line ends: a regret that becomes negative ends before the last round.
    drawn = thinned(curve).with_columns(last=pl.col("t") == pl.col("t").max().over("kind"))
    drawn = drawn.with_columns(named=pl.col("last") & (pl.col("value") == pl.col("value").max().over("kind", "last")))
    middle = sum(_ends(curve, "t")) / 2
    late = f"datum.t > {middle}"
    name = text_at(align=f"{late} ? 'right' : 'left'", dx=f"{late} ? -2 : 7", dy=f"{late} ? -9 : 0")
    layers: list[alt.Chart] = [
        lines.transform_filter("datum.kind == 'regret'").mark_line(strokeWidth=2.2, point=dots_of(curve)),
        lines.transform_filter("datum.kind == 'bound'").mark_line(strokeWidth=1, point=dots_of(curve, size=20)),
        base.properties(mark=name).transform_filter("datum.named").encode(text="kind:N"),
    ]
    return panel(layers, drawn.drop("last"), title, height)


def text_at(*, align: str, dx: str, dy: str) -> alt.MarkDef:
    """Text whose place beside its point is computed in the page, by expressions."""
    return alt.MarkDef(type="text", baseline="middle", align=alt.ExprRef(align), dx=alt.ExprRef(dx), dy=alt.ExprRef(dy))


def drawn_rounds(rounds: int, at_most: int = DRAWN) -> list[int]:
    """The rounds of 1, ..., ``rounds`` that are drawn: all, or evenly spaced ones with the first and the last.

    Examples
    --------
    >>> drawn_rounds(9, at_most=5)
    [1, 3, 5, 7, 9]
    """
    if rounds <= at_most:
        return list(range(1, rounds + 1))
    return sorted({1 + round(number * (rounds - 1) / (at_most - 1)) for number in range(at_most)})


def thinned(curve: pl.DataFrame, at_most: int = DRAWN) -> pl.DataFrame:
    """The curve at the drawn rounds, with its values there as they are."""
    last = curve["t"].max()
    return curve if not isinstance(last, int) else curve.filter(pl.col("t").is_in(drawn_rounds(last, at_most)))


def _quoted(title: str) -> str:
    """A title as Vega-Lite wants it, which puts it into an expression and escapes nothing but quotes."""
    return re.sub(r"[\\\n\r\t\x85\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", title)


def rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The frame's rows as JSON holds them: rounded to what shows, without what has no number."""
    return [
        {key: plain for key, value in row.items() if (plain := _plain(value)) is not None}
        for row in frame.iter_rows(named=True)
    ]


def _plain(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def panel(layers: list[alt.Chart], frame: pl.DataFrame, title: str, height: int) -> alt.LayerChart:
    """The layers as one panel, with the data attached to the whole."""
    whole = alt.LayerChart(layer=layers).properties(title=title, height=height).add_params(ISOLATE)
    with alt.utils.schemapi.debug_mode(False):  # else Altair checks every row against its schema, for a second
        whole.data = alt.InlineData(values=rows(frame))
    return whole


def present(frame: pl.DataFrame, looks: Mapping[str, Style]) -> list[str]:
    """The policies of the frame, in the order of the legend."""
    there = set(frame["policy"])
    return [policy for policy in looks if policy in there]


def is_one_round(curve: pl.DataFrame) -> bool:
    """Whether all of the curve is in one round, where a line has no length."""
    return curve["t"].n_unique() == 1


def dots_of(curve: pl.DataFrame, *, size: int = 60) -> alt.OverlayMarkDef | bool:
    """What to draw on a line besides: dots where it would not be seen, and otherwise nothing."""
    return alt.OverlayMarkDef(filled=True, size=size, opacity=1) if is_one_round(curve) else False


def round_axis(curve: pl.DataFrame) -> alt.X:
    """The rounds along the horizontal axis."""
    first, last = _ends(curve, "t")
    axis = alt.Axis(tickMinStep=1, tickCount=6)
    if first == last:
        axis, first, last = alt.Axis(values=[first]), first - 0.5, last + 0.5
    return alt.X("t:Q").title("round t").axis(axis).scale(domain=[first, last], nice=False)


def _ends(frame: pl.DataFrame, *columns: str) -> list[float]:
    """The smallest and the largest number in the columns."""
    there = pl.concat([frame[column].cast(pl.Float64) for column in columns]).drop_nulls()
    there = there.filter(there.is_finite())
    return [float(there.min()), float(there.max())] if there.len() else [0.0, 1.0]  # type: ignore[arg-type]  # floats


def _vertical_ends(curve: pl.DataFrame, crowded: bool) -> list[float]:
    """The ends of lines and bands, or of the lines alone in a crowd.

    A band that reaches a little below 0, where no line does, is clipped there rather than given half of the axis.
    """
    lines = _ends(curve, "mean")
    low, high = lines if crowded else _ends(curve, "mean", "low", "high")
    return [0.0 if lines[0] >= 0.0 > low > -0.05 * high else low, high]


def _isolated(full: float) -> Any:
    """The opacity of what is seen only of policies that were isolated."""
    return alt.when("indexof(isolate, datum.policy) >= 0").then(alt.value(full)).otherwise(alt.value(0))


def seen(full: float, dimmed: float) -> Any:
    """The opacity of a policy, which is dimmed while others are isolated."""
    return alt.when(CHOSEN).then(alt.value(full)).otherwise(alt.value(dimmed))


def colour(looks: Mapping[str, Style], listed: Iterable[str]) -> alt.Color:
    """A policy's colour: its place in the category range of the configuration; a legend of the listed policies."""
    return alt.Color("policy:N").scale(domain=list(looks)).title(None).legend(_legend(listed))


def dashes(looks: Mapping[str, Style], listed: Iterable[str]) -> alt.StrokeDash:
    """A policy's dashes, with the same legend as its colour."""
    patterns = [list(style.dash) for style in looks.values()]
    return alt.StrokeDash("policy:N").scale(domain=list(looks), range=patterns).title(None).legend(_legend(listed))


def _legend(listed: Iterable[str]) -> alt.Legend | None:
    names = list(listed)
    if not names:
        return None
    columns = 5 if max(map(len, names)) < 14 else 3
    return alt.Legend(
        values=names, symbolType="stroke", symbolFillColor="transparent", symbolOpacity=1, columns=columns
    )
