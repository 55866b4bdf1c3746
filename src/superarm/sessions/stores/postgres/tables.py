"""The tables of journals in PostgreSQL, and how databases of other versions are met.

They are those of SQLite (see :mod:`superarm.sessions.stores.schema`), in a schema ``superarm`` of their own. Text is
compared by its bytes, as Python does, whatever the language of the database.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from superarm.errors import StoreUnavailable, UnreadableFile
from superarm.sessions.stores import schema
from superarm.sessions.stores.postgres import changes, counts
from superarm.sessions.stores.postgres.changes import Run
from superarm.sessions.stores.tables import VERSION

FORMAT = schema.FORMAT
SCHEMA = 1  # of what is the truth
DERIVED = 1  # of what follows from it
LOCK = 0x5A9E12  # names the locks of superarm among those of a database; the second number is the session, 0 for all

WORD = 'text COLLATE "C"'
TRUTH = (
    f"CREATE TABLE superarm.session (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name {WORD} NOT NULL UNIQUE, "
    f"epoch bigint NOT NULL DEFAULT 0, holder {WORD}, url {WORD}, until timestamptz)",
    f"CREATE TABLE superarm.event (session integer NOT NULL, seq bigint NOT NULL, version integer NOT NULL, "
    f"kind {WORD} NOT NULL, at double precision NOT NULL, decision {WORD}, key {WORD}, request {WORD}, "
    "body bytea NOT NULL, batch uuid, CONSTRAINT event_in_order PRIMARY KEY (session, seq))",
    "CREATE UNIQUE INDEX event_by_key ON superarm.event (session, key) WHERE key IS NOT NULL",
    f"CREATE TABLE superarm.part (session integer NOT NULL, digest {WORD} NOT NULL, body bytea NOT NULL, "
    "PRIMARY KEY (session, digest))",
    f"CREATE TABLE superarm.snapshot (session integer NOT NULL, seq bigint NOT NULL, fingerprint {WORD} NOT NULL, "
    f"digest {WORD} NOT NULL, body bytea NOT NULL, PRIMARY KEY (session, seq, fingerprint))",
)
FOLLOWS = (
    "DROP TABLE IF EXISTS superarm.decision",
    "DROP TABLE IF EXISTS superarm.cell",
    f"CREATE TABLE superarm.decision (session integer NOT NULL, id {WORD} NOT NULL, seq bigint NOT NULL, "
    f"is_out boolean NOT NULL, body {WORD} NOT NULL, PRIMARY KEY (session, id))",
    "CREATE INDEX decision_by_seq ON superarm.decision (session, seq)",
    "CREATE INDEX decision_out ON superarm.decision (session, seq) WHERE is_out",
    f"CREATE TABLE superarm.cell (session integer NOT NULL, decision {WORD} NOT NULL, arm bigint NOT NULL, "
    f"outcome smallint NOT NULL, sample {WORD} NOT NULL, value double precision NOT NULL, seq bigint NOT NULL, "
    "assumed boolean NOT NULL, PRIMARY KEY (session, decision, arm, outcome, sample))",
)
# By the schema that a database has: what makes it one of the next.
MIGRATIONS: dict[int, Callable[[Run], None]] = {}


def is_ready(run: Run, where: str) -> bool:
    """Whether the tables are there as this version has them; a later or foreign schema is refused."""
    ((encoding,),) = run("SELECT current_setting('server_encoding')")
    if encoding != "UTF8":
        raise StoreUnavailable(
            f"{where}: its encoding {encoding} lacks most characters; create a database with "
            "ENCODING 'UTF8' TEMPLATE template0"
        )
    found = meta(run, where)
    newest = int(found.get("schema", SCHEMA))
    if newest > SCHEMA:
        raise UnreadableFile(
            f"{where}: written by a later superarm (schema {newest}); this one reads up to {SCHEMA}: upgrade it"
        )
    meant = {"schema": SCHEMA, "derived": DERIVED, "counts": VERSION}
    return all(found.get(key) == str(value) for key, value in meant.items())


def meta(run: Run, where: str) -> dict[str, str]:
    """What a database says of itself; nothing where it has no schema ``superarm``, or an empty one."""
    query = "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s"
    tables = {name for (name,) in run(query, ("superarm",))}
    if not tables:
        return {}
    found = dict(run("SELECT key, value FROM superarm.meta")) if "meta" in tables else {}
    if found.get("format") != FORMAT:
        raise UnreadableFile(f"{where}: has a schema named superarm that is not a journal of superarm")
    return found


def prepare(run: Run, where: str) -> None:
    """Make the tables, or bring older ones forward, within a transaction."""
    run("SELECT pg_advisory_xact_lock(%s, 0)", (LOCK,))
    if is_ready(run, where):
        return  # somebody else has done it meanwhile
    found = meta(run, where)
    if not found:
        if not list(run("SELECT 1 FROM pg_namespace WHERE nspname = 'superarm'")):
            run("CREATE SCHEMA superarm")
        run(f"CREATE TABLE superarm.meta (key {WORD} PRIMARY KEY, value {WORD} NOT NULL)")
        for statement in TRUTH:
            run(statement)
        _note(run, format=FORMAT, schema=SCHEMA)
    for old in range(int(found.get("schema", SCHEMA)), SCHEMA):
        MIGRATIONS[old](run)
        _note(run, schema=old + 1)
    if found.get("derived") != str(DERIVED):
        for statement in FOLLOWS:
            run(statement)
        for (session,) in list(run("SELECT id FROM superarm.session")):
            changes.derive(run, session)
        _note(run, derived=DERIVED)
    if found.get("counts") != str(VERSION):
        counts.prepare(run)
        _note(run, counts=VERSION)


def _note(run: Run, **values: Any) -> None:
    for key, value in values.items():
        statement = "INSERT INTO superarm.meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        run(statement, (key, str(value)))
