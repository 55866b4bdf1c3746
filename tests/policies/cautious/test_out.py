"""Decisions that are out: what they pay and earn, and what the policy does until their outcomes come."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.policies.cautious.certificates import Judge
from superarm.policies.cautious.delayed import COMING
from superarm.policies.cautious.explore import Uncertainty
from superarm.policies.cautious.ledger import REMEMBERED, Ledger
from superarm.policies.policy import DelayedPolicy
from superarm.round import Outcomes
from superarm.selection import Kind, Selection, Status, TouchedGroup
from superarm.wire import policy_from_bytes, policy_to_bytes
from tests.policies.cautious.small import CONSTRAINTS, EPS, FEASIBLE, NOISE, PRIOR, Small

SLACK = 1e-9


def a_round(t, groups=6, **rest):
    given = {"contexts": np.linspace(0, 1, groups)[:, None], "groups": np.arange(groups)}
    return sa.Round(t=t, **given | {"constraint": sa.Sum() <= 1, "feasible": sa.AtMost()} | rest)


def stated(risks, kind):
    """A selection of one arm from each of the first groups, each broken with some probability."""
    groups = tuple(
        TouchedGroup(label=group, arms=(group,), value=0.0, threshold=1.0, margin=1.0, probability=1.0 - risk)
        for group, risk in enumerate(risks)
    )
    found = {"value": 0.0, "upper_bound": 0.0, "status": Status.UNPROVED, "solver": "by hand", "seconds": 0.0}
    return Selection(arms=np.arange(len(risks)), groups=groups, kind=kind, **found)


class AnyFate(RuleBasedStateMachine):
    """The ledger beside a dictionary of all decisions: the bound holds whatever becomes of them, and when."""

    decided = Bundle("decided")

    def __init__(self):
        super().__init__()
        self.ledger, self.facts, self.opening = Ledger(), {}, 0.0

    @rule(
        target=decided,
        risks=st.lists(st.floats(0.0, 2 * EPS) | st.floats(0.0, 1.0), max_size=6),
        kind=st.sampled_from(Kind),
    )
    def decide(self, risks, kind):
        id, round = f"decision {len(self.facts)}", a_round(len(self.facts) + 1)
        before = self.ledger.account
        self.ledger = self.ledger.decided(id, round, stated(risks, kind), EPS)
        payment = next((out.payment for out in self.ledger.out if out.decision == id), None)
        if payment is None:
            assert self.ledger.account == before
        else:
            assert kind in (Kind.CERTIFIED, Kind.TRIAL)
        self.facts[id] = {"risks": risks, "payment": payment, "claim": 0.0, "round": round, "withdrawn": False}
        return id

    @rule(id=decided, share=st.floats(0.0, 1.0))
    def observe(self, id, share):
        fact = self.facts[id]
        if fact["withdrawn"]:
            return
        arms = np.arange(int(np.ceil(share * len(fact["risks"]))))
        if len(arms):
            observed = Outcomes.of(fact["round"], arms, np.zeros((len(arms), 2)))
            self.ledger = self.ledger.heard(id, fact["round"], observed, opening=0.3)
            self.opening = 0.3
            self._confirm(fact)

    @rule(id=decided)
    def play(self, id):
        if not self.facts[id]["withdrawn"]:
            self.ledger = self.ledger.played(id)
            self._confirm(self.facts[id])

    def _confirm(self, fact):
        """It earns once, and nothing after it has expired."""
        fact["played"] = True
        if fact["payment"] is not None and not fact.get("expired"):
            fact["claim"] = fact["payment"].claim

    @rule(id=consumes(decided))
    def withdraw(self, id):
        fact = self.facts[id]
        if not fact.get("played") and not fact.get("expired"):
            self.ledger = self.ledger.withdrawn(id)
            fact["withdrawn"] = True

    @rule(id=decided)
    def expire(self, id):
        if not self.facts[id]["withdrawn"]:
            self.ledger = self.ledger.expired(id)
            self.facts[id]["expired"] = True

    @invariant()
    def risk_is_bounded(self):
        inside = [fact for fact in self.facts.values() if fact["payment"] is not None and not fact["withdrawn"]]
        earned, account = sum(fact["claim"] for fact in inside), self.ledger.account
        risk = sum(sum(fact["risks"]) for fact in inside)
        allowed = EPS * sum(max(1, len(fact["risks"])) for fact in inside)
        assert account.earned <= earned + SLACK
        assert risk <= allowed + max(0.0, self.opening - account.earned) + SLACK


AnyFate.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
test_any_fate = AnyFate.TestCase


def test_the_fate_of_a_decision_by_hand():
    certified, round = stated([0.0] * 4, Kind.CERTIFIED), a_round(1)
    claim = 0.5 * EPS * 4
    out = Ledger().decided("a", round, certified, EPS)
    assert (out.balance, len(out.waited_for)) == (0.0, 1)  # nothing is earned before it is known to be played
    assert out.played("a").balance == pytest.approx(claim)
    assert out.played("a").played("a").balance == pytest.approx(claim)
    assert out.withdrawn("a").balance == out.expired("a").played("a").balance == 0.0
    saved = out.played("a")
    on_trial = saved.decided("b", round, stated([0.0, 0.015], Kind.TRIAL), EPS)
    assert on_trial.balance == pytest.approx(claim - 0.015)
    assert on_trial.withdrawn("b").balance == pytest.approx(claim)
    assert on_trial.expired("b").balance == pytest.approx(claim - 0.015)
    assert on_trial.expired("b").played("b").balance == pytest.approx(claim - 0.015)
    again = on_trial.decided("c", round, stated([0.0, 0.015], Kind.TRIAL), EPS)  # the same balance pays once
    assert next(each.payment for each in again.out if each.decision == "c") is None
    for kind in (Kind.EXPLORING, Kind.ON_CREDIT, Kind.WAITING, None):
        assert saved.decided("d", round, stated([0.0, 0.001], kind), EPS).played("d").balance == saved.balance


def test_decisions_that_pick_nothing_earn_when_they_are_played_and_are_forgotten_in_the_end():
    ledger, nothing = Ledger(), stated([], Kind.CERTIFIED)
    for number in range(3 * REMEMBERED):
        ledger = ledger.decided(str(number), a_round(number + 1), nothing, EPS)
    assert (len(ledger.out), ledger.balance, ledger.waited_for) == (REMEMBERED, 0.0, ())
    assert ledger.played("0").balance == 0.0
    assert ledger.played(str(3 * REMEMBERED - 1)).balance == pytest.approx(0.5 * EPS)


def in_turn(policy, environment, rounds, seed):
    """Decided and observed one after the other; selections and the ledger."""
    arrivals, noise = np.random.default_rng((seed, 0)), np.random.default_rng((seed, 1))
    for number, round in enumerate(itertools.islice(environment.rounds(arrivals), rounds)):
        selection = policy.select(round)
        outcomes = environment.outcomes(round, noise)[selection.arms]
        policy.decided(str(number), round, selection)
        if len(selection.arms):
            policy.observed(str(number), round, selection.arms, outcomes)
        policy.played(str(number))
        yield selection, policy.ledger


def plainly(policy, environment, rounds, seed):
    arrivals, noise = np.random.default_rng((seed, 0)), np.random.default_rng((seed, 1))
    for round in itertools.islice(environment.rounds(arrivals), rounds):
        selection = policy.select(round)
        policy.update(round, selection.arms, environment.outcomes(round, noise)[selection.arms])
        yield selection, policy.ledger


@pytest.mark.parametrize("name", ["sum <=", "mean >=", "min >="])
def test_settled_at_once_it_is_the_account_of_the_plain_loop(name):
    """Where nothing is late no selection differs, and balances do by rounding, until an exploring round is entered."""
    environment = Small(CONSTRAINTS[name], FEASIBLE["at most"], 3)
    make = partial(sa.CautiousTCGPUCB, PRIOR, learn=False, opening=0.0)
    covered = 0
    for (mine, ledger), (plain, other) in zip(
        in_turn(make(), environment, 25, 3), plainly(make(), environment, 25, 3), strict=True
    ):
        assert mine.kind is plain.kind
        assert mine.arms.tolist() == plain.arms.tolist()
        assert mine.value == plain.value
        assert ledger.balance == pytest.approx(other.balance, abs=1e-12)
        assert ledger.out == ()
        covered += mine.kind is Kind.CERTIFIED
    assert covered > 10


def test_the_cautious_policy_minds_decisions():
    assert isinstance(sa.CautiousTCGPUCB(), DelayedPolicy)
    assert not isinstance(sa.TCGPUCB(), DelayedPolicy)


def uncertain(t, **rest):
    """A round of which nothing is certified without outcomes."""
    rng = np.random.default_rng(t)
    given = {"contexts": rng.uniform(size=(30, 1)), "groups": np.arange(30) % 5, "constraint": sa.Mean() >= 0.3}
    return sa.Round(t=t, **given | {"feasible": sa.AtMost(8, per_group=3)} | rest)


@pytest.mark.parametrize("learn", [None, False], ids=["learns", "fixed"])
def test_what_explores_is_waited_for(learn):
    policy = sa.CautiousTCGPUCB(PRIOR, learn=learn, exploring_out=1)
    one = policy.select(uncertain(1))
    assert one.kind is Kind.EXPLORING
    assert policy.select(uncertain(2)).kind is Kind.EXPLORING  # nobody said that the first one is out
    policy.decided("one", uncertain(1), one)
    waiting = policy.select(uncertain(2))
    assert (waiting.kind, waiting.arms.tolist(), waiting.waits_for) == (Kind.WAITING, [], ("one",))
    assert "WAITING for one" in str(waiting)
    assert "(one) must come first: until then it picks nothing" in policy.explain(uncertain(2), waiting).why
    assert "waiting for outcomes" in waiting.untried[0].reason
    policy.decided("two", uncertain(2), waiting)
    part = len(one.arms) // 2
    policy.observed("one", uncertain(1), one.arms[:part], np.full((part, 2), 0.5))
    assert policy.select(uncertain(3)).kind is Kind.WAITING
    policy.observed("one", uncertain(1), one.arms[part:], np.full((len(one.arms) - part, 2), 0.5))
    assert policy.select(uncertain(3)).kind is not Kind.WAITING
    assert policy.ledger.balance == 0.0


@pytest.mark.parametrize("end", ["withdrawn", "expired"])
def test_what_is_out_no_longer_is_not_waited_for(end):
    policy = sa.CautiousTCGPUCB(PRIOR, exploring_out=1)
    policy.decided("one", uncertain(1), policy.select(uncertain(1)))
    getattr(policy, end)("one")
    assert policy.select(uncertain(2)).kind is Kind.EXPLORING
    assert policy.ledger.out == ()


@pytest.mark.parametrize("learn", [None, False], ids=["learns", "fixed"])
def test_safe_arms_are_played_while_waiting(learn):
    safe = np.arange(30) % 5 == 0
    policy = sa.CautiousTCGPUCB(PRIOR, learn=learn, exploring_out=1, most_out=2)
    policy.decided("one", uncertain(1), policy.select(uncertain(1)))
    waiting = policy.select(uncertain(2, safe=safe))
    assert waiting.kind is Kind.WAITING
    assert len(waiting.arms)
    assert safe[waiting.arms].all()
    assert waiting.predicted_broken == 0.0
    policy.decided("two", uncertain(2, safe=safe), waiting)
    full = policy.select(uncertain(3, safe=safe))
    assert (full.kind, full.waits_for) == (Kind.WAITING, ("one", "two"))
    assert safe[full.arms].all()


def test_what_must_be_filled_cannot_wait():
    policy = sa.CautiousTCGPUCB(PRIOR, exploring_out=1, most_out=1)
    policy.decided("one", uncertain(1), policy.select(uncertain(1)))
    assert policy.select(uncertain(2)).kind is Kind.WAITING
    filled = policy.select(uncertain(2, feasible=sa.Exactly(6)))
    assert (filled.kind, len(filled.arms)) == (Kind.EXPLORING, 6)
    unpromised = policy.select(uncertain(2, constraint=None))
    assert (unpromised.kind, len(unpromised.arms)) == (Kind.CERTIFIED, 8)


def known():
    """A policy that certifies much."""
    x = np.linspace(0, 1, 15)[:, None]
    return sa.CautiousTCGPUCB(PRIOR.condition(x, np.full((15, 2), 1.0)), learn=False, most_out=3, exploring_out=1)


def test_certificates_are_played_while_others_explore_up_to_most_out():
    policy = known()
    policy.decided("one", uncertain(1), stated([0.5], Kind.EXPLORING))
    for number in (2, 3):
        found = policy.select(uncertain(number))
        assert found.kind is Kind.CERTIFIED
        policy.decided(str(number), uncertain(number), found)
    assert policy.select(uncertain(4)).waits_for == ("one", "2", "3")
    policy.withdrawn("one")
    assert policy.select(uncertain(4)).kind is Kind.CERTIFIED


def test_a_prior_alone_is_not_relied_upon_again_and_again():
    """Where the truth lies in its tail every certificate is wrong, until the first outcomes come."""
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False, exploring_out=2)
    likely = {"constraint": sa.Mean() >= -3.0}
    one, two = (policy.select(uncertain(t, **likely)) for t in (1, 2))
    assert one.kind is two.kind is Kind.CERTIFIED
    policy.decided("one", uncertain(1, **likely), one)
    policy.decided("two", uncertain(2, **likely), two)
    assert policy.select(uncertain(3, **likely)).waits_for == ("one", "two")
    assert policy.select(uncertain(3, constraint=sa.Count() <= 3)).kind is Kind.CERTIFIED  # no outcome matters to it
    policy.observed("one", uncertain(1, **likely), one.arms[:1], [[0.5, 0.5]])
    assert policy.select(uncertain(3, **likely)).kind is Kind.CERTIFIED


def test_what_is_out_certifies_nothing():
    """Arms whose outcomes are out are as uncertain as before, where promises are judged."""
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False, exploring_out=9)
    before = policy.select(uncertain(1))
    for number in range(8):
        policy.decided(str(number), uncertain(1), before)
    explained = policy.explain(uncertain(1), before)
    assert not explained.same  # what is out teaches, so others are explored
    said = [{group.label: group.probability for group in each.groups} for each in (explained, before)]
    assert said[0] == said[1] != {}


def test_what_is_out_is_not_explored_again():
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False, exploring_out=99)
    explored = []
    for number in range(9):
        found = policy.select(uncertain(1))
        if found.kind is not Kind.EXPLORING:
            break
        explored.append(len(found.arms))
        policy.decided(str(number), uncertain(1), found)
    assert found.kind is not Kind.EXPLORING
    assert sum(explored) < 25  # 9 decisions of 8 arms each would be 72


def test_variances_given_what_is_out_are_those_of_a_posterior_that_has_seen_it():
    rng = np.random.default_rng(4)
    round = sa.Round(t=1, contexts=rng.uniform(size=(9, 2)), feasible=sa.AtMost(3))
    posterior = PRIOR.condition(rng.uniform(size=(6, 2)), rng.normal(size=(6, 2)))
    coming = np.concatenate([rng.uniform(size=(4, 2)), round.contexts[:2], round.contexts[:1]])
    judge = Judge(round, posterior, round.contexts, posterior.predict(round.contexts), EPS)
    uncertainty = Uncertainty(judge, coming)
    seen = posterior.condition(coming, rng.normal(size=(7, 2)))
    np.testing.assert_allclose(uncertainty.variance, np.square(seen.predict(round.contexts).std[:, 1]), atol=1e-9)
    uncertainty.pick(5)
    seen = seen.condition(round.contexts[[5]], [[0.0, 0.0]])
    np.testing.assert_allclose(uncertainty.variance, np.square(seen.predict(round.contexts).std[:, 1]), atol=1e-9)
    np.testing.assert_allclose(
        uncertainty.covariance(np.arange(3), np.arange(9)), posterior.covariance(round.contexts[:3], round.contexts)[1]
    )
    assert pytest.approx(judge.noise) == NOISE**2


def test_many_decisions_out_do_not_take_ever_more_time():
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False, opening=0.0)
    for number in range(200):
        policy.decided(str(number), uncertain(number + 1), stated([0.0] * 5, Kind.CERTIFIED))
    coming = policy._coming(uncertain(201), uncertain(201).contexts)
    assert coming.shape == (COMING, 1)
    np.testing.assert_array_equal(coming[-5:], uncertain(200).contexts[:5])  # the latest


def test_a_group_whose_outcomes_are_out_is_not_opened_again():
    ledger = Ledger().decided("a", a_round(1), stated([0.0] * 3, Kind.CERTIFIED), EPS)
    hashes = a_round(1).grouping.hashes
    assert ledger.labels.untried(hashes, 1).all()
    assert ledger.expectant().labels.untried(hashes, 1).tolist() == [False] * 3 + [True] * 3


@pytest.mark.parametrize("learn", [None, False], ids=["learns", "fixed"])
def test_saved_with_decisions_out_it_goes_on_bit_for_bit(learn):
    environment = Small(CONSTRAINTS["mean >="], FEASIBLE["at most"], 7)
    rounds = list(itertools.islice(environment.rounds(np.random.default_rng(0)), 24))
    noise = np.random.default_rng(1)
    policy = sa.CautiousTCGPUCB(PRIOR, learn=learn, exploring_out=2)
    out = []
    for number, round in enumerate(rounds):
        selection = policy.select(round)
        policy.decided(str(number), round, selection)
        out.append((str(number), round, selection.arms, environment.outcomes(round, noise)))
        if number % 3 == 2:
            for id, before, arms, outcomes in out[:3]:
                policy.observed(id, before, arms, outcomes[arms])
            del out[:3]
            policy = policy_from_bytes(policy_to_bytes(policy))
            assert policy_to_bytes(policy_from_bytes(policy_to_bytes(policy))) == policy_to_bytes(policy)
    assert policy.ledger.out == () or len(policy.ledger.waited_for) <= 3


def test_what_is_wrong_is_said_and_changes_nothing():
    policy = sa.CautiousTCGPUCB(PRIOR)
    found = policy.select(uncertain(1))
    policy.decided("one", uncertain(1), found)
    before = policy_to_bytes(policy)
    for call in (
        lambda: policy.decided("one", uncertain(1), found),
        lambda: policy.decided(1, uncertain(1), found),
        lambda: policy.decided("two", uncertain(1), "everything"),
        lambda: policy.observed(None, uncertain(1), found.arms, np.zeros((len(found.arms), 2))),
        lambda: policy.observed("one", uncertain(1), found.arms, [0.5]),
        lambda: policy.played(3),
        lambda: policy.withdrawn(b"one"),
        lambda: policy.expired(None),
    ):
        with pytest.raises(InvalidArgument):
            call()
        assert policy_to_bytes(policy) == before
    with pytest.raises(InvalidArgument, match="exploring_out"):
        sa.CautiousTCGPUCB(exploring_out=0)
    with pytest.raises(InvalidArgument, match="most_out"):
        sa.CautiousTCGPUCB(most_out=0)
