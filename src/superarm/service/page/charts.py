"""Small pictures, drawn by the server as SVG; colours come from the style sheet, so that they fit light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from superarm.service.page.markup import Html, number, tag

WIDTH, HEIGHT = 640, 220
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 10, 30
LEAST = 2.0  # points of height, so that one of many can be seen


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of every column, or a line: its class in the style sheet, its name, and a value for every bin."""

    look: str
    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The bins: first and last number of each, from 1, and what the ends are called."""

    firsts: Sequence[int]
    lasts: Sequence[int]
    ends: tuple[str, str]

    def name(self, place: int) -> str:
        """Of a bin, for people."""
        first, last = self.firsts[place], self.lasts[place]
        return f"decision {first:,}" if first == last else f"decisions {first:,} to {last:,}"


def legend(parts: Sequence[Part]) -> Html:
    """What the looks mean; it stands above the picture, as text."""
    items = [
        tag("li", tag("svg", _swatch(part.look), viewBox="0 0 16 12", aria_hidden="true"), part.name) for part in parts
    ]
    return tag("ul", items, class_="key")


def _swatch(look: str) -> Html:
    if look.startswith("line"):
        return tag("line", x1=0, y1=6, x2=16, y2=6, class_=look)
    return tag("rect", x=1, y=1, width=14, height=10, class_=look)


def columns(name: str, said: str, axis: Axis, parts: Sequence[Part], *, unit: str) -> Html:
    """Stacked columns, the first part at the bottom."""
    sums = [math.fsum(part.values[place] or 0.0 for part in parts) for place in range(len(axis.firsts))]
    marks = _marks(0.0, max(sums, default=1.0) or 1.0, least=1.0)
    top = marks[-1]
    scale = _scale(0.0, top)
    width = (WIDTH - LEFT - RIGHT) / max(len(sums), 1)
    drawn = []
    for place in range(len(sums)):
        bars, height = [], 0.0
        for part in parts:
            value = part.values[place] or 0.0
            if value > 0.0:
                tall = max((HEIGHT - TOP - BOTTOM) * value / top, LEAST)
                y = HEIGHT - BOTTOM - height - tall
                gap = min(1.0, width / 4)
                bars.append(
                    tag("rect", x=f"{LEFT + place * width:.2f}", y=f"{y:.2f}", width=f"{width - gap:.2f}",
                        height=f"{tall:.2f}", class_=part.look)
                )  # fmt: skip
                height += tall
        words = ", ".join(f"{part.name} {number(part.values[place] or 0)}" for part in parts)
        drawn.append(tag("g", tag("title", f"{axis.name(place)}: {words}"), bars))
    return _framed(name, said, axis, scale, marks, drawn, unit)


def lines(name: str, said: str, axis: Axis, parts: Sequence[Part], *, unit: str, zero: bool = True) -> Html:
    """Lines through the middle of each bin; where nothing is known a line has a gap."""
    known = [value for part in parts for value in part.values if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    elif 0.0 < low <= 0.5 * high:  # unless all that happens would be pressed into a thin line
        low = 0.0
    marks = _marks(low, high if high > low else low + 1.0)
    scale = _scale(marks[0], marks[-1])
    width = (WIDTH - LEFT - RIGHT) / max(len(axis.firsts), 1)
    drawn = []
    for part in parts:
        run: list[str] = []
        runs = [run]
        for place, value in enumerate(part.values):
            if value is None:
                run = []
                runs.append(run)
            else:
                run.append(f"{LEFT + (place + 0.5) * width:.2f},{scale(value):.2f}")
        drawn += [tag("polyline", points=" ".join(each), class_=part.look) for each in runs if len(each) > 1]
        drawn += [_dot(each[0], part.look) for each in runs if len(each) == 1]
    for place in range(len(axis.firsts)):  # what the pointer finds
        words = ", ".join(f"{part.name} {number(part.values[place])}" for part in parts)
        drawn.append(
            tag("rect", tag("title", f"{axis.name(place)}: {words}"), x=f"{LEFT + place * width:.2f}", y=TOP,
                width=f"{width:.2f}", height=HEIGHT - TOP - BOTTOM, class_="place")
        )  # fmt: skip
    return _framed(name, said, axis, scale, marks, drawn, unit)


def _dot(point: str, look: str) -> Html:
    x, y = point.split(",")
    return tag("circle", cx=x, cy=y, r=3, class_=f"dot {look}")


def strip(said: str, bins: int, parts: Sequence[tuple[str, Sequence[float]]]) -> Html:
    """A row of tiny columns, for a table; each is as tall as the others, and shows shares."""
    width, height = 160, 22
    step = width / max(bins, 1)
    drawn = []
    for place in range(bins):
        whole, y = math.fsum(values[place] for _, values in parts), float(height)
        for look, values in parts:
            if values[place] > 0.0:
                tall = max(height * values[place] / whole, LEAST)
                y -= tall
                drawn.append(
                    tag("rect", x=f"{place * step:.2f}", y=f"{max(y, 0.0):.2f}", width=f"{0.8 * step:.2f}",
                        height=f"{tall:.2f}", class_=look)
                )  # fmt: skip
    return tag("svg", drawn, class_="strip", viewBox=f"0 0 {width} {height}", role="img", aria_label=said)


def _framed(
    name: str,
    said: str,
    axis: Axis,
    scale: Callable[[float], float],
    values: Sequence[float],
    drawn: Sequence[Html],
    unit: str,
) -> Html:
    marks = []
    for value in values:
        y = f"{scale(value):.2f}"
        marks.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        marks.append(tag("text", number(value), x=LEFT - 6, y=y, class_="tick end"))
    bottom = HEIGHT - 10
    marks += [
        tag("text", axis.ends[0], x=LEFT, y=bottom, class_="tick"),
        tag("text", axis.ends[1], x=WIDTH - RIGHT, y=bottom, class_="tick end"),
    ]
    place = f"chart-{name}"
    head = (tag("title", f"{said} ({unit})", id=place),)
    return tag("svg", head, marks, drawn, class_="chart", viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img",
               aria_labelledby=place)  # fmt: skip


def _scale(low: float, high: float) -> Callable[[float], float]:
    span = (high - low) or 1.0
    return lambda value: TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / span


def _marks(low: float, high: float, least: float = 0.0) -> list[float]:
    """A few numbers that read well, from at most ``low`` to at least ``high``, and at least so far apart.

    >>> _marks(0.0, 3.0, 1.0), _marks(0.0, 0.7)
    ([0.0, 1.0, 2.0, 3.0], [0.0, 0.2, 0.4, 0.6, 0.8])
    """
    rough = max((high - low) / 4.0, 1e-300)
    size = 10.0 ** math.floor(math.log10(rough))
    step = max(next(each * size for each in (1.0, 2.0, 2.5, 5.0, 10.0) if each * size >= rough * (1.0 - 1e-9)), least)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [
        round(step * place, 12) if abs(step) > 1e-9 else step * place
        for place in range(first, max(last, first + 1) + 1)
    ]
