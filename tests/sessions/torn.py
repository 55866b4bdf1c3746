"""A journal whose write-ahead log was cut off at any byte: python -m tests.sessions.torn [FOLDER OFFSETS].

Opened again it must be a beginning of what it was, whole, and go on. Prints one line for every offset that fails;
without arguments every byte is one. What a session makes of a file follows from what SQLite recovers of it: a cut that
leaves the very content of one before, byte for byte, is not opened again, unless it is at the edge of a frame.
"""

import hashlib
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

from superarm.sessions import fold
from superarm.sessions.parts import KeptParts
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy

LAST = 64 * 1024  # bytes of the log that are cut through
FRAME = 24 + 4096  # header and page
HEADER = 32


def written(path):
    """A journal in use, its log with it, and the digest of its state after every event."""
    session = Session.open(path, policy=policy(), durability="normal")
    session._running.store._writer.execute("PRAGMA wal_autocheckpoint = 0")
    for t in range(1, 7):
        decision = session.decide(a_round(t), key=str(t))
        session.observe(decision.id, decision.arms, outcomes(t, decision.arms))
    state, digests = None, {}
    for event in session._running.store.events():
        state = fold.after(state, event, KeptParts(session._running.store))
        digests[event.seq] = digest_of_state(state)
    base, log = path.read_bytes(), path.with_name(f"{path.name}-wal").read_bytes()
    session._running.store.close()
    return base, log, digests


def offsets(log, number):
    """Where to cut: every edge of a frame and its neighbours, and others at random."""
    first = max(len(log) - LAST, 0)
    edges = [place for place in at_edges(log) if place >= first]
    if number >= LAST:
        return list(range(first, len(log) + 1))
    others = np.random.default_rng(0).integers(first, len(log), size=max(number - len(edges), 0)).tolist()
    return sorted({*edges, *others})


def at_edges(log):
    """Every edge of a frame and its neighbours."""
    edges = [place + near for place in range(HEADER, len(log) + 1, FRAME) for near in (-1, 0, 1)]
    return [place for place in edges if place <= len(log)]


def cut(folder, base, log, size):
    """A file whose log ends there."""
    path = folder / "cut.db"
    for old in folder.glob("cut.db*"):
        old.unlink()
    path.write_bytes(base)
    path.with_name("cut.db-wal").write_bytes(log[:size])
    return path


def recovered(path):
    """Digest of what SQLite makes of a file and its log."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert not busy
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fault(folder, base, log, digests, size):
    """What is wrong with the journal if its log ends there; None where it is a beginning of what it was."""
    path = cut(folder, base, log, size)
    with Session.open(path, policy=policy(), durability="normal") as session:
        last = session._running.state.seq
        if last > 1 and digest_of_state(session._running.durable()) != digests[last]:
            return f"another state after event {last}"
        found = session._running.store.faults()
        if found:
            return "; ".join(found)
        session.decide(a_round(1 + session._running.state.t), key=str(1 + session._running.state.t))
        policy_to_bytes(session.policy)
        return None if session._running.store.last() == last + 1 else "the next event is lost"


def main():
    if len(sys.argv) > 1:
        return tried(Path(sys.argv[1]), int(sys.argv[2]))
    with tempfile.TemporaryDirectory() as folder:
        return tried(Path(folder), LAST)


def tried(folder, number):
    base, log, digests = written(folder / "s.db")
    sizes, edges, wrong, known = offsets(log, number), set(at_edges(log)), 0, set()
    for size in sizes:
        content = recovered(cut(folder, base, log, size))
        if content in known and size not in edges:
            continue
        found = fault(folder, base, log, digests, size)
        if found is not None:
            print(f"cut at {size} of {len(log)}: {found}")
            wrong += 1
        else:
            known.add(content)
    print(f"tried {len(sizes)} ends of the log, which leave {len(known)} contents, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
