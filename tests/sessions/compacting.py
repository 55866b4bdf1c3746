"""Compact and archive again and again, killed in the middle, while another process decides: python -m
tests.sessions.compacting FOLDER.

It prints one line of JSON: what the writer was told, and what the journal knows in the end.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import polars  # noqa: F401  # before the fork, or every child would spend its life on this

from superarm.sessions.session import Session
from superarm.sessions.stores.memory import MemoryStore
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy

ROUNDS = 60


def write(path, told):
    """Decide and observe; only what was acknowledged is noted."""
    with Session.open(path) as session, told.open("w") as notes:
        for t in range(1, ROUNDS + 1):
            decision = session.decide(a_round(t, arms=30), key=f"day {t}")
            session.observe(decision.id, decision.arms, outcomes(t, decision.arms), key=f"told {t}")
            print(decision.id, t, *decision.arms, file=notes, flush=True)
            time.sleep(0.2)  # so that there is something to compact between any two kills
            if t % 10 == 0:  # a correction, which a base must not forget
                session.correct(decision.id, decision.arms[0], 1, 0.5)
                session.rebase()


def compact(path, archive):
    """Until it is killed."""
    with Session.open(path) as session:
        for number in range(10**6):
            time.sleep(0.1)  # so that the writer has its turns
            session.compact(0.2, archive=archive if number % 3 == 1 else None)


def child(work, *arguments):
    """A process of its own, which begins with all that is imported."""
    started = os.fork()
    if started:
        return started
    try:
        work(*arguments)
    except BaseException as error:  # a fork must never go on as its parent would
        print(repr(error), file=sys.stderr)
        os._exit(1)
    os._exit(0)


def main():
    folder = Path(sys.argv[1])
    path, told, kills, rng = folder / "s.db", folder / "told", 0, random.Random(0)
    with Session.open(MemoryStore(), policy=policy()) as warm:  # what is compiled is loaded before the fork
        decision = warm.decide(a_round(1))
        warm.observe(decision.id, decision.arms, outcomes(1, decision.arms))
    Session.open(path, policy=policy()).close()
    writer = child(write, path, told)
    ended = (0, 0)
    while ended[0] == 0:
        other = child(compact, path, folder / "archive")
        time.sleep(rng.uniform(0.5, 2.0))
        os.kill(other, signal.SIGKILL)
        _, status = os.waitpid(other, 0)
        kills += os.WIFSIGNALED(status)
        ended = os.waitpid(writer, os.WNOHANG)
    lines = [line.split() for line in told.read_text().splitlines()]
    with Session.open(path) as session:
        found, frame = session.verify(), session.decisions()
        state = policy_to_bytes(session.policy)
        found_after = session.compact(0.0, archive=folder / "archive")
        after = session.verify()
        same = state == policy_to_bytes(session.policy)
    alone = policy()
    for _, t, *arms in lines:
        arms = [int(arm) for arm in arms]
        values = outcomes(int(t), arms)
        if int(t) % 10 == 0:
            values[0, 0] = 0.5
        alone.update(a_round(int(t), arms=30), arms, values)
    print(
        json.dumps(
            {
                "writer": os.waitstatus_to_exitcode(ended[1]),
                "kills": kills,
                "told": [line[0] for line in lines],
                "known": frame["decision"].to_list(),
                "states": frame["state"].to_list(),
                "ok": found.ok and after.ok,
                "said": [str(found), str(after), str(found_after)],
                "before": found.archived + found.slim,
                "archived": after.archived,
                "same": same and state == policy_to_bytes(alone),
            }
        )
    )


if __name__ == "__main__":
    main()
