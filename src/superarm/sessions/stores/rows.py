"""Rows of the tables of a journal, in whichever database, as events and standings."""

from __future__ import annotations

import json
from typing import Any

from superarm.errors import UnreadableFile
from superarm.sessions import events
from superarm.sessions.events import Event
from superarm.sessions.standing import Standing

COLUMNS = "seq, version, kind, at, key, request, body"
USUAL = events.usual(Standing)


def event_of(row: tuple[Any, ...]) -> Event:
    """The event in a row of :data:`COLUMNS`."""
    seq, version, kind, at, key, request, body = row
    return Event(seq=seq, at=at, fact=events.from_bytes(kind, version, body), key=key, request=request)


def standing_to_text(standing: Standing) -> str:
    """A standing as the derived table keeps it, but for what is as usual in it."""
    return events.ENCODER.encode(events.unusual(standing, USUAL))


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
