"""Erasure: nothing of a decision is left in the file but that it was made, and the policy never heard of it."""

import sqlite3
import struct

import numpy as np
import pytest

import superarm as sa
from superarm.sessions.parts import KeptParts
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from superarm.sessions.stores.memory import MemoryStore
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy

SECRET = 0.123456789012345


def opened(path, **rest):
    return Session.open(path, **{"durability": "normal", **rest})


def taught(decisions):
    alone = policy()
    for t, decision in decisions.items():
        alone.update(a_round(t), decision.arms, outcomes(t, decision.arms))
    return policy_to_bytes(alone)


def played(session, rounds):
    found = {}
    for t in rounds:
        found[t] = session.decide(a_round(t))
        session.observe(found[t].id, found[t].arms, outcomes(t, found[t].arms))
    return found


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_decision_is_erased_and_forgotten(tmp_path, kind):
    where = MemoryStore() if kind == "memory" else tmp_path / "s.db"
    session = opened(where, policy=policy())
    decisions = played(session, range(1, 6))
    second = decisions.pop(2)
    session.correct(second.id, second.arms[0], 1, 0.5, reason="refund")
    session.snapshot()
    redaction = session.redact(second.id)
    assert redaction.decisions == (second.id,)
    assert policy_to_bytes(session.policy) == taught(decisions)
    assert session.decisions()["state"].to_list() == ["complete", "redacted", "complete", "complete", "complete"]
    assert session.decisions()["arms"].to_list()[1] == []
    assert len(session.outcomes()) == sum(2 * len(decision.arms) for decision in decisions.values())
    assert session.redact(second.id).decisions == ()
    for call in (
        lambda: session.observe(second.id, [0], [[0.1, 0.1]]),
        lambda: session.correct(second.id, 0, 1, 0.1),
        lambda: session.decision(second.id),
        lambda: session.explain(second.id),
    ):
        with pytest.raises(sa.errors.Conflict, match="redacted"):
            call()
    with pytest.raises(sa.errors.InvalidArgument, match="states before this erasure cannot be replayed"):
        session.at(5)
    assert policy_to_bytes(session.at(redaction.replayable_from)) == taught(decisions)
    decisions |= played(session, range(6, 8))
    assert session.verify().ok, str(session.verify())
    before = digest_of_state(session._running.durable())
    if kind == "sqlite":
        session._running.store.close()
        session = opened(where)
    assert digest_of_state(session._running.durable()) == before
    assert policy_to_bytes(session.policy) == taught(decisions)
    session.rebase()
    assert session.promises()["t"].unique().sort().to_list() == [t for t in range(1, 8) if t != 2]
    session.close()


def test_nothing_is_left_in_the_file(tmp_path):
    """Neither in the tables, nor in pages that are free, nor in the log."""
    path = tmp_path / "s.db"
    session = opened(path, policy=sa.CUCB())
    for t in range(1, 40):
        session.decide(a_round(t))
    contexts = np.full((3, 2), SECRET)
    secret = session.decide(
        contexts=contexts, groups=["carol of the hill"] * 3, arm_ids=list("abc"), feasible=sa.AtMost(2)
    )
    session.observe(secret.id, secret.arms, [[SECRET, 0.5], [0.25, SECRET]])
    session.snapshot()
    words = [b"carol of the hill", repr(SECRET).encode(), struct.pack("<d", SECRET)]

    def found():
        files = [file.read_bytes() for file in tmp_path.iterdir()]
        return [word for word in words if any(word in content for content in files)]

    assert struct.pack("<d", SECRET) in found()
    assert session.redact(label="carol of the hill").decisions == (secret.id,)
    assert found() == []
    session.close()
    assert found() == []
    with opened(path) as session:
        assert session.verify().ok


def test_a_label_takes_all_its_decisions(tmp_path):
    session = opened(tmp_path / "s.db", policy=policy())
    kept = session.decide(a_round(1))
    gone = [session.decide(a_round(t, groups=["x", "x", "y", "y", "z", "z"])) for t in (2, 3)]
    record = session.record(a_round(4, arm_ids=["x", "b", "c", "d", "e", "f"]), [0, 1], np.zeros((2, 2)))
    for decision in (kept, *gone):
        session.observe(decision.id, decision.arms, outcomes(decision.t, decision.arms))
    assert set(session.decisions(label="x")["decision"]) == {gone[0].id, gone[1].id, record.decision}
    assert len(session.decisions(label="nobody")) == 0
    assert set(session.redact(label="x").decisions) == {gone[0].id, gone[1].id, record.decision}
    assert policy_to_bytes(session.policy) == taught({1: kept})
    for unknown in ("x", "nobody"):  # what is erased is not known any more
        with pytest.raises(sa.errors.InvalidArgument, match=r"label: expected a label .* not erased"):
            session.redact(label=unknown)
    assert session.verify().ok
    session.close()


def test_arms_that_others_need_stay(tmp_path):
    session = opened(tmp_path / "s.db", policy=policy())
    parts = {"contexts": np.eye(3), "feasible": sa.AtMost(2)}
    one, two = session.decide(**parts), session.decide(**parts)
    session.redact(one.id)
    session.observe(two.id, two.arms, [[0.1, 0.1]] * 2)
    assert session.verify().ok
    kept = session._running.store.read("SELECT count(*) FROM part WHERE session = ?")
    session.redact(two.id)
    assert session._running.store.read("SELECT count(*) FROM part WHERE session = ?") == [(kept[0][0] - 3,)]
    session.close()


def test_another_process_hears_of_it(tmp_path):
    one, two = (opened(tmp_path / "s.db", policy=policy()) for _ in range(2))
    decisions = played(one, range(1, 4))
    two.decide(a_round(4))
    one.redact(decisions.pop(1).id)
    assert policy_to_bytes(two.policy) == taught(decisions)
    assert two.verify().ok
    one.close(), two.close()


def test_bad_requests_are_refused(tmp_path):
    session = opened(tmp_path / "s.db", policy=policy())
    decision = session.decide(a_round(1))
    for given in ({}, {"id": decision.id, "label": "x"}, {"id": "nobody"}, {"label": []}):
        with pytest.raises(sa.errors.InvalidArgument):
            session.redact(**given)
    session.close()


def test_a_log_that_another_reads_is_said_to_remember_until_it_is_emptied(tmp_path):
    path = tmp_path / "s.db"
    session = opened(path, policy=policy())
    secret = session.decide(a_round(1, contexts=np.full((6, 2), SECRET)))
    session.observe(secret.id, secret.arms, outcomes(1, secret.arms))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM event").fetchall()
    assert not session.redact(secret.id).finished
    session.decide(a_round(2))
    other.execute("ROLLBACK")
    other.close()
    later = session.decide(a_round(3))
    assert secret_in(path) == []
    assert session.redact(later.id).finished
    session.close()


def secret_in(path):
    files = [each for each in path.parent.iterdir() if each.name.startswith(path.name)]
    return [each.name for each in files if struct.pack("<d", SECRET) in each.read_bytes()]


def test_who_reads_while_another_erases_reads_again(tmp_path, monkeypatch):
    one, two = opened(tmp_path / "s.db", policy=policy()), opened(tmp_path / "s.db", policy=policy())
    decisions = played(one, range(1, 4))
    part, erased = KeptParts.content, []

    def late(self, digest, what):  # the first part is looked for when it has just been erased
        if self is two._running.parts and not erased:
            erased.append(one.redact(decisions.pop(1).id))
        return part(self, digest, what)

    monkeypatch.setattr(KeptParts, "content", late)
    two.decide(a_round(4))
    assert erased
    assert policy_to_bytes(two.policy) == taught(decisions)
    one.close()
    two.close()


def test_many_decisions_are_erased_in_as_many_readings_of_the_journal_as_one(tmp_path, monkeypatch):
    readings = []
    for number in (1, 12):
        session, read = opened(tmp_path / f"{number}.db", policy=sa.CUCB()), []
        for t in range(1, 13):
            label = "gone" if t <= number else "stays"
            session.decide(contexts=np.eye(2), groups=[label, "other"], feasible=sa.AtMost(1))
        store = session._running.store
        events = store.events
        monkeypatch.setattr(store, "events", lambda after=0, events=events, read=read: read.append(0) or events(after))
        assert len(session.redact(label="gone").decisions) == number
        readings.append(len(read))
        assert session.verify().ok
        session.close()
    assert readings[0] == readings[1]
