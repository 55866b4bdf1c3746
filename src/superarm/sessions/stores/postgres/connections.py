"""Connections to a PostgreSQL server, and its errors in plain words: the one place that speaks to psycopg.

A connection is borrowed for one look or one transaction and carries nothing from one to the next, so that a pooler as
PgBouncer may stand between. Stores of one database share the connections of their process.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

from superarm.errors import InvalidArgument, StoreUnavailable, SuperarmError, UnreadableFile
from superarm.sessions.stores.store import Behind
from superarm.words import to_install

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.pq import TransactionStatus
except ImportError as _error:
    _expected = f"the path of a file, or psycopg for a database ({to_install('postgres')})"
    raise InvalidArgument("path", _expected, str(_error)) from None

Connection = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")

MOST = 4  # connections that read, and as many that write, for each database in a process
SOON = 15.0  # seconds in which a server that went away may come back
PATIENCE = 30.0  # seconds to wait for others
DEFAULTS = {  # where the URL says nothing
    "application_name": "superarm",
    "client_encoding": "utf8",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "tcp_user_timeout": "30000",
}
# By the beginning of the code that PostgreSQL gives an error.
REASONS = {
    "25006": "it is a read-only replica; connect to the primary, or add target_session_attrs=read-write",
    "25P03": "it waited too long for this process; try again",
    "25P04": "it waited too long for this process; try again",
    "28": "it refuses the user or the password",
    "3D": "there is no such database",
    "42501": "the user lacks rights",
    "53100": "its disk is full; make room and try again",
    "53300": "it has too many connections; try again",
    "53": "it lacks memory or disk",
    "55P03": "another process holds the session; try again",
    "57P03": "it is starting or stopping; try again",
    "57": "it cancelled the command or is shutting down; try again",
    "08": "the connection was lost; try again",
}
DAMAGE = ("22", "23", "3F", "42", "XX001", "XX002")  # errors that come of tables which are not what they should be
# Who is refused a connection is told in words alone.
WORDS = {
    "password authentication failed": "it refuses the user or the password",
    "no password supplied": "it asks for a password, and the URL has none",
    "pg_hba.conf": "it rejects this user from this host (pg_hba.conf)",
    "role ": "it does not know the user",
    "database ": "there is no such database",
    "too many": "it has too many connections; try again",
    "starting up": "it is starting or stopping; try again",
    "shutting down": "it is starting or stopping; try again",
    "Connection refused": "no server answers there",
    "No such file": "no server answers there",
    "resolve host": "there is no such host",
    "timeout": "no server answers there in time",
    "server closed": "the connection was lost; try again",
}
PASSING = ("08", "53300", "57P01", "57P02", "57P03", "25P03", "25P04")  # what a second try may not meet again
PASSING_WORDS = ("too many", "starting up", "shutting down", "Connection refused", "No such file", "server closed")


class Connections:
    """The connections of a process to one database."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._info = make_conninfo("", **{**DEFAULTS, **given})
        self._password = str(given.get("password") or "")
        at = given.get("host") or given.get("hostaddr") or "this machine"
        self.where = f"PostgreSQL at {at}, database {given.get('dbname') or given.get('user') or '(by default)'}"
        self._changing = threading.Lock()
        self._idle: dict[bool, list[Connection]] = {True: [], False: []}
        self._free = {True: threading.Semaphore(MOST), False: threading.Semaphore(MOST)}
        self.users = 0

    def read(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.again(lambda connection: connection.execute(query, values, binary=True).fetchall(), writes=False)

    def again(self, work: Callable[[Connection], T], *, writes: bool, first: Connection | None = None) -> T:
        """What comes of work with a connection, which is done again with another where the first was lost."""

        def done() -> T:
            nonlocal first
            if first is not None:
                given, first = first, None
                return work(given)
            with self.borrowed(writes=writes) as connection:
                return work(connection)

        return self.patiently(done)

    @contextmanager
    def held(self, begin: Callable[[Connection], None]) -> Iterator[Connection]:
        """A connection in a transaction that was begun so; what is not committed at the end is undone."""
        with ExitStack() as stack:

            def begun() -> Connection:
                connection = stack.enter_context(self.borrowed(writes=True))
                try:
                    begin(connection)
                except BaseException:  # Ctrl-C too: the connection goes back before it is tried again
                    stack.close()
                    raise
                return connection

            yield self.patiently(begun)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection in a transaction, which is committed at the end, or undone."""

        def begin(connection: Connection) -> None:
            connection.execute("BEGIN")

        with self.held(begin) as connection:
            try:
                yield connection
                connection.execute("COMMIT")
            except psycopg.Error as error:
                raise self.plain(error) from None

    def patiently(self, work: Callable[[], T], patience: float = SOON) -> T:
        """What comes of work, which is done again for a while where a connection was lost."""
        end, pause = time.monotonic() + patience, 0.02
        while True:
            try:
                return work()
            except psycopg.Error as error:
                if time.monotonic() + pause > end or not _passes(error):
                    raise self.plain(error) from None
            time.sleep(pause)  # longer each time: a server that starts is not to be flooded
            pause = min(2 * pause, 1.0)

    @contextmanager
    def borrowed(self, *, writes: bool) -> Iterator[Connection]:
        """A connection that nobody else uses; outside of a transaction before and after."""
        if not self._free[writes].acquire(timeout=PATIENCE):
            raise StoreUnavailable(f"{self.where}: all {MOST} connections of this process are in use; try again")
        try:
            with self._changing:
                connection = self._idle[writes].pop() if self._idle[writes] else None
            if connection is None:
                connection = psycopg.connect(self._info, autocommit=True, prepare_threshold=None)
            try:
                yield connection
            except (psycopg.Error, SuperarmError, Behind):
                raise
            except BaseException:  # called away: nobody knows what the server is at
                connection.close()
                raise
            finally:
                self._put_back(connection, writes)
        finally:
            self._free[writes].release()

    def _put_back(self, connection: Connection, writes: bool) -> None:
        with suppress(psycopg.Error):
            connection.rollback()
        if connection.closed:
            self._let_go()  # the others were lost with it
        elif connection.info.transaction_status != TransactionStatus.IDLE:
            connection.close()
        else:
            with self._changing:
                self._idle[writes].append(connection)

    def _let_go(self) -> None:
        with self._changing:
            taken = [connection for idle in self._idle.values() for connection in idle]
            self._idle = {True: [], False: []}
        for connection in taken:
            connection.close()

    def plain(self, error: psycopg.Error) -> SuperarmError:
        """An error of PostgreSQL, as superarm says it; never with the URL."""
        code = error.sqlstate or ""
        said = str(error.diag.message_primary or error)
        if not code:
            reason = next((reason for word, reason in WORDS.items() if word in said), "it failed")
        else:
            reason = next((reason for start, reason in REASONS.items() if code.startswith(start)), "it failed")
        said = " ".join(said.split())
        if self._password:
            said = said.replace(self._password, "***")
        if code.startswith(DAMAGE) and code != "42501":
            return UnreadableFile(f"{self.where}: damaged, or not a journal of superarm ({said})")
        return StoreUnavailable(f"{self.where}: {reason} ({said})")

    def close(self) -> None:
        """Let go, where no other store of this process uses them."""
        with _sharing:
            self.users -= 1
            if self.users:
                return
            for place in [place for place, found in _shared.items() if found is self]:
                del _shared[place]
        self._let_go()

    def __repr__(self) -> str:
        return f"Connections({self.where})"


_sharing = threading.Lock()
_shared: dict[tuple[int, str], Connections] = {}


def shared(url: str) -> Connections:
    """The connections of this process to a database; each user closes them once."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        raise InvalidArgument(
            "path",
            "a PostgreSQL URL, postgresql://user:password@host/database, with special characters percent-encoded",
            "one that cannot be read (not shown, because it may contain a password)",
        ) from None
    with _sharing:
        place = (os.getpid(), url)  # a forked process must not speak on its parent's connections
        found = _shared.setdefault(place, Connections(given)) if place not in _shared else _shared[place]
        found.users += 1
        return found


def _passes(error: psycopg.Error) -> bool:
    if error.sqlstate:
        return error.sqlstate.startswith(PASSING)
    said = str(error)
    refused = any(word in said for word in WORDS) and not any(word in said for word in PASSING_WORDS)
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and not refused


def together(connection: Connection, *statements: tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
    """The rows of statements that travel in one message, so that a server never waits in the midst of them."""
    with psycopg.ClientCursor(connection) as cursor:
        cursor.execute(
            "; ".join(text for text, _ in statements), [value for _, values in statements for value in values]
        )
        found: list[list[tuple[Any, ...]]] = []
        while True:
            found.append(cursor.fetchall() if cursor.description else [])
            if not cursor.nextset():
                return found


def is_taken(error: BaseException, constraint: str) -> bool:
    """Whether a row was refused because its place is taken."""
    return isinstance(error, psycopg.errors.UniqueViolation) and error.diag.constraint_name == constraint
