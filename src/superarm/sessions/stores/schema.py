"""The tables of a journal in SQLite, and how files of other versions are met.

``event`` and ``part`` are the truth: they are only ever appended to. ``decision`` and ``cell`` are derived; where their
layout changes they are dropped and written again from the events, so that a migration is short. The tables of counts
(:mod:`superarm.sessions.stores.tables`) follow later, when somebody looks.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from superarm.errors import UnreadableFile
from superarm.sessions import events
from superarm.sessions.stores import changes, tables

FORMAT = "superarm sessions"
SCHEMA = 1  # of what is the truth
DERIVED = 8  # of what follows from it

TRUTH = (
    "CREATE TABLE session (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE event (session INTEGER NOT NULL, seq INTEGER NOT NULL, version INTEGER NOT NULL, kind TEXT NOT NULL, "
    "at REAL NOT NULL, decision TEXT, key TEXT, request TEXT, body BLOB NOT NULL, PRIMARY KEY (session, seq))",
    "CREATE UNIQUE INDEX event_by_key ON event (session, key) WHERE key IS NOT NULL",
    "CREATE TABLE part (session INTEGER NOT NULL, digest TEXT NOT NULL, body BLOB NOT NULL, "
    "PRIMARY KEY (session, digest))",
    "CREATE TABLE snapshot (session INTEGER NOT NULL, seq INTEGER NOT NULL, fingerprint TEXT NOT NULL, "
    "digest TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (session, seq, fingerprint))",
)
FOLLOWS = (
    "DROP TABLE IF EXISTS decision",
    "DROP TABLE IF EXISTS cell",
    "CREATE TABLE decision (session INTEGER NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, is_out INTEGER NOT NULL, "
    "body TEXT, PRIMARY KEY (session, seq)) WITHOUT ROWID",  # no body: it stands as the event of that number left it
    "CREATE UNIQUE INDEX decision_by_id ON decision (session, id)",
    "CREATE INDEX decision_out ON decision (session, seq) WHERE is_out",
    "CREATE TABLE cell (session INTEGER NOT NULL, decision TEXT NOT NULL, arm INTEGER NOT NULL, "
    "outcome INTEGER NOT NULL, sample TEXT NOT NULL, value REAL NOT NULL, seq INTEGER NOT NULL, "
    "assumed INTEGER NOT NULL, PRIMARY KEY (session, decision, arm, outcome, sample)) WITHOUT ROWID",
)
# By the schema that a file has: what makes it one of the next.
MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {}
SPARE = 0.1  # of a file that may be free before it pays to write all of it anew


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Make a new file a journal, bring an older one forward, and refuse a newer or foreign one.

    The steps forward are one transaction, after a copy of the file as it was: beside it, as ``FILE.schema-1.backup``.
    """
    _back_up(connection, path)
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _meta(connection, path)
        if not found:
            connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
            for statement in TRUTH:
                connection.execute(statement)
            _note(connection, format=FORMAT, schema=SCHEMA)
        schema = _check_schema(found, path)
        for old in range(schema, SCHEMA):
            MIGRATIONS[old](connection)
            _note(connection, schema=old + 1)
        if found.get("derived") != str(DERIVED):
            derive(connection)
            _note(connection, derived=DERIVED)
        if found.get("counts") != str(tables.VERSION):
            for statement in (*tables.DROP, *tables.CREATE):
                connection.execute(statement)
            _note(connection, counts=tables.VERSION)
    except BaseException as error:  # Ctrl-C too: a change of the tables is whole or none
        connection.execute("ROLLBACK")
        if isinstance(error, events.DAMAGE):
            raise UnreadableFile(f"{path}: damaged, or not a journal of superarm ({error!r})") from error
        raise
    connection.execute("COMMIT")


def check_own(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a foreign file, or a later one, and leave it as it is."""
    _check_schema(_meta(connection, path), path)


def _check_schema(found: Mapping[str, str], path: str) -> int:
    try:
        schema = int(found.get("schema", SCHEMA))
    except ValueError as error:
        raise UnreadableFile(f"{path}: damaged, or not a journal of superarm ({error})") from error
    if schema > SCHEMA:
        raise UnreadableFile(
            f"{path}: written by a later superarm (schema {schema}); this one reads up to {SCHEMA}: upgrade it"
        )
    return schema


def _back_up(connection: sqlite3.Connection, path: str) -> None:
    """Keep a copy of a file that is to be brought forward, whole or not at all."""
    old = _schema(connection)
    if old is None or old >= SCHEMA:
        return
    copy = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        connection.execute("VACUUM INTO ?", (copy,))
        made = sqlite3.connect(copy)
        try:
            same = _schema(made) == old  # or another process has brought it forward meanwhile
        finally:
            made.close()
        if same:
            with open(copy, "rb") as held:
                os.fsync(held.fileno())
            os.replace(copy, f"{path}.schema-{old}.backup")
    finally:
        with suppress(FileNotFoundError):
            os.remove(copy)


def _schema(connection: sqlite3.Connection) -> int | None:
    """The number that a journal has; None where the file is something else, or new."""
    try:
        rows = dict(connection.execute("SELECT key, value FROM meta"))
        return int(rows["schema"]) if rows.get("format") == FORMAT else None
    except (sqlite3.Error, *events.DAMAGE):
        return None


def _meta(connection: sqlite3.Connection, path: str) -> dict[str, str]:
    """What a file says of itself; nothing where it is empty."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return {}
    columns = {row[1] for row in connection.execute("PRAGMA table_info(meta)")}  # others have such tables, too
    found = dict(connection.execute("SELECT key, value FROM meta")) if columns >= {"key", "value"} else {}
    if found.get("format") != FORMAT:
        raise UnreadableFile(f"{path}: an SQLite database, but not a journal of superarm")
    return found


def _note(connection: sqlite3.Connection, **values: Any) -> None:
    rows = [(key, str(value)) for key, value in values.items()]
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def shrunk(connection: sqlite3.Connection) -> bool:
    """Write the file anew without what is free in it, where that is more than a tenth; whether it was."""
    free, pages = (connection.execute(f"PRAGMA {name}_count").fetchone()[0] for name in ("freelist", "page"))
    if free <= SPARE * pages:
        return False
    connection.execute("VACUUM")
    return True


def names(connection: sqlite3.Connection) -> list[str]:
    """Of the sessions that have begun, in the order in which they did."""
    begun = "EXISTS (SELECT 1 FROM event WHERE session = session.id)"
    return [name for (name,) in connection.execute(f"SELECT name FROM session WHERE {begun} ORDER BY id")]


def derive(connection: sqlite3.Connection) -> None:
    """Write the derived tables again, from the events of all sessions."""
    for statement in FOLLOWS:
        connection.execute(statement)
    for (session,) in connection.execute("SELECT id FROM session").fetchall():
        changes.derive(runs(connection), session)


def runs(connection: sqlite3.Connection) -> changes.Run:
    """How to run a statement once, or, with a list of values, once for each."""

    def run(statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        many = isinstance(values, list)
        return connection.executemany(statement, values) if many else connection.execute(statement, values)

    return run
