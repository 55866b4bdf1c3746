"""A store in a PostgreSQL database: several sessions, several threads, processes and machines.

Whoever appends takes a lock that ends with the transaction, looks what is there, and writes everything in one more
round trip. The lock saves work; the primary key of the events keeps order without it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from superarm.arguments import one_of
from superarm.errors import StoreUnavailable, UnreadableFile
from superarm.sessions.events import DAMAGE, Event
from superarm.sessions.standing import Cell, Standing
from superarm.sessions.stores.postgres import changes, counts, lease, tables
from superarm.sessions.stores.postgres.connections import PATIENCE, Connection, Connections, is_taken, shared, together
from superarm.sessions.stores.postgres.database import prepared
from superarm.sessions.stores.postgres.lease import Lease, LeaseLost
from superarm.sessions.stores.rows import COLUMNS, event_of, standing_of
from superarm.sessions.stores.sqlite import checked_name
from superarm.sessions.stores.store import Behind, Entry, Snapshot, end_of

SILENT = 3.0  # seconds after which the server breaks off an append of a process that says nothing
TURN = 25.0  # the same, where it takes its turn and computes
RATE = 1e6  # bytes in a second that at least travel
HEAD = (  # of a journal: its last event, the epoch of its lease, and who appended an event
    "SELECT coalesce((SELECT max(seq) FROM superarm.event WHERE session = id), 0), epoch, "
    "(SELECT batch::text FROM superarm.event WHERE session = id AND seq = %s) FROM superarm.session WHERE id = %s"
)
COMMIT = {  # how the server is to acknowledge; one that is set to wait for replicas does so
    "full": "coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on')",
    "normal": "'off'",
}


class PostgresStore:
    """The journal of one session in a database that may hold others.

    Parameters
    ----------
    url
        of the database, postgresql://user:password@host/database; it is kept to itself
    name
        of the session
    durability
        "full": what is acknowledged survives the loss of power; "normal": it survives the death of this process, and
        an end of the server may cost the latest events, never the order of those that stay
    """

    def __init__(self, url: str, name: str = "main", *, durability: str = "full") -> None:
        self._commit = COMMIT[one_of("durability", durability, tuple(COMMIT))]
        self.name = checked_name("name", name)
        self.remembers = False  # whether the server may still hold what was erased
        self.epoch: int | None = None  # of the lease that this store holds
        self._writing = threading.RLock()
        self._turn: Connection | None = None  # where this store has its turn
        self._connections: Connections | None = shared(url)
        try:
            prepared(self._open)
            self._session = self._number()
        except BaseException:  # Ctrl-C too: nobody else could close it
            self.close()
            raise

    @property
    def _open(self) -> Connections:
        if self._connections is None:
            raise StoreUnavailable("the store is closed; open it again")
        return self._connections

    def _number(self) -> int:
        """The number of the session in the database, which is given one where it is new."""
        find = "SELECT id FROM superarm.session WHERE name = %s"
        found = self._open.read(find, (self.name,))
        if not found:
            make = "INSERT INTO superarm.session (name) VALUES (%s) ON CONFLICT DO NOTHING"
            self._open.again(lambda connection: connection.execute(make, (self.name,)), writes=True)
            found = self._open.read(find, (self.name,))
        return int(found[0][0])

    def append(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        batch = str(uuid.uuid4())
        with self._writing:
            turn, self._turn = self._turn, None
            self._open.again(
                lambda connection: self._append(connection, entries, batch, begun=connection is turn),
                writes=True,
                first=turn,
            )
        self.remembers |= any(entry.facts or entry.gone for entry in entries)

    def _append(self, connection: Connection, entries: Sequence[Entry], batch: str, begun: bool) -> None:
        """Append in one transaction; one that has come through already, unheard, is found by its batch."""
        found = [entry.event for entry in entries]
        size = sum(len(body) for entry in entries for body in entry.parts.values()) + 1000 * len(entries)
        run = connection.execute
        ids = list({event.decision for event in found if event.decision is not None})
        *_, heads, bodies = together(
            connection,
            *(() if begun else self._begin(connection, SILENT + size / RATE)),
            (HEAD, (found[0].seq, self._session)),
            ("SELECT body FROM superarm.decision WHERE session = %s AND id = ANY(%s)", (self._session, ids)),
        )
        ((last, epoch, there),) = heads
        if there == batch:
            connection.rollback()
            return
        if self.epoch is not None and epoch != self.epoch:
            self.epoch = None
            raise LeaseLost(
                f"another replica has taken over the session {self.name}; repeat the call there with the same key"
            )
        if found[0].seq != last + 1:
            raise Behind
        known = {each.id: each for each in map(standing_of, bodies) if each is not None}
        try:
            with connection.pipeline():
                changes.add_entries(run, self._session, entries, batch, known)
                run("COMMIT")
        except Exception as error:  # psycopg is spoken to elsewhere; all but one kind go on as they are
            if is_taken(error, "event_in_order"):
                raise Behind from None
            raise

    def _begin(self, connection: Connection, silent: float) -> list[tuple[str, tuple[Any, ...]]]:
        """What begins a transaction in which nobody else appends, and which ends should this process fall silent."""
        wait, held = f"{1000 * PATIENCE:.0f}", f"{1000 * silent:.0f}"
        limits = {"lock_timeout": wait, "idle_in_transaction_session_timeout": held}
        if connection.info.server_version >= 170000:  # also in the midst of what it says
            limits["transaction_timeout"] = f"{1000 * (PATIENCE + silent):.0f}"
        config = ", ".join("set_config(%s, %s, true)" for _ in limits)
        return [
            ("BEGIN", ()),
            (f"SELECT set_config('synchronous_commit', {self._commit}, true), {config}", sum(limits.items(), ())),
            ("SELECT pg_advisory_xact_lock(%s, %s)", (tables.LOCK, self._session)),
        ]

    @contextmanager
    def turn(self) -> Iterator[None]:
        def begin(connection: Connection) -> None:
            together(connection, *self._begin(connection, TURN))

        with self._writing, self._open.held(begin) as self._turn:
            try:
                yield
            finally:
                self._turn = None

    def last(self) -> int:
        ((last,),) = self._read("SELECT coalesce(max(seq), 0) FROM superarm.event WHERE session = %s")
        return int(last)

    def events(self, after: int = 0) -> Iterator[Event]:
        query = f"SELECT {COLUMNS} FROM superarm.event WHERE session = %s AND seq > %s ORDER BY seq LIMIT %s"
        many = 1  # more and more of them: often the first is all that is asked for
        while rows := self._read(query, after, many):
            yield from map(event_of, rows)
            after, many = rows[-1][0], min(4 * many, 500)

    def part(self, digest: str) -> bytes | None:
        rows = self._read("SELECT body FROM superarm.part WHERE session = %s AND digest = %s", digest)
        return bytes(rows[0][0]) if rows else None

    def keyed(self, key: str) -> Event | None:
        rows = self._read(f"SELECT {COLUMNS} FROM superarm.event WHERE session = %s AND key = %s", key)
        return event_of(rows[0]) if rows else None

    def standing(self, decision: str) -> Standing | None:
        rows = self._read("SELECT body FROM superarm.decision WHERE session = %s AND id = %s", decision)
        return standing_of(rows[0] if rows else None)

    def beginning(self, letters: str, most: int) -> list[str]:
        query = "SELECT id FROM superarm.decision WHERE session = %s AND id >= %s AND id < %s ORDER BY id LIMIT %s"
        return [id for (id,) in self._read(query, letters, end_of(letters), most)]

    def standings(self, *, out: bool = False, after: int = 0) -> Iterator[Standing]:
        query = (
            f"SELECT body, seq FROM superarm.decision WHERE session = %s AND seq > %s {'AND is_out' if out else ''} "
            "ORDER BY seq LIMIT 500"
        )
        while rows := self._read(query, after):
            for body, seq in rows:
                standing = standing_of((body,))
                assert standing is not None
                yield standing
                after = seq

    def cells(self, decision: str) -> tuple[Cell, ...]:
        query = (
            f"SELECT {changes.CELL} FROM superarm.cell WHERE session = %s AND decision = %s "
            "ORDER BY arm, outcome, sample"
        )
        names = changes.CELL.split(", ")
        return tuple(Cell(**dict(zip(names, row, strict=True))) for row in self._read(query, decision))

    def keep(self, snapshot: Snapshot, most: int = 2) -> None:
        place = (self._session, snapshot.fingerprint)

        def kept(connection: Connection) -> None:
            with connection.pipeline():
                connection.execute("BEGIN")
                connection.execute(
                    "INSERT INTO superarm.snapshot VALUES (%s, %s, %s, %s, %b) ON CONFLICT (session, seq, fingerprint) "
                    "DO UPDATE SET digest = excluded.digest, body = excluded.body",
                    (self._session, snapshot.seq, snapshot.fingerprint, snapshot.digest, snapshot.body),
                )
                connection.execute(
                    "DELETE FROM superarm.snapshot WHERE session = %s AND fingerprint = %s AND seq NOT IN "
                    "(SELECT seq FROM superarm.snapshot WHERE session = %s AND fingerprint = %s ORDER BY seq DESC "
                    "LIMIT %s)",
                    (*place, *place, most),
                )
                connection.execute("COMMIT")

        self._open.again(kept, writes=True)

    def snapshots(self) -> Iterator[Snapshot]:
        heads = self._read(
            "SELECT seq, fingerprint, digest FROM superarm.snapshot WHERE session = %s ORDER BY seq DESC"
        )
        for seq, fingerprint, digest in heads:
            query = "SELECT body FROM superarm.snapshot WHERE session = %s AND seq = %s AND fingerprint = %s"
            for (body,) in self._read(query, seq, fingerprint):
                yield Snapshot(seq=seq, fingerprint=fingerprint, digest=digest, body=bytes(body))

    def faults(self) -> list[str]:
        where = self._open.where
        try:
            followed = self._open.again(
                lambda connection: changes.followed(connection.execute, self._session), writes=False
            )
        except (*DAMAGE, UnreadableFile) as error:
            return [f"{where}: events that cannot be followed ({error!r})"]
        return [] if followed else [f"{where}: decisions or cells are kept that do not follow from the events"]

    def shrink(self) -> bool:
        """Let the server use the room again; only ``VACUUM FULL``, which stops everybody, gives it to the disk."""
        names = ", ".join(f"superarm.{name}" for name in ("event", "part", "snapshot", "decision", "cell"))
        self._open.again(lambda connection: connection.execute(f"VACUUM {names}"), writes=True)
        return True

    def take_lease(self, holder: str, url: str = "", seconds: float = 10.0) -> Lease | None:
        """Take the work on the session over for a while, or go on with it; None while another replica has it.

        From then on, what this store appends is refused (:class:`LeaseLost`) once another has taken over.
        """
        mine = (holder, -1 if self.epoch is None else self.epoch)

        def taken(connection: Connection) -> Lease | None:
            *_, won, found, _ = together(
                connection,
                *self._begin(connection, SILENT),
                (lease.TAKE, (holder, url, float(seconds), *mine, self._session, *mine)),
                (lease.READ, (self._session,)),
                ("COMMIT", ()),
            )
            return lease.lease_of(found) if won else None

        with self._writing:
            found = self._open.again(taken, writes=True)
            self.epoch = None if found is None else found.epoch
        return found

    def lease(self) -> Lease | None:
        """Who works on the session, or did last."""
        return lease.lease_of(self._read(lease.READ))

    def give_lease(self) -> None:
        """Let another replica take over at once."""
        with self._writing:
            epoch, self.epoch = self.epoch, None
            if epoch is not None:
                self._open.again(lambda found: found.execute(lease.GIVE, (self._session, epoch)), writes=True)

    def close(self) -> None:
        with self._writing:
            connections, self._connections = self._connections, None
            if connections is not None:
                connections.close()

    def _read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._open.read(query, (self._session, *values))

    @property
    def number(self) -> int:
        """Of the session in the tables of the database."""
        return self._session

    def read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query of counts."""
        return self._read(counts.translated(query), *values)

    @contextmanager
    def writing(self) -> Iterator[changes.Run]:
        """Statements of counts, all of which are done when it ends, or none."""
        with self._open.transaction() as connection:
            yield lambda statement, values=(): connection.execute(counts.translated(statement), values)

    def __repr__(self) -> str:
        return f"PostgresStore(session {self.name!r})"
