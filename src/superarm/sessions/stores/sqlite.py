"""A store in one SQLite file, by the standard library alone: several sessions, several threads, several processes.

One connection writes and one reads, so that looking up never waits for a commit. The file is in write-ahead mode, where
a commit is one append and, with full durability, one sync of the disk.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any

from superarm.arguments import one_of
from superarm.errors import InvalidArgument, StoreUnavailable, UnreadableFile, safe_repr
from superarm.sessions.events import DAMAGE, Event
from superarm.sessions.standing import Cell, Standing
from superarm.sessions.stores import changes, schema
from superarm.sessions.stores.plain_errors import plain_errors
from superarm.sessions.stores.rows import COLUMNS, STANDINGS, event_of, standing_in
from superarm.sessions.stores.store import Entry, Snapshot, end_of
from superarm.sessions.stores.together import Batch, check, together_at
from superarm.storage import checked_path, sync_folder

SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}
SOON = 1.0  # seconds to wait for others to end their reading, so that the log can be emptied
LONGEST = 230, 480  # bytes of a name and of a path that SQLite can open, and others with longer names beside it
PATIENCE = 30.0  # seconds to wait for another process that writes


class SQLiteStore:
    """The journal of one session in a file that may hold others.

    Parameters
    ----------
    path
        of the file, made if there is none
    name
        of the session
    durability
        "full": what is acknowledged survives the loss of power; "normal": it survives the death of the process, and a
        loss of power may cost the latest events, never the order of those that stay
    """

    def __init__(self, path: str | os.PathLike[str], name: str = "main", *, durability: str = "full") -> None:
        self.path = checked_path("path", path, LONGEST)
        if str(path) == ":memory:":
            raise InvalidArgument("path", "a file, or a superarm.sessions.stores.memory.MemoryStore()", ":memory:")
        synchronous = SYNCHRONOUS[one_of("durability", durability, tuple(SYNCHRONOUS))]
        self.name = checked_name("name", name)
        self.remembers = False  # whether the log of the file may still hold what was erased
        self._writing, self._reading = threading.RLock(), threading.Lock()
        with self._plain_errors():
            self._writer = self._connect()
        self._ran = schema.runs(self._writer)
        self._turn: int | None = None  # the thread that has its turn
        try:
            with self._plain_errors():
                schema.check_own(self._writer, str(self.path))  # first: the mode of a file stays
                _write_ahead(self._writer)
                self._writer.execute(f"PRAGMA synchronous = {synchronous}")
                self._writer.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
                schema.prepare(self._writer, str(self.path))
                self.number = self._number()
                sync_folder(os.path.dirname(os.path.abspath(self.path)))  # so that the name of a new file stays
                self._empty_log(0.0)  # whoever erased may have left that to others
                self._reader = self._connect()
                self._reader.execute("PRAGMA query_only = ON")
                self._together = together_at(self.path, durability)
        except BaseException:  # Ctrl-C too: nobody else could close it
            self._writer.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)

    def _number(self) -> int:
        """The number of the session in the file, which is given one where it is new."""
        self._writer.execute("INSERT OR IGNORE INTO session (name) VALUES (?)", (self.name,))
        ((number,),) = self._writer.execute("SELECT id FROM session WHERE name = ?", (self.name,))
        return int(number)

    def append(self, entries: Sequence[Entry]) -> None:
        self.begin(entries)()

    def begin(self, entries: Sequence[Entry]) -> Callable[[], None]:
        erases = any(entry.facts or entry.gone for entry in entries)
        if erases or self._turn == threading.get_ident():
            return partial(self._append_alone, Batch(self.number, entries), erases)
        return partial(self._append_with_others, self._together.enter(self.number, entries))

    def _append_alone(self, batch: Batch, erases: bool) -> None:
        self._write([batch])
        if batch.error is not None:
            raise batch.error
        if erases:
            self._empty_log(SOON)

    def _append_with_others(self, batch: Batch) -> None:
        self._together.finish(batch, self._write)
        if self.remembers:
            self._empty_log(0.0)

    def _write(self, batches: Sequence[Batch]) -> None:
        """Write what sessions of the file bring, in one transaction; whoever is behind is told so."""
        with self.writing() as run:
            for batch in batches:
                (last,) = run("SELECT max(seq) FROM event WHERE session = ?", (batch.session,)).fetchone()
                if check(batch, last or 0):
                    changes.add_entries(run, batch.session, batch.entries)

    def _empty_log(self, patience: float) -> None:
        """Let the write-ahead log, too, forget what was erased, unless somebody reads in it for longer than this."""
        with self._writing, self._impatient(patience):
            ((busy, _, _),) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.remembers = bool(busy)

    @contextmanager
    def _impatient(self, patience: float) -> Iterator[None]:
        """Wait no longer than this for others."""
        with self._plain_errors():
            self._writer.execute(f"PRAGMA busy_timeout = {int(1000 * patience)}")
            try:
                yield
            finally:
                self._writer.execute(f"PRAGMA busy_timeout = {int(1000 * PATIENCE)}")

    @contextmanager
    def writing(self) -> Iterator[changes.Run]:
        """All statements that are run in it are committed together when it ends, or none is."""
        with self._writing, self._plain_errors():
            if not self._writer.in_transaction:  # or it is this thread's turn
                self._run("BEGIN IMMEDIATE")
            try:
                yield self._run
                self._run("COMMIT")
            except BaseException:  # Ctrl-C too: a transaction that stays open would shut out all who write
                with suppress(sqlite3.Error):  # the first error says more; a lost connection is rolled back anyway
                    if self._writer.in_transaction:
                        self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._writing, self._plain_errors():
            self._run("BEGIN IMMEDIATE")
            self._turn = threading.get_ident()
            try:
                yield
            finally:
                self._turn = None
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    def _run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Run one statement of a transaction, with a list of values once for each; every one goes through here."""
        return self._ran(statement, values)

    def last(self) -> int:
        ((last,),) = self.read("SELECT max(seq) FROM event WHERE session = ?")
        return int(last or 0)

    def events(self, after: int = 0) -> Iterator[Event]:
        query = f"SELECT {COLUMNS} FROM event WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?"
        many = 1  # more and more of them: often the first is all that is asked for
        while rows := self.read(query, after, many):
            yield from map(event_of, rows)
            after, many = rows[-1][0], min(4 * many, 500)

    def part(self, digest: str) -> bytes | None:
        rows = self.read("SELECT body FROM part WHERE session = ? AND digest = ?", digest)
        if rows and not isinstance(rows[0][0], bytes):
            raise UnreadableFile(f"{self.path}: damaged (a part is not bytes)")
        return rows[0][0] if rows else None

    def keyed(self, key: str) -> Event | None:
        rows = self.read(f"SELECT {COLUMNS} FROM event WHERE session = ? AND key = ?", key)
        return event_of(rows[0]) if rows else None

    def standing(self, decision: str) -> Standing | None:
        rows = self.read(f"{STANDINGS} WHERE decision.session = ? AND decision.id = ?", decision)
        return standing_in(rows[0] if rows else None)

    def beginning(self, letters: str, most: int) -> list[str]:
        query = "SELECT id FROM decision WHERE session = ? AND id >= ? AND id < ? ORDER BY id LIMIT ?"
        return [id for (id,) in self.read(query, letters, end_of(letters), most)]

    def standings(self, *, out: bool = False, after: int = 0) -> Iterator[Standing]:
        query = (
            f"{STANDINGS} WHERE decision.session = ? AND decision.seq > ? {'AND decision.is_out' if out else ''} "
            "ORDER BY decision.seq LIMIT 500"
        )
        last = after
        while rows := self.read(query, last):
            for row in rows:
                standing = standing_in(row)
                assert standing is not None
                yield standing
                last = standing.seq

    def cells(self, decision: str) -> tuple[Cell, ...]:
        query = (
            "SELECT arm, outcome, sample, value, seq, assumed FROM cell WHERE session = ? AND decision = ? "
            "ORDER BY arm, outcome, sample"
        )
        names = ("arm", "outcome", "sample", "value", "seq")
        rows = self.read(query, decision)
        return tuple(Cell(**dict(zip(names, row[:5], strict=True)), assumed=bool(row[5])) for row in rows)

    def keep(self, snapshot: Snapshot, most: int = 2) -> None:
        with self.writing() as run:
            values = (self.number, snapshot.seq, snapshot.fingerprint, snapshot.digest, snapshot.body)
            run("INSERT OR REPLACE INTO snapshot VALUES (?, ?, ?, ?, ?)", values)
            alike = (self.number, snapshot.fingerprint)
            run(
                "DELETE FROM snapshot WHERE session = ? AND fingerprint = ? AND seq NOT IN "
                "(SELECT seq FROM snapshot WHERE session = ? AND fingerprint = ? ORDER BY seq DESC LIMIT ?)",
                (*alike, *alike, most),
            )

    def snapshots(self) -> Iterator[Snapshot]:
        heads = self.read("SELECT seq, fingerprint, digest FROM snapshot WHERE session = ? ORDER BY seq DESC")
        for seq, fingerprint, digest in heads:
            query = "SELECT body FROM snapshot WHERE session = ? AND seq = ? AND fingerprint = ?"
            for (body,) in self.read(query, seq, fingerprint):
                yield Snapshot(seq=seq, fingerprint=fingerprint, digest=digest, body=bytes(body))

    def faults(self) -> list[str]:
        with self._writing, self._plain_errors():
            found = [word for (word,) in self._writer.execute("PRAGMA integrity_check")]
            kept = _rows(self._writer)
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                schema.derive(self._writer)
                derived = _rows(self._writer)
            except (*DAMAGE, UnreadableFile) as error:
                return [f"{self.path}: events that cannot be followed ({error!r})"]
            finally:
                self._writer.execute("ROLLBACK")
        faults = [] if found == ["ok"] else [f"{self.path}: {word}" for word in found]
        if kept != derived:
            faults.append(f"{self.path}: decisions or cells are kept that do not follow from the events")
        return faults

    def shrink(self) -> bool:
        with self._writing:
            try:
                with self._impatient(SOON):
                    if not schema.shrunk(self._writer):
                        return True
            except StoreUnavailable:
                return False
            self._empty_log(SOON)
            return not self.remembers

    def close(self) -> None:
        with self._reading:
            self._reader.close()
        with self._writing:
            self._writer.close()

    def read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._reading, self._plain_errors():
            return self._reader.execute(query, (self.number, *values)).fetchall()

    def _plain_errors(self) -> AbstractContextManager[None]:
        return plain_errors(self.path)


def session_names(path: str | os.PathLike[str]) -> list[str]:
    """Names of the sessions that a file holds; the file must be there, and hold one."""
    file = checked_path("path", path)
    if not file.is_file():
        raise FileNotFoundError(2, "there is no such file", str(file))
    with plain_errors(file):
        connection = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)
        try:
            schema.prepare(connection, str(file))
            names = schema.names(connection)
        finally:
            connection.close()
    if not names:
        raise UnreadableFile(f"{file}: holds no session")
    return names


def checked_name(argument: str, value: Any) -> str:
    """A name of a session: some text that can be printed."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidArgument(argument, "a name of printable characters", safe_repr(value))
    return value


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn to write-ahead mode; while another process does, SQLite refuses without waiting."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > end:
                raise
            time.sleep(0.01)  # it ends with the patience


def _rows(connection: sqlite3.Connection) -> list[list[tuple[Any, ...]]]:
    orders = {"decision": "session, id", "cell": "session, decision, arm, outcome, sample"}
    return [connection.execute(f"SELECT * FROM {table} ORDER BY {order}").fetchall() for table, order in orders.items()]
