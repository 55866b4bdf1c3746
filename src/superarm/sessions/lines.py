"""Decisions as plain lines that a terminal need not cut, and from which an id can be copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

COUNTS = ("t", "arms", "missing")  # stand at the right of their columns
HEAD = ("decision", "t", "date", "kind", "state", "arms", "missing", "key")


def decision_lines(frame: pl.DataFrame) -> list[str]:
    """A head and one line for every row of :meth:`superarm.Session.decisions`; what may be long comes last."""
    rows = [HEAD, *(_words(row) for row in frame.iter_rows(named=True))]
    places = [
        (str.rjust if head in COUNTS else str.ljust, max(map(len, column)))
        for head, column in zip(HEAD, zip(*rows, strict=True), strict=True)
    ]
    return [" ".join(put(word, width) for word, (put, width) in zip(row, places, strict=True)).rstrip() for row in rows]


def _words(row: dict[str, Any]) -> Sequence[str]:
    kind = "record" if row["recorded"] else row["kind"] or "-"
    counts = (str(len(row["arms"])), str(row["missing"]))
    return (row["decision"], str(row["t"]), f"{row['at']:%Y-%m-%d}", kind, row["state"], *counts, row["key"] or "-")
