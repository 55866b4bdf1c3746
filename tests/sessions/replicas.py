"""Three replicas on one PostgreSQL session, stopped and killed at random: python -m tests.sessions.replicas FOLDER.

FOLDER/store.url names the database. A replica works while it holds the lease, by a script that depends on its name
alone, notes what was acknowledged, and begins where its notes end. Whoever holds the lease is stopped until another has
taken over, and goes on as if nothing had happened; or it is killed, and born again.
"""

import argparse
import os
import random
import signal
import sys
import time
from pathlib import Path

from superarm.sessions.session import Session
from superarm.sessions.stores.memory import MemoryStore
from superarm.sessions.stores.postgres.lease import LeaseLost
from superarm.sessions.stores.postgres.store import PostgresStore
from tests.sessions.kills import client, next_number, place
from tests.sessions.shop import policy

NAMES = ("a", "b", "c")
LEASE = 0.3  # seconds


def note(folder, name, word):
    with open(Path(folder) / f"{name}.{word}", "ab", buffering=0) as file:
        file.write(b".")


def noted(folder, word):
    return sum(len(path.read_bytes()) for path in Path(folder).glob(f"*.{word}"))


def live(folder, name):
    """One life of a replica."""
    store = PostgresStore(place(folder)["path"])
    session = Session.open(store, policy=policy())
    while True:
        if store.take_lease(name, f"http://{name}", seconds=LEASE) is None:
            time.sleep(0.02)  # another holds it: until this process is killed
            continue
        number = next_number(folder, name)
        try:
            client(session, folder, name, number, most=number + 1)
        except LeaseLost:
            note(folder, name, "fenced")


def born(folder, name):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            live(folder, name)
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child


def holder(store):
    """Who holds the lease now."""
    found = store.lease()
    return None if found is None or found.seconds <= 0.0 else found.holder


def stopped(store, rng, child, name):
    """Stop a replica, mostly until another has taken over."""
    os.kill(child, signal.SIGSTOP)
    end = time.monotonic() + (10.0 if rng.random() < 0.8 else rng.uniform(0.0, LEASE))
    while time.monotonic() < end and holder(store) in (name, None):
        time.sleep(0.02)
    time.sleep(rng.uniform(0.0, 0.2))  # it comes back at any moment
    os.kill(child, signal.SIGCONT)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    warm = Path(given.folder) / "warm"
    warm.mkdir()
    client(Session.open(MemoryStore(), policy=policy()), warm, "z", 0, most=3)
    store = PostgresStore(place(given.folder)["path"])
    Session.open(store, policy=policy())
    lives = {name: born(given.folder, name) for name in NAMES}
    end, done = time.monotonic() + given.seconds, {"stops": 0, "kills": 0}
    while time.monotonic() < end:
        time.sleep(rng.uniform(0.05, 0.4))  # at any moment
        name = holder(store) if rng.random() < 0.8 else rng.choice(NAMES)
        if name is None:
            continue
        if rng.random() < 0.7:
            done["stops"] += 1
            stopped(store, rng, lives[name], name)
        else:
            done["kills"] += 1
            os.kill(lives[name], signal.SIGKILL)
            _, status = os.waitpid(lives[name], 0)
            assert os.WIFSIGNALED(status), f"replica {name} ended by itself ({status})"
            lives[name] = born(given.folder, name)
    for name, child in lives.items():
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"replica {name} ended by itself ({status})"
    epochs = store.lease().epoch
    store.close()
    print(f"{done['stops']} {done['kills']} {epochs}")


if __name__ == "__main__":
    main()
