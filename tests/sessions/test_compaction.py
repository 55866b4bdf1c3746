"""Compaction: less is kept of what is old, the policy stays as it is to the last bit, and what is lost is said."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pytest

import superarm as sa
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from superarm.sessions.stores.memory import MemoryStore
from superarm.sessions.verify import verified
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy


@sa.storable
@dataclass
class Foreign:
    """A policy of one's own, which learns nothing."""

    seed: int = 0

    def select(self, round):
        return sa.Uniform(seed=self.seed).select(round)

    def update(self, round, arms, outcomes):
        pass


DAY = 86400.0
ARMS = 40


def cc_mab():
    return sa.CCMAB(horizon=100)


LEARNING = [pytest.param(make, marks=pytest.mark.slow) for make in (sa.TCGPUCB, sa.TCGPTS, sa.CautiousTCGPUCB)]


def cautious():
    return sa.CautiousTCGPUCB(sa.ExactPosterior(sa.Matern52(lengthscale=0.5), noise_std=0.1), learn=False)


POLICIES = [policy, cautious, sa.CUCB, sa.ACCUCB, cc_mab, *LEARNING]


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set, and ids that are counted, so that two sessions can be compared."""

    class Clock:
        now = 1_800_000_000.0
        ids = 0

    def new_id():
        Clock.ids += 1
        return f"decision {Clock.ids:04d}"

    monkeypatch.setattr("time.time", lambda: Clock.now)
    monkeypatch.setattr("superarm.sessions.operations.new_id", new_id)
    return Clock


def wide_round(t, **rest):
    return a_round(t, arms=ARMS, arm_ids=[f"{t} {place}" for place in range(ARMS)], **rest)


def days(session, clock, first, last, silent=7):
    """Decide once a day; outcomes come in two parts, and every seventh decision hears nothing."""
    made = []
    for t in range(first, last + 1):
        clock.now += DAY
        made.append(session.decide(wide_round(t), key=f"day {t}"))
        if t % silent:
            arms = made[-1].arms
            session.observe(made[-1].id, arms[:1], outcomes(t, arms[:1]))
            session.observe(made[-1].id, arms, outcomes(t, arms), key=f"told {t}")
    return made


def state(session):
    return digest_of_state(session._running.durable())


def bits(session):
    return policy_to_bytes(session.policy)


def replayed(session):
    """The journal as it is folded without a snapshot."""
    state = session._running.durable()
    return verified(session._running.store, state, session._running.here)


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.__name__)
def test_a_slim_round_teaches_what_the_full_one_did(make, clock):
    sessions = [Session.open(MemoryStore(), policy=make()) for _ in range(2)]
    (slim, full), begun = sessions, clock.now
    made = []
    for session in sessions:
        clock.now, clock.ids = begun, 0
        made.append(days(session, clock, 1, 15))
    before = slim.outcomes(), slim.promises(), bits(slim)
    found = slim.compact(2 * DAY)
    assert found.slim >= 4
    assert not found.notes
    assert bits(slim) == before[2]
    assert replayed(slim).exact
    assert replayed(slim).slim == found.slim
    assert replayed(slim).ok, str(replayed(slim))
    assert slim.outcomes().equals(before[0])
    assert slim.promises().equals(before[1])
    assert slim.compact(2 * DAY).slim == 0
    for session, decisions in zip(sessions, made, strict=True):  # what comes of them later is the same, too
        decision = next(each for each in reversed(decisions[:12]) if len(each.arms) and each.t % 7)
        session.observe(decision.id, decision.arms, outcomes(99, decision.arms), sample="late")
        session.correct(decision.id, decision.arm_ids[0], 1, 0.25)
        session.rebase()
        session.reconfigure(cautious())
    assert bits(slim) == bits(full)
    assert replayed(slim).ok


@pytest.mark.slow
def test_where_the_journal_would_give_another_state_everything_stays(clock, monkeypatch):
    session = Session.open(MemoryStore(), policy=sa.TCGPUCB())
    days(session, clock, 1, 12)
    before, last = state(session), session._running.store.last()
    monkeypatch.setattr("superarm.sessions.slim.checksum_of", lambda round: 0)  # all rounds as if they were one
    found = session.compact(2 * DAY)
    assert found.slim == 0
    assert "would no longer give the present state" in found.notes[0]
    assert found.notes[0] in str(found)
    assert (state(session), session._running.store.last()) == (before, last)
    assert replayed(session).slim == 0
    assert replayed(session).ok


def test_what_a_slim_round_no_longer_tells(tmp_path, clock):
    session = Session.open(tmp_path / "s.db", policy=policy(), keep_rounds=timedelta(days=3))
    made = days(session, clock, 1, 16)
    size = os.path.getsize(tmp_path / "s.db") + os.path.getsize(tmp_path / "s.db-wal")
    found = session.compact()
    assert str(found).startswith(f"{found.slim} rounds made slim, 0 decisions archived")
    assert "can no longer be explained" in str(found)
    assert os.path.getsize(tmp_path / "s.db") < size / 2
    old, new = made[8], made[-1]
    assert session.explain(new.id).same
    with pytest.raises(sa.errors.NotKept, match="only the picked arms of its round are kept"):
        session.explain(old.id)
    assert session.decision(old.id).arm_ids == old.arm_ids
    assert session.decide(wide_round(old.t), key=f"day {old.t}").id == old.id
    assert policy_to_bytes(session.at(10)) is not None
    assert session.observe(old.id, old.arm_ids, outcomes(old.t, old.arms)).known == 2 * len(old.arms)
    with pytest.raises(sa.errors.NotKept, match="may need the others to learn"):
        session.reconfigure(Foreign())
    session.close()
    with Session.open(tmp_path / "s.db", keep_rounds=3 * DAY) as again:
        assert again.verify().slim == found.slim
        assert "slim: they can no longer be explained" in str(again.verify())
        restored = Session.restore(again.export(tmp_path / "out"), tmp_path / "r.db")
        assert state(restored) == state(again)
        restored.close()


def test_arms_that_recur_are_kept_once_and_stay(clock):
    session = Session.open(MemoryStore(), policy=policy())
    contexts = np.random.default_rng(0).uniform(size=(ARMS, 2))
    for t in range(1, 21):
        clock.now += DAY
        decision = session.decide(a_round(t, arms=ARMS, contexts=contexts))
        session.observe(decision.id, decision.arms, outcomes(t, decision.arms))
    assert session.compact(2 * DAY).slim == 0


def test_rounds_of_a_policy_of_ones_own_stay_full(clock):
    session = Session.open(MemoryStore(), policy=Foreign())
    days(session, clock, 1, 8)
    found = session.compact(0)
    assert found.slim == 0
    assert "a policy of your own" in found.notes[0]


def archived(tmp_path, clock, make=policy):
    session = Session.open(tmp_path / "s.db", policy=make(), durability="normal")
    made = days(session, clock, 1, 16)
    session.correct(made[3].id, made[3].arms[0], 2, 0.5)
    session.correct(made[14].id, made[14].arms[0], 2, 0.5)
    session.rebase()
    return session, made


@pytest.mark.parametrize("make", [cautious, policy], ids=["cautious", "plain"])
def test_what_is_archived_leaves_the_journal_and_is_exported_first(tmp_path, clock, make):
    session, _ = archived(tmp_path, clock, make)
    with Session.open(MemoryStore(), policy=make()) as twin:
        later, clock.ids = clock.now, 0
        days(twin, clock, 1, 3)
        twin.decide(wide_round(4))
        then = bits(twin)  # as it was before what was corrected later
        clock.now = later
    before, frame = bits(session), session.decisions()
    found = session.compact(3 * DAY, archive=tmp_path / "old")
    assert found.archived > 0
    assert bits(session) == before
    assert replayed(session).ok, str(replayed(session))
    assert replayed(session).exact
    assert (replayed(session).since, replayed(session).archived) == (found.since, found.archived)
    assert session.decisions()["decision"].to_list() == frame["decision"].to_list()
    assert session.decisions()["state"].to_list().count("archived") == found.archived
    # The correction of the fourth decision came late: the base ends before what it corrects.
    assert found.archived == 3
    old = Session.restore(found.folder, tmp_path / "old.db")
    same = ["decision", "t", "key", "arms"]
    assert old.decisions().select(same).equals(frame.filter(frame["seq"] <= found.since).select(same))
    assert bits(old) == then
    session.close(), old.close()
    with Session.open(tmp_path / "s.db") as again:
        assert bits(again) == before
        again._running.store._writer.execute("DELETE FROM snapshot")
    with Session.open(tmp_path / "s.db") as again:  # without a snapshot: from the base
        assert bits(again) == before
        with Session.restore(again.export(tmp_path / "whole"), tmp_path / "whole.db") as whole:
            assert state(whole) == state(again)
            assert whole.verify().ok
        assert again.compact(3 * DAY, archive=tmp_path / "old").archived == 0


def test_what_can_no_longer_be_done_is_refused_with_the_reason(tmp_path, clock):
    session, made = Session.open(tmp_path / "s.db", policy=policy(), durability="normal"), []
    made = days(session, clock, 1, 16)
    waits = made[6]
    session.observe(waits.id, waits.arms[:1], [[0.5, np.nan]])
    clock.now += DAY
    more = days(session, clock, 17, 18)
    since = session.compact(2 * DAY, archive=tmp_path / "old").since
    old = made[0]
    assert session.decision(waits.id).state == "partial"  # as something may come of it yet
    before, seq = state(session), session._running.store.last()
    refused = {
        "is archived": [
            lambda: session.observe(old.id, old.arms, outcomes(1, old.arms)),
            lambda: session.correct(old.id, old.arms[0], 1, 0.5),
            lambda: session.played(old.id),
            lambda: session.decision(old.id),
            lambda: session.decide(wide_round(1), key="day 1"),
            lambda: session.explain(old.id),
        ],
        "cannot be corrected": [lambda: session.correct(waits.id, waits.arms[0], 1, 0.75)],
        "cannot be separated from the rest": [lambda: session.redact(waits.id), lambda: session.redact(old.id)],
        "another policy cannot learn it": [
            lambda: session.reconfigure(sa.CUCB()),
            lambda: session.fork(tmp_path / "f.db", sa.CUCB()),
        ],
        f"everything up to event {since} is archived": [lambda: session.explain(waits.id)],
    }
    for words, calls in refused.items():
        for call in calls:
            with pytest.raises(sa.errors.NotKept, match=words):
                call()
    with pytest.raises(sa.errors.InvalidArgument, match=f"at least {since}, because earlier events are archived"):
        session.at(since - 1)
    assert (state(session), session._running.store.last()) == (before, seq)
    gone = f"up to event {since} nothing can be replayed, corrected, erased, explained or taught to another policy"
    assert gone in str(session.verify())
    # All else goes on.
    session.observe(waits.id, waits.arms, outcomes(7, waits.arms), sample="more")
    session.correct(more[0].id, more[0].arms[0], 1, 0.125)
    assert session.rebase().corrections == 1
    session.redact(more[1].id)
    assert session.verify().ok, str(session.verify())
    session.close()


def test_the_base_holds_back_for_what_reaches_behind_it(tmp_path, clock):
    session = Session.open(tmp_path / "s.db", policy=policy(), durability="normal")
    made = days(session, clock, 1, 6)
    session.reconfigure(sa.CUCB())
    found = session.compact(2 * DAY, archive=tmp_path / "old")
    assert (found.archived, found.folder) == (0, None)
    assert "taught the policy everything again" in found.notes[0]
    assert not (tmp_path / "old").exists()
    days(session, clock, 8, 12)
    session.correct(made[1].id, made[1].arms[0], 1, 0.5)  # not learnt: compact does so first
    assert session.compact(2 * DAY, archive=tmp_path / "old").archived == 0  # as it reaches behind the policy
    assert session.rebases()["corrections"].to_list() == [1]
    days(session, clock, 15, 20)
    found = session.compact(2 * DAY, archive=tmp_path / "old")
    assert found.archived > 0
    assert session.verify().ok
    session.close()


def test_a_process_that_is_behind_goes_on_from_the_base(tmp_path, clock):
    session = Session.open(tmp_path / "s.db", policy=policy(), durability="normal")
    days(session, clock, 1, 3)
    other = Session.open(tmp_path / "s.db", durability="normal")
    days(session, clock, 8, 12)
    session.compact(0, archive=tmp_path / "old")
    decision = other.decide(wide_round(30))
    other.observe(decision.id, decision.arms, outcomes(30, decision.arms))
    assert state(other) == state(session)
    assert other.verify().ok
    session.close(), other.close()


def test_a_wrong_age_or_folder_changes_nothing(tmp_path, clock):
    session = Session.open(tmp_path / "s.db", policy=policy())
    days(session, clock, 1, 2)
    last = session._running.store.last()
    for wrong in (-1, "week", np.nan, timedelta(days=-1)):
        with pytest.raises(sa.errors.InvalidArgument, match="older_than"):
            session.compact(wrong)
    with pytest.raises(sa.errors.InvalidArgument, match="archive"):
        session.compact(0, archive=tmp_path / "s.db")
    assert session._running.store.last() == last
    session.close()


@pytest.mark.slow
def test_a_compaction_that_is_killed_while_another_process_decides_loses_nothing(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "tests.sessions.compacting", str(tmp_path)], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout)
    assert found["writer"] == 0, ended.stderr[-3000:]
    assert found["kills"] >= 2
    assert found["known"] == found["told"]
    assert found["ok"], found["said"]
    assert found["same"]
    assert found["before"] >= 5  # or nothing was shown
    assert found["archived"] == len(found["told"])
    assert set(found["states"]) <= {"complete", "archived"}


@pytest.mark.slow
def test_a_database_compacts_as_a_file_does(postgres, tmp_path, clock):
    name = postgres.name()
    with Session.open(postgres.url, name=name, policy=policy()) as session:
        days(session, clock, 1, 14)
        before = bits(session)
        assert session.compact(3 * DAY).slim > 0
        assert session.compact(4 * DAY, archive=tmp_path / "old").archived > 5
        assert bits(session) == before
        assert session.verify().ok, str(session.verify())
    with Session.open(postgres.url, name=name) as session:
        assert bits(session) == before
        assert session.verify().archived > 5
