"""The account by itself: any order of decisions, confirmations, withdrawals and expiries."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from superarm.policies.cautious.account import SHARE, Account

EPS = 0.02
SLACK = 1e-9


class AnyOrder(RuleBasedStateMachine):
    """The account beside a dictionary of all that ever happened."""

    decided = Bundle("decided")

    def __init__(self):
        super().__init__()
        self.account, self.facts, self.opening = Account(), {}, 0.0

    @rule(opening=st.floats(0.0, 2.0))
    def grant(self, opening):
        self.account = self.account.granted(opening)
        self.opening = max(self.opening, opening)

    @rule(
        target=decided,
        certified=st.lists(st.floats(0.0, EPS), max_size=4),
        known=st.lists(st.floats(EPS, 1.0, exclude_min=True), max_size=2),
        untried=st.lists(st.floats(EPS, 1.0, exclude_min=True), max_size=2),
    )
    def decide(self, certified, known, untried):
        risk, uncertified = sum(certified) + sum(known) + sum(untried), sum(known) + sum(untried)
        touched = len(certified) + len(known) + len(untried)
        decided = self.account.decide(
            risk=risk, uncertified=uncertified, untried=sum(untried), touched=touched, eps=EPS
        )
        earned = sum(fact["claim"] for fact in self.facts.values() if fact["state"] == "confirmed")
        paid = sum(fact["paid"] for fact in self.facts.values() if fact["state"] != "withdrawn")
        savings = max(earned - paid, 0.0)
        advance = max(self.opening - earned - max(paid - earned, 0.0), 0.0)
        able = savings + min(advance, sum(untried)) - uncertified
        if decided is None:
            assert able <= SLACK
            return None
        assert able >= -SLACK
        self.account, payment = decided
        assert 0.0 <= payment.claim <= SHARE * EPS * max(touched, 1)
        number = len(self.facts)
        self.facts[number] = {
            "risk": risk,
            "touched": max(touched, 1),
            "paid": payment.paid,
            "claim": payment.claim,
            "payment": payment,
            "state": "open",
        }
        return number

    def _end(self, number, state):
        if number is not None:
            self.account = getattr(self.account, state)(self.facts[number]["payment"])
            self.facts[number]["state"] = state

    @rule(number=consumes(decided))
    def confirm(self, number):
        self._end(number, "confirmed")

    @rule(number=consumes(decided))
    def withdraw(self, number):
        self._end(number, "withdrawn")

    @rule(number=consumes(decided))
    def expire(self, number):
        self._end(number, "expired")

    @invariant()
    def risk_is_bounded(self):
        standing = [fact for fact in self.facts.values() if fact["state"] != "withdrawn"]
        earned = sum(fact["claim"] for fact in standing if fact["state"] == "confirmed")
        allowed = EPS * sum(fact["touched"] for fact in standing)
        assert self.account.earned == pytest.approx(earned, abs=SLACK)
        assert self.account.balance == pytest.approx(earned - sum(fact["paid"] for fact in standing), abs=SLACK)
        assert sum(fact["risk"] for fact in standing) <= allowed + max(0.0, self.opening - earned) + SLACK


test_any_order = AnyOrder.TestCase


def test_the_bound_is_reached():
    """The whole opening can be spent at once, so nothing smaller would be true."""
    account, _ = Account().granted(0.9).decide(risk=0.9, uncertified=0.9, untried=0.9, touched=1, eps=EPS)
    assert account.balance == -0.9
    assert account.advance == 0.0


def test_an_advance_is_repaid_before_anything_else_is_paid_for():
    account, payment = Account().granted(0.5).decide(risk=0.5, uncertified=0.5, untried=0.5, touched=1, eps=EPS)
    account = account.confirmed(payment)
    for _ in range(24):
        assert account.savings == 0.0
        account, payment = account.decide(risk=0.0, uncertified=0.0, touched=2, eps=EPS)
        account = account.confirmed(payment)
    assert account.balance == pytest.approx(-0.01)
    assert account.decide(risk=0.03, uncertified=0.03, touched=1, eps=EPS) is None
    for _ in range(4):
        account, payment = account.decide(risk=0.0, uncertified=0.0, touched=2, eps=EPS)
        account = account.confirmed(payment)
    assert account.decide(risk=0.03, uncertified=0.03, touched=1, eps=EPS) is not None
    assert account.advance == 0.0  # it was earned, and is no second advance


def test_a_certified_decision_takes_no_advance():
    account, payment = Account().granted(0.5).decide(risk=0.03, uncertified=0.0, untried=0.0, touched=2, eps=EPS)
    assert (account.balance, payment.paid, payment.claim) == (0.0, 0.0, 0.0)
