"""The pictures of growth, drawn like those of a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert

from benchmarks.growth import stream_name
from superarm import chart_style

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
WIDTH, HEIGHT = 250, 190
PIXELS = 1.5  # a CSS pixel
TITLES = {
    "n": "observations n",
    "M": "candidates M",
    "K": "appended outcomes K",
    "dimension": "dimension of the contexts",
    "groups": "groups",
}
HEADINGS = {
    "n": "More observations",
    "M": "More candidates",
    "K": "More outcomes at once",
    "dimension": "More features",
    "groups": "More groups",
}
# What the name of a curve begins with: its colour and dashes, the same in both pictures.
LOOKS = {
    "exact oracle": ("#009e73", [8, 3, 2, 3]),
    "exact": ("#0072b2", [1, 0]),
    "default, SE 1-D": ("#d55e00", [6, 2]),
    "default, SE 2-D": ("#6a2fa0", [10, 3]),
    "default, Matern": ("#bf8400", [2, 2]),
    "cautious policy": ("#c2557a", [4, 4]),
}
_NUMBERS = "datum.value >= 1000 ? format(datum.value, ',.0f') : format(datum.value, '~g')"


def pictures(section: dict[str, Any], folder: Path = PICTURES) -> list[Path]:
    """Write growth.png and stream.png; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for name, chart in (("growth", growth(section["rows"])), ("stream", stream(section["streams"]))):
        path = folder / f"{name}.png"
        svg = vl_convert.vegalite_to_svg(chart.to_dict(validate=False))
        path.write_bytes(vl_convert.svg_to_png(svg, scale=PIXELS))
        found.append(path)
    return found


def growth(rows: list[dict[str, Any]]) -> alt.ConcatChart:
    """A log-log panel for each number that was varied, with the fitted exponents."""
    panels = []
    for varied in dict.fromkeys(row["varied"] for row in rows):
        curves = [row for row in rows if row["varied"] == varied]
        points = pl.DataFrame(
            {
                "curve": f"{row['name']}: exponent {row['exponent']:.2f}".replace(" -", " \u2212"),
                "value": value,
                "median": 1e3 * seconds[0],
                "low": 1e3 * seconds[1],
                "high": 1e3 * seconds[2],
            }
            for row in curves
            for value, seconds in zip(row["values"], row["seconds"], strict=True)
        )
        unit = "ms per round" if varied != "K" else "ms per append"
        panels.append(_panel(points, TITLES[varied], unit).properties(title=HEADINGS[varied]))
    return _whole(panels, "How long a round takes when one of its numbers grows", columns=3)


def stream(streams: list[dict[str, Any]]) -> alt.ConcatChart:
    """Time of a round and memory against the observations so far."""
    rows = [
        {
            "curve": f"default, {stream_name(one)}",
            "value": part["observations"],
            "median": 1e3 * part["mean"],
            "memory": part["resident"],
        }
        for one in streams
        for part in one["parts"]
    ]
    points = pl.DataFrame(rows)
    panels = []
    for column, heading, unit in (
        ("median", "Time of a round", "ms per round, mean"),
        ("memory", "Memory of the process", "MB"),
    ):
        value = pl.col(column)
        drawn = points.drop_nulls(column).select("curve", "value", median=value, low=value, high=value)
        panels.append(_panel(drawn, TITLES["n"], unit, logarithmic=False).properties(title=heading))
    return _whole(panels, "A stream in which no context repeats", columns=2)


def _panel(points: pl.DataFrame, x: str, y: str, *, logarithmic: bool = True) -> alt.LayerChart:
    across, scale, axis = alt.X("value:Q").title(x), alt.Scale(zero=True), alt.Axis(tickCount=5, labelExpr=_NUMBERS)
    if logarithmic:
        ends = _at_least_a_decade(points)
        across = across.scale(type="log", nice=False)
        across = across.axis(values=_ticks(points["value"].to_list()), labelExpr=_NUMBERS)
        scale = alt.Scale(type="log", nice=False, domain=ends)
        axis = alt.Axis(values=_ticks(ends), labelExpr=_NUMBERS)
    else:
        across = across.axis(tickCount=4, labelExpr=_NUMBERS)
    up = alt.Y("median:Q").title(y).scale(scale).axis(axis)
    order = points["curve"].unique(maintain_order=True).to_list()
    legend = alt.Legend(title=None, direction="vertical", symbolType="stroke", symbolSize=200, symbolOpacity=1)
    looks = [next(look for start, look in LOOKS.items() if curve.startswith(start)) for curve in order]
    colours, patterns = zip(*looks, strict=True)
    colour = alt.Color("curve:N").scale(domain=order, range=colours).legend(legend)
    dashes = alt.StrokeDash("curve:N").scale(domain=order, range=patterns).legend(legend)
    base = alt.Chart().encode(x=across, color=colour)
    layers = [
        base.mark_rule(strokeWidth=1, opacity=0.6).encode(
            y=alt.Y("low:Q").title(y).scale(scale).axis(axis), y2="high:Q"
        ),
        base.mark_line(strokeWidth=1.8).encode(y=up, strokeDash=dashes),
        base.mark_circle(size=24, opacity=1).encode(y=up),
    ]
    return alt.LayerChart(layer=layers, data=points).properties(width=WIDTH, height=HEIGHT)


def _at_least_a_decade(points: pl.DataFrame) -> list[float]:
    """The ends of the bars, or further apart: what hardly changes must look like it."""
    low, high = min(points["low"]), max(points["high"])
    wider = max(1.0, math.sqrt(10.0 * low / high))
    return [low / wider, high * wider]


def _ticks(values: Sequence[float]) -> list[float]:
    """Powers of ten, or 1, 2, 5 of them where there is hardly one."""
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1.0,) if high / low > 30 else (1.0, 2.0, 5.0)
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]


def _whole(panels: list[alt.LayerChart], title: str, *, columns: int) -> alt.ConcatChart:
    whole: alt.ConcatChart = alt.concat(*panels, columns=columns).resolve_scale(
        color="independent", strokeDash="independent"
    )
    whole.title = alt.TitleParams(title, fontSize=15, offset=18)
    whole.config = alt.Config.from_dict(chart_style.config([]))
    return whole
