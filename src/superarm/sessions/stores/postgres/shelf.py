"""The shelf of a service in PostgreSQL, beside the journals: see :mod:`superarm.sessions.stores.shelf`."""

from __future__ import annotations

from typing import Any

from superarm.errors import UnreadableFile
from superarm.sessions.stores.postgres import database
from superarm.sessions.stores.postgres.connections import shared
from superarm.sessions.stores.postgres.tables import WORD


class PostgresShelf:
    """A table in the schema of the sessions."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connections = shared(url)
        try:
            database.prepared(self._connections)
            self._write(
                f"CREATE TABLE IF NOT EXISTS superarm.shelf (sort {WORD} NOT NULL, name {WORD} NOT NULL, "
                f"text {WORD} NOT NULL, PRIMARY KEY (sort, name))"
            )
        except BaseException:  # Ctrl-C too: nobody else knows these connections yet
            self._connections.close()
            raise

    def sessions(self) -> list[str]:
        try:
            return database.session_names(self._url)
        except UnreadableFile:
            return []

    def read(self, sort: str) -> dict[str, str]:
        query = "SELECT name, text FROM superarm.shelf WHERE sort = %s ORDER BY name"
        return {str(name): str(text) for name, text in self._connections.read(query, (sort,))}

    def one(self, sort: str, name: str) -> str | None:
        query = "SELECT text FROM superarm.shelf WHERE sort = %s AND name = %s"
        return next((str(text) for (text,) in self._connections.read(query, (sort, name))), None)

    def names(self, sort: str, letters: int = 0) -> dict[str, str]:
        query = "SELECT name, left(text, %s) FROM superarm.shelf WHERE sort = %s ORDER BY name"
        return {str(name): str(text) for name, text in self._connections.read(query, (letters, sort))}

    def write(self, sort: str, name: str, text: str | None) -> None:
        if text is None:
            self._write("DELETE FROM superarm.shelf WHERE sort = %s AND name = %s", sort, name)
        else:
            self._write(
                "INSERT INTO superarm.shelf VALUES (%s, %s, %s) "
                "ON CONFLICT (sort, name) DO UPDATE SET text = excluded.text",
                *(sort, name, text),
            )

    def check(self) -> None:
        self.write("check", "readiness", "")

    def close(self) -> None:
        self._connections.close()

    def _write(self, statement: str, *values: Any) -> None:
        self._connections.again(lambda connection: connection.execute(statement, values), writes=True)
