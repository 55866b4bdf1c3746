"""The loss of power at every sync of a session: python -m tests.sessions.power [--events N].

A session runs on a disk that remembers what was synced (see ``recorder``). At every sync, of the journal, of its log or
of a checkpoint, power is lost just before it is done, and what was written since the syncs before stays in part: none,
all, some writes, the later ones alone, or some sectors. The files of every such end are opened by a session of the
standard library's SQLite. Prints one line for every end that is not as it should be; the last line is the summary.

What it shows: the order of writes and syncs that the store's statements and settings ask for, with the SQLite that apsw
brings, under a disk that does what it says when it syncs and may do anything else; and that the SQLite of the standard
library recovers from it. What it does not: the order of that SQLite's own build (the code of write-ahead logs is the
same), names of files in their folder, a disk that says synced and is not, and the shared memory, which is not written
through the file system: it is left as noise here, and must not matter.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from superarm.sessions import fold
from superarm.sessions.parts import KeptParts
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from tests.sessions.recorder import WAYS, Disk, Operation, recorded
from tests.sessions.shop import a_round, outcomes, policy

PAGES = 150  # of the log before a checkpoint, so that a short run has some


def written(path, durability, events):
    """What a session of so many events does to its disk, and the digest of its state after every event."""
    with pytest.MonkeyPatch.context() as patching, recorded(patching) as log:
        session = Session.open(path, policy=policy(), durability=durability)
        session._running.store._writer.execute(f"PRAGMA wal_autocheckpoint = {PAGES}")
        log.append(Operation("acknowledged", place=1))
        while session._running.state.seq < events:
            t = session._running.state.t + 1
            decision = session.decide(a_round(t), key=str(t))
            log.append(Operation("acknowledged", place=session._running.state.seq))
            values = outcomes(t, decision.arms)
            for part in (slice(0, 1), slice(0, None)) if t % 3 == 0 else (slice(0, None),):
                session.observe(decision.id, decision.arms[part], values[part])
                log.append(Operation("acknowledged", place=session._running.state.seq))
            if t % 25 == 0:
                session.snapshot()
        state, digests = None, {}
        for event in session._running.store.events():
            state = fold.after(state, event, KeptParts(session._running.store))
            digests[event.seq] = digest_of_state(state)
        session.close()
    return log, digests


def fault(folder, files, least, digests):
    """What is wrong with files that were left; and the last event that they hold."""
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "s.db-shm").write_bytes(np.random.default_rng(0).bytes(32768))
    with Session.open(folder / "s.db", policy=policy(), durability="normal") as session:
        last = session._running.state.seq
        if last < least:
            return f"event {least} was acknowledged, {last} is the last", last
        if last > 1 and digest_of_state(session._running.durable()) != digests[last]:
            return f"another state after event {last}", last
        verified = session.verify()
        if not verified.ok:
            return str(verified), last
        session.decide(a_round(session._running.state.t + 1))
        found = session._running.store.last()
        return None if found == last + 1 else "the next event is lost", last


def ends(log, every=1):
    """Before each sync, or every so many of them: the disk then, and for each way what it is left with."""
    disk, rng, syncs = Disk(), np.random.default_rng(0), 0
    for operation in log:
        if operation.kind == "sync":
            syncs += 1
            for way, kept in WAYS.items() if syncs % every == 0 else ():
                yield f"{way} at sync {syncs}", disk, disk.lost(kept(rng, len(disk.waiting)))
        disk.do(operation)


def tried(folder, durability, events, every=1):
    """Faults of all ends, how many there were, and how many of them lack an event that was acknowledged."""
    faults, many, short = [], 0, 0
    log, digests = written(folder / "s.db", durability, events)
    there = folder / "left"
    there.mkdir()
    for name, disk, files in ends(log, every):
        least = disk.acknowledged if durability == "full" else 0
        found, last = fault(there, files, least, digests)
        many, short = many + 1, short + (last < disk.acknowledged)
        if found is not None:
            faults.append(f"{durability}, {name}: {found}")
    return faults, many, short


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200)
    events, faults, said = parser.parse_args().events, [], []
    for durability in ("full", "normal"):
        with tempfile.TemporaryDirectory() as folder:
            found, many, short = tried(Path(folder), durability, events)
        faults += found
        said.append(f"{durability}: {many} losses of power, {short} of which cost the latest events")
    print("\n".join(faults))
    print(f"{events} events, {'; '.join(said)}; {len(faults)} wrong")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
