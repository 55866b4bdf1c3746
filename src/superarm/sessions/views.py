"""What a session knows, as frames."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from superarm.sessions.parts import KeptParts
from superarm.sessions.requests import picked_ids
from superarm.sessions.standing import Standing
from superarm.sessions.stores.store import Store
from superarm.wire.labels import label_to_data

if TYPE_CHECKING:
    import polars as pl


def decisions_frame(store: Store, standings: Iterable[Standing]) -> pl.DataFrame:
    """One row per decision, in the order in which they were made."""
    import polars as pl

    schema: dict[str, Any] = {
        "decision": pl.String,
        "seq": pl.Int64,
        "t": pl.Int64,
        "at": pl.Datetime("us", "UTC"),
        "key": pl.String,
        "kind": pl.String,
        "state": pl.String,
        "arms": pl.List(pl.Int64),
        "outcomes": pl.Int64,
        "missing": pl.Int64,
        "played": pl.Boolean,
        "recorded": pl.Boolean,
        "probabilities": pl.List(pl.Float64),
    }
    parts = KeptParts(store)
    rows = [
        (
            each.id,
            each.seq,
            each.t,
            datetime.fromtimestamp(each.at, UTC),
            each.key,
            _kind(parts, each),
            each.state,
            list(each.arms),
            each.seen,
            max(each.cells - each.seen, 0),
            each.played,
            each.recorded,
            None if each.probabilities is None else list(each.probabilities),
        )
        for each in standings
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def outcomes_frame(store: Store, standings: Iterable[Standing]) -> pl.DataFrame:
    """One row per cell, by decision in the order in which they were made."""
    import polars as pl

    schema: dict[str, Any] = {
        "decision": pl.String,
        "t": pl.Int64,
        "arm": pl.Int64,
        "arm_id": pl.String,
        "outcome": pl.Int64,
        "sample": pl.String,
        "value": pl.Float64,
        "assumed": pl.Boolean,
        "seq": pl.Int64,
    }
    parts = KeptParts(store)
    rows = [
        (each.id, each.t, cell.arm, names.get(cell.arm), cell.outcome, cell.sample, cell.value, cell.assumed, cell.seq)
        for each in standings
        for names in [_arm_ids(parts, each)]
        for cell in store.cells(each.id)
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _kind(parts: KeptParts, standing: Standing) -> str | None:
    """The name of the kind of a decision, where its policy states one and it is not erased."""
    kind = parts.selection(standing.selection).kind if standing.selection else None
    return None if kind is None else kind.name


def _arm_ids(parts: KeptParts, standing: Standing) -> dict[int, str]:
    """The ids of picked arms as text, where the round has some."""
    if not standing.round or not standing.arms:
        return {}
    ids = picked_ids(parts.round(standing.round), standing.arms) or ()
    return dict(zip(standing.arms, map(label_text, ids), strict=False))


def label_text(label: Hashable) -> str:
    """A label as text; what is none, as the journal spells it.

    Journals of earlier versions may hold half of a pair of surrogates, which no table can: it is spelled out.
    """
    if not isinstance(label, str):
        return json.dumps(label_to_data(label))
    return label.encode("utf-8", "backslashreplace").decode("utf-8")
