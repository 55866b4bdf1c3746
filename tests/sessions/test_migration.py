"""Journals of earlier versions: opened for ever, brought forward without a manual step, a copy of the file first.

``fixtures/schema1.db.gz`` holds every kind of event of the first version, with a snapshot and a correction that is not
learnt yet; ``schema1.json`` what was known of it then. Neither is ever written again.
"""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

import superarm as sa
from superarm.sessions import events, snapshots
from superarm.sessions.session import Session
from superarm.sessions.stores import changes, schema
from superarm.sessions.stores.sqlite import SQLiteStore
from tests.sessions.shop import a_round, outcomes, policy

FIXTURES = Path(__file__).parent / "fixtures"
IDS = [f"a{place}" for place in range(6)]


def the_round(t):
    return a_round(t, arm_ids=IDS, safe=[True] + [False] * 5)


@pytest.fixture
def old(tmp_path):
    """A copy of the journal of the first version."""
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress((FIXTURES / "schema1.db.gz").read_bytes()))
    return path


def known(session):
    """What ``schema1.json`` tells."""
    decisions = session.decisions().drop("at")
    promises = session.promises().select("decision", "group", "kept")
    return json.loads(
        json.dumps(
            {
                "decisions": [{key: row[key] for key in THEN["decisions"][0]} for row in decisions.to_dicts()],
                "outcomes": session.outcomes().to_dicts(),
                "promises": promises.to_dicts(),
                "events": session._running.state.seq,
            }
        )
    )


THEN = json.loads((FIXTURES / "schema1.json").read_text("utf-8"))


@pytest.mark.parametrize("by", ["snapshot", "events"])
def test_a_journal_of_the_first_version_is_read_for_ever(old, by):
    if by == "events":
        with sqlite3.connect(old) as connection:
            connection.execute("DELETE FROM snapshot")
        connection.close()
    with Session.open(old, policy=sa.CautiousTCGPUCB(confidence=0.95)) as session:
        assert known(session) == {name: THEN[name] for name in known(session)}
        # Facts stay what they were; what a later version learns from them anew may be another thing.
        if by == "snapshot":
            assert not any("cannot be read" in note for note in session.notes)
            assert session.policy.ledger.balance == pytest.approx(THEN["balance"], abs=1e-8)
        assert "1 correction not learnt yet" in repr(session)
        assert session._running.store.faults() == []
        assert session.rebase().corrections == 1
        session.policy.select(the_round(60))


def test_a_session_lives_on_through_an_upgrade(old, tmp_path):
    with Session.open(old) as session:
        again = session.decide(the_round(1), key="day 1")
        assert again.id == THEN["decisions"][0]["decision"]
        assert again.replayed
        assert session.rebase().corrections == 1
        decision = session.decide(the_round(50))
        session.observe(decision.id, decision.arms, outcomes(50, decision.arms))
        versions = [version for (version,) in session._running.store._writer.execute("SELECT version FROM event")]
        assert set(versions) == {1, events.VERSION}
        session.compact(0.0, archive=tmp_path / "archive")
        assert session.verify().ok, str(session.verify())
    with Session.open(old) as session:
        assert session.verify().ok


def test_a_snapshot_of_another_version_costs_time_only(old, monkeypatch):
    monkeypatch.setattr(snapshots, "VERSION", snapshots.VERSION + 1)
    with Session.open(old) as session:
        assert known(session) == {name: THEN[name] for name in known(session)}
        assert "of another version" in session.notes[0]
        assert session.verify().ok


def forward(connection):
    """A step as a later version may need it."""
    connection.execute("ALTER TABLE event ADD COLUMN actor TEXT")
    connection.execute("CREATE TABLE more (x)")


def later(monkeypatch, step=forward):
    """As if this were a later superarm."""
    monkeypatch.setattr(schema, "SCHEMA", 2)
    monkeypatch.setattr(schema, "DERIVED", schema.DERIVED + 1)
    monkeypatch.setitem(schema.MIGRATIONS, 1, step)
    monkeypatch.setattr(changes, "EVENT", changes.EVENT.replace(")", ", NULL)"))


def test_a_step_forward_keeps_a_copy_first_and_the_session_goes_on(old, monkeypatch):
    with Session.open(old) as session:
        session.rebase()  # all is learnt as this version learns, of which a replay gives every bit
        before = session._running.durable().seq
    later(monkeypatch)
    with Session.open(old) as session:
        assert session._running.durable().seq == before
        assert session._running.store.read("SELECT count(*) FROM more WHERE 1 OR x = ?") == [(0,)]
        session.decide(the_round(60))
        assert session.verify().ok, str(session.verify())
    copy = old.with_name("old.db.schema-1.backup")
    assert copy.exists()
    assert not list(old.parent.glob("*.tmp"))
    monkeypatch.undo()
    with pytest.raises(sa.errors.UnreadableFile, match="later superarm"):  # who was not upgraded must not write
        Session.open(old)
    with Session.open(copy) as session:
        assert session._running.durable().seq == before
        assert session.verify().ok


def test_a_step_that_fails_or_is_killed_changes_nothing(old, monkeypatch):
    with Session.open(old) as session:
        session.rebase()

    def fails(connection):
        forward(connection)
        raise KeyboardInterrupt

    later(monkeypatch, fails)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            SQLiteStore(old)
    monkeypatch.undo()
    with Session.open(old) as session:
        assert session.verify().ok
    with Session.open(old.with_name("old.db.schema-1.backup")) as session:
        assert session.verify().ok


def test_two_processes_that_bring_one_file_forward_do_it_once(old, monkeypatch):
    Session.open(old).close()
    later(monkeypatch)
    made = schema._schema
    asked = []

    def slow(connection):  # the other is through before this one has its copy
        found = made(connection)
        if not asked:
            asked.append(found)
            SQLiteStore(old).close()
        return found

    monkeypatch.setattr(schema, "_schema", slow)
    store = SQLiteStore(old)
    assert store.last() == THEN["events"]
    store.close()
    copy = sqlite3.connect(old.with_name("old.db.schema-1.backup"))
    assert dict(copy.execute("SELECT key, value FROM meta"))["schema"] == "1"
    copy.close()


def test_after_an_upgrade_the_next_process_says_that_its_last_bits_may_differ_and_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    with Session.open(path, policy=policy()) as session:
        decision = session.decide(a_round(1))
        session.observe(decision.id, decision.arms, outcomes(1, decision.arms))
    monkeypatch.setattr("superarm.sessions.start.fingerprint", lambda: json.dumps({"superarm": "9.0"}))
    with Session.open(path, policy=policy()) as session:
        assert "9.0 here" in session.notes[0]
        decision = session.decide(a_round(2))
        session.observe(decision.id, decision.arms, outcomes(2, decision.arms))
        session.compact(0.0, archive=tmp_path / "archive")
        found = session.verify()
        assert found.ok, str(found)
        assert not found.exact
    with Session.open(path) as session:
        assert session.notes == ()
        assert session.verify().ok
