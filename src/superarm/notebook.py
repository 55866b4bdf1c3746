"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

MOST = 20  # rows that are shown


def by_columns(columns: Mapping[str, Sequence[float]]) -> str:
    """A table of numbers, of the first rows where there are many."""
    rows = list(zip(*columns.values(), strict=True))
    shown = [(str(row), *map(number, values)) for row, values in enumerate(rows[:MOST])]
    more = f"<p>and {len(rows) - MOST} more</p>" if len(rows) > MOST else ""
    return table(("", *columns), shown) + more


def number(value: float | None) -> str:
    """A number in a few digits; nothing where there is none."""
    return "" if value is None else f"{value:.4g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text."""
    lines = [("th", head), *(("td", row) for row in rows)]
    cells = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) for tag, row in lines)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
