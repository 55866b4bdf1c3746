"""The account in a session: decisions pay when they are made and earn when they are known to have been played."""

import numpy as np
import pytest

import superarm as sa
from superarm.selection import Kind
from superarm.sessions.session import Session
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round

PRIOR = sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)


def policy(**settings):
    """It is told the prior, so that certificates come soon."""
    return sa.CautiousTCGPUCB(PRIOR, learn=False, opening=0.0, **settings)


def opened(path, **rest):
    return Session.open(path, durability="normal", **rest)


def easy(t, **rest):
    return a_round(t, **{"constraint": sa.Mean() >= -0.5, **rest})


def outcomes(arms):
    return np.full((len(arms), 2), 0.5)


def learnt(path, **settings):
    """A session that certifies, and has nothing out."""
    session = opened(path, policy=policy(**settings))
    for t in range(1, 30):
        decision = session.decide(easy(t))
        session.observe(decision.id, decision.arms, outcomes(decision.arms))
        if decision.selection.kind is Kind.CERTIFIED and decision.arms.size:
            return session, t
    raise AssertionError("nothing was certified")


def balance(session):
    return session.policy.ledger.balance


def test_it_earns_when_it_is_known_to_have_been_played(tmp_path):
    session, t = learnt(tmp_path / "s.db")
    before = balance(session)
    one, two, three, four = (session.decide(easy(t + n)) for n in (1, 2, 3, 4))
    assert {decision.selection.kind for decision in (one, two, three, four)} == {Kind.CERTIFIED}
    assert balance(session) <= before  # asked for often, nothing is earned
    decided = balance(session)
    session.observe(one.id, one.arms[:1], [[np.nan, 0.5]])
    earned = balance(session) - decided
    assert earned > 0.0
    session.observe(one.id, one.arms, [[0.5, 0.5]] * len(one.arms))
    assert balance(session) == decided + earned  # once
    session.played(two.id)
    session.played(two.id)
    assert balance(session) > decided + earned
    played = balance(session)
    paid = next(out.payment.paid for out in session.policy.ledger.out if out.decision == three.id)
    session.withdraw(three.id)
    assert balance(session) == played + paid > played
    assert [out.decision for out in session.policy.ledger.out] == [two.id, four.id]
    assert session.verify().exact
    session.close()


def test_what_somebody_else_chose_neither_pays_nor_earns(tmp_path):
    session, t = learnt(tmp_path / "s.db")
    account = session.policy.ledger.account
    session.record(easy(t + 1), [0, 1], [[0.5, 0.5], [0.5, np.nan]])
    assert session.policy.ledger.account == account
    session.close()


def test_what_has_expired_is_waited_for_no_longer_and_earns_nothing(tmp_path, monkeypatch):
    clock = [1_000_000.0]
    for module in ("running", "operations", "feedback", "session", "start"):
        monkeypatch.setattr(f"superarm.sessions.{module}.time.time", lambda: clock[0])
    session = opened(tmp_path / "t.db", policy=policy(exploring_out=1), deadline=60.0, silence=(0.0, None))
    hard = {"constraint": sa.Mean() >= 0.3}
    one = session.decide(a_round(1, **hard))
    assert one.selection.kind is Kind.EXPLORING
    two = session.decide(a_round(2, **hard))
    assert (two.selection.kind, two.selection.waits_for, two.state) == (Kind.WAITING, (one.id,), "empty")
    clock[0] += 61.0
    three = session.decide(a_round(3, **hard))
    assert three.selection.kind is Kind.EXPLORING
    assert [out.decision for out in session.policy.ledger.out] == [three.id]
    assert balance(session) == 0.0
    session.observe(one.id, one.arms, outcomes(one.arms))  # late
    assert balance(session) == 0.0
    assert session.decision(two.id).selection.waits_for == (one.id,)
    session.close()


def test_replay_and_snapshots_know_what_is_out(tmp_path):
    session, t = learnt(tmp_path / "s.db")
    decisions = [session.decide(easy(t + n)) for n in range(1, 6)]
    session.observe(decisions[1].id, decisions[1].arms, outcomes(decisions[1].arms))
    session.withdraw(decisions[2].id)
    before = policy_to_bytes(session.policy)
    assert len(session.policy.ledger.out) == 3
    assert session.explain(decisions[4].id).same
    session._running.store.close()  # as if it was killed
    session = opened(tmp_path / "s.db")
    assert policy_to_bytes(session.policy) == before
    session.snapshot()
    session._running.store.close()
    session = opened(tmp_path / "s.db")
    assert policy_to_bytes(session.policy) == before
    assert session.verify().exact
    session.close()


def test_what_is_taught_anew_knows_what_is_out(tmp_path):
    session, t = learnt(tmp_path / "s.db")
    one, two = (session.decide(easy(t + n)) for n in (1, 2))
    session.observe(one.id, one.arms, outcomes(one.arms))
    session.correct(one.id, int(one.arms[0]), 1, 0.4)
    before = session.policy.ledger
    session.rebase()
    after = session.policy.ledger
    assert [out.decision for out in after.out] == [out.decision for out in before.out] == [two.id]
    assert after.account == before.account
    session.redact(two.id)
    assert session.policy.ledger.out == ()
    assert session.verify().ok
    session.close()


def test_another_policy_is_told_what_is_out(tmp_path):
    session = opened(tmp_path / "s.db", policy=sa.TCGPUCB(PRIOR, learn=False))
    one = session.decide(easy(1))
    session.reconfigure(policy(most_out=1))
    assert [out.decision for out in session.policy.ledger.out] == [one.id]
    assert session.policy.ledger.out[0].payment is None
    assert session.decide(easy(2)).selection.waits_for == (one.id,)
    with session.fork(tmp_path / "fork.db", policy(most_out=2)) as fork:
        assert [out.decision for out in fork.policy.ledger.out] == [one.id]
    session.close()


@pytest.mark.parametrize("learn", [None, False], ids=["learns", "fixed"])
def test_a_decision_selects_once(tmp_path, monkeypatch, learn):
    """What is out is noted without another look at the round."""
    session = opened(tmp_path / "s.db", policy=sa.CautiousTCGPUCB(PRIOR, learn=learn))
    asked, select = [], sa.CautiousTCGPUCB.select
    monkeypatch.setattr(sa.CautiousTCGPUCB, "select", lambda self, round: asked.append(round.t) or select(self, round))
    session.decide(easy(1))
    assert asked == [1]
    session.close()
