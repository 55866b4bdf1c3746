"""Deadlines: what silence means, by an event and never by the clock of a replay; and a day's file of outcomes."""

from datetime import timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

import superarm as sa
from superarm.sessions.session import Session
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""

    class Clock:
        now = 1_000_000.0

    for module in ("running", "operations", "feedback", "session", "start"):
        monkeypatch.setattr(f"superarm.sessions.{module}.time.time", lambda: Clock.now)
    return Clock


def opened(path, **rest):
    return Session.open(path, durability="normal", **rest)


def test_silence_may_mean_nothing(tmp_path, clock):
    session = opened(tmp_path / "s.db", policy=policy(), deadline=timedelta(hours=1))
    one, two = session.decide(a_round(1)), session.decide(a_round(2))
    session.observe(one.id, one.arms[:1], [[0.5, np.nan]])
    before = policy_to_bytes(session.policy)
    assert session.expire() == ()
    clock.now += 3600.0
    assert set(session.expire()) == {one.id, two.id}
    assert session.expire() == ()
    assert session.decisions()["state"].to_list() == ["expired", "expired"]
    assert len(session.pending()) == 0
    assert policy_to_bytes(session.policy) == before
    assert session.observe(two.id, two.arms, outcomes(2, two.arms)).state == "complete"  # late, and learnt
    assert session.observe(one.id, one.arms[:1], [[0.5, 0.25]]).state == "expired"  # nothing is waited for
    assert len(session.pending()) == 0
    assert "0 decisions waiting" in repr(session)
    assert policy_to_bytes(session.policy) != before
    assert session.verify().ok
    session.close()
    assert opened(tmp_path / "s.db", deadline=3600).decisions()["state"].to_list() == ["expired", "complete"]


@pytest.mark.parametrize("deadline", [None, 3600.0])
def test_nobody_waits_for_a_decision_that_is_given_up(tmp_path, deadline):
    session = opened(tmp_path / "s.db", policy=policy(), deadline=deadline)
    one, two = session.decide(a_round(1)), session.decide(a_round(2))
    session.observe(one.id, one.arms[:1], [[0.5, np.nan]])
    assert session.expire(one.id) == (one.id,)
    assert session.expire(one.id) == ()
    assert session.expire() == ()
    assert session.decisions()["state"].to_list() == ["expired", "open"]
    assert session.observe(one.id, one.arms, [[0.5, 0.25], *[[0.1, 0.1]] * (len(one.arms) - 1)]).state == "complete"
    with pytest.raises(sa.errors.UnknownDecision):
        session.expire("nobody")
    assert session.pending()["decision"].to_list() == [two.id]
    assert session.verify().ok


def test_silence_may_mean_a_default_for_all_silent_ones(tmp_path, clock):
    session = opened(tmp_path / "s.db", policy=policy(), deadline=60, silence=(0.0, None))
    one = session.decide(a_round(1))
    session.observe(one.id, one.arms[:1], [[0.5, np.nan]])
    alone = policy()
    alone.update(a_round(1), one.arms[:1], [[0.5, np.nan]])
    clock.now += 61.0
    two = session.decide(a_round(2))  # notices by itself, and knows it
    alone.update(a_round(1), one.arms[1:], [[0.0, np.nan]] * (len(one.arms) - 1))
    assert policy_to_bytes(session.policy) == policy_to_bytes(alone)
    assert two.arms.tolist() == alone.select(a_round(2)).arms.tolist()
    assert session.decision(one.id).state == "expired"
    # What comes late takes the place of what was assumed, and is learnt by a rebase.
    late = session.observe(one.id, one.arms[1:2], [[0.75, np.nan]])
    assert (late.new, late.known, late.state) == (1, 0, "expired")
    assert session.observe(one.id, one.arms[1:2], [[0.75, np.nan]]).known == 1
    with pytest.raises(sa.errors.Conflict):
        session.observe(one.id, one.arms[1:2], [[0.5, np.nan]])
    assert policy_to_bytes(session.policy) == policy_to_bytes(alone)
    assert session.rebase().corrections == 1
    right = policy()
    right.update(a_round(1), one.arms[:1], [[0.5, np.nan]])
    rest = np.array([[0.75, np.nan], *[[0.0, np.nan]] * (len(one.arms) - 2)])
    right.update(a_round(1), one.arms[1:], rest)
    assert policy_to_bytes(session.policy) == policy_to_bytes(right)
    assert session.verify().ok
    session.close()


def test_a_replay_does_not_ask_the_clock(tmp_path, clock):
    session = opened(tmp_path / "s.db", policy=policy(), deadline=60, silence=(0.0, 0.0))
    one = session.decide(a_round(1))
    before = policy_to_bytes(session.policy)
    session._running.store.close()
    clock.now += 1000.0
    session = opened(tmp_path / "s.db")
    assert policy_to_bytes(session.policy) == before
    assert session.decision(one.id).state == "open"
    clock.now -= 2000.0  # a clock that goes backwards ends nothing early
    assert session.expire() == ()
    session.close()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"deadline": 0}, "deadline: expected a positive number of seconds"),
        ({"deadline": "soon"}, "deadline: expected a positive number of seconds"),
        ({"silence": 3}, "silence: expected a pair"),
        ({"silence": (0.0, "x")}, "silence: expected a number"),
        ({"silence": (0.0, np.inf)}, "silence: expected a number"),
    ],
)
def test_bad_deadlines_are_refused(tmp_path, given, message):
    with pytest.raises(sa.errors.InvalidArgument) as refused:
        opened(tmp_path / "s.db", policy=policy(), **given)
    assert str(refused.value).startswith(message)
    assert not (tmp_path / "s.db").exists()


def day(decisions, **rest):
    """A file of outcomes, in any order, with some rows twice and some in parts."""
    rows = []
    for t, decision in decisions.items():
        for arm, (one, two) in zip(decision.arms.tolist(), outcomes(t, decision.arms).tolist(), strict=True):
            rows += [(decision.id, arm, one, None), (decision.id, arm, one, two), (decision.id, arm, None, two)]
    np.random.default_rng(0).shuffle(rows)
    frame = pl.DataFrame(rows, schema=["decision", "arm", "outcome_1", "outcome_2"], orient="row")
    return frame.with_columns(**rest)


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_a_days_file(tmp_path, kind):
    session = opened(tmp_path / "s.db", policy=policy())
    decisions = {t: session.decide(a_round(t)) for t in range(1, 5)}
    frame = day(decisions)
    events = session._running.store.last()
    receipts = session.observe_many(frame if kind == "polars" else pd.DataFrame(frame.to_dict(as_series=False)))
    assert session._running.store.last() == events + 4
    assert {receipt.decision: (receipt.new, receipt.known, receipt.state) for receipt in receipts} == {
        decision.id: (2 * len(decision.arms), 0, "complete") for decision in decisions.values()
    }
    again = session.observe_many(frame)
    assert all(receipt.new == 0 for receipt in again)
    assert session._running.store.last() == events + 4
    more = session.observe_many(frame.with_columns(sample=pl.lit("second day")))
    assert all(receipt.known == 0 for receipt in more)
    assert session.verify().ok
    session.close()


def test_a_file_with_a_mistake_is_refused_as_a_whole(tmp_path):
    session = opened(tmp_path / "s.db", policy=policy())
    decisions = {t: session.decide(a_round(t)) for t in range(1, 4)}
    frame, events = day(decisions), session._running.store.last()
    first = decisions[1]
    session.observe(first.id, first.arms[:1], [[9.0, np.nan]])
    with pytest.raises(sa.errors.Conflict, match=r"is 9\.0 in the journal"):
        session.observe_many(frame)
    twice = frame.filter(pl.col("decision") != first.id)
    twice = pl.concat([twice, twice.tail(1).with_columns(outcome_1=pl.lit(8.0), outcome_2=pl.lit(8.0))])
    with pytest.raises(sa.errors.Conflict, match="in one row and"):
        session.observe_many(twice)
    for wrong, message in (
        (frame.with_columns(decision=pl.lit("nobody")), "frame: expected the id"),
        (frame.with_columns(decision=pl.lit(3)), "frame: expected ids of decisions"),
        (frame.drop("arm"), "frame: expected the columns"),
        (frame.with_columns(arm=pl.lit(99)), "frame: expected arm numbers"),
        (frame.with_columns(outcome_1=pl.lit("x")), "frame: expected outcomes that are numbers"),
        (frame.with_columns(sample=pl.lit(7)), "sample: expected text"),
        ("a file", "frame: expected a polars or pandas frame"),
    ):
        with pytest.raises(sa.errors.InvalidArgument) as refused:
            session.observe_many(wrong)
        assert str(refused.value).startswith(message)
    assert session._running.store.last() == events + 1
    assert session.observe_many(pd.DataFrame(columns=["decision", "arm", "outcome_1", "outcome_2"])) == ()
    session.close()


def test_a_decision_whose_silence_cannot_be_learnt_holds_up_no_other(tmp_path, clock):
    session = opened(tmp_path / "s.db", policy=policy(), deadline=60.0, silence=(0.0, 0.0))
    first = session.decide(a_round(1))
    clock.now += 1.0
    odd = session.decide(a_round(2, contexts=np.random.default_rng(0).uniform(size=(6, 3))))
    last = session.decide(a_round(3))
    clock.now += 60.0
    session.decide(a_round(4))
    assert [session.decision(each.id).state for each in (first, odd, last)] == ["expired"] * 3
    assert set(session.outcomes()["decision"]) == {first.id, last.id}
    (note,) = session.notes
    assert odd.id in note
    assert "silence" in note
    session.close()


@pytest.mark.parametrize("wave", ["", "second"])
def test_what_comes_late_takes_the_place_of_silence_in_any_sample(tmp_path, clock, wave):
    session = opened(tmp_path / "s.db", policy=policy(), deadline=60.0, silence=(0.0, 0.0))
    decision = session.decide(a_round(1))
    clock.now += 60.0
    session.expire()
    values = outcomes(1, decision.arms)
    receipt = session.observe(decision.id, decision.arms, values, sample=wave, key="k")
    assert (receipt.new, receipt.state) == (2 * len(decision.arms), "complete")
    again = session.observe(decision.id, decision.arms, values, sample=wave, key="k")
    assert again == receipt
    assert session.observe(decision.id, decision.arms, values, sample=wave).new == 0
    frame = session.outcomes()
    assert len(frame) == 2 * len(decision.arms)
    assert not frame["assumed"].any()
    assert set(frame["sample"]) == {wave}
    session.correct(decision.id, decision.arms[0], 1, 0.75, sample=wave)
    session.rebase()
    alone = policy()
    values[0, 0] = 0.75
    alone.update(a_round(1), decision.arms, values)
    assert policy_to_bytes(session.policy) == policy_to_bytes(alone)
    assert session._running.store.faults() == []
    session.close()


def test_receipts_say_where_a_decision_stands_afterwards(tmp_path, clock):
    session = opened(tmp_path / "s.db", policy=policy(), deadline=60.0, silence=(0.0, 0.0))
    one = session.decide(a_round(1))
    arms = [int(arm) for arm in one.arms]
    rows = [(one.id, arm, 0.5, 0.5, "a") for arm in arms[:1]] + [(one.id, arm, 0.5, 0.5, "b") for arm in arms[1:]]
    frame = pl.DataFrame(
        [*rows, (one.id, arms[0], 0.1, 0.1, "c")],
        schema=["decision", "arm", "outcome_1", "outcome_2", "sample"],
        orient="row",
    )
    assert session.observe_many(frame)[0].state == "complete" == session.decision(one.id).state
    two = session.decide(a_round(2))
    clock.now += 60.0
    session.expire()
    session.observe(two.id, two.arms[1:], outcomes(2, two.arms[1:]))
    session.correct(two.id, two.arms[0], 1, 0.5)
    assert session.correct(two.id, two.arms[0], 2, 0.5).state == "complete"
    session.close()


def test_a_key_used_for_nothing_does_not_say_that_a_decision_was_played(tmp_path):
    session = opened(tmp_path / "s.db", policy=policy())
    decision = session.decide(a_round(1))
    nothing = np.full((len(decision.arms), 2), np.nan)
    assert session.observe(decision.id, decision.arms, nothing, key="k").new == 0
    session.withdraw(decision.id)
    assert session._running.store.faults() == []
    session.close()
