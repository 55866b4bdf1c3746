"""What a session refuses, in words that say what is wrong, and what it leaves as it was."""

import json
import os
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import superarm as sa
from superarm.errors import Erased, InvalidArgument, StoreUnavailable, UnknownDecision
from superarm.sessions import export as exports
from superarm.sessions import parts
from superarm.sessions.session import Session
from superarm.sessions.stores.memory import MemoryStore
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy

HALF = "\ud800"  # of a pair of surrogates: UTF-8 has no bytes for it
IDS = [f"arm {place}" for place in range(6)]


@pytest.fixture
def session(tmp_path):
    with Session.open(tmp_path / "s.db", policy=policy(), durability="normal") as session:
        yield session


def played(session, t, **rest):
    decision = session.decide(a_round(t, **rest), key=f"day {t}")
    session.observe(decision.id, decision.arms, outcomes(t, decision.arms), by="position")
    return decision


# --- text that no file can hold


@pytest.mark.parametrize(
    ("argument", "parts_of_round"),
    [
        ("arm_ids", {"arm_ids": [*IDS[:5], HALF]}),
        ("arm_ids", {"arm_ids": [*IDS[:5], ("arm", (HALF, 1))]}),
        ("arm_ids", {"arm_ids": np.array([*IDS[:5], HALF])}),
        ("groups", {"groups": [*IDS[:5], HALF]}),
        ("groups", {"groups": [*IDS[:5], frozenset({HALF})]}),
        ("columns", {"columns": ["price", HALF]}),
        ("contexts", {"contexts": {"price": np.arange(6.0), "kind": [*IDS[:5], HALF]}}),
    ],
)
def test_rounds_with_half_a_pair_of_surrogates_are_refused(argument, parts_of_round):
    session = Session.open(MemoryStore(), policy=sa.CUCB())
    round = a_round(1, **parts_of_round)
    for call in (
        lambda: session.decide(round),
        lambda: session.decide(round, key="one"),
        lambda: session.record(round, [0], [[0.1, 0.2]]),
    ):
        with pytest.raises(InvalidArgument, match="UTF-8") as caught:
            call()
        assert caught.value.argument == argument
    assert session.seq == 1
    whole = a_round(1, arm_ids=[*IDS[:5], "\U0001f600"])  # a pair
    assert session.decide(whole).t == 1


def test_ids_keys_and_samples_with_half_a_pair_are_refused(session, tmp_path):
    decision = session.decide(a_round(1))
    seq = session.seq
    row = {"decision": decision.id, "arm": decision.arms[:1], "outcome_1": 0.1, "outcome_2": 0.1}
    calls = {
        "id": [
            lambda: session.decision(HALF),
            lambda: session.decision(f"{HALF}{decision.id}"),
            lambda: session.state(HALF),
            lambda: session.explain(HALF),
            lambda: session.redact(HALF),
            lambda: session.played(HALF),
            lambda: session.withdraw(HALF),
            lambda: session.expire(HALF),
            lambda: session.observe(HALF, [0], [[0.1, 0.1]]),
            lambda: session.correct(HALF, 0, 1, 0.1),
        ],
        "key": [
            lambda: session.decide(a_round(2), key=HALF),
            lambda: session.decision(key=HALF),
            lambda: session.explain(key=HALF),
            lambda: session.record(a_round(2), [0], [[0.1, 0.1]], key=HALF),
        ],
        "trace": [lambda: session.decide(a_round(2), trace=HALF)],
        "sample": [
            lambda: session.observe(decision.id, decision.arms, outcomes(1, decision.arms), sample=HALF),
            lambda: session.observe_many(pd.DataFrame(row | {"sample": HALF})),
        ],
        "frame": [lambda: session.observe_many(pd.DataFrame(row | {"decision": HALF}))],
        "reason": [lambda: session.correct(decision.id, 0, 1, 0.1, reason=HALF)],
        "label": [lambda: session.redact(label=HALF)],
        "arms": [lambda: session.observe(decision.id, [HALF], [[0.1, 0.1]])],
        "state": [lambda: session.decisions(state=HALF)],
        "name": [lambda: Session.open(tmp_path / "t.db", policy=policy(), name=HALF)],
        "path": [lambda: Session.open(f"{tmp_path}/{HALF}", policy=policy())],
        "folder": [lambda: session.export(f"{tmp_path}/{HALF}")],
        "archive": [lambda: session.compact(0, archive=f"{tmp_path}/{HALF}")],
    }
    for argument, some in calls.items():
        for call in some:
            with pytest.raises(InvalidArgument) as caught:
                call()
            assert caught.value.argument == argument, str(caught.value)
    assert len(session.decisions(label=HALF)) == 0
    assert session.seq == seq


def test_what_an_earlier_version_took_is_exported_all_the_same(session, tmp_path, monkeypatch):
    """The journal as it is; tables spell the half out, as they cannot hold it."""
    ids = [*IDS[:5], HALF]
    with monkeypatch.context() as earlier:
        earlier.setattr(parts, "_check_text", lambda round: None)
        picked = sa.Round(
            t=1,
            contexts=np.eye(6),
            groups=[HALF] * 6,
            arm_ids=ids,
            constraint=sa.Sum() >= -9.0,
            feasible=sa.Exactly(6),
        )
        decision = session.decide(picked)
    session.observe(decision.id, [HALF], [[0.1, 0.2]])
    assert session.outcomes()["arm_id"].to_list() == ["\\ud800"] * 2
    assert session.promises()["group"].to_list() == ["\\ud800"]
    folder = session.export(tmp_path / "out")
    assert pl.read_parquet(folder / "outcomes.parquet")["arm_id"].to_list() == ["\\ud800"] * 2
    with Session.restore(folder, tmp_path / "again.db") as again:
        assert again.decision(decision.id).arm_ids == tuple(ids)
        assert again.verify().ok
        again.compact(0, archive=tmp_path / "archive")
    assert session.decisions(label=HALF)["t"].to_list() == [1]
    assert session.redact(label=HALF).decisions == (decision.id,)


# --- exports are whole


def names(folder):
    return sorted(each.name for each in folder.iterdir())


FILES = ["decisions.parquet", "events.jsonl", "outcomes.parquet", "parts.parquet"]


def test_an_export_that_fails_leaves_the_earlier_one(session, tmp_path, monkeypatch):
    """Whatever fails: making the tables, or any step of writing; and the next export leaves nothing of it."""
    folder = tmp_path / "out"
    played(session, 1)
    session.export(folder)
    assert names(folder) == FILES
    first = [event.seq for event in session.events()][-1]
    played(session, 2)

    def fails(*_):
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr(exports, "outcomes_frame", fails)
        with pytest.raises(RuntimeError):
            session.export(folder)
    assert json.loads((folder / "events.jsonl").read_text().split("\n")[0])["events"] == first
    real, steps = os.replace, 5
    for step in range(1, steps + 1):
        left = step

        def stop(one, other):
            nonlocal left
            left -= 1
            if not left:
                raise KeyboardInterrupt  # as a kill, after which nothing more is done
            real(one, other)

        with monkeypatch.context() as broken:
            broken.setattr(os, "replace", stop)
            with pytest.raises(KeyboardInterrupt):
                session.export(folder)
        with Session.restore(folder, tmp_path / f"{step}.db") as again:
            assert again.verify().ok
            assert again.seq == (first if step < steps else session.seq)
    (folder / ".superarm-export-0123456789abcdef").write_bytes(b"of whoever was killed")
    (folder / ".superarm-0123456789abcdef").write_bytes(b"of somebody who saves a policy here")
    session.export(folder)
    assert names(folder) == [".superarm-0123456789abcdef", *FILES]
    with Session.restore(folder, tmp_path / "last.db") as again:
        assert policy_to_bytes(again.policy) == policy_to_bytes(session.policy)


def test_a_folder_that_cannot_be_written_to_is_named(session, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exports, "replace_file", full)
    with pytest.raises(StoreUnavailable, match=r"folder: .*out cannot be written to: No space left"):
        session.export(tmp_path / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match=r"folder: .*file.out cannot be written to: Not a directory"):
        session.export(tmp_path / "file" / "out")


# --- names that are too long


@pytest.mark.parametrize("length", [256, 5000])
def test_names_that_are_too_long_are_refused_by_argument(session, tmp_path, length):
    long = tmp_path / ("n" * length)
    calls = {
        "path": [
            lambda: Session.open(long),
            lambda: Session.open(long, policy=policy()),
            lambda: Session.open(str(long / "s.db"), policy=policy()),
            lambda: session.fork(long, policy()),
            lambda: Session.restore(folder, long),
        ],
        "folder": [lambda: session.export(long), lambda: Session.restore(long, tmp_path / "t.db")],
        "archive": [lambda: session.compact(0, archive=long)],
    }
    folder = session.export(tmp_path / "out")
    for argument, some in calls.items():
        for call in some:
            with pytest.raises(InvalidArgument, match="a path of at most") as caught:
                call()
            assert caught.value.argument == argument
    assert sorted(each.name for each in tmp_path.iterdir() if not each.name.startswith("s.db")) == ["out"]


def test_a_file_leaves_room_for_the_names_beside_it(tmp_path):
    """The log of a file has a longer name; and SQLite takes no path of more than 512 bytes."""
    with Session.open(tmp_path / ("n" * 230), policy=policy(), durability="normal") as session:
        played(session, 1)
    deep = tmp_path.joinpath(*["d" * 100] * 5)
    deep.mkdir(parents=True)
    for path in (tmp_path / ("n" * 231), deep / "s.db"):
        with pytest.raises(
            InvalidArgument, match="path: expected a path of at most 480 bytes, of names of at most 230"
        ):
            Session.open(path, policy=policy())


# --- numbers of rounds


def test_a_number_must_leave_others_to_count(session):
    for most in (2**62 + 1, 2**63 - 1):
        for call in (
            lambda most=most: session.decide(a_round(most)),
            lambda most=most: session.record(a_round(most), [0], [[0.1, 0.1]]),
        ):
            with pytest.raises(
                InvalidArgument, match=r"t: expected at most 2\*\*62, so that the session can number later rounds"
            ):
                call()
    assert session.decide(a_round(2**62)).t == 2**62
    assert session.decide(a_round(1), counted=True).t == 2**62 + 1


# --- erasure


def test_labels_of_numpy_are_those_of_python(session):
    """Beside ids that are tuples, too: NumPy compares a number with each part of a tuple."""
    both = [played(session, 1, arm_ids=[(1, 2), (3, 4), 3, 4, 5, 6]), played(session, 2, groups=[3, 3, 3, 4, 4, 4])]
    day = np.datetime64("2026-01-01T00:00:00.000000001")  # Python has no such time
    third = played(session, 3, arm_ids=[("a", day), day, 1, 2, 5, 6])
    for label in (3, np.int64(3), np.float64(3.0), np.uint8(3)):
        assert session.decisions(label=label)["t"].to_list() == [1, 2]
    assert session.decisions(label=day)["t"].to_list() == [3]
    assert session.decisions(label=(np.int64(1), 2))["t"].to_list() == [1]
    assert session.redact(label=np.int64(3)).decisions == tuple(each.id for each in both)
    assert session.redact(label=day).decisions == (third.id,)


def test_after_an_erasure_verify_and_explain_say_what_is_gone(session):
    first, second, third = (played(session, t) for t in (1, 2, 3))
    assert session.verify().replayable_from == 1
    assert "erased" not in str(session.verify())
    gone = session.redact(second.id).replayable_from
    fourth = played(session, 4)
    found = session.verify()
    assert (found.ok, found.redacted, found.replayable_from) == (True, 1, gone)
    assert f"1 decision erased: nothing before event {gone} can be replayed or explained" in str(found)
    for decision in (first, third):
        with pytest.raises(Erased, match=rf"erased together with decision {second.id} \(event {gone}\)") as caught:
            session.explain(decision.id)
        assert decision.id in str(caught.value)
        assert "seq" not in str(caught.value)
    assert session.explain(fourth.id).same
    gone = session.redact(label="shop 1").replayable_from
    found = session.verify()
    assert (found.redacted, found.replayable_from) == (4, gone)


# --- numbers


def test_a_deadline_ends_before_calendars_do(tmp_path):
    for long in (timedelta.max, 1e308):
        with pytest.raises(InvalidArgument, match="deadline: expected at most 1000 years, or None for no limit"):
            Session.open(tmp_path / "t.db", policy=policy(), deadline=long)
    assert not (tmp_path / "t.db").exists()


def test_cells_of_a_frame_hold_one_thing_each(session):
    decision = session.decide(a_round(1))
    seq = session.seq
    row = {"decision": [decision.id], "arm": [int(decision.arms[0])], "outcome_1": [0.1], "outcome_2": [0.2]}
    for column, cell in (
        ("arm", Decimal("sNaN")),
        ("arm", pl.col("a")),
        ("arm", [1]),
        ("outcome_1", [0.1]),
        ("outcome_1", [[0.1]]),
        ("outcome_2", (0.1,)),
        ("outcome_2", np.array([0.1])),
        ("outcome_2", pd.Series([0.1])),
    ):
        with pytest.raises(InvalidArgument, match=f"in row 0, column {column}"):
            session.observe_many(pd.DataFrame(row | {column: pd.Series([cell], dtype=object)}))
    assert session.seq == seq


# --- words


def test_a_record_is_no_decision_and_the_message_says_so(session):
    receipt = session.record(a_round(1), [0], [[0.1, 0.2]], key="log 1")
    for argument, call in (
        ("key", lambda: session.decision(key="log 1")),
        ("t", lambda: session.decision(t=1)),
        ("id", lambda: session.decision(receipt.decision)),
        ("key", lambda: session.explain(key="log 1")),
    ):
        with pytest.raises(UnknownDecision, match="which is a record of somebody else's choice") as caught:
            call()
        assert caught.value.argument == argument
    with pytest.raises(UnknownDecision, match=r"key: .* got 'log 1', which is a record"):
        session.decision(key="log 1")


def test_a_rebase_shows_what_it_knows(session):
    decision = played(session, 1)
    assert repr(session.rebase()) == "Rebase(corrections=0, decisions=())"
    session.correct(decision.id, int(decision.arms[0]), 1, 0.25)
    assert (
        repr(session) == "Session(TCGPUCB, 4 events, 0 decisions waiting, 1 correction not learnt yet: call rebase())"
    )
    assert repr(session.rebase()) == "Rebase(corrections=1, decisions=())"
    session.decide(a_round(2))
    assert "6 events, 1 decision waiting" in repr(session)


def test_spans_are_said_in_days(tmp_path):
    store = MemoryStore()
    Session.open(store, policy=policy(), deadline=timedelta(days=7), rebase_after=90)
    with pytest.raises(
        InvalidArgument, match="deadline: expected None, or the setting of the session: 7 days, got 1 day"
    ):
        Session.open(store, deadline=86400)
    with pytest.raises(InvalidArgument, match="setting of the session: 90 seconds, got 2 minutes"):
        Session.open(store, rebase_after=120)
    with pytest.raises(
        InvalidArgument, match="keep_rounds: expected None, or the setting of the session: None, got 1 hour"
    ):
        Session.open(store, keep_rounds=timedelta(hours=1))
