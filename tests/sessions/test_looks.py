"""What a session shows: frames of promises and outcomes, the policy as it was, and why it decided."""

import re

import numpy as np
import pytest

import superarm as sa
from superarm.sessions.session import Session
from superarm.sessions.stores.memory import MemoryStore
from superarm.sessions.stores.sqlite import SQLiteStore
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy


@pytest.fixture
def played(tmp_path):
    """A session with decisions, what the policy was before each of them, and what it selected."""
    session = Session.open(tmp_path / "s.db", policy=sa.CautiousTCGPUCB(), durability="normal")
    before, made = [], []
    for t in range(1, 9):
        before.append(policy_to_bytes(session.policy))
        made.append(session.decide(a_round(t)))
        if t != 7:
            session.observe(made[-1].id, made[-1].arms, outcomes(t, made[-1].arms))
        if t == 4:
            session.snapshot()
    yield session, before, made
    session.close()


def test_promises_as_they_were_kept(played):
    session, _, made = played
    session.correct(made[1].id, made[1].arms[0], 2, 5.0)
    frame = session.promises()
    rows = {(row["decision"], row["group"]): row for row in frame.iter_rows(named=True)}
    count = 0
    for t, decision in enumerate(made, 1):
        values = outcomes(t, decision.arms)
        if t == 2:
            values[0, 1] = 5.0  # the value in force
        kept = sa.calibration.kept(a_round(t), decision.arms, values) if t != 7 else {}
        for group in decision.selection.groups:
            row = rows[decision.id, group.label]
            assert row["kept"] == kept.get(group.label)
            assert (row["probability"], row["threshold"], row["t"]) == (group.probability, group.threshold, t)
            count += 1
    assert len(rows) == count > 0
    assert frame["kept"].null_count() == len(made[6].selection.groups)


def test_calibration_is_that_of_the_decisions(played):
    session, _, made = played
    known = [(t, decision) for t, decision in enumerate(made, 1) if t != 7 and len(decision.arms)]
    kept = [sa.calibration.kept(a_round(t), decision.arms, outcomes(t, decision.arms)) for t, decision in known]
    meant = sa.calibration.promises([decision.selection for _, decision in known], kept)
    found = session.calibration()
    assert found.drop("decision", "t").equals(meant.drop("round"))
    assert found.select("decision", "t").rows() == [(decision.id, t) for t, decision in known]
    assert sa.calibration.promises_verdict(session.calibration()).finding is not None


def test_outcomes_in_force(played):
    session, _, made = played
    session.correct(made[1].id, made[1].arms[0], 2, 5.0)
    session.observe(made[2].id, made[2].arms[:1], [[1.0, np.nan]], sample="x")
    frame = session.outcomes()
    assert len(frame) == sum(2 * len(decision.arms) for t, decision in enumerate(made, 1) if t != 7) + 1
    rows = {row[:1] + row[2:3] + row[4:6]: row[6] for row in frame.iter_rows()}
    assert rows[made[1].id, int(made[1].arms[0]), 2, ""] == 5.0
    assert rows[made[2].id, int(made[2].arms[0]), 1, "x"] == 1.0
    assert rows[made[2].id, int(made[2].arms[0]), 1, ""] == outcomes(3, made[2].arms[:1])[0, 0]


def test_the_policy_as_it_was(played):
    session, before, made = played
    seqs = session.decisions()["seq"].to_list()
    for seq, known in zip(seqs, before, strict=True):
        assert policy_to_bytes(session.at(seq - 1)) == known
    for wrong in (0, seqs[-1] + 99, "x"):
        with pytest.raises(sa.errors.InvalidArgument, match="seq"):
            session.at(wrong)
    assert made


@pytest.mark.parametrize("place", [0, 3, 5, 6, 7])
def test_a_decision_is_explained_by_what_was_known_then(played, place):
    session, _, made = played
    explanation = session.explain(made[place].id, most=2)
    assert explanation.same
    assert explanation.t == place + 1
    assert {arm.arm for arm in explanation.arms} == set(made[place].arms.tolist())


def test_what_does_not_explain_says_so(tmp_path):
    with Session.open(tmp_path / "s.db", policy=sa.CUCB()) as session:
        decision = session.decide(a_round(1))
        with pytest.raises(sa.errors.InvalidArgument, match="a policy that explains, got CUCB"):
            session.explain(decision.id)
        receipt = session.record(a_round(2), [0], [[0.1, 0.1]])
        with pytest.raises(sa.errors.UnknownDecision, match="a record of somebody else's choice"):
            session.explain(receipt.decision)
    assert policy()


def test_decisions_are_found_by_key_and_number(tmp_path):
    with Session.open(tmp_path / "s.db", policy=sa.CautiousTCGPUCB(), durability="normal") as session:
        names = [f"coupon {arm}" for arm in range(6)]
        one = session.decide(a_round(1, arm_ids=names), key="monday")
        two = session.decide(a_round(5))
        record = session.record(a_round(6, arm_ids=range(6)), [2], [[0.1, 0.2]], key="log", by="id")
        session.observe(one.id, one.arms[:1], [[0.5, 0.1]], key="told")
        assert session.decision(key="monday").id == session.decision(t=1).id == one.id
        assert session.decision(t=5).id == two.id
        assert session.explain(key="monday").t == session.explain(t=1).t == 1
        again = session.decision(one.id)
        for each in (one, again):
            assert (each.key, each.kind, each.arm_ids) == (
                "monday",
                one.selection.kind,
                tuple(names[a] for a in one.arms),
            )
        assert (two.key, two.arm_ids) == (None, None)
        frame = session.decisions()
        assert frame["key"].to_list() == ["monday", None, "log"]
        assert frame["kind"].to_list() == [one.kind.name, two.kind.name, None]
        ids = session.outcomes().select("decision", "arm_id").unique(maintain_order=True).rows()
        assert ids == [(one.id, names[one.arms[0]]), (record.decision, "2")]
        for wrong in ({"key": "nobody"}, {"key": "told"}, {"key": "log"}, {"t": 2}, {"t": 6}, {"id": "xxxx"}):
            with pytest.raises(sa.errors.UnknownDecision):
                session.decision(**wrong)
        for wrong in ({}, {"key": "monday", "t": 1}, {"id": one.id, "t": 1}, {"key": 3}, {"t": "x"}):
            with pytest.raises(sa.errors.InvalidArgument):
                session.decision(**wrong)


def test_an_id_that_is_none_is_told_what_it_is(tmp_path):
    with Session.open(tmp_path / "s.db", policy=policy(), durability="normal") as session:
        decision = session.decide(a_round(1), key="monday")
        with pytest.raises(sa.errors.UnknownDecision, match=r"this is a key: a decision is found by key="):
            session.observe("monday", decision.arms, outcomes(1, decision.arms))
        with pytest.raises(
            sa.errors.UnknownDecision, match=f"pass decision.id, got the decision {decision.id} itself$"
        ):
            session.observe(decision, decision.arms, outcomes(1, decision.arms))


def test_decisions_and_events_by_pages(tmp_path):
    with sa.Session.open(tmp_path / "shop.db", policy=policy()) as session:
        made = [session.decide(a_round(t)) for t in range(1, 6)]
        session.observe(made[1].id, made[1].arms, outcomes(2, made[1].arms))
        whole = session.decisions()
        first = session.decisions(limit=2)
        rest = session.decisions(after=first["seq"][-1])
        assert first["decision"].to_list() + rest["decision"].to_list() == whole["decision"].to_list()
        assert session.decisions(state="complete")["decision"].to_list() == [made[1].id]
        assert session.decisions(state="open", after=first["seq"][-1], limit=1)["t"].to_list() == [3]
        assert session.pending(after=first["seq"][0], limit=2)["t"].to_list() == [3, 4]
        assert [event.seq for event in session.events(after=4)] == [5, 6, 7]


@pytest.fixture(params=["memory", "sqlite"])  # without an index of ids, and with one
def numbered_session(request, tmp_path):
    store = SQLiteStore(tmp_path / "s.db", durability="normal") if request.param == "sqlite" else MemoryStore()
    session = sa.Session.open(store, policy=sa.CUCB())
    ts = [1, 2, 5, 9, 10, 40, 41, 42, 100]
    made = [session.decide(a_round(t)) for t in ts]
    for each in made[::2]:
        session.observe(each.id, each.arms, outcomes(each.t, each.arms))  # events in between
    session.record(a_round(101), [0], [[0.1, 0.2]])
    return session, dict(zip(ts, made, strict=True))


def test_a_decision_is_found_by_the_number_of_its_round_and_the_beginning_of_its_id(numbered_session):
    session, made = numbered_session
    for t in range(1, 110):
        if t in made:
            assert session.decision(t=t).id == made[t].id
            assert session.decision(made[t].id[:-1]).id == made[t].id
        else:
            with pytest.raises(sa.errors.UnknownDecision):
                session.decision(t=t)
    for letters in ("ffffffff", "\u00e4" * 9, "zzzz"):
        with pytest.raises(sa.errors.UnknownDecision):
            session.decision(letters)
    with pytest.raises(sa.errors.UnknownDecision, match="more characters, because 10"):
        session.decision(made[1].id[:4])


def test_an_unknown_id_is_looked_up_in_an_index(tmp_path):
    store = SQLiteStore(tmp_path / "s.db", durability="normal")
    query = "EXPLAIN QUERY PLAN SELECT id FROM decision WHERE session = ? AND id >= ? AND id < ? ORDER BY id LIMIT ?"
    (plan,) = [row[-1] for row in store.read(query, "a", "b", 1)]
    assert plan == "SEARCH decision USING COVERING INDEX decision_by_id (session=? AND id>? AND id<?)"
    store.standings = None  # nothing looks through all of them
    assert store.beginning("abcd", 3) == []
    store.close()


def test_a_decision_is_printed_with_the_ids_of_its_arms():
    session = Session.open(MemoryStore(), policy=policy(), durability="full")
    decision = session.decide(a_round(1, arm_ids=[f"coupon {place}" for place in range(6)]), key="monday")
    head, _, *groups = str(decision).splitlines()
    assert head == f"decision {decision.id}, round 1, open, key 'monday'"
    picked = sorted(name for line in groups for name in re.findall(r"'(coupon \d)'", line))
    assert picked == sorted(decision.arm_ids)
    assert repr(decision) == f"Decision(id='{decision.id}', t=1, state='open', {len(picked)} arms)"
    plain = session.decide(a_round(2))
    assert str(plain) == f"decision {plain.id}, round 2, open\n{plain.selection}"
