"""What a service keeps beside the journals, in the same place: short texts, by sort and name."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import Protocol

from superarm.sessions.stores import schema
from superarm.sessions.stores.plain_errors import plain_errors
from superarm.sessions.stores.postgres.address import is_url
from superarm.sessions.stores.sqlite import PATIENCE


class Shelf(Protocol):
    """Short texts by sort and name, durable when a call returns; its methods may be called from several threads."""

    def sessions(self) -> list[str]:
        """Names of the sessions that are kept in the same place."""
        ...

    def read(self, sort: str) -> dict[str, str]:
        """All texts of a sort, by name."""
        ...

    def one(self, sort: str, name: str) -> str | None:
        """One text, if there is one."""
        ...

    def names(self, sort: str, letters: int = 0) -> dict[str, str]:
        """The names of a sort, and the first letters of each text."""
        ...

    def write(self, sort: str, name: str, text: str | None) -> None:
        """Keep a text, or no longer."""
        ...

    def check(self) -> None:
        """Raise an error of superarm where nothing can be written now."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def shelf_at(store: str | os.PathLike[str]) -> Shelf:
    """The shelf of a store, by its path or URL."""
    if is_url(store):
        from superarm.sessions.stores.postgres.shelf import PostgresShelf

        return PostgresShelf(str(store))
    return SQLiteShelf(store)


class SQLiteShelf:
    """A table in the file of the sessions, which is made where there is none."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        with plain_errors(self.path):
            self._connection = sqlite3.connect(
                self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            schema.prepare(self._connection, str(self.path))
            self._connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS shelf (sort TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, "
                "PRIMARY KEY (sort, name))"
            )

    def sessions(self) -> list[str]:
        with self._lock, plain_errors(self.path):
            return schema.names(self._connection)

    def read(self, sort: str) -> dict[str, str]:
        with self._lock, plain_errors(self.path):
            return dict(self._connection.execute("SELECT name, text FROM shelf WHERE sort = ? ORDER BY name", (sort,)))

    def one(self, sort: str, name: str) -> str | None:
        with self._lock, plain_errors(self.path):
            query = "SELECT text FROM shelf WHERE sort = ? AND name = ?"
            found = self._connection.execute(query, (sort, name)).fetchone()
            return None if found is None else str(found[0])

    def names(self, sort: str, letters: int = 0) -> dict[str, str]:
        with self._lock, plain_errors(self.path):
            query = "SELECT name, substr(text, 1, ?) FROM shelf WHERE sort = ? ORDER BY name"
            return dict(self._connection.execute(query, (letters, sort)))

    def write(self, sort: str, name: str, text: str | None) -> None:
        with self._lock, plain_errors(self.path):
            if text is None:
                self._connection.execute("DELETE FROM shelf WHERE sort = ? AND name = ?", (sort, name))
            else:
                self._connection.execute("INSERT OR REPLACE INTO shelf VALUES (?, ?, ?)", (sort, name, text))

    def check(self) -> None:
        with self._lock, plain_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        with self._lock:
            self._connection.close()
