"""A PostgreSQL database that holds journals: made ready, and asked for the names of its sessions."""

from __future__ import annotations

from superarm.errors import UnreadableFile
from superarm.sessions.events import DAMAGE
from superarm.sessions.stores.postgres import tables
from superarm.sessions.stores.postgres.connections import Connections, shared

AT_OPEN = 2.0  # seconds to wait for a server when a store is opened


def prepared(connections: Connections) -> None:
    """Make the tables where there are none, and bring older ones forward; what is ready is only looked at."""

    def prepare() -> None:
        with connections.borrowed(writes=True) as connection:
            run = connection.execute
            if not tables.is_ready(run, connections.where):
                run("BEGIN")
                tables.prepare(run, connections.where)
                run("COMMIT")

    try:
        connections.patiently(prepare, AT_OPEN)
    except DAMAGE as error:
        raise UnreadableFile(f"{connections.where}: damaged, or not a journal of superarm ({error!r})") from error


def session_names(url: str) -> list[str]:
    """Names of the sessions that a database holds; it must hold one."""
    connections = shared(url)
    try:
        prepared(connections)
        begun = "EXISTS (SELECT 1 FROM superarm.event WHERE session = session.id)"
        names = [
            str(name)
            for (name,) in connections.read(f"SELECT name FROM superarm.session WHERE {begun} ORDER BY id", ())
        ]
    finally:
        connections.close()
    if not names:
        raise UnreadableFile(f"{connections.where}: holds no session")
    return names
