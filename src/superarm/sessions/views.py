"""What a session knows, as frames."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from superarm.sessions.standing import Standing
from superarm.sessions.stores.store import Store

if TYPE_CHECKING:
    import polars as pl


def decisions_frame(standings: Iterable[Standing]) -> pl.DataFrame:
    """One row per decision, in the order in which they were made."""
    import polars as pl

    schema: dict[str, Any] = {
        "decision": pl.String,
        "seq": pl.Int64,
        "t": pl.Int64,
        "at": pl.Datetime("us", "UTC"),
        "state": pl.String,
        "arms": pl.List(pl.Int64),
        "outcomes": pl.Int64,
        "missing": pl.Int64,
        "played": pl.Boolean,
        "recorded": pl.Boolean,
    }
    rows = [
        (
            each.id,
            each.seq,
            each.t,
            datetime.fromtimestamp(each.at, UTC),
            each.state,
            list(each.arms),
            each.seen,
            max(each.cells - each.seen, 0),
            each.played,
            each.recorded,
        )
        for each in standings
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def outcomes_frame(store: Store) -> pl.DataFrame:
    """One row per cell, by decision in the order in which they were made."""
    import polars as pl

    schema: dict[str, Any] = {
        "decision": pl.String,
        "t": pl.Int64,
        "arm": pl.Int64,
        "outcome": pl.Int64,
        "sample": pl.String,
        "value": pl.Float64,
        "assumed": pl.Boolean,
        "seq": pl.Int64,
    }
    rows = [
        (each.id, each.t, cell.arm, cell.outcome, cell.sample, cell.value, cell.assumed, cell.seq)
        for each in store.standings()
        for cell in store.cells(each.id)
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")
