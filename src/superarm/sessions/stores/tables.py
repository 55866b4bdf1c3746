"""The tables of counts, in SQL that SQLite and PostgreSQL both read, and where they are kept.

A store may keep them itself (:class:`Tables`); of one that does not they are in memory, and counted anew at each start.

``counted``  how far the counting has come, and how many decisions a bin of the picture holds
``judged``   one row for every decision: what it came to, so far as is known
``bin``      sums over decisions that follow each other
``grouped``  sums over the promises of one group, and ``tally`` the same over bins four times as wide
``honesty``  sums from which the verdict on stated probabilities follows, by kind of decision
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, runtime_checkable

VERSION = 1  # of the tables below; where it changes they are counted anew
STAKES = 6  # sums of logarithms that a verdict needs: see superarm.calibration.verdict

PROMISES = ("kept", "broken", "unknown", "stated", "predicted", "observed")
KINDS = ("certified", "trial", "exploring", "on_credit", "waiting", "other")
BIN = ("decisions", "records", "waits", "withdrawn", "empty", "picked", "rewarded", "reward", *PROMISES, *KINDS)
HONESTY = ("units", "predicted", "observed", *(f"log_{place}" for place in range(STAKES)))
REAL = ("reward", "predicted", *(f"log_{place}" for place in range(STAKES)))


def _columns(names: Sequence[str]) -> str:
    # DOUBLE PRECISION is REAL in SQLite, and as exact as Python's floats in PostgreSQL.
    return ", ".join(f"{name} {'DOUBLE PRECISION' if name in REAL else 'BIGINT'} NOT NULL DEFAULT 0" for name in names)


NAMES = ("counted", "judged", "bin", "grouped", "tally", "honesty")
CREATE = (
    "CREATE TABLE counted (session BIGINT PRIMARY KEY, seq BIGINT NOT NULL, begun BIGINT NOT NULL, n BIGINT NOT NULL, "
    "width BIGINT NOT NULL, many BIGINT NOT NULL)",
    "CREATE TABLE judged (session BIGINT NOT NULL, n BIGINT NOT NULL, decision TEXT NOT NULL, seq BIGINT NOT NULL, "
    "at DOUBLE PRECISION NOT NULL, t BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, picked BIGINT NOT NULL, "
    "reward DOUBLE PRECISION, kept BIGINT NOT NULL, broken BIGINT NOT NULL, unknown BIGINT NOT NULL, "
    "is_out BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session, n))",
    "CREATE UNIQUE INDEX judged_by_decision ON judged (session, decision)",
    "CREATE INDEX judged_broken ON judged (session, n) WHERE broken > 0",
    "CREATE INDEX judged_out ON judged (session, n) WHERE is_out > 0",
    f"CREATE TABLE bin (session BIGINT NOT NULL, width BIGINT NOT NULL, bin BIGINT NOT NULL, {_columns(BIN)}, "
    "PRIMARY KEY (session, width, bin))",
    "CREATE TABLE grouped (session BIGINT NOT NULL, number BIGINT NOT NULL, label TEXT NOT NULL, "
    f"{_columns(PROMISES)}, "
    "PRIMARY KEY (session, number))",
    "CREATE UNIQUE INDEX grouped_by_label ON grouped (session, label)",
    "CREATE INDEX grouped_by_broken ON grouped (session, broken DESC, number)",
    "CREATE TABLE tally (session BIGINT NOT NULL, width BIGINT NOT NULL, number BIGINT NOT NULL, bin BIGINT NOT NULL, "
    f"{_columns(PROMISES)}, PRIMARY KEY (session, width, number, bin))",
    f"CREATE TABLE honesty (session BIGINT NOT NULL, kind TEXT NOT NULL, {_columns(HONESTY)}, "
    "PRIMARY KEY (session, kind))",
)
DROP = tuple(f"DROP TABLE IF EXISTS {name}" for name in NAMES)
ERASE = tuple(f"DELETE FROM {name} WHERE session = ?" for name in NAMES)  # of one session

Run = Callable[..., Any]  # a statement and its values; what comes has fetchall and rowcount


@runtime_checkable
class Tables(Protocol):
    """Where counts are kept: a store that has tables, or :class:`MemoryTables`. Values stand for ``?``."""

    @property
    def number(self) -> int:
        """The number that tells the session from others of the same tables."""
        ...

    def read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query; its first value is the number of the session."""
        ...

    def writing(self) -> AbstractContextManager[Run]:
        """Statements that are all done when it ends, or none."""
        ...


class MemoryTables:
    """Counts that live as long as the process."""

    number = 1

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        for statement in CREATE:
            self._connection.execute(statement)

    def read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(query, (self.number, *values)).fetchall()

    @contextmanager
    def writing(self) -> Iterator[Run]:
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield self._connection.execute
            except BaseException:  # Ctrl-C too: a transaction that stays open would take in the next one
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
