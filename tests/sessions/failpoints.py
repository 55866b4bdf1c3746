"""Die before and after every statement of an append: python -m tests.sessions.failpoints FOLDER.

The server forks a child for every point, which dies there; then it opens what the child left. It prints one line of
JSON for every point.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np

from superarm.sessions import compaction
from superarm.sessions.session import Session
from superarm.sessions.stores.sqlite import SQLiteStore
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy

DIED = 9


def decide(session):
    return session.decide(a_round(2), key="decide").arms.tolist()


def observe(session):
    decision = session.decide(a_round(1), key="first")
    values = outcomes(1, decision.arms)
    values[0, 1] = np.nan
    receipt = session.observe(decision.id, decision.arms, values, key="observe")
    return receipt.new, receipt.known, receipt.state


def record(session):
    return session.record(a_round(3), [0, 1], [[0.1, 0.2], [0.3, 0.4]], key="record").new


def compact(session):
    session.compact(0.0)
    return session.verify().slim


def archive(session):
    compaction._exported = lambda store, folder, plan: folder  # which needs threads, of which a fork has none
    session.compact(0.0, archive=session._running.store.path.parent / "archive")
    return session.verify().archived


OPERATIONS = {"decide": decide, "observe": observe, "record": record, "compact": compact, "archive": archive}
LONG = ("compact", "archive")  # of which every statement is one point, however often it is run


def prepared(path, name):
    with Session.open(path, policy=policy()) as session:
        if name not in LONG:
            session.decide(a_round(1), key="first")
            return
        for t in range(1, 10):
            decision = session.decide(a_round(t, arms=30))
            session.observe(decision.id, decision.arms, outcomes(t, decision.arms))
        session.correct(decision.id, decision.arms[0], 1, 0.5)
        session.rebase()


def known(session):
    """All of a state but the ids of decisions, which are drawn anew."""
    state = session._running.durable()
    return policy_to_bytes(state.policy), state.t, sorted(state.out.values())


def counted(path, operation):
    """The statements that an operation runs in its transaction."""
    statements, run = [], SQLiteStore._run

    def counting(store, statement, values=()):
        statements.append(statement)
        return run(store, statement, values)

    with Session.open(path) as session:
        SQLiteStore._run = counting
        try:
            operation(session)
        finally:
            SQLiteStore._run = run
    return statements


def dies(path, operation, place, when):
    """Run an operation in a child that dies before or after one statement."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    try:
        session, run, ran = Session.open(path), SQLiteStore._run, []

        def dying(store, statement, values=()):
            if len(ran) == place and when == "before":
                os._exit(DIED)
            found = run(store, statement, values)
            if len(ran) == place:
                os._exit(DIED)
            ran.append(statement)
            return found

        SQLiteStore._run = dying
        operation(session)
    finally:
        os._exit(1)


def main():
    folder = Path(sys.argv[1])
    with Session.open(folder / "warm.db", policy=policy()) as session:
        observe(session)  # loops are loaded, or the time that it takes would be worth a snapshot
    for name, operation in OPERATIONS.items():
        begun = folder / name
        begun.mkdir()
        prepared(begun / "s.db", name)
        whole = folder / f"{name} whole"
        shutil.copytree(begun, whole)
        statements = counted(whole / "s.db", operation)
        with Session.open(whole / "s.db") as session:
            answer, meant = operation(session), known(session)
            last = session._running.store.last()
        for place, statement in enumerate(statements):
            if name in LONG and statement in statements[:place]:
                continue
            for when in ("before", "after"):
                there = folder / f"{name} {place} {when}"
                shutil.copytree(begun, there)
                died = dies(there / "s.db", operation, place, when)
                with Session.open(there / "s.db") as session:
                    kept = session._running.store.last()
                    sound = session.verify().ok
                    again = operation(session)
                    once = session._running.store.last() == last
                    same = known(session) == meant
                    whole_again = session.verify().ok
                found = {
                    "died": died,
                    "kept": kept == last,
                    "committed": (statement, when) == ("COMMIT", "after"),
                    "sound": sound and whole_again,
                    "once": once,
                    "same": same and again == answer,
                }
                print(json.dumps({"point": f"{when} {place} of {name}: {statement}", **found}))


if __name__ == "__main__":
    main()
