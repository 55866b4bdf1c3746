"""superarm session ..., and what is exported and read again."""

import json
import re

import polars as pl
import pytest
from typer.testing import CliRunner

import superarm as sa
from superarm.cli import app
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from superarm.sessions.stores.sqlite import SQLiteStore
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shop.db"
    with Session.open(path, policy=policy(), durability="normal") as session:
        for t in range(1, 4):
            decision = session.decide(a_round(t), key=f"day {t}")
            if t < 3:
                session.observe(decision.id, decision.arms, outcomes(t, decision.arms))
    return path


def said(*words, code=0):
    found = CliRunner().invoke(app, ["session", *map(str, words)])
    assert found.exit_code == code, found.output
    return re.sub(r"\s+", " ", found.output)


def events(path):
    store = SQLiteStore(path)
    try:
        return store.last()
    finally:
        store.close()


def test_looking_changes_nothing(file):
    before = events(file)
    assert "main TCGPUCB 3 1" in said("list", file)
    assert "Session(TCGPUCB, 6 events, 1 decision waiting)" in said("show", file)
    assert "6 events, 3 decisions: whole, and replayed bit for bit" in said("verify", file)
    assert "kept the state after event 6" in said("snapshot", file)
    assert events(file) == before


def test_a_decision_is_explained(file):
    with Session.open(file) as session:
        id = session.decisions()["decision"][1]
    assert "TCGPUCB" in said("explain", file, id)
    assert "expected the id of a decision" in said("explain", file, "nobody", code=1)


def test_every_decision_is_one_plain_line_with_its_whole_id(file):
    with Session.open(file) as session:
        ids = session.decisions()["decision"].to_list()
        missing = session.decisions()["missing"].to_list()
        arms = [len(session.decision(id).arms) for id in ids]
    found = CliRunner().invoke(app, ["session", "show", str(file)], env={"COLUMNS": "80"}).output.splitlines()
    lines = [line.split(maxsplit=7) for line in found if line[:36] in ids]
    assert [line[0] for line in lines] == ids
    assert [line[1] for line in lines] == ["1", "2", "3"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", line[2]) for line in lines)
    assert [line[4] for line in lines] == ["complete", "complete", "open"]
    assert [(int(line[5]), int(line[6])) for line in lines] == list(zip(arms, missing, strict=True))
    assert [line[7] for line in lines] == ["day 1", "day 2", "day 3"]
    assert ids[0] not in said("show", file, "--last", 2)


def test_a_decision_is_explained_by_key_number_and_beginning_of_its_id(file):
    with Session.open(file) as session:
        ids = session.decisions()["decision"].to_list()
    whole = said("explain", file, ids[1])
    assert said("explain", file, "--key", "day 2") == said("explain", file, "--t", 2) == whole
    short = next(ids[1][:n] for n in range(4, 37) if sum(id.startswith(ids[1][:n]) for id in ids) == 1)
    assert said("explain", file, short) == whole
    assert "because 3 decisions begin with these" in said("explain", file, ids[1][:4], code=1)
    assert "or --key in a terminal" in said("explain", file, "day 2", code=1)
    assert "--key and --t" in said("explain", file, code=1)


def test_a_file_without_a_session_is_told(tmp_path):
    SQLiteStore(tmp_path / "empty.db").close()
    for words in (["list"], ["show"], ["verify"]):
        assert "empty.db: holds no session" in said(*words, tmp_path / "empty.db", code=1)


def test_the_policy_as_it_was_is_saved(file, tmp_path):
    assert said("replay", file, tmp_path / "now").strip() == f"written: {tmp_path / 'now'}"
    said("replay", file, tmp_path / "then", "--at", 3)
    assert "--at: expected a whole number from 1 to 6, got 500" in said(
        "replay", file, tmp_path / "no", "--at", 500, code=1
    )
    with Session.open(file) as session:
        assert policy_to_bytes(sa.load(tmp_path / "now")) == policy_to_bytes(session.policy)
        assert policy_to_bytes(sa.load(tmp_path / "then")) == policy_to_bytes(session.at(3))


def test_what_is_exported_is_read_again(file, tmp_path):
    said("export", file, tmp_path / "out")
    assert len(pl.read_parquet(tmp_path / "out" / "decisions.parquet")) == 3
    assert len(pl.read_parquet(tmp_path / "out" / "outcomes.parquet")) == 12
    lines = (tmp_path / "out" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines[1:4]] == ["created", "decided", "observed"]
    assert "6 events" in said("import", tmp_path / "out", tmp_path / "new.db")
    with Session.open(file) as one, Session.open(tmp_path / "new.db") as two:
        assert digest_of_state(one._running.durable()) == digest_of_state(two._running.durable())
        assert one.decisions().equals(two.decisions())
        assert two.verify().ok
        assert two.decide(a_round(3), key="day 3").replayed
    assert "already a session" in said("import", tmp_path / "out", tmp_path / "new.db", code=1)


@pytest.mark.parametrize("name", ["events.jsonl", "parts.parquet"])
def test_a_damaged_export_is_refused_and_nothing_is_made_of_it(file, tmp_path, name):
    said("export", file, tmp_path / "out")
    content = (tmp_path / "out" / name).read_bytes()
    (tmp_path / "out" / name).write_bytes(content[: len(content) // 2])
    assert "damaged, truncated, or not an export" in said("import", tmp_path / "out", tmp_path / "new.db", code=1)
    assert events(tmp_path / "new.db") == 0


def test_no_file_and_no_session_are_said_and_not_made(file, tmp_path):
    assert "nowhere.db" in said("show", tmp_path / "nowhere.db", code=1)
    assert not (tmp_path / "nowhere.db").exists()
    assert "--name: expected one of main, got other" in said("show", file, "--name", "other", code=1)
    assert "main TCGPUCB" in said("list", file)
    (tmp_path / "text").write_text("something else " * 100)
    assert "not a journal of superarm" in said("list", tmp_path / "text", code=1)


def test_a_fault_is_told_by_the_exit_code(file):
    store = SQLiteStore(file)
    store._writer.execute("DELETE FROM cell")
    store.close()
    assert "NOT well" in said("verify", file, code=1)


def test_compact_says_what_it_did_and_what_is_lost(file, tmp_path):
    assert said("compact", file) == "0 rounds made slim, 0 decisions archived "
    found = said("compact", file, "--older-than", 0, "--archive", tmp_path / "old")
    assert "2 decisions archived exported: " in found
    assert "up to event 6 nothing can be replayed, corrected, erased, explained or taught to another policy" in found
    assert "replayed bit for bit after event 6; 2 decisions archived" in said("verify", file)
    assert "at least 6, because earlier events are archived" in said("replay", file, tmp_path / "p", "--at", 3, code=1)
    assert "is archived" in said("explain", file, "--key", "day 1", code=1)
    (folder,) = (tmp_path / "old").iterdir()
    said("import", folder, tmp_path / "back.db")
    assert said("compact", file, "--older-than", 0, "--archive", tmp_path / "old").startswith("0 rounds made slim, 0 ")
