"""What events write into the tables of PostgreSQL: many rows at a time, however many events wait."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from superarm.sessions import events
from superarm.sessions.events import Corrected, Event, Redacted
from superarm.sessions.standing import Cell, Standing, after, cells, left
from superarm.sessions.stores import schema
from superarm.sessions.stores.store import Entry
from superarm.sessions.stores.tables import NAMES

ERASE = tuple(f"DELETE FROM superarm.{name} WHERE session = %s" for name in NAMES)  # counts of what was erased
CELL = "arm, outcome, sample, value, seq, assumed"
Run = Callable[..., Any]  # a statement and its values; what comes is an iterator of rows


def derive(run: Run, session: int, decisions: list[str] | None = None) -> None:
    """Write what follows from the events of a session, of all or some decisions."""
    for found in _read(run, session, decisions):
        write(run, session, Following.of(found, standings(run, session, found)))


def _read(run: Run, session: int, decisions: list[str] | None = None, many: int = 500) -> Iterator[list[Event]]:
    """The events of a session, of all or some decisions, a few at a time."""
    some = "" if decisions is None else "AND decision = ANY(%s) "
    query = (
        f"SELECT {schema.COLUMNS} FROM superarm.event WHERE session = %s AND seq > %s {some}ORDER BY seq LIMIT {many}"
    )
    last, rest = 0, () if decisions is None else (decisions,)
    while rows := list(run(query, (session, last, *rest))):
        yield [schema.event_of(row) for row in rows]
        last = rows[-1][0]


def standings(run: Run, session: int, found: Iterable[Event]) -> dict[str, Standing]:
    """Where the decisions stand that events are about."""
    ids = list({event.decision for event in found if event.decision is not None})
    query = "SELECT body FROM superarm.decision WHERE session = %s AND id = ANY(%s)"
    return {each.id: each for each in map(schema.standing_of, run(query, (session, ids))) if each is not None}


Place = tuple[str, int, int, str]  # decision, arm, outcome, sample


@dataclass(frozen=True, kw_only=True)
class Following:
    """What changes in the derived tables when events are appended: each row once, however many events change it."""

    standings: dict[str, Standing] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)  # decisions of which all cells go
    left: set[Place] = field(default_factory=set)
    fresh: dict[Place, Cell] = field(default_factory=dict)  # where none may be yet
    values: dict[Place, Cell] = field(default_factory=dict)  # in the place of what is there

    @classmethod
    def of(cls, found: Sequence[Event], known: Mapping[str, Standing]) -> Following:
        """What follows from events in order, where decisions stood so before."""
        made = cls(standings={})
        for event in found:
            if event.decision is not None:
                made._add(event, event.decision, known)
        return made

    def _add(self, event: Event, id: str, known: Mapping[str, Standing]) -> None:
        self.standings[id] = after(self.standings.get(id) or known.get(id), event)
        if isinstance(event.fact, Redacted):
            self.erased.add(id)
        gone = [(id, *place) for place in left(event)]
        if isinstance(event.fact, Redacted):
            gone += [place for place in (*self.fresh, *self.values) if place[0] == id]
        for place in gone:
            self.fresh.pop(place, None)
            self.values.pop(place, None)
        self.left.update(gone)
        for cell in cells(event):
            place = (id, cell.arm, cell.outcome, cell.sample)
            again = isinstance(event.fact, Corrected) and place not in self.fresh
            (self.values if again else self.fresh)[place] = cell


def write(run: Run, session: int, following: Following) -> None:
    """Change the derived tables."""
    rows = [
        (now.id, now.seq, now.is_out, json.dumps(vars(now), separators=(",", ":")))
        for now in following.standings.values()
    ]
    if rows:
        run(
            "INSERT INTO superarm.decision SELECT %s, * FROM unnest(%b::text[], %b::bigint[], %b::boolean[], "
            "%b::text[]) ON CONFLICT (session, id) DO UPDATE SET is_out = excluded.is_out, body = excluded.body",
            (session, *columns(rows)),
        )
    if following.erased:
        run("DELETE FROM superarm.cell WHERE session = %s AND decision = ANY(%s)", (session, list(following.erased)))
    for place in following.left:
        run(
            "DELETE FROM superarm.cell WHERE session = %s AND decision = %s AND arm = %s AND outcome = %s "
            "AND sample = %s",
            (session, *place),
        )
    for found, rule in ((following.fresh, ""), (following.values, AGAIN)):
        if found:
            made = [(*place, cell.value, cell.seq, cell.assumed) for place, cell in found.items()]
            run(
                "INSERT INTO superarm.cell SELECT %s, * FROM unnest(%b::text[], %b::bigint[], %b::smallint[], "
                f"%b::text[], %b::float8[], %b::bigint[], %b::boolean[]) {rule}",
                (session, *columns(made)),
            )


AGAIN = (
    "ON CONFLICT (session, decision, arm, outcome, sample) DO UPDATE SET value = excluded.value, seq = excluded.seq, "
    "assumed = excluded.assumed"
)


def columns(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[Any]]:
    """Rows as lists of what stands in each column, which the server takes apart again."""
    return map(list, zip(*rows, strict=True))


def add_entries(
    run: Run, session: int, entries: Sequence[Entry], batch: str, known: Mapping[str, Standing] | None = None
) -> None:
    """The rows of events and parts, and what follows from them where decisions stood so before (None: it is read)."""
    for together in _groups(entries):
        if _takes_away(together[0]):
            erase(run, session, together[0])
            known = None
        found = [entry.event for entry in together]
        _add(run, session, together, batch)
        write(run, session, Following.of(found, standings(run, session, found) if known is None else known))
        known = None


def _takes_away(entry: Entry) -> bool:
    return bool(entry.facts or entry.gone) or isinstance(entry.event.fact, Redacted)


def _groups(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Entries that may be written together: each that takes something away comes after all before it, alone."""
    for _, group in groupby(enumerate(entries), key=lambda each: each[0] if _takes_away(each[1]) else -1):
        yield [entry for _, entry in group]


def _add(run: Run, session: int, entries: Sequence[Entry], batch: str) -> None:
    parts = {digest: body for entry in entries for digest, body in entry.parts.items()}
    if parts:
        run(
            "INSERT INTO superarm.part SELECT %s, * FROM unnest(%b::text[], %b::bytea[]) ON CONFLICT DO NOTHING",
            (session, list(parts), list(parts.values())),
        )
    rows = [
        (event.seq, event.kind, event.at, event.decision, event.key, event.request, events.to_bytes(event.fact))
        for event in (entry.event for entry in entries)
    ]
    run(
        "INSERT INTO superarm.event (session, version, batch, seq, kind, at, decision, key, request, body) "
        "SELECT %s, %s, %s::uuid, * FROM unnest(%b::bigint[], %b::text[], %b::float8[], %s::text[], %s::text[], "
        "%s::text[], %b::bytea[])",
        (session, events.VERSION, batch, *columns(rows)),
    )


def erase(run: Run, session: int, entry: Entry) -> None:
    """What an event that redacts or compacts takes away, and what follows of what takes the place."""
    if entry.gone:
        run("DELETE FROM superarm.part WHERE session = %s AND digest = ANY(%s)", (session, list(entry.gone)))
    for seq, fact in entry.facts.items():
        statement = "UPDATE superarm.event SET version = %s, body = %b WHERE session = %s AND seq = %s"
        run(statement, (events.VERSION, events.to_bytes(fact), session, seq))
    if isinstance(entry.event.fact, Redacted):
        run("DELETE FROM superarm.snapshot WHERE session = %s", (session,))
        for statement in ERASE:
            run(statement, (session,))
    about = (getattr(fact, "decision", None) for fact in entry.facts.values())
    changed = [decision for decision in dict.fromkeys(about) if decision is not None]
    if changed:
        for table, name in (("decision", "id"), ("cell", "decision")):
            run(f"DELETE FROM superarm.{table} WHERE session = %s AND {name} = ANY(%s)", (session, changed))
        derive(run, session, changed)


def followed(run: Run, session: int) -> bool:
    """Whether the derived tables hold what follows from the events, all seen at one moment."""
    run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    stand, known = dict[str, Standing](), dict[Place, Cell]()
    for found in _read(run, session):
        for event in found:
            one = Following.of([event], stand)
            stand |= one.standings
            for place in [each for each in known if each[0] in one.erased] if one.erased else one.left:
                known.pop(place, None)
            known |= one.fresh | one.values
    rows = run("SELECT body, seq, is_out FROM superarm.decision WHERE session = %s", (session,))
    kept = {(schema.standing_of(row[:1]), *row[1:]) for row in rows}
    if kept != {(each, each.seq, each.is_out) for each in stand.values()}:
        return False
    rows = run(f"SELECT decision, {CELL} FROM superarm.cell WHERE session = %s", (session,))
    return {row[:4]: row[4:] for row in rows} == {
        place: (cell.value, cell.seq, cell.assumed) for place, cell in known.items()
    }
