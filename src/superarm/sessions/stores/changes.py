"""What events write into the tables of SQLite: many rows at a time, however many events wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from superarm.sessions import events
from superarm.sessions.events import Decided, Event, Recorded, Redacted
from superarm.sessions.standing import Standing
from superarm.sessions.stores import tables
from superarm.sessions.stores.following import Following, groups, takes_away
from superarm.sessions.stores.rows import COLUMNS, STANDINGS, event_of, standing_in, standing_to_text
from superarm.sessions.stores.store import Entry

Run = Callable[..., Any]  # a statement and its values; a list of them: once for each
EVENT = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
CELL = "DELETE FROM cell WHERE session = ? AND decision = ? AND arm = ? AND outcome = ? AND sample = ?"


def add_entries(run: Run, session: int, entries: Sequence[Entry]) -> None:
    """The rows of events and parts, and what follows from them."""
    for together in groups(entries):
        if takes_away(together[0]):
            erase(run, session, together[0])
        found = [entry.event for entry in together]
        parts = {digest: body for entry in together for digest, body in entry.parts.items()}
        if parts:
            rows = [(session, digest, body) for digest, body in parts.items()]
            run("INSERT OR IGNORE INTO part VALUES (?, ?, ?)", rows)
        run(EVENT, [event_row(session, event) for event in found])
        follow(run, session, found)


def event_row(session: int, event: Event) -> tuple[Any, ...]:
    """An event as the table keeps it."""
    body = events.to_bytes(event.fact)
    return (session, event.seq, events.VERSION, event.kind, event.at, event.decision, event.key, event.request, body)


def follow(run: Run, session: int, found: Sequence[Event]) -> None:
    """Write what follows from events in order."""
    about = Counter(event.decision for event in found)
    fresh: list[tuple[Any, ...]] = []
    rest = []
    for event in found:
        fact = event.fact
        if isinstance(fact, Decided) and about[fact.decision] == 1:  # it stands as this event says: that is enough
            fresh.append((session, fact.decision, event.seq, bool(fact.arms) and not fact.archived, None))
        else:
            rest.append(event)
    known = _standings(run, session, rest)
    following = Following.of(rest, known)
    stand = following.standings.values()
    fresh += [(session, now.id, now.seq, now.is_out, standing_to_text(now)) for now in stand if now.id not in known]
    again = [(now.is_out, standing_to_text(now), session, now.seq) for now in stand if now.id in known]
    if fresh:
        run("INSERT INTO decision VALUES (?, ?, ?, ?, ?)", fresh)
    if again:
        run("UPDATE decision SET is_out = ?, body = ? WHERE session = ? AND seq = ?", again)
    for decision in following.erased:
        run("DELETE FROM cell WHERE session = ? AND decision = ?", (session, decision))
    if following.left:
        run(CELL, [(session, *place) for place in following.left])
    for cells, verb in ((following.fresh, "INSERT"), (following.values, "INSERT OR REPLACE")):
        if cells:
            rows = [(session, *place, cell.value, cell.seq, cell.assumed) for place, cell in cells.items()]
            run(f"{verb} INTO cell VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _standings(run: Run, session: int, found: Sequence[Event]) -> Mapping[str, Standing]:
    """Where decisions stood that events are about; those of which the first event is among them stood nowhere."""
    new = {event.decision for event in found if isinstance(event.fact, Decided | Recorded)}
    known = {}
    for id in dict.fromkeys(event.decision for event in found):
        if id is not None and id not in new:
            query = f"{STANDINGS} WHERE decision.session = ? AND decision.id = ?"
            standing = standing_in(run(query, (session, id)).fetchone())
            if standing is not None:
                known[id] = standing
    return known


def erase(run: Run, session: int, entry: Entry) -> None:
    """What an event that redacts or compacts takes away, and what follows of what takes the place."""
    for digest in entry.gone:
        run("DELETE FROM part WHERE session = ? AND digest = ?", (session, digest))
    for seq, fact in entry.facts.items():
        values = (events.VERSION, events.to_bytes(fact), session, seq)
        run("UPDATE event SET version = ?, body = ? WHERE session = ? AND seq = ?", values)
    if isinstance(entry.event.fact, Redacted):
        for statement in ("DELETE FROM snapshot WHERE session = ?", *tables.ERASE):
            run(statement, (session,))
    changed = [getattr(fact, "decision", None) for fact in entry.facts.values()]
    _follow_anew(run, session, list(dict.fromkeys(decision for decision in changed if decision is not None)))


def _follow_anew(run: Run, session: int, decisions: list[str], chunk: int = 400) -> None:
    """The derived rows of some decisions, from their events."""
    for start in range(0, len(decisions), chunk):
        some = decisions[start : start + chunk]
        marks = ", ".join("?" * len(some))
        for table, name in (("decision", "id"), ("cell", "decision")):
            run(f"DELETE FROM {table} WHERE session = ? AND {name} IN ({marks})", (session, *some))
        query = f"SELECT {COLUMNS} FROM event WHERE session = ? AND decision IN ({marks}) ORDER BY seq"
        follow(run, session, [event_of(row) for row in run(query, (session, *some)).fetchall()])


def derive(run: Run, session: int, chunk: int = 500) -> None:
    """Write what follows from all events of a session, a few at a time."""
    last = 0
    query = f"SELECT {COLUMNS} FROM event WHERE session = ? AND seq > ? ORDER BY seq LIMIT {chunk}"
    while rows := run(query, (session, last)).fetchall():
        follow(run, session, [event_of(row) for row in rows])
        last = rows[-1][0]
