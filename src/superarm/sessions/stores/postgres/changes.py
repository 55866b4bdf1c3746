"""What events write into the tables of PostgreSQL: many rows at a time, however many events wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from superarm.sessions import events
from superarm.sessions.events import Event, Redacted
from superarm.sessions.standing import Cell, Standing
from superarm.sessions.stores.following import Following, Place, groups, takes_away
from superarm.sessions.stores.rows import COLUMNS, event_of, standing_of, standing_to_text
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
    query = f"SELECT {COLUMNS} FROM superarm.event WHERE session = %s AND seq > %s {some}ORDER BY seq LIMIT {many}"
    last, rest = 0, () if decisions is None else (decisions,)
    while rows := list(run(query, (session, last, *rest))):
        yield [event_of(row) for row in rows]
        last = rows[-1][0]


def standings(run: Run, session: int, found: Iterable[Event]) -> dict[str, Standing]:
    """Where the decisions stand that events are about."""
    ids = list({event.decision for event in found if event.decision is not None})
    query = "SELECT body FROM superarm.decision WHERE session = %s AND id = ANY(%s)"
    return {each.id: each for each in map(standing_of, run(query, (session, ids))) if each is not None}


def write(run: Run, session: int, following: Following) -> None:
    """Change the derived tables."""
    rows = [(now.id, now.seq, now.is_out, standing_to_text(now)) for now in following.standings.values()]
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
    for together in groups(entries):
        if takes_away(together[0]):
            erase(run, session, together[0])
            known = None
        found = [entry.event for entry in together]
        _add(run, session, together, batch)
        write(run, session, Following.of(found, standings(run, session, found) if known is None else known))
        known = None


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
    kept = {(standing_of(row[:1]), *row[1:]) for row in rows}
    if kept != {(each, each.seq, each.is_out) for each in stand.values()}:
        return False
    rows = run(f"SELECT decision, {CELL} FROM superarm.cell WHERE session = %s", (session,))
    return {row[:4]: row[4:] for row in rows} == {
        place: (cell.value, cell.seq, cell.assumed) for place, cell in known.items()
    }
