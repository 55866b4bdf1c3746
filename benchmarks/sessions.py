"""What a durable session costs, as ratios taken in one run: python -m benchmarks.sessions [rounds], ten minutes.

Ratios beside what is asked for; the last line is the summary. Syncs of a shared disk vary tenfold from minute to
minute, so a ratio to them is the median of ratios taken side by side, and its quartiles. What a thread waits for a core
while others have it is the machine's affair: where the system tells how long that was, it is left out.

Writers that wait share syncs, so what they gain depends on what one costs: it is asked for on a disk whose sync takes
4 ms, as that of a plain one does, and taken on this one as well, where it is asked for unless a sync takes
less than half of that.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from benchmarks.page import Listing
from superarm.sessions.check_store import numbered
from superarm.sessions.journal import Journal
from superarm.sessions.stores.sqlite import SQLiteStore

ARMS, PICKS = 100, 10
WARM = 150  # decisions after which the log is used again instead of growing
ROUNDS = 10_000  # of the session that is opened; memory is watched until twice as many
SYNC = 0.004  # seconds that a commit to a plain disk takes
CONTEXTS = np.random.default_rng(0).uniform(size=(ARMS, 2))


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of all its repetitions, beside what is asked for."""

    what: str
    values: list[float]
    most: float | None = None
    least: float | None = None
    asked: bool = True  # or it is there to be known

    @property
    def middle(self) -> float:
        return float(np.median(self.values))

    @property
    def met(self) -> bool:
        within = (self.most is None or self.middle <= self.most) and (self.least is None or self.middle >= self.least)
        return within or not self.asked

    def row(self) -> list[str]:
        low, high = np.quantile(self.values, [0.25, 0.75])
        spread = f"{low:.2f} to {high:.2f}" if len(self.values) > 1 else ""
        if not self.asked:
            return [self.what, f"{self.middle:.2f}", spread, "", ""]
        asked = f"at most {self.most:g}" if self.most is not None else f"at least {self.least:g}"
        return [self.what, f"{self.middle:.2f}", spread, asked, "met" if self.met else "MISSED"]


def waited() -> float:
    """Seconds that this thread has waited for a core, where the system tells."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def seconds(call: Callable[[], object]) -> float:
    """What a call takes, without what others on a shared machine cost it."""
    begun, before = time.perf_counter(), waited()
    call()
    late = waited() - before
    return time.perf_counter() - begun - late


def policy() -> sa.CautiousTCGPUCB:
    return sa.CautiousTCGPUCB(sa.GaussianProcess(sa.Matern52(lengthscale=0.5), noise_std=0.1), learn=False)


def a_round(t: int) -> sa.Round:
    groups = np.arange(ARMS) % 20
    return sa.Round(t=t, contexts=CONTEXTS, groups=groups, constraint=sa.Sum() >= 0.2, feasible=sa.AtMost(PICKS))


class Outcomes:
    """Outcomes that come at once, or the session would wait for them and select nothing."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def of(self, made: sa.Decision) -> np.ndarray:
        return self.rng.normal(0.3, 0.1, size=(len(made.arms), 2))


def decisions(folder: Path, times: int = 100) -> list[float]:
    """Durable decisions, each in units of one sync and one selection just before it."""
    session, alone, ratios, outcomes = sa.Session.open(folder / "decide.db", policy=policy()), policy(), [], Outcomes()
    file = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def sync() -> None:
        os.write(file, bytes(4096))
        os.fdatasync(file)

    for t in range(1, WARM + times):
        round, made = a_round(t), []
        floor = seconds(sync) + seconds(lambda round=round: alone.select(round))
        took = seconds(lambda round=round, made=made: made.append(session.decide(round)))
        values = outcomes.of(made[0])
        session.observe(made[0].id, made[0].arms, values)
        alone.decided(made[0].id, round, made[0].selection)
        alone.observed(made[0].id, round, made[0].arms, values)
        if t >= WARM:
            ratios.append(took / floor)
    session.close()
    os.close(file)
    return ratios


class PlainDisk(SQLiteStore):
    """A store whose commits take as long as on a plain disk, at least."""

    def _run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        begun = time.perf_counter()
        found = super()._run(statement, values)
        if statement == "COMMIT":
            time.sleep(max(0.0, SYNC - (time.perf_counter() - begun)))
        return found


def syncs(folder: Path, times: int = 50) -> list[float]:
    """Milliseconds that this disk takes for a sync."""
    file = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    found = [1e3 * seconds(lambda: (os.write(file, bytes(4096)), os.fdatasync(file))) for _ in range(times)]
    os.close(file)
    return found


def events_per_second(store: SQLiteStore, writers: int, each: int) -> float:
    """Events that threads append which wait for each of theirs; one of them works at a time, so their waits add up."""
    held, last = threading.Lock(), [store.last()]
    journal: Journal[None] = Journal(store, held, lambda state: None)

    def write(_: int) -> float:
        before = waited()
        for _ in range(each):
            with held:
                last[0] += 1
                ticket = journal.submit([numbered(last[0])], None)
            journal.wait(ticket)
        return waited() - before

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(lambda number: number, range(writers)))
        begun, worked = time.perf_counter(), time.process_time()
        late = sum(pool.map(write, range(writers)))
        wall, worked = time.perf_counter() - begun, time.process_time() - worked
    store.close()
    return writers * each / min(wall, max(wall - late, worked))


def shares(folder: Path, kind: type[SQLiteStore], times: int = 9) -> list[float]:
    """Events a second of 128 writers, in those of one."""

    def of(writers: int, each: int) -> float:
        return events_per_second(kind(folder / f"{kind.__name__}-{writers}.db"), writers, each)

    return [of(128, 20) / of(1, 60) for _ in range(times)]


def resident() -> float:
    """Megabytes of memory that this process has."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return float("nan")  # neither met nor missed


def long_session(folder: Path, rounds: int) -> list[Figure]:
    """A session of so many rounds opened with a snapshot and without, and its memory until twice as many."""
    path, copy, alone, outcomes = folder / "long.db", folder / "copy.db", policy(), Outcomes()
    session, own, early = sa.Session.open(path, policy=policy(), durability="normal"), 0.0, 0.0
    for t in range(1, 2 * rounds + 1):
        round = a_round(t)
        made = session.decide(round)
        values = outcomes.of(made)
        session.observe(made.id, made.arms, values)
        if t <= rounds:
            begun = time.thread_time()
            alone.decided(made.id, round, made.selection)
            alone.observed(made.id, round, made.arms, values)
            own += time.thread_time() - begun
        if t == rounds // 2:
            early = resident()
        if t == rounds:
            session.snapshot()
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("VACUUM INTO ?", (str(copy),))
    grown = resident() - early
    session.close()
    memory = Figure(what=f"MB more after {2 * rounds} rounds than after {rounds // 2}", values=[grown], most=5.0)
    return [*openings(copy, rounds, own), memory]


def openings(path: Path, rounds: int, own: float) -> list[Figure]:
    def opened() -> None:
        sa.Session.open(path, durability="normal")._running.store.close()

    quick = [seconds(opened) for _ in range(5)]
    store = SQLiteStore(path)
    store._writer.execute("DELETE FROM snapshot")
    store.close()
    begun = time.thread_time()
    opened()
    slow = (time.thread_time() - begun) / own
    return [
        Figure(what=f"seconds to open {rounds} rounds with a snapshot", values=quick, most=2.0),
        Figure(what="CPU to open without one, in the policy's own", values=[slow], most=1.5),
    ]


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory(dir=os.environ.get("SUPERARM_DISK", ".")) as name:
        folder = Path(name)
        sync = Figure(what="ms that a sync takes", values=syncs(folder), asked=False)
        here, plain = shares(folder, SQLiteStore), shares(folder, PlainDisk)
        many, shared = "events a second of 128 writers, in those of one", sync.middle >= 500 * SYNC
        found = [
            Figure(what="a durable decision, in a sync and a selection", values=decisions(folder), most=1.5),
            sync,
            Figure(what=f"{many}, on this disk", values=here, least=30.0, asked=shared),
            Figure(what=f"{many}, where a sync takes 4 ms", values=plain, least=30.0),
            *long_session(folder, rounds),
        ]
    head = ["what", "median", "quartiles", "asked for", ""]
    print("\n".join(Listing(title="Sessions", head=head, rows=[figure.row() for figure in found]).markdown()))
    missed = sum(not figure.met for figure in found)
    asked = sum(figure.asked for figure in found)
    print(f"{asked - missed} of {asked} figures of sessions are met")
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
