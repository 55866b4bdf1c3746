"""Corrections are facts at once, and the policy learns them by a rebase; other policies learn all that is known."""

import numpy as np
import pytest

import superarm as sa
from superarm.sessions.session import Session
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.db"


def opened(path, **rest):
    return Session.open(path, durability="normal", **rest)


def played(session, rounds):
    decisions = {}
    for t in rounds:
        decisions[t] = session.decide(a_round(t))
        session.observe(decisions[t].id, decisions[t].arms, outcomes(t, decisions[t].arms))
    return decisions


def taught(decisions, corrected=(), make=policy):
    """A policy that was told the right values from the start."""
    alone, right = make(), dict(corrected)
    for t, decision in decisions.items():
        values = outcomes(t, decision.arms)
        for (when, place, outcome), value in right.items():
            if when == t:
                values[place, outcome - 1] = value
        alone.update(a_round(t), decision.arms, values)
    return policy_to_bytes(alone)


def test_a_correction_is_a_fact_at_once_and_learnt_by_a_rebase(path):
    session = opened(path, policy=policy())
    decisions = played(session, range(1, 6))
    before = policy_to_bytes(session.policy)
    second = decisions[2]
    receipt = session.correct(second.id, second.arms[0], 1, 0.25, reason="refund", key="r")
    assert (receipt.new, receipt.known) == (1, 0)
    assert session.correct(second.id, second.arms[0], 1, 0.25, reason="refund", key="r") == receipt
    assert session.correct(second.id, second.arms[0], 1, 0.25).known == 1
    assert policy_to_bytes(session.policy) == before
    value = outcomes(2, second.arms[:1])[0, 1]
    assert session.observe(second.id, second.arms[:1], [[0.25, value]]).known == 2  # the value in force
    with pytest.raises(sa.errors.Conflict, match=r"is 0\.25 in the journal"):
        session.observe(second.id, second.arms[:1], outcomes(2, second.arms[:1]))
    rebased = session.rebase()
    assert rebased.corrections == 1
    assert rebased.decisions == tuple(decisions[t].id for t in (3, 4, 5))
    right = taught(decisions, {(2, 0, 1): 0.25}.items())
    assert right != before
    assert policy_to_bytes(session.policy) == right
    assert session.rebase().corrections == 0
    more = played(session, range(6, 8))
    session._running.store.close()
    session = opened(path, policy=policy())
    assert policy_to_bytes(session.policy) == taught(decisions | more, {(2, 0, 1): 0.25}.items())
    assert session.verify().ok
    assert session.verify().exact
    session.close()


def test_a_correction_twice_and_a_rebase_between(path):
    session = opened(path, policy=policy())
    decisions = played(session, range(1, 4))
    first = decisions[1]
    session.correct(first.id, first.arms[0], 2, 0.5)
    session.snapshot()
    session.rebase()
    session.snapshot()
    session.correct(first.id, first.arms[0], 2, 0.75)
    session.correct(first.id, first.arms[0], 2, 0.7)
    session._running.store.close()
    session = opened(path)
    assert session.rebase().corrections == 2
    assert policy_to_bytes(session.policy) == taught(decisions, {(1, 0, 2): 0.7}.items())
    assert session.verify().ok
    session.close()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, d: s.correct(d.id, d.arms[0], 3, 0.1), "outcome: expected a whole number from 1 to 2"),
        (lambda s, d: s.correct(d.id, d.arms[0], 1, np.nan), "value: expected a number"),
        (lambda s, d: s.correct(d.id, d.arms[0], 1, 1e308), "value: expected a number"),
        (
            lambda s, d: s.correct(d.id, d.arms[0], 1, 0.1, sample="x"),
            "arm: expected an arm whose outcome is known",
        ),
        (lambda s, d: s.correct(d.id, 99, 1, 0.1), "arms: expected arm numbers"),
        (lambda s, d: s.correct("nobody", 0, 1, 0.1), "id: expected the id"),
        (lambda s, d: s.correct(d.id, d.arms[0], 1, 0.1, reason=3), "reason: expected text"),
        (lambda s, d: s.reconfigure("cautious"), "policy: expected a policy"),
    ],
)
def test_bad_corrections_are_refused_and_nothing_is_appended(path, call, message):
    session = opened(path, policy=policy())
    decision = played(session, [1])[1]
    seq = session._running.store.last()
    with pytest.raises(sa.errors.InvalidArgument) as refused:
        call(session, decision)
    assert str(refused.value).startswith(message)
    assert session._running.store.last() == seq
    session.close()


def other():
    return sa.TCGPUCB(sa.ExactPosterior(sa.Matern32(lengthscale=0.3), noise_std=0.2), zeta=0.4, learn=False)


def test_another_policy_learns_all_that_is_known(path):
    session = opened(path, policy=policy())
    decisions = played(session, range(1, 4))
    session.reconfigure(other())
    session.reconfigure(other())  # as it is already
    assert policy_to_bytes(session.policy) == taught(decisions, make=other)
    assert session._running.store.last() == 8
    more = played(session, range(4, 6))
    session._running.store.close()
    with pytest.raises(sa.errors.DifferentPolicy, match="Matern32 and Matern52"):
        opened(path, policy=policy())
    session = opened(path, policy=other())
    first = decisions[1]
    session.correct(first.id, first.arms[0], 2, 0.5)
    session.rebase()
    assert policy_to_bytes(session.policy) == taught(decisions | more, {(1, 0, 2): 0.5}.items(), make=other)
    assert session.verify().exact
    assert session.verify().ok
    session.close()


def test_a_fork_has_the_same_facts_under_another_policy(path, tmp_path):
    session = opened(path, policy=policy(), outcome_range=(-9, 9))
    kept = session.decide(a_round(1), key="k")
    session.observe(kept.id, kept.arms, outcomes(1, kept.arms))
    decisions = {1: kept} | played(session, range(2, 5))
    session.correct(kept.id, kept.arms[0], 1, 0.5)
    events = session._running.store.last()
    fork = session.fork(tmp_path / "fork.db", other(), durability="normal")
    assert policy_to_bytes(fork.policy) == taught(decisions, {(1, 0, 1): 0.5}.items(), make=other)
    assert fork.decisions().drop("seq").equals(session.decisions().drop("seq"))
    assert fork.decide(a_round(1), key="k").id == kept.id
    assert fork.verify().ok
    assert session._running.store.last() == events
    played(fork, [5])
    fork.close()
    with pytest.raises(sa.errors.Conflict, match="already a session"):
        session.fork(tmp_path / "fork.db", other())
    session.close()


def test_a_correction_that_would_poison_the_policy_is_refused_when_it_is_learnt(path, monkeypatch):
    session = opened(path, policy=policy())
    decision = played(session, [1])[1]
    session.correct(decision.id, decision.arms[0], 1, 1e6)
    select = sa.TCGPUCB.select

    def fails(self, round):
        if float(np.abs(self.posterior.predict(round.contexts).mean).max(initial=0.0)) > 10.0:
            raise OverflowError("too large")
        return select(self, round)

    monkeypatch.setattr(sa.TCGPUCB, "select", fails)
    seq = session._running.store.last()
    with pytest.raises(sa.errors.InvalidArgument, match="OverflowError"):
        session.rebase()
    assert session._running.store.last() == seq
    session.correct(decision.id, decision.arms[0], 1, 0.5)
    session.rebase()
    session.close()


def test_a_correction_that_is_not_learnt_yet_is_said(tmp_path):
    with Session.open(tmp_path / "s.db", policy=policy(), durability="normal") as session:
        decision = session.decide(a_round(1))
        session.observe(decision.id, decision.arms, outcomes(1, decision.arms))
        assert "correction" not in repr(session)
        session.correct(decision.id, decision.arms[0], 1, 0.25)
        assert "1 correction not learnt yet: call rebase()" in repr(session)
        assert session.notes == ("1 correction not learnt yet: call rebase()",)
    with Session.open(tmp_path / "s.db") as session:
        assert session.notes == ("1 correction not learnt yet: call rebase()",)
        session.rebase()
        assert session.notes == ()
        assert "correction" not in repr(session)


def test_what_is_taught_anew_needs_no_rebase_for_what_came_before(tmp_path):
    with Session.open(tmp_path / "s.db", policy=policy(), durability="normal") as session:
        made = []
        for t in range(1, 5):
            made.append(session.decide(a_round(t)))
            session.observe(made[-1].id, made[-1].arms, outcomes(t, made[-1].arms))
        session.correct(made[0].id, made[0].arms[0], 1, 0.25)
        session.redact(made[0].id)
        session.correct(made[1].id, made[1].arms[0], 1, 0.25)
        session.reconfigure(sa.CUCB())
        session.correct(made[2].id, made[2].arms[0], 1, 0.25)
        found = session.rebase()
        assert (found.corrections, found.decisions) == (1, (made[3].id,))


def test_corrections_are_learnt_by_themselves_when_they_have_waited(path, monkeypatch):
    now = [1_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    session = opened(path, policy=policy(), rebase_after=60.0)
    decisions = played(session, range(1, 4))
    first = decisions[1]
    session.correct(first.id, first.arms[0], 1, 0.25)
    now[0] += 50.0
    session.correct(first.id, first.arms[0], 2, 0.5)
    between = session.decide(a_round(4))  # too early
    assert "2 corrections not learnt yet" in repr(session)
    session.close()
    session = opened(path, rebase_after=60)
    now[0] += 10.0  # counted from the first of them, whoever was there
    session.decide(a_round(5))
    assert session.rebases()["corrections"].to_list() == [2]
    assert session.rebases()["decisions"].to_list() == [[decisions[2].id, decisions[3].id, between.id]]
    assert policy_to_bytes(session.policy) == taught(decisions, {(1, 0, 1): 0.25, (1, 0, 2): 0.5})
    seq = session._running.store.last()
    now[0] += 1000.0
    session.decide(a_round(6))
    assert session._running.store.last() == seq + 1  # nothing was left to learn
    session.correct(first.id, first.arms[0], 1, 0.75)
    assert session.rebase().corrections == 1
    assert session.rebases()["corrections"].to_list() == [2, 1]
    assert session.verify().ok
    session.close()
    with pytest.raises(
        sa.errors.InvalidArgument, match="rebase_after: expected None, or the setting of the session: 1 minute"
    ):
        opened(path, rebase_after=61)


def test_what_cannot_be_learnt_by_itself_holds_up_no_decision(path, monkeypatch):
    session = opened(path, policy=policy(), rebase_after=0)
    first = played(session, range(1, 3))[1]
    session.correct(first.id, first.arms[0], 1, 0.25)

    def fails(*_):
        raise sa.errors.InvalidArgument("outcomes", "numbers", "others")

    monkeypatch.setattr("superarm.sessions.outcomes.rebases", fails)
    session.decide(a_round(3)), session.decide(a_round(4))
    assert session.notes[0] == "corrections are not learnt: outcomes: expected numbers, got others"
    assert len(session.notes) == 2
    monkeypatch.undo()
    session.decide(a_round(5))
    assert session.rebases()["corrections"].to_list() == [1]
    session.close()
