"""A journal whose write-ahead log was cut off at any byte: python -m tests.sessions.torn [FOLDER OFFSETS].

Opened again it must be a beginning of what it was, whole, and go on. Prints one line for every offset that fails;
without arguments every byte is one.
"""

import sys
import tempfile
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
    edges = [place + near for place in range(HEADER, len(log) + 1, FRAME) for near in (-1, 0, 1)]
    edges = [place for place in edges if first <= place <= len(log)]
    if number >= LAST:
        return list(range(first, len(log) + 1))
    others = np.random.default_rng(0).integers(first, len(log), size=max(number - len(edges), 0)).tolist()
    return sorted({*edges, *others})


def fault(folder, base, log, digests, size):
    """What is wrong with the journal if its log ends there; None where it is a beginning of what it was."""
    path = folder / "cut.db"
    for old in folder.glob("cut.db*"):
        old.unlink()
    path.write_bytes(base)
    path.with_name("cut.db-wal").write_bytes(log[:size])
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
    sizes, wrong = offsets(log, number), 0
    for size in sizes:
        found = fault(folder, base, log, digests, size)
        if found is not None:
            print(f"cut at {size} of {len(log)}: {found}")
            wrong += 1
    print(f"tried {len(sizes)} ends of the log, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
