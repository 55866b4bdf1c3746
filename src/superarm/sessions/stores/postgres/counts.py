"""The tables of counts in PostgreSQL: statements that are written for SQLite, as PostgreSQL reads them."""

from __future__ import annotations

import functools
import re

from superarm.sessions.stores import tables
from superarm.sessions.stores.postgres.changes import Run

_TABLE = re.compile(rf"\b(FROM|INTO|UPDATE|TABLE|EXISTS|ON) ({'|'.join(tables.NAMES)})\b")


@functools.lru_cache(maxsize=256)
def translated(statement: str) -> str:
    """A statement with tables in their schema, and with other marks for values; text is compared by its bytes.

    >>> translated("SELECT n FROM judged WHERE session = ?")
    'SELECT n FROM superarm.judged WHERE session = %s'
    """
    return _TABLE.sub(r"\1 superarm.\2", statement).replace(" TEXT ", ' text COLLATE "C" ').replace("?", "%s")


def prepare(run: Run) -> None:
    """Make the tables anew."""
    for statement in (*tables.DROP, *tables.CREATE):
        run(translated(statement))
