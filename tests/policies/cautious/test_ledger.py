"""The account of risk."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm.policies.cautious.account import SHARE, Account
from superarm.policies.cautious.certificates import Judged
from superarm.policies.cautious.entry import Entry
from superarm.policies.cautious.known_labels import ENOUGH, KnownLabels
from superarm.policies.cautious.ledger import HORIZON, MOST_OPENING, REMEMBERED, Ledger
from superarm.round import Outcomes
from tests.policies.cautious.small import EPS, PRIOR


def judged(risks):
    risks = np.array(risks, dtype=float)
    everyone = np.ones(len(risks), dtype=np.bool_)
    groups, nobody = np.arange(len(risks)), ~everyone
    return Judged(groups=groups, parts=[], promised=everyone, p_broken=risks, regret=0.0 * risks, vouched=nobody)


def entry(t):
    return Entry(t=t, contexts=0)


def after(ledger, entry, judged, untried=False, **settings):
    """The ledger after a round whose arms are its groups, all of them tried before, or all of them none."""
    groups = np.arange(max(1, len(judged.groups)))
    round = sa.Round(t=entry.t, contexts=groups[:, None], groups=groups, constraint=sa.Sum() <= 1, feasible=sa.AtMost())
    tried = np.full(len(groups), not untried)
    ledger = replace(ledger, labels=KnownLabels().with_labels(round.grouping.hashes, 9 * tried))
    observed = Outcomes.of(round, judged.groups, np.full((len(judged.groups), 2), np.nan))
    return ledger.after(entry, judged, EPS, round=round, observed=observed, **settings)


@given(st.lists(st.lists(st.floats(0.0, 1.0), max_size=6), max_size=40))
def test_the_ledger_never_owes_and_bounds_the_risk(rounds):
    """Over the rounds that it covers, the expected broken promises are at most eps for each touched group."""
    ledger, risk, allowance = Ledger(), 0.0, 0.0
    for t, risks in enumerate(rounds, start=1):
        ledger = after(ledger, entry(t), judged(risks))
        assert ledger.balance >= 0.0
        assert len(ledger.entries) <= REMEMBERED
        if ledger.entries[-1].payment is not None:
            risk += sum(risks)
            allowance += EPS * max(1, len(risks))
    assert risk <= allowance + 1e-9


def test_the_ledger_is_shown_in_a_few_words():
    ledger = Ledger()
    for t in range(1, 41):
        ledger = after(ledger, entry(t), judged([0.0] * 4))
    assert repr(ledger) == f"Ledger(balance={ledger.balance:.4g}, 40 rounds remembered)"


def test_the_ledger_by_hand():
    ledger = after(Ledger(), entry(1), judged([0.0] * 4))
    assert ledger.balance == pytest.approx(4 * SHARE * EPS)
    assert after(ledger, ledger.entries[0], judged([0.0] * 4)).balance == ledger.balance  # it earns once
    assert after(ledger, entry(2), judged([0.5, 0.0])).balance == ledger.balance  # nothing that it could pay for
    tried = after(ledger, entry(2), judged([0.015]))
    assert tried.balance == pytest.approx(4 * SHARE * EPS + SHARE * EPS - 0.015)
    assert after(tried, tried.entries[-1], judged([0.015])).balance == tried.balance  # it pays once
    assert after(ledger, entry(2), judged([])).balance == pytest.approx(5 * SHARE * EPS)


def test_a_round_in_parts_earns_for_all_its_groups_and_pays_for_the_whole():
    """Arm by arm a group may seem uncertified that is certified as a whole, and the first part touches one group."""
    at_once = after(Ledger(account=Account(balance=0.1)), entry(1), judged([0.0] * 4))
    in_parts = Ledger(account=Account(balance=0.1))
    for risks in ([0.05], [0.05, 0.0], [0.0] * 3, [0.0] * 4):
        in_parts = after(in_parts, (in_parts.entries or (entry(1),))[0], judged(risks))
    assert in_parts.account.earned == pytest.approx(at_once.account.earned)
    assert in_parts.balance == pytest.approx(at_once.balance)


def test_a_round_in_parts_is_entered_as_the_whole():
    """Arm by arm, or both outcomes one after the other, in any order."""
    rng = np.random.default_rng(5)
    contexts = rng.uniform(size=(12, 1))
    round = sa.Round(
        t=30, contexts=contexts, groups=np.arange(12) % 3, constraint=sa.Sum() >= 0.4, feasible=sa.AtMost(6)
    )
    seen = PRIOR.condition(np.linspace(0, 1, 9)[:, None], np.full((9, 2), 0.2))
    arms, outcomes = np.array([0, 3, 6, 1, 4]), np.full((5, 2), 0.2)

    def balance(reports):
        policy = sa.CautiousTCGPUCB(seen, learn=False)
        policy.ledger = Ledger(account=Account(balance=0.9))
        for some, columns in reports:
            policy.update(round, arms[some], np.where(columns, outcomes[some], np.nan))
        return policy.ledger.balance

    everything, both, first, second = slice(None), [True, True], [True, False], [False, True]
    whole = balance([(everything, both)])
    assert whole != 0.9
    assert balance([(everything, first), (everything, second)]) == pytest.approx(whole, abs=1e-9)
    # What one part taught, the judgement of the next one knows; nothing of it is paid or earned twice.
    in_parts = balance([([i], both) for i in range(5)])
    assert in_parts == pytest.approx(whole, abs=0.1)
    again = sa.Round(t=30, contexts=1.0 - contexts, constraint=sa.Sum() >= 0.4, feasible=sa.AtMost(6))
    policy = sa.CautiousTCGPUCB(seen, learn=False)
    for other in (round, again):
        policy.update(other, [], np.empty((0, 2)))
    assert policy.ledger.balance == pytest.approx(2 * SHARE * EPS)  # another round of the same number


@dataclass(frozen=True, eq=False)
class Weighted:
    """A user's reward with settings that are arrays."""

    weights: object

    def value(self, outcomes, arms):
        return float(np.sum(outcomes))


class Counting:
    """A user's reward that counts its calls."""

    def __init__(self):
        self.calls = 0

    def value(self, outcomes, arms):
        self.calls += 1
        return float(np.sum(outcomes))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"groups": [1] * 6 + [2] * 6}, {"groups": ["1"] * 6 + ["2"] * 6}),
        ({"arm_ids": list(range(12))}, {"arm_ids": [str(i) for i in range(12)]}),
        ({"arm_ids": [(1, i) for i in range(12)]}, {"arm_ids": [("1", i) for i in range(12)]}),
        ({"arm_ids": [b"0x1"] * 12}, {"arm_ids": [1] * 12}),
        ({"arm_ids": [10**5000] * 12}, {"arm_ids": [10**5001] * 12}),
        ({"reward": Weighted(np.ones(3))}, {"reward": Weighted(np.zeros(3))}),
        ({"reward": Weighted([np.ones(3)])}, {"reward": Weighted([np.zeros(3)])}),
        ({"reward": Weighted({"a": 1})}, {"reward": Weighted({"a": "1"})}),
        ({"reward": sa.Custom(np.sum, "increasing")}, {"reward": sa.Custom(np.max, "increasing")}),
        (
            {"reward": sa.Custom(lambda x: 2.0 * x.sum(), "increasing")},
            {"reward": sa.Custom(lambda x: 3.0 * x.sum(), "increasing")},
        ),
        ({"reward": sa.TransformedSum(np.exp)}, {"reward": sa.TransformedSum(np.sqrt)}),
    ],
)
def test_rounds_of_other_labels_or_rewards_are_two_rounds(one, other):
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    for changes in (one, other, one, other):
        policy.update(sa.Round(**{**BASE, "constraint": None, **changes}), [0], [[np.nan, np.nan]])
    assert len(policy.ledger.entries) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"groups": [1, 2] * 6}, {"groups": np.array([1.0, 2.0] * 6)}),
        ({"arm_ids": np.arange(12, dtype=np.int32)}, {"arm_ids": [float(i) for i in range(12)]}),
        ({"reward": Weighted(3)}, {"reward": Weighted(np.float64(3.0))}),
        ({"reward": sa.Custom(lambda x: x.sum(), "increasing")},) * 2,
    ],
)
def test_equal_labels_and_settings_are_one_round(one, other):
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    for changes in (one, other):
        policy.update(sa.Round(**{**BASE, "constraint": None, **changes}), [0], [[np.nan, np.nan]])
    assert len(policy.ledger.entries) == 1


def test_a_reward_that_counts_its_calls_makes_no_new_round():
    reward, policy = Counting(), sa.CautiousTCGPUCB(PRIOR, learn=False)
    for arm in (0, 1):
        policy.update(sa.Round(**BASE, reward=reward), [arm], [[np.nan, np.nan]])
        reward.value(np.ones(1), np.zeros(1, dtype=int))
    (entry,) = policy.ledger.entries
    assert entry.arms == (0, 1)


BASE = {
    "t": 3,
    "contexts": np.linspace(0, 1, 12)[:, None],
    "groups": np.arange(12) % 3,
    "constraint": sa.Sum() >= -9.0,
    "feasible": sa.AtMost(6),
    "arm_ids": np.arange(12),
}


@pytest.mark.parametrize(
    "other",
    [
        {"groups": np.arange(12) // 4},
        {"groups": np.arange(12) % 3 + 1},
        {"constraint": sa.Sum() >= -8.0},
        {"constraint": sa.Mean() >= -9.0},
        {"constraint": sa.Sum() <= 9.0},
        {"constraint": {0: sa.Sum() >= -9.0}},
        {"constraint": None},
        {"feasible": sa.AtMost(5)},
        {"feasible": sa.AtMost(6, per_group=[3, 2, 3])},
        {"feasible": sa.WholeGroups(2)},
        {"arm_ids": np.arange(12)[::-1]},
        {"arm_ids": None},
        {"safe": np.arange(12) > 5},
        {"reward": sa.TransformedSum(np.exp)},
        {"t": 4},
        {"contexts": np.linspace(0, 2, 12)[:, None]},
    ],
    ids=lambda other: next(iter(other)),
)
def test_rounds_that_differ_in_anything_are_two_rounds(other):
    """Each earns by itself, and the arms of one are not judged as those of the other."""
    rounds = sa.Round(**BASE), sa.Round(**{**BASE, **other})
    alone = []
    for round in rounds:
        policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
        policy.update(round, [0], [[np.nan, np.nan]])
        alone.append(policy.ledger)
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    for round in rounds:
        policy.update(round, [0], [[np.nan, np.nan]])
    together, apart = policy.ledger.entries, [ledger.entries[0] for ledger in alone]
    assert [replace(each, payment=None) for each in together] == [replace(each, payment=None) for each in apart]
    assert None not in [each.payment for each in (*together, *apart)]
    assert 0.0 < policy.ledger.balance == pytest.approx(sum(ledger.balance for ledger in alone))
    policy.update(sa.Round(**{**BASE, **other}), [1, 2], np.full((2, 2), np.nan))  # another part of the second
    assert [entry.arms for entry in policy.ledger.entries] == [(0,), (0, 1, 2)]


def test_a_part_of_a_round_that_the_first_version_remembers_belongs_to_it():
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    policy.update(sa.Round(**BASE), [0], [[np.nan, np.nan]])
    policy.ledger = replace(policy.ledger, entries=(replace(policy.ledger.entries[0], rest=None),))
    policy.update(sa.Round(**BASE), [1], [[np.nan, np.nan]])
    (entry,) = policy.ledger.entries
    assert entry.arms == (0, 1)
    assert entry.rest is not None


@given(st.lists(st.lists(st.floats(0.0, 1.0), max_size=6), max_size=40))
def test_settled_at_once_the_account_is_one_line(rounds):
    """B' = max(B + e - R, 0) where B can pay for what is not certified, and B where it cannot."""
    ledger, balance = Ledger(), 0.0
    for t, risks in enumerate(rounds, start=1):
        if sum(risk for risk in risks if risk > EPS) <= balance:
            balance = max(balance + SHARE * EPS * max(1, len(risks)) - sum(risks), 0.0)
        ledger = after(ledger, entry(t), judged(risks))
        assert ledger.balance == pytest.approx(balance, abs=1e-12)
        balance = ledger.balance


def test_only_trials_of_groups_that_were_never_tried_are_paid_in_advance():
    ledger = Ledger(account=Account(opening=0.5))
    assert after(ledger, entry(1), judged([0.3, 0.0])).account == ledger.account
    assert after(ledger, entry(1), judged([0.3]), untried=True).account == ledger.account  # nothing is certified
    assert after(ledger, entry(1), judged([0.6, 0.0]), untried=True).account == ledger.account
    opened = after(ledger, entry(1), judged([0.3, 0.0]), untried=True)
    assert opened.balance == pytest.approx(2 * SHARE * EPS - 0.3)
    assert repr(opened) == "Ledger(balance=-0.29, 1 rounds remembered, 0.29 advanced)"
    # What is earned repays the advance, and pays for nothing else before.
    later = after(opened, entry(2), judged([0.0] * 6))
    assert later.balance == pytest.approx(8 * SHARE * EPS - 0.3)
    assert after(later, entry(3), judged([0.02, 0.0])).account == later.account


def test_the_default_opening_follows_what_came():
    """0.25 % of the promised groups of forty rounds, of the horizon, or of all rounds so far."""
    ledger = Ledger()
    for t in range(1, 51):
        ledger = after(ledger, entry(t), judged([0.0] * 6), opening=None)
        assert ledger.account.opening == pytest.approx(MOST_OPENING * 6 * max(HORIZON, t))
    assert MOST_OPENING == 0.0025
    planned = after(Ledger(), entry(1), judged([0.0] * 6), opening=None, horizon=10)
    assert planned.account.opening == pytest.approx(0.15)
    fewer = after(planned, entry(2), judged([0.0]), opening=None, horizon=10)
    assert fewer.account.opening == planned.account.opening  # what was granted is not taken back
    assert after(Ledger(), entry(1), judged([0.0] * 6), opening=0.7, horizon=10).account.opening == 0.7


def test_a_round_in_parts_came_once():
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    for arm in range(3):
        for _ in range(ENOUGH):
            policy.update(sa.Round(**BASE), [arm], [[0.1, np.nan if arm == 1 else 0.1]])
    assert (policy.ledger.rounds, policy.ledger.groups) == (1, 3)
    untried = policy.ledger.labels.untried(sa.Round(**BASE).grouping.hashes)
    assert untried.tolist() == [False, True, False]  # of label 1 no outcome came that its promise is about


@pytest.mark.parametrize("feasible", [sa.AtMost(2), sa.Exactly(2), sa.WholeGroups(2)])
def test_groups_that_there_are_no_places_for_are_not_expected(feasible):
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    policy.update(sa.Round(**{**BASE, "feasible": feasible}), [], np.empty((0, 2)))
    assert policy.ledger.groups == 2
