"""Listings: what a section shows, in the terminal and in `results.md` alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A table of words."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def terminal(self) -> Table:
        table = Table(*map(escape, self.head), title=escape(self.title), title_justify="left")
        for row in self.rows:
            table.add_row(*map(escape, row))
        return table

    def markdown(self) -> list[str]:
        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(cells) + " |"

        return [f"**{self.title}**", "", line(self.head), line(["---"] * len(self.head)), *map(line, self.rows), ""]
