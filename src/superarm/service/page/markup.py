"""HTML that cannot be broken by what it holds: whatever is not made by :func:`tag` is text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

DASH = "–"  # noqa: RUF001  # a true sign: nothing is known


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | int | Html | Iterable[Any] | None


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """An element; children that are not HTML are escaped.

    ``class_`` and ``for_`` lose their last letter, other ``_`` become ``-``; True stands for an attribute without a
    value, and None and False for none.

    >>> tag("p", "a < b", class_="note", hidden=True)
    '<p class="note" hidden>a &lt; b</p>'
    """
    said = []
    for key, value in attributes.items():
        if value is True:
            said.append(f" {_name(key)}")
        elif value is not None and value is not False:
            said.append(f' {_name(key)}="{html.escape(str(value))}"')
    inside = "".join(_pieces(children))
    return Html(f"<{name}{''.join(said)}>{inside}" + ("" if name in VOID else f"</{name}>"))


VOID = ("meta", "link", "input", "br")


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-") if key != "viewBox" else key


def _pieces(children: Iterable[Any]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            yield child
        elif isinstance(child, (str, int, float)):
            yield html.escape(str(child))
        else:
            yield from _pieces(child)


def join(*children: Child) -> Html:
    """Several pieces in a row."""
    return Html("".join(_pieces(children)))


def table(name: str, heads: Sequence[str], rows: Iterable[Sequence[Child]], *, figures: Sequence[int] = ()) -> Html:
    """A table that scrolls sideways on a narrow screen, by keyboard too; ``figures`` are columns of numbers."""

    def cell(place: int, child: Child) -> Html:
        kind = "figure" if place in figures else None
        return tag("td", child, class_=kind) if place else tag("th", child, scope="row")

    head = tag(
        "tr", [tag("th", each, scope="col", class_="figure" if n in figures else None) for n, each in enumerate(heads)]
    )
    body = [tag("tr", [cell(place, child) for place, child in enumerate(row)]) for row in rows]
    inside = tag("table", tag("thead", head), tag("tbody", body), class_="summary")
    return tag("div", inside, class_="scroll", role="region", tabindex=0, aria_label=f"Table: {name}")


def section(place: str, title: str, *children: Child, level: str = "h2") -> Html:
    """A part of the page that is brought up to date by itself."""
    inside = (tag(level, title, id=place), *children)
    return tag("section", inside, aria_labelledby=place, data_live=place)


def moment(at: float | None) -> Html:
    """A time, which the script shows as the reader's clock has it."""
    if at is None:
        return Html(DASH)
    when = datetime.fromtimestamp(at, UTC)
    return tag("time", f"{when:%Y-%m-%d %H:%M} UTC", datetime=f"{when:%Y-%m-%dT%H:%M:%SZ}")


def age(seconds: float) -> str:
    """How long ago, in a word or two.

    >>> age(5), age(90), age(7300), age(200000)
    ('5 seconds', '2 minutes', '2 hours', '2 days')
    """
    for size, word in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= 0.95 * size:
            return plural(round(seconds / size), word)
    return plural(max(round(seconds), 0), "second")


def plural(number: float, word: str) -> str:
    """A number with its word.

    >>> plural(1, "promise"), plural(2000, "promise")
    ('1 promise', '2,000 promises')
    """
    return f"{number:,.0f} {word}{'' if number == 1 else 's'}"


def percent(part: float, whole: float) -> str:
    r"""A share, with a place after the point where it is near an end; never 100 % where something is missing.

    >>> percent(995, 1000), percent(1, 3), percent(1, 1), percent(0, 0), percent(99999, 100000)
    ('99.5\xa0%', '33\xa0%', '100\xa0%', '–', '99.9\xa0%')
    """
    if not whole:
        return DASH
    share = 100.0 * part / whole
    if 0.0 < share < 100.0 and (share < 10.0 or share > 90.0):
        return f"{min(max(share, 0.1), 99.9):.1f}\u00a0%"
    return f"{share:.0f}\u00a0%"


def expected(value: float) -> str:
    """A number of promises that are expected to break: with a place after the point while they are few.

    >>> expected(6.72), expected(438834.2)
    ('6.7', '438,834')
    """
    return f"{value:,.1f}" if value < 100.0 else f"{value:,.0f}"


def number(value: float | None) -> str:
    """A number with a true minus: a whole one with all its digits, others with four.

    >>> number(1234567), number(0.123456), number(-2.0), number(None)
    ('1,234,567', '0.1235', '−2', '–')
    """
    if value is None:
        return DASH
    whole = float(value).is_integer() and abs(value) < 1e15
    return (f"{value + 0:,.0f}" if whole else f"{value:,.4g}").replace("-", "−")  # noqa: RUF001  # a true sign
