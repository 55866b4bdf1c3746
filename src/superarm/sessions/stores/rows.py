"""Rows of the tables of a journal, in whichever database, as events and standings."""

from __future__ import annotations

import json
from typing import Any

from superarm.errors import UnreadableFile
from superarm.sessions import events
from superarm.sessions.events import Event
from superarm.sessions.standing import Standing, first

COLUMNS = "seq, version, kind, at, key, request, body"
# Standings of SQLite: their text, or where there is none the event that made the decision, which says as much.
STANDINGS = (
    f"SELECT decision.body, {', '.join(f'event.{name}' for name in COLUMNS.split(', '))} FROM decision LEFT JOIN event "
    "ON decision.body IS NULL AND event.session = decision.session AND event.seq = decision.seq"
)
USUAL = events.usual(Standing)


def event_of(row: tuple[Any, ...]) -> Event:
    """The event in a row of :data:`COLUMNS`."""
    seq, version, kind, at, key, request, body = row
    return Event(seq=seq, at=at, fact=events.from_bytes(kind, version, body), key=key, request=request)


def standing_to_text(standing: Standing) -> str:
    """A standing as the derived table keeps it, but for what is as usual in it."""
    return events.ENCODER.encode(events.unusual(standing, USUAL))


def standing_in(row: tuple[Any, ...] | None) -> Standing | None:
    """The standing in a row of :data:`STANDINGS`."""
    if row is None or row[0] is not None:
        return standing_of(row and row[:1])
    if row[1] is None:
        raise UnreadableFile("a decision without the event that made it")
    return first(event_of(row[1:8]))


def standing_of(row: tuple[str] | None) -> Standing | None:
    """The standing in a row of the derived table."""
    if row is None:
        return None
    try:
        found = json.loads(row[0])
        lists = {name: tuple(found[name]) for name in ("arms", "probabilities") if found.get(name) is not None}
        return Standing(**found | lists)
    except events.DAMAGE as error:
        raise UnreadableFile(f"a decision that cannot be read ({error!r})") from error
