"""Figures by name for a terminal: names are always readable, and what has no room is left out as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from superarm.signs import plain

NAME = 14  # letters of a name that have room on one line, in any terminal
GAP = 2  # letters between columns


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A table with a name in each row, as wide as the terminal allows.

    Attributes
    ----------
    heads
        of the columns of figures, each in a few lines
    rows
        a name, then its figures
    order
        the columns of figures, the least important first: in a narrow terminal these are left out in this order, but
        for the last
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    order: Sequence[int]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = [[plain(cell, options.encoding) for cell in row] for row in self.rows]
        widths = [
            max(map(cell_len, [*head.split("\n"), *(row[place] for row in rows)]))
            for place, head in enumerate(self.heads, 1)
        ]
        names = [row[0] for row in rows]
        shown = self._fitting(widths, options.max_width - name_width(names))
        table = by_name(names)
        for place in shown:
            table.add_column(self.heads[place], justify="right", no_wrap=True)
        for row in rows:
            table.add_row(Text(row[0]), *(Text(row[1 + place]) for place in shown))
        yield table
        hidden = [head.replace("\n", " ") for place, head in enumerate(self.heads) if place not in shown]
        if hidden:
            yield Text(f"In a wider terminal also: {', '.join(hidden)}.", style="dim")

    def _fitting(self, widths: Sequence[int], room: int) -> list[int]:
        """The columns that have room beside the names."""
        shown = list(range(len(widths)))
        for place in self.order[:-1]:
            if sum(GAP + widths[each] for each in shown) <= room:
                break
            shown.remove(place)
        return shown


def by_name(names: Sequence[str]) -> Table:
    """An empty table with the column of names."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy", overflow="fold", min_width=name_width(names))
    return table


def name_width(names: Sequence[str]) -> int:
    """The room that names have at least."""
    return max(len("policy"), min(NAME, max(map(cell_len, names), default=0)))
