"""An export comes back whole or not at all: what was damaged or changed is found out before anything is made."""

import json

import polars as pl
import pytest

import superarm as sa
from superarm.sessions.session import Session
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy


@pytest.fixture
def backup(tmp_path):
    with Session.open(tmp_path / "s.db", policy=policy(), durability="normal") as session:
        for t in (1, 2):
            decision = session.decide(a_round(t))
            session.observe(decision.id, decision.arms, outcomes(t, decision.arms))
        session.export(tmp_path / "backup")
        return policy_to_bytes(session.policy), tmp_path / "backup"


def without_parts(folder):
    frame = pl.read_parquet(folder / "parts.parquet")
    frame.head(1).write_parquet(folder / "parts.parquet")


def edited(folder, change, forgets=False):
    head, *lines = (folder / "events.jsonl").read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if '"observed"' in line)
    lines[place] = change(lines[place])
    if forgets:  # as an export of an earlier version
        head = json.dumps({name: value for name, value in json.loads(head).items() if name != "digest"})
    (folder / "events.jsonl").write_text("\n".join([head, *lines]) + "\n")


def with_another_value(line):
    row = json.loads(line)
    row["fact"]["values"][0][0] += 1.0
    return json.dumps(row)


def with_odd_arms(line):
    row = json.loads(line)
    row["fact"]["arms"] = ["x"]
    return json.dumps(row)


DAMAGES = {
    "parts lost": without_parts,
    "a value edited": lambda folder: edited(folder, with_another_value),
    "a line cut": lambda folder: edited(folder, lambda line: line[:20], forgets=True),
    "a list for a line": lambda folder: edited(folder, lambda line: "[1, 2]", forgets=True),
    "a number for a line": lambda folder: edited(folder, lambda line: "7", forgets=True),
    "odd arms": lambda folder: edited(folder, with_odd_arms, forgets=True),
    "no decision": lambda folder: edited(folder, lambda line: line.replace('"decision": "', '"decision": "x'), True),
    "no text": lambda folder: (folder / "events.jsonl").write_bytes(b"\xff\xfe\x00"),
    "nothing": lambda folder: (folder / "events.jsonl").write_bytes(b""),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_export_is_refused_and_leaves_the_path_free(tmp_path, backup, damage):
    known, folder = backup
    good = {file: file.read_bytes() for file in folder.iterdir()}
    DAMAGES[damage](folder)
    with pytest.raises(sa.errors.UnreadableFile, match="damaged"):
        Session.restore(folder, tmp_path / "new.db", durability="normal")
    assert not (tmp_path / "new.db").exists()
    for file, content in good.items():
        file.write_bytes(content)
    with Session.restore(folder, tmp_path / "new.db", durability="normal") as session:
        assert policy_to_bytes(session.policy) == known


def test_an_export_of_an_earlier_version_comes_back(tmp_path, backup):
    known, folder = backup
    edited(folder, lambda line: line, forgets=True)
    with Session.restore(folder, tmp_path / "new.db", durability="normal") as session:
        assert policy_to_bytes(session.policy) == known
