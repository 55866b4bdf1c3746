"""Groups that were never tried: when they are opened, and what a selection says of those that are not."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

import superarm as sa
from superarm.policies.cautious import opening as module
from superarm.policies.cautious.account import Account
from superarm.policies.cautious.known_labels import KnownLabels
from superarm.policies.cautious.ledger import Ledger
from superarm.policies.cautious.opening import AT_ONCE, FEW, RISKIEST
from superarm.storage.hashes import label_hashes
from tests.policies.cautious.small import EPS

SHOPS = 6
ONE_HOT = np.eye(SHOPS)
SHARED = sa.SquaredExponential(lengthscale=(0.5, *[1e3] * SHOPS), variance=0.3)
OWN = sa.SquaredExponential(lengthscale=(1e3, *[0.3] * SHOPS), variance=0.1)
FEASIBLE = {
    "at most": sa.AtMost(8),
    "capped": sa.AtMost(8, per_group=2),
    "exactly": sa.Exactly(8),
    "whole": sa.WholeGroups(3),
}


def contexts(rng, each=5):
    shop = np.repeat(np.arange(SHOPS), each)
    return np.hstack([rng.uniform(size=(len(shop), 1)), ONE_HOT[shop]]), shop


def a_round(t=2, feasible=None, constraint=None, rng=None, **changes):
    x, shop = contexts(np.random.default_rng(3) if rng is None else rng)
    constraint = sa.Mean() >= 0.0 if constraint is None else constraint
    feasible = sa.AtMost(8) if feasible is None else feasible
    return sa.Round(t=t, contexts=x, groups=shop, constraint=constraint, feasible=feasible, **changes)


def a_policy(opening=1.0, tried=(0, 1), came=range(SHOPS), balance=0.0, **settings):
    """One that knows two shops well, and of the others only that they came."""
    x, shop = contexts(np.random.default_rng(4), each=20)
    seen = np.isin(shop, tried)
    outcomes = np.column_stack([np.full(len(shop), 0.5), np.full(len(shop), 0.5)])
    posterior = sa.ExactPosterior(SHARED + OWN, 0.1).condition(x[seen], outcomes[seen])
    policy = sa.CautiousTCGPUCB(posterior, opening=opening, learn=False, **settings)
    labels = KnownLabels().with_labels(label_hashes(tuple(came)), 9 * np.isin(list(came), tried))
    policy.ledger = Ledger(account=Account(balance=balance, opening=opening), labels=labels)
    return policy


def opened(selection):
    return {group.label: 1.0 - group.probability for group in selection.groups if 1.0 - group.probability > EPS}


@pytest.mark.parametrize("feasible", FEASIBLE.values(), ids=FEASIBLE)
def test_groups_that_were_never_tried_are_opened_on_an_advance(feasible):
    round = a_round(feasible=feasible)
    selection = a_policy().select(round)
    assert selection.kind is sa.Kind.TRIAL
    risks = opened(selection)
    assert 1 <= len(risks) <= AT_ONCE
    assert not {0, 1} & set(risks)
    assert sum(risks.values()) <= 1.0
    assert max(risks.values()) <= RISKIEST
    assert {0, 1} & {group.label for group in selection.groups}  # what is certified is played beside them
    assert feasible.allows(selection.arms, round.grouping)
    assert all(len(group.arms) <= FEW for group in selection.groups if group.label in risks)
    without = a_policy(opening=0.0).select(round)
    assert without.kind is sa.Kind.CERTIFIED
    assert set(opened(without)) == set()


def test_labels_that_mean_nothing_are_explained_by_others():
    """Arms of a rough function tell little of each other, but those of other groups no less than those of their own."""

    def told(policy, contexts, groups):
        round = sa.Round(t=2, contexts=contexts, groups=groups, constraint=sa.Mean() >= 0.0, feasible=sa.AtMost(8))
        search = policy._search(round, policy.posterior, round.contexts)
        return module._explained(search, [np.array([arm]) for arm in range(len(round))])

    rng = np.random.default_rng(0)
    rough = sa.CautiousTCGPUCB(sa.ExactPosterior(sa.Matern52(lengthscale=0.02), 0.1), learn=False)
    assert told(rough, rng.uniform(size=(60, 2)), np.arange(60) % SHOPS).mean() > 0.7
    x, shop = contexts(rng, each=10)
    assert not told(a_policy(tried=(0, 1)), x, shop)[shop > 1].any()


def test_what_is_opened_does_not_depend_on_the_order_of_arms():
    x, shop = contexts(np.random.default_rng(3))
    shuffled = np.random.default_rng(0).permutation(len(x))
    one = a_policy().select(a_round())
    other = a_policy().select(
        sa.Round(t=2, contexts=x[shuffled], groups=shop[shuffled], constraint=sa.Mean() >= 0.0, feasible=sa.AtMost(8))
    )
    assert sorted(shuffled[other.arms]) == one.arms.tolist()
    assert [group.reason for group in other.untried] == [group.reason for group in one.untried]


def test_the_least_risky_part_is_found_beside_a_search_through_all():
    """Of a mean, the arms that look best for it; no part of as many arms is safer than the one that is opened."""
    policy, round = a_policy(), a_round(constraint=sa.Mean() >= 0.2)
    posterior = policy.posterior
    for label, risk in opened(policy.select(round)).items():
        part = next(group.arms for group in policy.select(round).groups if group.label == label)
        arms = np.flatnonzero(np.asarray(round.groups) == label)
        risks = []
        for other in itertools.combinations(arms, len(part)):
            x = round.contexts[list(other)]
            mean, variance = posterior.predict(x).mean[:, 1].mean(), posterior.covariance(x)[1].mean()
            risks.append(norm.cdf((0.2 - mean) / np.sqrt(variance)))
        assert risk == pytest.approx(min(risks), rel=0.2)


def test_an_advance_is_not_spent_on_labels_that_never_come_back():
    rng, policy = np.random.default_rng(1), a_policy(tried=(0, 1), came=(0, 1))
    for t in range(2, 12):
        x, shop = contexts(rng)
        labels = np.where(shop < 2, shop, 100 * t + shop)  # but for two shops, new ones every day
        round = sa.Round(t=t, contexts=x, groups=labels, constraint=sa.Mean() >= 0.0, feasible=sa.AtMost(8))
        selection = policy.select(round)
        assert set(opened(selection)) == set()
        policy.update(round, selection.arms, np.full((len(selection.arms), 2), 0.5))
    assert policy.ledger.balance > 0.0


@pytest.mark.parametrize("opening", [None, 0.0, 0.3, 2.0])
def test_the_risk_of_a_run_stays_within_the_bound(opening):
    """The sum of stated risks of all rounds in the account; and after the first round every shop is tried once."""
    rng, policy = (
        np.random.default_rng(2),
        sa.CautiousTCGPUCB(sa.ExactPosterior(SHARED + OWN, 0.1), opening=opening, learn=False),
    )
    effects, risk, touched = rng.normal(0.3, 0.3, SHOPS), 0.0, 0
    for t in range(1, 31):
        round = a_round(t=t, rng=rng, constraint=sa.Mean() >= 0.1)
        selection = policy.select(round)
        values = effects[np.asarray(round.groups)[selection.arms]][:, None] + rng.normal(
            0.0, 0.1, (len(selection.arms), 2)
        )
        policy.update(round, selection.arms, values)
        if policy.ledger.entries[-1].payment is not None:
            risk += selection.predicted_broken
            touched += max(1, len(selection.groups))
        account = policy.ledger.account
        assert risk <= EPS * touched + max(0.0, account.opening - account.earned) + 1e-9
        if t > 1 and selection.kind is sa.Kind.CERTIFIED and not selection.untried and opening != 0.0:
            break
    untried = policy.ledger.labels.untried(label_hashes(tuple(range(SHOPS))), 1).sum()
    assert untried == 0 or opening in (0.0, 0.3)


def test_a_selection_says_why_groups_were_never_tried():
    def reasons(policy, **changes):
        return {group.label: group.reason for group in policy.select(a_round(**changes)).untried}

    others = range(2, SHOPS)
    none = reasons(a_policy(opening=0.0))
    assert none == dict.fromkeys(others, "not certified: without an opening (opening=0), risk must be saved first")
    poor = reasons(a_policy(opening=0.01))
    assert set(poor) == set(others)
    assert all(reason.startswith("cannot be paid for: needs a risk of 0.") for reason in poor.values())
    assert all(reason.endswith(", the balance is 0.01") for reason in poor.values())
    new = reasons(a_policy(came=(0, 1, 2, 3)))
    assert new[4] == new[5] == "new: its label must appear in a second round before risk is borrowed for it"
    thresholds = {shop: 9.0 if shop == 2 else 0.0 for shop in range(SHOPS)}
    hopeless = reasons(a_policy(), constraint=sa.Mean() >= thresholds)[2]
    assert hopeless == "hopeless: it cannot keep its promise at this threshold"
    thresholds[2] = 0.8
    assert reasons(a_policy(), constraint=sa.Mean() >= thresholds)[2].startswith("too risky: breaks its promise with ")
    learnt = reasons(a_policy(must_teach=1e6))
    assert set(learnt.values()) == {"nothing to learn: its outcomes would teach too little"}
    blind = sa.CautiousTCGPUCB(sa.ExactPosterior(SHARED + OWN, 0.1), learn=False)
    assert {group.reason.partition(":")[0] for group in blind.select(a_round(t=1, feasible=sa.AtMost(2))).untried} == {
        "waiting until something is certified"
    }


def test_more_groups_than_are_opened_at_once_come_later(monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 1)
    selection = a_policy(opening=9.0).select(a_round())
    assert len(opened(selection)) == 1
    assert {group.reason for group in selection.untried} == {"later: others are tried first"}
    monkeypatch.setattr(module, "LOOKED_AT", 1)
    assert len(a_policy(opening=9.0).select(a_round()).untried) == 3


def test_what_was_never_tried_is_shown_in_one_line():
    shown = str(a_policy(opening=0.01).select(a_round()))
    assert shown.splitlines()[-1] == "  groups without outcomes: 2, 3, 4, 5 (4 cannot be paid for)"
    assert "groups without outcomes" not in str(a_policy(tried=range(SHOPS)).select(a_round()))


def test_safe_arms_open_a_group_for_nothing():
    safe = np.zeros(30, dtype=np.bool_)
    safe[[12, 13]] = True
    selection = a_policy(opening=1e-9).select(a_round(safe=safe))
    assert next(group for group in selection.groups if group.label == 2).arms == (12, 13)
    assert selection.kind is sa.Kind.CERTIFIED


def test_groups_that_are_alike_are_learnt_from_those_that_were_tried():
    """Without effects of their own nothing is advanced: others tell of them, and cost nothing."""
    alike = sa.ExactPosterior(SHARED, 0.1).condition(a_round().contexts[:2], np.full((2, 2), 0.6))
    policy = a_policy(tried=(0, 1, 2, 3))
    policy.learner.posterior = alike
    selection = policy.select(
        a_round(constraint=sa.Mean() >= {shop: 0.1 if shop < 4 else 0.5 for shop in range(SHOPS)})
    )
    assert set(opened(selection)) == set()
    assert "known from others" in {group.reason.partition(":")[0] for group in selection.untried}
