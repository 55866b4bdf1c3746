"""A server that forks clients of one session and kills them, again and again: python -m tests.sessions.kills FOLDER.

A client decides and observes by a script that depends on its name alone, notes what was acknowledged in a file of its
own, and begins after every death where its notes end, with the same keys. The server forks when everything is loaded
and compiled, so that clients die at work and not while they start.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from superarm.sessions.stores.memory import MemoryStore
from tests.sessions.shop import a_round, outcomes, policy

EVERY = 4  # decisions after which a client notes the digest of the state


def asked(name, number):
    """The round that a client asks for under its nth key, without a t: the session counts."""
    round = a_round(1 + int(name, 36) * 10_000 + number)
    return {
        "contexts": round.contexts,
        "groups": round.groups,
        "constraint": round.constraint,
        "feasible": round.feasible,
    }


def told(name, number, arms):
    """What comes of it."""
    return outcomes(int(name, 36) * 10_000 + number, arms)


def is_corrected(number):
    """Whether the first outcome of the first arm turns out to be 1 more."""
    return number % 5 == 2


def notes(folder, name):
    """What a client noted; a line that its death cut off does not count."""
    path = Path(folder) / f"{name}.notes"
    lines = path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def client(session, folder, name, number, most=None):
    """Decide and observe for ever, or until so many decisions are made."""
    with open(Path(folder) / f"{name}.notes", "ab", buffering=0) as file:

        def note(**what):
            file.write(b"\n" * bool(what.get("first")) + json.dumps(what).encode() + b"\n")

        note(first=True, number=number)
        while most is None or number < most:
            decision = session.decide(**asked(name, number), key=f"{name} {number}")
            note(number=number, decided=decision.id, t=decision.t, arms=decision.arms.tolist())
            arms, values = decision.arms, told(name, number, decision.arms)
            halves = values.copy()
            halves[:, 0] = np.nan
            session.observe(decision.id, arms[:1], halves[:1], key=f"{name} {number} early")
            note(number=number, observed=decision.id, arms=arms[:1].tolist())
            session.observe(decision.id, arms[::-1], values[::-1])  # the rest, and the early one again
            note(number=number, observed=decision.id, arms=arms.tolist(), whole=True)
            if is_corrected(number) and len(arms):
                session.correct(decision.id, arms[0], 1, values[0, 0] + 1.0, key=f"{name} {number} corrected")
                note(number=number, corrected=decision.id, arm=int(arms[0]))
                session.rebase()
            if number % EVERY == 0:
                state = session._running.durable()
                note(number=number, seq=state.seq, digest=digest_of_state(state))
            number += 1


def next_number(folder, name):
    """The first decision of a client that it does not know to be complete."""
    return 1 + max((note["number"] for note in notes(folder, name) if note.get("whole")), default=-1)


def place(folder):
    """Where the session is: in a file, unless another file names a database."""
    url = Path(folder) / "store.url"
    return {"path": url.read_text("utf-8") if url.exists() else Path(folder) / "s.db"}


def live(folder, name, ready):
    """One life of a client, in a process of its own."""
    session = Session.open(**place(folder), policy=policy(), durability="normal")
    os.write(ready, b"r")
    client(session, folder, name, next_number(folder, name))


def born(folder, name):
    """Fork a client; its process, and where it says that it is ready."""
    heard, ready = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            live(folder, name, ready)
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(ready)
    return child, heard


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    names, rng = [chr(ord("a") + place) for place in range(given.clients)], random.Random(given.seed)
    warm = Path(given.folder) / "warm"
    warm.mkdir()
    client(Session.open(MemoryStore(), policy=policy()), warm, "z", 0, most=3)
    lives = {name: born(given.folder, name) for name in names}
    for _ in range(given.kills):
        name = rng.choice(names)
        child, heard = lives.pop(name)
        os.read(heard, 1)
        os.close(heard)
        time.sleep(rng.uniform(0.0, 0.25))  # at any moment
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"client {name} ended by itself ({status})"
        lives[name] = born(given.folder, name)
    for child, heard in lives.values():
        os.read(heard, 1)
        time.sleep(0.1)  # so that each does something in its last life
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
