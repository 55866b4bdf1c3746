"""SIGKILL at any moment: nothing that was acknowledged is lost, nothing is counted twice, replay equals memory."""

import subprocess
import sys

import pytest

from superarm.sessions import fold
from superarm.sessions.events import Corrected, Decided, Observed
from superarm.sessions.parts import KeptParts
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from tests.sessions.kills import client, is_corrected, next_number, notes, place, told
from tests.sessions.shop import policy


def killed(folder, kills, clients, seed):
    names = [chr(ord("a") + place) for place in range(clients)]
    command = [sys.executable, "-m", "tests.sessions.kills", str(folder), f"--kills={kills}", f"--clients={clients}"]
    ended = subprocess.run([*command, f"--seed={seed}"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    made = check(folder, names)
    assert made >= kills, f"only {made} decisions in {kills} kills show little"
    with Session.open(**place(folder), policy=policy()) as session:  # and it goes on
        for name in names:
            number = next_number(folder, name)
            client(session, folder, name, number, most=number + 2)
    check(folder, names)
    return made


def check(folder, names):
    """What the journal holds against what the clients know; how many decisions were made."""
    with Session.open(**place(folder), policy=policy()) as session:
        verified = session.verify()
        assert verified.ok, str(verified)
        assert verified.exact
        store = session._running.store
        events = list(store.events())
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        known = [note | {"name": name} for name in names for note in notes(folder, name)]
        # Nothing acknowledged is lost.
        by_id = {event.fact.decision: event for event in events if isinstance(event.fact, Decided)}
        cells = {id: {(c.arm, c.outcome): c.value for c in store.cells(id)} for id in by_id}
        for note in known:
            if "decided" in note:
                fact = by_id[note["decided"]].fact
                assert (fact.t, list(fact.arms)) == (note["t"], note["arms"])
            for arm in note["arms"] if "observed" in note else []:
                one, two = told(note["name"], note["number"], [arm])[0]
                found = cells[note["observed"]]
                assert found[arm, 2] == two
                right = [one, one + 1.0] if is_corrected(note["number"]) and arm == note["arms"][0] else [one]
                assert not note.get("whole") or found[arm, 1] in right
            if "corrected" in note:
                one, _ = told(note["name"], note["number"], [note["arm"]])[0]
                assert cells[note["corrected"]][note["arm"], 1] == one + 1.0
        # Nothing is there twice, and nothing but what a client asked for or was about to.
        keys = [event.key for event in by_id.values()]
        assert len(set(keys)) == len(keys)
        assert set(keys) <= {f"{name} {number}" for name in names for number in range(next_number(folder, name) + 1)}
        told_once = [
            (event.fact.decision, arm, outcome)
            for event in events
            if isinstance(event.fact, Observed)
            for arm, pair in zip(event.fact.arms, event.fact.values, strict=True)
            for outcome, value in enumerate(pair)
            if value is not None
        ]
        assert len(set(told_once)) == len(told_once)
        facts = [event.fact for event in events if isinstance(event.fact, Corrected)]
        assert len({fact.decision for fact in facts}) == len(facts)
        # A replay from the first event has every bit that the clients had in memory.
        digests = {note["seq"]: note["digest"] for note in known if "digest" in note}
        parts, state = KeptParts(store), None
        for event in events:
            state = fold.after(state, event, parts)
            if event.seq in digests:
                assert digest_of_state(state) == digests[event.seq]
        return len(by_id)


@pytest.mark.slow
def test_a_few_kills(tmp_path):
    killed(tmp_path, kills=4, clients=3, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("clients", [1, 3])
def test_thirty_kills(tmp_path, clients):
    killed(tmp_path, kills=30, clients=clients, seed=10 + clients)
