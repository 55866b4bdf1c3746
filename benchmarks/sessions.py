"""What a durable session costs, as ratios taken in one run: python -m benchmarks.sessions.

Ratios beside what is asked for; the last line is the summary. Syncs of a shared disk vary tenfold from minute to
minute, so a ratio to them is the median of ratios taken side by side.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import superarm as sa
from superarm.sessions.check_store import numbered
from superarm.sessions.journal import Journal
from superarm.sessions.stores.sqlite import SQLiteStore

ARMS, PICKS = 100, 10
WARM = 150


def waited() -> float:
    """Seconds that this thread has waited for a core, where the system tells."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def seconds(call: Callable[[], object]) -> float:
    """What a call takes, without what others on a shared machine cost it."""
    before, begun = waited(), time.perf_counter()
    call()
    return time.perf_counter() - begun - (waited() - before)


def policy() -> sa.CautiousTCGPUCB:
    return sa.CautiousTCGPUCB(sa.GaussianProcess(sa.Matern52(lengthscale=0.5), noise_std=0.1), learn=False)


def a_round(t: int) -> sa.Round:
    contexts = np.random.default_rng(0).uniform(size=(ARMS, 2))
    groups = np.arange(ARMS) % 20
    return sa.Round(t=t, contexts=contexts, groups=groups, constraint=sa.Sum() >= 0.2, feasible=sa.AtMost(PICKS))


def decision(folder: Path, times: int = 60) -> float:
    """A durable decision, in units of one sync and one selection."""
    session, alone, ratios = sa.Session.open(folder / "decide.db", policy=policy()), policy(), []
    file = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    rng = np.random.default_rng(0)

    def told(made: sa.Decision, round: sa.Round) -> None:
        """Outcomes come at once, or the session would wait for them and select nothing."""
        values = rng.normal(0.3, 0.1, size=(len(made.arms), 2))
        session.observe(made.id, made.arms, values)
        alone.update(round, made.arms, values)

    for t in range(1, WARM):
        round = a_round(t)
        told(session.decide(round), round)  # until the log is used again instead of growing

    def sync() -> None:
        os.write(file, bytes(4096))
        os.fdatasync(file)

    for t in range(WARM, WARM + times):
        round = a_round(t)
        floor = seconds(sync) + seconds(lambda round=round: alone.select(round))
        made: list[sa.Decision] = []
        ratios.append(seconds(lambda round=round, made=made: made.append(session.decide(round))) / floor)
        told(made[0], round)
    session.close()
    os.close(file)
    return statistics.median(ratios)


def events_per_second(folder: Path, writers: int, each: int) -> float:
    """Events that threads append which wait for each of theirs."""
    store, held, last = SQLiteStore(folder / f"{writers}.db"), threading.Lock(), [0]
    journal: Journal[None] = Journal(store, held, lambda state: None)

    def write(_: int) -> None:
        for _ in range(each):
            with held:
                last[0] += 1
                ticket = journal.submit([numbered(last[0])], None)
            journal.wait(ticket)

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(lambda number: number, range(writers)))
        took = seconds(lambda: list(pool.map(write, range(writers))))
    store.close()
    return writers * each / took


def openings(folder: Path, rounds: int) -> tuple[float, float]:
    """Seconds to open a long session with a snapshot; and without one, in units of the policy's own updates."""
    session, alone, own = sa.Session.open(folder / "long.db", policy=policy(), durability="normal"), policy(), 0.0
    rng = np.random.default_rng(0)
    for t in range(1, rounds + 1):
        round = a_round(t)
        made = session.decide(round)
        values = rng.normal(0.3, 0.1, size=(len(made.arms), 2))
        session.observe(made.id, made.arms, values)
        own += seconds(lambda round=round, arms=made.arms, values=values: alone.update(round, arms, values))
    session.close()

    def opened() -> None:
        sa.Session.open(folder / "long.db", durability="normal")._running.store.close()

    with_one = seconds(opened)
    store = SQLiteStore(folder / "long.db")
    store._writer.execute("DELETE FROM snapshot")
    store.close()
    return with_one, seconds(opened) / own


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(dir=os.environ.get("SUPERARM_DISK", ".")) as name:
        folder = Path(name)
        one, many = events_per_second(folder, 1, 60), events_per_second(folder, 128, 20)
        with_one, without = openings(folder, rounds)
        found = [
            ("a durable decision, in syncs and selections", decision(folder), "at most", 1.5),
            ("events a second of 128 writers, in those of one", many / one, "at least", 30.0),
            (f"seconds to open {rounds} rounds with a snapshot", with_one, "at most", 2.0),
            ("without one, in times of the policy's own updates", without, "at most", 1.5),
        ]
    missed = 0
    for what, value, way, limit in found:
        met = value <= limit if way == "at most" else value >= limit
        missed += not met
        print(f"{what}: {value:.2f} ({way} {limit:g}: {'met' if met else 'MISSED'})")
    print(f"{len(found) - missed} of {len(found)} figures of sessions are met")
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
